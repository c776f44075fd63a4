"""Arrays of numbers with a running error bound: float64 values, and how far an implementation may be from them.

Each operation adds the rounding error of the modelled implementation and carries on the error of its operands (Higham,
*Accuracy and Stability of Numerical Algorithms*, sections 3.1 and 3.3), second-order terms included. The float64 arithmetic
used here rounds too; its unit is added to the implementation's, so the bound covers the distance between the two.

Values and errors share an exponent, ``(value, error)·2**exponent``, so exponentials of ±10⁴ neither overflow nor vanish.
Without a precision the same class is plain float64 arithmetic with that extended range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from spec.language.precision import FUNCTION_ROUNDINGS, POWER_ROUNDINGS, SUM_SLACK, Format

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
HUGE = 1e280
LARGEST_EXPONENT = 600.0
UNIT64 = 2.0**-53
LN2_HIGH = float.fromhex("0x1.62e42feep-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""ln 2 in two parts; multiples of the first up to 2²⁰ are exact, so the reduced argument of an exponential is too."""


@dataclass
class Num:
    """An array of numbers.

    Attributes:
        value: float64 values, to be multiplied by ``2**scale``.
        error: bound on the distance of an implementation's result from the exact one, same scale; None when not tracked.
        scale: integer exponents, or None for 0.
        low: for numbers that cannot be negative: a lower bound that the exact and the computed number both respect.
        lost: where nothing can be said (the implementation's type may overflow, or a divisor may vanish).
        softmax: tag of the exponential family this belongs to, and whether it is the family's total.
    """

    value: Floats
    error: Floats | None = None
    scale: npt.NDArray[np.int64] | None = None
    low: Floats | None = None
    lost: Flags | None = None
    softmax: tuple[Any, bool] | None = None

    def view(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Num:
        """The same numbers rearranged by ``change``, which acts on every array alike."""
        parts = (self.value, self.error, self.scale, self.low, self.lost)
        return Num(*(None if part is None else change(part) for part in parts), self.softmax)  # type: ignore[arg-type]

    def floats(self) -> Floats:
        """The values as float64; what does not fit becomes 0 or infinite."""
        if self.scale is None:
            return self.value
        return np.ldexp(self.value, np.clip(self.scale, -2400, 2400))

    def bounds(self) -> Floats:
        """The error bounds as float64, infinite where nothing can be said."""
        if self.error is None:
            raise TypeError("these numbers carry no error bound")
        error = self.error
        if self.scale is not None:
            error = np.ldexp(error, np.clip(self.scale, -2400, 2400))
        error = np.where(error < HUGE, error, np.inf)
        return error if self.lost is None else np.where(self.lost, np.inf, error)


def _either(a: Flags | None, b: Flags | None) -> Flags | None:
    if a is None or b is None:
        return b if a is None else a
    return a | b


class Walk:
    """The arithmetic of :class:`Num`; ``operations`` is the format in which the implementation computes, or None."""

    def __init__(self, operations: Format | None = None) -> None:
        self.operations = operations
        self.tracks = operations is not None
        self.unit = 0.0 if operations is None else operations.unit + UNIT64
        self.tiny = 0.0 if operations is None else operations.tiny
        self.largest = np.inf if operations is None else operations.largest

    # Making numbers ------------------------------------------------------------------------------------------------------

    def exact(self, values: Any, positive: bool = False) -> Num:
        """Numbers that an implementation receives exactly; ``positive`` ones are known not to be negative."""
        value = np.asarray(values, dtype=np.float64)
        error = np.zeros_like(value) if self.tracks else None
        return Num(value, error, low=value if positive else None)

    def rational(self, p: int, q: int) -> Num:
        """The rational number p/q, rounded unless it is an integer."""
        number = self.exact(float(p) / float(q), positive=p >= 0)
        return number if q == 1 or not self.tracks else self._rounded(number, 1)

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

    def _rounded(self, a: Num, roundings: float, tiny: bool = True) -> Num:
        """``a`` after so many roundings of the modelled implementation."""
        if not self.tracks:
            return a
        assert a.error is not None
        share = roundings * self.unit
        error = a.error + share / (1 - share) * (np.abs(a.value) + a.error)
        if a.scale is None:
            if tiny:
                error = error + self.tiny
            over = ~(np.abs(a.value) + error <= self.largest)
            if over.any():
                a.lost = over if a.lost is None else a.lost | over
                error = np.where(np.isnan(error), HUGE, error)
        error = np.minimum(error, HUGE)
        if a.low is not None:
            a.low = np.maximum(np.maximum(a.low * (1 - 2 * share), a.value - error), 0.0)
        a.error = error
        return a

    def stored(self, a: Num, storage: Format) -> Num:
        """``a`` rounded once to a storage format (subnormals flushed at worst); what was stored so already stays."""
        if not self.tracks or storage is self.operations:
            return a
        a = self.folded(a)
        assert a.error is not None
        error = a.error + storage.unit * (np.abs(a.value) + a.error)
        lost = a.lost
        if a.scale is None:
            error = error + storage.tiny
            mantissa = np.frexp(a.value)[0] / storage.unit
            error = np.where((a.error == 0) & (mantissa == np.rint(mantissa)), 0.0, error)
            lost = _either(lost, np.abs(a.value) + error > storage.largest)
        return Num(a.value, error, a.scale, None if a.low is None else a.low * (1 - storage.unit), lost)

    # Scales --------------------------------------------------------------------------------------------------------------

    def folded(self, a: Num) -> Num:
        """``a`` without a scale, if nothing is lost by that."""
        if a.scale is None:
            return a
        size = np.abs(a.value) if a.error is None else np.maximum(np.abs(a.value), a.error)
        top = np.where(size > 0, np.frexp(size)[1] + a.scale, 0)
        if top.size and (top.max() > 1000 or top.min() < -1020):
            return a
        shift = np.where(size > 0, a.scale, 0)
        error = None if a.error is None else np.minimum(np.ldexp(a.error, shift), HUGE)
        low = None if a.low is None else np.ldexp(a.low, shift)
        return Num(np.ldexp(a.value, shift), error, None, low, a.lost, a.softmax)

    def _normal(self, a: Num) -> Num:
        """``a`` with mantissas of moderate size."""
        if a.scale is None:
            return a
        size = np.abs(a.value) if a.error is None else np.maximum(np.abs(a.value), a.error)
        shift = np.where(np.isfinite(size), np.frexp(size)[1], 0)
        error = None if a.error is None else np.ldexp(a.error, -shift)
        low = None if a.low is None else np.ldexp(a.low, -shift)
        return Num(np.ldexp(a.value, -shift), error, a.scale + shift, low, a.lost, a.softmax)

    @staticmethod
    def _to_scale(a: Num, scale: npt.NDArray[np.int64]) -> Num:
        own = np.zeros((), np.int64) if a.scale is None else a.scale
        shift = np.clip(own - scale, -2400, 2400)
        error = None if a.error is None else np.ldexp(a.error, shift)
        low = None if a.low is None else np.ldexp(a.low, shift)
        return Num(np.ldexp(a.value, shift), error, scale, low, a.lost)

    def _aligned(self, a: Num, b: Num) -> tuple[Num, Num, npt.NDArray[np.int64] | None]:
        if a.scale is None and b.scale is None:
            return a, b, None
        scales = []
        for part in (a, b):
            part = self._normal(part) if part.scale is not None else part
            size = np.abs(part.value) if part.error is None else np.maximum(np.abs(part.value), part.error)
            own = np.zeros((), np.int64) if part.scale is None else part.scale
            scales.append(np.where(size > 0, own + np.frexp(size)[1], -(10**9)))
        scale = np.maximum(*scales)
        scale = np.where(scale == -(10**9), 0, scale)
        return self._to_scale(a, scale), self._to_scale(b, scale), scale

    # Arithmetic ----------------------------------------------------------------------------------------------------------

    def negative(self, a: Num) -> Num:
        """-a."""
        return Num(-a.value, a.error, a.scale, None, a.lost)

    def plus(self, a: Num, b: Num) -> Num:
        """a + b."""
        a, b, scale = self._aligned(a, b)
        error = None if a.error is None or b.error is None else a.error + b.error
        low = None if a.low is None or b.low is None else a.low + b.low
        out = self._rounded(Num(a.value + b.value, error, scale, low, _either(a.lost, b.lost)), 1, tiny=False)
        return self.folded(out)

    def minus(self, a: Num, b: Num) -> Num:
        """a - b."""
        return self.plus(a, self.negative(b))

    def times(self, a: Num, b: Num) -> Num:
        """a * b; a bound on 0·anything is 0."""
        scale = None
        if a.scale is not None or b.scale is not None:
            a, b = self._normal(a), self._normal(b)
            scale = (0 if a.scale is None else a.scale) + (0 if b.scale is None else b.scale)
        error = None
        if a.error is not None and b.error is not None:
            error = np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error
        low = None if a.low is None or b.low is None else a.low * b.low
        out = Num(a.value * b.value, error, scale, low, _either(a.lost, b.lost))
        return self.folded(self._rounded(out, 1))

    def over(self, a: Num, b: Num) -> Num:
        """a / b; nothing is known where the divisor may vanish. A share of a softmax's total lies in [0, 1]."""
        scale = None
        share = a.softmax is not None and b.softmax is not None and a.softmax[0] == b.softmax[0] and b.softmax[1]
        if a.scale is not None or b.scale is not None:
            a, b = self._normal(a), self._normal(b)
            scale = (0 if a.scale is None else a.scale) - (0 if b.scale is None else b.scale)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = a.value / b.value
            error, lost = None, _either(a.lost, b.lost)
            if a.error is not None and b.error is not None:
                least = np.abs(b.value) - b.error
                if b.low is not None:
                    least = np.maximum(least, b.low)
                vanishing = ~(least > 0)
                error = np.where(vanishing, HUGE, (a.error + np.abs(value) * b.error) / least)
                if not share and vanishing.any():
                    lost = _either(lost, vanishing)
        low = None if a.low is None or b.low is None else np.where(b.value > 0, np.zeros_like(value), 0.0)
        out = self._rounded(Num(value, error, scale, low, lost), FUNCTION_ROUNDINGS)
        if share and out.error is not None:
            out = self.folded(self._clamped(out))
        return self.folded(out)

    def _clamped(self, a: Num) -> Num:
        """Shares of a total lie between 0 and 1 as computed, too, up to a few roundings."""
        assert a.error is not None
        limit = np.maximum(np.abs(a.floats()), 1 - a.floats()) + 8 * self.unit
        scale = np.zeros((), np.int64) if a.scale is None else a.scale
        return Num(a.value, np.minimum(a.error, np.ldexp(limit, np.clip(-scale, -2400, 900))), a.scale, a.low, a.lost)

    def sum(self, a: Num, where: Flags | None) -> Num:
        """The sum over the last axis, in any order, of the entries permitted by ``where``."""
        if where is not None:
            a = self.select(where, a, self.zeros(()))
        scale, family = None, a.softmax
        if a.scale is not None:
            a = self._normal(a)
            size = np.abs(a.value) if a.error is None else np.maximum(np.abs(a.value), a.error)
            assert a.scale is not None
            top = np.max(np.where(size > 0, a.scale, -(10**9)), axis=-1, keepdims=True, initial=-(10**9))
            top = np.where(top == -(10**9), 0, top)
            a = self._to_scale(a, np.broadcast_to(top, a.scale.shape))
            scale = top[..., 0]
        terms = a.value.shape[-1]
        value, error, low = a.value.sum(-1), None, None
        lost = None if a.lost is None else np.broadcast_to(a.lost, a.value.shape).any(-1)
        if a.error is not None:
            share = (max(terms - 1, 0) + SUM_SLACK) * self.unit
            total = (np.abs(a.value) + a.error).sum(-1)
            error = np.broadcast_to(a.error, a.value.shape).sum(-1) + share / (1 - share) * total
            low = None if a.low is None else np.broadcast_to(a.low, a.value.shape).sum(-1) * (1 - share)
        out = Num(value, error, scale, low, lost)
        out.softmax = None if family is None else (family[0], True)
        return self._rounded(out, 0)

    def maximum(self, a: Num, where: Flags | None) -> Num:
        """The largest permitted entry along the last axis; nothing is said where there is none."""
        a = self.folded(a)
        value = a.floats() if where is None else np.where(where, a.floats(), -np.inf)
        best = value.max(-1, initial=-np.inf)
        error = None
        if a.error is not None:
            spread = np.broadcast_to(a.error, value.shape)
            error = (spread if where is None else np.where(where, spread, 0.0)).max(-1, initial=0.0)
        lost = np.isneginf(best)
        if a.lost is not None:
            lost = lost | (np.broadcast_to(a.lost, value.shape) & (True if where is None else where)).any(-1)
        return Num(np.where(np.isneginf(best), np.nan, best), error, lost=lost)

    def select(self, where: Flags, a: Num, b: Num) -> Num:
        """``a`` where the condition holds, else ``b``; the other one's NaN, infinity or loss leaves no trace."""

        def pick(x: Any, y: Any, absent: Any) -> Any:
            if x is None and y is None:
                return None
            return np.where(where, absent if x is None else x, absent if y is None else y)

        low = None if a.low is None or b.low is None else np.where(where, a.low, b.low)
        lost = pick(a.lost, b.lost, np.array(False))
        out = Num(
            np.where(where, a.value, b.value),
            pick(a.error, b.error, np.zeros(())),
            pick(a.scale, b.scale, np.zeros((), np.int64)),
            low,
            lost,
        )
        out.softmax = a.softmax if b.softmax is None else None
        return out

    def put(self, target: Num, index: tuple[npt.NDArray[np.int64], ...], a: Num, accumulate: bool) -> Num:
        """``target`` with ``a`` written (or added) at ``index``."""
        shape = np.broadcast_shapes(*(part.shape for part in index), a.value.shape) if index else a.value.shape
        if accumulate:
            return self._added(target, tuple(np.broadcast_to(part, shape) for part in index), a, shape)
        a, target = self.folded(a), self.folded(target)

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
        )

    def _added(self, target: Num, index: tuple[Any, ...], a: Num, shape: tuple[int, ...]) -> Num:
        a, target = self.folded(a), self.folded(target)
        if a.scale is not None or target.scale is not None:
            raise OverflowError("a derivative to be accumulated exceeds the float64 range")
        value, error = np.array(target.value), None
        np.add.at(value, index, np.broadcast_to(a.value, shape))
        lost = None if a.lost is None and target.lost is None else np.zeros(value.shape, bool)
        if lost is not None:
            if target.lost is not None:
                lost |= target.lost
            if a.lost is not None:
                np.logical_or.at(lost, index, np.broadcast_to(a.lost, shape))
        if a.error is not None and target.error is not None:
            error, total, count = np.array(target.error), np.zeros(value.shape), np.zeros(value.shape)
            np.add.at(error, index, np.broadcast_to(a.error, shape))
            np.add.at(total, index, np.broadcast_to(np.abs(a.value) + a.error, shape))
            np.add.at(count, index, 1.0)
            error = error + (count + SUM_SLACK) * self.unit * (total + np.abs(target.value) + target.error)
        return Num(value, error, lost=lost)

    # Functions -----------------------------------------------------------------------------------------------------------

    def function(self, name: str, a: Num) -> Num:
        """An elementary function other than ``exp``."""
        if name == "sqrt":
            return self._sqrt(a)
        a = self.folded(a)
        x, e = a.floats(), a.error
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            value, slope, cap = _FUNCTIONS[name](x, e)
        error, low, lost = None, None, a.lost
        if e is not None:
            error = np.minimum(e * slope, cap)
            if name == "log":
                lost = _either(lost, ~(x - e > 0))
            if name == "round":
                error = np.where(np.abs(x - np.floor(x) - 0.5) <= e, 1.0, 0.0)
        if name in ("sigmoid", "abs"):
            low = np.zeros_like(value)
        out = Num(value, error, None, low, lost)
        return out if name in ("abs", "round") else self._rounded(out, FUNCTION_ROUNDINGS)

    def _sqrt(self, a: Num) -> Num:
        if a.scale is not None:
            odd = a.scale % 2
            a = self._to_scale(a, a.scale - odd)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.sqrt(a.value)
            error, lost = None, a.lost
            if a.error is not None:
                least = a.value - a.error
                if a.low is None:
                    lost = _either(lost, ~(least >= 0))
                else:
                    least = np.maximum(least, a.low)
                root = value + np.sqrt(np.maximum(least, 0.0))
                error = np.where(a.error == 0, 0.0, np.minimum(a.error / root, np.sqrt(a.error)))
        scale = None if a.scale is None else a.scale // 2
        low = np.zeros_like(value) if a.low is None else np.sqrt(a.low)
        return self.folded(self._rounded(Num(value, error, scale, low, lost), FUNCTION_ROUNDINGS))

    def exponential(self, a: Num, top: Num | None, family: Any) -> Num:
        """exp(a). When it enters a softmax, ``top`` is the largest exponent: implementations subtract it (or a running
        maximum), which rounds, and what is far below it may underflow."""
        a = self.folded(a)
        x = a.floats()
        with np.errstate(invalid="ignore", over="ignore"):
            if top is None and not (np.abs(x) > 690).any():
                value, scale = np.exp(x), None
            else:
                value, scale = _exp_parts(x)
        if a.error is None:
            return self.folded(Num(value, None, scale, np.zeros_like(value), a.lost, (family, False)))
        shift = np.zeros(()) if top is None else np.where(np.isfinite(x), np.maximum(top.floats() - x, 0.0), 0.0)
        spread = a.error + 2 * self.unit * shift + FUNCTION_ROUNDINGS * self.unit + _exp_slack(x)
        spread = np.where(np.isfinite(spread), np.minimum(spread, LARGEST_EXPONENT), LARGEST_EXPONENT)
        error = value * np.expm1(spread)
        lost = a.lost
        if top is None:
            return self.folded(self._rounded(Num(value, error, scale, np.zeros_like(value), lost), 1))
        peak = top.floats()
        peak_value, peak_scale = _exp_parts(np.where(np.isfinite(peak), peak, 0.0))
        floor = Num(np.zeros(()), 2 * self.tiny * peak_value, peak_scale)
        out = Num(value, error, scale, np.zeros_like(value), lost)
        out, floor, scale = self._aligned(out, floor)
        assert out.error is not None and floor.error is not None
        return Num(out.value, out.error + floor.error, scale, np.zeros_like(out.value), lost, (family, False))

    def power(self, a: Num, y: Num, whole: int | None) -> Num:
        """a**y: by products for an integer ``whole`` up to 8 in size, else as exp(y·ln a) for positive a."""
        if whole is not None and abs(whole) <= 8:
            result = self.rational(1, 1)
            for _ in range(abs(whole)):
                result = self.times(result, a) if result.value.shape or result.value != 1 else a
            if whole % 2 == 0 and whole != 0:
                result.low = np.zeros_like(result.value)
            return self.over(self.rational(1, 1), result) if whole < 0 else result
        base, exponent = a.floats(), y.floats()
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            value = base**exponent
            error = None
            if a.error is not None and y.error is not None:
                spread = np.abs(np.log(base)) * (y.error + POWER_ROUNDINGS * self.unit * np.abs(exponent))
                spread = spread + np.abs(exponent) * a.error / np.maximum(base - a.error, 0)
                error = value * np.expm1(np.minimum(spread, LARGEST_EXPONENT))
        out = Num(value, error, None, np.zeros_like(value), _either(a.lost, y.lost))
        return self._rounded(out, FUNCTION_ROUNDINGS)


