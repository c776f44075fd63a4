"""Index expressions compiled, and entries of tensors at them.

An index is an integer where sizes and steps alone occur in it, else an array with an axis for each index around. Entries are read
by slices where the indices run through the axes, by look-up elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, itemgetter, mul, sub
from typing import Any, TypeAlias

import numpy as np
import sympy

from spec.language.arrays import Tensor
from spec.language.evaluation.arithmetic import Bools, Change, Truth
from spec.language.evaluation.compiled.frame import Around, Array, Axis, Frame, Slots
from spec.language.evaluation.indexing import Ints, constant
from spec.language.exact import fraction
from spec.language.expr import Case, Literal, Minus, Node, Plus, Ref, Times

Whole = Callable[[Frame], int]
Entries = Callable[[Frame], Ints]


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

    @property
    def simple(self) -> bool:
        """Whether a number or a slice says it."""
        return self.number is not None or self.axis is not None

    def once(self, frame: Frame) -> int:
        """Its value, where it has only one."""
        return int(self.array(frame).item()) if self.number is None else self.number(frame)


@dataclass(frozen=True)
class Outside:
    """Where an index leaves its axis, and what to say if such an entry counts."""

    where: Bools
    message: str


class Places:
    """Entries of tensors of one shape: how to read them, and where there are none.

    ``window`` says that what is read is part of the tensor itself, so that it can be written to.
    """

    __slots__ = ("missing", "take", "window")

    def __init__(self, take: Change, window: bool = False, missing: tuple[Outside, ...] = ()) -> None:
        self.take, self.window, self.missing = take, window, missing

    def change(self, frame: Frame) -> Change:
        """How to read them.

        Raises:
            IndexError: an entry that counts is none.
        """
        for outside in self.missing:
            if (outside.where if frame.guard is None else outside.where & frame.guard).any():
                raise IndexError(outside.message)
        return self.take


Reader: TypeAlias = Callable[[Frame, tuple[int, ...]], Places]
"""The places in tensors of a shape."""


def entire(parts: Sequence[Index], shape: Sequence[Any], depth: int) -> Places | None:
    """The places in tensors of a symbolic shape where each index runs through its axis, whatever the sizes; else None."""
    places = []
    for part, size in zip(parts, shape, strict=True):
        axis = part.axis
        if axis is None or part.shift is not None or axis.size is None or axis.size != size:
            return None
        places.append(axis.place)
    if not parts or len(set(places)) < len(places):
        return None
    return _Form(parts, places, depth).entire()


def reader(parts: Sequence[Index], depth: int, slots: Slots) -> Reader:
    """How to read tensors at an index of these parts, with so many indices around it."""
    axes = [part.axis for part in parts if part.axis is not None]
    if not all(part.simple for part in parts) or len({axis.place for axis in axes}) < len(axes):
        found: Reader = lambda frame, shape: _look_up_entries(parts, frame, shape)  # noqa: E731  (one of two)
        return slots.keep_by_shape(found) if all(part.static for part in parts) else found
    form = _Form(parts, [axis.place for axis in axes], depth)
    if all(part.static for part in parts):
        return slots.keep_by_shape(
            lambda frame, shape: form.places(frame, shape, form.make_slices(frame, shape))
        )
    if all(part.static for part in parts if part.axis is not None):  # what moves is a number
        return form.move_numbers(slots.keep_by_shape(form.make_slices))
    return lambda frame, shape: form.places(frame, shape, form.make_slices(frame, shape))


Sliced: TypeAlias = "tuple[list[Any], bool] | None"
"""The indices as slices, and whether each is a whole axis; None where one leaves its axis."""


class _Form:
    """Numbers and indices up to a shift, each its own axis: slices, put in the order of the indices around."""

    def __init__(self, parts: Sequence[Index], places: Sequence[int], depth: int) -> None:
        self.parts, self.depth = parts, depth
        self.order = tuple(sorted(range(len(places)), key=lambda k: places[k]))
        self.ascending = self.order == tuple(range(len(places)))
        self.same = self.ascending and len(parts) == len(places) == depth
        self.spread: tuple[Any, ...] = tuple(slice(None) if k in places else None for k in range(depth))
        self.template: list[Any] = []
        self.numbers: list[tuple[int, int, Callable[[Frame], int]]] = []
        self.moving: list[tuple[int, int, Index, Axis]] = []
        reached = 0
        for axis, part in enumerate(parts):
            if part.axis is not None:
                if self.ascending:
                    self.template += [None] * (part.axis.place - reached)
                    reached = part.axis.place + 1
                self.moving.append((len(self.template), axis, part, part.axis))
            elif part.number is not None:
                self.numbers.append((len(self.template), axis, part.number))
            self.template.append(slice(None))
        if self.ascending:
            self.template += [None] * (depth - reached)
        if not depth:
            self.template.append(Ellipsis)  # an array without axes, not its entry

    def make_slices(self, frame: Frame, shape: tuple[int, ...]) -> Sliced:
        """The indices as slices; places for the numbers are left."""
        made, whole = self.template.copy(), self.same
        for at, axis, part, around in self.moving:
            size, first, length = shape[axis], frame.low[around.slot], frame.length[around.slot]
            if part.shift is not None:
                first += part.shift(frame)
            if not length:
                first = 0
            if first == 0 and length == size:
                continue
            if first < 0 or first + length > size:
                return None
            whole = False
            made[at] = slice(first, first + length)
        return made, whole

    def places(self, frame: Frame, shape: tuple[int, ...], sliced: Sliced) -> Places:
        """The places, once the indices are slices; the numbers are filled in."""
        if sliced is None:
            return _look_up_entries(self.parts, frame, shape)
        made, whole = sliced
        if whole:
            return STANDING
        if self.numbers:
            made = made.copy()
            for at, axis, number in self.numbers:
                value = number(frame)
                if not 0 <= value < shape[axis]:
                    return _look_up_entries(self.parts, frame, shape)
                made[at] = value
        chosen = tuple(made)
        if self.ascending:
            return Places(itemgetter(chosen), True)
        order, spread = self.order, self.spread
        return Places(lambda part: part[chosen].transpose(order)[spread], True)

    def entire(self) -> Places:
        """The places where every index runs through its axis."""
        if self.same:
            return STANDING
        order, spread = self.order, self.spread
        if self.ascending:
            return Places(itemgetter(spread), True)
        if len(order) == self.depth:
            return Places(lambda part: part.transpose(order), True)
        return Places(lambda part: part.transpose(order)[spread], True)

    def move_numbers(self, kept: Callable[[Frame, tuple[int, ...]], Sliced]) -> Reader:
        """The places where slices are kept and numbers move: what recurrences ask for at every step."""
        if not self.ascending or not self.numbers:
            return lambda frame, shape: self.places(frame, shape, kept(frame, shape))
        numbers, parts = self.numbers, self.parts

        def read_places(frame: Frame, shape: tuple[int, ...]) -> Places:
            sliced = kept(frame, shape)
            if sliced is None:
                return _look_up_entries(parts, frame, shape)
            made = sliced[0].copy()
            for at, axis, number in numbers:
                made[at] = value = number(frame)
                if not 0 <= value < shape[axis]:
                    return _look_up_entries(parts, frame, shape)
            return Places(itemgetter(tuple(made)), True)

        return read_places


STANDING = Places(lambda part: part, window=True)
"""A tensor as it stands."""


def _look_up_entries(parts: Sequence[Index], frame: Frame, shape: tuple[int, ...]) -> Places:
    """Entry by entry."""
    arrays, missing = [part.array(frame) for part in parts], []
    for axis, (values, size) in enumerate(zip(arrays, shape, strict=True)):
        if values.size == 1 and 0 <= values.item() < size:
            continue
        outside = (values < 0) | (values >= size)
        if outside.any():
            bad = int(values[outside][0])
            missing.append(Outside(outside, f"index {bad} on axis {axis} is outside 0 … {size - 1}"))
            arrays[axis] = np.clip(values, 0, max(size - 1, 0))
    chosen = tuple(arrays)
    return Places(lambda part: np.asarray(part[chosen], part.dtype), missing=tuple(missing))


@dataclass(frozen=True)
class Condition:
    """A condition compiled; ``static`` ones depend on sizes alone, ``always`` is the one that holds everywhere."""

    truth: Callable[[Frame], Truth]
    static: bool = False
    always: bool = False


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
            value = int(expr)
            return self._number(around, lambda frame: value, plain=True)
        if isinstance(expr, sympy.Symbol):
            return self._symbol(expr, around)
        if isinstance(expr, Ref):
            return self._look_up(expr, around)
        if isinstance(expr, Literal):
            return self.index(expr.value, around)
        if isinstance(expr, Case):
            return self._choose_case(expr, around)
        if isinstance(expr, Plus | Minus | Times):
            parts = [self.index(part, around) for part in expr.args]
            return self._join_indices(_JOINED[type(expr)], parts, around)
        if isinstance(expr, Node):
            return Index(refusal(TypeError(f"{expr} is no index arithmetic")))
        return self._arithmetic(expr, around)

    def places(self, tensor: Tensor, parts: Sequence[Index], around: Around) -> Reader | Places:
        """How to read a tensor at an index; the places themselves where they are all there are, at any sizes."""
        found = entire(parts, tensor.shape, around.depth)
        return reader(parts, around.depth, self.slots) if found is None else found

    def make_reader(self, node: Ref, around: Around) -> Callable[[Frame, Array], Array]:
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
            return Index(lambda frame: held(frame).require_decided(node).astype(np.int64))
        parts = [self.index(part, around) for part in node.index]
        name, at = node.tensor.name, self.make_reader(node, around)

        def array(frame: Frame) -> Ints:
            return at(frame, frame.integers[name])

        if all(part.plain for part in parts):
            return Index(array, lambda frame: int(array(frame).item()), plain=True)
        return Index(array)

    def _choose_case(self, node: Case, around: Around) -> Index:
        held = self.condition(node.args[0], around)
        then, otherwise = (self.index(part, around) for part in node.args[1:])

        def array(frame: Frame) -> Ints:
            return np.where(
                held.truth(frame).require_decided(node), then.array(frame), otherwise.array(frame)
            )

        static = held.static and then.static and otherwise.static
        return Index(self.slots.keep(array) if static else array, None, static)

    def _arithmetic(self, expr: Any, around: Around) -> Index:
        if isinstance(expr, sympy.Add):
            return self._add_indices(expr, around)
        if isinstance(expr, sympy.Mul) and all(not part.is_Rational or part.is_Integer for part in expr.args):
            parts = [self.index(part, around) for part in expr.args]
            return self._join_indices(_JOINED[Times], parts, around)
        if isinstance(expr, sympy.floor | sympy.ceiling):
            ends = [self.index(part, around) for part in fraction(expr.args[0])]
            if isinstance(expr, sympy.floor):
                return self._join_indices(lambda over, under: _divide(over, under)[0], ends, around)
            return self._join_indices(lambda over, under: -_divide(-over, under)[0], ends, around)
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp >= 0:
            power = int(expr.exp)
            return self._join_indices(lambda base: base**power, [self.index(expr.base, around)], around)

        def quotient(over: Any, under: Any) -> Any:
            found, rest = _divide(over, under)
            if rest if isinstance(rest, int) else rest.any():
                raise ValueError(f"the index {expr} is not an integer here")
            return found

        return self._join_indices(quotient, [self.index(part, around) for part in fraction(expr)], around)

    def _add_indices(self, expr: sympy.Add, around: Around) -> Index:
        parts = [self.index(part, around) for part in expr.args]
        found = self._join_indices(_JOINED[Plus], parts, around)
        moving = [part for part in parts if part.number is None]
        if len(moving) != 1 or moving[0].axis is None or moving[0].shift is not None:
            return found
        numbers = [part.number for part in parts if part.number is not None]

        def shift(frame: Frame) -> int:
            return sum(number(frame) for number in numbers)

        single = numbers[0] if len(numbers) == 1 else shift
        return Index(found.array, None, found.static, axis=moving[0].axis, shift=single)

    def _join_indices(self, join: Callable[..., Any], parts: list[Index], around: Around) -> Index:
        """Some expressions joined by arithmetic that acts on integers and on arrays of them alike."""
        static, plain = all(part.static for part in parts), all(part.plain for part in parts)
        numbers = [part.number for part in parts if part.number is not None]
        if len(numbers) == len(parts):
            number = _of_numbers(join, numbers)
            number = self.slots.keep(number) if plain and static else number
            return self._number(around, number, static, plain)
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


def refusal(error: Exception) -> Callable[[Frame], Any]:
    """What has no value: nothing is said of it before it is asked for."""

    def refuse(frame: Frame) -> Any:
        raise error

    return refuse


def _divide(over: Any, under: Any) -> tuple[Any, Any]:
    """Quotient and rest; those of a division by 0 are 0, as NumPy has them for integers."""
    if isinstance(over, int) and isinstance(under, int):
        return divmod(over, under) if under else (0, 0)
    return np.divmod(over, under)


def _plus(*parts: Any) -> Any:
    return reduce(add, parts)


_JOINED: dict[type, Callable[..., Any]] = {Plus: _plus, Minus: sub, Times: lambda *parts: reduce(mul, parts)}
