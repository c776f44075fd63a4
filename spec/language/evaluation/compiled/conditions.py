"""Conditions compiled, in three values; and the ranges of indices, under which conditions they count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import eq, le, lt
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy
from sympy.core.basic import Basic

from spec.language.arrays import DISCRETE, Tensor
from spec.language.binders import AnyOf, Bound
from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.compiled.frame import Around, Axis, Frame
from spec.language.evaluation.compiled.indices import Condition, Index, Indices, refusal
from spec.language.evaluation.indexing import is_inexact
from spec.language.expr import Always, Both, Case, Compare, Either, Not, Ref
from spec.language.symbols import make_unnamed_index
from spec.language.trees import free_symbols, transform

FEWEST = 64
"""With fewer places nothing is gained."""


def readings(node: Basic, symbol: sympy.Symbol) -> Iterator[Ref | None]:
    """The entries of tensors through which alone a node depends on an index, read at this index; None where it does otherwise."""
    if symbol not in free_symbols(node):
        return
    if isinstance(node, Ref) and free_symbols(node) == {symbol}:
        yield node if node.index == (symbol,) and node.tensor.domain in DISCRETE else None
    elif isinstance(node, sympy.Symbol | Ref):
        yield None
    else:
        for part in node.args:
            yield from readings(part, symbol)


@dataclass(frozen=True)
class Cases:
    """A condition about the different rows of entries along an index: ``node`` reads them from tensors of their own.

    Attributes:
        node: the condition, with the entries that are read along the index taken from ``own``.
        symbol: the index.
        own: for each tensor that is read the one that holds an entry of each case.
    """

    node: AnyOf
    symbol: sympy.Symbol
    own: dict[Tensor, Tensor]

    def rows(self, frame: Frame, slot: int) -> list[npt.NDArray[Any]] | None:
        """The entries along the index; None where they are too few, or not all of them known."""
        first, length = frame.low[slot], frame.length[slot]
        if frame.undecided or length < FEWEST or first < 0:
            return None
        found = []
        for tensor in self.own:
            known = (frame.booleans if tensor.domain == "boolean" else frame.integers).get(tensor.name)
            if known is None or first + length > len(known):
                return None
            found.append(np.asarray(known)[first : first + length])
        return found

    def store_entries(self, frame: Frame, rows: list[npt.NDArray[Any]], kept: npt.NDArray[np.int64]) -> None:
        """Make tensors of the entries that are kept."""
        for tensor, row in zip(self.own.values(), rows, strict=True):
            (frame.booleans if tensor.domain == "boolean" else frame.integers)[tensor.name] = row[kept]


def factor_cases(node: AnyOf, around: Around) -> Cases | None:
    """A condition about the cases along an index on which it depends through entries alone; None without such."""
    for symbol in sorted(free_symbols(node), key=str):
        axis = around.axes.get(symbol)
        found = [] if axis is None or axis.fixed else list(readings(node, symbol))
        entries = [entry for entry in found if entry is not None]
        if not found or len(entries) < len(found):
            continue
        own = {
            entry.tensor: Tensor(
                f"{entry.tensor.name} of cases",
                (make_unnamed_index("cases"),),
                entry.tensor.domain,
                "given",
                entry.tensor.below,
            )
            for entry in entries
        }
        rule = {entry: Ref(own[entry.tensor], symbol) for entry in entries}
        return Cases(transform(node, rule.get), symbol, own)
    return None


def representatives(
    columns: list[npt.NDArray[Any]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first place of every kind of row, in order, and for every place which of these it is like."""
    rows = np.zeros(len(columns[0]), np.int64)
    # Numbered anew with each column, so that the numbers stay below the square of how many there are.
    for column in columns:
        values = np.unique(column, return_inverse=True)[1]
        rows = np.unique(rows * len(rows) + values, return_inverse=True)[1]
    _, first, kind = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[kind]


Value = Callable[[Frame], Any]
Opening = Callable[[Frame], "Truth | None"]
"""Sets the range of an index; the condition under which its values are in it, None for always."""


