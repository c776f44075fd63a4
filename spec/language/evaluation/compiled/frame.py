"""What a run of compiled lines works on: numbers, tensors, the ranges of indices, and what is kept from run to run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import sympy

from spec.language.evaluation.arithmetic import Arithmetic, Bools, Change
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.numbers import Num, has

Made = TypeVar("Made")
Array: TypeAlias = npt.NDArray[Any]
Finish: TypeAlias = Callable[[str, Any, bool], Any]
"""What is stored for a tensor of this name with this value; the last tells a part of it, as a step stores it, from the whole."""


class Frame:
    """One run at given inputs; closures read and write it.

    Attributes:
        low: the first value of each index, where it is open.
        length: over how many values it runs; −1 where it never was open.
        certain: the arithmetic says the same whenever it is asked.
        kept: what depends on sizes alone. It outlives the run, as ranges do: another one opens anew those that may differ.
        literals: numbers that are the same wherever they are asked for, and values that are shared.
        owned: the tensors whose arrays nobody else holds, so that entries may be written in place.
        guard: the entries that may count; the others need not have a value.
        left_open: some comparison was not decided.
        calls: what stands instead of a formula that a claim applies; None in the lines of a formula.
        outcomes: the values of a random entry with their probabilities, over which expectations are taken.
        most: about how many bytes the tensors that the run made held at once at most, where they were let go.
    """

    def __init__(
        self,
        arithmetic: Arithmetic[Any],
        bindings: Bindings,
        sizes: tuple[int | None, ...],
        known: SizeMemo,
        slots: Slots,
        tensors: Mapping[str, Any] | None = None,
    ) -> None:
        self.arithmetic = arithmetic
        self.calls: Any = None
        self.outcomes: Sequence[tuple[Any, Any]] | None = None
        self.certain: bool = arithmetic.certain
        self.sizes = sizes
        self.kept, self.low, self.length = known.kept, known.low, known.length
        self.literals: list[Any] = [None] * slots.literals
        self.integers: dict[str, Any] = dict(bindings.integers)
        self.booleans: dict[str, Any] = dict(bindings.booleans)
        self.undecided: dict[str, Bools] = {}
        self.owned: set[str] = set()
        self.guard: Bools | None = None
        self.left_open = False
        self.most = 0
        self.tensors: dict[str, Any] = dict(tensors if tensors is not None else bindings.numbers(arithmetic))


@dataclass
class Slots:
    """How many places a program has for each kind of thing that a run holds.

    Attributes:
        sizes: its size symbols, in order.
        ranges: the places of ranges that sizes alone give: all indices of such a range share one.
    """

    axes: int = 0
    kept: int = 0
    literals: int = 0
    sizes: dict[sympy.Symbol, int] = field(default_factory=dict)
    ranges: dict[tuple[Any, Any], int] = field(default_factory=dict)

    def axis(self) -> int:
        """A place for the range of an index."""
        self.axes += 1
        return self.axes - 1

    def range(self, first: Any, last: Any) -> int:
        """The place of a range that sizes alone give."""
        found = self.ranges.get((first, last))
        if found is None:
            found = self.ranges[first, last] = self.axis()
        return found

    def literal(self) -> int:
        """A place for a number that is the same wherever it is asked for."""
        self.literals += 1
        return self.literals - 1

    def size(self, symbol: sympy.Symbol) -> int:
        """The place of a size."""
        return self.sizes.setdefault(symbol, len(self.sizes))

    def keep(self, make: Callable[[Frame], Made]) -> Callable[[Frame], Made]:
        """``make``, called once for given sizes."""
        place = self.kept
        self.kept += 1

        def get(frame: Frame) -> Made:
            found = frame.kept[place]
            if found is None:
                found = frame.kept[place] = make(frame)
            return found

        return get

    def keep_by_shape(
        self, make: Callable[[Frame, tuple[int, ...]], Made]
    ) -> Callable[[Frame, tuple[int, ...]], Made]:
        """The same for what is made for tensors of a shape: shapes follow from sizes; another one is looked at anew."""
        place = self.kept
        self.kept += 1

        def get(frame: Frame, shape: tuple[int, ...]) -> Made:
            found = frame.kept[place]
            if found is None or found[0] != shape:
                found = frame.kept[place] = (shape, make(frame, shape))
            return found[1]

        return get


class SizeMemo:
    """What is known at some sizes, from run to run; see :class:`Frame`."""

    __slots__ = ("kept", "length", "low")

    def __init__(self, slots: Slots) -> None:
        self.kept: list[Any] = [None] * slots.kept
        self.low, self.length = [0] * slots.axes, [-1] * slots.axes


MOST_SIZES = 16
"""For how many choices of sizes what depends on them alone is kept."""


class Sized:
    """Something compiled, with what it knows at each choice of sizes; ``slots`` is complete."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.symbols = tuple(slots.sizes)
        self.known: OrderedDict[tuple[int | None, ...], SizeMemo] = OrderedDict()

    def frame(
        self, arithmetic: Arithmetic[Any], bindings: Bindings, tensors: Mapping[str, Any] | None = None
    ) -> Frame:
        """A run at given inputs; ``tensors`` holds the real ones, where they are numbers of the arithmetic already."""
        sizes = _in_order(self.symbols, bindings.sizes)
        return Frame(arithmetic, bindings, sizes, self._at(sizes), self.slots, tensors)

    def _at(self, sizes: tuple[int | None, ...]) -> SizeMemo:
        """What is known at these sizes."""
        found = self.known.get(sizes)
        if found is None:
            found = self.known[sizes] = SizeMemo(self.slots)
            if len(self.known) > MOST_SIZES:
                self.known.popitem(last=False)
        else:
            self.known.move_to_end(sizes)
        return found


