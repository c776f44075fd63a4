"""Formulas applied inside a claim, in balls; written here once more, so that the attack does not rest on what guards proofs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from spec.language.arrays import Comprehension, Tensor
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import Bindings, bind
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.interpreter import Evaluator
from spec.language.expr import Literal
from spec.language.known import known
from spec.language.trees import free_symbols

WHOLE = ("integer", "permutation")


class Applying:
    """Evaluates calls and pullbacks; arguments that depend on indices around them, for each value of these."""

    def __init__(self, conventions: Mapping[str, str]) -> None:
        self.conventions = conventions

    def __call__(self, evaluator: Evaluator, node: Call | Pullback) -> Any:
        """The entries asked for, one axis for each index in scope."""
        call = node if isinstance(node, Call) else node.call
        parts = list(call.arguments if isinstance(node, Call) else (*call.arguments, node.seed))
        used = set().union(*(free_symbols(part) for part in parts))
        outer = [s for s in evaluator.scope if s in used and s in evaluator.ranges]
        ranges = [evaluator.ranges[s] for s in outer]
        results = []
        for at in product(*ranges):
            inner = Evaluator(evaluator.arithmetic, Bindings(), evaluator.families, evaluator.on_call)
            inner.sizes = {**evaluator.sizes, **dict(zip(outer, map(int, at), strict=True))}
            inner.integers, inner.booleans = evaluator.integers, evaluator.booleans
            inner.tensors, inner.undecided = evaluator.tensors, evaluator.undecided
            results.append(np.asarray(self._result(inner, node, parts), dtype=object))
        found = np.empty((len(results), *results[0].shape), dtype=object)
        for place, result in enumerate(results):
            found[place] = result
        found = found.reshape((*map(len, ranges), *results[0].shape))
        index = (*(s - int(r[0]) for s, r in zip(outer, ranges, strict=True)), *node.index)
        if not index:
            return found.reshape((1,) * len(evaluator.scope))
        return evaluator._places(index, found.shape)(found)

    def _result(self, inner: Evaluator, node: Call | Pullback, parts: list[Any]) -> Any:
        callee = known(str(node.args[0]))
        offered = {c.name for c in callee.conventions}
        conventions = {name: option for name, option in self.conventions.items() if name in offered}
        items = zip(callee.inputs, parts, strict=False)
        values = {str(item): self._argument(inner, item, part) for item, part in items}
        flat = callee.flat(conventions)
        output = str(node.args[1])
        if isinstance(node, Call):
            return run(flat, BallArithmetic(), bind(flat, values)).tensors[output]
        slope = vjp(callee, [node.wrt], conventions)
        seed = self._argument(inner, callee.line(output), parts[-1])
        seeds = slope.seeded({output: seed}, bind(flat, values).sizes)
        done = run(slope.flat, BallArithmetic(), bind(slope.flat, {**values, **seeds}))
        return done.tensors[slope.gradients[node.wrt].name]

    @staticmethod
    def _argument(inner: Evaluator, item: Any, value: Any) -> Any:
        if value == ABSENT or (isinstance(item, Tensor) and item.role == "generator"):
            return None
        if not isinstance(item, Tensor):
            return int(inner.index(value.value if isinstance(value, Literal) else value).item())
        spans: list[Any] = []
        if isinstance(value, Tensor):
            kept = (
                inner.booleans
                if item.domain == "boolean"
                else inner.integers
                if item.domain in WHOLE
                else inner.tensors
            )
            return kept[value.name]
        if isinstance(value, Comprehension):
            spans = [(var, 0, size - 1) for var, size in zip(value.vars, value.shape, strict=True)]
            value = value.body
        with inner.within(spans, None):
            extent = tuple(len(inner.ranges[s]) for s in inner.scope)
            if item.domain == "boolean":
                return np.array(np.broadcast_to(inner.condition(value), extent))
            found = (
                inner.index(value) if item.domain in WHOLE else np.asarray(inner.value(value), dtype=object)
            )
            return np.array(np.broadcast_to(found, extent))
