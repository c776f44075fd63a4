"""The statement with its constants in float32: what a library computes that keeps 1/√d_k, or ε, as a number of that type.

The errors of such constants are no roundings of results: they change as little as the inputs do. What tells them from a mistake
of the same size is that they are known: with these rounded the statement is what was returned, to the digits of float64.
"""

from __future__ import annotations

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
from verify.inputs.examples import Example
from verify.properties.judge import Expected, Judge, Reals
from verify.properties.values import compare
from verify.search.outcome import worst
from verify.slips.spots import Spot, fixed, spots

CONSTANT = "constant_1"
"""A name that no tensor of a statement has."""
MOST = 8
"""Parts that are looked at: a whole model has thousands."""


def constants_rounded(
    judge: Judge, example: Example, expected: Sequence[Expected]
) -> Iterator[list[Expected]]:
    """What is expected at an example (without a batch) where constants, or numbers that are passed, are rounded to float32.

    A constant is rounded itself, or its reciprocal is: 1/√d_k is what is multiplied by.
    """
    given = example.inputs
    numbers = {t.name for t in judge.formula.tensors if t.role == "number"}
    passed = {**given, **{n: float(np.float32(v)) for n, v in given.items() if n in numbers}}
    parts = _constants(judge.flat)
    for inputs, way in product((given, passed), (None, _nearest, _reciprocal)):
        if way is None and (inputs is given or not numbers):
            continue
        if way is not None and not parts:
            continue
        flat = judge.flat if way is None else _with(judge.flat, parts, inputs, way)
        values = evaluate(flat, inputs)
        yield [replace(e, value=value) for e, value in zip(expected, values, strict=True)]


def right_with_rounded_constants(
    judge: Judge, example: Example, expected: Sequence[Expected], got: Sequence[Reals]
) -> bool:
    """Whether what was returned is right to the digits of float64 where constants are rounded to float32."""
    return any(
        not worst([compare(e, g) for e, g in zip(said, got, strict=True)]).fails
        for said in constants_rounded(judge, example, expected)
    )


def _constants(flat: Flat) -> list[Spot]:
    """The outermost parts that depend on sizes alone; none within another."""
    found: list[Spot] = []
    for spot in chain.from_iterable(spots(flat, line) for line in flat.lines):
        whole = isinstance(spot.part, Literal) and spot.part.value.is_integer
        if fixed(spot.part) and not whole:
            found.append(spot)
    # A part follows what it is within: √(2·d) comes before 2·d, and a line has few constants.
    return found[:MOST]


def _nearest(value: float) -> float:
    return float(np.float32(value))


def _reciprocal(value: float) -> float:
    return 1 / float(np.float32(1 / value)) if value else value


def _with(flat: Flat, parts: Sequence[Spot], inputs: Any, way: Callable[[float], float]) -> Flat:
    """The statement with constants as ``way`` rounds them; of those in one line the first, which is the outermost."""
    rights: dict[Any, Any] = {}
    for spot in parts:
        if spot.line not in rights:
            rights[spot.line] = spot.rebuilt(lift(Fraction(way(_value(flat, spot, inputs)))))
    lines = tuple(replace(line, right=rights[line]) if line in rights else line for line in flat.lines)
    return replace(flat, lines=lines)


def _value(flat: Flat, spot: Spot, inputs: Any) -> float:
    tensor = Tensor(CONSTANT)
    alone = replace(flat, lines=(define(tensor, spot.part),), outputs=(tensor,))
    return float(evaluate(alone, inputs)[0])


__all__ = ["constants_rounded", "right_with_rounded_constants"]
