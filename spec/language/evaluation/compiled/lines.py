"""Lines compiled: what each stores where, as a whole or, in a recurrence, at one value of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.arithmetic import Change, Truth
from spec.language.evaluation.compiled.conditions import Opening, Value
from spec.language.evaluation.compiled.frame import Around, Finish, Frame, broadcast, reshaped
from spec.language.evaluation.compiled.indices import Condition, Index, Places, Reader
from spec.language.evaluation.compiled.values import Values
from spec.language.evaluation.indexing import within_tensor
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.softmax_groups import SoftmaxGroups
from spec.language.lines import Definition
from spec.language.trees import free_symbols

Shape = tuple[int, ...]
Sized = Callable[[Frame], Shape]


@dataclass(frozen=True)
class CompiledLine:
    """A line compiled.

    Attributes:
        name: the tensor that it defines.
        accumulate: it adds to its entries.
        shape: the shape of the tensor.
        enter: opens the indices that no step fixes; the condition under which they are in their ranges.
        extent: how many values each index has.
        index: where the entries are.
        places: the same, as one reads them.
        plain: the line has an index for each axis, in order, and nothing but that on its left.
        right: the value of the right side; of a condition or an integer None.
        condition: that of a condition.
        whole: that of an integer.
        part: it is a sum inside of a line of the statement.
    """

    name: str
    accumulate: bool
    shape: Sized
    enter: Opening
    extent: Sized
    index: tuple[Index, ...]
    places: Reader | Places
    plain: bool
    right: Value | None = None
    condition: Condition | None = None
    whole: Index | None = None
    part: bool = False

    def run(self, frame: Frame, finish: Finish | None) -> None:
        """Evaluate the line and store what it defines."""
        inside = self.enter(frame)
        if self.right is None:
            self._store_plain(frame)
            frame.guard = None
            return
        shape, arithmetic = self.shape(frame), frame.arithmetic
        value = self.right(frame)
        frame.guard = None
        if isinstance(value, Num):
            value = value.by_itself(self.part)
        first = inside is None and self._first(frame, shape)
        window = None if first or inside is not None else self._window(frame, shape)
        if window is None:
            value = self._whole(frame, shape, value, inside)
        if finish is not None:
            value = finish(self.name, value, True)
        if window is not None:
            target = frame.tensors[self.name]
            if (
                arithmetic.add(target, window, value, self.extent(frame))
                if self.accumulate
                else arithmetic.write(target, window, value)
            ):
                return
            value = self._whole(frame, shape, value, None)
        if first:
            frame.tensors[self.name] = value
            return
        target = frame.tensors.get(self.name)
        target = arithmetic.zeros(shape) if target is None else target
        index = tuple(part.array(frame) for part in self.index)
        if self.accumulate:
            index, value = within_tensor(arithmetic, index, shape, value)
        frame.tensors[self.name] = arithmetic.write_at(target, index, value, self.accumulate)
        frame.owned.add(self.name)

    def _first(self, frame: Frame, shape: Shape) -> bool:
        """Whether what the line gives is the tensor, as it stands."""
        free = self.plain and not self.accumulate and self.name not in frame.tensors
        return free and self.extent(frame) == shape

    def _window(self, frame: Frame, shape: Shape) -> Change | None:
        """The part of the tensor that the line writes, where it can be written in place."""
        if self.name not in frame.tensors:
            frame.tensors[self.name] = frame.arithmetic.zeros(shape)
            frame.owned.add(self.name)
        places = self._places(frame, shape) if self.name in frame.owned else None
        return places.take if places is not None and places.window else None

    def _places(self, frame: Frame, shape: Shape) -> Places:
        return self.places if isinstance(self.places, Places) else self.places(frame, shape)

    def _whole(self, frame: Frame, shape: Shape, value: Any, inside: Truth | None) -> Any:
        """The value in the shape of the line's indices; where these are out of range, what is there stays."""
        value = broadcast(frame.arithmetic, value, self.extent(frame))
        if inside is not None:
            value = frame.arithmetic.select(inside, value, self._outside(frame, shape))
        return value

    def _outside(self, frame: Frame, shape: Shape) -> Any:
        """What is written where indices are out of their ranges: nothing is added, or what is there stays."""
        target, arithmetic = frame.tensors.get(self.name), frame.arithmetic
        if self.accumulate or target is None:
            return arithmetic.view(arithmetic.zeros(()), reshaped((1,) * len(self.extent(frame))))
        index = tuple(part.array(frame) for part in self.index)
        return arithmetic.view(target, lambda part: part[index])

    def _store_plain(self, frame: Frame) -> None:
        """Store conditions or integers."""
        if self.whole is not None:
            self._keep(frame, frame.integers, self.whole.array(frame))
            return
        assert self.condition is not None
        truth = self.condition.truth(frame)
        self._keep(frame, frame.booleans, truth.holds)
        if truth.open is not None or self.name in frame.undecided:
            self._keep(frame, frame.undecided, np.zeros((), bool) if truth.open is None else truth.open)

    def _keep(self, frame: Frame, kept: dict[str, Any], value: Any) -> None:
        shape = self.shape(frame)
        target, places = kept.get(self.name), self._places(frame, shape)
        if target is None:
            target = kept[self.name] = np.zeros(shape, value.dtype)
        value = np.broadcast_to(value, self.extent(frame))
        if places.window:
            places.take(target)[...] = value
        else:
            target[tuple(part.array(frame) for part in self.index)] = value


