"""Values that a run asks for in several places, or several runs in one, worked out once.

The exponentials of a softmax stand in its numerator, in its denominator and, over and over, in its gradient; a deviation from a
mean does, too. A root of a size is the same number in every run of these sizes. An arithmetic that draws its roundings is asked
each time anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import sympy

from spec.language.arrays import DISCRETE
from spec.language.evaluation.compiled.frame import Around, Array, Axis, Frame
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.softmax_groups import SoftmaxGroups
from spec.language.expr import Func, Literal, Minus, Negative, Over, Plus, Power, Ref, Times
from spec.language.trees import free_symbols, walk

Value: TypeAlias = Callable[[Frame], Any]
Key: TypeAlias = tuple[Any, ...]
"""What a value is, whatever its indices are called."""

MOST_CONSTANTS = 64
"""For how many choices of the sizes in it a constant is kept."""
_OPERATIONS = (Func, Minus, Over, Plus, Power, Times)


class Shared:
    """A value that several places of a program may ask for, each along indices of its own: as the first works it out.

    It is worked out from the tensors that are ``read``.
    """

    def __init__(
        self, place: int, value: Value, read: Collection[str], axes: Sequence[Axis], depth: int
    ) -> None:
        self.place, self.value, self.read, self.askers = place, value, frozenset(read), 0
        self.own, self.depth = _own(axes), depth

    def asked(self, axes: Sequence[Axis], depth: int, family: Any) -> Value:
        """The value along these of so many indices, as one of a softmax's family."""
        self.askers += 1
        value, place, before, own = self.value, self.place, self.depth, _own(axes)
        same = own == self.own and depth == before
        drop = tuple([slice(None) if k in self.own else 0 for k in range(before)])
        spread = tuple([slice(None) if k in own else None for k in range(depth)])

        def moved(array: Array) -> Array:
            found: Array = array[drop][spread] if array.ndim == before else array
            return found

        def shared(frame: Frame) -> Any:
            if self.askers == 1:
                return value(frame)
            kept = frame.literals[place]
            found = value(frame) if kept is None else kept[0]
            if frame.certain:
                left = (self.askers if kept is None else kept[1]) - 1
                frame.literals[place] = (found, left) if left else None
            found = found if same else frame.arithmetic.view(found, moved)
            if isinstance(found, Num) and found.softmax is not None and found.softmax[0] != family:
                return replace(found, softmax=(family, found.softmax[1]))
            return found

        return shared


def _own(axes: Sequence[Axis]) -> frozenset[int]:
    """The places of a value's axes; the first of all is there in any case, since it may count samples."""
    return frozenset({0, *(axis.place for axis in axes)})


def shareable(
    node: Any, around: Around, softmax_groups: SoftmaxGroups | None
) -> tuple[Key, list[Axis]] | None:
    """What a value is, and its indices, from the outermost to the innermost; None if it is none that is shared.

    Each entry that it is made of has to be there at any sizes: nothing around then tells whether it counts.
    """
    if not isinstance(node, _OPERATIONS) or not around.depth:
        return None
    found: dict[sympy.Symbol, Axis] = {}
    if not _entries(node, around, found):
        return None
    symbols = sorted(found, key=lambda symbol: found[symbol].place)
    axes = [found[symbol] for symbol in symbols]
    form = _form(node, {symbol: number for number, symbol in enumerate(symbols)}, around, softmax_groups)
    if form is None:
        return None
    return (form, *(axis.slot for axis in axes), bool(axes) and not axes[0].place), axes


def _entries(node: Any, around: Around, found: dict[sympy.Symbol, Axis]) -> bool:
    """Whether a value is made of operations on numbers, sizes and entries that are there at any sizes; their indices."""
    if isinstance(node, Literal):
        return not free_symbols(node) & around.axes.keys()
    if isinstance(node, Ref):
        if node.tensor.domain in DISCRETE:
            return False
        for part, size in zip(node.index, node.tensor.shape, strict=True):
            axis = around.axes.get(part)
            if axis is None or axis.size is None or axis.size != size:
                return False
            found[part] = axis
        return len(set(node.index)) == len(node.index)
    return isinstance(node, (*_OPERATIONS, Negative)) and all(
        _entries(part, around, found) for part in node.args[isinstance(node, Func) :]
    )


def _form(
    node: Any, numbers: dict[sympy.Symbol, int], around: Around, softmax_groups: SoftmaxGroups | None
) -> Key | None:
    """A value with its indices numbered; None if its exponentials depend on others, through what they are divided by."""
    if isinstance(node, Literal):
        return (node,)
    if isinstance(node, Ref):
        return (node.tensor.name, *(numbers[part] for part in node.index))
    parts: list[Any] = [type(node)]
    if isinstance(node, Func):
        parts.append(node.name)
        family = (
            softmax_groups.of(node.args[1]) if softmax_groups is not None and node.name == "exp" else None
        )
        if family is not None:
            if not free_symbols(family[1]) & around.axes.keys() <= numbers.keys():
                return None
            parts.append(family[0][0])
    for part in node.args[isinstance(node, Func) :]:
        form = _form(part, numbers, around, softmax_groups)
        if form is None:
            return None
        parts.append(form)
    return tuple(parts)


def is_constant(node: Any, around: Around, softmax_groups: SoftmaxGroups | None) -> bool:
    """Whether a value is worked out from the sizes in it and from numbers alone: an exponential that is divided by a sum is not,
    since what is subtracted from its exponent depends on what the sum runs over.
    """
    plain = isinstance(node, Func | Over | Power) and not _tensors(node) and _entries(node, around, {})
    return plain and not any(
        softmax_groups is not None
        and isinstance(part, Func)
        and part.name == "exp"
        and softmax_groups.of(part.args[1])
        for part in walk(node)
    )


def _tensors(node: Any) -> bool:
    return isinstance(node, Ref) or any(_tensors(part) for part in node.args)


def constant(value: Value, sizes: Sequence[Callable[[Frame], int]]) -> Value:
    """A value of sizes alone, kept from run to run for each choice of them and each precision."""
    kept: dict[Key, Num] = {}

    def found(frame: Frame) -> Any:
        precision = frame.arithmetic.precision_name
        if precision is None:
            return value(frame)
        key = (precision, *[size(frame) for size in sizes])
        number = kept.get(key)
        if number is None:
            if len(kept) >= MOST_CONSTANTS:
                kept.clear()
            number = kept[key] = value(frame)
        return number

    return found


__all__ = ["Shared", "constant", "is_constant", "shareable"]
