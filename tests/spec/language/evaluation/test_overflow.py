"""What may overflow in an implementation's type has no bound: sums whose partial sums may, in whatever order, included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy
import torch
import torch.nn.functional as F

from spec.language import Sum, absolute, data, define, exp, indices, sizes, tanh, tensor
from spec.language.arrays import Tensor
from spec.language.differentiation.gradients import pull_back, vjp
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.numbers import HUGE, Num
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.formula import Formula
from spec.language.registry import find
from spec.language.trees import substitute
from tests.spec.language.evaluation.simulated import simulate

SEEDS = range(6)


def test_a_type_that_may_overflow_has_an_unbounded_error_and_says_so() -> None:
    """A dot product beyond float16's range is reported as unbounded, not as a number."""
    q, k = np.full((1, 3), 300.0), np.full((1, 3), 300.0)
    assert np.isinf(bound(find("scores.dot"), (q, k), dtype="float16")[0][1]).all()
    assert np.isfinite(bound(find("scores.dot"), (q, k), dtype="bfloat16")[0][1]).all()


@pytest.mark.parametrize(
    ("dtype", "size"), [("float16", 200.0), ("float32", 1.7e19)], ids=["float16", "float32"]
)
def test_a_sum_is_unbounded_where_a_partial_sum_may_overflow(dtype: str, size: float) -> None:
    """x² + x² − x² is as small as x², but two of its terms may come first and are too large; in a wider type they are not."""
    dot, kept = find("scores.dot"), {"intermediates": "storage"}
    inputs = {"q": np.full((1, 3), size), "k": np.array([[size, size, -size]])}
    assert size**2 < FORMATS[dtype].largest < 2 * size**2
    assert np.isinf([simulate(dot.flat(), inputs, dtype, seed)[0] for seed in SEEDS]).any()
    assert np.isinf(bound(dot, inputs, kept, dtype)[0][1]).all()
    wider = bound(dot, inputs, dtype="float16") if dtype == "float16" else bound(dot, inputs, kept, "float64")
    assert np.isfinite(wider[0][1]).all()
    less = {**inputs, "k": inputs["k"] / 3}
    assert np.isfinite(bound(dot, less, kept, dtype)[0][1]).all()


