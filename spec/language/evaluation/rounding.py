"""What every arithmetic of numbers with a running error bound shares: making them, rounding them, and their scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.evaluation import numbers
from spec.language.evaluation.numbers import FOLDED, HUGE, LARGEST_EXACT, NONE, UNIT64, Flags, Floats, Num
from spec.language.evaluation.precision import ERF_ROUNDINGS, FUNCTION_ROUNDINGS, POWER_ROUNDINGS, Format


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
        self.held: float = LARGEST_EXACT if operations is None else 1 / operations.unit
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
        top = numbers.largest(np.abs(value)) if value.shape else abs(value.item())
        return Num(value, np.zeros(value.shape), low=low, exact=True, top=top if top < np.inf else np.inf)

    def rational(self, p: int, q: int) -> Num:
        """The rational number p/q, rounded unless it is an integer."""
        number = self.exact(float(p) / float(q), positive=p >= 0)
        return number if q == 1 or not self.tracks else self.apply_roundings(number, 1)

    def pi(self) -> Num:
        """The number π, rounded."""
        number = self.exact(math.pi, positive=True)
        return self.apply_roundings(number, 1) if self.tracks else number

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

    def apply_roundings(self, a: Num, roundings: float, tiny: bool | Flags = True) -> Num:
        """``a`` after so many roundings of the modelled implementation, which may underflow where ``tiny``."""
        if not self.tracks:
            return a
        assert a.error is not None
        share = roundings * self.unit
        more, error, top = numbers.growth(share), a.error, a.top
        within = a.scale is None and top <= self.safe  # nothing is too large, and nobody has to look
        if roundings or not within:
            before = np.abs(a.value)
            if not a.exact:
                before = numbers.above(before, error)
            if a.scale is None and not within:
                top = numbers.largest(before)
                within = top <= self.safe
            if roundings or a.scale is not None:
                before = numbers.times(before, more)
                error = before if a.exact else numbers.above(before, error)
        if a.scale is not None:
            over = ~(error < HUGE)
            if over.any():  # beside small exponents a cut error would say too much
                a.lost = over if a.lost is None else a.lost | over
            error = np.minimum(error, HUGE)
        else:
            if tiny is not False:
                least = self.tiny if tiny is True else self.tiny * tiny
                error = numbers.above(error, least) if roundings else error + least
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

    def mark_overflow(self, a: Num, reach: Floats) -> Num:
        """The sum ``a`` of terms that reach so far, errors included: lost where a partial sum may overflow.

        The bound on ``a`` says nothing of that: 3 + 3 - 3 is as small as 3, and overflows in a type that ends at 5.
        """
        if not self.tracks:
            return a
        if a.scale is None:
            a.reach = reach
            if numbers.largest(reach) <= self.largest:
                return a
            over = ~(reach <= self.largest)
        else:
            with np.errstate(divide="ignore"):
                over = np.log2(reach) + a.scale > np.log2(self.largest)
        if over.any():
            a.lost = over if a.lost is None else a.lost | over
        return a

    def round_sum(self, a: Num, flushed: bool | Flags, total: Floats | None) -> Num:
        """A sum that is not too large anywhere, as :meth:`apply_roundings` and :meth:`mark_overflow` would have it."""
        assert a.error is not None
        if flushed is not False:
            a.error = a.error + (self.tiny if flushed is True else self.tiny * flushed)
        if a.low is not None:
            a.low = np.maximum(np.maximum(a.low, a.value - a.error), 0.0)
        a.reach = total
        return a

    def fit_to_range(self, a: Num, least: float = 1.0) -> Num:
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
            size = np.log2(np.abs(a.value) + a.error) + numbers.exponents(a)
        lost = numbers.either(a.lost, size > np.log2(self.largest))
        a, floor, scale = self.align_scales(a, Num(np.zeros(()), np.asarray(least * self.tiny)))
        assert a.error is not None
        assert floor.error is not None
        return Num(a.value, a.error + floor.error, scale, a.low, lost)

    def remove_scale(self, a: Num) -> Num:
        """``a`` without a scale: what is too small for float64 vanishes, of what is too large nothing is known."""
        a = self.fold_scale(self.fit_to_range(self.fold_scale(a)))
        if a.scale is None:
            return a
        value = a.floats()
        if a.error is None:
            return Num(value, lost=a.lost)
        beyond = ~np.isfinite(value)
        with np.errstate(over="ignore"):
            error = np.ldexp(a.error, numbers.clip(a.scale, -2400, 2400))
        unknown = ~(error < HUGE)
        lost = numbers.either(a.lost, beyond | unknown)
        return Num(np.where(beyond, 0.0, value), np.where(unknown, HUGE, error), lost=lost)

    def plain(self, a: Num) -> Num:
        """``a`` without a scale, so that its error is in the same unit as its value."""
        a = self.fold_scale(a)
        return a if a.scale is None or a.error is None else self.remove_scale(a)

    def round_to_storage(self, a: Num, storage: Format) -> Num:
        """``a`` rounded once to a storage format (subnormals flushed at worst); what was stored so already stays."""
        if not self.tracks:
            return a
        if storage is self.operations:
            return self._flush(a, storage)
        a = self.fold_scale(a)
        assert a.error is not None
        error = a.error + storage.unit * (np.abs(a.value) + a.error)
        lost = a.lost
        if a.scale is None:
            error = error + storage.tiny
            mantissa = np.frexp(a.value)[0] / storage.unit
            error = np.where((a.error == 0) & (mantissa == np.rint(mantissa)), 0.0, error)
            lost = numbers.either(lost, np.abs(a.value) + error > storage.largest)
        return Num(a.value, error, a.scale, None if a.low is None else a.low * (1 - storage.unit), lost)

    def _flush(self, a: Num, storage: Format) -> Num:
        """What carries an exponent of its own, or did, may be too small for the format, and is flushed at worst; or too large."""
        if a.error is None or a.exact:
            return a
        inexact = a.error > 0
        if a.scale is None:
            a.error = np.maximum(a.error, storage.tiny * inexact)
            return a
        a = self.to_scale(a, np.maximum(a.scale, -1000))
        assert a.error is not None
        tiny = np.ldexp(storage.tiny, numbers.clip(-numbers.exponents(a), -2400, 1000))
        out = Num(a.value, a.error + np.where(inexact, tiny, 0.0), a.scale, a.low, a.lost)
        return self.fold_scale(self.mark_overflow(out, np.abs(a.value) + a.error))

    # Scales --------------------------------------------------------------------------------------------------------------

    def fold_scale(self, a: Num) -> Num:
        """``a`` without a scale, if nothing is lost by that."""
        scale = a.scale
        if scale is None:
            return a
        if a.lost is not None and a.error is not None:  # what is lost has no error, and a value of any size
            a = replace(a, error=np.where(a.lost, 0.0, a.error))
        size = numbers.sizes(a)
        top = np.where(size > 0, np.frexp(size)[1] + scale, 0)
        shift = np.where(size > 0, scale, 0)
        if top.size and (top.max() > FOLDED or top.min() < -1020):
            if a.lost is None:
                return a
            near = np.where(a.lost, numbers.clip(top, -1020, FOLDED), top)
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
        size = numbers.sizes(a)
        shift = np.frexp(size)[1]
        if not numbers.largest(size) < np.inf:
            shift = np.where(np.isfinite(size), shift, 0)
        error = None if a.error is None else np.ldexp(a.error, -shift)
        low = None if a.low is None else np.ldexp(a.low, -shift)
        return Num(np.ldexp(a.value, -shift), error, a.scale + shift, low, a.lost, a.softmax)

    @staticmethod
    def to_scale(a: Num, scale: npt.NDArray[np.int64]) -> Num:
        """``a`` with these exponents."""
        shift = numbers.clip(numbers.exponents(a) - scale, -2400, 2400)
        error = None if a.error is None else np.ldexp(a.error, shift)
        low = None if a.low is None else np.ldexp(a.low, shift)
        return Num(np.ldexp(a.value, shift), error, scale, low, a.lost)

    def align_scales(self, a: Num, b: Num) -> tuple[Num, Num, npt.NDArray[np.int64] | None]:
        """Both with the same exponents, and these."""
        if a.scale is None and b.scale is None:
            return a, b, None
        scales = []
        for part in (a, b):
            part = self.normal(part) if part.scale is not None else part
            size = numbers.sizes(part)
            scales.append(np.where(size > 0, numbers.exponents(part) + np.frexp(size)[1], NONE))
        scale = np.maximum(*scales)
        scale = np.where(scale == NONE, 0, scale)
        return self.to_scale(a, scale), self.to_scale(b, scale), scale


LARGEST_EXPONENT = 600.0
"""Relative errors are capped at e to this power: beyond it nothing is known anyway, and nothing may overflow."""

NEAR = 700
"""Exponents of 2 no further apart than this are not brought together: an error may have either, and stays in range."""

EXPONENTIAL_SLACK = 8 * UNIT64
"""The relative error of an exponential in float64, a few units: NumPy's is within one, its reduced argument within a few."""

