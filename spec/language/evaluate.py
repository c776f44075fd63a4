"""The interpreter: one walk over a statement, in which index symbols are array axes, for every number system.

Public functions: :func:`evaluate` (float64), :func:`enclose` (balls), :func:`bound` (float64 with a tolerance).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias

import flint
import numpy as np
import numpy.typing as npt
import sympy
from sympy.core.basic import Basic

from spec.language.balls import BallArithmetic
from spec.language.binding import Bindings, bind
from spec.language.calls import Call, Pullback
from spec.language.expr import (
    Always,
    AnyOf,
    Both,
    Bound,
    Case,
    Compare,
    Delta,
    Either,
    Func,
    Literal,
    MaxOf,
    Minus,
    Negative,
    Node,
    Not,
    Over,
    Plus,
    Power,
    Ref,
    SumOf,
    Tensor,
    Times,
    Undefined,
)
from spec.language.families import Families
from spec.language.flatten import Flat, Group
from spec.language.formula import Definition, Formula
from spec.language.numbers import Num, Walk
from spec.language.precision import Format, Precision

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
CallHandler: TypeAlias = "Callable[[Evaluator, Call | Pullback], Any]"


class Evaluator:
    """Evaluates trees and lines in one arithmetic.

    ``tensors`` holds numbers (arrays of the arithmetic), ``integers`` and ``booleans`` plain NumPy arrays; a boolean
    tensor that is None is all True. Every intermediate array has one axis for each index in scope, outermost first.
    """

    def __init__(
        self,
        arithmetic: Any,
        bindings: Bindings,
        families: Families | None = None,
        on_call: CallHandler | None = None,
    ) -> None:
        self.arithmetic = arithmetic
        self.sizes = dict(bindings.sizes)
        self.integers = dict(bindings.integers)
        self.booleans = dict(bindings.booleans)
        self.tensors: dict[str, Any] = {
            name: arithmetic.exact(values, positive=name in bindings.positive) for name, values in bindings.reals.items()
        }
        for name, (p, q) in bindings.rationals.items():
            self.tensors[name] = arithmetic.rational(p, q)
        self.families = families
        self.on_call = on_call
        self.scope: list[sympy.Symbol] = []
        self.ranges: dict[sympy.Symbol, Ints] = {}
        self.guard: Bools | None = None

    # Lines -----------------------------------------------------------------------------------------------------------

    def run(self, groups: Sequence[Group], finish: Callable[[str, Any], Any] | None = None) -> None:
        """Evaluate groups of lines in order; ``finish`` may change what is stored for a tensor."""
        for group in groups:
            if group.step is None:
                for line in group.lines:
                    self.line(line)
            else:
                self._recurrence(group)
            if finish is not None:
                for name in dict.fromkeys(line.name for line in group.lines):
                    if name in self.tensors:
                        self.tensors[name] = finish(name, self.tensors[name])

    def _recurrence(self, group: Group) -> None:
        step = group.step
        assert step is not None
        for line in group.lines:
            if line.left.tensor.domain not in ("boolean", "integer") and line.name not in self.tensors:
                self.tensors[line.name] = self.arithmetic.zeros(self.shape_of(line.left.tensor))
        stepping = [line for line in group.lines if step in line.spans]
        for line in group.lines:
            if line not in stepping:
                self.line(line)
        firsts = [int(self.index(line.spans[step][0]).item()) for line in stepping]
        lasts = [int(self.index(line.spans[step][1]).item()) for line in stepping]
        times = range(min(firsts), max(lasts) + 1)
        for now in times if _ascends(group) else reversed(times):
            for line, first, last in zip(stepping, firsts, lasts, strict=True):
                if first <= now <= last:
                    self.line(line, {step: now})

    def line(self, line: Definition, fixed: Mapping[sympy.Symbol, int] | None = None) -> None:
        """Evaluate one line and store what it defines."""
        shape = self.shape_of(line.left.tensor)
        fixed = fixed or {}
        domain = line.left.tensor.domain
        with self.within(
            [(s, fixed.get(s, first), fixed.get(s, last)) for s, (first, last) in line.spans.items()], None
        ):
            extent = tuple(len(self.ranges[s]) for s in self.scope)
            index = tuple(self.index(part) for part in line.left.index)
            plain = line.left.index == tuple(self.scope) and extent == shape
            if domain in ("boolean", "integer"):
                self._store_plain(line, shape, extent, index, domain)
                return
            value = self.value(line.right)
            value = self.arithmetic.view(value, lambda part: np.broadcast_to(part, np.broadcast_shapes(part.shape, extent)))
        if isinstance(value, Num):
            value.softmax = None
        if plain and not line.accumulate and line.name not in self.tensors:
            self.tensors[line.name] = value
            return
        target = self.tensors.get(line.name)
        if target is None:
            target = self.arithmetic.zeros(shape)
        self.tensors[line.name] = self.arithmetic.put(target, index, value, line.accumulate)

    def _store_plain(
        self, line: Definition, shape: tuple[int, ...], extent: tuple[int, ...], index: tuple[Ints, ...], domain: str
    ) -> None:
        store: dict[str, Any] = self.booleans if domain == "boolean" else self.integers
        value = self.condition(line.right) if domain == "boolean" else self.index(line.right)
        target = store.get(line.name)
        target = np.zeros(shape, value.dtype) if target is None else np.array(target)
        target[index] = np.broadcast_to(value, extent)
        store[line.name] = target

    def shape_of(self, tensor: Tensor) -> tuple[int, ...]:
        """The shape of a tensor as numbers."""
        return tuple(int(self.index(size).item()) for size in tensor.shape)

    # Scope -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def within(self, spans: Sequence[tuple[sympy.Symbol, Any, Any]], where: Node | None) -> Iterator[Bools | None]:
        """Open axes for indices; yields the condition under which they count (None: always)."""
        added: list[sympy.Symbol] = []
        condition: Bools | None = None
        saved_guard, shadowed = self.guard, {}
        for symbol, first, last in spans:
            low, high = self.index(first), self.index(last)
            ragged = low.size > 1 or high.size > 1
            if symbol in self.ranges:
                shadowed[symbol] = (self.ranges[symbol], self.scope.index(symbol))
                self.scope[shadowed[symbol][1]] = sympy.Dummy(symbol.name, integer=True)
            span = np.arange(int(low.min()), int(high.max()) + 1) if low.size and high.size else np.arange(0)
            self.scope.append(symbol)
            self.ranges[symbol] = span
            added.append(symbol)
            self.guard = None if self.guard is None else self.guard[..., None]
            condition = None if condition is None else condition[..., None]
            if ragged:
                inside = (span >= low[..., None]) & (span <= high[..., None])
                condition = inside if condition is None else condition & inside
        if where is not None and not isinstance(where, Always):
            if condition is not None:
                self.guard = condition if self.guard is None else self.guard & condition
            held = self.condition(where)
            condition = held if condition is None else condition & held
        if condition is not None:
            self.guard = condition if self.guard is None else self.guard & condition
        try:
            yield condition
        finally:
            for symbol in reversed(added):
                self.scope.pop()
                if symbol in shadowed:
                    self.ranges[symbol], place = shadowed[symbol]
                    self.scope[place] = symbol
                else:
                    del self.ranges[symbol]
            self.guard = saved_guard

    @contextmanager
    def guarded(self, condition: Bools) -> Iterator[None]:
        """Evaluate under a further condition: entries where it fails do not count."""
        saved = self.guard
        self.guard = condition if saved is None else saved & condition
        try:
            yield
        finally:
            self.guard = saved

    def axis(self, symbol: sympy.Symbol) -> Ints:
        """The values of an index, along its axis."""
        place = self.scope.index(symbol)
        return self.ranges[symbol].reshape((1,) * place + (-1,) + (1,) * (len(self.scope) - place - 1))

    def scalar(self, value: Any) -> Any:
        """A number without axes, in the shape of the scope."""
        ones = (1,) * len(self.scope)
        return self.arithmetic.view(value, lambda part: np.asarray(part).reshape(ones))

    # Indices and conditions --------------------------------------------------------------------------------------------

    def index(self, expr: Any) -> Ints:
        """An index expression as integers, one axis for each index in scope."""
        if isinstance(expr, int):
            return np.full((1,) * len(self.scope), expr, np.int64)
        if isinstance(expr, sympy.Integer):
            return np.full((1,) * len(self.scope), int(expr), np.int64)
        if isinstance(expr, sympy.Symbol):
            if expr in self.ranges:
                return self.axis(expr)
            if expr in self.sizes:
                return np.full((1,) * len(self.scope), self.sizes[expr], np.int64)
            raise KeyError(f"the index or size {expr} is not bound to a value here")
        if isinstance(expr, Ref):
            if expr.tensor.domain == "boolean":
                return self.condition(expr).astype(np.int64)
            return self._gather(self.integers[expr.tensor.name], expr.index)
        if isinstance(expr, Literal):
            return self.index(expr.value)
        if isinstance(expr, Case):
            return np.where(self.condition(expr.args[0]), self.index(expr.args[1]), self.index(expr.args[2]))
        if isinstance(expr, sympy.Add):
            return sum((self.index(part) for part in expr.args[1:]), self.index(expr.args[0]))
        if isinstance(expr, sympy.Mul) and all(not part.is_Rational or part.is_Integer for part in expr.args):
            result = self.index(expr.args[0])
            for part in expr.args[1:]:
                result = result * self.index(part)
            return result
        if isinstance(expr, sympy.floor | sympy.ceiling):
            over, under = _fraction(expr.args[0])
            sign = -1 if isinstance(expr, sympy.ceiling) else 1
            return sign * ((sign * self.index(over)) // self.index(under))
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp >= 0:
            return self.index(expr.base) ** int(expr.exp)
        over, under = _fraction(expr)
        quotient, rest = np.divmod(self.index(over), self.index(under))
        if rest.any():
            raise ValueError(f"the index {expr} is not an integer here")
        return np.asarray(quotient)

    def condition(self, node: Any) -> Bools:
        """A condition as booleans, one axis for each index in scope."""
        if isinstance(node, Always):
            return np.full((1,) * len(self.scope), True)
        if isinstance(node, Ref):
            values = self.booleans[node.tensor.name]
            if values is None:
                return np.full((1,) * len(self.scope), True)
            return self._gather(values, node.index)
        if isinstance(node, Both):
            return self.condition(node.args[0]) & self.condition(node.args[1])
        if isinstance(node, Either):
            return self.condition(node.args[0]) | self.condition(node.args[1])
        if isinstance(node, Not):
            return ~self.condition(node.args[0])
        if isinstance(node, Compare):
            left, right = (self._comparable(part) for part in node.args[1:])
            relation = str(node.args[0])
            return left <= right if relation == "<=" else left < right if relation == "<" else left == right
        if isinstance(node, AnyOf):
            with self.within([(node.var, node.first, node.last)], node.where) as where:
                held = self.condition(node.body)
                held = held if where is None else held & where
            return np.asarray(held.any(-1))
        if isinstance(node, Case):
            held = self.condition(node.args[0])
            return np.where(held, self.condition(node.args[1]), self.condition(node.args[2]))
        raise TypeError(f"{node} is not a condition")

    def _comparable(self, part: Basic) -> npt.NDArray[Any]:
        """A side of a comparison: exact integers, or the floats of a value."""
        if isinstance(part, Ref) and part.tensor.domain not in ("integer", "boolean", "permutation"):
            return self.floats(self.value(part))
        if isinstance(part, Node) and not isinstance(part, Ref | Literal):
            return self.floats(self.value(part))
        return self.index(part)

    def floats(self, value: Any) -> npt.NDArray[np.float64]:
        """Numbers of this arithmetic as float64."""
        from spec.language.balls import midpoints

        return value.floats() if isinstance(value, Num) else midpoints(value)

    def _gather(self, array: npt.NDArray[Any], index: tuple[Any, ...]) -> npt.NDArray[Any]:
        if not index:
            return np.asarray(array).reshape((1,) * len(self.scope))
        places = self._places(index, array.shape)
        return places(array)

    def _places(self, index: tuple[Any, ...], shape: tuple[int, ...]) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
        """How to read a tensor of ``shape`` at ``index``: by transposing when the indices are whole axes, else by look-up."""
        whole = len(set(index)) == len(index) and all(
            isinstance(part, sympy.Symbol)
            and part in self.ranges
            and len(self.ranges[part]) == size
            and (size == 0 or self.ranges[part][0] == 0)
            for part, size in zip(index, shape, strict=True)
        )
        if whole:
            where = [self.scope.index(part) for part in index]
            order = sorted(range(len(index)), key=lambda axis: where[axis])
            target = [1] * len(self.scope)
            for axis in order:
                target[where[axis]] = shape[axis]
            return lambda part: part.transpose(order).reshape(target)
        arrays = [self.index(part) for part in index]
        for axis, (values, size) in enumerate(zip(arrays, shape, strict=True)):
            outside = (values < 0) | (values >= size)
            if outside.any():
                if (outside if self.guard is None else outside & self.guard).any():
                    bad = int(np.broadcast_to(values, outside.shape)[outside][0])
                    raise IndexError(f"index {bad} on axis {axis} is outside 0 … {size - 1}")
                arrays[axis] = np.clip(values, 0, max(size - 1, 0))
        chosen = tuple(arrays)
        return lambda part: part[chosen]

    # Values ------------------------------------------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        """A value as numbers of the arithmetic, one axis for each index in scope."""
        handler = _VALUES.get(type(node))
        if handler is not None:
            return handler(self, node)
        raise TypeError(f"{type(node).__name__} has no value: {node}")

    def _ref(self, node: Ref) -> Any:
        name, domain = node.tensor.name, node.tensor.domain
        if domain in ("integer", "permutation"):
            return self.arithmetic.exact(self.index(node).astype(np.float64))
        if domain == "boolean":
            return self.arithmetic.exact(self.condition(node).astype(np.float64), positive=True)
        stored = self.tensors[name]
        if not node.index:
            return self.scalar(stored)
        return self.arithmetic.view(stored, self._places(node.index, self.arithmetic.shape(stored)))

    def _literal(self, node: Literal) -> Any:
        expr = node.value
        if expr.is_Rational:
            return self.scalar(self.arithmetic.rational(int(expr.p), int(expr.q)))
        over, under = _fraction(expr)
        top = self.index(over)
        numerator = self.arithmetic.exact(top.astype(np.float64), positive=bool((top >= 0).all()))
        if under == 1:
            return numerator
        return self.arithmetic.over(numerator, self.arithmetic.exact(self.index(under).astype(np.float64), positive=True))

    def _case(self, node: Case) -> Any:
        condition = self.condition(node.args[0])
        counts = condition if self.guard is None else condition & self.guard
        others = ~condition if self.guard is None else ~condition & self.guard
        if not counts.any():
            with self.guarded(~condition):
                return self._filled(self.value(node.args[2]), condition)
        with self.guarded(condition):
            then = self.value(node.args[1])
        if not others.any() and self.guard is None:
            return self._filled(then, condition)
        with self.guarded(~condition):
            return self.arithmetic.select(condition, then, self.value(node.args[2]))

    def _filled(self, value: Any, like: Bools) -> Any:
        return self.arithmetic.view(value, lambda part: np.broadcast_to(part, np.broadcast_shapes(part.shape, like.shape)))

    def _sum(self, node: SumOf) -> Any:
        with self.within([(node.var, node.first, node.last)], node.where) as where:
            terms = len(self.ranges[node.var])
            if not terms:
                value = None
            else:
                value = self._spread(self.value(node.body), terms, where)
        return self.scalar(self.arithmetic.zeros(())) if value is None else self.arithmetic.sum(value, where)

    def _max(self, node: MaxOf) -> Any:
        with self.within([(node.var, node.first, node.last)], node.where) as where:
            value = self._spread(self.value(node.body), len(self.ranges[node.var]), where)
        return self.arithmetic.maximum(value, where)

    def _spread(self, value: Any, terms: int, where: Bools | None) -> Any:
        extent = (*((1,) * (len(self.scope) - 1)), terms)
        whole = () if where is None else where.shape
        return self.arithmetic.view(
            value, lambda part: np.broadcast_to(part, np.broadcast_shapes(part.shape, extent, whole))
        )

    def _power(self, node: Power) -> Any:
        base, exponent = node.args
        if isinstance(exponent, Literal) and exponent.value.is_Integer:
            return self.arithmetic.power(self.value(base), None, int(exponent.value))
        return self.arithmetic.power(self.value(base), self.value(exponent), None)

    def _func(self, node: Func) -> Any:
        argument = self.value(node.args[1])
        if node.name != "exp":
            return self.arithmetic.function(node.name, argument)
        found = self.families.of(node.args[1]) if self.families is not None and self.arithmetic.tracks else None
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
        if self.on_call is None:
            raise TypeError(f"{node.args[0]} is applied here, but calls are not evaluated in this place")
        return self.on_call(self, node)


_VALUES: dict[type, Callable[[Evaluator, Any], Any]] = {
    Ref: Evaluator._ref,
    Literal: Evaluator._literal,
    Plus: lambda e, n: e.arithmetic.plus(e.value(n.args[0]), e.value(n.args[1])),
    Minus: lambda e, n: e.arithmetic.minus(e.value(n.args[0]), e.value(n.args[1])),
    Times: Evaluator._times,
    Over: lambda e, n: e.arithmetic.over(e.value(n.args[0]), e.value(n.args[1])),
    Negative: lambda e, n: e.arithmetic.negative(e.value(n.args[0])),
    Power: Evaluator._power,
    Func: Evaluator._func,
    Delta: Evaluator._delta,
    Case: Evaluator._case,
    SumOf: Evaluator._sum,
    MaxOf: Evaluator._max,
    Undefined: lambda e, n: e.scalar(e.arithmetic.undefined()),
    Call: Evaluator._call,
    Pullback: Evaluator._call,
}


@lru_cache(maxsize=4096)
def _fraction(expr: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator of an index expression, both with integer coefficients."""
    over, under = sympy.fraction(sympy.together(expr))
    return over, under


