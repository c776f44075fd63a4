"""The first-order bound for compositions."""

from __future__ import annotations

import numpy as np
import pytest

from spec.language.differentiation.adjoint import first_order_bound
from spec.language.evaluation.evaluate import bound, evaluate
from spec.language.formula import Formula
from spec.language.registry import find
from tests.spec.language.cases import inputs_of, layered
from tests.spec.language.evaluation.simulated import simulate


def composition() -> tuple[Formula, dict[str, object]]:
    """Two layers and an input."""
    x = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32).astype(np.float64)
    return layered(), {"x": x}


@pytest.mark.parametrize("seed", range(20))
def test_random_projections_of_a_composition_in_float32_stay_within_the_first_order_bound(seed: int) -> None:
    """±1 projections and single entries of two layers, computed in float32 in any order of summation."""
    formula, inputs = composition()
    rng = np.random.default_rng(seed)
    (exact,) = evaluate(formula, inputs)
    projection = rng.choice([-1.0, 1.0], size=exact.shape)
    if seed % 2:
        projection = np.zeros(exact.shape)
        projection[tuple(rng.integers(exact.shape))] = 1.0
    found = first_order_bound(formula, inputs, projection)
    (got,) = simulate(formula.flat(), inputs, np.float32, seed)
    assert abs((projection * got).sum() - (projection * exact).sum()) <= found.bound
    # The same products, summed in two orders: each sum of n terms is off by (n − 1) roundings of the terms' sizes at most.
    twice = 2 * (exact.size - 1) * 2.0**-53 * found.magnitude
    assert abs(found.value - (projection * exact).sum()) <= twice


def test_the_first_order_bound_is_far_below_the_running_one_on_a_composition() -> None:
    """That is why it exists."""
    formula, inputs = composition()
    ((_, running),) = bound(formula, inputs)
    projection = np.zeros(running.shape)
    projection[0, 0] = 1
    assert first_order_bound(formula, inputs, projection).bound < running[0, 0]


def test_a_useless_bound_says_so() -> None:
    """When every operation rounds to bfloat16 and scores are huge nothing is decided, and the result is marked useless."""
    inputs = inputs_of("attention.scaled_dot_product", "huge scores", 1)
    shape = (inputs["q"].shape[0], inputs["v"].shape[1])
    rounding = {"intermediates": "storage"}
    found = first_order_bound(
        find("attention.scaled_dot_product"), inputs, np.ones(shape), rounding, "bfloat16"
    )
    assert not found.useful
