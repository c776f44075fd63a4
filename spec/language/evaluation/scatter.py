"""Numbers written into tensors: in place where they can be, and scattered, where several terms are added to one entry."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.arithmetic import Change
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import SUM_SLACK
from spec.language.evaluation.rounding import Functions

Places: TypeAlias = tuple[npt.NDArray[np.int64], ...]
"""For each axis of the array the place at which each term falls."""


class Scatter:
    """Terms of one shape that fall on an array of another.

    Attributes:
        terms: how many fall on each entry.
    """

    def __init__(self, onto: tuple[int, ...], index: Places | None, shape: tuple[int, ...]) -> None:
        """Without an ``index`` each term falls at its own place, where the array has but one along an axis at that."""
        self.onto, self.shape = onto, shape
        self.flat: npt.NDArray[np.intp] | None = None
        if index is None:
            pairs = zip(onto, shape, strict=True)
            self.axes = tuple(axis for axis, (there, here) in enumerate(pairs) if there == 1 != here)
            self.terms: Any = float(math.prod(shape[axis] for axis in self.axes))
            return
        parts = tuple(np.broadcast_to(part, shape).ravel() for part in index)
        one = not onto or not math.prod(shape)  # one place, or no term
        self.flat = (
            np.zeros(math.prod(shape), np.intp)
            if one
            else np.asarray(np.ravel_multi_index(parts, onto, mode="wrap"))
        )
        self.terms = self.together(np.ones(()))

    def together(self, terms: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """For each entry the sum of the terms that fall on it."""
        if self.flat is None:
            found = np.broadcast_to(terms, self.shape).sum(self.axes, keepdims=True) if self.axes else terms
            return np.asarray(found)
        weights = np.broadcast_to(np.asarray(terms, np.float64), self.shape).ravel()
        return np.bincount(self.flat, weights, math.prod(self.onto)).reshape(self.onto)


class Storing(Functions):
    """Arithmetic that keeps what it finds."""

    def write_at(
        self, target: Num, index: tuple[npt.NDArray[np.int64], ...], a: Num, accumulate: bool
    ) -> Num:
        """``target`` with ``a`` written (or added) at ``index``."""
        shape = np.broadcast_shapes(*(part.shape for part in index), a.value.shape)
        if accumulate:
            return self._add_at(target, index, a, shape)
        a, target = self.fold_scale(a), self.fold_scale(target)

        def write(new: Any, old: Any, absent: Any) -> Any:
            if new is None and old is None:
                return None
            result = np.array(np.broadcast_to(absent if old is None else old, target.value.shape))
            result[index] = absent if new is None else new
            return result

        low = None
        if a.low is not None and target.low is not None:
            low = write(a.low, target.low, 0.0)
        return Num(
            write(a.value, target.value, 0.0),
            write(a.error, target.error, 0.0),
            write(a.scale, target.scale, np.int64(0)),
            low,
            write(a.lost, target.lost, False),
            reach=write(a.get_reach(), target.get_reach(), 0.0),
            terms=max(a.terms, target.terms),
            top=a.top + target.top if a.scale is None and target.scale is None else np.inf,
        )

    def write(self, target: Num, window: Change, a: Num) -> bool:
        """Write ``a`` into the part of ``target`` that ``window`` shows, in place; False where that cannot be done.

        The result is that of :meth:`write_at`. The arrays of ``target`` have to be the caller's own.
        """
        a = self.fold_scale(a)
        if a.scale is not None or target.scale is not None:
            return False
        if target.low is target.value:  # zeros are their own lower bound
            target.low = target.value.copy()
        target.exact, target.top = False, a.top if target.top <= a.top else target.top
        window(target.value)[...] = a.value
        if a.error is not None:
            assert target.error is not None
            window(target.error)[...] = a.error
        if target.low is not None:
            if a.low is None:
                target.low = None
            else:
                window(target.low)[...] = a.low
        if a.reach is not None and target.reach is None:
            target.reach = np.zeros(target.value.shape)
        if target.reach is not None:
            reach = target.get_reach()
            assert reach is not None
            target.reach, window(reach)[...] = reach, 0.0 if a.reach is None else a.get_reach()
            target.terms = max(target.terms, a.terms)
        if a.lost is not None and target.lost is None:
            target.lost = np.zeros(target.value.shape, bool)
        if target.lost is not None:
            window(target.lost)[...] = False if a.lost is None else a.lost
        return True

    def add(self, target: Num, window: Change, a: Num, shape: tuple[int, ...]) -> bool:
        """Add terms ``a`` of a shape to the part of ``target`` that ``window`` shows, in place.

        Returns False where that cannot be done. The result is that of :meth:`write_at`. The arrays of ``target`` have to be
        the caller's own.
        """
        if target.scale is not None:
            return False
        error, lost = (None if part is None else window(part) for part in (target.error, target.lost))
        here = Num(window(target.value), error, lost=lost)
        target.low = None  # what is added may be negative
        return self.write(target, window, self._add_at(here, None, a, shape))

    def _add_at(self, target: Num, index: Places | None, a: Num, shape: tuple[int, ...]) -> Num:
        """``a`` added at ``index``, where several of its entries may fall on one place; without an index entry by entry."""
        a, target = self.remove_scale(a), self.remove_scale(target)
        scatter = Scatter(target.value.shape, index, shape)
        value = target.value + scatter.together(a.value)
        lost = None if a.lost is None and target.lost is None else np.zeros(value.shape, bool)
        if lost is not None:
            if target.lost is not None:
                lost |= target.lost
            if a.lost is not None:
                lost |= scatter.together(a.lost) > 0
        if a.error is not None and target.error is not None:
            total = np.abs(target.value) + target.error + scatter.together(np.abs(a.value) + a.error)
            rounds = np.where(scatter.terms > 0, scatter.terms + SUM_SLACK, 0.0) * self.unit
            error = target.error + scatter.together(a.error) + rounds * total
            found = self.mark_overflow(Num(value, error, lost=lost), total)
            found.reach = None
            return found
        return Num(value, None, lost=lost)
