"""Elementary functions with an error bound: what an error becomes, and what lies beyond float64."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import spec
from spec.language import Sum, data, define, exp, indices, log, sizes, tensor
from spec.language.evaluation.balls import midpoints, radii
from spec.language.evaluation.evaluate import bound, enclose
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.formula import Formula
from spec.language.known import forget
from verify.inputs.layouts import LAYOUTS

(n,) = sizes("n")
(j,) = indices("j")

BALLS = {
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "erf": lambda x: x.erf(),
}


@pytest.mark.parametrize("name", BALLS)
@settings(max_examples=150, deadline=None)
@given(x=st.floats(-60, 60), size=st.floats(1e-12, 50), part=st.floats(-1, 1))
def test_a_function_of_a_number_within_its_error_is_within_the_error_of_the_function(
    name: str, x: float, size: float, part: float
) -> None:
    """Wherever the true argument lies inside its bound, the function's value lies inside the function's."""
    number = Num(np.array(x), np.array(size))
    found = RunningError(FORMATS["float64"]).function(name, number)
    assert found.error is not None
    with flint.ctx.workprec(200):
        true = BALLS[name](flint.arb(x) + flint.arb(size) * flint.arb(part))
        assert abs(true - flint.arb(float(found.value))) <= flint.arb(float(found.error))


@pytest.mark.parametrize(
    ("name", "x"), [("tanh", 20.0), ("tanh", -20.0), ("sigmoid", 40.0), ("sigmoid", -40.0)]
)
def test_where_a_function_is_flat_an_error_is_all_but_forgotten(name: str, x: float) -> None:
    """An error of 1/2 in the argument of a saturated unit."""
    found = RunningError(FORMATS["float64"]).function(name, Num(np.array(x), np.array(0.5)))
    assert found.error is not None
    assert found.error < 1e-14  # e⁻³⁹ times 1/2, and the roundings of the function itself


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_gelu_of_small_numbers_is_within_its_bound_however_they_lie_in_memory(layout: Any) -> None:
    """torch takes erf(x) from 1 − (…) where rows are strided, so that its error is one of 1, not of erf(x)."""
    x = torch.linspace(-0.05, 0.05, 37 * 3 * 19).view(37, 3, 19)
    y, allowed = spec.bound("activation.gelu", {"x": x.double().flatten().numpy()}, dtype="float32")[0]
    found = torch.nn.functional.gelu(layout(x)).double().flatten().numpy()
    assert (np.abs(found - y) <= allowed).all()


@pytest.mark.parametrize("size", [1.0, 1e3, 1e4, -1e4])
def test_the_logarithm_of_a_sum_of_exponentials_has_no_limit_of_size(size: float) -> None:
    """ln Σ exp(s) for scores of ±10⁴, whose exponentials are beyond float64 either way."""
    s, out = data("s", n), tensor("out")
    formula = Formula(
        "test.log_sum_exp", "", (s,), (define(out, log(Sum(exp(s[j]), (j, 0, n - 1)))),), (out,)
    )
    try:
        inputs = {"s": size + np.arange(5.0)}
        (balls,) = enclose(formula, inputs)
        for dtype in ("float64", "float32"):
            ((value, tolerance),) = bound(formula, inputs, dtype=dtype)
            assert np.isfinite(tolerance)
            assert tolerance < 100 * FORMATS[dtype].unit * abs(size)
            assert np.abs(value - midpoints(balls)) <= tolerance + radii(balls)
    finally:
        forget(formula.id)


@pytest.mark.parametrize("name", ["sigmoid", "exp"])
def test_what_a_kernel_flushes_of_an_exponential_is_within_its_error(name: str) -> None:
    """Just above the smallest normal number of float32, where oneDNN's kernels give 0: the power of two below it is subnormal."""
    walk, x = RunningError(FORMATS["float32"]), Num(np.array(-87.05), np.array(0.0))
    found = walk.exponential(x, None, None) if name == "exp" else walk.function(name, x)
    assert found.error is not None
    assert 1.1e-38 < float(found.value) < 2**-125.5
    assert float(found.error) > float(found.value)