LN2_HIGH = float.fromhex("0x1.62e42feep-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""ln 2 in two parts; multiples of the first up to 2²⁰ are exact, so the reduced argument of an exponential is too."""


FLUSHED = 2
"""So many times the smallest normal number may be lost of an exponential, and of what is made of one: kernels put together the
power of two below it, which is subnormal already, and flush that to 0."""


class Functions(Rounding):
    """Exponential, root, sine and their like."""

    def function(self, name: str, a: Num) -> Num:
        """An elementary function other than ``exp``."""
        if name == "stop":
            return a
        if name == "sqrt":
            return self._sqrt(a)
        if name == "log":
            return self._log(a)
        a = self.plain(a)
        x, e = a.floats(), a.error
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            value, slope, cap = _FUNCTIONS[name](x, e)
        error, low, lost = None, None, a.lost
        if e is not None:
            error = np.minimum(e * slope, cap)
            if name == "sigmoid":
                error = error + (FLUSHED - 1) * self.tiny
            if name == "erf":
                error = error + ERF_ROUNDINGS * self.unit
            if name == "round":
                error = np.where(np.abs(x - np.floor(x) - 0.5) <= e, 1.0, 0.0)
            if name in ("sigmoid", "abs"):
                low = np.zeros_like(value)
        out = Num(value, error, None, low, lost)
        if name in ("abs", "round"):
            return out
        return self.apply_roundings(out, FUNCTION_ROUNDINGS)

    def _log(self, a: Num) -> Num:
        """ln a, also of numbers beyond the float64 range: the logarithm of a sum of exponentials of ±10⁴ is ±10⁴."""
        a = self.normal(self.fold_scale(a))
        shift = 0 if a.scale is None else a.scale * LN2_LOW + a.scale * LN2_HIGH
        error, lost = None, a.lost
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            value = np.log(a.value) + shift
            if a.error is not None:
                least = a.value - a.error
                lost = numbers.either(lost, ~(least > 0))
                error = a.error / np.maximum(least, 1e-300)
        return self.apply_roundings(Num(value, error, lost=lost), FUNCTION_ROUNDINGS)

    def exp_of_log(self, a: Num) -> Num:
        """exp(ln a): what is left of a when only its logarithm, rounded, was kept; undefined below 0."""
        a = self.normal(self.fold_scale(a))
        if (a.value < 0).any():
            a = Num(np.where(a.value < 0, np.nan, a.value), a.error, a.scale, a.low, a.lost)
        if a.error is None:
            return a
        logarithm = self._log(a)
        assert logarithm.error is not None
        spread = logarithm.error + FUNCTION_ROUNDINGS * self.unit
        spread = np.where(np.isfinite(spread), np.minimum(spread, LARGEST_EXPONENT), LARGEST_EXPONENT)
        return self.fold_scale(Num(a.value, a.value * np.expm1(spread), a.scale, a.low, logarithm.lost))

    def _sqrt(self, a: Num) -> Num:
        if a.scale is not None:
            odd = a.scale % 2
            a = self.to_scale(a, a.scale - odd)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.sqrt(a.value)
            error, lost = None, a.lost
            if a.error is not None:
                least = a.value - a.error
                if a.low is None:
                    lost = numbers.either(lost, ~(least >= 0))
                else:
                    least = np.maximum(least, a.low)
                root = value + np.sqrt(np.maximum(least, 0.0))
                error = np.where(a.error == 0, 0.0, np.minimum(a.error / root, np.sqrt(a.error)))
        scale = None if a.scale is None else a.scale // 2
        low = np.zeros_like(value) if a.low is None else np.sqrt(a.low)
        return self.fold_scale(
            self.apply_roundings(Num(value, error, scale, low, lost), FUNCTION_ROUNDINGS, a.somewhere)
        )

    def exponential(self, a: Num, top: Num | None, family: Any) -> Num:
        """exp(a). When it enters a softmax, ``top`` is the largest exponent: implementations subtract it (or a running
        maximum), which rounds, and what is far below it may underflow.
        """
        a = self.plain(a)
        if top is not None:
            shape = np.broadcast_shapes(a.value.shape, top.value.shape)
            if shape != a.value.shape:  # what is subtracted depends on more indices, and with it what is lost
                a = self.view(a, lambda part: np.broadcast_to(part, shape))
        x = a.floats()
        furthest = numbers.largest(np.abs(x))
        if top is not None and furthest <= self.near:
            found = self._near(a, top, family, furthest)
            if found is not None:
                return found
        finite = furthest < np.inf
        with np.errstate(invalid="ignore", over="ignore"):
            if (top is None or a.error is None) and (furthest <= 690 or not (np.abs(x) > 690).any()):
                value, scale = np.exp(x), None
            else:
                value, scale = _exp_parts(x)
        if a.error is None:
            return self.fold_scale(Num(value, None, scale, None, a.lost, (family, False)))
        spread = a.error + (FUNCTION_ROUNDINGS * self.unit + _exp_slack(x))
        if top is not None:
            away = np.abs(top.floats() - x)  # above the largest lies what is not permitted
            spread = spread + 2 * self.unit * (away if finite else np.where(np.isfinite(x), away, 0.0))
        if not numbers.largest(spread) <= LARGEST_EXPONENT:
            spread = np.where(np.isfinite(spread), np.minimum(spread, LARGEST_EXPONENT), LARGEST_EXPONENT)
        error = value * np.expm1(spread)
        lost = a.lost
        if top is None:
            out = self.fold_scale(Num(value, error, scale, np.zeros_like(value), lost))
            return self.fold_scale(self.fit_to_range(self.apply_roundings(out, 1), FLUSHED))
        peak = top.floats()
        peak_value, peak_scale = _exp_parts(np.where(np.isfinite(peak), peak, 0.0))
        least = FLUSHED * self.tiny * peak_value  # what underflows may be lost
        assert scale is not None
        away = peak_scale - scale
        if finite and np.maximum.reduce(np.abs(away), axis=None, initial=0) <= NEAR:
            return Num(
                value, error + np.ldexp(least, away), scale, np.zeros_like(value), lost, (family, False)
            )
        floor = Num(np.zeros(()), least, peak_scale)
        out = Num(value, error, scale, np.zeros_like(value), lost)
        out, floor, scale = self.align_scales(out, floor)
        assert out.error is not None
        assert floor.error is not None
        return Num(out.value, out.error + floor.error, scale, np.zeros_like(out.value), lost, (family, False))

    def _near(self, a: Num, top: Num, family: Any, furthest: float) -> Num | None:
        """Exponentials of moderate size need no exponents of their own, whatever is subtracted; None where one may."""
        peak, lost = top.floats(), a.lost
        known = np.isfinite(peak)
        if not known.all():  # nothing is permitted there, and nothing said
            peak, lost = np.where(known, peak, 0.0), numbers.either(lost, ~known)
        if a.error is None or a.scale is not None or not numbers.largest(np.abs(peak)) <= self.near:
            return None
        own = FUNCTION_ROUNDINGS * self.unit + EXPONENTIAL_SLACK
        spread = a.error + own + 2 * self.unit * np.abs(peak - a.value)
        if not numbers.largest(spread) <= 1:
            return None
        value = np.exp(a.value)
        error = value * np.expm1(spread) + FLUSHED * self.tiny * np.exp(peak)  # what underflows may be lost
        most = 3 * math.exp(furthest) + 1  # relative errors are below e - 1, and the last term is far below 1
        return Num(value, error, None, np.zeros_like(value), lost, (family, False), top=most)

    def real_power(self, a: Num, y: Num) -> Num:
        """a**y as exp(y·ln a), for positive a."""
        a, y = self.plain(a), self.plain(y)
        base, exponent = a.floats(), y.floats()
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            value = base**exponent
            error = None
            if a.error is not None and y.error is not None:
                spread = np.abs(np.log(base)) * (y.error + POWER_ROUNDINGS * self.unit * np.abs(exponent))
                spread = spread + np.abs(exponent) * a.error / np.maximum(base - a.error, 0)
                error = value * np.expm1(np.minimum(spread, LARGEST_EXPONENT))
        out = Num(value, error, None, np.zeros_like(value), numbers.either(a.lost, y.lost))
        return self.apply_roundings(out, FUNCTION_ROUNDINGS)

    def integral_power(self, a: Num, y: Num) -> Num:
        """a**y for whole numbers y, of any a: by so many products, or as ±exp(y·ln|a|)."""
        a, y = self.plain(a), self.plain(y)
        base, exponent = a.floats(), y.floats()
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            value = base**exponent
            error = None
            if a.error is not None:
                size = np.abs(base)
                away = np.where(exponent < 0, np.maximum(size - a.error, 0), size + a.error)
                furthest = away**exponent
                slope = np.maximum(_logarithm(size), _logarithm(away))
                steps = np.abs(exponent) * np.maximum(1, POWER_ROUNDINGS * slope)  # products; an exponential
                spread = self.unit * steps + (0.0 if y.error is None else y.error * slope)
                spread = np.minimum(spread, LARGEST_EXPONENT)
                error = np.abs(furthest - np.abs(value)) + furthest * np.expm1(spread)
        out = Num(value, error, None, None, numbers.either(a.lost, y.lost))
        return self.apply_roundings(out, FUNCTION_ROUNDINGS)


def _logarithm(size: Floats) -> Floats:
    """|ln size|, 0 where that is 0."""
    return np.abs(np.log(np.where(size == 0, 1.0, size)))


def _exp_parts(x: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """exp(x) as a mantissa and an exponent of 2."""
    if numbers.largest(np.abs(x)) < 1e15:
        scale = np.rint(x / (LN2_HIGH + LN2_LOW))
        return np.exp((x - scale * LN2_HIGH) - scale * LN2_LOW), scale.astype(np.int64)
    scale = np.where(np.isfinite(x), np.rint(numbers.clip(x, -1e15, 1e15) / (LN2_HIGH + LN2_LOW)), 0.0)
    rest = np.where(np.isfinite(x), (x - scale * LN2_HIGH) - scale * LN2_LOW, x)
    return np.exp(rest), scale.astype(np.int64)


def _exp_slack(x: Floats) -> Any:
    """The relative error of :func:`_exp_parts`: a few units, and more beyond the exact multiples of ln 2."""
    if numbers.largest(np.abs(x)) < 2.0**19:
        return EXPONENTIAL_SLACK
    return np.where(np.abs(x) < 2.0**19, EXPONENTIAL_SLACK, 4 * UNIT64 * np.abs(x))


def _nearest_zero(x: Floats, e: Floats) -> Floats:
    """The least size of a number within ``e`` of ``x``: where a bell-shaped slope is steepest."""
    return np.maximum(np.abs(x) * (1 - 4 * UNIT64) - e, 0.0)


def _tanh(x: Floats, e: Floats | None) -> tuple[Floats, Any, Any]:
    """A saturated tanh contracts errors: its slope is 1/cosh², taken at the number within ``e`` that is nearest to 0."""
    value = np.tanh(x)
    if e is None:
        return value, None, None
    fall = np.exp(-2 * _nearest_zero(x, e))
    return value, 4 * fall / (1 + fall) ** 2 * (1 + 16 * UNIT64), 1 + np.abs(value)


def _sigmoid(x: Floats, e: Floats | None) -> tuple[Floats, Any, Any]:
    """As :func:`_tanh`; the slope is σ(x)σ(−x)."""
    rise = np.exp(-np.abs(x))
    value = np.where(x < 0, rise, 1.0) / (1 + rise)
    if e is None:
        return value, None, None
    fall = np.exp(-_nearest_zero(x, e))
    return value, fall / (1 + fall) ** 2 * (1 + 16 * UNIT64), np.maximum(value, 1 - value)


_ERF = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Floats, e: Floats | None) -> tuple[Floats, Any, Any]:
    """As :func:`_tanh`; the slope is 2/√π·exp(−x²)."""
    value = np.asarray(_ERF(x), np.float64)
    if e is None:
        return value, None, None
    slope = 2 / math.sqrt(math.pi) * np.exp(-(_nearest_zero(x, e) ** 2))
    return value, slope * (1 + 16 * UNIT64), 1 + np.abs(value)


def _wave(
    x: Floats, e: Floats | None, wave: Callable[[Floats], Floats], slope: Callable[[Floats], Floats]
) -> tuple[Floats, Any, Any]:
    """A sine or cosine: its slope changes by no more than the error of its argument."""
    value = wave(x)
    if e is None:
        return value, None, None
    steepest = np.abs(slope(x)) + e + 4 * UNIT64
    return value, np.minimum(steepest, 1.0), 1 + np.abs(value)


_FUNCTIONS: dict[str, Callable[[Floats, Floats | None], tuple[Floats, Any, Any]]] = {
    "sin": lambda x, e: _wave(x, e, np.sin, np.cos),
    "cos": lambda x, e: _wave(x, e, np.cos, np.sin),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "abs": lambda x, e: (np.abs(x), 1.0, np.inf),
    "round": lambda x, e: (np.rint(x), 0.0, np.inf),
}
