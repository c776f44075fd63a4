"""Recurrences in the number systems: enclosures, the running bound step by step, storage at every step."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from spec.language.evaluation.balls import midpoints, radii
from spec.language.evaluation.evaluate import bound, enclose, evaluate
from spec.language.known import forget
from spec.language.registry import find
from tests.spec.language.cases import REGIMES
from tests.spec.language.evaluation.simulated import simulate
from tests.spec.language.recurrent_cases import (
    RECURRENT,
    backwards,
    grid,
    mutual,
    recurrent_inputs,
    remembering,
)

LOGARITHMS = ("recurrent.bilm_objective",)
"""The simulation takes the maximum off exponentials for good, which is right for shares of a total, not for its logarithm."""


@pytest.mark.parametrize("formula_id", RECURRENT)
@pytest.mark.parametrize("regime", REGIMES)
def test_float64_lies_within_its_own_bound_of_the_enclosure(formula_id: str, regime: str) -> None:
    """For every output, however many steps led to it."""
    formula = find(formula_id)
    for seed in range(3):
        inputs = recurrent_inputs(formula_id, regime, seed)
        for balls, (value, tolerance) in zip(
            enclose(formula, inputs), bound(formula, inputs, dtype="float64"), strict=True
        ):
            assert (np.abs(value - midpoints(balls)) <= tolerance + radii(balls)).all()


@pytest.mark.parametrize("formula_id", [name for name in RECURRENT if name not in LOGARITHMS])
@pytest.mark.parametrize("regime", REGIMES)
def test_a_line_by_line_implementation_is_within_the_bound(formula_id: str, regime: str) -> None:
    """Float32 that follows the statement and adds in any order, over all steps."""
    formula = find(formula_id)
    for seed in range(3):
        inputs = recurrent_inputs(formula_id, regime, seed)
        judged = bound(formula, inputs, {"intermediates": "storage"}, "float32")
        for balls, (_, tolerance), got in zip(
            enclose(formula, inputs), judged, simulate(formula.flat(), inputs, np.float32, seed), strict=True
        ):
            assert (np.abs(got - midpoints(balls)) <= tolerance + radii(balls)).all()


@pytest.mark.parametrize("build", [grid, backwards, remembering, mutual])
def test_every_kind_of_recurrence_is_within_its_bound(build) -> None:  # type: ignore[no-untyped-def]
    """Two indices, a descending one, the whole past, two tensors at once."""
    formula = build()
    rng = np.random.default_rng(8)
    shapes = {"x": (5, 2), "W": (2, 2), "start": (4, 2)}
    inputs = {
        t.name: rng.normal(size=shapes[t.name]).astype(np.float32).astype(float) for t in formula.tensors
    }
    try:
        (balls,) = enclose(formula, inputs)
        ((value, tolerance),) = bound(formula, inputs, {"intermediates": "storage"}, "float32")
        (got,) = simulate(formula.flat(), inputs, np.float32)
        assert np.abs(value - midpoints(balls)).max() < 1e-14  # a few dozen units of float64
        assert (np.abs(got - midpoints(balls)) <= tolerance + radii(balls)).all()
    finally:
        forget(formula.id)


def test_a_saturated_unit_forgets_the_error_of_what_it_was_made_of() -> None:
    """The bound shrinks where tanh is flat: large inputs leave less than one rounding of a state, at every step."""
    inputs = recurrent_inputs("recurrent.rnn", "unit", 2)
    inputs["x"] = np.where(inputs["x"] > 0, 50.0, -50.0) + inputs["x"]
    inputs["W_xh"] = np.abs(inputs["W_xh"]) + 1.0
    inputs["x"] = np.abs(inputs["x"])
    (_, tolerance), *_ = bound(find("recurrent.rnn"), inputs, dtype="float32")
    assert tolerance.max() < 8 * 2.0**-24


def test_a_state_is_stored_at_every_step() -> None:
    """In bfloat16 the state that a step reads is the rounded one: the bound grows from the first step on."""
    inputs = recurrent_inputs("recurrent.rnn", "unit", 3)
    single = bound(find("recurrent.rnn"), inputs, dtype="float32")[0][1]
    half = bound(find("recurrent.rnn"), inputs, dtype="bfloat16")[0][1]
    value = evaluate(find("recurrent.rnn"), inputs)[0]
    assert (half[0] >= 0.99 * 2.0**-8 * np.abs(value[0])).all()
    assert (half[1:] > 2 * 2.0**-8 * np.abs(value[1:]) + single[1:]).any()


@pytest.mark.parametrize(("formula_id", "seconds"), [("recurrent.rnn", 1.0), ("recurrent.lstm", 2.0)])
def test_forty_steps_of_a_wide_network_are_a_matter_of_moments(formula_id: str, seconds: float) -> None:
    """T = 40, d = 19, p = 17, value and bound (some fifty milliseconds on an idle core)."""
    rng = np.random.default_rng(1)
    shapes = {
        "recurrent.rnn": {"x": (40, 17), "h": (19,), "W_xh": (19, 17), "W_hh": (19, 19), "W_hy": (5, 19)},
        "recurrent.lstm": {
            "x": (40, 17),
            "h": (19,),
            "s": (19,),
            "W_x": (76, 17),
            "W_h": (76, 19),
            "b": (76,),
        },
    }
    inputs = {name: rng.normal(size=shape) for name, shape in shapes[formula_id].items()}
    find(formula_id).flat()
    began = process_time()
    bound(find(formula_id), inputs)
    assert process_time() - began < seconds
