"""Index symbols as array axes: which are in scope, over which values, and what index expressions and conditions give.

Every array here has one axis for each index in scope, outermost first; an axis of length 1 stands for any length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy

from spec.language.binders import AnyOf
from spec.language.evaluation.arithmetic import Bools, Truth
from spec.language.evaluation.balls import midpoints
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.indexing import Ints, constant, is_inexact
from spec.language.evaluation.numbers import Num
from spec.language.exact import fraction
from spec.language.expr import (
    Always,
    Both,
    Case,
    Compare,
    Either,
    Literal,
    Minus,
    Node,
    Not,
    Plus,
    Ref,
    Times,
)


class Scope:
    """The indices in scope, the sizes, and the integer and boolean tensors; a boolean tensor that is None is all True.

    ``undecided`` tells of boolean tensors where the precision does not decide their entries. ``guard`` marks the entries that
    may count; the others need not have a value.
    """

    def __init__(self, bindings: Bindings) -> None:
        self.sizes = dict(bindings.sizes)
        self.integers = dict(bindings.integers)
        self.booleans = dict(bindings.booleans)
        self.undecided: dict[str, Bools] = {}
        self.left_open = False  # whether some comparison was not decided
        self.scope: list[sympy.Symbol] = []
        self.ranges: dict[sympy.Symbol, Ints] = {}
        self._place: dict[sympy.Symbol, int] = {}  # which axis an index in scope has
        self.guard: Bools | None = None
        self._plain: dict[Any, int | None] = {}  # index expressions in sizes alone, and their values

    arithmetic: Any

    def value(self, node: Any) -> Any:
        """A value as numbers; the interpreter knows how."""
        raise NotImplementedError

    # Scope -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def within(
        self, spans: Sequence[tuple[sympy.Symbol, Any, Any]], where: Node | None
    ) -> Iterator[Truth | None]:
        """Open axes for indices; yields the condition under which they count (None: always)."""
        added: list[sympy.Symbol] = []
        condition: Truth | None = None
        saved_guard, shadowed = self.guard, {}
        for symbol, first, last in spans:
            low, high = self.index(first), self.index(last)
            ragged = low.size > 1 or high.size > 1
            if symbol in self.ranges:
                shadowed[symbol] = (self.ranges[symbol], self._place[symbol])
                self.scope[shadowed[symbol][1]] = sympy.Dummy(symbol.name, integer=True)
            span = np.arange(int(low.min()), int(high.max()) + 1) if low.size and high.size else np.arange(0)
            self._place[symbol] = len(self.scope)
            self.scope.append(symbol)
            self.ranges[symbol] = span
            added.append(symbol)
            self.guard = None if self.guard is None else self.guard[..., None]
            condition = None if condition is None else condition.view(lambda part: part[..., None])
            if ragged:
                inside = Truth((span >= low[..., None]) & (span <= high[..., None]))
                condition = inside if condition is None else condition & inside
        if where is not None and not isinstance(where, Always):
            if condition is not None:
                self.guard = condition.possibly if self.guard is None else self.guard & condition.possibly
            held = self.truth(where)
            condition = held if condition is None else condition & held
        if condition is not None:
            self.guard = condition.possibly if self.guard is None else self.guard & condition.possibly
        try:
            yield condition
        finally:
            for symbol in reversed(added):
                self.scope.pop()
                if symbol in shadowed:
                    self.ranges[symbol], place = shadowed[symbol]
                    self.scope[place], self._place[symbol] = symbol, place
                else:
                    del self.ranges[symbol], self._place[symbol]
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
        place = self._place[symbol]
        return self.ranges[symbol].reshape((1,) * place + (-1,) + (1,) * (len(self.scope) - place - 1))

    def scalar(self, value: Any) -> Any:
        """A number without axes, in the shape of the scope."""
        ones = (1,) * len(self.scope)
        return self.arithmetic.view(value, lambda part: np.asarray(part).reshape(ones))

    # Indices and conditions --------------------------------------------------------------------------------------------

    def index(self, expr: Any) -> Ints:
        """An index expression as integers, one axis for each index in scope."""
        if isinstance(expr, int):
            return constant(expr, len(self.scope))
        if (value := self.plain(expr)) is not None:
            return constant(value, len(self.scope))
        return self._index(expr)

    def plain(self, expr: Any) -> int | None:
        """The value of an index expression in which nothing but sizes occurs; None for others."""
        if expr not in self._plain:
            # Sizes are positive; an index may be fixed here and run over a range further in.
            fixed = isinstance(expr, sympy.Expr) and all(
                s.is_positive and s in self.sizes for s in expr.free_symbols
            )
            self._plain[expr] = int(self._index(expr).item()) if fixed else None
        return self._plain[expr]

    def _index(self, expr: Any) -> Ints:
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
                return self.truth(expr).require_decided(expr).astype(np.int64)
            return self._gather(self.integers[expr.tensor.name], expr.index)
        if isinstance(expr, Literal):
            return self.index(expr.value)
        if isinstance(expr, Case):
            held = self.truth(expr.args[0]).require_decided(expr)
            return np.where(held, self.index(expr.args[1]), self.index(expr.args[2]))
        if isinstance(expr, Plus | Minus | Times):
            left, right = (self.index(part) for part in expr.args)
            return (
                left + right
                if isinstance(expr, Plus)
                else left - right
                if isinstance(expr, Minus)
                else left * right
            )
        if isinstance(expr, Node):
            raise TypeError(f"{expr} is no index arithmetic")
        if isinstance(expr, sympy.Add):
            return sum((self.index(part) for part in expr.args[1:]), self.index(expr.args[0]))
        if isinstance(expr, sympy.Mul) and all(not part.is_Rational or part.is_Integer for part in expr.args):
            result = self.index(expr.args[0])
            for part in expr.args[1:]:
                result = result * self.index(part)
            return result
        if isinstance(expr, sympy.floor | sympy.ceiling):
            over, under = fraction(expr.args[0])
            sign = -1 if isinstance(expr, sympy.ceiling) else 1
            return sign * ((sign * self.index(over)) // self.index(under))
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp >= 0:
            return self.index(expr.base) ** int(expr.exp)
        over, under = fraction(expr)
        quotient, rest = np.divmod(self.index(over), self.index(under))
        if rest.any():
            raise ValueError(f"the index {expr} is not an integer here")
        return np.asarray(quotient)

    def condition(self, node: Any) -> Bools:
        """A condition as the values at hand say it, decided or not."""
        return self.truth(node).holds

    def truth(self, node: Any) -> Truth:
        """A condition, one axis for each index in scope."""
        if isinstance(node, Always):
            return Truth(np.full((1,) * len(self.scope), True))
        if isinstance(node, Ref):
            values, undecided = self.booleans[node.tensor.name], self.undecided.get(node.tensor.name)
            if values is None:
                return Truth(np.full((1,) * len(self.scope), True))
            found = self._gather(values, node.index)
            return Truth(found, None if undecided is None else self._gather(undecided, node.index))
        if isinstance(node, Both | Either):
            left = self.truth(node.args[0])
            # Elsewhere the right side is not asked for.
            with self.guarded(left.possibly if isinstance(node, Both) else ~left.surely):
                right = self.truth(node.args[1])
            return left & right if isinstance(node, Both) else left | right
        if isinstance(node, Not):
            return ~self.truth(node.args[0])
        if isinstance(node, Compare):
            return self._compared(node)
        if isinstance(node, AnyOf):
            return self._any(node)
        if isinstance(node, Case):
            return self.truth(node.args[1]).where(self.truth(node.args[0]), self.truth(node.args[2]))
        raise TypeError(f"{node} is not a condition")

    def _any(self, node: AnyOf) -> Truth:
        """Whether a condition holds for any value of an index."""
        with self.within([(node.var, node.first, node.last)], node.where) as where:
            held = self.truth(node.body)
            held = held if where is None else held & where
        return held.any()

    def _compared(self, node: Compare) -> Truth:
        """A comparison: of exact integers, or of numbers of the arithmetic."""
        relation, parts = str(node.args[0]), tuple(node.args[1:])
        left, right = (None if is_inexact(part) else self.index(part) for part in parts)
        if left is not None and right is not None:
            return Truth(
                left <= right if relation == "<=" else left < right if relation == "<" else left == right
            )
        numbers = (
            self.value(part) if whole is None else self.arithmetic.exact(whole.astype(np.float64))
            for part, whole in zip(parts, (left, right), strict=True)
        )
        found: Truth = self.arithmetic.compare(relation, *numbers)
        self.left_open |= found.open is not None
        return found

    def floats(self, value: Any) -> npt.NDArray[np.float64]:
        """Numbers of this arithmetic as float64."""
        return value.floats() if isinstance(value, Num) else midpoints(value)

    def _gather(self, array: npt.NDArray[Any], index: tuple[Any, ...]) -> npt.NDArray[Any]:
        if not index:
            return np.asarray(array).reshape((1,) * len(self.scope))
        places = self._places(index, array.shape)
        return places(array)

    def _places(
        self, index: tuple[Any, ...], shape: tuple[int, ...]
    ) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
        """How to read a tensor of ``shape`` at ``index``: by transposing when the indices are whole axes, else by look-up."""
        whole = len(set(index)) == len(index) and all(
            isinstance(part, sympy.Symbol)
            and part in self.ranges
            and len(self.ranges[part]) == size
            and (size == 0 or (self.ranges[part][0] == 0 and self.ranges[part][-1] == size - 1))
            for part, size in zip(index, shape, strict=True)
        )
        if whole:
            where = [self._place[part] for part in index]
            order = sorted(range(len(index)), key=lambda axis: where[axis])
            target = [1] * len(self.scope)
            for axis in order:
                target[where[axis]] = shape[axis]
            return lambda part: part.transpose(order).reshape(target)
        arrays = [self.index(part) for part in index]
        for axis, (values, size) in enumerate(zip(arrays, shape, strict=True)):
            if values.size == 1 and 0 <= values.item() < size:
                continue
            outside = (values < 0) | (values >= size)
            if outside.any():
                if (outside if self.guard is None else outside & self.guard).any():
                    bad = int(np.broadcast_to(values, outside.shape)[outside][0])
                    raise IndexError(f"index {bad} on axis {axis} is outside 0 … {size - 1}")
                arrays[axis] = np.clip(values, 0, max(size - 1, 0))
        chosen = tuple(arrays)
        return lambda part: np.asarray(part[chosen], part.dtype)  # outside all indices, no bare entry
