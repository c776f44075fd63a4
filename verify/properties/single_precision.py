"""Whether a callable computes in float32 whatever it is given: then its float64 results are reported, and float32 is judged.

Numbers that float32 holds are passed as float64. Results that the bound for float64 refuses, that the bound for float32 accepts
everywhere, and whose errors jump about as roundings do (those of a mistake change as little as the inputs) come from float32.
So do those that are right once the constants of the statement are rounded to float32: these errors do not jump.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from verify.edges import ARITHMETIC, STRICT
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example, rounded
from verify.properties.judge import Expected, Reals
from verify.properties.rounded_constants import right_with_rounded_constants
from verify.properties.setting import Setting
from verify.properties.values import compare
from verify.report import FALSIFIED, CheckResult
from verify.search.outcome import worst
from verify.subject.returned import values

EXAMPLES, ORDINARY = 16, 6
"""Examples of all regimes, and of unit normal data."""
NEARBY = 2.0**-12, 2.0**-11, -(2.0**-12)
"""By what shares inputs are changed to see whether errors jump: many roundings of float32, and little to anything smooth. One
rounding alone may happen to be as it was, one time in eight."""
SMOOTH = 0.2
"""Errors that change by a smaller share of the largest are a mistake's."""
MOST = 0.5
"""The share of ordinary examples that have to be off in float64: every result is rounded."""


def digits_inside(setting: Setting) -> float | None:
    """How many digits its float64 results are good to, if a callable computes in float32 inside; None if it does not."""
    judge, space = setting.judge, setting.space(moderate=True)
    jumps, coarse, seen, constant = 0, 0, 0, 0
    shares: list[float] = []
    recipes = list(space.plan(EXAMPLES, setting.seed + 23))
    ordinary = [r._replace(regime=0, other=0) for r in space.plan(ORDINARY, setting.seed + 24)]
    try:
        for place, recipe in enumerate([*ordinary, *recipes]):
            example = replace(space.example(recipe, "float32"), dtype="float64")
            got = _called(setting, example)
            single = judge.expect_batch(example, dtype="float32")
            if worst([compare(e, g) for e, g in zip(single, got, strict=True)]).fails:
                return None
            if place >= len(ordinary):
                continue
            seen += 1
            double = judge.expect_batch(example, dtype="float64")
            fails = worst([compare(e, g) for e, g in zip(double, got, strict=True)]).fails
            coarse += fails
            # Where a constant is exact in float32 (1/√4), or was of no such kind at the first, nothing more is evaluated.
            if fails and constant == coarse - 1:
                constant += right_with_rounded_constants(judge, example, double, got)
            errors, scale = _errors(double, got), _largest([e.value for e in double])
            size = _largest(errors)
            if not size or not scale:
                continue
            shares.append(size / scale)
            jumps += any(
                _largest([a - b for a, b in zip(errors, moved, strict=True)]) > SMOOTH * size
                for moved in _moved(setting, example)
            )
    except (Fault, Unsupported):
        return None
    if shares and constant == coarse > 0:
        return -math.log10(median(shares))
    if not shares or coarse < MOST * seen or 2 * jumps < coarse:
        return None
    return -math.log10(median(shares))


def _errors(expected: Sequence[Expected], got: Sequence[Reals]) -> list[Reals]:
    """The errors of the entries about which the statement says something."""
    return [np.where(np.isfinite(e.bound), g - e.value, 0.0) for e, g in zip(expected, got, strict=True)]


def _called(setting: Setting, example: Example) -> list[Reals]:
    caller = setting.caller
    arguments = caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)
    return [values(x) for x in caller.results(arguments, example.sizes, example.batch, example.dtype)]


def _moved(setting: Setting, example: Example) -> Iterator[list[Reals]]:
    """The errors at inputs nearby."""
    for share in NEARBY:
        near = _near(setting, example, share)
        yield _errors(setting.judge.expect_batch(near), _called(setting, near))


def _near(setting: Setting, example: Example, share: float) -> Example:
    real = {t.name for t in setting.judge.formula.tensors if t.domain in ("real", "positive", "nonnegative")}
    changed = {
        name: rounded(value * (1 + share), "float32")
        for name, value in example.inputs.items()
        if name in real and isinstance(value, np.ndarray)
    }
    return example.changed(**changed)


def _largest(arrays: Sequence[Reals]) -> float:
    return max(
        (float(np.max(np.abs(a[~np.isnan(a)]), initial=0.0)) for a in map(np.asarray, arrays)), default=0.0
    )


def reported_if_single(setting: Setting, result: CheckResult) -> CheckResult:
    """The check of values in float64; of a callable that computes in float32 inside it is a property, unless it is judged."""
    asked = setting.edges.get(ARITHMETIC)
    if result.dtype != "float64" or result.verdict != FALSIFIED or asked == STRICT[ARITHMETIC]:
        return result
    digits = digits_inside(setting)
    if digits is None:
        return result
    said = f"it computes in float32 inside: float64 results are good to {digits:.0f} digits, and float32 is judged"
    setting.report.has(ARITHMETIC, said, "float32")
    return result.unjudged()


__all__ = ["digits_inside", "reported_if_single"]
