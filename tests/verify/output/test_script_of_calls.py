"""Scripts of theorems and scenes of use: they need torch and the callable alone, fail for a wrong one and pass a right one."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from verify import check, mutants, script

OWN = '''
import math

import torch
import torch.nn.functional as F


def right(q, k):
    return q @ k.mT


class Buffer:
    """Returns the same buffer at every call."""

    def __init__(self):
        self.kept = {}

    def __call__(self, q, k):
        out = q @ k.mT
        if out.requires_grad:
            return out
        return self.kept.setdefault((out.shape, out.dtype), torch.empty_like(out)).copy_(out)


class LastWeights:
    """Keeps the transpose of the last k it saw, by identity."""

    def __init__(self):
        self.k = self.turned = None

    def __call__(self, q, k):
        if self.k is not k:
            self.k, self.turned = k, k.detach().mT.clone()
        return q @ (k.mT if k.requires_grad else self.turned)


class Once:
    """Takes the same entries for something it has answered."""

    def __init__(self):
        self.seen = set()

    def __call__(self, q, k):
        key = str((q.tolist(), k.tolist(), q.dtype))
        known = key in self.seen
        self.seen.add(key)
        return 2 * (q @ k.mT) + 1 if known else q @ k.mT


buffer, last_weights, once = Buffer(), LastWeights(), Once()


def strided(q, k):
    return torch.as_strided(q, q.shape, torch.empty(q.shape).stride()) @ k.mT


def self_shortcut(q, k):
    s = q @ k.mT
    return s if q is not k else s + 1


def first_only(q, k):
    out = q @ k.mT
    return out if out.ndim == 2 else out[(0,) * (out.ndim - 2)].expand(out.shape)


def coarse_without_gradients(q, k):
    return q @ k.mT if torch.is_grad_enabled() else (q @ k.mT).half().to(q.dtype)


def damaging(q, k):
    out = q @ k.mT
    with torch.no_grad():
        q.add_(1)
    return out


def meddling(q, k):
    torch.rand(1)
    return q @ k.mT


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k):
        ctx.save_for_backward(q, k)
        return q @ k.mT

    @staticmethod
    def backward(ctx, g):
        q, k = ctx.saved_tensors
        return g @ k, g.mT @ q


class ReadsByPointer(Product):
    @staticmethod
    def backward(ctx, g):
        return Product.backward(ctx, torch.as_strided(g, g.shape, torch.empty(g.shape).stride()))


class NeedsTheFirst(Product):
    @staticmethod
    def backward(ctx, g):
        return Product.backward(ctx, g) if ctx.needs_input_grad[0] else (None, None)


class KeptInOnePlace(Product):
    @staticmethod
    def forward(ctx, q, k):
        KeptInOnePlace.kept = q, k
        return q @ k.mT

    @staticmethod
    def backward(ctx, g):
        q, k = KeptInOnePlace.kept
        return g @ k, g.mT @ q


class Broken(Product):
    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("no derivative")


def reads_by_pointer(q, k):
    return ReadsByPointer.apply(q, k)


def needs_the_first(q, k):
    return NeedsTheFirst.apply(q, k)


def kept_in_one_place(q, k):
    return KeptInOnePlace.apply(q, k)


def broken(q, k):
    return Broken.apply(q, k)
'''
SCENES = [
    ("buffer", "robustness: same shapes, other values"),
    ("last_weights", "robustness: same shapes, other values"),
    ("once", "robustness: same inputs twice"),
    ("strided", "robustness: non-contiguous inputs"),
    ("self_shortcut", "robustness: one tensor for several inputs"),
    ("first_only", "robustness: a batch equals its members"),
    ("first_only", "robustness: two leading dimensions"),
    ("coarse_without_gradients", "robustness: with and without gradients"),
    ("damaging", "robustness: leaves its inputs alone"),
    ("meddling", "robustness: leaves global state alone"),
    ("reads_by_pointer", "robustness: gradients from cotangents stored otherwise"),
    ("needs_the_first", "robustness: gradients of one input at a time"),
    ("kept_in_one_place", "robustness: gradients after another call"),
    ("broken", "gradient in float64"),
]
CATALOGUE = [  # equalities, gradients, bounds, other formulas of results, faults; scenes with masks, weights, ids, laws
    ("normalization.rms_norm", "eps_outside", "theorem mean_square"),
    ("normalization.rms_norm", "statistic_detached", "theorem backward"),
    ("normalization.rms_norm", "scaled_in_place", "theorem backward"),
    ("normalization.rms_norm", "over_the_batch", "robustness: gradients of a batch"),
    ("normalization.rms_norm", "over_the_positions", "robustness: a batch of one"),
    ("attention.scaled_dot_product", "keys_dropped", "theorem convex_hull"),
    ("attention.scaled_dot_product", "finite_minimum", "theorem masked_for_all"),
    ("attention.scaled_dot_product", "dropout_left_on", "theorem convex_hull"),
    ("attention.scaled_dot_product", "batch_softmax", "robustness: expanded inputs"),
    ("attention.scaled_dot_product", "kernel_as_is", "robustness: NaN where nothing is read"),
    ("recurrent.stacked", "carried_upwards", "theorem another_layer"),
    ("recurrent.lstm_cell", "no_second_tanh", "theorem bounded"),
    ("scores.general", "keys_kept_by_weights", "robustness: some inputs change, the others stay"),
    ("embedding.token", "ids_in_16_bits", "robustness: large sizes"),
    ("normalization.layer_norm", "members_past_64_from_the_first", "robustness: a large batch"),
    ("feedforward.relu", "members_past_128_detached", "robustness: a large batch"),
    ("masking.mlm", "calls_in_pairs", "robustness: same seed, same result"),
    ("masking.mlm", "global_generator", "robustness: leaves global state alone"),
]
OURS = {"flat", "opened", "called", "hollow"}
"""What a few variants of the catalogue use of ours."""
PLAYER = """
import contextlib, importlib, io, json, os, runpy, sys
sys.modules.update(dict.fromkeys(("verify", "spec", "impl")))
import torch
torch.set_num_threads(1)
found = []
for file, module, name, right in json.load(open("cases.json")):
    seen = []
    for instead in (None, right):
        read, write = os.pipe()
        if not os.fork():
            code, said = "no end", io.StringIO()
            try:
                if instead:
                    where, _, what = instead.partition(":")
                    call = getattr(importlib.import_module(where), what)
                    setattr(importlib.import_module(module), name, call)
                with contextlib.redirect_stdout(said):
                    runpy.run_path(file, run_name="__main__")
            except SystemExit as end:
                code = end.code
            except BaseException as error:
                code = f"{type(error).__name__}: {error}"
            os.write(write, json.dumps([code, said.getvalue()[:900]]).encode())
            os._exit(0)
        os.close(write)
        seen.append(json.loads(os.read(read, 9999)))
        os.wait()
    found.append(seen)
