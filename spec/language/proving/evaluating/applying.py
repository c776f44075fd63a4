"""The places in a claim where a formula is applied: their arguments gathered, and something put in the formula's place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from itertools import product
from math import inf
from types import MappingProxyType
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.arrays import WHOLE, Comprehension, Tensor
from spec.language.binders import Expectation
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import Bindings, bind, sizes_at
from spec.language.evaluation.dimensions import Size, is_size
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.indexing import is_inexact
from spec.language.evaluation.interpreter import Evaluator
from spec.language.evaluation.truth import Truth
from spec.language.expr import Compare, Literal, Node
from spec.language.flatten import Flat
from spec.language.formula import Formula
from spec.language.known import known
from spec.language.trees import free_symbols, refs, walk

MOST_OUTCOMES = 256
"""How many outcomes of the random entries an expectation is summed over at most."""
DISTRIBUTIONS = (
    ((flint.fmpq(-1), flint.fmpq(1, 2)), (flint.fmpq(1), flint.fmpq(1, 2))),
    ((flint.fmpq(-1, 2), flint.fmpq(4, 5)), (flint.fmpq(2), flint.fmpq(1, 5))),
)
"""Values with their probabilities: mean 0 and variance 1 both, the second one skewed and with another fourth moment."""


class NotEvaluated(ValueError):  # noqa: N818  (what is found, not a fault)
    """A claim that cannot be evaluated at a point; the message says why."""


class Judging(Evaluator):
    """Evaluates the sides of a claim in balls: formulas applied, derivatives, expectations over a distribution."""

    distribution = DISTRIBUTIONS[0]

    def value(self, node: Any) -> Any:
        """A value; an expectation by every outcome of its random entries, a literal with π as a ball."""
        if isinstance(node, Literal) and node.value.has(sympy.pi):
            return self._exact(node.value)
        return self._expectation(node) if isinstance(node, Expectation) else super().value(node)

    def under(self, distribution: tuple[Any, ...]) -> None:
        """Take expectations over another distribution from now on."""
        self.distribution = distribution

    def _exact(self, expr: Any) -> Any:
        """Arithmetic over letters, numbers and π."""
        if expr == sympy.pi:
            return self.scalar(np.array(flint.arb.pi(), dtype=object))
        if not expr.has(sympy.pi):
            return super().value(Literal(expr))
        if isinstance(expr, sympy.Add | sympy.Mul):
            join = self.arithmetic.plus if isinstance(expr, sympy.Add) else self.arithmetic.times
            return reduce(join, map(self._exact, expr.args))
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer:
            return self.arithmetic.power(self._exact(expr.base), None, int(expr.exp))
        raise NotEvaluated(f"{expr} is no number in balls")

    def _expectation(self, node: Expectation) -> Any:
        names = [tensor.name for tensor in node.random]
        saved = {name: self.tensors[name] for name in names}
        entries = sum(array.size for array in saved.values())
        if len(self.distribution) ** entries > MOST_OUTCOMES:
            raise NotEvaluated(f"the expectation is over {entries} random entries")
        total: Any = None
        try:
            for outcome in product(self.distribution, repeat=entries):
                left = list(outcome)
                weight = flint.fmpq(1)
                for name in names:
                    array = np.empty(saved[name].shape, dtype=object)
                    for place in np.ndindex(*array.shape):
                        number, chance = left.pop()
                        array[place], weight = flint.arb(number), weight * chance
                    self.tensors[name] = array
                part = self.arithmetic.times(
                    self.scalar(self.arithmetic.rational(int(weight.p), int(weight.q))), self.value(node.body)
                )
                total = part if total is None else self.arithmetic.plus(total, part)
        finally:
            self.tensors |= saved
        return total


class Applications:
    """Evaluates the calls inside a claim: gathers their arguments, applies, and reads the entries asked for.

    Arguments that depend on indices around the call are gathered for each value of these. Subclasses apply.
    """

    most = inf
    """At how many values of the indices around it a formula is applied at most."""
    around: frozenset[Any] = frozenset()
    """The indices that every application depends on."""

    def __init__(self) -> None:
        self._used: dict[Any, set[Any]] = {}  # the indices and sizes in the arguments of a call

    def __call__(self, evaluator: Evaluator, node: Call | Pullback) -> Any:
        """The numbers of one application, one axis for each index in scope."""
        arguments = list(node.arguments if isinstance(node, Call) else (*node.call.arguments, node.seed))
        if node not in self._used:
            self._used[node] = set(self.around).union(*(free_symbols(a) for a in arguments))
        used = self._used[node]
        outer = [s for s in evaluator.scope if s in used and s in evaluator.ranges]
        ranges = [evaluator.ranges[s] for s in outer]
        if np.prod([len(r) for r in ranges], dtype=float) > self.most:
            raise NotEvaluated(f"{node.args[0]} is applied at more than {self.most} places")
        parts = self.applied(node, self.everywhere(evaluator, node, arguments, outer))
        lead = tuple(len(r) for r in ranges)
        index = (*(s - int(r[0]) if len(r) else s for s, r in zip(outer, ranges, strict=True)), *node.index)
        return self.entries(evaluator, parts, lead, index)

    def everywhere(
        self, evaluator: Evaluator, node: Call | Pullback, arguments: list[Any], outer: list[Any]
    ) -> list[dict[str, Any]]:
        """The arguments at each value of the indices around the call that they depend on."""
        every: list[dict[str, Any]] = []
        same: dict[str, Any] = {}  # arguments that are the same at all of these places
        for at in product(*(evaluator.ranges[s] for s in outer)):
            inner = evaluator.outside(dict(zip(outer, (int(v) for v in at), strict=True)))
            every.append(self.gathered(inner, node, arguments, same))
            if not same:
                same = self._constant(node, arguments, every[0], set(outer))
        return every

    def gathered(
        self, inner: Evaluator, node: Call | Pullback, arguments: list[Any], same: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The arguments as arrays, by the name of the input (the seed of a pullback under ``seed``); some are known."""
        callee = known(node.formula_id)
        found: dict[str, Any] = {}
        for item, value in zip(callee.inputs, arguments, strict=False):
            name = item.name
            found[name] = same[name] if name in same else self.argument(inner, item, value)
        if isinstance(node, Pullback):
            found["seed"] = self.argument(inner, callee.line(node.output), arguments[-1])
        return found

    def _constant(
        self, node: Call | Pullback, arguments: list[Any], found: Mapping[str, Any], outer: set[Any]
    ) -> dict[str, Any]:
        """Those of the arguments found that no index around the call occurs in."""
        items = zip(known(node.formula_id).inputs, arguments, strict=False)
        return {item.name: found[item.name] for item, value in items if not outer & free_symbols(value)}

    def argument(self, inner: Evaluator, item: Tensor | Size, value: Any) -> Any:
        """One argument, in the arithmetic of the evaluation."""
        if value == ABSENT or (isinstance(item, Tensor) and item.role == "generator"):
            return None
        if is_size(item):
            return int(inner.index(value.value if isinstance(value, Literal) else value).item())
        if isinstance(value, Tensor):
            if item.domain == "boolean":
                return inner.booleans[value.name]
            if item.domain in WHOLE:
                return inner.integers[value.name]
            return self.real(inner, inner.tensors[value.name])
        spans: list[tuple[Any, Any, Any]] = []
        if isinstance(value, Comprehension):
            spans = [(var, 0, size - 1) for var, size in zip(value.vars, value.shape, strict=True)]
            value = value.body
        return self.array(inner, item, value, spans)

    def array(self, inner: Evaluator, item: Tensor, value: Any, spans: list[tuple[Any, Any, Any]]) -> Any:
        """The values of a tree as an array, an axis for each of these indices."""
        with inner.within(spans, None):
            extent = tuple(len(inner.ranges[s]) for s in inner.scope)
            if item.domain == "boolean":
                return np.array(np.broadcast_to(inner.condition(value), extent))
            if item.domain in WHOLE:
                return np.array(np.broadcast_to(inner.index(value), extent))
            number = inner.value(value if isinstance(value, Node) else Literal(value))
            return self.real(inner, inner.arithmetic.view(number, lambda part: np.broadcast_to(part, extent)))

    def applied(self, node: Call | Pullback, every: list[dict[str, Any]]) -> list[Any]:
        """The whole outputs (or gradients) at each of these arguments."""
        return [self.apply(node, gathered) for gathered in every]

    def real(self, inner: Evaluator, number: Any) -> Any:
        """A real argument, from a number of the arithmetic."""
        raise NotImplementedError

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        """The whole output (or gradient) at these arguments."""
        raise NotImplementedError

    def entries(
        self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]
    ) -> Any:
        """The entries asked for, from the results for each value of the outer indices."""
        raise NotImplementedError


def sizes_in(formula: Formula, inputs: Mapping[str, Any]) -> dict[Size, int]:
    """The sizes at which a formula is applied, read off its arguments."""
    return dict(sizes_at(formula.flat(None), inputs))


def plain_reader(evaluator: Evaluator) -> Any:
    """How to read an array without axes."""
    ones = (1,) * len(evaluator.scope)
    return lambda part: np.asarray(part).reshape(ones)


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
        super().__init__()
        self.conventions, self.most, self.fixed = conventions, most, fixed

    def real(self, inner: Evaluator, number: Any) -> Any:
        """The balls themselves."""
        return np.array(number, dtype=object)

    def apply(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        """The statement's output or gradient, enclosed."""
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

    def entries(
        self, evaluator: Evaluator, parts: list[Any], lead: tuple[int, ...], index: tuple[Any, ...]
    ) -> Any:
        """As balls."""
        whole = np.empty((len(parts), *np.shape(parts[0])), dtype=object)
        for place, part in enumerate(parts):
            whole[place] = part if np.ndim(part) else part.item()
        whole = whole.reshape((*lead, *np.shape(parts[0])))
        return (evaluator._places(index, whole.shape) if index else plain_reader(evaluator))(whole)