class Conditions(Indices):
    """Compiles conditions and ranges."""

    def value(self, node: Any, around: Around) -> Value:
        """A value; see :mod:`~spec.language.evaluation.compiled.values`."""
        raise NotImplementedError

    def condition(self, node: Any, around: Around) -> Condition:
        """A condition, one axis for each index around."""
        if isinstance(node, Always):
            held = Truth(np.full((1,) * around.depth, True))
            return Condition(lambda frame: held, static=True, always=True)
        if isinstance(node, Ref):
            return self._entry(node, around)
        if isinstance(node, Both | Either):
            return self._both(node, around)
        if isinstance(node, Not):
            inner = self.condition(node.args[0], around)
            return self._keep_truth(lambda frame: ~inner.truth(frame), inner.static)
        if isinstance(node, Compare):
            return self._compare(node, around)
        if isinstance(node, AnyOf):
            return self._some(node, around)
        if isinstance(node, Case):
            test, then, otherwise = (self.condition(part, around) for part in node.args)
            return self._keep_truth(
                lambda frame: then.truth(frame).where(test.truth(frame), otherwise.truth(frame)),
                test.static and then.static and otherwise.static,
            )
        return Condition(refusal(TypeError(f"{node} is not a condition")))

    def open_range(
        self, symbol: Any, first: Any, last: Any, around: Around, slot: int | None = None
    ) -> tuple[Around, Opening]:
        """One more index: what is around inside, and how to set its range."""
        low, high = self.index(first, around), self.index(last, around)
        static = low.static and high.static
        size = None
        if static and low.plain and high.plain:
            slot, size = self.slots.range(first, last), last + 1 if first == 0 else None
        elif slot is None:
            slot = self.slots.axis()
        inside = around.inside(symbol, slot, fixed=False, static=static, size=size)
        if low.number is not None and high.number is not None:
            ranged = _plain_range(slot, low.number, high.number)
            return inside, _once(slot, ranged) if static else ranged
        opening = _ragged_range(low, high)
        if static:
            opening = self.slots.keep(opening)

        def enter(frame: Frame) -> Truth | None:
            frame.low[slot], frame.length[slot], within = opening(frame)
            return within

        return inside, enter

    def within(self, node: Bound, around: Around) -> tuple[Around, Opening]:
        """The index that a node binds, opened; the condition under which it counts."""
        inside, enter = self.open_range(node.var, node.first, node.last, around)
        read = {around.axes[symbol].place for symbol in free_symbols(node) if symbol in around.axes}
        unread = [place - around.depth for place in range(around.depth) if place not in read]
        return inside, self.restrict_range(enter, self.condition(node.where, inside), unread)

    @staticmethod
    def restrict_range(enter: Opening, where: Condition, unread: Sequence[int]) -> Opening:
        """A range under a condition, which is a guard for all that is inside.

        What is inside is the same along the axes (counted from the last) that are ``unread``: it counts where it does anywhere
        along them, and nothing has to be held for each of their indices and each of the new one.
        """
        held = None if where.always else where.truth

        def restrict(frame: Frame) -> Truth | None:
            condition, guard = enter(frame), frame.guard
            if guard is not None:
                along = tuple([axis for axis in unread if axis >= -guard.ndim and guard.shape[axis] > 1])
                if along:
                    guard = np.asarray(guard.any(axis=along, keepdims=True))
                frame.guard = guard = guard[..., None]
            if held is not None:
                if condition is not None:
                    frame.guard = condition.possibly if guard is None else guard & condition.possibly
                own = held(frame)
                if not own.everywhere:  # as where there is no mask
                    condition = own if condition is None else condition & own
            if condition is not None:
                frame.guard = condition.possibly if guard is None else guard & condition.possibly
            return condition

        return restrict

    def _keep_truth(self, truth: Callable[[Frame], Truth], static: bool) -> Condition:
        return Condition(self.slots.keep(truth) if static else truth, static)

    def _entry(self, node: Ref, around: Around) -> Condition:
        name = node.tensor.name
        at = self.make_reader(node, around)
        everywhere = Truth(np.full((1,) * around.depth, True))

        def truth(frame: Frame) -> Truth:
            values, undecided = frame.booleans[name], frame.undecided.get(name)
            if values is None:
                return everywhere
            return Truth(at(frame, values), None if undecided is None else at(frame, undecided))

        return Condition(truth)

    def _both(self, node: Both | Either, around: Around) -> Condition:
        left, right = (self.condition(part, around) for part in node.args)
        both = isinstance(node, Both)

        def truth(frame: Frame) -> Truth:
            saved, first = frame.guard, left.truth(frame)
            asked = first.possibly if both else ~first.surely  # elsewhere the right side is not asked for
            frame.guard = asked if saved is None else saved & asked
            second = right.truth(frame)
            frame.guard = saved
            return first & second if both else first | second

        return self._keep_truth(truth, left.static and right.static)

    def _compare(self, node: Compare, around: Around) -> Condition:
        relation, parts = str(node.args[0]), tuple(node.args[1:])
        left, right = (None if is_inexact(part) else self.index(part, around) for part in parts)
        if left is not None and right is not None:
            compare, a, b = _RELATIONS[relation], left.array, right.array
            return self._keep_truth(
                lambda frame: Truth(compare(a(frame), b(frame))), left.static and right.static
            )
        first, second = (
            self.value(part, around) if whole is None else exact(whole)
            for part, whole in zip(parts, (left, right), strict=True)
        )

        def truth(frame: Frame) -> Truth:
            found: Truth = frame.arithmetic.compare(relation, first(frame), second(frame))
            frame.left_open |= found.open is not None
            return found

        return Condition(truth)

    def _some(self, node: AnyOf, around: Around) -> Condition:
        """Whether a condition holds for any value of an index; asked once for all places that it cannot tell apart."""
        plain = self._some_everywhere(node, around)
        found = factor_cases(node, around)
        if found is None:
            return plain
        cases, symbol = found, found.symbol
        axis = around.axes[symbol]
        slot, place = self.slots.axis(), axis.place
        inside = Around(around.depth, {**around.axes, symbol: Axis(slot, place, fixed=False, static=False)})
        once = self._some_everywhere(cases.node, inside).truth

        def truth(frame: Frame) -> Truth:
            guard = frame.guard
            rows = cases.rows(frame, axis.slot)
            if rows is None or (guard is not None and guard.shape[place] > 1 and guard.size != len(rows[0])):
                return plain.truth(frame)  # which tells places apart by other indices, too
            narrow = guard is not None and guard.shape[place] > 1
            kept, kind = representatives([*rows, guard.reshape(-1)] if narrow and guard is not None else rows)
            frame.low[slot], frame.length[slot] = 0, len(kept)
            cases.store_entries(frame, rows, kept)
            if narrow and guard is not None:
                frame.guard = guard.take(kept, axis=place)
            held = once(frame)
            frame.guard = guard
            return held.view(lambda part: part.take(kind, axis=place) if part.shape[place] > 1 else part)

        return Condition(truth)

    def _some_everywhere(self, node: AnyOf, around: Around) -> Condition:
        inside, enter = self.within(node, around)
        body = self.condition(node.body, inside)

        def truth(frame: Frame) -> Truth:
            saved = frame.guard
            where, held = enter(frame), body.truth(frame)
            frame.guard = saved
            return (held if where is None else held & where).any()

        return Condition(truth)


