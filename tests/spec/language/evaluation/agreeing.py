"""Whether the compiled evaluator and the plain one say the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.language.evaluation.numbers import Num

ROUNDINGS = 2.0**-40
"""Slices and look-ups lay arrays out differently, and NumPy adds in the order of the layout; an exponential of a sum in the
hundreds is off by as many times that."""
MILLIONTH = 1e-6
"""A bound is a sum of sizes, in which nothing cancels; that much of it is far more than the layout makes."""


def near(found: Any, expected: Any, slack: Any) -> bool:
    """Whether two arrays are the same, up to some slack."""
    with np.errstate(all="ignore"):
        same = (found == expected) | np.isnan(expected) & np.isnan(found)
        return bool(np.all(same | (np.abs(found - expected) <= slack)))


def agree(found: Any, expected: Any, rounding: Num | None) -> bool:
    """Whether two arrays of numbers say the same; ``rounding`` bounds what float64 itself may have spoiled of them."""
    if not isinstance(expected, Num):
        assert found.shape == expected.shape
        return all(
            a == b or ((a.overlaps(b) or not b.is_finite()) and a.is_finite() == b.is_finite())
            for a, b in zip(found.ravel(), expected.ravel(), strict=True)
        )
    with np.errstate(all="ignore"):
        x, y = found.floats(), expected.floats()
        assert x.shape == y.shape
        slack = ROUNDINGS * np.abs(y)
        if rounding is not None:
            # Either may be off by the bound; where there is none, as in the depths of a stack, nothing is compared.
            slack = slack + np.where(np.isfinite(rounding.bounds()), 2 * rounding.bounds(), np.inf)
        if expected.error is None:
            return near(x, y, slack)
        a, b = (np.broadcast_to(number.bounds(), y.shape) for number in (found, expected))
        return near(x, y, slack) and near(a, b, MILLIONTH * b)
