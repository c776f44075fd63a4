"""A theorem at one point: sizes and inputs of their domains that meet the hypotheses, and both sides of a claim there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.abbreviations import meant
from spec.language.arrays import NO_LABEL, Tensor
from spec.language.binders import Expectation
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.dimensions import Size, whole
from spec.language.evaluation.evaluator import Evaluator
from spec.language.flatten import chosen
from spec.language.formula import Formula
from spec.language.proving.evaluating.applying import DISTRIBUTIONS, BallApplications
from spec.language.theorem import Claim, Theorem
from spec.language.trees import free_symbols, walk
from spec.language.wellformed.letters import is_size

BITS = 256
"""The precision of the balls."""
MOST_PLACES = 64
"""At how many values of the indices around it a formula is applied at most."""
Side = tuple[tuple[int, ...], Any, Any]
"""Where a claim is made, and its two sides there."""


def contradicts(relation: str, left: Any, right: Any) -> bool:
    """Whether the balls of two sides contradict what is said of them: they are apart, or the left one is larger."""
    gap = left - right
    return bool({"=": not gap.contains(0), "<=": gap > 0, "<": gap >= 0}[relation])


class Unfit(ValueError):  # noqa: N818  (what is found, not a fault)
    """A point that is none of the theorem's; the message says why."""


def sizes_of(theorem: Theorem, formula: Formula) -> tuple[Size, ...]:
    """Every size that a theorem speaks of, those apart that it replaces."""
    found: set[Any] = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    trees = [size for t in (*formula.tensors, *theorem.given) for size in (*t.shape, t.below)]
    trees += [*theorem.sizes.values(), *theorem.assuming]
    for claim in theorem.claims:
        trees += [claim.left, claim.right, claim.where, *(size for _, size in claim.over)]
    found = found.union(*(free_symbols(sympy.sympify(tree)) for tree in trees))
    return tuple(sorted((s for s in found if is_size(s) and s not in theorem.sizes), key=str))


