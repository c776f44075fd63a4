"""Index expressions compiled: integers where sizes and steps alone occur in them, else arrays with an axis for each index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul, sub
from typing import Any

import numpy as np
import sympy

from spec.language.arrays import Tensor
from spec.language.evaluation.compiled.frame import Around, Array, Axis, Frame, Slots
from spec.language.evaluation.compiled.reading import Places, Reader, Reading, entire, reader
from spec.language.evaluation.indexing import Ints, constant
from spec.language.evaluation.truth import Truth
from spec.language.exact import fraction
from spec.language.expr import Case, Literal, Minus, Node, Plus, Ref, Times

Whole = Callable[[Frame], int]
Entries = Callable[[Frame], Ints]


@dataclass(frozen=True)
class Condition:
    """A condition compiled; ``static`` ones depend on sizes alone, ``always`` is the one that holds everywhere."""

    truth: Callable[[Frame], Truth]
    static: bool = False
    always: bool = False


@dataclass(frozen=True)
class Index:
    """An index expression compiled.

    Attributes:
        array: its values, one axis for each index around.
        number: its value, where it has only one.
        static: it depends on sizes alone, and on indices whose ranges do.
        plain: nothing but sizes occurs in it; it has one value.
        axis: the index that it is, up to a shift.
        shift: what is added to it; None for nothing.
    """

    array: Entries
    number: Whole | None = None
    static: bool = False
    plain: bool = False
    axis: Axis | None = None
    shift: Whole | None = None


class Indices:
    """Compiles index expressions."""

    def __init__(self) -> None:
        self.slots = Slots()

    def condition(self, node: Any, around: Around) -> Condition:
        """A condition; see :mod:`~spec.language.evaluation.compiled.conditions`."""
        raise NotImplementedError

    def index(self, expr: Any, around: Around) -> Index:
        """An index expression."""
        if isinstance(expr, int | sympy.Integer):
            return self._number(around, _the_same(int(expr)), plain=True)
        if isinstance(expr, sympy.Symbol):
            return self._symbol(expr, around)
        if isinstance(expr, Ref):
            return self._look_up(expr, around)
        if isinstance(expr, Literal):
            return self.index(expr.value, around)
        if isinstance(expr, Case):
            return self._chosen(expr, around)
        if isinstance(expr, Plus | Minus | Times):
            parts = [self.index(part, around) for part in expr.args]
            return self._joined(_JOINED[type(expr)], parts, around)
        if isinstance(expr, Node):
            return Index(refusal(TypeError(f"{expr} is no index arithmetic")))
        return self._arithmetic(expr, around)

    def places(self, tensor: Tensor, parts: Sequence[Index], around: Around) -> Reader | Places:
        """How to read a tensor at an index; the places themselves where they are all there are, at any sizes."""
        readings = [Reading(part.array, part.number, part.axis, part.shift, part.static) for part in parts]
        found = entire(readings, tensor.shape, around.depth)
        return reader(readings, around.depth, self.slots) if found is None else found

    def gathered(self, node: Ref, around: Around) -> Callable[[Frame, Array], Array]:
        """How to read the array of a tensor at an index; one without axes is the same everywhere."""
        if not node.index:
            ones = (1,) * around.depth
            return lambda frame, array: np.asarray(array).reshape(ones)
        places = self.places(node.tensor, [self.index(part, around) for part in node.index], around)
        if isinstance(places, Places):
            take = places.take
            return lambda frame, array: take(array)
        return lambda frame, array: places(frame, array.shape).change(frame)(array)

    def _number(self, around: Around, number: Whole, static: bool = True, plain: bool = False) -> Index:
        depth = around.depth
        return Index(lambda frame: constant(int(number(frame)), depth), number, static, plain)

    def _symbol(self, symbol: sympy.Symbol, around: Around) -> Index:
        axis = around.axes.get(symbol)
        if axis is None:
            place = self.slots.size(symbol)

            def size(frame: Frame) -> int:
                found = frame.sizes[place]
                if found is None:
                    raise KeyError(f"the index or size {symbol} is not bound to a value here")
                return found

            return self._number(around, size, plain=True)
        slot = axis.slot
        if axis.fixed:
            return self._number(around, lambda frame: frame.low[slot], static=False)
        shape = (*(1,) * axis.place, -1, *(1,) * (around.depth - axis.place - 1))

        def values(frame: Frame) -> Ints:
            low = frame.low[slot]
            return np.arange(low, low + frame.length[slot]).reshape(shape)

        return Index(self.slots.keep(values) if axis.static else values, None, axis.static, axis=axis)

    def _look_up(self, node: Ref, around: Around) -> Index:
        if node.tensor.domain == "boolean":
            held = self.condition(node, around).truth
            return Index(lambda frame: held(frame).decided(node).astype(np.int64))
        parts = [self.index(part, around) for part in node.index]
        name, at = node.tensor.name, self.gathered(node, around)

        def array(frame: Frame) -> Ints:
            return at(frame, frame.integers[name])

        if all(part.plain for part in parts):
            return Index(array, lambda frame: int(array(frame).item()), plain=True)
        return Index(array)

    def _chosen(self, node: Case, around: Around) -> Index:
        held = self.condition(node.args[0], around)
        then, otherwise = (self.index(part, around) for part in node.args[1:])

        def array(frame: Frame) -> Ints:
            return np.where(held.truth(frame).decided(node), then.array(frame), otherwise.array(frame))

        static = held.static and then.static and otherwise.static
        return Index(self.slots.keep(array) if static else array, None, static)

    def _arithmetic(self, expr: Any, around: Around) -> Index:
        if isinstance(expr, sympy.Add):
            return self._added(expr, around)
        if isinstance(expr, sympy.Mul) and all(not part.is_Rational or part.is_Integer for part in expr.args):
            parts = [self.index(part, around) for part in expr.args]
            return self._joined(_JOINED[Times], parts, around)
        if isinstance(expr, sympy.floor | sympy.ceiling):
            ends = [self.index(part, around) for part in fraction(expr.args[0])]
            return self._joined(_below if isinstance(expr, sympy.floor) else _above, ends, around)
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp >= 0:
            power = int(expr.exp)
            return self._joined(lambda base: base**power, [self.index(expr.base, around)], around)

        def quotient(over: Any, under: Any) -> Any:
            found, rest = _divided(over, under)
            if rest if isinstance(rest, int) else rest.any():
                raise ValueError(f"the index {expr} is not an integer here")
            return found

        return self._joined(quotient, [self.index(part, around) for part in fraction(expr)], around)

    def _added(self, expr: sympy.Add, around: Around) -> Index:
        parts = [self.index(part, around) for part in expr.args]
        found = self._joined(_JOINED[Plus], parts, around)
        moving = [part for part in parts if part.number is None]
        if len(moving) != 1 or moving[0].axis is None or moving[0].shift is not None:
            return found
        numbers = [part.number for part in parts if part.number is not None]

        def shift(frame: Frame) -> int:
            return sum(number(frame) for number in numbers)

        single = numbers[0] if len(numbers) == 1 else shift
        return Index(found.array, None, found.static, axis=moving[0].axis, shift=single)

    def _joined(self, join: Callable[..., Any], parts: list[Index], around: Around) -> Index:
        """Some expressions joined by arithmetic that acts on integers and on arrays of them alike."""
        static, plain = all(part.static for part in parts), all(part.plain for part in parts)
        numbers = [part.number for part in parts if part.number is not None]
        if len(numbers) == len(parts):
            number = _of_numbers(join, numbers)
            return self._number(
                around, self.slots.keep(number) if plain and static else number, static, plain
            )
        each = [part.array if part.number is None else part.number for part in parts]

        def array(frame: Frame) -> Ints:
            return np.asarray(join(*(one(frame) for one in each)))

        return Index(self.slots.keep(array) if static else array, None, static)


def _of_numbers(join: Callable[..., Any], numbers: list[Whole]) -> Whole:
    if len(numbers) != 2:
        return lambda frame: int(join(*(number(frame) for number in numbers)))
    left, right = numbers
    if join is _plus:
        return lambda frame: left(frame) + right(frame)
    return lambda frame: int(join(left(frame), right(frame)))


def _the_same(value: int) -> Whole:
    return lambda frame: value


def refusal(error: Exception) -> Callable[[Frame], Any]:
    """What has no value: nothing is said of it before it is asked for."""

    def refuse(frame: Frame) -> Any:
        raise error

    return refuse


def _divided(over: Any, under: Any) -> tuple[Any, Any]:
    """Quotient and rest; those of a division by 0 are 0, as NumPy has them for integers."""
    if isinstance(over, int) and isinstance(under, int):
        return divmod(over, under) if under else (0, 0)
    return np.divmod(over, under)


def _below(over: Any, under: Any) -> Any:
    return _divided(over, under)[0]


def _above(over: Any, under: Any) -> Any:
    return -_divided(-over, under)[0]


def _plus(*parts: Any) -> Any:
    return reduce(add, parts)


_JOINED: dict[type, Callable[..., Any]] = {
    Plus: _plus,
    Minus: sub,
    Times: lambda *parts: reduce(mul, parts),
}