def _ascends(group: Group) -> bool:
    """Whether a recurrence reads earlier values of its index (else later ones)."""
    from spec.language.expr import refs

    names = {line.name for line in group.lines}
    for line in group.lines:
        for ref in refs(line.right):
            if ref.tensor.name in names:
                for part in ref.index:
                    shift = part - group.step
                    if shift.is_Integer and shift != 0:
                        return bool(shift < 0)
    return True


# The public functions --------------------------------------------------------------------------------------------------


def run(
    flat: Flat,
    arithmetic: Any,
    bindings: Bindings,
    storage: Format | None = None,
    finish: Callable[[str, Any], Any] | None = None,
) -> Evaluator:
    """Evaluate every line of a flattened formula; the evaluator holds all tensors afterwards."""
    evaluator = Evaluator(arithmetic, bindings, Families.of_lines(flat.lines))
    outputs = {t.name for t in flat.outputs}

    def round_and_finish(name: str, value: Any) -> Any:
        if storage is not None and (name in outputs or name in flat.stored):
            value = arithmetic.stored(value, storage)
        return value if finish is None else finish(name, value)

    with np.errstate(all="ignore"):  # NaN and overflow are carried in the numbers, not raised
        evaluator.run(flat.groups, round_and_finish)
    return evaluator


