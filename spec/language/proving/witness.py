"""Claims judged in numbers: an inequality exhibited at one point, or both sides enclosed at random points, by balls.

Both sides become the lines of a formula that is evaluated like any other, in FLINT's rigorous ball arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.abbreviations import meant
from spec.language.arrays import Tensor
from spec.language.evaluation.evaluate import enclose
from spec.language.expr import TRUE, case
from spec.language.formula import Formula
from spec.language.known import forget
from spec.language.lines import Definition
from spec.language.theorem import Claim, Theorem
from spec.language.trees import free_symbols, substitute, walk

DIGITS = 30
POINTS = 5


class Numeric:
    """Evaluates both sides of a claim."""

    def __init__(self, theorem: Theorem, formula: Formula, claim: Claim) -> None:
        self.theorem, self.formula, self.claim = theorem, formula, claim
        self.note = ""

    def sides(
        self, point: Mapping[str, Any], conventions: Mapping[str, str]
    ) -> list[tuple[tuple[int, ...], Any, Any]]:
        """Index, left and right (balls) wherever the claim is made."""
        symbols = tuple(symbol for symbol, _ in self.claim.over)
        ranges = tuple((symbol, sympy.S.Zero, size - 1) for symbol, size in self.claim.over)
        tensors, lines = [], []
        for name, side in (("left", self.claim.left), ("right", self.claim.right)):
            tensors.append(Tensor(name, tuple(size for _, size in self.claim.over)))
            where, side = meant(self.claim.where, self.formula), meant(side, self.formula)
            body = side if where == TRUE else case(where, side)
            lines.append(Definition(tensors[-1][symbols], body, ranges))
        declared = (*sorted(self._sizes(), key=str), *self.formula.tensors, *self.theorem.given)
        used = {part for line in lines for tree in (line.left, line.right) for part in walk(tree)}
        inputs = tuple(item for item in declared if str(item) in point and item in used)
        needless = {str(item) for item in declared if item not in used}
        name = f"{self.formula.id}:{self.theorem.name}"
        both = Formula(
            name,
            self.theorem.title,
            inputs,
            tuple(lines),
            tuple(tensors),
            self.formula.conventions,
            self.formula.constants,
            auxiliary=True,
        )
        try:
            values = {name: value for name, value in point.items() if name not in needless}
            left, right = enclose(both, values, conventions, bits=256)
        finally:
            forget(name)
        return [(at, left[at], right[at]) for at in np.ndindex(left.shape)]

    def _sizes(self) -> set[sympy.Symbol]:
        shapes = [size for t in (*self.formula.tensors, *self.theorem.given) for size in t.shape]
        return {s for size in (*shapes, *self.theorem.sizes.values()) for s in free_symbols(size)}

    def witness(self, point: Mapping[str, Any], conventions: Mapping[str, str]) -> str:
        """Why the point does not show that the sides differ; empty if it does."""
        for at, left, right in self.sides(point, conventions):
            difference = left - right
            if (difference > 0) or (difference < 0):
                place = ", ".join(f"{s} = {k}" for (s, _), k in zip(self.claim.over, at, strict=True))
                self.note = f"at {place}: {_digits(left)} against {_digits(right)}"
                return ""
        return "at the point given the two sides agree, as far as the enclosures tell"

    def enclose(self, conventions: Mapping[str, str]) -> str:
        """Why random points speak against the claim; empty if they do not."""
        if self.theorem.assuming or self.theorem.sizes or self.theorem.at:
            return "an enclosure draws its points freely: it takes no assumptions, replaced sizes or fixed inputs"
        random = np.random.default_rng(7)
        for _ in range(POINTS):
            point: dict[str, Any] = {s.name: int(random.integers(1, 5)) for s in self._sizes()}
            sizes = {s: sympy.Integer(point[s.name]) for s in self._sizes()}
            for tensor in (*self.formula.tensors, *self.theorem.given):
                shape = tuple(int(substitute(size, sizes)) for size in tensor.shape)
                point[tensor.name] = _drawn(tensor, shape, sizes, random)
            for at, left, right in self.sides(point, conventions):
                gap = right - left
                close = abs(gap) < flint.arb(10) ** -DIGITS * (1 + abs(left))
                if not {"=": close, "<=": close or gap >= 0, "<": gap > 0}[self.claim.relation]:
                    return f"at a random point, index {at}: {_digits(left)} against {_digits(right)}"
        self.note = f"enclosed to {DIGITS} digits at {POINTS} random points"
        return ""


def _drawn(
    tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[Any, Any], random: np.random.Generator
) -> Any:
    if tensor.domain == "boolean":
        return random.random(shape) < 0.7
    if tensor.domain == "permutation":
        return random.permutation(shape[0])
    if tensor.domain == "integer":
        return random.integers(0, int(substitute(tensor.below, sizes)), shape)
    values = random.standard_normal(shape)
    return values if tensor.domain == "real" else np.abs(values) + 0.125


def _digits(ball: Any) -> str:
    return str(float(ball.mid()))[:12]
