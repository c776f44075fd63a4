"""The error that is expected of careful arithmetic: how far the values spread that random roundings give.

A running error adds worst case upon worst case; errors mostly cancel. Here the statement is evaluated many times side by side,
each rounding drawn anew (:class:`Noise`), and the spread of what comes out is the error that careful arithmetic makes at these
inputs; one more sample, in which nothing is rounded, is the value. It proves nothing: it is a measure, in which an error may be
counted.

Careful arithmetic means: each operation's result is held in the storage type, as an implementation without fused kernels stores
it; sums, the products inside them, and functions run in the accumulation type and round once. The convention ``intermediates``
does not change that: it tells what is allowed, not what is careful.

A rounding to nearest is ``x(1 + u·ξ)``, ξ as spread as if uniform in (-1, 1) and u the unit roundoff: as large as for x just
above a power of two, on average over all x a third larger than it is. ξ is one of sixteen numbers, evenly spaced, with that
spread: of two, ±1/√3, two roundings that count alike would cancel in every other sample, and now and then in all of a dozen. What
a type holds exactly does not round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.batching import EXAMPLES, add_example_axis, bind_all, repeat_lines
from spec.language.evaluation.binding import bind, by_name
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.numbers import Floats, Num, exponents
from spec.language.evaluation.precision import Format, Precision
from spec.language.evaluation.rounding import LARGEST_EXPONENT
from spec.language.evaluation.running_error import RunningError
from spec.language.evaluation.scatter import Places, Scatter
from spec.language.flatten import Flat
from spec.language.formula import Formula

SPREAD = 1 / np.sqrt(3.0)
"""The standard deviation of a number that is uniform in (-1, 1)."""
CAREFUL_ROUNDINGS = 2
"""Roundings of an elementary function, a division or a root: the correctly rounded result, and at most one unit in the last
place (two unit roundoffs from end to end) beside it."""
FEWEST_BITS = 8
"""A float64 number counts as one that float64 arithmetic finds exactly if so many of its last bits are 0."""
PLAIN = 2.0**-12
"""A sum with so few digits (small integers, single terms of such) is exact in any order; that one with more of them fits into the
type is the luck of one order, and a running mean does not have it.
"""
LEVELS = np.arange(-15.0, 16.0, 2.0) / np.sqrt(85.0)
"""The sixteen numbers, of standard deviation 1, of which a rounding is one."""
SMALL = 2.0**-8
"""A relative error as spread as this: e to the power of it is 1 and it, but for a few thousandths of it."""
POOL = 1 << 14
"""Random bytes that are drawn at once where few are asked for: a draw takes longer than what most of its uses need."""


class Noise(RunningError):  # noqa: N818  (no exception: an arithmetic of errors)
    """The arithmetic of random roundings; the first axis of what was rounded counts the samples.

    What rounds, and how far a sum of such terms is off, is read off the first sample for all: to first order it is the same.

    Args:
        precision: the types of the modelled implementation.
        random: where the roundings come from.
        samples: how many are drawn side by side.
        exact: one more follows them, in which nothing is rounded.
    """

    certain = False

    def __init__(
        self, precision: Precision, random: np.random.Generator, samples: int, exact: bool = False
    ) -> None:
        super().__init__()
        self.precision_name = None
        self.tracks = True  # so that it is told the largest exponent of a softmax
        self.unit, self.inner = precision.storage.unit, precision.operations.unit
        self.random, self.samples, self._exact = random, samples + exact, exact
        self._pool, self._used = np.empty(0, np.uint8), 0
        # The samples of a rounding go through the sixteen numbers in one of sixteen orders, and begin anywhere: its square has
        # nearly the right mean in few samples, and no two roundings cancel in all of them.
        begin, turns = np.arange(len(LEVELS)), -(-samples // len(LEVELS))
        orders = [[random.permutation(len(LEVELS)) for _ in begin] for _ in range(turns)]
        along = np.concatenate([np.stack(turn, axis=1) for turn in orders])[:samples]  # [sample, order]
        self._unit = LEVELS[(along[:, :, None] + begin) % len(LEVELS)].reshape(samples, -1)
        self._tables: dict[tuple[float, float], Floats] = {}
        self._plain = RunningError()

    # Making numbers: all are exact ---------------------------------------------------------------------------------------

    def exact(self, values: Any, positive: bool = False) -> Num:
        """Numbers that an implementation receives exactly."""
        return Num(np.asarray(values, dtype=np.float64))

    def rational(self, p: int, q: int) -> Num:
        """A constant; libraries keep it in float64."""
        return Num(np.asarray(float(p) / float(q)))

    def pi(self) -> Num:
        """The number π, as :meth:`rational`."""
        return Num(np.asarray(math.pi))

    def undefined(self) -> Num:
        """A value about which nothing is said."""
        return Num(np.array(np.nan))

    # Rounding ------------------------------------------------------------------------------------------------------------

    def _draw_noise(self, shape: tuple[int, ...], middle: float, spread: float) -> Floats:
        """Numbers of this standard deviation around the middle, for every sample and entry of an array of this shape."""
        table = self._tables.get((middle, spread))
        if table is None:
            table = middle + spread * self._unit
            if self._exact:
                table = np.concatenate([table, np.full_like(table[:1], middle)])
            self._tables[middle, spread] = table
        drawn = table.take(self._bytes(math.prod(shape[1:])), axis=1, mode="clip")
        return drawn.reshape((self.samples, *shape[1:]))

    def _bytes(self, count: int) -> npt.NDArray[np.uint8]:
        """So many random bytes, none of them used before."""
        if count > POOL:
            return np.frombuffer(self.random.bytes(count), np.uint8)
        if self._used + count > self._pool.size:
            self._pool, self._used = np.frombuffer(self.random.bytes(POOL), np.uint8), 0
        self._used += count
        return self._pool[self._used - count : self._used]

    def apply_roundings(self, a: Num, roundings: float, tiny: Any = True) -> Num:
        """``a`` rounded at random, once or as functions do; what the storage type holds exactly stays as it is."""
        if not roundings or not a.value.ndim:
            return a
        inexact = _inexact(a.value[:1], self.unit)
        count = np.count_nonzero(inexact)
        if count:
            spread = self.unit * SPREAD * math.sqrt(1 if roundings == 1 else CAREFUL_ROUNDINGS)
            found = self._draw_noise(a.value.shape, 1.0, spread)
            found *= a.value
            value = found if count == inexact.size else np.where(inexact, found, a.value)
            return Num(value, None, a.scale, softmax=a.softmax)
        return a

    def round_to_storage(self, a: Num, storage: Format) -> Num:
        """``a`` as it is: every result was rounded to the storage type where it was made, and copies do not round."""
        return a

    def fit_to_range(self, a: Num, least: float = 1.0) -> Num:
        """``a`` as it is: what the type's range does not hold is for the bound to tell."""
        return a

    def mark_overflow(self, a: Num, reach: Floats) -> Num:
        """As :meth:`fit_to_range`."""
        return a

    # Sums ----------------------------------------------------------------------------------------------------------------

    def _round_sum(self, total: Floats, squares: Floats, terms: Any, products: bool) -> Floats:
        """A sum as the accumulation type makes it, from the exact sum S of n terms and the sum Q of their squares.

        Each partial sum S_k, k = 2 … n, rounds once, so the variance is u²/3·Σ S_k². Over all orders of the terms
        E[S_k²] = k/n·Q + k(k-1)/(n(n-1))·(S² - Q), and Σ_{k=1…n} of that is (n+1)(Q/6 + S²/3); the first, Q/n, is no
        addition. Terms that are products round beforehand: Q more.
        """
        terms, first = np.maximum(terms, 1), total[:1]
        variance = first**2
        variance *= (terms + 1) / 3
        variance = variance + squares * ((terms + 1) / 6 - 1 / terms + products)
        spread = np.sqrt(np.maximum(variance, 0.0, out=variance), out=variance)
        spread *= _inexact(first, max(self.inner, PLAIN))
        drawn = self._draw_noise(total.shape, 0.0, self.inner * SPREAD)
        drawn *= spread
        drawn += total
        return drawn

    def sum(self, a: Num, where: Truth | None) -> Num:
        """The sum over the last axis in a random order."""
        if where is not None:
            a = self.select(where, a, self.zeros(()))
        top = None
        if a.scale is not None:
            a = self.normal(a)
            assert a.scale is not None
            top = np.where(a.value != 0, a.scale, np.iinfo(np.int32).min).max(-1, keepdims=True)
            a = self.to_scale(a, np.broadcast_to(top, a.scale.shape))
        total, first = a.value.sum(-1), a.value[:1]
        squares = np.einsum("...i,...i->...", first, first)
        terms = np.count_nonzero(first, axis=-1)
        if (terms > 1).any():
            total = self._round_sum(total, squares, terms, products=False)
        return self._move_to_storage(Num(total, None, None if top is None else top[..., 0]))

    def _move_to_storage(self, a: Num) -> Num:
        """A sum handed on from the accumulation type to the storage type, where they differ."""
        return self.fold_scale(a if self.unit == self.inner else self.apply_roundings(a, 1))

    def contract(self, factors: list[Num], terms: int, where: Truth | None) -> Num | None:
        """The sum of products over the last axis from two matrix products: the values and their squares."""
        out = self._plain.contract(factors, terms, where)
        if out is None:
            return None
        if where is not None:
            where = Truth(where.holds[:1])
        first = [self._square_first(part) for part in factors]
        squares = self._plain.contract_products(first, terms, where)
        if squares is None:
            return None
        count: Any = terms
        if where is not None:
            count = np.count_nonzero(np.broadcast_to(where.holds, (*where.holds.shape[:-1], terms)), axis=-1)
        scale = None
        if out.scale is not None or squares.scale is not None:
            scale = np.broadcast_to(exponents(out), out.value.shape)[:1]
            out, squares = self.to_scale(out, scale), self.to_scale(squares, 2 * scale)
            scale = np.broadcast_to(scale, out.value.shape)
        return self._move_to_storage(
            Num(self._round_sum(out.value, squares.value, count, products=True), None, scale)
        )

    def _square_first(self, a: Num) -> Num:
        """The squares of the first sample."""
        if a.scale is None:
            return replace(a, value=a.value[:1] ** 2)
        a = self.normal(a)
        scale = exponents(a)
        return Num(a.value[:1] ** 2, None, 2 * (scale[:1] if scale.ndim else scale))

    def _add_at(self, target: Num, index: Places | None, a: Num, shape: tuple[int, ...]) -> Num:
        """As :meth:`RunningError._add_at`."""
        before, terms = self.fold_scale(target).floats(), self.fold_scale(a).floats()
        scatter = Scatter(before.shape, index, shape)
        total = before + scatter.together(terms)
        squares = (before**2 + scatter.together(terms**2))[:1]
        count = ((before != 0) + scatter.together(terms != 0))[:1]
        added = self._move_to_storage(Num(self._round_sum(total, squares, count, products=False)))
        return added if index is None else Num(np.where(scatter.terms > 0, added.floats(), before))

    # Functions -----------------------------------------------------------------------------------------------------------

    def exponential(self, a: Num, top: Num | None, family: Any) -> Num:
        """exp(a); in a softmax of a - top, a difference that rounds. Where nothing is subtracted, a rounded when it was made."""
        out = self._plain.exponential(a, top, family)
        out = Num(out.value, None, out.scale)
        if top is None:
            return self.fold_scale(self.apply_roundings(out, CAREFUL_ROUNDINGS))
        return self.fold_scale(self._off(out, _first(a) - _first(top)))

    def _log(self, a: Num) -> Num:
        """ln a; of a sum of exponentials relative to the largest, which is kept beside it: ln Σ eˢ = m + ln Σ eˢ⁻ᵐ is for whoever
        subtracts it, as −ln of a share is (m − s) + ln Σ eˢ⁻ᵐ, and its digits are not those of m.
        """
        a = self.fold_scale(a)
        whole = self._plain.function("log", a)
        if a.scale is None:
            return self.apply_roundings(whole, CAREFUL_ROUNDINGS)
        beside = self._plain.function("log", replace(a, scale=None))
        off = self.apply_roundings(beside, CAREFUL_ROUNDINGS).floats() - beside.floats()
        return Num(whole.value + off)

    def exp_of_log(self, a: Num) -> Num:
        """exp(ln a), where the logarithm was rounded and kept."""
        return self.fold_scale(
            self._off(self.normal(self.fold_scale(a)), _first(self._plain.function("log", a)))
        )

    def _off(self, a: Num, exponent: Floats) -> Num:
        """The exponential ``a`` of an exponent (the first sample's) that was rounded, which is off by a share as large as it, and
        rounds itself: as long as that share is small, both are one random factor.
        """
        size = np.where(np.isfinite(exponent), np.abs(exponent), 0.0)
        spread = SPREAD * np.minimum(self.unit * size, LARGEST_EXPONENT)
        largest = spread.max(initial=0.0)
        if not largest:
            return self.apply_roundings(a, CAREFUL_ROUNDINGS)
        shape, small = np.broadcast_shapes(spread.shape, a.value.shape), largest <= SMALL
        if small:
            own = CAREFUL_ROUNDINGS * (self.unit * SPREAD) ** 2
            spread = np.sqrt(spread**2 + own * _inexact(a.value[:1], self.unit))
        drawn = self._draw_noise(shape, 0.0, 1.0)
        drawn *= spread
        if small:
            drawn += 1.0
        else:
            np.exp(drawn, out=drawn)
        drawn *= a.value
        off = Num(drawn, None, a.scale)
        return off if small else self.apply_roundings(off, CAREFUL_ROUNDINGS)