def _exp_parts(x: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """exp(x) as a mantissa and an exponent of 2."""
    scale = np.where(np.isfinite(x), np.rint(np.clip(x, -1e15, 1e15) / (LN2_HIGH + LN2_LOW)), 0.0)
    rest = np.where(np.isfinite(x), (x - scale * LN2_HIGH) - scale * LN2_LOW, x)
    return np.exp(rest), scale.astype(np.int64)


def _exp_slack(x: Floats) -> Floats:
    """The relative error of :func:`_exp_parts`: a few units, and more beyond the exact multiples of ln 2."""
    return UNIT64 * np.where(np.abs(x) < 2.0**19, 8.0, 4 * np.abs(x))


def _log(x: Floats, e: Floats | None) -> tuple[Floats, Any, Any]:
    return np.log(x), 1 / np.maximum(x - (0 if e is None else e), 1e-300), np.inf


_FUNCTIONS: dict[str, Callable[[Floats, Floats | None], tuple[Floats, Any, Any]]] = {
    "log": _log,
    "sin": lambda x, e: (np.sin(x), 1.0, 2.0),
    "cos": lambda x, e: (np.cos(x), 1.0, 2.0),
    "tanh": lambda x, e: (np.tanh(x), 1.0, 2.0),
    "sigmoid": lambda x, e: (0.5 * (1 + np.tanh(0.5 * x)), 0.25, 1.0),
    "abs": lambda x, e: (np.abs(x), 1.0, np.inf),
    "round": lambda x, e: (np.rint(x), 0.0, np.inf),
}