@dataclass(frozen=True)
class Point:
    """Sizes and inputs by name, at which a theorem is evaluated under a choice of conventions."""

    theorem: Theorem
    formula: Formula
    conventions: Mapping[str, str]
    given: Mapping[str, Any]

    def judging(self) -> Evaluator:
        """An evaluator of the theorem's trees at the point.

        Raises:
            Unfit: something is missing, or not of its domain, or a hypothesis does not hold.
        """
        calls = BallApplications(self.conventions, MOST_PLACES, self.theorem.at)
        evaluator = Evaluator(BallArithmetic(), self._bound(), calls)
        evaluator.outcomes = DISTRIBUTIONS[0]
        for assumption in self.theorem.assuming:
            if not evaluator.truth(self._meant(assumption)).surely.all():
                raise Unfit(f"the hypothesis {assumption} does not hold at the point")
        return evaluator

    def _bound(self) -> Bindings:
        theorem, formula = self.theorem, self.formula
        items = (*formula.tensors, *theorem.given)
        sizes = (*sizes_of(theorem, formula), *theorem.sizes)
        named = {str(item) for item in (*items, *sizes)}
        for name in self.given:
            if name not in named:
                raise Unfit(f"the theorem speaks of no {name}")
        bindings = Bindings(sizes={s: int(self.given[str(s)]) for s in sizes if str(s) in self.given})
        for item in items:
            if item in theorem.at or item.role == "generator":
                continue
            if item.name not in self.given and not self._used(item):
                continue
            if item.name not in self.given:
                raise Unfit(f"{item.name} is missing")
            bindings.tensor(formula.id, item, self.given[item.name])
        bindings.settle()
        for size, value in theorem.sizes.items():
            number = whole(sympy.sympify(value), bindings.sizes)
            if bindings.sizes.setdefault(size, number) != number:
                raise Unfit(
                    f"{size} is {bindings.sizes[size]} at the point, but the theorem has {size} = {value}"
                )
        for size in sizes:
            if bindings.sizes.get(size, 1 if not self._used(size) else 0) < 1:
                raise Unfit(f"the size {size} is missing, or less than 1")
        for item in items:
            _check_domain(item, bindings)
        self._fix(bindings)
        return bindings

    def _fix(self, bindings: Bindings) -> None:
        """Bind what the theorem fixes, and the constants of the formula."""
        theorem, formula = self.theorem, self.formula
        for tensor, value in theorem.at.items():
            if not self._used(tensor):
                continue
            number = sympy.Rational(value)
            shape = tuple(whole(size, bindings.sizes) for size in tensor.shape)
            ball = flint.arb(flint.fmpq(int(number.p), int(number.q)))
            if tensor.name in self.given and not np.all(np.asarray(self.given[tensor.name]) == float(number)):
                raise Unfit(f"{tensor.name} is fixed to {value} by the theorem")
            bindings.reals[tensor.name] = np.full(shape, ball, dtype=object)
        for tensor, value in formula.constants.items():
            if tensor not in theorem.at:
                number = sympy.Rational(value)
                bindings.rationals[tensor.name] = (int(number.p), int(number.q))

    def _used(self, item: Tensor | Size) -> bool:
        """Whether some tree of the theorem speaks of an input or a size, in what its letters mean."""
        return item in self._parts

    @cached_property
    def _parts(self) -> frozenset[Any]:
        trees: list[Any] = [*self.theorem.assuming]
        for claim in self.theorem.claims:
            trees += [claim.left, claim.right, claim.where, *(size for _, size in claim.over)]
        return frozenset(part for tree in trees for part in walk(self._meant(tree)))

    def _meant(self, tree: Any) -> Any:
        return chosen(meant(tree, self.formula), self.formula.choose(self.conventions))

    def sides(self, claim: Claim, evaluator: Evaluator) -> Iterator[Side]:
        """Both sides of a claim wherever it is made, under each distribution of what is random."""
        for at, (left, right) in self.along(claim, (claim.left, claim.right), evaluator):
            yield at, left, right

    def along(
        self, claim: Claim, trees: tuple[Any, ...], evaluator: Evaluator
    ) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
        """The values of trees wherever a claim is made, under each distribution of what is random."""
        where, *meant_ = (self._meant(part) for part in (claim.where, *trees))
        spans = tuple((symbol, sympy.S.Zero, size - 1) for symbol, size in claim.over)
        random = any(isinstance(part, Expectation) for tree in meant_ for part in walk(tree))
        for distribution in DISTRIBUTIONS[: 2 if random else 1]:
            evaluator.outcomes = distribution
            if (found := evaluator.values(meant_, spans, where)) is None:
                return
            counts = np.broadcast_to(True if found.where is None else found.where.surely, found.extent)
            values = [np.broadcast_to(value, found.extent) for value in found.values]
            for at in np.ndindex(*found.extent):
                if counts[at]:
                    yield at, [value[at] for value in values]


def _check_domain(tensor: Tensor, bindings: Bindings) -> None:
    """Refuse values outside the domain of a tensor."""
    name, domain = tensor.name, tensor.domain
    if name in bindings.integers:
        values = bindings.integers[name]
        below = whole(tensor.shape[0] if domain == "permutation" else tensor.below, bindings.sizes)
        if domain == "label":
            values = values[values != NO_LABEL]
        if (values < 0).any() or (values >= below).any():
            raise Unfit(f"{name} holds integers from 0 to {below - 1}; the point has others")
        if domain == "permutation" and len(set(values.tolist())) < below:
            raise Unfit(f"{name} is a permutation; the point has none")
    elif name in bindings.reals:
        for value in bindings.reals[name].flat:
            if not flint.arb(value).is_finite():
                raise Unfit(f"{name} holds numbers; the point has {value}")
            if domain != "real" and not (value > 0 if domain == "positive" else value >= 0):
                raise Unfit(f"{name} is {domain}; the point has {value}")
            if domain == "share" and not value <= 1:
                raise Unfit(f"{name} is at most 1; the point has {value}")