def _first(a: Num) -> Floats:
    """The first sample."""
    if not a.value.ndim:
        return a.floats()
    scale = a.scale if a.scale is None or not a.scale.ndim else a.scale[:1]
    return Num(a.value[:1], None, scale).floats()


def _inexact(values: Floats, unit: float) -> npt.NDArray[np.bool_]:
    """Where a type of this roundoff does not hold the values: more bits than it has are not 0."""
    found: npt.NDArray[np.bool_] = (np.ascontiguousarray(values).view(np.int64) & _beyond(unit)) != 0
    return found


@lru_cache(maxsize=64)
def _beyond(unit: float) -> np.int64:
    """The last bits of float64 numbers, which a type of this roundoff does not have."""
    return np.int64((1 << max(53 + int(np.log2(unit)), FEWEST_BITS)) - 1)


SAMPLES = 32
"""Evaluations from which an error is estimated: enough to know a standard deviation to about one part in eight."""
MEMORY = 3e7
"""Bytes that the tensors of samples evaluated side by side may hold at once; the other samples follow. The more there are, the
fewer work out anew what they share."""

Expectation = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""A value in float64, and the standard deviation of a careful implementation's error."""


def estimate_errors(
    flat: Flat,
    inputs: Mapping[str, Any],
    precision: Precision,
    samples: int = SAMPLES,
    seed: int = 0,
) -> tuple[Expectation, ...]:
    """For each output of some lines its value in float64 and the standard deviation of a careful implementation's error.

    The latter is never below that of one rounding to the storage type, nor below the least number that this type holds.
    """
    if samples < 1:
        raise ValueError(f"samples must be a whole number of at least 1; {samples!r} was given")
    bindings, names = bind(flat, inputs), [output.name for output in flat.outputs]
    values: list[Floats] | None = None
    several, together = repeat_lines(flat), samples
    if (samples + 1) * _bytes(flat, bindings.sizes) > MEMORY:
        # As a batch of one: lines that anybody else has asked for are compiled so.
        exact = run(add_example_axis(flat), RunningError(), bind_all(flat, [inputs]), every=False)
        values = [exact.tensors[name].floats()[0] for name in names]
        turns = math.ceil(samples * exact.most / MEMORY)
        del exact
        together = math.ceil(samples / max(turns, 1))
    random, left = np.random.default_rng(seed), samples
    squares: list[Floats] = []
    while left:
        now = min(together, left)
        noise = Noise(precision, random, now, exact=values is None)
        bindings.sizes[EXAMPLES] = noise.samples
        done = run(several, noise, bindings, every=False)
        made = [done.tensors[name].floats() for name in names]
        if values is None:
            values, made = [one[-1] for one in made], [one[:-1] if len(one) > 1 else one for one in made]
        squares, left = squares or [np.zeros_like(value) for value in values], left - now
        # What does not fit into float64 is infinite: no error is expected of it.
        with np.errstate(all="ignore"):
            for one, value, total in zip(made, values, squares, strict=True):
                off = one - value
                off *= off
                # One sample where nothing was rounded.
                total += off.sum(axis=0) if len(off) == now else now * off[0]
        del done, made, one, off  # the next ones need the room
    found = []
    assert values is not None
    with np.errstate(all="ignore"):
        for value, total in zip(values, squares, strict=True):
            least = np.maximum(precision.storage.unit * SPREAD * np.abs(value), precision.storage.tiny)
            found.append((value, np.maximum(np.sqrt(total / samples), least)))
    return tuple(found)