def evaluate(
    formula: Formula | Flat, inputs: Mapping[str, Any] | Sequence[Any], conventions: Mapping[str, str] | None = None
) -> tuple[npt.NDArray[np.float64], ...]:
    """The outputs of a formula in float64, with an exponent range wide enough for exponentials of ±10⁴.

    Args:
        formula: a formula, or its flattened lines.
        inputs: by name, or in declared order; arrays in the declared shapes (no batch dimensions), Python numbers, sizes.
        conventions: a choice of conventions; ours where not given.

    Raises:
        ValueError: an input of the wrong shape or domain, or an unknown convention.
    """
    flat = formula if isinstance(formula, Flat) else formula.flat(conventions)
    done = run(flat, Walk(), bind(flat, inputs))
    return tuple(done.tensors[t.name].floats() for t in flat.outputs)


def enclose(
    formula: Formula | Flat,
    inputs: Mapping[str, Any] | Sequence[Any],
    conventions: Mapping[str, str] | None = None,
    bits: int = 128,
) -> tuple[npt.NDArray[Any], ...]:
    """The outputs of a formula as balls (``flint.arb``) computed with ``bits`` bits: rigorous enclosures.

    Inputs are taken exactly as given (floats), or as balls.
    """
    flat = formula if isinstance(formula, Flat) else formula.flat(conventions)
    saved = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        done = run(flat, BallArithmetic(), bind(flat, inputs))
    finally:
        flint.ctx.prec = saved
    return tuple(done.tensors[t.name] for t in flat.outputs)


def bound(
    formula: Formula | Flat,
    inputs: Mapping[str, Any] | Sequence[Any],
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float32",
) -> tuple[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]], ...]:
    """For each output its float64 value, and how far a right implementation in ``dtype`` may be from it.

    The bound is infinite where nothing can be said. Under ``intermediates = storage`` every operation rounds to ``dtype``.
    """
    if isinstance(formula, Flat):
        flat, intermediates = formula, (conventions or {}).get("intermediates", "accumulate")
    else:
        flat, intermediates = formula.flat(conventions), formula.choose(conventions)["intermediates"]
    precision = Precision.of(dtype, intermediates)
    done = run(flat, Walk(precision.operations), bind(flat, inputs), precision.storage)
    return tuple((done.tensors[t.name].floats(), done.tensors[t.name].bounds()) for t in flat.outputs)
