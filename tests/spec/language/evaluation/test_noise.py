"""Random roundings: as large as those of careful arithmetic, whatever is summed.

The statistical tests compare an average of many independent entries with 1, within :func:`seven` of its standard errors, so that
a false alarm has a probability below 1e-9; the wrong formula each would let through is
named with how far it would be off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.expected import Noise
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.evaluation.running_error import RunningError

SINGLE = Precision.of("float32")
UNIT = FORMATS["float32"].unit


def drawn(*shape: int, seed: int = 0) -> Any:
    """Standard normal numbers that float32 holds."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(np.float64)


def seven(entries: int, kurtosis: float = 3.0) -> float:
    """Seven standard errors of a mean square of so many independent errors, relative to it; of normal ones where not said.
    Uniform ones have a kurtosis of 9/5, sums of two of them 12/5.
    """
    return 7 * float(np.sqrt((kurtosis - 1) / entries))


def noise(samples: int, precision: Precision = SINGLE, seed: int = 0) -> Noise:
    """Random roundings."""
    return Noise(precision, np.random.default_rng(seed), samples)


def summed(terms: Any) -> Any:
    """The sums over the last axis of float32 terms, one addition after the other in a random order."""
    order = np.random.default_rng(5).permuted(terms.astype(np.float32), axis=-1)
    total = order[..., 0]
    for place in range(1, order.shape[-1]):
        total = total + order[..., place]
    return total.astype(np.float64)


@pytest.mark.parametrize(("width", "mean"), [(5, 0.0), (67, 0.0), (257, 1.0), (769, 0.0)])
def test_a_sum_in_a_random_order_is_as_far_off_as_the_closed_form_says(width: int, mean: float) -> None:
    """The mean square over 4,000 sums of the real error over that of the drawn one is 0.54.

    A roundoff is relative to the power of two below x, and 1/m² is 0.54 on average for a mantissa m from 1 to 2. Without the
    third of S² the ratio would be above 2 about a mean, without the sixth of Q above 1 without one.
    """
    terms = (drawn(4000, width, seed=1) + mean).astype(np.float32).astype(np.float64)
    real = summed(terms) - terms.sum(-1)
    model = noise(1).sum(Num(terms[None]), None).value - terms.sum(-1)
    assert np.mean(real**2) / np.mean(model**2) == pytest.approx(
        0.54, rel=np.sqrt(2) * seven(4000)
    )  # two mean squares


def test_a_sum_of_two_terms_is_one_addition() -> None:
    """Its variance is u²/3·S²: the mean square of 4,000 errors over that is 1; n for n + 1
    would make it less than 0.7.
    """
    terms = np.random.default_rng(3).standard_normal((4000, 2))
    off = noise(1).sum(Num(terms[None]), None).value / terms.sum(-1) - 1
    assert np.mean(off**2) / (UNIT**2 / 3) == pytest.approx(1, rel=seven(4000))


def test_a_contraction_is_the_sum_of_its_products_with_one_rounding_more_each() -> None:
    """By matrix products or term by term the variance is the same: over 3,000 sums the ratio is 1."""
    a, b = drawn(1, 3000, 1, 67), drawn(1, 1, 3, 67, seed=1)
    fast = noise(1).contract([Num(a), Num(b)], 67, None)
    assert fast is not None
    slow = noise(1, seed=1)
    plain = slow.sum(slow.times(Num(np.broadcast_to(a, (1, 3000, 3, 67))), Num(b)), None)
    exact = (a * b).sum(-1)
    assert np.mean((fast.value - exact) ** 2) / np.mean((plain.value - exact) ** 2) == pytest.approx(
        1, rel=np.sqrt(2) * seven(3000)
    )


def test_a_masked_contraction_counts_the_permitted_terms_only() -> None:
    """Where a single term is permitted nothing is added: the error is that of one product, 0.58 roundoffs.

    The root mean square of 90 uniform errors is known within 5 % (standard error); 0.3 and 0.8 are 8 of these away or more.
    """
    a, b = drawn(1, 90, 131), drawn(1, 90, 131, seed=1)
    where = Truth(np.broadcast_to(np.arange(131) == 7, (1, 90, 131)))
    found = noise(1).contract([Num(a), Num(b)], 131, where)
    assert found is not None
    product = (a * b)[..., 7]
    off = np.abs(found.value - product) / np.abs(product)
    assert 0.3 * UNIT < np.sqrt(np.mean(off**2)) < 0.8 * UNIT


def test_what_a_type_holds_exactly_does_not_round() -> None:
    """Integers, zeros, powers of two, copies, negation, maxima: the results are those of exact arithmetic."""
    several = noise(5)
    whole, zero = Num(np.arange(1.0, 8.0)[None]), Num(np.zeros((1, 7)))
    quarter = Num(np.full((1, 7), 0.25))
    fine = Num(drawn(1, 7))
    for found, exact in (
        (several.plus(whole, whole), 2 * whole.value),
        (several.times(whole, quarter), whole.value / 4),
        (several.times(fine, zero), zero.value),
        (several.times(fine, quarter), fine.value / 4),
        (several.plus(fine, zero), fine.value),
        (several.negative(fine), -fine.value),
        (several.maximum(fine, None), fine.value.max(-1)),
        (several.sum(whole, None), whole.value.sum(-1)),
    ):
        np.testing.assert_array_equal(found.floats(), np.broadcast_to(exact, found.value.shape))