A, B, C = data("a"), data("b"), data("c")
CHAINS = {
    "a + b + c": (A + B + C, (3e38, -3e38, 3e38)),
    "a - b + c": (A - B + C, (3e38, 3e38, 3e38)),
    "a + (b - c)": (A + (B - C), (3e38, 3e38, 3e38)),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_three_terms_are_unbounded_where_another_order_overflows(chain: str) -> None:
    """As written, every step stays in float32's range; a right implementation may begin with the two that do not."""
    total, at = CHAINS[chain]
    y = tensor("y")
    formula = Formula(f"test.chain {chain}".replace(" ", "_"), "", (A, B, C), (define(y, total),), (y,))
    inputs = dict(zip("abc", map(np.array, at), strict=True))
    assert np.isfinite(simulate(formula.flat(), inputs, "float32")[0])
    assert np.isinf(bound(formula, inputs, dtype="float32")[0][1])
    assert np.isfinite(bound(formula, inputs, dtype="float64")[0][1])
    third = {name: value / 3 for name, value in inputs.items()}
    assert np.isfinite(bound(formula, third, dtype="float32")[0][1])


def test_a_difference_of_two_huge_numbers_has_a_bound() -> None:
    """Two terms have one order only, so 3·10³⁸ − 3·10³⁸ does not overflow, whereas their sum does."""
    (n,), (i,) = sizes("n"), indices("i")
    x, mean, y = data("x", n), data("mean"), tensor("y", n)
    formula = Formula("test.centred", "", (x, mean), (define(y[i], x[i] - mean),), (y,))
    inputs = {"x": np.array([3e38, 2e38, -3e38]), "mean": np.array(3e38)}
    ((_, tolerance),) = bound(formula, inputs, dtype="float32")
    assert np.array_equal(np.isinf(tolerance), [False, False, True])
    # Five roundings of each term are more than a difference takes.
    assert (tolerance[:2] <= 5 * FORMATS["float32"].unit * 6e38).all()


def test_the_gradient_of_a_look_up_is_unbounded_where_what_is_added_may_overflow() -> None:
    """A row that is looked up thrice gathers three cotangents, in any order; one looked up once only copies."""
    seeds = np.array([3e38, 3e38, -3e38, 3e38])[:, None]
    inputs = {"pos": np.array([1, 1, 1, 0]), "W_PE": np.zeros((3, 1))}
    for dtype, open_ in (("float32", [False, True, False]), ("float64", [False, False, False])):
        gradient, tolerance = pull_back(find("positional.learned"), inputs, seeds, dtype=dtype)["W_PE"]
        assert np.array_equal(gradient.ravel(), [3e38, 3e38, 0])
        assert np.array_equal(np.isinf(tolerance.ravel()), open_)


def test_exponentials_of_any_size_are_held_to_the_type_where_they_are_added() -> None:
    """Beside one that vanishes they are kept with exponents of their own; two that fit float32 add to what does not."""
    (n,), (i, j) = sizes("n"), indices("i j")
    x, z, e = data("x", n), data("z", n), tensor("e", n)
    each_, total, both = tensor("each_", n), tensor("total"), tensor("both", n)
    formula = Formula(
        "test.exponentials",
        "",
        (x, z),
        (
            define(e[i], exp(x[i])),
            define(total, Sum(e[j], (j, 0, n - 1))),
            define(both[i], e[i] + exp(z[i])),
            define(each_[i], Sum(exp(x[j] + x[i]), (j, 0, n - 1))),
        ),
        (total, both, each_),
    )
    large, small = np.array([88.5, 88.5, -1000.0]), np.array([88.0, 88.0, -1000.0])
    for x_, fits in ((large, False), (small, True)):
        (_, of_sum), (_, of_two), (_, of_family) = bound(formula, {"x": x_, "z": x_}, dtype="float32")
        assert np.isfinite(of_sum) == fits
        assert np.array_equal(np.isfinite(of_two), [fits, fits, True])
        assert np.array_equal(np.isfinite(of_family), [False, False, True])


def test_a_softmax_is_bounded_where_its_exponentials_overflow() -> None:
    """They are taken relative to the largest score; their sum itself, of scores of 100, is beyond float32."""
    s = np.full((2, 3), 100.0)
    s[1, 0] = 1e4
    assert np.isfinite(bound(find("attention.softmax"), {"s": s}, dtype="float32")[0][1]).all()
    (n,), (j,) = sizes("n"), indices("j")
    x, y = data("x", n), tensor("y")
    total = Formula("test.partition", "", (x,), (define(y, Sum(exp(x[j]), (j, 0, n - 1))),), (y,))
    assert np.isinf(bound(total, {"x": s[0]}, dtype="float32")[0][1])
    assert np.isfinite(bound(total, {"x": s[0]}, dtype="float64")[0][1])


def test_a_sum_of_so_many_terms_that_their_roundings_may_make_up_all_of_it_is_unbounded() -> None:
    """bfloat16 has a unit of 1/256: of 401 terms added in it nothing is known; of 101 something is."""
    found = [
        bound(
            find("similarity.dot"),
            {"x": np.ones(n), "y": np.ones(n)},
            {"intermediates": "storage"},
            "bfloat16",
        )
        for n in (101, 401)
    ]
    assert [bool(np.isinf(far)) for ((_, far),) in found] == [False, True]
    assert found[0][0][1] > 0


(N,), (J, K) = sizes("n"), indices("j k")
S, Y = data("s", N), tensor("y")


@pytest.mark.parametrize("function", [absolute, tanh, exp])
def test_of_a_function_of_what_vanishes_in_a_type_nothing_is_known(function: Any) -> None:
    """exp(−2551) by a sum of such is 1/3 exactly, and may be 0 in float32, whatever the mantissa of the bound's exponent is."""
    share = exp(S[0] + B) / Sum(exp(S[J]), (J, 0, N - 1))
    formula = Formula(f"test.{function.__name__}_of_a_share", "", (S, B), (define(Y, function(share)),), (Y,))
    near, far = ({"s": np.full(3, size), "b": np.array(0.0)} for size in (-2.0, -2551.0))
    ((exact, tolerance),) = bound(formula, near, dtype="float32")
    assert tolerance < 1e-5
    assert abs(simulate(formula.flat(), far, "float32")[0] - exact) > 0.3
    assert np.isinf(bound(formula, far, dtype="float32")[0][1])


@pytest.mark.parametrize("size", [0.0, 3.0, 40.0])
def test_a_share_of_scores_that_are_hardly_known_is_one_all_the_same(size: float) -> None:
    """Scores that may be off by more than ln 2 leave nothing of their sum for sure, and each share between 0 and 1."""
    c = data("c")
    score = (S[J] + c) - c
    lines = (define(Y, exp(substitute(score, {J: sympy.S.Zero})) / Sum(exp(score), (J, 0, N - 1))),)
    formula = Formula("test.share_of_rough_scores", "", (S, c), lines, (Y,))
    for off in (1.6e6, 3e6, 1e8):
        inputs = {"s": np.full(3, size), "c": np.array(off)}
        ((value, tolerance),) = bound(formula, inputs, dtype="float32")
        assert (
            abs(value - 1 / 3) <= 4 * np.finfo(float).eps
        )  # all scores stay alike: three exponentials, their sum, a quotient
        assert 0.01 < tolerance < 0.7


@pytest.mark.parametrize("distance", [1.0, 9.0, 60.0])
def test_an_exponential_above_the_largest_permitted_score_is_off_by_the_rounding_of_their_difference(
    distance: float,
) -> None:
    """A quotient by the sum over the permitted scores is none of its shares where the score is not permitted."""
    mask = Tensor("mask", (N,), "boolean", "mask")
    w = tensor("w", N)
    quotient = exp(S[J]) / Sum(exp(substitute(S[J], {J: K})), (K, 0, N - 1), where=mask[K])
    formula = Formula("test.beside_the_mask", "", (S, mask), (define(w[J], quotient),), (w,))
    worst = 0.0
    for seed in range(20):
        far = np.float32(distance + np.random.default_rng(seed).random())
        inputs = {
            "s": np.array([far, 0.1, -0.7], np.float32).astype(float),
            "mask": np.array([False, True, True]),
        }
        ((value, tolerance),) = bound(formula, inputs, dtype="float32")
        worst = max(
            worst, float(np.max(np.abs(simulate(formula.flat(), inputs, "float32")[0] - value) / tolerance))
        )
    assert 0.01 < worst < 1


@pytest.mark.parametrize("size", [1e270, 1e290, 1e300])
@pytest.mark.parametrize("plain", [True, False])
def test_an_error_that_is_too_large_to_be_kept_is_not_made_small_by_a_factor(
    size: float, plain: bool
) -> None:
    """x·y/x is a rounded product and a rounded quotient: its bound covers both, or says nothing."""
    walk = RunningError(FORMATS["float64"])
    x, y = walk.exact(np.array([size])), walk.exact(np.array([math.pi]))
    rough = Num(x.value, np.abs(x.value) * 2.0**-20)
    made = walk.times(walk.apply_roundings(rough, 1), y)
    back = walk.times(walk.plain(made) if plain else made, walk.exact(np.array([1 / size])))
    assert (back.bounds() >= math.pi * 2.0**-20).all()


def test_the_gradient_of_a_distillation_is_not_bounded_too_tightly_where_exponentials_nearly_vanish() -> None:
    """Sums of exponentials near 10⁻³⁰⁵: torch's gradient, which subtracts the largest logit first, is as right as any."""
    z, u = torch.tensor([[-700.0, -709, -708, -709, -710]]), torch.tensor([[0.0, 0, 0, 0, 800]])
    z, u = z.double().requires_grad_(), u.double()
    F.kl_div(F.log_softmax(z, -1), F.log_softmax(u, -1), log_target=True, reduction="sum").backward()
    formula = find("objectives.distillation")
    gradient = vjp(formula, ["z"])
    inputs = {"z": z.detach().numpy(), "u": u.numpy(), "tau": 1.0}
    seeds = gradient.fill_cotangents({"L": np.array(1.0)}, bind(formula.flat(None), inputs).sizes)
    ((value, error),) = bound(gradient.flat, {**inputs, **seeds}, dtype="float64")
    assert z.grad is not None
    assert (np.abs(z.grad.numpy() - value) <= error).all()


@pytest.mark.parametrize("exponent", [0, -100, -930, -960, -2000])
def test_a_share_of_an_unknown_total_is_unknown_whatever_its_exponent(exponent: int) -> None:
    """It is limited to 0 … 1 as it stands, however small the exponent it is written with."""
    part = Num(np.ones(1), np.zeros(1), np.array([exponent]), softmax=("family", False))
    total = Num(np.ones(1), np.array([HUGE]), np.array([0]), softmax=("family", True))
    share = RunningError(FORMATS["bfloat16"]).over(part, total)
    assert share.bounds() >= 1 - share.floats()


@pytest.mark.parametrize("terms", [200, 300, 500])
def test_a_sum_that_stagnates_stays_within_the_bound_on_its_shares(terms: int) -> None:
    """Held in bfloat16 term by term, a sum of 1 and many small exponentials stays 1, and each share is nearly twice as large."""
    scores = np.full((1, terms), -24.0)
    scores[0, 1:231], scores[0, 0] = -5.59375, 0.0
    ((value, error),) = bound(
        find("attention.softmax"),
        {"s": scores, "mask": None},
        {"intermediates": "storage"},
        "bfloat16",
    )
    exponentials = torch.exp(torch.tensor(scores[0]).bfloat16())
    total = torch.zeros((), dtype=torch.bfloat16)
    for each in exponentials:
        total = total + each
    assert (np.abs((exponentials / total).double().numpy() - value[0]) <= error[0]).all()
