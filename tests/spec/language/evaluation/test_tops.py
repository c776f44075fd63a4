"""The largest size that a number carries spares a look at every entry; it is one only as long as no entry is larger."""

import math

import numpy as np
import pytest

from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError

WALK = RunningError(FORMATS["float32"])
DRAWN = np.random.default_rng(7).uniform(-9, 9, (5, 6))
PLACES = (np.arange(3)[:, None], np.arange(6))
FAMILY = ("the family",)


def _exponentials() -> Num:
    exponents = WALK.plus(WALK.exact(DRAWN), WALK.exact(np.ones((5, 6))))
    largest = WALK.view(WALK.maximum(exponents, None), lambda part: part[:, None])
    return WALK.exponential(exponents, largest, FAMILY)


def _selected(other: Num) -> Num:
    return WALK.select(Truth(DRAWN > 0), WALK.exact(DRAWN), other)


FOUND = {
    "exponentials of a softmax": _exponentials,
    "the second of two choices": lambda: _selected(WALK.exact(np.full((), 50.0))),
    "the first of two choices": lambda: _selected(WALK.zeros(())),
    "what is written": lambda: WALK.write_at(
        WALK.exact(np.ones((5, 6))), PLACES, WALK.exact(DRAWN[:3]), False
    ),
    "what stays": lambda: WALK.write_at(WALK.exact(DRAWN), PLACES, WALK.exact(np.ones((3, 6))), False),
}


@pytest.mark.parametrize("name", FOUND)
def test_no_entry_is_larger_than_the_largest_size_that_is_carried(name: str) -> None:
    """Its error added; and it is known, so that nobody has to look."""
    found = FOUND[name]()
    assert found.error is not None
    assert found.scale is None
    assert (np.abs(found.value) + found.error).max() <= found.top < math.inf


def test_a_choice_of_which_nothing_is_known_carries_no_largest_size() -> None:
    """An entry that is not a number is larger than any."""
    assert _selected(WALK.undefined()).top == math.inf


def test_a_sum_is_flushed_where_a_term_is_not_zero() -> None:
    """Terms that are exactly 0 do not underflow, however many they are; terms that cancel may."""
    found = WALK.sum(WALK.exact([[0.0, 0.0], [1e-36, -1e-36], [0.0, 1e-36]]), None)
    assert found.error is not None
    assert found.error[0] == 0
    assert (found.error[1:] >= WALK.tiny).all()
