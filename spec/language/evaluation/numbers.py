"""Arrays of numbers with a running error bound: float64 values, and how far an implementation may be from them.

Each operation adds the rounding error of the modelled implementation and carries on the error of its operands (Higham,
*Accuracy and Stability of Numerical Algorithms*, sections 3.1 and 3.3), second-order terms included. The float64 arithmetic
used here rounds too; its unit is added to the implementation's, so the bound covers the distance between the two.

Values and errors share an exponent, ``(value, error)·2**exponent``, so exponentials of ±10⁴ neither overflow nor vanish.
Without a precision the same class is plain float64 arithmetic with that extended range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.precision import Format

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
HUGE = 1e280
UNIT64 = 2.0**-53


@dataclass(slots=True)
class Num:
    """An array of numbers.

    Attributes:
        value: float64 values, to be multiplied by ``2**scale``.
        error: bound on the distance of an implementation's result from the exact one, same scale; None when not tracked.
        scale: integer exponents, or None for 0.
        low: for numbers that cannot be negative: a lower bound that the exact and the computed number both respect.
        lost: where nothing can be said (the implementation's type may overflow, or a divisor may vanish).
        softmax: tag of the exponential family this belongs to, and whether it is the family's total.
        reach: of a sum, as long as nothing else was done with it, how large a partial sum can be, in whatever order its terms
            are added.
        terms: of how many terms that sum is; 1 for everything else.
        exact: every error is 0, and nobody has to look.
    """

    value: Floats
    error: Floats | None = None
    scale: npt.NDArray[np.int64] | None = None
    low: Floats | None = None
    lost: Flags | None = None
    softmax: tuple[Any, bool] | None = None
    reach: Floats | None = None
    exact: bool = False
    terms: int = 1

    def view(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Num:
        """The same numbers rearranged by ``change``, which acts on every array alike."""
        value, error, scale, low, lost = self.value, self.error, self.scale, self.low, self.lost
        changed = change(value)
        return Num(
            changed,
            None if error is None else change(error),
            None if scale is None else change(scale),
            None if low is None else changed if low is value else change(low),
            None if lost is None else change(lost),
            self.softmax,
            None,
            self.exact,
        )

    @property
    def nonzero(self) -> Flags:
        """Where it is not exactly 0, for the implementation too: the product with an exact 0 neither rounds nor underflows."""
        return self.value != 0 if self.error is None else (self.value != 0) | (self.error != 0)

    @property
    def vanishes(self) -> bool:
        """Whether some value is 0; if none is, none of the numbers is exactly 0."""
        return bool(np.count_nonzero(self.value) < self.value.size)

    def floats(self) -> Floats:
        """The values as float64; what does not fit becomes 0 or infinite."""
        if self.scale is None:
            return self.value
        with np.errstate(over="ignore", under="ignore"):
            return np.ldexp(self.value, between(self.scale, -2400, 2400))

    def bounds(self) -> Floats:
        """The error bounds as float64, infinite where nothing can be said."""
        if self.error is None:
            raise TypeError("these numbers carry no error bound")
        error = self.error
        if self.scale is not None:
            with np.errstate(over="ignore"):
                error = np.ldexp(error, between(self.scale, -2400, 2400))
        error = np.where(error < HUGE, error, np.inf)
        return error if self.lost is None else np.where(self.lost, np.inf, error)


def either(a: Flags | None, b: Flags | None) -> Flags | None:
    """Where either is lost."""
    if a is None or b is None:
        return b if a is None else a
    return a | b


def between(values: Any, low: float, high: float) -> Any:
    """Values, none of them beyond either end: ``numpy.clip`` without its checks of types, which take longer than it does."""
    return np.minimum(np.maximum(values, low), high)


def largest(sizes: Floats) -> float:
    """The largest of some sizes; NaN if one is, 0 if there are none."""
    return float(np.maximum.reduce(sizes, axis=None, initial=0.0))


def sizes(a: Num) -> Floats:
    """How large each number's value or error is, whichever is larger, but for the exponents."""
    return np.abs(a.value) if a.error is None else np.maximum(np.abs(a.value), a.error)


def exponents(a: Num) -> npt.NDArray[np.int64]:
    """The exponents of ``a``, 0 where it has none."""
    return np.zeros((), np.int64) if a.scale is None else a.scale


class Rounding:
    """What every arithmetic of :class:`Num` shares: making numbers, rounding them, and their scales.

    ``operations`` is the format in which the implementation computes; None means that no error is tracked.
    """

    def __init__(self, operations: Format | None = None) -> None:
        self.operations = operations
        self.tracks = operations is not None
        self.unit = 0.0 if operations is None else operations.unit + UNIT64
        self.tiny = 0.0 if operations is None else operations.tiny
        self.largest = np.inf if operations is None else operations.largest
        self.safe = min(self.largest, HUGE) / 8  # up to it nothing overflows, nor is an error cut off

    # Making numbers ------------------------------------------------------------------------------------------------------

    def exact(self, values: Any, positive: bool = False) -> Num:
        """Numbers that an implementation receives exactly; ``positive`` ones are known not to be negative."""
        value = np.asarray(values, dtype=np.float64)
        error = np.zeros_like(value) if self.tracks else None
        return Num(value, error, low=value if positive else None, exact=self.tracks)

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
        size, error = np.abs(a.value), a.error
        before = size if a.exact else size + error
        if roundings or a.scale is not None:
            error = share / (1 - share) * before if a.exact else error + share / (1 - share) * before
        if a.scale is not None:
            error = np.minimum(error, HUGE)
        else:
            if tiny is not False:
                error = error + (self.tiny if tiny is True else self.tiny * tiny)
            if not largest(before) <= self.safe:
                over = ~(size + error <= self.largest)
                if over.any():
                    a.lost = over if a.lost is None else a.lost | over
                    error = np.where(np.isnan(error) | ~np.isfinite(size), HUGE, error)
                error = np.minimum(error, HUGE)
        if a.low is not None:
            a.low = np.maximum(np.maximum(a.low * (1 - 2 * share), a.value - error), 0.0)
        a.error, a.exact = error, False
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

    def kept(self, a: Num) -> Num:
        """Numbers with a scale as the implementation's type holds them: below its range they vanish, above it they overflow."""
        if a.scale is None or not self.tracks:
            return a
        a = self.normal(a)
        assert a.error is not None
        with np.errstate(divide="ignore"):
            size = np.log2(np.abs(a.value) + a.error) + exponents(a)
        lost = either(a.lost, size > np.log2(self.largest))
        a, floor, scale = self.aligned(a, Num(np.zeros(()), np.asarray(self.tiny)))
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
        return Num(
            np.where(beyond, 0.0, value), np.where(error < HUGE, error, HUGE), lost=either(a.lost, beyond)
        )

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
        if a.scale is None:
            return a
        size = sizes(a)
        top = np.where(size > 0, np.frexp(size)[1] + a.scale, 0)
        if top.size and (top.max() > 1000 or top.min() < -1020):
            return a
        shift = np.where(size > 0, a.scale, 0)
        error = None if a.error is None else np.minimum(np.ldexp(a.error, shift), HUGE)
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
            scales.append(np.where(size > 0, exponents(part) + np.frexp(size)[1], -(10**17)))
        scale = np.maximum(*scales)
        scale = np.where(scale == -(10**17), 0, scale)
        return self.to_scale(a, scale), self.to_scale(b, scale), scale
