"""The interpreter: number systems agree, right implementations stay within the bound, degenerate inputs behave."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest

from spec.language import Sum, data, define, each, exp, indices, le, parameter, sizes, tensor
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.balls import midpoints, radii
from spec.language.evaluation.evaluate import bound, enclose, evaluate
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.formula import Formula
from spec.language.known import forget
from spec.language.registry import find
from tests.spec.language.cases import DETERMINISTIC, REGIMES, inputs_of, layered, recurrence
from tests.spec.language.evaluation.simulated import simulate

SEEDS = range(6)


@pytest.mark.parametrize("formula_id", DETERMINISTIC)
@pytest.mark.parametrize("regime", REGIMES)
def test_float64_lies_within_its_own_bound_of_the_enclosure(formula_id: str, regime: str) -> None:
    """The float64 walk and the balls agree as closely as the float64 bound promises."""
    formula = find(formula_id)
    for seed in SEEDS:
        inputs = inputs_of(formula_id, regime, seed)
        (balls,) = enclose(formula, inputs)
        ((value, tolerance),) = bound(formula, inputs, dtype="float64")
        assert (np.abs(value - midpoints(balls)) <= tolerance + radii(balls)).all()


@pytest.mark.parametrize("formula_id", DETERMINISTIC)
@pytest.mark.parametrize("regime", REGIMES)
def test_a_line_by_line_implementation_is_within_the_bound_whatever_the_order_of_its_sums(
    formula_id: str, regime: str
) -> None:
    """The bound holds for float32 arithmetic that follows the statement and adds in any order, and it is not vacuous."""
    formula = find(formula_id)
    worst = 0.0
    for seed in SEEDS:
        inputs = inputs_of(formula_id, regime, seed)
        (balls,) = enclose(formula, inputs)
        ((_, tolerance),) = bound(formula, inputs, dtype="float32", conventions={"intermediates": "storage"})
        (got,) = simulate(formula.flat(), inputs, np.float32, seed)
        error = np.abs(got - midpoints(balls))
        assert (error <= tolerance + radii(balls)).all()
        assert np.isfinite(tolerance).all()
        worst = max(worst, float(np.max(np.where(error > 0, error / np.maximum(tolerance, 1e-300), 0))))
    assert worst <= 1


def test_scores_of_ten_thousand_are_exact_where_float64_exponentials_overflow() -> None:
    """softmax(10⁴, −10⁴, 9999) in float64 agrees with the enclosure to the float64 bound, and the bound is small."""
    s = np.array([[1e4, -1e4, 9999.0]])
    (value,) = evaluate(find("attention.softmax"), {"s": s})
    (balls,) = enclose(find("attention.softmax"), {"s": s})
    ((_, tolerance),) = bound(find("attention.softmax"), {"s": s}, dtype="float64")
    assert (np.abs(value - midpoints(balls)) <= tolerance + radii(balls)).all()
    assert tolerance.max() < 1e-14  # dozens of units of float64: nothing of the 10⁴ is left in the shares


def test_masked_slots_are_never_evaluated() -> None:
    """NaN and infinity in slots that no query may use leave no trace in value, enclosure or bound."""
    inputs = inputs_of("attention.scaled_dot_product", "unit", 3)
    inputs["mask"][:, 0] = False
    clean = evaluate(find("attention.scaled_dot_product"), inputs)
    dirty = {**inputs, "k": inputs["k"].copy(), "v": inputs["v"].copy()}
    dirty["k"][0], dirty["v"][0] = np.nan, np.inf
    assert np.array_equal(clean[0], evaluate(find("attention.scaled_dot_product"), dirty)[0])
    assert all(x.is_finite() for x in enclose(find("attention.scaled_dot_product"), dirty)[0].flat)
    assert np.isfinite(bound(find("attention.scaled_dot_product"), dirty)[0][1]).all()


@pytest.mark.parametrize("convention", ["zero", "mean", "unspecified"])
def test_a_fully_masked_row_follows_the_convention(convention: str) -> None:
    """Such a row is 0, the mean of all values, or nothing is said about it (an infinite bound)."""
    inputs = inputs_of("attention.scaled_dot_product", "unit", 4)
    inputs["mask"][0] = False
    ((value, tolerance),) = bound(find("attention.scaled_dot_product"), inputs, {"fully_masked": convention})
    if convention == "unspecified":
        assert np.isinf(tolerance[0]).all()
        return
    expected = inputs["v"].mean(0) if convention == "mean" else 0 * inputs["v"][0]
    assert (np.abs(value[0] - expected) <= tolerance[0]).all()
    assert np.isfinite(tolerance).all()


def test_a_look_up_has_bound_zero_in_every_type() -> None:
    """Rows of a table are copied, not computed; values a 16-bit type can hold stay exact."""
    inputs = {"pos": np.array([2, 0, 2]), "W_PE": np.arange(6.0).reshape(3, 2)}
    for dtype in ("float64", "float32", "bfloat16", "float16"):
        ((value, tolerance),) = bound(find("positional.learned"), inputs, dtype=dtype)
        assert np.array_equal(value, inputs["W_PE"][[2, 0, 2]])
        assert not tolerance.any()


def test_an_id_out_of_range_is_an_error_that_names_it() -> None:
    """The oracle refuses a position beyond the table."""
    with pytest.raises(IndexError, match="index 3 on axis 0 is outside 0 … 2"):
        evaluate(find("positional.learned"), {"pos": np.array([3]), "W_PE": np.zeros((3, 2))})


def test_a_recurrence_steps_through_its_index() -> None:
    """Float64, balls and a float32 simulation of a recurrence agree within its bound."""
    formula, rng = recurrence(), np.random.default_rng(0)
    inputs = {"x": rng.normal(size=(5, 3)), "W": rng.normal(size=(3, 3))}
    inputs = {k: v.astype(np.float32).astype(np.float64) for k, v in inputs.items()}
    (balls,) = enclose(formula, inputs)
    ((_, tolerance),) = bound(formula, inputs)
    (got,) = simulate(formula.flat(), inputs, np.float32)
    assert (np.abs(got - midpoints(balls)) <= tolerance + radii(balls)).all()
    assert got[5].any()


def test_a_formula_inside_a_sum_is_applied_for_every_index() -> None:
    """Per-head attention: the callee's lines gain a leading axis, and the result is the sum of the heads' results."""
    h, n, d = sizes("h n d")
    g, i, c, r = indices("g i c r")
    x, W, z = data("x", n, d), parameter("W", h, d, d), tensor("z", n, d)
    attend = find("attention.scaled_dot_product")
    head = each(Sum(x[i, r] * W[g, r, c], (r, 0, d - 1)), (i, n), (c, d))
    formula = Formula(
        "test.heads", "", (x, W), (define(z[i, c], Sum(attend(head, x, x)[i, c], (g, 0, h - 1))),), (z,)
    )
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(5, 3)), rng.normal(size=(2, 3, 3))
    singles = [bound(formula, (X, w[None]), dtype="float64")[0] for w in weights]
    ((value, tolerance),) = bound(formula, (X, weights), dtype="float64")
    slack = tolerance + sum(part for _, part in singles)
    assert (np.abs(value - sum(part for part, _ in singles)) <= slack).all()


def test_a_range_may_depend_on_an_outer_index() -> None:
    """Σ_{j ≤ i} 1 = i + 1, and an empty range sums to 0."""
    (n,) = sizes("n")
    i, j = indices("i j")
    x, y = data("x", n), tensor("y", n)
    partial = Formula("test.partial", "", (x,), (define(y[i], Sum(x[j], (j, 0, i))),), (y,))
    masked = Formula(
        "test.partial_masked", "", (x,), (define(y[i], Sum(x[j], (j, 0, n - 1), where=le(j, i))),), (y,)
    )
    strict = Formula("test.strict", "", (x,), (define(y[i], Sum(x[j], (j, 0, i - 1))),), (y,))
    ones = np.ones(4)
    assert np.array_equal(evaluate(partial, (ones,))[0], [1, 2, 3, 4])
    assert np.array_equal(evaluate(masked, (ones,))[0], [1, 2, 3, 4])
    assert np.array_equal(evaluate(strict, (ones,))[0], [0, 1, 2, 3])


def test_layers_of_formulas_evaluate_alike_in_floats_and_balls() -> None:
    """A composition of formulas is a formula."""
    x = np.random.default_rng(5).normal(size=(3, 2))
    (balls,) = enclose(layered(), (x,))
    ((value, tolerance),) = bound(layered(), (x,), dtype="float64")
    assert (np.abs(value - midpoints(balls)) <= tolerance + radii(balls)).all()


def test_balls_can_be_as_precise_as_one_asks() -> None:
    """More bits give smaller radii, and the setting of the library is put back."""
    before = flint.ctx.prec
    inputs = inputs_of("normalization.layer_norm", "unit", 0)
    coarse, fine = (enclose(find("normalization.layer_norm"), inputs, bits=b)[0][0] for b in (64, 640))
    assert fine.rad() < coarse.rad()
    assert coarse.overlaps(fine)
    assert flint.ctx.prec == before


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"q": np.zeros((2, 3))}, "scores.dot: the input k is missing"),
        (
            {"q": np.zeros((2, 3)), "k": np.zeros((2, 4))},
            r"scores.dot: k has shape \(m, d_k\), here with d_k=3",
        ),
        ({"q": np.zeros(3), "k": np.zeros((2, 3))}, r"scores.dot: q has shape \(n, d_k\)"),
    ],
)
def test_inputs_that_do_not_fit_are_named(inputs: dict[str, object], message: str) -> None:
    """One line names formula, input, expected and given."""
    with pytest.raises(ValueError, match=message):
        evaluate(find("scores.dot"), inputs)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_an_exact_zero_stays_one(dtype: str) -> None:
    """Products with it, sums of it and its root neither round nor underflow, so whether a length is 0 is decided."""
    for x, y in ((np.zeros(3), np.ones(3)), (np.zeros(3), np.zeros(3))):
        ((value, tolerance),) = bound(find("similarity.cosine"), {"x": x, "y": y}, dtype=dtype)
        assert value == tolerance == 0


def test_a_constant_that_is_rounded_is_not_taken_for_exact() -> None:
    """The error of 1/3 is passed on by products, on either side; that of 3 is none."""
    single = RunningError(FORMATS["float32"])
    third, three = single.rational(1, 3), single.rational(3, 1)
    assert three.exact
    assert not three.bounds().any()
    for product in (single.times(third, three), single.times(three, third)):
        assert product.bounds() > 3 * third.bounds()
        assert third.bounds() >= 2.0**-24 / 3


def test_a_product_that_underflows_is_no_exact_zero() -> None:
    """1e-200 squared is beyond float64: what depends on whether it is 0 is unbounded, never wrongly 0."""
    x = np.array([1e-200, 0.0])
    ((_, tolerance),) = bound(find("similarity.cosine"), {"x": x, "y": x}, dtype="float64")
    assert np.isinf(tolerance)
    assert enclose(find("similarity.cosine"), {"x": x, "y": x})[0].item().overlaps(flint.arb(1))


def test_what_carried_an_exponent_of_its_own_may_underflow_like_all_else() -> None:
    """Of a gradient that is 10⁻⁹¹ an implementation in float32 returns 0, whatever its statement could still hold."""
    given = {"s": np.array([[0.0, -110.0, -100.0]]), "k": 2}
    seeds = np.array([[1.0, 0.5, -1.0]])
    value, allowed = pull_back(find("routing.top_k"), given, seeds, dtype="float32")["s"]
    assert 0 < value[0, 1] < 1e-90
    assert (allowed >= np.finfo(np.float32).tiny).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_too_small_for_the_type_may_be_flushed(dtype: str) -> None:
    """exp(−x) underflows in an implementation from some x on; the bound of what is returned covers a zero there."""
    x, y = data("x"), tensor("y")
    gone = Formula(
        "trial.gone", "a vanishing exponential", inputs=(x,), lines=(define(y, exp(-x)),), outputs=(y,)
    )
    try:
        for size in (80.0, 100.0, 720.0, 740.0, 800.0, 1e6):
            ((value, room),) = bound(gone, {"x": np.array(size)}, None, dtype)
            smallest = FORMATS[dtype].tiny
            flushed = 0.0 if value < smallest else value
            assert abs(flushed - value) <= room <= 2 * smallest + 1e-4 * value
    finally:
        forget("trial.gone")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_exponential_by_itself_vanishes_and_overflows_as_the_type_does(dtype: str) -> None:
    """exp(−1000) may be returned as 0 and exp(1000) as infinity, whatever else stands in the array."""
    (n,), (i,) = sizes("n"), indices("i")
    x, out = data("x", n), tensor("out", n)
    formula = Formula("test.exponential", "exp", (x,), (define(out[i], exp(x[i])),), (out,))
    forget(formula.id)
    at = np.array([-1000.0, -700.0, -90.0, 1.0, 90.0, 600.0, 1000.0])
    for inputs in (at, at[:4], at[1:5], at[3:]):
        ((value, tolerance),) = bound(formula, {"x": inputs}, dtype=dtype)
        with np.errstate(over="ignore"):
            got = np.exp(inputs.astype(dtype)).astype(np.float64)
        judged = np.isfinite(tolerance)
        assert (judged == (inputs < (89 if dtype == "float32" else 710))).all()
        assert (np.abs(got[judged] - value[judged]) <= tolerance[judged]).all()
        assert (tolerance[judged] <= 1e-5 * np.maximum(np.exp(np.minimum(inputs[judged], 700)), 1e-30)).all()


@pytest.mark.parametrize(
    ("formula_id", "shapes"),
    [
        ("attention.softmax", {"s": (2, 3)}),
        ("attention.scaled_dot_product", {"q": (2, 3), "k": (5, 3), "v": (5, 7)}),
        (
            "attention.luong_step",
            {"s": (2,), "y": (3,), "h": (5, 2), "W_s": (2, 2), "W_y": (2, 3), "W_c": (2, 4), "W_o": (7, 2)},
        ),
    ],
)
def test_a_mask_that_is_not_given_hides_nothing_whichever_way_masks_are_read(
    formula_id: str, shapes: Any
) -> None:
    """Where True drops, an absent mask is False everywhere, in calls inside the statement too; derivatives agree."""
    rng, formula = np.random.default_rng(1), find(formula_id)
    inputs = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    drops = {"polarity": "true_drops"}
    for ours, theirs in zip(evaluate(formula, inputs), evaluate(formula, inputs, drops), strict=True):
        assert np.array_equal(ours, theirs)
    seeds = {
        t.name: rng.normal(size=o.shape)
        for t, o in zip(formula.outputs, evaluate(formula, inputs), strict=True)
    }
    theirs = pull_back(formula, inputs, seeds, None, drops)
    for name, (gradient, _) in pull_back(formula, inputs, seeds).items():
        assert np.array_equal(gradient, theirs[name][0])


def test_a_sum_may_be_added_onto_what_stands_beside_it() -> None:
    """BLAS adds the products of W u onto the b of W u + b, one after the other: each meets the size of b, and rounds there."""
    formula = find("bert.head_sequence")
    small = np.float32(1.25 * 2.0**-24)  # added to 1 it rounds up to a whole spacing, 2⁻²³
    inputs = {"u": np.full(13, small, float), "W": np.ones((13, 1)), "b": np.ones(1)}
    total = np.float32(1)
    for _ in range(13):
        total += small
    ((value, tolerance),) = bound(formula.flat(), inputs, dtype="float32")
    alone = 13 * 2.0**-24  # half a spacing of 1 for each addition: the least that has to be allowed
    assert abs(total - value[0]) <= tolerance[0] <= 4 * alone
    together = np.float32(1) + np.float32(13) * small
    assert abs(together - value[0]) < abs(total - value[0]) / 4


@pytest.mark.parametrize("lowest", [-5.0, -11.0, -40.0, -3000.0])
@pytest.mark.parametrize("size", [200, 253])
def test_where_nothing_is_known_of_a_total_nothing_is_known_of_its_shares(size: int, lowest: float) -> None:
    """A sum of so many numbers in bfloat16 throughout may be anything, and its shares with it, however small one of them is."""
    s = np.random.default_rng(0).normal(size=(1, size))
    s[0, 0], s[0, 1] = 5.7, lowest
    model = {name: {"intermediates": name} for name in ("storage", "accumulate")}
    bounds = {
        name: bound(find("attention.softmax"), {"s": s, "mask": None}, options, "bfloat16")[0]
        for name, options in model.items()
    }
    shares, unknown = bounds["storage"]
    assert (unknown >= np.maximum(shares, 1 - shares)).all()  # either end of what a share can be
    assert np.isfinite(bounds["accumulate"][1]).all()
