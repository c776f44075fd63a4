"""The expected error: what a careful implementation makes is about as large, whatever the width, and carelessness stands out.

The statistical tests compare an average of many independent entries with 1, within :func:`seven` of its standard errors, so that
a false alarm has a probability below 1e-9; the wrong formula each would let through is
named with how far it would be off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.language import data, define, indices, sizes, tensor
from spec.language.arrays import Tensor
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.batching import EXAMPLES, repeated
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import bound, run
from spec.language.evaluation.noise import Noise, expected_error, expected_gradient_error
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.evaluation.truth import Truth
from spec.language.evaluation.walk import Walk
from spec.language.formula import Formula
from spec.language.registry import find

SINGLE = Precision.of("float32")
UNIT = FORMATS["float32"].unit
WIDTHS = (17, 67, 257, 769)


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


def softmax_rows(width: int) -> tuple[Formula, dict[str, Any], Any]:
    """The weights of rows of scores, in float32."""
    s = drawn(11, width)
    shifted = (s - s.max(-1, keepdims=True)).astype(np.float32)
    e = np.exp(shifted)
    return find("attention.softmax"), {"s": s}, e / e.sum(-1, keepdims=True)


def attention(width: int) -> tuple[Formula, dict[str, Any], Any]:
    """Attention over as many keys as they are wide, in float32."""
    q, k, v = drawn(3, width), drawn(width, width, seed=1), drawn(width, 5, seed=2)
    f = np.float32
    s = (q.astype(f) @ k.astype(f).T) / f(np.sqrt(width))
    e = np.exp(s - s.max(-1, keepdims=True))
    a = e / e.sum(-1, keepdims=True)
    return find("attention.scaled_dot_product"), {"q": q, "k": k, "v": v}, a @ v.astype(f)


def layer_norm(width: int) -> tuple[Formula, dict[str, Any], Any]:
    """A normalised row, in float32."""
    x, gamma, beta = (drawn(width, seed=seed).astype(np.float32) for seed in range(3))
    centred = x - x.mean()
    y = gamma * centred / np.sqrt((centred * centred).mean() + np.float32(1e-5)) + beta
    inputs = {"x": x, "gamma": gamma, "beta": beta}
    return (
        find("normalization.layer_norm"),
        {**{n: a.astype(np.float64) for n, a in inputs.items()}, "eps": 1e-5},
        y,
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("made", [softmax_rows, attention, layer_norm])
def test_careful_arithmetic_is_a_few_sigma_off_at_any_width(made: Any, width: int) -> None:
    """NumPy in float32 is below 6 sigma everywhere, and not far below: the error is measured, not bounded.

    An entry's error has bounded and normal parts of known spread, and that spread is known to 13 %: 6 sigma is 5.2 at least.
    Its tail there, 1e-7 for a normal one, is over all entries below 1e-3; the inputs are fixed, so that it was settled once.
    """
    formula, inputs, got = made(width)
    ((value, sigma),) = expected_error(formula, inputs)
    off = np.abs(got - value) / sigma
    assert off.max() < 6
    assert np.sqrt(np.mean(off**2)) > 0.08


def test_the_bound_grows_far_beyond_the_error_where_sigma_stays_with_it() -> None:
    """At width 769 the bound is more than 500 times the root mean square error of attention, sigma less than 12 times."""
    formula, inputs, got = attention(769)
    ((value, sigma),) = expected_error(formula, inputs)
    ((_, limit),) = bound(formula, inputs)
    actual = np.sqrt(np.mean((got - value) ** 2))
    assert np.median(limit) > 500 * actual
    assert actual / 3 < np.median(sigma) < 12 * actual


@pytest.mark.parametrize("coarse", [np.float16])
def test_scores_held_in_half_precision_are_hundreds_of_sigma_off(coarse: Any) -> None:
    """Attention whose scores are rounded to float16 on the way, in float32: far outside at every width."""
    for width in WIDTHS[2:]:
        formula, inputs, _ = attention(width)
        s = (inputs["q"] @ inputs["k"].T / np.sqrt(width)).astype(coarse).astype(np.float64)
        e = np.exp(s - s.max(-1, keepdims=True))
        ((value, sigma),) = expected_error(formula, inputs)
        assert (np.abs(e / e.sum(-1, keepdims=True) @ inputs["v"] - value) / sigma).max() > 200


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


def test_every_sample_has_roundings_of_its_own_and_a_seed_determines_them() -> None:
    """No two samples agree, inputs are read once for all, and the same seed gives the same sigma."""
    formula, inputs, _ = attention(17)
    flat = formula.flat()
    bindings = bind(flat, inputs)
    bindings.sizes[EXAMPLES] = 7
    z = run(repeated(flat), noise(7), bindings).tensors["z"].floats()
    assert z.shape == (7, 3, 5)
    assert len(np.unique(z[:, 0, 0])) == 7
    assert all(isinstance(item, Tensor) for item in repeated(flat).inputs)
    assert repeated(flat).inputs == flat.inputs
    first, again, other = (expected_error(formula, inputs, seed=seed)[0][1] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_value_is_exact_and_sigma_is_never_below_one_rounding() -> None:
    """Values are those of plain evaluation; a copy, which does not round, is granted the rounding of its type."""
    (n,) = sizes("n")
    (i,) = indices(i=n)
    x, y = data("x", n), tensor("y", n)
    copy = Formula(
        "tests.copy", "A copy", why="", sizes={}, inputs=(x,), lines=(define(y[i], x[i]),), outputs=(y,)
    )
    inputs = {"x": drawn(13)}
    for dtype in ("float32", "bfloat16"):
        ((value, sigma),) = expected_error(copy.flat(), inputs, dtype=dtype)
        np.testing.assert_array_equal(value, inputs["x"])
        rounding = FORMATS[dtype].unit / np.sqrt(3) * np.abs(value)
        assert (
            np.abs(sigma - rounding) <= 4 * 2.0**-53 * rounding
        ).all()  # two products and a root in float64
    formula, inputs, _ = attention(17)
    ((value, error),) = bound(formula, inputs, dtype="float64")
    assert (np.abs(expected_error(formula, inputs)[0][0] - value) <= 2 * error).all()


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("attention.softmax", {"s": (7, 67)}),
        ("normalization.layer_norm", {"x": (67,), "gamma": (67,), "beta": (67,)}),
        ("recurrent.rnn", {"x": (5, 7), "h": (11,), "W_xh": (11, 7), "W_hh": (11, 11), "W_hy": (3, 11)}),
    ],
)
def test_one_run_says_what_two_do(name: str, shapes: Any, monkeypatch: Any) -> None:
    """Where there is room, the exact value is one more sample; where there is none, it is found before, and the samples follow
    one by one. Values agree within float64's bounds, spreads up to what 32 samples leave open.

    Two spreads a factor of 5 apart have one off by √5, whose square comes from 32 normal errors with a probability below
    exp(-16·(5 - 1 - ln 5)), 4e-17. A sum over samples in the place of a mean is off by √32 and told.
    """
    inputs: dict[str, Any] = {
        key: 3 * drawn(*shape, seed=len(key) + shape[0]) for key, shape in shapes.items()
    }
    inputs |= {"eps": 1e-5} if name == "normalization.layer_norm" else {}
    together = expected_error(find(name), inputs)
    monkeypatch.setattr("spec.language.evaluation.noise.MEMORY", 1.0)
    apart = expected_error(find(name), inputs)
    bounds = bound(find(name), inputs, dtype="float64")
    for (value, sigma), (other, spread), (_, error) in zip(together, apart, bounds, strict=True):
        assert (np.abs(value - other) <= 2 * error).all()
        assert np.abs(np.log(sigma / spread)).max() < np.log(5)


def test_two_roundings_that_count_alike_do_not_cancel_in_a_dozen_samples() -> None:
    """1 + x and 1 + y round by as much each, and so does what both come to: no entry of many seems to be exact.

    Of two numbers, drawn independently, both roundings would cancel in half of the samples, in all of twelve in one entry of
    4,096: in one of these 67,000 but with a probability of exp(-16). Of sixteen in orders of their own they do in none.
    """
    random = np.random.default_rng(1)
    arithmetic, entries = noise(12), 67_000
    first, second = (Num(1 + random.uniform(0.1, 0.9, (1, entries))) for _ in range(2))
    found = (
        arithmetic.rounded(first, 1).value / first.value + arithmetic.rounded(second, 1).value / second.value
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
        found = (noise(12).rounded(given, 1).value / given.value - 1).sum(axis=1)
        square = np.mean(found**2, axis=0) / (many * UNIT**2 / 3)
        assert abs(square.mean() - 1) < 7 * np.sqrt(most / entries)
        assert np.mean((square - 1) ** 2) < 1.25 * most


def test_the_sample_apart_is_exact() -> None:
    """Of eight, seven are rounded, each in its own way; the eighth is what plain arithmetic finds, up to its own roundoff."""
    formula, inputs, _ = attention(17)
    flat = formula.flat()
    ((value, error),) = bound(formula, inputs, dtype="float64")
    bindings = bind(flat, inputs)
    rounding = Noise(SINGLE, np.random.default_rng(0), 7, exact=True)
    bindings.sizes[EXAMPLES] = rounding.samples
    z = run(repeated(flat), rounding, bindings).tensors["z"].floats()
    assert z.shape == (8, 3, 5)
    assert len(np.unique(z[:, 0, 0])) == 8
    assert (np.abs(z[-1] - value) <= 2 * error).all()
    assert (np.abs(z[:-1] - value) > 2 * error).any(axis=(1, 2)).all()


def test_gradients_have_an_expected_error_too() -> None:
    """The value is the derived gradient; sigma is far below the bound, and of about the roundoff's size."""
    formula, inputs, _ = attention(67)
    seeds = {"z": drawn(3, 5, seed=9)}
    found = expected_gradient_error(formula, inputs, seeds)
    exact = pull_back(formula, inputs, seeds, dtype="float32")
    assert found.keys() == exact.keys() == {"q", "k", "v"}
    double = pull_back(formula, inputs, seeds, dtype="float64")
    for name, (value, sigma) in found.items():
        assert (
            np.abs(value - exact[name][0]) <= 2 * double[name][1]
        ).all()  # each within the bound of float64
        typical, size = np.sqrt(np.mean(sigma**2)), np.sqrt(np.mean(value**2))
        assert UNIT * size / 3 < typical < 100 * UNIT * size
        assert np.median(exact[name][1] / sigma) > 10


