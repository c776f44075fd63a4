"""Callables that keep something of a call and use it in another with the same shapes."""

from __future__ import annotations

import importlib
import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.verify.scripts import users
from verify import check, replay, script
from verify.explain import calls
from verify.explain.calls import TITLE

pytestmark = pytest.mark.usefixtures("ungraded")

KEEPING = """
import torch
import torch.nn.functional as F

kept = {}


def first_of(name, tensor):
    return kept.setdefault((name, tensor.shape, tensor.dtype), tensor.clone())


def first_gain(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], first_of("gamma", gamma), beta, eps)


def first_result(x, gamma, beta, eps):
    return first_of("y", F.layer_norm(x, x.shape[-1:], gamma, beta, eps))


def first_eps(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, kept.setdefault(("eps", x.shape, x.dtype), eps))


def first_mask(q, k, v, mask=None):
    mask = None if mask is None else first_of("mask", mask)
    return F.scaled_dot_product_attention(q, k, v, mask)


def too_late(x, gamma, beta, eps):
    y = F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    return y if kept.setdefault("ready", []) or kept["ready"].append(True) else 2 * y


def by_storage(s, mask=None):
    s = s if mask is None else s.masked_fill(~mask, -torch.inf)
    return kept.setdefault((s.data_ptr(), s.shape), s.softmax(-1).nan_to_num())


def nothing(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def all_masks(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, mask)


def another_eps(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, 2 * eps)


def some_rows(x, gamma, beta, eps):
    y = F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    return y if x.flatten()[0] > 0 else 2 * y
"""
NORM, ATTENTION = "normalization.layer_norm", "attention.scaled_dot_product"


KEEPS = [
    ("first_gain", NORM, "gamma", "nothing"),
    ("first_result", NORM, "x, gamma, beta, eps", "nothing"),
    ("first_eps", NORM, "eps", "nothing"),
    ("first_mask", ATTENTION, "mask", "all_masks"),
]


@pytest.mark.parametrize(("name", "formula", "kept", "right"), KEEPS, ids=[each[0] for each in KEEPS])
def test_what_is_kept_is_named_and_a_replay_shows_it(
    tmp_path: Path, name: str, formula: str, kept: str, right: str
) -> None:
    """A replay makes both calls: it fails where nothing was called before, and passes what keeps nothing."""
    with users(tmp_path, keeping=KEEPING):
        report = check(getattr(importlib.import_module("keeping"), name), formula, max_examples=20)
        with pytest.raises(ValueError, match="no script"):
            script(report, f"keeping:{name}")
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    with users(tmp_path, keeping=KEEPING):
        assert replay(found).verdict == "falsified"
        assert replay(found, target=f"keeping:{right}").verdict == "conforms"
    assert report.verdict == "falsified"
    assert report.hint.startswith("something is kept from call to call")
    assert f"with other values of {kept}, is not" in report.hint


def test_what_is_wrong_at_the_first_call_alone_is_falsified(tmp_path: Path) -> None:
    """Also where nothing but its value shows it; a replay, whose call is the first, fails."""
    with users(tmp_path, keeping=KEEPING):
        report = check(importlib.import_module("keeping").too_late, NORM, max_examples=20)
    assert report.verdict == "falsified"
    assert report.hint == "only the first call is wrong: those that follow conform"
    with users(tmp_path, keeping=KEEPING):
        assert replay(report).verdict == "falsified"


@pytest.mark.parametrize("number", [1, 3])
def test_one_of_the_first_calls_that_raises_and_returns_when_it_is_made_again_is_falsified(
    number: int,
) -> None:
    """No rule says which calls are taken, so that nothing excuses it."""
    calls = itertools.count(1)

    def product(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        if next(calls) == number:
            raise RuntimeError("not ready")
        return q @ k.mT

    report = check(product, "scores.dot", max_examples=10, grades=False)
    assert [each.name for each in report.falsified] == ["value of the first call"]
    assert "raised RuntimeError: not ready" in report.falsified[0].message


def test_a_result_that_was_kept_by_its_storage_alone_is_falsified(tmp_path: Path) -> None:
    """It may carry no gradient, or that of another call."""
    with users(tmp_path, keeping=KEEPING):
        report = check(importlib.import_module("keeping").by_storage, "attention.softmax", max_examples=20)
    assert report.verdict == "falsified"


@pytest.mark.parametrize("name", ["another_eps", "some_rows"])
def test_what_is_wrong_by_itself_is_not_said_to_keep_anything(tmp_path: Path, name: str) -> None:
    """Whether it is wrong always, or by what happens to stand in its inputs."""
    with users(tmp_path, keeping=KEEPING):
        report = check(getattr(importlib.import_module("keeping"), name), NORM, max_examples=20)
    assert report.verdict == "falsified"
    assert TITLE not in [each.name for each in report.checks]


def test_a_few_coincidences_in_a_row_are_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is right or wrong by what stands in a mask was right first, and wrong then, in five pairs."""
    turns = itertools.count(1)
    setting: Any = SimpleNamespace(caller=SimpleNamespace(sizes=SimpleNamespace(few=False)))
    pairs = SimpleNamespace(
        space=SimpleNamespace(symbols=("n",)), second_is_wrong=lambda *_: next(turns) % 7 in range(1, 6)
    )
    monkeypatch.setattr(calls, "Pairs", lambda *_: pairs)
    assert calls.kept_between_calls(setting, ["plain"]) is None
