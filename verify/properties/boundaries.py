"""Inputs at a boundary: where a statement compares something with a number it is given, and both are equal.

A range is open or closed there, and nothing else shows which. Rounding decides such a comparison, unless every operation on the
way to it is exact: so one input after the other is 0, which makes products, tanh and σ exact, and the number is short and binary.
Where that is a boundary is seen from the statement itself: its value jumps between the numbers next to this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.expr import Compare, Ref
from spec.language.flatten import Flat
from spec.language.trees import walk
from verify.faults import Fault
from verify.inputs.examples import Example, Space
from verify.oracle import PLAIN
from verify.properties.judge import Expected, Judge
from verify.properties.slopes import REAL
from verify.properties.values import compare, explain
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller
from verify.subject.returned import values

GRID = tuple(half / 2 for half in range(1, 13))
"""Numbers that are tried: those of few bits, since positions are whole ones and their middles."""
NEXT = 2.0**-40
"""By what share of it the numbers next to one differ: much less than anything smooth shows."""
NEARBY = 2.0**-10
"""The same, where rounding no longer decides: there a bound is known."""
JUMP = 2.0**-10
"""By what share of the largest entry a value changes that jumps."""
ROOM = 2.0
"""A bound nearby is at most half of what it may be here: it changes as little as the number, by a thousandth."""
TURNS = 4
"""Choices of sizes and data for each input that is 0."""


def limits(judge: Judge) -> tuple[str, ...]:
    """The numbers given to a statement with which it compares what it works out."""
    return _find_compared_numbers(judge.flat)


@lru_cache(maxsize=64)
def _find_compared_numbers(flat: Flat) -> tuple[str, ...]:
    tensors = [item for item in flat.inputs if isinstance(item, Tensor)]
    given = {t.name for t in tensors if t.role == "number" and t.domain in REAL}
    found: dict[str, None] = {}
    for line in flat.lines if given else ():
        for part in walk(line.right):
            if isinstance(part, Compare):
                sides = part.args[1:]
                for one, other in (sides, sides[::-1]):
                    name = one.tensor.name if isinstance(one, Ref) else ""
                    if name in given and any(isinstance(inner, Ref) for inner in walk(other)):
                        found[name] = None
    return tuple(found)


def boundary_examples(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Examples with one input 0 and a number at a boundary, in each type in turn."""
    zeroed = [t for t in judge.formula.tensors if t.domain in REAL and t.shape and t.name not in space.fixed]
    place = 0
    for name in limits(judge):
        if name in space.fixed:
            continue
        for tensor in zeroed:
            for recipe in space.plan(TURNS, seed + 31):
                dtype = dtypes[place % len(dtypes)]
                drawn = space.example(recipe._replace(regime=0, other=0, sizes=recipe.sizes % 3), dtype)
                drawn = drawn.replace_inputs(**{tensor.name: np.zeros_like(drawn.inputs[tensor.name])})
                number = _boundary(judge, drawn, name)
                if number is not None:
                    place += 1
                    yield replace(
                        drawn.replace_inputs(**{name: number}), regime=f"at a boundary: {name} = {number:g}"
                    )


def _boundary(judge: Judge, example: Example, name: str) -> float | None:
    """The least number of the grid at which the statement's value jumps; None where it does at none."""
    below, above = (
        _plain(judge, [{**example.inputs, name: n * (1 + side * NEXT)} for n in GRID], example.dtype)
        for side in (-1, 1)
    )
    for number, low, high in zip(GRID, below, above, strict=True):
        if _apart(low, high) > JUMP:
            return number
    return None


def _plain(judge: Judge, every: list[Mapping[str, Any]], dtype: str) -> list[list[Any]]:
    """Evaluate the statement in plain float64."""
    answers = judge.oracle.ask(judge.flat, every, PLAIN, dtype)
    return [[value for value, _ in answer] for answer in answers]


def _apart(one: Sequence[Any], other: Sequence[Any]) -> float:
    """How far results are apart, beside their largest entry; 0 where the statement says nothing of some entry."""
    if not all(np.isfinite(part).all() for part in (*one, *other)):
        return 0.0
    size = max((float(np.abs(part).max(initial=0.0)) for part in (*one, *other)), default=0.0)
    gap = max((float(np.abs(a - b).max(initial=0.0)) for a, b in zip(one, other, strict=True)), default=0.0)
    return gap / size if size else 0.0


def at_a_boundary(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The value at a boundary; how far a right one may be off is what holds on that side where the statement says the same."""
    name = example.regime.partition(": ")[2].partition(" = ")[0] or limits(judge)[0]
    number = float(example.inputs[name])
    sides = [{**example.inputs, name: number * (1 + side * NEARBY)} for side in (-1, 1)]
    (here, *there) = _plain(judge, [example.inputs, *sides], example.dtype)
    gaps = [_apart(here, side) for side in there]
    if abs(gaps[0] - gaps[1]) <= JUMP / 2:
        return Outcome(idle=True)
    alike = sides[int(gaps[1] < gaps[0])]
    bounds = [ROOM * each.bound for each in judge.expect(alike, example.dtype, rigorous=False)]
    try:
        arguments = caller.arguments(example.inputs, example.dtype)
        got = caller.results(arguments, example.sizes, example.batch, example.dtype)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    names = [tensor.name for tensor in judge.flat.outputs]
    expected = [Expected(n, v, b) for n, v, b in zip(names, here, bounds, strict=True)]
    outcome = worst([compare(e, values(g)) for e, g in zip(expected, got, strict=True)])
    return explain(judge, caller, outcome, example)


__all__ = ["at_a_boundary", "boundary_examples", "limits"]
