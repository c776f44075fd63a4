"""The interpreter: one walk over a statement, in which index symbols are array axes, for every number system.

What the compiled programs are held to: it says the same, slower and more plainly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np
import sympy

from spec.language.arrays import DISCRETE, WHOLE, Comprehension, Tensor
from spec.language.binders import MaxOf, SumOf
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.evaluation.arithmetic import Bools, Truth
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.compiled.applications import Applications
from spec.language.evaluation.compiled.frame import Finish
from spec.language.evaluation.contraction import FEWEST
from spec.language.evaluation.dimensions import is_size
from spec.language.evaluation.indexing import Ints, by_products, is_integral, reach, spelt_out, within_tensor
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.running_error import RunningError
from spec.language.evaluation.softmax_groups import SoftmaxGroups
from spec.language.exact import fraction
from spec.language.expr import (
    Case,
    Delta,
    Func,
    Literal,
    Minus,
    Negative,
    Node,
    Over,
    Plus,
    Power,
    Ref,
    Times,
    Undefined,
)
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.ordering import Group
from spec.language.trees import free_symbols
from tests.spec.language.evaluation.scope import Scope
from tests.spec.language.evaluation.stepping import step_through


def spread(part: Any, shape: tuple[int, ...]) -> Any:
    """An array in a shape; most have it already."""
    return part if part.shape == shape else np.broadcast_to(part, shape)


def factors(node: Any) -> list[Any]:
    """The factors of a product; a square is one."""
    if not isinstance(node, Times) or node.args[0] == node.args[1]:
        return [node]
    return [*factors(node.args[0]), *factors(node.args[1])]


class Interpreter(Scope):
    """Evaluates trees and lines in one arithmetic; ``tensors`` holds the real ones, as arrays of the arithmetic."""

    def __init__(
        self,
        arithmetic: Any,
        bindings: Bindings,
        softmax_groups: SoftmaxGroups | None = None,
        on_call: Applications | None = None,
    ) -> None:
        super().__init__(bindings)
        self.arithmetic = arithmetic
        self.tensors: dict[str, Any] = bindings.numbers(arithmetic)
        self.softmax_groups = softmax_groups
        self.on_call = on_call
        self._shapes: dict[Tensor, tuple[int, ...]] = {}

    def outside(self, at: Mapping[sympy.Symbol, int]) -> Interpreter:
        """An evaluator of the same tensors outside all indices, those in ``at`` fixed."""
        inner = type(self)(self.arithmetic, Bindings(), self.softmax_groups, self.on_call)
        inner.sizes = {**self.sizes, **at}
        inner.integers, inner.booleans, inner.tensors = self.integers, self.booleans, self.tensors
        inner.undecided = self.undecided
        inner._plain, inner._shapes = self._plain, self._shapes  # what sizes alone give is the same
        return inner

    # Lines -----------------------------------------------------------------------------------------------------------

    def run(self, groups: Sequence[Group], finish: Finish | None = None) -> None:
        """Evaluate groups of lines in order; ``finish`` may change what is stored for a tensor.

        A recurrence is finished step by step, since each step reads what the one before stored; see :data:`Finish`.
        """
        for group in groups:
            if group.step is not None:
                self._recurrence(group, finish)
                names = [line.name for line in group.lines if line.accumulate]
            else:
                for line in group.lines:
                    self.line(line)
                names = [line.name for line in group.lines]
            if finish is not None:
                for name in dict.fromkeys(names):
                    if name in self.tensors:
                        self.tensors[name] = finish(name, self.tensors[name], False)

    def _recurrence(self, group: Group, finish: Finish | None) -> None:
        for line in group.lines:
            if line.left.tensor.domain not in DISCRETE and line.name not in self.tensors:
                self.tensors[line.name] = self.arithmetic.zeros(self.shape_of(line.left.tensor))
        step_through(self, group, finish)

    def line(
        self,
        line: Definition,
        fixed: Mapping[sympy.Symbol, int] | None = None,
        finish: Finish | None = None,
    ) -> None:
        """Evaluate one line and store what it defines; some of its indices may be ``fixed``."""
        shape = self.shape_of(line.left.tensor)
        fixed = fixed or {}
        domain = line.left.tensor.domain
        with self.within(
            [(s, fixed.get(s, first), fixed.get(s, last)) for s, (first, last) in line.spans.items()], None
        ) as inside:
            inside = self._in_range(line, fixed, inside)
            extent = tuple(len(self.ranges[s]) for s in self.scope)
            index = tuple(self.index(part) for part in line.left.index)
            plain = line.left.index == tuple(self.scope) and extent == shape
            if domain in DISCRETE:
                self._store_plain(line, shape, extent, index, domain)
                return
            with nullcontext() if inside is None else self.guarded(inside.possibly):
                value = self.value(line.right)
            value = self.arithmetic.view(
                value,
                lambda part: (
                    part if part.shape == extent else spread(part, np.broadcast_shapes(part.shape, extent))
                ),
            )
            if inside is not None:
                value = self.arithmetic.select(inside, value, self._outside(line, index, shape))
                plain = False
        if isinstance(value, Num):
            value.softmax = None
            if not line.part:
                value.reach, value.terms = None, 1
        if finish is not None:
            value = finish(line.name, value, True)
        if plain and not line.accumulate and line.name not in self.tensors:
            self.tensors[line.name] = value
            return
        target = self.tensors.get(line.name)
        if target is None:
            target = self.arithmetic.zeros(shape)
        if line.accumulate:
            index, value = within_tensor(self.arithmetic, index, shape, value)
        self.tensors[line.name] = self.arithmetic.write_at(target, index, value, line.accumulate)

    def _in_range(
        self, line: Definition, fixed: Mapping[sympy.Symbol, int], inside: Truth | None
    ) -> Truth | None:
        """Where the indices of a line are in their ranges, some of them fixed: a range may depend on another index."""
        for symbol, now in fixed.items():
            ends = line.spans[symbol]
            if any(s in line.spans for end in ends for s in free_symbols(end)):
                first, last = (self.index(end) for end in ends)
                own = Truth((first <= now) & (now <= last))
                inside = own if inside is None else inside & own
        return inside

    def _outside(self, line: Definition, index: tuple[Ints, ...], shape: tuple[int, ...]) -> Any:
        """What a line writes where its indices are out of their ranges: nothing is added, or what is there stays."""
        target = self.tensors.get(line.name)
        if line.accumulate or target is None:
            return self.scalar(self.arithmetic.zeros(()))
        return self.arithmetic.view(target, lambda part: part[index])

    def _store_plain(
        self,
        line: Definition,
        shape: tuple[int, ...],
        extent: tuple[int, ...],
        index: tuple[Ints, ...],
        domain: str,
    ) -> None:
        def store(kept: dict[str, Any], value: Any) -> None:
            target = kept.get(line.name)
            target = np.zeros(shape, value.dtype) if target is None else np.array(target)
            target[index] = np.broadcast_to(value, extent)
            kept[line.name] = target

        if domain in WHOLE:
            store(self.integers, self.index(line.right))
            return
        truth = self.truth(line.right)
        store(self.booleans, truth.holds)
        if truth.open is not None or line.name in self.undecided:
            store(self.undecided, np.zeros((), bool) if truth.open is None else truth.open)

    def shape_of(self, tensor: Tensor) -> tuple[int, ...]:
        """The shape of a tensor as numbers."""
        if tensor not in self._shapes:
            self._shapes[tensor] = tuple(int(self.index(size).item()) for size in tensor.shape)
        return self._shapes[tensor]

    # Values ------------------------------------------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        """A value as numbers of the arithmetic, one axis for each index in scope."""
        handler = _VALUES.get(type(node))
        if handler is not None:
            return handler(self, node)
        raise TypeError(f"{type(node).__name__} has no value: {node}")

    def _ref(self, node: Ref) -> Any:
        name, domain = node.tensor.name, node.tensor.domain
        if domain in WHOLE:
            return self.arithmetic.exact(self.index(node).astype(np.float64))
        if domain == "boolean":
            held = self.truth(node)
            numbers = self.arithmetic.exact(held.holds.astype(np.float64), positive=True)
            if held.open is None:
                return numbers
            one, zero = (self.scalar(self.arithmetic.rational(number, 1)) for number in (1, 0))
            return self.arithmetic.select(held, one, zero)
        stored = self.tensors[name]
        if not node.index:
            return self.scalar(stored)
        return self.arithmetic.view(stored, self._places(node.index, self.arithmetic.shape(stored)))

    def _literal(self, node: Literal) -> Any:
        expr = node.value
        if expr.is_Rational:
            return self.scalar(self.arithmetic.rational(int(expr.p), int(expr.q)))
        if expr == sympy.pi:
            return self.scalar(self.arithmetic.pi())
        over, under = fraction(expr)
        numerator = self._whole(over)
        return numerator if under == 1 else self.arithmetic.over(numerator, self._whole(under))

    def _whole(self, expr: sympy.Expr) -> Any:
        """Index arithmetic as what it is; computed as values are where it may become larger than whole numbers are held."""
        if (found := reach(expr)) is not None:
            tops = (int(np.abs(self.index(letter)).max(initial=0)) for letter in found[0])
            if found[1](*tops) > self.arithmetic.held:
                return self.value(spelt_out(expr))
        values = self.index(expr)
        return self.arithmetic.exact(values.astype(np.float64), positive=bool((values >= 0).all()))

    def _case(self, node: Case) -> Any:
        condition = self.truth(node.args[0])
        may, may_not = condition.possibly, ~condition.surely
        counts = may if self.guard is None else may & self.guard
        others = may_not if self.guard is None else may_not & self.guard
        if not counts.any():
            with self.guarded(may_not):
                return self._filled(self.value(node.args[2]), may)
        with self.guarded(may):
            then = self.value(node.args[1])
        if not others.any() and self.guard is None:
            return self._filled(then, may)
        with self.guarded(may_not):
            return self.arithmetic.select(condition, then, self.value(node.args[2]))

    def _filled(self, value: Any, like: Bools) -> Any:
        return self.arithmetic.view(
            value, lambda part: spread(part, np.broadcast_shapes(part.shape, like.shape))
        )

    def _sum(self, node: SumOf) -> Any:
        with self.within([(node.var, node.first, node.last)], node.where) as where:
            terms = len(self.ranges[node.var])
            parts = factors(node.body)
            large = len(parts) > 1 and prod(len(self.ranges.get(s, ())) or 1 for s in self.scope) >= FEWEST
            if large and isinstance(self.arithmetic, RunningError):
                values = [self.value(part) for part in parts]
                found = self.arithmetic.contract(values, terms, where)
                if found is not None:
                    return found
                value = self._spread(reduce(self.arithmetic.times, values), terms, where)
            else:
                value = None if not terms else self._spread(self.value(node.body), terms, where)
        return self.scalar(self.arithmetic.zeros(())) if value is None else self.arithmetic.sum(value, where)

    def _max(self, node: MaxOf) -> Any:
        with self.within([(node.var, node.first, node.last)], node.where) as where:
            value = self._spread(self.value(node.body), len(self.ranges[node.var]), where)
        return self.arithmetic.maximum(value, where)

    def _spread(self, value: Any, terms: int, where: Truth | None) -> Any:
        extent = (*((1,) * (len(self.scope) - 1)), terms)
        whole = () if where is None else where.holds.shape
        return self.arithmetic.view(
            value, lambda part: spread(part, np.broadcast_shapes(part.shape, extent, whole))
        )

    def _power(self, node: Power) -> Any:
        base, exponent = node.args
        if (whole := by_products(exponent)) is not None:
            return self.arithmetic.power(self.value(base), None, whole)
        return self.arithmetic.power(self.value(base), self.value(exponent), None, is_integral(exponent))

    def _func(self, node: Func) -> Any:
        inner = node.args[1]
        if node.name == "exp" and isinstance(inner, Func) and inner.name == "log":
            return self.arithmetic.exp_of_log(self.value(inner.args[1]))
        argument = self.value(inner)
        if node.name != "exp":
            return self.arithmetic.function(node.name, argument)
        found = (
            self.softmax_groups.of(node.args[1])
            if self.softmax_groups is not None and self.arithmetic.tracks
            else None
        )
        if found is None:
            return self.arithmetic.exponential(argument, None, None)
        family, largest = found
        saved, self.guard = self.guard, None
        try:
            top = self.value(largest)
        finally:
            self.guard = saved
        return self.arithmetic.exponential(argument, top, family)

    def _times(self, node: Times) -> Any:
        left, right = node.args
        if left == right:
            return self.arithmetic.power(self.value(left), None, 2)
        return self.arithmetic.times(self.value(left), self.value(right))

    def _delta(self, node: Delta) -> Any:
        same = self.index(node.args[0]) == self.index(node.args[1])
        return self.arithmetic.exact(same.astype(np.float64), positive=True)

    def _call(self, node: Call | Pullback) -> Any:
        """The numbers of one application: its arguments are gathered at one value of the indices around after the other."""
        calls = self.on_call
        if calls is None:
            raise TypeError(f"{node.args[0]} is applied here, but calls are not evaluated in this place")
        arguments = list(node.arguments if isinstance(node, Call) else (*node.call.arguments, node.seed))
        used = set().union(*(free_symbols(argument) for argument in arguments))
        outer = [s for s in self.scope if s in used and s in self.ranges]
        ranges = [self.ranges[s] for s in outer]
        every = []
        for at in product(*ranges):
            inner = self.outside(dict(zip(outer, map(int, at), strict=True)))
            every.append(inner.gathered(node, arguments))
        lead = tuple(len(r) for r in ranges)
        whole = calls.join_results(calls.apply_all(node, every), lead, False)
        index = (*(s - int(r[0]) if len(r) else s for s, r in zip(outer, ranges, strict=True)), *node.index)
        if not index:
            return self.scalar(whole)
        return self.arithmetic.view(whole, self._places(index, self.arithmetic.shape(whole)))

    def gathered(self, node: Call | Pullback, arguments: list[Any]) -> dict[str, Any]:
        """The arguments as arrays, by the name of the input; the seed of a pullback under ``seed``."""
        callee = get_formula(node.formula_id)
        found = {str(i): self.argument(i, value) for i, value in zip(callee.inputs, arguments, strict=False)}
        if isinstance(node, Pullback):
            found["seed"] = self.argument(callee.line(node.output), arguments[-1])
        return found

    def argument(self, item: Any, value: Any) -> Any:
        """One argument, as an array."""
        if value == ABSENT or (isinstance(item, Tensor) and item.role == "generator"):
            return None
        if is_size(item):
            return int(self.index(value.value if isinstance(value, Literal) else value).item())
        assert self.on_call is not None
        if isinstance(value, Tensor):
            if item.domain == "boolean":
                return self.booleans[value.name]
            if item.domain in WHOLE:
                return self.integers[value.name]
            return self.on_call.real(self.tensors[value.name])
        spans: list[tuple[Any, Any, Any]] = []
        if isinstance(value, Comprehension):
            spans = [(var, 0, size - 1) for var, size in zip(value.vars, value.shape, strict=True)]
            value = value.body
        with self.within(spans, None):
            extent = tuple(len(self.ranges[s]) for s in self.scope)
            if item.domain == "boolean":
                return np.array(np.broadcast_to(self.condition(value), extent))
            if item.domain in WHOLE:
                return np.array(np.broadcast_to(self.index(value), extent))
            number = self.value(value if isinstance(value, Node) else Literal(value))
            return self.on_call.real(self._filled(number, np.ones(extent, bool)))


_VALUES: dict[type, Callable[[Interpreter, Any], Any]] = {
    Ref: Interpreter._ref,
    Literal: Interpreter._literal,
    Plus: lambda e, n: e.arithmetic.plus(e.value(n.args[0]), e.value(n.args[1])),
    Minus: lambda e, n: e.arithmetic.minus(e.value(n.args[0]), e.value(n.args[1])),
    Times: Interpreter._times,
    Over: lambda e, n: e.arithmetic.over(e.value(n.args[0]), e.value(n.args[1])),
    Negative: lambda e, n: e.arithmetic.negative(e.value(n.args[0])),
    Power: Interpreter._power,
    Func: Interpreter._func,
    Delta: Interpreter._delta,
    Case: Interpreter._case,
    SumOf: Interpreter._sum,
    MaxOf: Interpreter._max,
    Undefined: lambda e, n: e.scalar(e.arithmetic.undefined()),
    Call: Interpreter._call,
    Pullback: Interpreter._call,
}