def _plain_range(slot: int, low: Callable[[Frame], int], high: Callable[[Frame], int]) -> Opening:
    def enter(frame: Frame) -> None:
        first = low(frame)
        length = high(frame) + 1 - first
        frame.low[slot], frame.length[slot] = first, length if length > 0 else 0

    return enter


def _once(slot: int, opening: Opening) -> Opening:
    """A range that sizes alone give: set once for them."""

    def enter(frame: Frame) -> None:
        if frame.length[slot] < 0:
            opening(frame)

    return enter


def _ragged_range(low: Index, high: Index) -> Callable[[Frame], tuple[int, int, Truth | None]]:
    """From the least first value to the largest last one; entries of a row beyond its own do not count."""

    def span(frame: Frame) -> tuple[int, int, Truth | None]:
        first, last = low.array(frame), high.array(frame)
        if not first.size or not last.size:
            return 0, 0, None if first.size <= 1 and last.size <= 1 else _inside(np.arange(0), first, last)
        values = np.arange(int(first.min()), int(last.max()) + 1)
        ragged = first.size > 1 or last.size > 1
        return int(first.min()), len(values), _inside(values, first, last) if ragged else None

    return span


def _inside(values: Any, first: Any, last: Any) -> Truth:
    return Truth((values >= first[..., None]) & (values <= last[..., None]))


def exact(whole: Index) -> Value:
    """Whole numbers as numbers of the arithmetic."""
    return lambda frame: frame.arithmetic.exact(whole.array(frame).astype(np.float64))


_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {"<=": le, "<": lt, "==": eq}


def evaluate_guarded(frame: Frame, condition: Any, value: Value) -> Any:
    """A value under a further condition: entries where it fails do not count."""
    saved = frame.guard
    frame.guard = condition if saved is None else saved & condition
    found = value(frame)
    frame.guard = saved
    return found
