"""Symbolic vector–Jacobian products: against differences taken in balls, and their bound against a simulation."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest

from spec.language import Sum, data, define, exp, indices, log, sizes, tensor
from spec.language.differentiation.gradients import pull_back, vjp
from spec.language.evaluation.balls import midpoints
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.evaluate import enclose, run
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.formula import Formula
from spec.language.known import forget
from spec.language.registry import find
from spec.language.trees import free_symbols
from tests.spec.language.cases import DETERMINISTIC, guarded, inputs_of, layered, recurrence
from tests.spec.language.evaluation.simulated import simulate

BITS = 512
STEP = flint.arb(2) ** -120
"""A central difference with this step is wrong by a third derivative times 2⁻²⁴⁰: far below 30 digits at these inputs."""
DIGITS = flint.arb(10) ** -30


def enclosed_gradient(formula: Formula, inputs: dict[str, Any], seed: Any) -> dict[str, Any]:
    """The gradients as balls."""
    gradient = vjp(formula)
    every = {**inputs, **{tensor.name: seed for tensor in gradient.seeds.values()}}
    found = enclose(gradient.flat, every, bits=BITS)
    return dict(zip(gradient.gradients, found, strict=True))


def projection(formula: Formula, inputs: dict[str, Any], seed: Any) -> Any:
    """⟨seed, output⟩ as a ball."""
    (out,) = enclose(formula, inputs, bits=BITS)
    return sum((flint.arb(float(g)) * x for g, x in zip(np.ravel(seed), out.flat, strict=True)), flint.arb(0))


def shifted(array: Any, place: tuple[int, ...], step: Any) -> Any:
    """The array as balls, one entry moved."""
    balls = np.frompyfunc(lambda x: flint.arb(float(x)), 1, 1)(array)
    balls = np.array(balls, dtype=object)
    balls[place] = balls[place] + step
    return balls


def cases() -> list[tuple[Formula, dict[str, Any]]]:
    """Every differentiable statement, a recurrence, a composition and guarded references, at small sizes."""
    rng = np.random.default_rng(11)
    found = [(find(i), inputs_of(i, "unit", 2)) for i in DETERMINISTIC if i != "positional.sinusoidal"]
    found.append((recurrence(), {"x": rng.normal(size=(3, 2)), "W": rng.normal(size=(2, 2))}))
    found += [(formula, {"x": rng.normal(size=(3, 2))}) for formula in (layered(), *guarded())]
    return found


@pytest.mark.parametrize(("formula", "inputs"), cases(), ids=lambda x: getattr(x, "id", ""))
def test_the_symbolic_gradient_is_the_difference_quotient_to_thirty_digits(
    formula: Formula, inputs: dict[str, Any]
) -> None:
    """Each entry of each gradient, against a central difference in 512-bit balls."""
    saved, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        (out,) = enclose(formula, inputs, bits=BITS)
        seed = np.random.default_rng(3).normal(size=out.shape)
        for name, gradient in enclosed_gradient(formula, inputs, seed).items():
            for place in list(np.ndindex(*gradient.shape))[:7]:
                ends = [
                    projection(formula, {**inputs, name: shifted(inputs[name], place, sign * STEP)}, seed)
                    for sign in (1, -1)
                ]
                assert abs((ends[0] - ends[1]) / (2 * STEP) - gradient[place]) < DIGITS * (
                    1 + abs(gradient[place])
                )
    finally:
        flint.ctx.prec = saved


@pytest.mark.parametrize(("formula", "inputs"), cases(), ids=lambda x: getattr(x, "id", ""))
def test_a_line_by_line_gradient_in_float32_is_within_the_bound(
    formula: Formula, inputs: dict[str, Any]
) -> None:
    """The running bound of the derivative's lines covers float32 arithmetic that follows them."""
    inputs = {
        k: v.astype(np.float32).astype(np.float64)
        if isinstance(v, np.ndarray) and v.dtype == np.float64
        else v
        for k, v in inputs.items()
    }
    (out,) = enclose(formula, inputs)
    seed = np.random.default_rng(4).normal(size=out.shape).astype(np.float32).astype(np.float64)
    exact = enclosed_gradient(formula, inputs, seed)
    gradient = vjp(formula)
    got = simulate(
        gradient.flat, {**inputs, **{t.name: seed for t in gradient.seeds.values()}}, np.float32, 1
    )
    for (name, (_, tolerance)), found in zip(
        pull_back(formula, inputs, seed, dtype="float32").items(), got, strict=True
    ):
        assert (np.abs(found - midpoints(exact[name])) <= tolerance).all()


def test_the_gradient_of_a_fully_masked_row_is_exactly_zero() -> None:
    """Neither the query of such a row nor a key that nobody may use has any influence."""
    inputs = inputs_of("attention.scaled_dot_product", "unit", 6)
    inputs["mask"][0] = False
    inputs["mask"][:, 0] = False
    n, e = inputs["q"].shape[0], inputs["v"].shape[1]
    found = pull_back(find("attention.scaled_dot_product"), inputs, np.ones((n, e)))
    assert not found["q"][0][0].any()
    assert not found["k"][0][0].any()
    assert not found["v"][0][0].any()


