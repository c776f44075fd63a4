"""Points to evaluate a theorem at: sizes from 1 on and past every constant, inputs with ties, zeros and both signs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import sympy

from spec.language.arrays import NO_LABEL, Tensor
from spec.language.evaluation.dimensions import Size, whole
from spec.language.evaluation.evaluator import Evaluator
from spec.language.formula import Formula
from spec.language.proving.evaluating.points import Point, Unfit, sizes_of
from spec.language.theorem import Theorem
from spec.language.trees import walk

SIZES = (1, 2, 3, 5, 7)
FARTHEST = 64
"""The largest constant that sizes are drawn past."""
LARGEST = 600
"""Entries that the tensors may have together."""
REGIMES = ("plain", "ties", "zeros", "large", "hidden", "plain", "ties", "plain")
"""What entries are like, by turns; in the fifth every condition of a mask fails."""


def constants_of(theorem: Theorem) -> set[int]:
    """The whole numbers that the claims and hypotheses of a theorem write."""
    trees: list[Any] = [*theorem.assuming, *theorem.sizes.values()]
    for claim in theorem.claims:
        trees += [claim.left, claim.right, claim.where, *(size for _, size in claim.over)]
    parts = (part for tree in trees for part in walk(sympy.sympify(tree)))
    return {abs(int(number)) for part in parts if part.is_Rational for number in (part.p, part.q)}


def ladders(theorem: Theorem, formula: Formula) -> Iterator[dict[Size, int]]:
    """Sizes: all alike, all unlike, past every constant, at each and just before; those left out at which a tensor would be too
    large.
    """
    symbols = sizes_of(theorem, formula)
    least = max((k for k in constants_of(theorem) if k <= FARTHEST), default=0)
    count, number = len(SIZES), len(symbols)
    unlike = [
        [SIZES[(step * place + shift) % count] for place in range(number)]
        for step in (1, 2, 4)
        for shift in (1, 0, 2, 3, 4)
    ]
    past = [[least + 1 if place == far else 2 for place in range(number)] for far in range(number)]
    rows = [[1] * number, [2] * number, unlike[0], *past, [3] * number, *unlike[1:]]
    rows += [[least + 1] * number, [least + 2] * number]
    named = {k + more for k in constants_of(theorem) if k <= FARTHEST for more in (-1, 0, 1)}
    for size in sorted(named - {0, -1}):
        alone = [[size if place == far else 2 for place in range(number)] for far in range(number)]
        rows += [row for row in ([size] * number, *alone) if row not in rows]
    for row in rows:
        sizes = dict(zip(symbols, row, strict=True))
        every = {**sizes, **{s: whole(sympy.sympify(v), sizes) for s, v in theorem.sizes.items()}}
        tensors = (*formula.tensors, *theorem.given)
        if sum(np.prod([whole(size, every) for size in t.shape], dtype=float) for t in tensors) <= LARGEST:
            yield sizes


def drawn(
    theorem: Theorem, formula: Formula, conventions: Mapping[str, str], sizes: Mapping[Size, int], turn: int
) -> Point:
    """A point at these sizes; the same for the same turn."""
    random = np.random.default_rng([11, turn])
    every = {**sizes, **{s: whole(sympy.sympify(v), sizes) for s, v in theorem.sizes.items()}}
    given: dict[str, Any] = {str(s): k for s, k in sizes.items()}
    for tensor in (*formula.tensors, *theorem.given):
        if tensor in theorem.at or tensor.role == "generator":
            continue
        shape = tuple(whole(size, every) for size in tensor.shape)
        given[tensor.name] = _entries(tensor, shape, every, REGIMES[turn % len(REGIMES)], random)
    return Point(theorem, formula, conventions, given)


def _entries(
    tensor: Tensor,
    shape: tuple[int, ...],
    sizes: Mapping[Size, int],
    regime: str,
    random: np.random.Generator,
) -> Any:
    if tensor.domain == "boolean":
        share = {"plain": 0.6, "zeros": 1.0, "hidden": 0.0}.get(regime, 0.4)
        return np.asarray(random.random(shape) < share)
    if tensor.domain == "permutation":
        return random.permutation(shape[0])
    if tensor.domain in ("integer", "label"):
        found = random.integers(0, whole(tensor.below, sizes), shape)
        share = {"plain": 0.3, "hidden": 1.0}.get(regime, 0.0) if tensor.domain == "label" else 0.0
        return np.where(random.random(shape) < share, NO_LABEL, found) if share else found
    if regime == "ties":
        values = random.integers(-1, 2, shape).astype(float)
    elif regime == "zeros":
        values = np.zeros(shape)
    else:
        values = np.round(random.standard_normal(shape) * (6 if regime == "large" else 1), 6)
    if tensor.domain == "real":
        return values
    if tensor.domain == "share":
        return np.minimum(np.abs(values) / 2, 1)
    return np.abs(values) + (0.125 if tensor.domain == "positive" else 0)


def points(
    theorem: Theorem, formula: Formula, conventions: Mapping[str, str], turns: int, enough: int = 0
) -> Iterator[tuple[Point, Evaluator]]:
    """Points that meet the hypotheses, each with its evaluator: at every ladder of sizes, ``turns`` draws of inputs.

    With ``enough``, no more draws at a ladder once so many met the hypotheses there.
    """
    for rung, sizes in enumerate(ladders(theorem, formula)):
        met = 0
        for turn in range(turns):
            point = drawn(theorem, formula, conventions, sizes, rung + 97 * turn)
            try:
                evaluator = point.judging()
            except Unfit:
                continue
            yield point, evaluator
            met += 1
            if met == enough:
                break
