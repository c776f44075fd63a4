"""A missed law is drawn again by a script that needs torch, NumPy and the callable alone."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from spec.language.registry import find
from tests.verify.playing import played, users
from verify import script
from verify.laws.checking import check_law
from verify.report import CheckResult

WRONG = """
import torch


def masked(ids, special, mask_id, V, generator, rate=0.15, kept=0.1):
    chosen = (torch.rand(ids.shape, generator=generator) < rate) & ~special
    u = torch.rand(ids.shape, generator=generator)
    words = torch.randint(V, ids.shape, generator=generator)
    out = torch.where(chosen & (u < 0.9 - kept), mask_id, torch.where(chosen & (u >= 0.9), words, ids))
    return out, torch.where(chosen, ids, -100)


def often(ids, special, mask_id, V, generator):
    return masked(ids, special, mask_id, V, generator, rate=0.25)


def kept(ids, special, mask_id, V, generator):
    return masked(ids, special, mask_id, V, generator, kept=0.3)


def rows(ids, special, mask_id, V, generator):
    state = generator.get_state()
    parts = []
    for at in range(len(ids)):
        if at % 2:
            generator.set_state(state)
        state = generator.get_state()
        parts.append(masked(ids[at : at + 1], special[at : at + 1], mask_id, V, generator))
    return tuple(map(torch.cat, zip(*parts)))


def unlabelled(ids, special, mask_id, V, generator):
    return masked(ids, special, mask_id, V, generator)[0], ids.clone()


def in_place(ids, special, mask_id, V, generator):
    out, labels = masked(ids, special, mask_id, V, generator)
    ids.copy_(out)
    return out, labels


def reseeded(ids, special, mask_id, V, generator):
    return masked(ids, special, mask_id, V, torch.Generator().manual_seed(0))


def short(ids, special, mask_id, V, generator):
    out, labels = masked(ids, special, mask_id, V, generator)
    return out[:, :-1], labels


def raising(ids, special, mask_id, V, generator):
    raise IndexError("too far")


def alone(x, T, k, p, generator):
    return torch.multinomial((x / T).softmax(-1), 1, generator=generator).squeeze(-1)  # at most two dimensions


def hot(x, T, k, p, generator):
    rows = (x / (2 * T)).softmax(-1).flatten(0, -2)
    return torch.multinomial(rows, 1, generator=generator).reshape(x.shape[:-1])


def together(x, T, k, p, generator):
    u = torch.rand((), dtype=x.dtype, generator=generator)
    x = (x / T).sort(-1, descending=True)
    share = x.values.softmax(-1)
    share = share.masked_fill(torch.arange(share.shape[-1]) >= k, 0.0)
    share = share.masked_fill((share / share.sum(-1, keepdim=True)).cumsum(-1) - share / share.sum(-1, keepdim=True) >= p, 0.0)
    below = (share.cumsum(-1) < u * share.sum(-1, keepdim=True)).sum(-1, keepdim=True)
    return x.indices.gather(-1, below.clamp(max=share.shape[-1] - 1)).squeeze(-1)
"""
MASKING = {
    "often": "law: selection",
    "kept": "law: outcomes",
    "rows": "law: independence",
    "unlabelled": "law: special tokens are never selected",
    "in_place": "",
    "reseeded": "law: generator",
    "short": "law: results",
    "raising": "law: results",
}
"""What each is falsified by, if that is certain."""
CASES = [(name, "masking.mlm") for name in MASKING]
CASES += [(name, "decoding.sample") for name in ("alone", "hot", "together")]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ModuleType]:
    """Callables of a user's, in a module of their own."""
    with users(tmp_path, own_draws=WRONG):
        yield importlib.import_module("own_draws")


def written(own: ModuleType, name: str, formula_id: str) -> CheckResult:
    """The check of a law that can be drawn again. So little is drawn that it takes no time: what is wrong here is far off."""
    checks = check_law(getattr(own, name), find(formula_id), asked=0.1)
    (found,) = (check for check in checks if check.again is not None)
    assert found.verdict == "falsified"
    return found


def test_what_is_drawn_otherwise_is_seen_again_without_attnspec(own: ModuleType, tmp_path: Path) -> None:
    """Rates, shares, neighbours, labels, inputs, generators, shapes, exceptions: each script ends with 1 and says what it saw."""
    found = {name: written(own, name, formula_id) for name, formula_id in CASES}
    assert {name: MASKING[name] and check.name for name, check in found.items() if name in MASKING} == MASKING
    texts = [script(found[name], f"own_draws:{name}", formula_id) for name, formula_id in CASES]
    ended = played(tmp_path, texts)
    assert [code for code, _ in ended] == [1] * len(CASES), ended
    assert all(said.startswith("fails again: ") for _, said in ended), ended


def test_a_mended_callable_passes(own: ModuleType, tmp_path: Path) -> None:
    """The script of a wrong rate ends with 0 once the rate is right."""
    text = script(written(own, "often", "masking.mlm"), "own_draws:often", "masking.mlm")
    (tmp_path / "own_draws.py").write_text(WRONG.replace("rate=0.25", "rate=0.15"), encoding="utf-8")
    ((code, said),) = played(tmp_path, [text])
    assert (code, said.split(":")[0]) == (0, "does not fail")