def _bytes(flat: Flat, sizes: Mapping[Any, int]) -> int:
    """How many bytes the tensors of all lines hold."""
    tensors = {line.name: line.left.tensor for line in flat.lines}
    return sum(8 * math.prod(whole(size, sizes) for size in tensor.shape) for tensor in tensors.values())


def expected_error(
    formula: Formula | Flat,
    inputs: Mapping[str, Any] | Sequence[Any],
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float32",
    samples: int = SAMPLES,
    seed: int = 0,
) -> tuple[Expectation, ...]:
    """For each output its float64 value, and the standard deviation of the error that careful arithmetic in ``dtype`` makes.

    Args:
        formula: a formula, or its flattened lines.
        inputs: by name, or in declared order, in the declared shapes.
        conventions: a choice of conventions; ours where not given.
        dtype: the storage type of the implementation.
        samples: how many evaluations with random roundings the estimate rests on.
        seed: determines the roundings.

    Raises:
        ValueError: no sample is asked for.
    """
    flat = formula if isinstance(formula, Flat) else formula.flat(conventions)
    return estimate_errors(flat, by_name(flat, inputs), Precision.of(dtype), samples, seed)


def expected_gradient_error(
    formula: Formula,
    inputs: Mapping[str, Any] | Sequence[Any],
    seeds: Mapping[str, Any],
    wrt: Sequence[str] | None = None,
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float32",
    samples: int = SAMPLES,
    seed: int = 0,
) -> dict[str, Expectation]:
    """For each input the gradient in float64, and the standard deviation of the error that careful arithmetic makes.

    ``seeds`` are the loss's gradients by the outputs; the rest is as for :func:`expected_error`.
    """
    gradient = vjp(formula, wrt, conventions)
    inputs = by_name(formula.flat(conventions), inputs)
    every = {**inputs, **gradient.fill_cotangents(seeds, bind(formula.flat(conventions), inputs).sizes)}
    found = estimate_errors(gradient.flat, every, Precision.of(dtype), samples, seed)
    return dict(zip(gradient.gradients, found, strict=True))
