"""What every arithmetic of numbers with a running error bound shares: making them, rounding them, and their scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.numbers import (
    FOLDED,
    HELD,
    HUGE,
    NONE,
    UNIT64,
    Flags,
    Floats,
    Num,
    above,
    between,
    either,
    exponents,
    growth,
    largest,
    sizes,
    times,
)
from spec.language.evaluation.precision import Format


class Rounding:
    """What every arithmetic of :class:`Num` shares: making numbers, rounding them, and their scales.

    ``operations`` is the format in which the implementation computes; None means that no error is tracked.
    """

    certain = True
    """The same operation on the same numbers gives the same."""

    def __init__(self, operations: Format | None = None) -> None:
        self.operations = operations
        self.tracks = operations is not None
        self.precision_name: str | None = "" if operations is None else operations.name
        self.unit = 0.0 if operations is None else operations.unit + UNIT64
        self.held: float = HELD if operations is None else 1 / operations.unit
        """Up to here its numbers hold every whole one."""
        self.tiny = 0.0 if operations is None else operations.tiny
        self.largest = np.inf if operations is None else operations.largest
        self.safe = min(self.largest, HUGE) / 8  # up to it nothing overflows, nor is an error cut off
        # Exponentials of numbers so near to 0 neither vanish nor overflow, nor do products and quotients of six.
        self.near = -math.log(self.tiny) / 6 if self.tiny else 0.0

    # Making numbers ------------------------------------------------------------------------------------------------------

    def exact(self, values: Any, positive: bool = False) -> Num:
        """Numbers that an implementation receives exactly; ``positive`` ones are known not to be negative."""
        value = np.asarray(values, dtype=np.float64)
        if not self.tracks:
            return Num(value)
        low = value if positive else None
        top = largest(np.abs(value)) if value.shape else abs(value.item())
        return Num(value, np.zeros(value.shape), low=low, exact=True, top=top if top < np.inf else np.inf)

    def rational(self, p: int, q: int) -> Num:
        """The rational number p/q, rounded unless it is an integer."""
        number = self.exact(float(p) / float(q), positive=p >= 0)
        return number if q == 1 or not self.tracks else self.rounded(number, 1)

    def pi(self) -> Num:
        """The number π, rounded."""
        number = self.exact(math.pi, positive=True)
        return self.rounded(number, 1) if self.tracks else number

    def zeros(self, shape: tuple[int, ...]) -> Num:
        """Zeros."""
        return self.exact(np.zeros(shape), positive=True)

    def undefined(self) -> Num:
        """A value about which nothing is said."""
        return Num(np.array(np.nan), np.zeros(()) if self.tracks else None, lost=np.array(True))

    def shape(self, a: Num) -> tuple[int, ...]:
        """The shape of an array of numbers."""
        return a.value.shape

    def view(self, a: Num, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Num:
        """The same numbers, rearranged."""
        return a.view(change)

    # Rounding ------------------------------------------------------------------------------------------------------------

    def rounded(self, a: Num, roundings: float, tiny: bool | Flags = True) -> Num:
        """``a`` after so many roundings of the modelled implementation, which may underflow where ``tiny``."""
        if not self.tracks:
            return a
        assert a.error is not None
        share = roundings * self.unit
        more, error, top = growth(share), a.error, a.top
        within = a.scale is None and top <= self.safe  # nothing is too large, and nobody has to look
        if roundings or not within:
            before = np.abs(a.value)
            if not a.exact:
                before = above(before, error)
            if a.scale is None and not within:
                top = largest(before)
                within = top <= self.safe
            if roundings or a.scale is not None:
                before = times(before, more)
                error = before if a.exact else above(before, error)
        if a.scale is not None:
            over = ~(error < HUGE)
            if over.any():  # beside small exponents a cut error would say too much
                a.lost = over if a.lost is None else a.lost | over
            error = np.minimum(error, HUGE)
        else:
            if tiny is not False:
                least = self.tiny if tiny is True else self.tiny * tiny
                error = above(error, least) if roundings else error + least
            if not within:
                over = ~((np.abs(a.value) + error <= self.largest) & (error < HUGE))
                if over.any():
                    a.lost = over if a.lost is None else a.lost | over
                    error = np.where(np.isnan(error) | ~np.isfinite(a.value), HUGE, error)
                error = np.minimum(error, HUGE)
        if a.low is not None:
            low = np.maximum(a.low * (1 - 2 * share), a.value - error)
            a.low = np.maximum(low, 0.0)
        a.error, a.exact, a.top = error, False, top * (1 + more) + self.tiny if within else np.inf
        return a

    def reaching(self, a: Num, reach: Floats) -> Num:
        """The sum ``a`` of terms that reach so far, errors included: lost where a partial sum may overflow.

        The bound on ``a`` says nothing of that: 3 + 3 - 3 is as small as 3, and overflows in a type that ends at 5.
        """
        if not self.tracks:
            return a
        if a.scale is None:
            a.reach = reach
            if largest(reach) <= self.largest:
                return a
            over = ~(reach <= self.largest)
        else:
            with np.errstate(divide="ignore"):
                over = np.log2(reach) + a.scale > np.log2(self.largest)
        if over.any():
            a.lost = over if a.lost is None else a.lost | over
        return a

    def summed(self, a: Num, flushed: bool | Flags, total: Floats | None) -> Num:
        """A sum that is not too large anywhere, as :meth:`rounded` and :meth:`reaching` would have it."""
        assert a.error is not None
        if flushed is not False:
            a.error = a.error + (self.tiny if flushed is True else self.tiny * flushed)
        if a.low is not None:
            a.low = np.maximum(np.maximum(a.low, a.value - a.error), 0.0)
        a.reach = total
        return a

    def kept(self, a: Num, least: float = 1.0) -> Num:
        """Numbers with a scale as the implementation's type holds them: below its range they vanish, or below ``least`` times the
        smallest normal number; above it they overflow. Numbers without a scale are rounded, where one such is lost.
        """
        if not self.tracks:
            return a
        if a.scale is None:
            if least > 1 and a.error is not None:
                a.error = a.error + (least - 1) * self.tiny
            return a
        a = self.normal(a)
        assert a.error is not None
        with np.errstate(divide="ignore"):
            size = np.log2(np.abs(a.value) + a.error) + exponents(a)
        lost = either(a.lost, size > np.log2(self.largest))
        a, floor, scale = self.aligned(a, Num(np.zeros(()), np.asarray(least * self.tiny)))
        assert a.error is not None
        assert floor.error is not None
        return Num(a.value, a.error + floor.error, scale, a.low, lost)

    def unscaled(self, a: Num) -> Num:
        """``a`` without a scale: what is too small for float64 vanishes, of what is too large nothing is known."""
        a = self.folded(self.kept(self.folded(a)))
        if a.scale is None:
            return a
        value = a.floats()
        if a.error is None:
            return Num(value, lost=a.lost)
        beyond = ~np.isfinite(value)
        with np.errstate(over="ignore"):
            error = np.ldexp(a.error, between(a.scale, -2400, 2400))
        unknown = ~(error < HUGE)
        lost = either(a.lost, beyond | unknown)
        return Num(np.where(beyond, 0.0, value), np.where(unknown, HUGE, error), lost=lost)

    def plain(self, a: Num) -> Num:
        """``a`` without a scale, so that its error is in the same unit as its value."""
        a = self.folded(a)
        return a if a.scale is None or a.error is None else self.unscaled(a)

    def stored(self, a: Num, storage: Format) -> Num:
        """``a`` rounded once to a storage format (subnormals flushed at worst); what was stored so already stays."""
        if not self.tracks:
            return a
        if storage is self.operations:
            return self._flushed(a, storage)
        a = self.folded(a)
        assert a.error is not None
        error = a.error + storage.unit * (np.abs(a.value) + a.error)
        lost = a.lost
        if a.scale is None:
            error = error + storage.tiny
            mantissa = np.frexp(a.value)[0] / storage.unit
            error = np.where((a.error == 0) & (mantissa == np.rint(mantissa)), 0.0, error)
            lost = either(lost, np.abs(a.value) + error > storage.largest)
        return Num(a.value, error, a.scale, None if a.low is None else a.low * (1 - storage.unit), lost)

    def _flushed(self, a: Num, storage: Format) -> Num:
        """What carried an exponent of its own may be too small for the format, and is flushed at worst; or too large."""
        if a.scale is None or a.error is None:
            return a
        inexact = a.error > 0
        a = self.to_scale(a, np.maximum(a.scale, -1000))
        assert a.error is not None
        tiny = np.ldexp(storage.tiny, between(-exponents(a), -2400, 1000))
        out = Num(a.value, a.error + np.where(inexact, tiny, 0.0), a.scale, a.low, a.lost)
        return self.folded(self.reaching(out, np.abs(a.value) + a.error))

    # Scales --------------------------------------------------------------------------------------------------------------

    def folded(self, a: Num) -> Num:
        """``a`` without a scale, if nothing is lost by that."""
        scale = a.scale
        if scale is None:
            return a
        if a.lost is not None and a.error is not None:  # what is lost has no error, and a value of any size
            a = replace(a, error=np.where(a.lost, 0.0, a.error))
        size = sizes(a)
        top = np.where(size > 0, np.frexp(size)[1] + scale, 0)
        shift = np.where(size > 0, scale, 0)
        if top.size and (top.max() > FOLDED or top.min() < -1020):
            if a.lost is None:
                return a
            near = np.where(a.lost, between(top, -1020, FOLDED), top)
            if near.max() > FOLDED or near.min() < -1020:
                return a
            shift = shift + (near - top)
        error = None if a.error is None else np.ldexp(a.error, shift)
        low = None if a.low is None else np.ldexp(a.low, shift)
        return Num(np.ldexp(a.value, shift), error, None, low, a.lost, a.softmax)

    def normal(self, a: Num) -> Num:
        """``a`` with mantissas of moderate size."""
        if a.scale is None:
            return a
        size = sizes(a)
        shift = np.frexp(size)[1]
        if not largest(size) < np.inf:
            shift = np.where(np.isfinite(size), shift, 0)
        error = None if a.error is None else np.ldexp(a.error, -shift)
        low = None if a.low is None else np.ldexp(a.low, -shift)
        return Num(np.ldexp(a.value, -shift), error, a.scale + shift, low, a.lost, a.softmax)

    @staticmethod
    def to_scale(a: Num, scale: npt.NDArray[np.int64]) -> Num:
        """``a`` with these exponents."""
        shift = between(exponents(a) - scale, -2400, 2400)
        error = None if a.error is None else np.ldexp(a.error, shift)
        low = None if a.low is None else np.ldexp(a.low, shift)
        return Num(np.ldexp(a.value, shift), error, scale, low, a.lost)

    def aligned(self, a: Num, b: Num) -> tuple[Num, Num, npt.NDArray[np.int64] | None]:
        """Both with the same exponents, and these."""
        if a.scale is None and b.scale is None:
            return a, b, None
        scales = []
        for part in (a, b):
            part = self.normal(part) if part.scale is not None else part
            size = sizes(part)
            scales.append(np.where(size > 0, exponents(part) + np.frexp(size)[1], NONE))
        scale = np.maximum(*scales)
        scale = np.where(scale == NONE, 0, scale)
        return self.to_scale(a, scale), self.to_scale(b, scale), scale
