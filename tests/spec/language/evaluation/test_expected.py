"""The expected error: what a careful implementation makes is about as large, whatever the width, and carelessness stands out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.language import data, define, indices, sizes, tensor
from spec.language.arrays import Tensor
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.batching import EXAMPLES, repeat_lines
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import bound, run
from spec.language.evaluation.expected import Noise, expected_error, expected_gradient_error
from spec.language.evaluation.precision import FORMATS
from spec.language.formula import Formula
from spec.language.registry import find
from tests.spec.language.evaluation.test_noise import SINGLE, UNIT, drawn, noise

WIDTHS = (17, 67, 257, 769)


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


def test_every_sample_has_roundings_of_its_own_and_a_seed_determines_them() -> None:
    """No two samples agree, inputs are read once for all, and the same seed gives the same sigma."""
    formula, inputs, _ = attention(17)
    flat = formula.flat()
    bindings = bind(flat, inputs)
    bindings.sizes[EXAMPLES] = 7
    z = run(repeat_lines(flat), noise(7), bindings).tensors["z"].floats()
    assert z.shape == (7, 3, 5)
    assert len(np.unique(z[:, 0, 0])) == 7
    assert all(isinstance(item, Tensor) for item in repeat_lines(flat).inputs)
    assert repeat_lines(flat).inputs == flat.inputs
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
    exp(-16·(5 - 1 - ln 5)), 4e-17. A sum over samples instead of a mean is off by √32 and told.
    """
    inputs: dict[str, Any] = {
        key: 3 * drawn(*shape, seed=len(key) + shape[0]) for key, shape in shapes.items()
    }
    inputs |= {"eps": 1e-5} if name == "normalization.layer_norm" else {}
    together = expected_error(find(name), inputs)
    monkeypatch.setattr("spec.language.evaluation.expected.MEMORY", 1.0)
    apart = expected_error(find(name), inputs)
    bounds = bound(find(name), inputs, dtype="float64")
    for (value, sigma), (other, spread), (_, error) in zip(together, apart, bounds, strict=True):
        assert (np.abs(value - other) <= 2 * error).all()
        assert np.abs(np.log(sigma / spread)).max() < np.log(5)


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


def test_what_all_scores_have_in_common_costs_a_log_of_a_sum_no_digits() -> None:
    """ln Σ eˢ is m + ln Σ eˢ⁻ᵐ, and whoever subtracts a score keeps m apart: −ln p is as precise at an offset as without."""
    s, y = np.round(drawn(5, 67) * 256) / 256, np.arange(5)
    plain, far = (
        expected_error(find("objectives.cross_entropy"), {"s": s + by, "y": y, "epsilon": 0.0})[0][1]
        for by in (0, 2**14)
    )
    assert far < 2 * plain


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


def test_the_sample_apart_is_exact() -> None:
    """Of eight, seven are rounded, each in its own way; the eighth is what plain arithmetic finds, up to its own roundoff."""
    formula, inputs, _ = attention(17)
    flat = formula.flat()
    ((value, error),) = bound(formula, inputs, dtype="float64")
    bindings = bind(flat, inputs)
    rounding = Noise(SINGLE, np.random.default_rng(0), 7, exact=True)
    bindings.sizes[EXAMPLES] = rounding.samples
    z = run(repeat_lines(flat), rounding, bindings).tensors["z"].floats()
    assert z.shape == (8, 3, 5)
    assert len(np.unique(z[:, 0, 0])) == 8
    assert (np.abs(z[-1] - value) <= 2 * error).all()
    assert (np.abs(z[:-1] - value) > 2 * error).any(axis=(1, 2)).all()
