"""Whether a callable computes in float32 whatever it is given: then its float64 results are reported, and float32 is judged.

Numbers that float32 holds are passed as float64. Results that the bound for float64 refuses, that the bound for float32 accepts
everywhere, and whose errors jump about as roundings do (those of a mistake change as little as the inputs) come from float32.
So do those that are right once the constants of the statement are in float32, such as 1/√d_k: these errors do not jump, but are
known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, product
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.evaluation.evaluate import evaluate
from spec.language.expr import Literal, lift
from spec.language.flatten import Flat
from spec.language.lines import define
from verify.edges import ARITHMETIC, STRICT
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example, round_to
from verify.properties.judge import Expected, Judge, Reals
from verify.properties.setting import Setting
from verify.properties.slopes import REAL
from verify.properties.values import compare
from verify.report import FALSIFIED, CheckResult
from verify.search.outcome import worst
from verify.slips.spots import Spot, depends_on_sizes_alone, rewrite_lines, spots
from verify.subject.returned import values

EXAMPLES, ORDINARY = 16, 6
"""Examples of all regimes, and of unit normal data."""
NEARBY = 2.0**-12, 2.0**-11, -(2.0**-12)
"""By what shares inputs are changed to see whether errors jump: many roundings of float32, and little to anything smooth. One
rounding alone may happen to be as it was, one time in eight."""
SMOOTH = 0.2
"""Errors that change by a smaller share of the largest are a mistake's."""
MOST = 0.5
"""The share of ordinary examples that have to be off in float64, of those whose bounds would tell: every result is rounded."""
SINGLE = 2.0**-24
"""A bound above this share of a value holds float32 inside for float64."""
MOST_CONSTANTS = 8
"""Constants that are looked at: a whole model has thousands."""


def digits_inside(setting: Setting) -> float | None:
    """How many digits all its ordinary float64 results have, if a callable computes in float32 inside; None if it does not."""
    space = setting.space(moderate=True)
    recipes = list(space.plan(EXAMPLES, setting.seed + 23))
    ordinary = [r._replace(regime=0, other=0) for r in space.plan(ORDINARY, setting.seed + 24)]
    jumps, coarse, constant, telling = 0, 0, 0, 0
    shares: list[float] = []
    try:
        for place, recipe in enumerate([*ordinary, *recipes]):
            example = replace(space.example(recipe, "float32"), dtype="float64")
            got = _results(setting, example)
            if _fails(setting.judge.expect_batch(example, dtype="float32"), got):
                return None
            if place >= len(ordinary):
                continue
            double = setting.judge.expect_batch(example, dtype="float64")
            fails = _fails(double, got)
            coarse += fails
            telling += fails or any(np.any(e.bound < SINGLE * np.abs(e.value)) for e in double)
            # Where a constant is exact in float32 (1/√4), or was of no such kind at the first, nothing more is evaluated.
            if fails and constant == coarse - 1:
                constant += right_with_rounded_constants(setting.judge, example, double, got)
            errors = _errors(double, got)
            size, scale = _largest(errors), _largest([e.value for e in double])
            if size and scale:
                shares.append(size / scale)
                jumps += _errors_jump(setting, example, errors, SMOOTH * size)
    except (Fault, Unsupported):
        return None
    is_constant = constant == coarse > 0
    is_rounded = coarse >= max(1, MOST * telling) and 2 * jumps >= coarse
    return -math.log10(max(shares)) if shares and (is_constant or is_rounded) else None


def _results(setting: Setting, example: Example) -> list[Reals]:
    caller = setting.caller
    arguments = caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)
    return [values(x) for x in caller.results(arguments, example.sizes, example.batch, example.dtype)]


def _fails(expected: Sequence[Expected], got: Sequence[Reals]) -> bool:
    return worst([compare(e, g) for e, g in zip(expected, got, strict=True)]).fails


def _errors(expected: Sequence[Expected], got: Sequence[Reals]) -> list[Reals]:
    """The errors of the entries about which the statement says something."""
    return [np.where(np.isfinite(e.bound), g - e.value, 0.0) for e, g in zip(expected, got, strict=True)]


