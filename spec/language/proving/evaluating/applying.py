"""The statement in the place of a formula that a claim applies, in balls; and the outcomes of what is random."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.arrays import Tensor
from spec.language.calls import Call, Pullback
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import Bindings, bind, sizes_at
from spec.language.evaluation.compiled.applications import Applications
from spec.language.evaluation.dimensions import Size
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.indexing import is_inexact
from spec.language.evaluation.truth import Truth
from spec.language.expr import Compare
from spec.language.flatten import Flat
from spec.language.formula import Formula
from spec.language.known import known
from spec.language.trees import refs, walk

DISTRIBUTIONS = (
    ((flint.fmpq(-1), flint.fmpq(1, 2)), (flint.fmpq(1), flint.fmpq(1, 2))),
    ((flint.fmpq(-1, 2), flint.fmpq(4, 5)), (flint.fmpq(2), flint.fmpq(1, 5))),
)
"""Values with their probabilities: mean 0 and variance 1 both, the second one skewed and with another fourth moment."""


def sizes_in(formula: Formula, inputs: Mapping[str, Any]) -> dict[Size, int]:
    """The sizes at which a formula is applied, read off its arguments."""
    return dict(sizes_at(formula.flat(None), inputs))


class Watched(BallArithmetic):
    """Balls that notice where numbers that are compared may be equal: a derivative by branches says nothing there."""

    met = False

    def compared(self, relation: str, a: Any, b: Any) -> Truth:
        """As balls are."""
        self.met |= any(gap.contains(0) for gap in np.ravel(a - b))
        return super().compared(relation, a, b)


@lru_cache(maxsize=256)
def turns(flat: Flat, wrt: str) -> bool:
    """Whether a condition compares numbers that depend on an input."""
    depending, before = {wrt}, 0
    while len(depending) > before:
        before = len(depending)
        depending |= {
            line.name for line in flat.lines if depending & {r.tensor.name for r in refs(line.right)}
        }
    compared = (part for line in flat.lines for part in walk(line.right) if isinstance(part, Compare))
    return any(
        depending & {r.tensor.name for r in refs(node)} and any(map(is_inexact, node.args[1:]))
        for node in compared
    )


class BallApplications(Applications):
    """Applies the statement itself, in balls."""

    def __init__(
        self,
        conventions: Mapping[str, str],
        most: float = inf,
        fixed: Mapping[Tensor, Any] = MappingProxyType({}),
    ) -> None:
        self.conventions, self.most, self.fixed = conventions, most, fixed

    def real(self, number: Any) -> Any:
        """The balls themselves."""
        return np.array(number, dtype=object)

    def applied(self, node: Call | Pullback, every: list[dict[str, Any]]) -> list[Any]:
        """The statement's outputs or gradients, enclosed."""
        return [self.apply(node, arguments) for arguments in every]

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        """The statement's output or gradient at one place."""
        callee = known(node.formula_id)
        offered = {c.name for c in callee.conventions}
        conventions = {name: option for name, option in self.conventions.items() if name in offered}
        if isinstance(node, Pullback):
            seed = arguments.pop("seed")
            gradient = vjp(callee, [node.wrt], conventions)
            seeds = gradient.seeded({node.output: seed}, sizes_in(callee, arguments))
            arithmetic = Watched()
            done = run(gradient.flat, arithmetic, self._bound(callee, gradient.flat, {**arguments, **seeds}))
            found = done.tensors[gradient.gradients[node.wrt].name]
            if arithmetic.met and turns(gradient.flat, node.wrt):
                return np.full_like(found, arithmetic.undefined()[()])
            return found
        flat = callee.flat(conventions)
        return run(flat, BallArithmetic(), self._bound(callee, flat, arguments)).tensors[node.output]

    def _bound(self, callee: Formula, flat: Flat, arguments: Mapping[str, Any]) -> Bindings:
        """The arguments, and constants as the theorem fixes them."""
        bindings = bind(flat, arguments)
        for tensor, value in self.fixed.items():
            if tensor in callee.constants:
                number = sympy.Rational(value)
                bindings.rationals[tensor.name] = (int(number.p), int(number.q))
        return bindings

    def joined(self, parts: list[Any], lead: tuple[int, ...], beside: bool) -> Any:
        """As balls."""
        whole = np.empty((len(parts), *np.shape(parts[0])), dtype=object)
        for place, part in enumerate(parts):
            whole[place] = part if np.ndim(part) else part.item()
        return whole.reshape((*lead, *np.shape(parts[0])))
