"""Scripts of what has no name to be imported by, or lies in a module that needs attnspec: they hold its source."""

from __future__ import annotations

import importlib

import pytest

from tests.verify.playing import OURS, SCALED, played, users
from verify import check, script

ADAPTED = '''
import math
from functools import partial

import torch
from own_parts import Scaled
from torch import nn

from verify import adapt

HALF = 0.5
"""What gains are halved by, and doubled by again."""
WAY = "arguments", "d, eps=eps"


def halved(gamma, by=HALF):
    return gamma * by


class Twice(Scaled):
    """Its gain counts twice: it needs what stands in this module."""

    def forward(self, x):
        return super().forward(x) / HALF


def from_a_closure(power=1):
    def gained(gamma):
        return halved(gamma) * 2**power

    return adapt.module(Scaled, {"gain": gained}, arguments="d, eps=eps")


def from_defaults():
    made = [lambda gamma, times=times: gamma * times for times in (1.0, 2.0)]
    return adapt.module(Scaled, {"gain": made[0]}, arguments="d, eps=eps")


def from_a_partial():
    return adapt.module(Scaled, {"gain": partial(halved, by=1.0)}, arguments="d, eps=eps")


def built():
    return adapt.module(lambda d, eps: Twice(d, eps=eps), {"gain": lambda gamma: halved(gamma)})


def called():
    scale = math.sqrt(4.0)
    return adapt.function(lambda x, gamma, eps: gamma * x / (x.square().mean(-1, keepdim=True) + scale * eps).sqrt())


class Gain:
    def __call__(self, gamma):
        return gamma


def unwritten():
    return adapt.module(Scaled, {"gain": Gain()}, arguments="d, eps=eps")
'''


@pytest.fixture
def own(tmp_path):
    """Adapters in a module of a user's, which imports attnspec, beside the parts that do not."""
    with users(tmp_path, own_parts=SCALED, own_adapters=ADAPTED):
        yield importlib.import_module("own_adapters")


@pytest.mark.parametrize("name", ["from_a_closure", "from_defaults", "from_a_partial", "built", "called"])
def test_a_function_without_a_name_stands_in_the_script(own, tmp_path, name):
    """A closure, defaults, a partial, a class that needs its module: the script fails again where none can be imported."""
    report = check(getattr(own, name)(), "normalization.rms_norm", max_examples=12, causes=False)
    text = script(report, target="own_adapters:unknown")
    assert "verify" not in text
    ((code, said),) = played(tmp_path, [text], blocked=(*OURS, "own_adapters"))
    first = next(c.counterexample for c in report.falsified if c.kind == "value")
    assert code == 1, said
    assert f"got {first.got!r}," in said


def test_what_has_no_source_is_called_by_its_adapter(own):
    """An object that makes a weight cannot be written: the script imports the adapter, as it says."""
    report = check(own.unwritten(), "normalization.rms_norm", max_examples=12, causes=False)
    assert "adapter.for_formula(" in script(report, target="own_adapters:adapter")
