"""Entries of a tensor at an index: by slices where the indices run through the axes, by look-up elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from spec.language.evaluation.arithmetic import Change
from spec.language.evaluation.compiled.frame import Axis, Frame, Slots
from spec.language.evaluation.indexing import Ints
from spec.language.evaluation.truth import Bools


@dataclass(frozen=True)
class Reading:
    """One part of an index: its values; its value, or the index that it is up to a shift, where it is so simple."""

    array: Callable[[Frame], Ints]
    number: Callable[[Frame], int] | None
    axis: Axis | None
    shift: Callable[[Frame], int] | None
    static: bool

    @property
    def simple(self) -> bool:
        """Whether a number or a slice says it."""
        return self.number is not None or self.axis is not None


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


def entire(parts: Sequence[Reading], shape: Sequence[Any], depth: int) -> Places | None:
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


def reader(parts: Sequence[Reading], depth: int, slots: Slots) -> Reader:
    """How to read tensors at an index of these parts, with so many indices around it."""
    axes = [part.axis for part in parts if part.axis is not None]
    if not all(part.simple for part in parts) or len({axis.place for axis in axes}) < len(axes):
        found: Reader = lambda frame, shape: _looked_up(parts, frame, shape)  # noqa: E731  (one of two)
        return slots.keep_by_shape(found) if all(part.static for part in parts) else found
    form = _Form(parts, [axis.place for axis in axes], depth)
    if all(part.static for part in parts):
        return slots.keep_by_shape(lambda frame, shape: form.places(frame, shape, form.sliced(frame, shape)))
    if all(part.static for part in parts if part.axis is not None):  # what moves is a number
        return form.moved(slots.keep_by_shape(form.sliced))
    return lambda frame, shape: form.places(frame, shape, form.sliced(frame, shape))


Sliced: TypeAlias = "tuple[list[Any], bool] | None"
"""The indices as slices, and whether each is a whole axis; None where one leaves its axis."""


class _Form:
    """Numbers and indices up to a shift, each its own axis: slices, put in the order of the indices around."""

    def __init__(self, parts: Sequence[Reading], places: Sequence[int], depth: int) -> None:
        self.parts, self.depth = parts, depth
        self.order = tuple(sorted(range(len(places)), key=lambda k: places[k]))
        self.ascending = self.order == tuple(range(len(places)))
        self.same = self.ascending and len(parts) == len(places) == depth
        self.spread: tuple[Any, ...] = tuple(slice(None) if k in places else None for k in range(depth))
        self.template: list[Any] = []
        self.numbers: list[tuple[int, int, Callable[[Frame], int]]] = []
        self.moving: list[tuple[int, int, Reading, Axis]] = []
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

    def sliced(self, frame: Frame, shape: tuple[int, ...]) -> Sliced:
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
            return _looked_up(self.parts, frame, shape)
        made, whole = sliced
        if whole:
            return STANDING
        if self.numbers:
            made = made.copy()
            for at, axis, number in self.numbers:
                value = number(frame)
                if not 0 <= value < shape[axis]:
                    return _looked_up(self.parts, frame, shape)
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

    def moved(self, kept: Callable[[Frame, tuple[int, ...]], Sliced]) -> Reader:
        """The places where slices are kept and numbers move: what recurrences ask for at every step."""
        if not self.ascending or not self.numbers:
            return lambda frame, shape: self.places(frame, shape, kept(frame, shape))
        numbers, parts = self.numbers, self.parts

        def read(frame: Frame, shape: tuple[int, ...]) -> Places:
            sliced = kept(frame, shape)
            if sliced is None:
                return _looked_up(parts, frame, shape)
            made = sliced[0].copy()
            for at, axis, number in numbers:
                made[at] = value = number(frame)
                if not 0 <= value < shape[axis]:
                    return _looked_up(parts, frame, shape)
            return Places(itemgetter(tuple(made)), True)

        return read


STANDING = Places(lambda part: part, window=True)
"""A tensor as it stands."""


def _looked_up(parts: Sequence[Reading], frame: Frame, shape: tuple[int, ...]) -> Places:
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
