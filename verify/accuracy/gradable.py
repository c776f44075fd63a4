"""Which entries can be graded at all: what the bound says of an output, beside what a callable made of it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.indexing import is_inexact
from spec.language.expr import Compare
from spec.language.flatten import Flat
from spec.language.trees import walk
from verify.inputs.examples import Example
from verify.properties.judge import Expected, Judge, Reals
from verify.properties.slopes import differentiable, expect_gradients

LINEAR = 0.1
"""At default sizes weights may saturate a softmax. An output is graded where even its bound is at most this share of it, both as
root mean squares: there errors are proportional to the roundings, and their spread says what to expect."""


def expect_at(judge: Judge, example: Example, dtype: str, kind: str) -> dict[str, Expected]:
    """What the statement says of each output, or gradient. Where an implementation may overflow is not graded: there the bound
    is infinite.
    """
    if kind == "value":
        return {e.name: e for e in judge.expect(example.inputs, dtype, rigorous=False)}
    wrt = differentiable(judge)
    found = expect_gradients(judge, example.inputs, example.cotangents, wrt, dtype)
    names = vjp(judge.formula, wrt, judge.conventions).gradients
    return {names[name].name: e for name, e in found.items()}


def gradable(value: Reals, got: Any, bound: Any) -> Any:
    """Which entries of an output are graded: not what may overflow, nor what is chaotic or plainly another value."""
    if bound is None:
        return np.ones(value.shape, bool)
    finite = np.isfinite(bound) & np.isfinite(value)
    with np.errstate(all="ignore"):
        wrong = (np.abs(got - value) > bound) & finite
        chaotic = np.sum(bound[finite] ** 2) > LINEAR**2 * np.sum(value[finite] ** 2)
    return np.zeros(value.shape, bool) if chaotic or wrong.any() else finite


def has_kinks(judge: Judge) -> bool:
    """Whether rounding may decide a comparison, such as on which side of a kink a number lies: beyond it the gradient is another,
    as right as ours. Of thousands of numbers one lies so near to it once in thousands of examples.
    """
    return any(is_inexact(part) for node in _find_comparisons(judge.flat) for part in node.args[1:])


@lru_cache(maxsize=256)
def _find_comparisons(flat: Flat) -> tuple[Compare, ...]:
    """The comparisons in some lines."""
    return tuple(node for line in flat.lines for node in walk(line.right) if isinstance(node, Compare))


__all__ = ["expect_at", "gradable", "has_kinks"]
