"""Arrays of balls: rigorous enclosures at any precision, with FLINT's ``arb``. They never overflow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import numpy as np
import numpy.typing as npt

from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.numbers import LARGEST_EXACT

Balls: TypeAlias = npt.NDArray[Any]

_FROM_FLOAT = np.frompyfunc(flint.arb, 1, 1)
_METHODS: dict[str, Any] = {
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "abs": abs,
    "round": lambda x: flint.arb(_half_even(x)),
    "stop": lambda x: x,
} | {name: getattr(flint.arb, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "erf")}
_NAN = flint.arb("nan")
_POSITIVE = np.frompyfunc(lambda x: x if x > 0 else _NAN, 1, 1)
_UNION = np.frompyfunc(lambda x, y: x.union(y), 2, 1)
_COMPARED = {
    "<=": (np.frompyfunc(lambda x, y: x <= y, 2, 1), np.frompyfunc(lambda x, y: x > y, 2, 1)),
    "<": (np.frompyfunc(lambda x, y: x < y, 2, 1), np.frompyfunc(lambda x, y: x >= y, 2, 1)),
    "==": (np.frompyfunc(lambda x, y: x == y, 2, 1), np.frompyfunc(lambda x, y: x != y, 2, 1)),
}
"""For each comparison: whether it holds for every two numbers of the balls, and whether it holds for none."""


def _half_even(x: Any) -> Any:
    """The nearest integer, ties to even; a NaN ball when the ball does not decide it."""
    doubled = (2 * x).unique_fmpz() if (2 * x).is_exact() and (2 * x).is_integer() else None
    if doubled is not None:
        return round(Fraction(int(doubled), 2))
    nearest = (x + flint.arb(0.5)).floor().unique_fmpz()
    return _NAN if nearest is None else int(nearest)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute balls with so many bits."""
    saved = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = saved


def _whole_power(x: Any, k: int) -> Any:
    """x**k by squaring: arb's own power of a ball around 0 is NaN."""
    out = flint.arb(1)
    for bit in bin(abs(k))[2:]:
        out = out * out
        out = out * x if bit == "1" else out
    return out if k >= 0 else 1 / out


_WHOLE_POWER = np.frompyfunc(_whole_power, 2, 1)
_WHOLE = np.frompyfunc(lambda ball: int(ball.unique_fmpz()), 1, 1)