def _errors_jump(setting: Setting, example: Example, errors: Sequence[Reals], least: float) -> bool:
    """Whether errors differ by more at some inputs nearby."""
    real = [t.name for t in setting.judge.formula.tensors if t.domain in REAL]
    arrays = {n: v for n, v in example.inputs.items() if n in real and isinstance(v, np.ndarray)}
    for share in NEARBY:
        moved = {name: round_to(value * (1 + share), "float32") for name, value in arrays.items()}
        near = example.replace_inputs(**moved)
        others = _errors(setting.judge.expect_batch(near), _results(setting, near))
        if _largest([a - b for a, b in zip(errors, others, strict=True)]) > least:
            return True
    return False


def _largest(arrays: Sequence[Reals]) -> float:
    found = (float(np.max(np.abs(a[~np.isnan(a)]), initial=0.0)) for a in map(np.asarray, arrays))
    return max(found, default=0.0)


# Constants in float32 ----------------------------------------------------------------------------------------------------


def right_with_rounded_constants(
    judge: Judge, example: Example, expected: Sequence[Expected], got: Sequence[Reals]
) -> bool:
    """Whether results at an example (without a batch) are right to the digits of float64 where constants are in float32."""
    for flat, inputs in _with_rounded_constants(judge, example):
        said = evaluate(flat, inputs)
        if not _fails([replace(e, value=value) for e, value in zip(expected, said, strict=True)], got):
            return True
    return False


def _with_rounded_constants(judge: Judge, example: Example) -> Iterator[tuple[Flat, Any]]:
    """The statement and its inputs with constants, or numbers that are passed, rounded to float32.

    A constant is rounded itself, or its reciprocal is: 1/√d_k is what is multiplied by.
    """
    given = dict(example.inputs)
    numbers = [
        t.name for t in judge.formula.tensors if t.role == "number" and t.domain in REAL and t.name in given
    ]
    passed = {name: float(np.float32(given[name])) for name in numbers}
    constants = _constants(judge.flat)
    if passed:
        yield judge.flat, {**given, **passed}
    ways: tuple[Callable[[float], float], ...] = (_nearest, _nearest_reciprocal)
    for inputs, way in product((given, {**given, **passed}), ways if constants else ()):
        rights: dict[Any, Any] = {}
        for spot in constants:
            if spot.line not in rights:  # of those in one line the first, which is the outermost
                rights[spot.line] = spot.rebuilt(lift(Fraction(way(_value(judge.flat, spot, inputs)))))
        yield rewrite_lines(judge.flat, rights), inputs


def _constants(flat: Flat) -> list[Spot]:
    """The outermost parts that depend on sizes alone; none within another."""
    found: list[Spot] = []
    for spot in chain.from_iterable(spots(flat, line) for line in flat.lines):
        whole = isinstance(spot.part, Literal) and spot.part.value.is_integer
        if depends_on_sizes_alone(spot.part) and not whole:
            found.append(spot)
    # A part follows what it is within: √(2·d) comes before 2·d, and a line has few constants.
    return found[:MOST_CONSTANTS]


def _nearest(value: float) -> float:
    return float(np.float32(value))


def _nearest_reciprocal(value: float) -> float:
    return 1 / float(np.float32(1 / value)) if value else value


def _value(flat: Flat, spot: Spot, inputs: Any) -> float:
    tensor = Tensor("constant_1")  # a name that no tensor of a statement has
    alone = replace(flat, lines=(define(tensor, spot.part),), outputs=(tensor,))
    return float(evaluate(alone, inputs)[0])


def reported_if_single(setting: Setting, result: CheckResult) -> CheckResult:
    """The check of values in float64; of a callable that computes in float32 inside it is a property, unless it is judged."""
    asked = setting.edges.get(ARITHMETIC)
    if result.dtype != "float64" or result.verdict != FALSIFIED or asked == STRICT[ARITHMETIC]:
        return result
    digits = digits_inside(setting)
    if digits is None:
        return result
    good = f"float64 results of ordinary data are good to {math.floor(digits)} digits"
    said = f"it computes in float32 inside: {good}, and float32 is judged"
    setting.report.has(ARITHMETIC, said, "float32")
    return result.unjudged()


__all__ = ["digits_inside", "reported_if_single", "right_with_rounded_constants"]