def test_a_product_rounds_by_up_to_one_roundoff_and_a_function_by_up_to_two() -> None:
    """Uniform errors: of 5,000 samples the mean square is u²/3, twice that for a function."""
    several = noise(5000)
    a, b = Num(np.array([[1.1]])), Num(np.array([[1.3]]))
    product = several.times(a, b).value / (1.1 * 1.3) - 1
    root = several.function("sqrt", a).value / np.sqrt(1.1) - 1
    assert np.abs(product).max() <= UNIT
    assert np.abs(root).max() <= 2 * UNIT
    assert np.mean(product**2) == pytest.approx(UNIT**2 / 3, rel=seven(5000, 9 / 5))
    assert np.mean(root**2) == pytest.approx(2 * UNIT**2 / 3, rel=seven(5000, 12 / 5))


def test_an_exponential_of_a_softmax_rounds_its_distance_from_the_largest() -> None:
    """At 100 below the largest the argument is off by up to 100 roundoffs; alone, a rounded argument is not rounded again."""
    a, top = Num(np.array([[-3.7]])), Num(np.array([[96.3]]))
    far = noise(4000).exponential(a, top, "family").floats() / np.exp(-3.7) - 1
    alone = noise(4000).exponential(a, None, None).floats() / np.exp(-3.7) - 1
    assert np.mean(far**2) == pytest.approx((100 * UNIT) ** 2 / 3, rel=seven(4000, 9 / 5))
    assert np.abs(alone).max() <= 2 * UNIT


def test_an_exponential_near_the_largest_is_off_by_its_distance_and_by_its_own_rounding() -> None:
    """At 2 below the largest the first counts twice as much as the other: 4 and 2 of the 6 thirds. In bfloat16, at 100 below, it
    is off by a factor whose logarithm is that far off.
    """
    near = noise(4000).exponential(Num(np.array([[-3.7]])), Num(np.array([[-1.7]])), "family")
    off = near.floats() / np.exp(-3.7) - 1
    assert np.mean(off**2) == pytest.approx(6 * UNIT**2 / 3, rel=seven(4000, 12 / 5))
    coarse = noise(4000, Precision.of("bfloat16")).exponential(
        Num(np.array([[-3.7]])), Num(np.array([[96.3]])), "family"
    )
    logarithm = np.log(coarse.floats()) + 3.7
    expected = (100 * FORMATS["bfloat16"].unit) ** 2 / 3
    assert np.mean(logarithm**2) == pytest.approx(expected, rel=seven(4000, 12 / 5))


def test_in_sixteen_bits_sums_accumulate_finely_and_every_result_is_held_coarsely() -> None:
    """A sum of 769 products rounds once in bfloat16; a bfloat16 accumulator is tens of roundings away from it."""
    x, y = (drawn(400, 769, seed=seed) for seed in range(2))
    several = noise(400, Precision.of("bfloat16"))
    once = several.contract([Num(x), Num(y)], 769, None)
    coarse = noise(400, Precision.of("bfloat16", "storage")).contract([Num(x), Num(y)], 769, None)
    assert once is not None
    assert coarse is not None
    exact = (x * y).sum(-1)
    off = (once.value - exact) / (FORMATS["bfloat16"].unit * np.abs(exact))
    assert np.abs(off).max() < 1.01
    assert np.mean((coarse.value - exact) ** 2) > 50 * np.mean((once.value - exact) ** 2)


def test_two_roundings_that_count_alike_do_not_cancel_in_a_dozen_samples() -> None:
    """1 + x and 1 + y round by as much each, and so does what both come to: no entry of many seems to be exact.

    Of two numbers, drawn independently, both roundings would cancel in half of the samples, in all of twelve in one entry of
    4,096: in one of these 67,000 but with a probability of exp(-16). Of sixteen in orders of their own they do in none.
    """
    random = np.random.default_rng(1)
    arithmetic, entries = noise(12), 67_000
    first, second = (Num(1 + random.uniform(0.1, 0.9, (1, entries))) for _ in range(2))
    found = (
        arithmetic.apply_roundings(first, 1).value / first.value
        + arithmetic.apply_roundings(second, 1).value / second.value
    )
    spread = np.sqrt(np.mean((found - 2) ** 2, axis=0))
    assert spread.min() > 0.01 * UNIT
    assert np.abs(np.mean(spread**2) / (2 * UNIT**2 / 3) - 1) < seven(12 * entries, 2.4)


def test_few_samples_tell_a_spread_as_well_as_independent_ones() -> None:
    """Of what many roundings make, and of what one makes, twelve samples know the square up to a relative error whose square is
    2/12 and 1/12 on average at most, as of independent samples; the seventh standard error of these means over so many entries is
    below a quarter of them. Were all in one order, it would be 0.4 for the sum of many.
    """
    random, entries = np.random.default_rng(2), 4_000
    for many, most in ((1, 1 / 12), (101, 2 / 12)):
        given = Num(1 + random.uniform(0.1, 0.9, (1, many, entries)))
        found = (noise(12).apply_roundings(given, 1).value / given.value - 1).sum(axis=1)
        square = np.mean(found**2, axis=0) / (many * UNIT**2 / 3)
        assert abs(square.mean() - 1) < 7 * np.sqrt(most / entries)
        assert np.mean((square - 1) ** 2) < 1.25 * most


def test_nothing_is_drawn_in_plain_arithmetic() -> None:
    """The arithmetic is one of the walk's kind, so that whatever evaluates lines takes it."""
    assert isinstance(noise(1), RunningError)