def test_only_real_inputs_can_be_differentiated() -> None:
    """Asking for the gradient of ids is an error that names them."""
    with pytest.raises(ValueError, match="has no real input 'pos'"):
        vjp(find("positional.learned"), ["pos"])


def test_an_output_without_a_cotangent_counts_as_zero() -> None:
    """With several outputs, the gradients for each cotangent alone add up to the gradient for all of them."""
    formula, rng = find("attention.luong_step"), np.random.default_rng(5)
    d, p, m, V = 2, 3, 5, 7
    shapes = {
        "s": (d,),
        "y": (p,),
        "h": (m, d),
        "W_s": (d, d),
        "W_y": (d, p),
        "W_c": (d, 2 * d),
        "W_o": (V, d),
    }
    inputs = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    seeds = {
        "s_next": rng.normal(size=d),
        "h_tilde": rng.normal(size=d),
        "P": rng.normal(size=V),
        "alpha": rng.normal(size=m),
    }
    alone = [pull_back(formula, inputs, {name: seed}) for name, seed in seeds.items()]
    for name, (value, tolerance) in pull_back(formula, inputs, seeds).items():
        total = sum(each[name][0] for each in alone)
        slack = tolerance + sum(each[name][1] for each in alone)
        assert (np.abs(value - total) <= slack).all()
        assert np.abs(value).max() > 1e6 * slack.max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_derivative_that_is_accumulated_may_leave_the_float64_range(dtype: str) -> None:
    """exp(−800) vanishes, of exp(800) nothing is known, and what stands beside them is told as well as alone."""
    (n, m), (i,) = sizes("n m"), indices("i")
    x, ids, out = data("x", m), data("ids", n, domain="integer", below=m), tensor("out", n)
    formula = Formula("test.accumulated", "", (x, ids), (define(out[i], exp(x[ids[i]])),), (out,))
    forget(formula.id)
    at = {"x": np.array([-800.0, 1.0, 800.0, 2.0]), "ids": np.array([0, 1, 1, 2])}
    value, tolerance = pull_back(formula, at, np.ones(4), ["x"], dtype=dtype)["x"]
    assert 0 <= value[0] <= tolerance[0] < 1e-30
    assert abs(value[1] - 2 * np.e) <= tolerance[1] < 1e-5
    assert np.isinf(tolerance[2])
    assert value[3] == tolerance[3] == 0


def test_the_slope_of_a_logarithm_covers_who_kept_only_the_rounded_logarithm():
    """A log-sum-exp passes back exp(s − ln Σ eˢ): where ln Σ eˢ is large its rounding shows, and the bound covers it."""
    n = sizes("n")[0]
    i = indices("i")[0]
    s, total = data("s", n), tensor("z")
    line = define(total, log(Sum(exp(s[i]), (i, 0, n - 1))))
    formula = Formula("test.lse", "Log-sum-exp", (s,), (line,), (total,))
    given = np.linspace(9000.0, 9003.0, 7) + 0.1
    ((value, bound),) = pull_back(formula, {"s": given}, {"z": np.ones(())}, ["s"], {}, "float64").values()
    kept = np.exp(given - np.float64(given.max() + np.log(np.exp(given - given.max()).sum())))
    assert (np.abs(kept - value) <= bound).all()
    assert (bound <= 1e-10 * value).all(), (
        "and no more than that: 9000 roundings of 1e-16 each, a few times over"
    )
    forget("test.lse")


@pytest.mark.parametrize("name", ["feedforward.relu", "recurrent.rnn", "recurrent.gru"])
def test_a_sum_inside_of_a_line_may_be_added_in_any_order_in_the_derivative_too(name: str) -> None:
    """Σ + b, the terms of Σ tiny: each may be added onto b, and rounds as b does, wherever the line is evaluated."""
    formula, rng = find(name), np.random.default_rng(2)
    symbols = dict.fromkeys(s for item in formula.tensors for size in item.shape for s in free_symbols(size))
    at = dict(zip(symbols, (3, 5, 7, 11), strict=False))
    inputs: dict[str, Any] = {}
    for item in formula.inputs:
        drawn = rng.normal(size=[whole(size, at) for size in item.shape])
        inputs[item.name] = 1e-10 * drawn if item.role == "data" else drawn
    gradient, flat = vjp(formula), formula.flat()
    operations = Precision.of("float64", "accumulate").operations
    plain = run(flat, RunningError(operations), bind(flat, inputs)).tensors
    seeds = {t.name: np.ones(plain[t.name].value.shape) for t in flat.outputs}
    every = {**inputs, **gradient.fill_cotangents(seeds, bind(flat, inputs).sizes)}
    derived = run(gradient.flat, RunningError(operations), bind(gradient.flat, every)).tensors
    compared = [line.name for line in flat.lines if line.name in plain]
    assert compared
    for line in compared:  # but for roundings of the bounds themselves, of which no line has a thousand
        np.testing.assert_allclose(derived[line].bounds(), plain[line].bounds(), rtol=1000 * 2.0**-53)