class Lines(Values):
    """Compiles lines."""

    def __init__(self, softmax_groups: SoftmaxGroups | None) -> None:
        super().__init__(softmax_groups)
        self.shapes: dict[tuple[Any, ...], Sized] = {}
        self.extents: dict[tuple[int, ...], Sized] = {}

    def line(
        self, line: Definition, slots: Mapping[sympy.Symbol, int], fixed: frozenset[Any]
    ) -> CompiledLine:
        """A line, some of its indices ``fixed`` by steps; ``slots`` holds the ranges of all of them."""
        around, enter, whole = self.indices(line, slots, fixed)
        spans, symbols = line.spans, tuple(line.spans)
        own = [
            (slots[s], self.index(spans[s][0], around), self.index(spans[s][1], around))
            for s in symbols
            if s in fixed and any(t in spans for end in spans[s] for t in free_symbols(end))
        ]
        index = tuple(self.index(part, around) for part in line.left.index)
        domain = line.left.tensor.domain
        right, condition, integer = None, None, None
        if domain in WHOLE:
            integer = self.index(line.right, around)
        elif domain == "boolean":
            condition = self.condition(line.right, around)
        else:
            right = self.value(line.right, around)

        return CompiledLine(
            line.name,
            line.accumulate,
            self.shape(line.left.tensor),
            _in_range(enter, own) if own else enter,
            self.extent(tuple(around.axes[s].slot for s in symbols), whole),
            index,
            self.places(line.left.tensor, index, around),
            line.left.index == symbols,
            right,
            condition,
            integer,
            line.part,
        )

    def indices(
        self,
        line: Definition,
        slots: Mapping[sympy.Symbol, int],
        fixed: frozenset[Any],
        without: sympy.Symbol | None = None,
    ) -> tuple[Around, Opening, bool]:
        """The indices of a line opened, except ``without``; the last tells whether sizes alone give their ranges."""
        around, openings, static = Around(), list[Opening | None](), True
        for symbol, (first, last) in line.spans.items():
            if symbol == without:
                continue
            if symbol in fixed:
                around = around.inside(symbol, slots[symbol], fixed=True, static=False)
                openings.append(None)
            else:
                around, opening = self.open_range(symbol, first, last, around, slots[symbol])
                openings.append(opening)
            static = static and (around.axes[symbol].static or symbol in fixed)
        return around, together(openings), static

    def shape(self, tensor: Tensor) -> Sized:
        """The shape of a tensor as numbers; tensors of one shape share it."""
        found = self.shapes.get(tensor.shape)
        if found is None:
            sizes = [self.index(size, Around()) for size in tensor.shape]

            def shape(frame: Frame) -> Shape:
                return tuple([size.once(frame) for size in sizes])

            found = self.shapes[tensor.shape] = self.slots.keep(shape)
        return found

    def extent(self, slots: tuple[int, ...], static: bool) -> Sized:
        """How many values the indices have whose ranges are held there; lines of the same ranges share it."""

        def extent(frame: Frame) -> Shape:
            length = frame.length
            return tuple([length[slot] for slot in slots])

        if not static:
            return extent
        found = self.extents.get(slots)
        if found is None:
            found = self.extents[slots] = self.slots.keep(extent)
        return found


def together(openings: list[Opening | None]) -> Opening:
    """Several indices opened one inside the other; None stands for one that is fixed."""
    ranged = [opening for opening in openings if opening is not None]

    def enter(frame: Frame) -> Truth | None:
        condition: Truth | None = None
        for opening in openings:
            inside = None if opening is None else opening(frame)
            if condition is not None:
                condition = condition.view(lambda part: part[..., None])
            if inside is not None:
                condition = inside if condition is None else condition & inside
        if condition is not None:
            frame.guard = condition.possibly
        return condition

    def simple(frame: Frame) -> Truth | None:
        for opening in ranged:
            if opening(frame) is not None:
                return enter(frame)
        return None

    return simple


def _in_range(enter: Opening, own: list[tuple[int, Index, Index]]) -> Opening:
    """And those indices that steps fix are in their ranges, where these depend on other indices."""

    def within(frame: Frame) -> Truth | None:
        inside = enter(frame)
        for slot, low, high in own:
            now = frame.low[slot]
            first, last = low.array(frame), high.array(frame)
            held = Truth((first <= now) & (now <= last))
            inside = held if inside is None else inside & held
        assert inside is not None
        frame.guard = inside.possibly
        return inside

    return within
