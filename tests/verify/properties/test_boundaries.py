"""Inputs at a boundary of a statement's comparisons."""

from __future__ import annotations

import pytest

from impl.attention import local
from spec.language.registry import find, formulas
from tests.mutants import windows
from verify.inputs.examples import Space
from verify.inputs.size_rules import Supported
from verify.properties.boundaries import at_a_boundary, boundary_examples, limits
from verify.properties.judge import Judge
from verify.properties.scenarios import applicable
from verify.subject.caller import Caller

BOTH = ["float64", "float32"]


def outcomes(fn, seed, conventions=None):
    """What a callable does at the boundaries of local attention."""
    judge = Judge(find("attention.local"), conventions)
    drawn = boundary_examples(judge, Space(judge.formula), seed, BOTH, [])
    caller = Caller(fn, judge.formula)
    return [at_a_boundary(judge, caller, example) for example in drawn]


@pytest.mark.parametrize("seed", range(10))
def test_an_open_window_is_noticed_whatever_the_seed(seed):
    """Keys that are exactly D away belong to it, on either side; those who keep them conform."""
    for fn in (windows.window_open, windows.window_open_above):
        found = outcomes(fn, seed)
        assert len(found) <= 100
        assert any(each.fails for each in found)
    for fn in (windows.as_written, windows.in_one_exponential, local):
        found = outcomes(fn, seed)
        assert not any(each.fails for each in found)
        assert any(each.effective for each in found)


def test_comparisons_with_a_number_are_read_off_the_statement():
    """A half width is one; what is compared with 0, with an index or with another entry has no number to be drawn."""
    found = {k: limits(Judge(f)) for k, f in formulas().items() if f.law is None}
    assert found["attention.local"] == ("D",)
    assert found["feedforward.relu"] == found["attention.causal"] == ()
    assert not limits(Judge(find("attention.local"), {"window": "whole"}))


def test_only_statements_with_such_a_comparison_are_asked():
    """There is no check without a boundary, and none for a number that is fixed."""
    assert "at a boundary" in [s.name for s in applicable(Judge(find("attention.local")))]
    assert "at a boundary" not in [s.name for s in applicable(Judge(find("attention.softmax")))]
    judge = Judge(find("attention.local"))
    space = Space(judge.formula, supported=Supported.of(judge.formula, {}, {"D": 2.0}))
    assert not list(boundary_examples(judge, space, 0, BOTH, []))


def test_the_number_is_one_at_which_nothing_rounds():
    """Half the number of keys is the position where an input is 0: numbers of the grid are that far from a key."""
    judge = Judge(find("attention.local"))
    drawn = list(boundary_examples(judge, Space(judge.formula), 0, BOTH, []))
    assert {example.dtype for example in drawn} == set(BOTH)
    for example in drawn:
        middle = example.inputs["k"].shape[-2] / 2
        assert example.inputs["D"] in {abs(j - middle) for j in range(example.inputs["k"].shape[-2])}