def _in_order(symbols: tuple[sympy.Symbol, ...], sizes: dict[sympy.Symbol, int]) -> tuple[int | None, ...]:
    """The sizes in the program's order: found by identity, without hashing a symbol, wherever they can be."""
    known = {id(symbol): value for symbol, value in sizes.items()}
    if all(id(symbol) in known for symbol in symbols):
        return tuple(known[id(symbol)] for symbol in symbols)
    return tuple(sizes.get(symbol) for symbol in symbols)


@dataclass(frozen=True)
class Axis:
    """An index as an axis.

    Attributes:
        slot: where its range is held.
        place: which axis it is.
        fixed: a step fixes it.
        static: sizes alone give its range.
        size: it runs through all of an axis of this size; None where that is not known.
    """

    slot: int
    place: int
    fixed: bool
    static: bool
    size: Any = None


class Around:
    """The indices around an expression, outermost first; an inner one hides an outer one of the same letter."""

    def __init__(self, depth: int = 0, axes: Mapping[sympy.Symbol, Axis] | None = None) -> None:
        self.depth = depth
        self.axes: dict[sympy.Symbol, Axis] = dict(axes or {})

    def inside(self, symbol: sympy.Symbol, slot: int, fixed: bool, static: bool, size: Any = None) -> Around:
        """With one more index, innermost."""
        axis = Axis(slot, self.depth, fixed, static, size)
        return Around(self.depth + 1, {**self.axes, symbol: axis})


def broadcast(arithmetic: Arithmetic[Any], value: Any, shape: tuple[int, ...]) -> Any:
    """A value in a shape, along the axes where it has no length of its own; most have it already."""
    return (
        value
        if isinstance(value, Num) and value.fills(shape)
        else arithmetic.view(value, make_broadcast(shape))
    )


def reshaped(shape: tuple[int, ...]) -> Change:
    """How to bring an array of one entry into a shape."""
    return lambda part: np.asarray(part).reshape(shape)


def make_broadcast(shape: tuple[int, ...]) -> Change:
    """How to bring an array into a shape along the axes where it has no length of its own."""

    def change(part: Array) -> Array:
        if part.shape == shape or has(part.shape, shape):
            return part
        return np.broadcast_to(part, np.broadcast_shapes(part.shape, shape))

    return change
