"""Entries of a tensor at an index: by slices where the indices run through the axes, by look-up elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from spec.language.evaluation.compiled.frame import Array, Axis, Change, Frame
from spec.language.evaluation.scope import Ints
from spec.language.evaluation.truth import Bools


@dataclass(frozen=True)
class Reading:
    """One part of an index: its values; its value, or the index that it is up to a shift, where it is so simple."""

    array: Callable[[Frame], Ints]
    number: Callable[[Frame], int] | None
    axis: Axis | None
    shift: Callable[[Frame], int] | None


@dataclass(frozen=True)
class Outside:
    """Where an index leaves its axis, and what to say if such an entry counts."""

    where: Bools
    message: str


@dataclass(frozen=True)
class Places:
    """Entries of tensors of one shape: how to read them, and where there are none.

    ``window`` says that what is read is part of the tensor itself, so that it can be written to.
    """

    take: Change
    window: bool = False
    missing: tuple[Outside, ...] = ()

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


def reader(parts: Sequence[Reading], depth: int) -> Reader:
    """How to read tensors at an index of these parts, with so many indices around it."""
    axes = [part.axis for part in parts if part.axis is not None]
    simple = all(part.number is not None or part.axis is not None for part in parts)
    if simple and len({axis.place for axis in axes}) == len(axes):
        return _sliced(parts, [axis.place for axis in axes], depth)
    return lambda frame, shape: _looked_up(parts, frame, shape)


def _sliced(parts: Sequence[Reading], places: Sequence[int], depth: int) -> Reader:
    """Numbers and indices up to a shift, each its own axis: slices, put in the order of the indices around."""
    order = tuple(sorted(range(len(places)), key=lambda k: places[k]))
    ascending = order == tuple(range(len(places)))
    template: list[Any] = []
    slots: list[int] = []
    reached = 0
    for part in parts:
        if ascending and part.axis is not None:
            template += [None] * (part.axis.place - reached)
            reached = part.axis.place + 1
        slots.append(len(template))
        template.append(slice(None))
    spread: tuple[Any, ...] = tuple(slice(None) if k in places else None for k in range(depth))
    if ascending:
        template += [None] * (depth - reached)
    if not depth:
        template.append(Ellipsis)  # an array without axes, not its entry
    plan = tuple(zip(slots, parts, strict=True))
    same = ascending and len(parts) == len(places) == depth

    def read(frame: Frame, shape: tuple[int, ...]) -> Places:
        made, whole = template.copy(), same
        for (at, part), size in zip(plan, shape, strict=True):
            if part.axis is None:
                assert part.number is not None
                value = part.number(frame)
                if not 0 <= value < size:
                    return _looked_up(parts, frame, shape)
                made[at] = value
                continue
            first, length = frame.low[part.axis.slot], frame.length[part.axis.slot]
            if part.shift is not None:
                first += part.shift(frame)
            if length == size and (first == 0 or not length):
                continue
            if not length:
                first = 0
            if first < 0 or first + length > size:
                return _looked_up(parts, frame, shape)
            whole = False
            made[at] = slice(first, first + length)
        if whole:
            return _WHOLE
        chosen = tuple(made)
        if ascending:
            return Places(lambda part: part[chosen], window=True)
        return Places(lambda part: part[chosen].transpose(order)[spread], window=True)

    return read


_WHOLE = Places(lambda part: part, window=True)


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


__all__ = ["Array", "Places", "Reader", "Reading", "reader"]