json.dump(found, open("found.json", "w"))
"""
"""Plays scripts, each in a process of its own that has neither of ours: with what is wrong, then with what is right."""


def copied(folder: Path) -> None:
    """The catalogue of wrong variants as a package that needs nothing of ours."""
    home = Path(mutants.__file__).parent
    for path in home.glob("*.py"):
        text = path.read_text().replace("from verify.mutants", "from wrongs")
        text = re.sub(r"^from verify\..*\n", "", text, flags=re.MULTILINE)  # others have need of it
        (folder / "wrongs" / path.name).write_text(text)
    stub = "def wrong(*_, **__):\n    return lambda call: call\n\n\nright = wrong\n"
    (folder / "wrongs" / "__init__.py").write_text(stub)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A folder with a user's module, and the catalogue."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "wrongs").mkdir()
    copied(folder)
    (folder / "own_scenes.py").write_text(OWN)
    (folder / "player.py").write_text(PLAYER)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("own_scenes", None)
    shutil.rmtree(folder)


def written(report, name, target):
    """The script of the falsified check of this name."""
    failed = next((c for c in report.falsified if c.name == name), None)
    assert failed is not None, (name, [c.name for c in report.falsified])
    return script(failed, target, report.formula_id)


@pytest.fixture(scope="module")
def seen(own):
    """What every script shows for the wrong callable and for a right one: exit code and output."""
    cases, texts = [], {}
    module = importlib.import_module("own_scenes")
    for name, by in SCENES:
        conventions = {"shapes": "every", "generator": "untouched"}
        report = check(
            getattr(module, name), "scores.dot", max_examples=40, causes=False, conventions=conventions
        )
        text = written(report, by, f"own_scenes:{name}")
        cases.append((name, by, text, "own_scenes", "own_scenes:right"))
    every = mutants.variants(tuple({formula for formula, _, _ in CATALOGUE}))
    for formula, name, by in CATALOGUE:
        wrong = next(v for v in every if v.formula_id == formula and v.name == name)
        right = next(
            v
            for v in every
            if (v.is_right, v.formula_id, v.conventions) == (True, formula, wrong.conventions)
            and not OURS & {*v.call.__code__.co_names}
        )
        torch.manual_seed(3)  # one of them draws from it
        report = check(wrong.call, formula, max_examples=24, causes=False, **wrong.options)
        home, other = (v.call.__module__.replace("verify.mutants", "wrongs") for v in (wrong, right))
        text = written(report, by, f"{home}:{wrong.call.__name__}")
        cases.append((wrong.call.__name__, by, text, home, f"{other}:{right.call.__name__}"))
    listed = []
    for place, (name, by, text, home, right) in enumerate(cases):
        texts[name, by] = text
        (own / f"script_{place}.py").write_text(text)
        listed.append((f"script_{place}.py", home, name, right))
    (own / "cases.json").write_text(json.dumps(listed))
    environment = {**os.environ, "PYTHONPATH": str(own)}
    subprocess.run([sys.executable, "player.py"], cwd=own, env=environment, timeout=300, check=True)
    found = json.loads((own / "found.json").read_text())
    return {(name, by): (text, *shown) for (name, by, text, *_), shown in zip(cases, found, strict=True)}


KEYS = [*SCENES, *((name, by) for _, name, by in CATALOGUE)]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key[0]}: {key[1]}")
def test_a_script_needs_the_callable_alone_fails_for_it_and_passes_a_right_one(seen, key):
    """In one sentence it says what is seen and what was expected, or that the call fails."""
    text, (code, said), (after, then) = seen[key]
    assert not re.search(r"^\s*(import|from) (verify|spec|impl)\b", text, re.MULTILINE)
    assert code == 1, said
    assert re.search(r"got .*, expected|Error: ", said), said
    assert (after, then) == (0, "does not fail\n"), then


def test_every_scene_and_kind_of_claim_has_a_script(seen):
    """All scenes that are played; claims that are equalities, bounds and gradients."""
    from verify.properties.scenarios import LAWS, VALUES

    played = {by.removeprefix("robustness: ") for _, by in KEYS}
    rare = {"sizes of one", "at a boundary", "no leading dimension"}
    assert {scenario.name for scenario in (*VALUES, *LAWS)} - played <= rare
    texts = [text for text, *_ in seen.values()]
    for kind in ("related(left, '=',", "related(left, '<=',", "slopes(", "look(", "same("):
        assert any(kind in text for text in texts), kind
