"""The places in a claim where a formula is applied: their arguments gathered, the statement evaluated there in balls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import flint
import numpy as np

from spec.language.arrays import Comprehension, Tensor
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import Bindings, bind
from spec.language.evaluation.dimensions import Size, is_size
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.interpreter import Evaluator
from spec.language.expr import Expectation, Literal
from spec.language.known import known
from spec.language.trees import free_symbols

MOST_OUTCOMES = 256
"""How many outcomes of the random entries an expectation is summed over at most."""
MOST_PLACES = 64
"""At how many values of the indices around it a formula is applied at most."""
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
        """A value; an expectation by every outcome of its random entries."""
        return self._expectation(node) if isinstance(node, Expectation) else super().value(node)

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


def inside(evaluator: Evaluator, at: Mapping[Size, int]) -> Evaluator:
    """An evaluator of the same tensors outside all indices, those in ``at`` fixed."""
    inner = type(evaluator)(evaluator.arithmetic, Bindings(), evaluator.families, evaluator.on_call)
    inner.sizes = {**evaluator.sizes, **at}
    inner.integers, inner.booleans, inner.tensors = evaluator.integers, evaluator.booleans, evaluator.tensors
    inner.undecided = evaluator.undecided
    return inner


class BallApplications:
    """Evaluates the calls inside a claim, arguments that depend on indices around gathered for each value of these."""

    def __init__(self, conventions: Mapping[str, str]) -> None:
        self.conventions = conventions

    def __call__(self, evaluator: Evaluator, node: Call | Pullback) -> Any:
        """The balls of one application, one axis for each index in scope."""
        arguments = list(node.arguments if isinstance(node, Call) else (*node.call.arguments, node.seed))
        used = set().union(*(free_symbols(a) for a in arguments))
        outer = [s for s in evaluator.scope if s in used and s in evaluator.ranges]
        ranges = [evaluator.ranges[s] for s in outer]
        if np.prod([len(r) for r in ranges], dtype=float) > MOST_PLACES:
            raise NotEvaluated(f"{node.args[0]} is applied at more than {MOST_PLACES} places")
        parts = []
        for at in product(*ranges):
            inner = inside(evaluator, dict(zip(outer, (int(v) for v in at), strict=True)))
            parts.append(self._applied(node, self._gathered(inner, node, arguments)))
        if not parts:
            raise NotEvaluated("an index around an application has no value")
        lead = tuple(len(r) for r in ranges)
        index = (*(s - int(r[0]) for s, r in zip(outer, ranges, strict=True)), *node.index)
        whole = np.empty((len(parts), *np.shape(parts[0])), dtype=object)
        for place, part in enumerate(parts):
            whole[place] = part
        whole = whole.reshape((*lead, *np.shape(parts[0])))
        if not index:
            return whole.reshape((1,) * len(evaluator.scope))
        return evaluator._places(index, whole.shape)(whole)

    def _gathered(self, inner: Evaluator, node: Call | Pullback, arguments: list[Any]) -> dict[str, Any]:
        callee = known(str(node.args[0]))
        found = {
            str(item): self._argument(inner, item, value)
            for item, value in zip(callee.inputs, arguments, strict=False)
        }
        if isinstance(node, Pullback):
            found["seed"] = self._argument(inner, callee.line(str(node.args[1])), arguments[-1])
        return found

    @staticmethod
    def _argument(inner: Evaluator, item: Tensor | Size, value: Any) -> Any:
        if value == ABSENT or (isinstance(item, Tensor) and item.role == "generator"):
            return None
        if is_size(item):
            return int(inner.index(value.value if isinstance(value, Literal) else value).item())
        whole = item.domain in ("integer", "permutation")
        if isinstance(value, Tensor):
            kept = inner.booleans if item.domain == "boolean" else inner.integers if whole else inner.tensors
            return kept[value.name]
        spans: list[tuple[Any, Any, Any]] = []
        if isinstance(value, Comprehension):
            spans = [(var, 0, size - 1) for var, size in zip(value.vars, value.shape, strict=True)]
            value = value.body
        with inner.within(spans, None):
            extent = tuple(len(inner.ranges[s]) for s in inner.scope)
            if item.domain == "boolean":
                return np.array(np.broadcast_to(inner.truth(value).decided(value), extent))
            found = inner.index(value) if whole else inner.value(value)
            return np.array(np.broadcast_to(found, extent))

    def _applied(self, node: Call | Pullback, arguments: dict[str, Any]) -> Any:
        """The statement's output or gradient, enclosed."""
        callee = known(str(node.args[0]))
        offered = {c.name for c in callee.conventions}
        conventions = {name: option for name, option in self.conventions.items() if name in offered}
        if not isinstance(node, Pullback):
            flat = callee.flat(conventions)
            done = run(flat, BallArithmetic(), bind(flat, arguments))
            if str(node.args[1]) not in done.tensors:
                raise NotEvaluated(f"{node.args[1]} of {callee.id} is no value in balls")
            return done.tensors[str(node.args[1])]
        seed = arguments.pop("seed")
        gradient = vjp(callee, [node.wrt], conventions)
        sizes = bind(callee.flat(conventions), arguments).sizes
        seeds = gradient.seeded({str(node.args[1]): seed}, sizes)
        done = run(gradient.flat, BallArithmetic(), bind(gradient.flat, {**arguments, **seeds}))
        return done.tensors[gradient.gradients[node.wrt].name]
