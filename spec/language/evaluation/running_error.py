"""The running error analysis: float64 arithmetic that carries, beside each value, how far an implementation may be from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.language.evaluation import numbers
from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.contraction import FEWEST, contract, contract_levelled, extent, filled, plain
from spec.language.evaluation.numbers import HUGE, NONE, UNIT64, Flags, Floats, Num
from spec.language.evaluation.precision import DISTRIBUTED_ROUNDINGS, FUNCTION_ROUNDINGS, SUM_SLACK
from spec.language.evaluation.scatter import Storing

LARGEST = 900
"""Errors near 1 have exponents up to this one: two to it times a few is below HUGE."""


class RunningError(Storing):
    """The arithmetic of :class:`Num`; ``operations`` is the format in which the implementation computes, or None.

    Each operation adds its rounding error to the propagated error of its operands; sums may be taken in any order.
    """

    def negative(self, a: Num) -> Num:
        """-a."""
        return Num(-a.value, a.error, a.scale, None, a.lost, None, a.reach, terms=a.terms, top=a.top)

    def plus(self, a: Num, b: Num) -> Num:
        """a + b; the terms of sums among them may be added in any order, such as those of Σ onto the b of Σ + b."""
        if a.bare and b.bare:
            return self.apply_roundings(Num(a.value + b.value), 1, tiny=False)
        counts, reaches = (a.terms, b.terms), (a.get_reach(), b.get_reach())
        parts = [reach for reach in reaches if reach is not None]
        relative = a.softmax is not None or b.softmax is not None
        a, b, scale = self.align_scales(a, b)
        error, terms, top = None, None, np.inf
        if a.error is not None and b.error is not None:
            first, second = _sizes(a), _sizes(b)
            terms = first + second
            if parts and scale is None:  # each term may meet those of the other, too
                first, second = (
                    own if reach is None else reach
                    for own, reach in zip((first, second), reaches, strict=True)
                )
                total = counts[1] * first + counts[0] * second
            else:
                total, top = terms, (a.top + b.top) * (1 + DISTRIBUTED_ROUNDINGS * self.unit)
            error = DISTRIBUTED_ROUNDINGS * self.unit * total
            for part in (a, b):
                if not part.exact:
                    error = numbers.above(error, part.error)
        low = None if a.low is None or b.low is None else a.low + b.low
        out = Num(a.value + b.value, error, scale, low, numbers.either(a.lost, b.lost), top=top)
        out = self.apply_roundings(out, 1, tiny=False)
        if terms is not None and scale is None:
            out.reach, out.terms = terms, sum(counts)
            if parts:  # three terms or more, which may be added in another order
                alone = [
                    np.abs(part.value) + part.error
                    for part, reach in zip((a, b), reaches, strict=True)
                    if reach is None
                ]
                out = self.mark_overflow(out, sum((*parts, *alone), np.zeros(())))
        elif out.error is not None and not relative:
            out = self.mark_overflow(out, np.abs(out.value) + out.error)
        return self.fold_scale(out)

    def minus(self, a: Num, b: Num) -> Num:
        """a - b; 1 - b of a share b may be formed as a function of its own, such as σ(−x) for 1 − σ(x)."""
        out = self.plus(a, self.negative(b))
        share = b.low is not None and a.exact and a.value.size == 1 and a.value.item() == 1
        return self.apply_roundings(out, FUNCTION_ROUNDINGS - 1) if share and out.error is not None else out

    def times(self, a: Num, b: Num) -> Num:
        """a * b; a bound on 0·anything is 0."""
        if a.bare and b.bare:
            return self.apply_roundings(Num(a.value * b.value), 1)
        scale = None
        if a.scale is not None or b.scale is not None:
            a, b = self.normal(a), self.normal(b)
            scale = numbers.exponents(a) + numbers.exponents(b)
        value, error, exact = a.value * b.value, None, a.exact and b.exact
        if a.error is not None and b.error is not None:
            if exact:  # the product's error is that of its rounding alone
                error = b.error
            elif a.exact or b.exact:  # what is left out is 0, or lost for an infinite factor
                error = np.abs(a.value) * b.error if a.exact else np.abs(b.value) * a.error
            else:
                error = numbers.above(np.abs(a.value) * b.error, _sizes(b) * a.error)
        low = None if a.low is None or b.low is None else a.low * b.low
        out = Num(value, error, scale, low, numbers.either(a.lost, b.lost), exact=exact, top=a.top * b.top)
        if not self.tracks:
            return self.fold_scale(out)
        zeros = (a.vanishes or b.vanishes) and out.vanishes  # else no factor is exactly 0
        return self.fold_scale(self.apply_roundings(out, 1, a.nonzero & b.nonzero if zeros else True))

    def over(self, a: Num, b: Num) -> Num:
        """a / b; nothing is known where the divisor may vanish. A share of a softmax's total lies in [0, 1]."""
        scale = None
        share = (
            a.softmax is not None and b.softmax is not None and a.softmax[0] == b.softmax[0] and b.softmax[1]
        )
        if a.scale is not None or b.scale is not None:
            a, b = self.normal(a), self.normal(b)
            scale = numbers.exponents(a) - numbers.exponents(b)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = a.value / b.value
            error, lost = None, numbers.either(a.lost, b.lost)
            if a.error is not None and b.error is not None:
                least = np.abs(b.value) - b.error
                if b.low is not None:
                    least = np.maximum(least, b.low)
                error = np.abs(value) * b.error
                error = numbers.above(error, a.error) / least
                vanishing = ~(least > 0)
                if np.count_nonzero(vanishing):
                    # However large, beside a small exponent it would say something of a share, which is not lost.
                    error = np.where(vanishing, np.inf if share else HUGE, error)
                    lost = lost if share else numbers.either(lost, vanishing)
        low = None if a.low is None or b.low is None else np.zeros_like(value)
        out = Num(value, error, scale, low, lost)
        if error is None:
            return self.fold_scale(self.apply_roundings(out, FUNCTION_ROUNDINGS))
        if not share:
            return self.fold_scale(self.apply_roundings(out, FUNCTION_ROUNDINGS, a.somewhere))
        # However little is known of the total, a share does not overflow.
        part = out.floats()
        limit = np.maximum(np.abs(part), 1 - part)
        limit += 8 * self.unit
        out = self.apply_roundings(self._clamp_error(out, limit), FUNCTION_ROUNDINGS, a.somewhere)
        return self.fold_scale(self._clamp_error(out, limit))

    def _clamp_error(self, a: Num, limit: Floats) -> Num:
        """Shares of a total lie between 0 and 1 as computed, too, up to a few roundings: no error is beyond this limit."""
        assert a.error is not None
        if a.scale is None:
            return Num(a.value, np.minimum(a.error, limit), None, a.low, a.lost, top=a.top)
        far = (numbers.exponents(a) < -LARGEST) & ~(a.error <= np.ldexp(limit, LARGEST))
        if far.any():  # the limit has no place beside exponents so small: others, for these
            shift = np.where(far, numbers.exponents(a) + LARGEST, 0)
            low = None if a.low is None else np.ldexp(a.low, shift)
            a = Num(
                np.ldexp(a.value, shift), np.ldexp(a.error, shift), numbers.exponents(a) - shift, low, a.lost
            )
        assert a.error is not None
        return Num(
            a.value,
            np.minimum(a.error, np.ldexp(limit, numbers.clip(-numbers.exponents(a), -2400, LARGEST))),
            a.scale,
            a.low,
            a.lost,
        )

    def compare(self, relation: str, a: Num, b: Num) -> Truth:
        """``a <= b``, ``a < b`` or ``a == b``; open where both are closer than their errors, so that rounding decides."""
        x, y = a.floats(), b.floats()
        holds = x <= y if relation == "<=" else x < y if relation == "<" else x == y
        if a.error is None or b.error is None:
            return Truth(holds)
        e, f = a.bounds(), b.bounds()
        exact = (e == 0) & (f == 0) & ~(np.isnan(x) | np.isnan(y))
        with np.errstate(invalid="ignore"):
            apart = np.abs(x - y) > (e + f) * (1 + 4 * UNIT64)
        known = exact | apart
        return Truth.from_bounds(holds & known, holds | ~known, holds)

    def sum(self, a: Num, where: Truth | None) -> Num:
        """The sum over the last axis, in any order, of the entries permitted by ``where``."""
        if where is not None:
            a = self.select(where, a, self.zeros(()))
        scale, family = None, a.softmax
        if a.scale is not None:
            a = self.normal(a)
            size = numbers.sizes(a)
            assert a.scale is not None
            top = np.max(np.where(size > 0, a.scale, NONE), axis=-1, keepdims=True, initial=NONE)
            top = np.where(top == NONE, 0, top)
            a = self.to_scale(a, top)
            scale = top[..., 0]
        # Terms that are sums themselves, as in Σ Σ, may be added in any order, too: all of them are terms of one sum.
        inner = a.get_reach() if scale is None else None
        terms = a.value.shape[-1] * (1 if inner is None else a.terms)
        value, error, low, total = np.add.reduce(a.value, axis=-1), None, None, None
        lost: Flags | None = None if a.lost is None else np.any(filled(a.lost, a), axis=-1)
        flushed: bool | Flags = False
        if a.error is not None:
            share = (max(terms - 1, 0) + SUM_SLACK) * self.unit
            total = np.add.reduce(_sizes(a) if inner is None else filled(inner, a), axis=-1)
            error = numbers.growth(share) * total
            if not a.exact:
                error = np.add.reduce(filled(a.error, a), axis=-1) + error
            if a.low is not None and share < 1:
                low = value if a.low is a.value else np.add.reduce(filled(a.low, a), axis=-1)
                low = low * (1 - share)
            flushed = total != 0  # all terms are exactly 0 where it is 0, and nowhere else
        out = Num(value, error, scale, low, lost)
        out.softmax = None if family is None else (family[0], True)
        out.terms = terms
        top = np.inf
        if total is not None and scale is None:
            top = terms * a.top
            if not top <= self.safe / 8:
                top = numbers.largest(total)
        if total is not None and top * (1 + numbers.growth(share)) <= self.safe / 2:
            out.top = top * (1 + numbers.growth(share)) + self.tiny
            # neither the sum with its error nor any part of it is too large
            return self.round_sum(out, flushed, None if family else total)
        out = self.apply_roundings(out, 0, flushed)
        # An implementation takes the exponentials of a softmax relative to the largest, so that their sum is small.
        return out if total is None or family is not None else self.mark_overflow(out, total)

    def contract(self, factors: list[Num], terms: int, where: Truth | None) -> Num | None:
        """The sum of products over the last axis, which has so many terms; None where it has to be formed as it stands."""
        return None if extent(*factors) < FEWEST else self.contract_products(factors, terms, where)

    def contract_products(self, factors: list[Num], terms: int, where: Truth | None) -> Num | None:
        """As :meth:`contract`, however few the products are."""
        if where is not None and where.open is not None:
            return None
        if max(part.value.shape[-1] for part in factors) < terms:
            return None
        found = [plain(part) for part in factors]
        if any(part is None for part in found):
            return self._contract_levelled(factors, where)
        factors = [part for part in found if part is not None]
        if where is not None:
            fitting = [
                np.broadcast_shapes(f.value.shape, where.holds.shape) == f.value.shape for f in factors
            ]
            if not any(fitting):
                return None
            first = fitting.index(True)
            for place, part in enumerate(factors):
                if place == first or (fitting[place] and part.lost is not None):
                    factors[place] = self.select(where, part, self.zeros(()))
                elif part.lost is not None:  # which counts where the condition holds only
                    return None
        while len(factors) > 2:  # the two whose product is smallest, first
            pairs = [(a, b) for k, a in enumerate(factors) for b in factors[k + 1 :]]
            a, b = min(pairs, key=lambda pair: extent(*pair))
            factors = [part for part in factors if part is not a and part is not b] + [self.times(a, b)]
        left, right = (plain(part) for part in factors)
        if left is None or right is None:
            return None
        made = contract(left, right, self.unit, self.tiny)
        if made is None:
            return None
        out, reach = made
        out = self.apply_roundings(out, 0, tiny=False)
        out.terms = terms
        return out if reach is None else self.mark_overflow(out, reach)

    def _contract_levelled(self, factors: list[Num], where: Truth | None) -> Num | None:
        """As :meth:`contract_products`, of two factors without errors, with exponents of their own."""
        if len(factors) != 2 or any(part.error is not None for part in factors):
            return None
        if where is not None:
            shapes = [part.value.shape for part in factors]
            fitting = [shape for shape in shapes if np.broadcast_shapes(shape, where.holds.shape) == shape]
            if not fitting:
                return None
            place = shapes.index(fitting[0])
            factors = list(factors)
            factors[place] = self.select(where, factors[place], self.zeros(()))
        first, second = factors
        out = contract_levelled(first, second, self.unit, self.tiny)
        return None if out is None else self.fold_scale(out)

    def maximum(self, a: Num, where: Truth | None) -> Num:
        """The largest permitted entry along the last axis; nothing is said where there is none."""
        a = self.plain(a)
        if where is None or where.open is None:
            return self._largest(a, None if where is None else where.holds)
        every, least = self._largest(a, where.possibly), self._largest(a, where.surely)
        assert every.error is not None
        assert least.error is not None
        error = every.value - least.value + every.error + least.error
        return Num(every.value, error, lost=numbers.either(every.lost, least.lost))

    def _largest(self, a: Num, where: Flags | None) -> Num:
        value = a.floats() if where is None else np.where(where, a.floats(), -np.inf)
        best, error = np.maximum.reduce(value, axis=-1, initial=-np.inf), None
        if a.error is not None:
            spread = a.error if a.error.shape == value.shape else np.broadcast_to(a.error, value.shape)
            spread = spread if where is None else np.where(where, spread, 0.0)
            error = np.maximum.reduce(spread, axis=-1, initial=0.0)
        none: Flags = best == -np.inf
        lost = none
        if a.lost is not None:
            permitted = np.broadcast_to(np.True_ if where is None else where, value.shape)
            lost = np.logical_or(none, (np.broadcast_to(a.lost, value.shape) & permitted).any(-1))
        return Num(np.where(none, np.nan, best), error, lost=lost)

    def select(self, where: Truth, a: Num, b: Num) -> Num:
        """``a`` where the condition holds, else ``b``; the other one's NaN, infinity or loss leaves no trace.

        Where the condition is open, the exact value may be either and an implementation may return either.
        """
        out = self._select(where.holds, a, b)
        return (
            out
            if where.open is None
            else self._cover_distance(out, where.open, self._select(where.holds, b, a))
        )

    def _cover_distance(self, a: Num, where: Flags, b: Num) -> Num:
        """``a``, at ``where`` with a bound on the distance of anything near either from anything near the other."""
        family = a.softmax
        a, b, scale = self.align_scales(a, b)
        assert a.error is not None
        assert b.error is not None
        reach = np.abs(a.value - b.value) + a.error + b.error
        unknown = where & ~(reach < HUGE)
        error = np.where(unknown, HUGE, np.where(where, reach, a.error))
        low = None if a.low is None or b.low is None else np.where(where, np.minimum(a.low, b.low), a.low)
        lost = numbers.either(a.lost, unknown if b.lost is None else unknown | where & b.lost)
        return Num(a.value, error, scale, low, lost, family)

    def _select(self, where: Flags, a: Num, b: Num) -> Num:
        def pick(x: Any, y: Any, absent: Any) -> Any:
            if x is None and y is None:
                return None
            return np.where(where, absent if x is None else x, absent if y is None else y)

        low = None if a.low is None or b.low is None else np.where(where, a.low, b.low)
        lost = pick(a.lost, b.lost, np.array(False))
        return Num(
            np.where(where, a.value, b.value),
            pick(a.error, b.error, np.zeros(())),
            pick(a.scale, b.scale, np.zeros((), np.int64)),
            low,
            lost,
            a.softmax if b.softmax is None else None,
            top=a.top + b.top if a.scale is None and b.scale is None else np.inf,
        )

    def power(self, a: Num, y: Num | None, whole: int | None = None, integral: bool = False) -> Num:
        """a**y: by products for an integer ``whole``, else as exp(y·ln a) for positive a; of ``integral`` y for every a."""
        if whole is not None:
            result = self.rational(1, 1)
            for _ in range(abs(whole)):
                result = self.times(result, a) if result.value.shape or result.value != 1 else a
            if whole % 2 == 0 and whole != 0 and result.error is not None:
                result.low = np.zeros_like(result.value)
            return self.over(self.rational(1, 1), result) if whole < 0 else result
        assert y is not None
        return self.integral_power(a, y) if integral else self.real_power(a, y)


def _sizes(a: Num) -> Any:
    """How large each value is at most, its error included; memory that nobody else holds."""
    size = np.abs(a.value)
    return size if a.exact else numbers.above(size, a.error)