def test_steps_of_a_recurrence_round_anew_each() -> None:
    """An RNN's states differ between samples from the first step on, and sigma is that of a few roundings."""
    inputs = {
        "x": drawn(5, 7),
        "h": drawn(11),
        "W_xh": drawn(11, 7) / 3,
        "W_hh": drawn(11, 11) / 3,
        "W_hy": drawn(3, 11) / 3,
    }
    states, _ = expected_error(find("recurrent.rnn"), inputs)
    value, sigma = states
    assert value.shape == (5, 11)
    assert (sigma > 0).all()
    assert np.median(sigma) < 20 * UNIT


def test_large_exponents_are_noisy_without_overflow() -> None:
    """Scores of ten thousand: weights are finite, and their errors are those of rounding how far the scores lie apart.

    A distance of at most 1.5 rounds by as many roundoffs, an exponential by two, and so do those in the sum beside it, whose two
    additions and the division round once each: ten at most.
    """
    s = np.array([[1e4, -1e4, 9999.0, 9998.5]])
    ((value, sigma),) = expected_error(find("attention.softmax"), {"s": s})
    assert np.isfinite(value).all()
    assert np.isfinite(sigma).all()
    assert (sigma[0, [0, 2, 3]] < 10 * UNIT * value[0, [0, 2, 3]]).all()


def test_nothing_is_drawn_in_plain_arithmetic() -> None:
    """The arithmetic is one of the walk's kind, so that whatever evaluates lines takes it."""
    assert isinstance(noise(1), Walk)