class BallArithmetic:
    """The arithmetic of object arrays of ``arb``; the caller sets ``flint.ctx.prec``."""

    tracks = False
    certain = True
    held: float = LARGEST_EXACT
    precision_name: str | None = None

    def exact(self, values: Any, positive: bool = False) -> Balls:
        """Float64 values, exactly."""
        array = np.asarray(values)
        if array.dtype == object:
            return array
        return np.asarray(_FROM_FLOAT(array.astype(np.float64)), dtype=object)

    def rational(self, p: int, q: int) -> Balls:
        """The rational number p/q."""
        return self._scalar(flint.arb(flint.fmpq(p, q)))

    def pi(self) -> Balls:
        """The number π."""
        return self._scalar(flint.arb.pi())

    @staticmethod
    def _scalar(x: Any) -> Balls:
        out = np.empty((), dtype=object)
        out[()] = x
        return out

    def zeros(self, shape: tuple[int, ...]) -> Balls:
        """Zeros."""
        return np.full(shape, flint.arb(0), dtype=object)

    def undefined(self) -> Balls:
        """A value about which nothing is said."""
        return self._scalar(_NAN)

    def shape(self, a: Balls) -> tuple[int, ...]:
        """The shape of an array of balls."""
        return a.shape

    def view(self, a: Balls, change: Callable[[Balls], Balls]) -> Balls:
        """The same balls, rearranged."""
        return change(a)

    def negative(self, a: Balls) -> Balls:
        """-a."""
        return np.asarray(-a, dtype=object)

    def plus(self, a: Balls, b: Balls) -> Balls:
        """a + b."""
        return np.asarray(a + b, dtype=object)

    def minus(self, a: Balls, b: Balls) -> Balls:
        """a - b."""
        return np.asarray(a - b, dtype=object)

    def times(self, a: Balls, b: Balls) -> Balls:
        """a * b."""
        return np.asarray(a * b, dtype=object)

    def over(self, a: Balls, b: Balls) -> Balls:
        """a / b; a NaN ball where b may be 0."""
        return np.asarray(a / b, dtype=object)

    def compare(self, relation: str, a: Balls, b: Balls) -> Truth:
        """``a <= b``, ``a < b`` or ``a == b``; open where the balls do not decide it."""
        surely, never = _COMPARED[relation]
        yes, no = (np.asarray(test(a, b), dtype=bool) for test in (surely, never))
        centre, other = midpoints(a), midpoints(b)
        near = centre <= other if relation == "<=" else centre < other if relation == "<" else centre == other
        return Truth.from_bounds(yes, ~no, np.where(yes | no, yes, near))

    def sum(self, a: Balls, where: Truth | None) -> Balls:
        """The sum over the last axis of the entries permitted by ``where``."""
        if where is not None:
            a = self.select(where, a, self.zeros(()))
        if a.shape[-1] == 0:
            return self.zeros(a.shape[:-1])
        return np.asarray(np.add.reduce(a, axis=-1), dtype=object)

    def maximum(self, a: Balls, where: Truth | None) -> Balls:
        """The largest permitted entry along the last axis; a NaN ball where there is none, or perhaps none."""
        shape = np.broadcast_shapes(a.shape, () if where is None else where.holds.shape)
        a = np.broadcast_to(a, shape)
        allowed = np.broadcast_to(True if where is None else where.surely, shape)
        perhaps = np.broadcast_to(True if where is None else where.possibly, shape) & ~allowed
        out = np.empty(shape[:-1], dtype=object)
        for index in np.ndindex(*shape[:-1]):
            row = [x for x, good in zip(a[index], allowed[index], strict=True) if good]
            best = row[0] if row else _NAN
            for x in row[1:]:
                best = best.max(x)
            for x in a[index][perhaps[index]]:
                best = best.union(best.max(x))
            out[index] = best
        return out

    def select(self, where: Truth, a: Balls, b: Balls) -> Balls:
        """``a`` where the condition holds, else ``b``; a ball around both where that is open."""
        chosen = np.where(where.holds, a, b)
        return chosen if where.open is None else np.where(where.open, _UNION(a, b), chosen)

    def write_at(self, target: Balls, index: tuple[Any, ...], a: Balls, accumulate: bool) -> Balls:
        """``target`` with ``a`` written (or added) at ``index``."""
        result = np.array(target)
        if not accumulate:
            result[index] = a if a.ndim else a.item()  # an array without axes would itself become the entry
            return result
        shape = np.broadcast_shapes(*(part.shape for part in index), a.shape)
        parts, values = [np.broadcast_to(part, shape) for part in index], np.broadcast_to(a, shape)
        for place in np.ndindex(*shape):
            at = tuple(int(part[place]) for part in parts)
            result[at] = result[at] + values[place]
        return result

    def write(self, target: Balls, window: Callable[[Balls], Balls], a: Balls) -> bool:
        """Write ``a`` into the part of ``target`` that ``window`` shows, in place."""
        window(target)[...] = a
        return True

    def add(self, target: Balls, window: Callable[[Balls], Balls], a: Balls, shape: tuple[int, ...]) -> bool:
        """Add ``a`` to the part of ``target`` that ``window`` shows, in place, unless several terms fall on one entry."""
        here = window(target)
        if here.shape != shape:
            return False
        here[...] = here + a
        return True

    def contract(self, factors: list[Balls], terms: int, where: Truth | None) -> None:
        """Sums of products are formed as they stand."""
        return

    def function(self, name: str, a: Balls) -> Balls:
        """An elementary function."""
        return np.asarray(np.frompyfunc(_METHODS[name], 1, 1)(a), dtype=object)

    def exp_of_log(self, a: Balls) -> Balls:
        """exp(ln a): a where that is positive, else undefined."""
        return np.asarray(_POSITIVE(a), dtype=object)

    def exponential(self, a: Balls, top: Any, family: Any) -> Balls:
        """exp(a)."""
        return self.function("exp", a)

    def power(self, a: Balls, y: Balls | None, whole: int | None = None, integral: bool = False) -> Balls:
        """a**y."""
        if whole is not None:
            return np.asarray(_WHOLE_POWER(a, whole), dtype=object)
        if integral:
            return np.asarray(_WHOLE_POWER(a, _WHOLE(y)), dtype=object)
        return self.function("exp", np.asarray(y * self.function("log", a), dtype=object))

    def round_to_storage(self, a: Balls, storage: Any) -> Balls:
        """Balls are not rounded to storage."""
        return a


def midpoints(a: Balls) -> npt.NDArray[np.float64]:
    """The nearest float64 of each ball's midpoint."""
    return np.asarray(
        np.frompyfunc(lambda x: float(x.mid()) if x.is_finite() else np.nan, 1, 1)(a), dtype=np.float64
    )


def radii(a: Balls) -> npt.NDArray[np.float64]:
    """An upper bound of each ball's radius, the rounding of its midpoint to float64 included; infinite if unbounded."""

    def radius(x: Any) -> float:
        if not x.is_finite():
            return float("inf")
        centre = float(x.mid())
        return float(abs(x - flint.arb(centre)).upper()) * (1 + 2.0**-50)

    return np.asarray(np.frompyfunc(radius, 1, 1)(a), dtype=np.float64)
