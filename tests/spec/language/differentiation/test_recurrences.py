"""Gradients through time: recurrences that run backward, against differences taken in balls and against a simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest

from spec.language import Formula
from spec.language.differentiation.gradients import pull_back, vjp
from spec.language.evaluation.balls import midpoints
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.evaluate import enclose
from spec.language.known import forget
from spec.language.registry import find
from tests.spec.language.evaluation.simulated import simulate
from tests.spec.language.recurrent_cases import (
    RECURRENT,
    backwards,
    grid,
    mutual,
    recurrent_inputs,
    remembering,
    running,
)

BITS = 512
STEP = flint.arb(2) ** -120
"""A central difference with this step is wrong by a third derivative times 2⁻²⁴⁰: far below 30 digits at these inputs."""
DIGITS = flint.arb(10) ** -30
LOGARITHMS = ("recurrent.bilm_objective",)
"""The simulation takes the maximum off exponentials for good, which is right for shares of a total, not for its logarithm."""


def seeds_of(formula: Formula, inputs: dict[str, Any]) -> dict[str, Any]:
    """A random cotangent for every output."""
    rng = np.random.default_rng(3)
    outputs = formula.flat().outputs
    return {
        t.name: rng.normal(size=balls.shape).astype(np.float32).astype(float)
        for t, balls in zip(outputs, enclose(formula, inputs), strict=True)
    }


def projection(formula: Formula, inputs: dict[str, Any], seeds: dict[str, Any]) -> Any:
    """Σ ⟨seed, output⟩ as a ball."""
    total = flint.arb(0)
    for tensor, out in zip(formula.flat().outputs, enclose(formula, inputs, bits=BITS), strict=True):
        for g, x in zip(np.ravel(seeds[tensor.name]), np.ravel(out), strict=True):
            total += flint.arb(float(g)) * x
    return total


def shifted(array: Any, place: tuple[int, ...], step: Any) -> Any:
    """The array as balls, one entry moved."""
    balls = np.array(np.frompyfunc(lambda x: flint.arb(float(x)), 1, 1)(np.asarray(array)), dtype=object)
    balls[place] = balls[place] + step
    return balls


def differences_agree(formula: Formula, inputs: dict[str, Any]) -> None:
    """The gradient in balls, entry by entry, against a central difference."""
    saved, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        seeds, gradient = seeds_of(formula, inputs), vjp(formula)
        every = {**inputs, **{gradient.seeds[name].name: seed for name, seed in seeds.items()}}
        found = dict(zip(gradient.gradients, enclose(gradient.flat, every, bits=BITS), strict=True))
        for name, balls in found.items():
            for place in list(np.ndindex(*balls.shape))[:: max(1, balls.size // 4)]:
                ends = [
                    projection(formula, {**inputs, name: shifted(inputs[name], place, sign * STEP)}, seeds)
                    for sign in (1, -1)
                ]
                slope = (ends[0] - ends[1]) / (2 * STEP)
                assert abs(slope - balls[place]) < DIGITS * (1 + abs(slope)), (name, place)
    finally:
        flint.ctx.prec = saved


@pytest.mark.parametrize("formula_id", RECURRENT)
def test_the_gradient_through_time_is_the_difference_quotient_to_thirty_digits(formula_id: str) -> None:
    """Every input's, for all outputs together."""
    differences_agree(find(formula_id), recurrent_inputs(formula_id, "unit", 2))


@pytest.mark.parametrize("build", [grid, backwards, remembering, mutual, running])
def test_every_kind_of_recurrence_is_differentiated(build: Callable[[], Formula]) -> None:
    """Two indices, a descending one, the whole past, two tensors at once; and a sum whose range depends on an index."""
    formula, rng = build(), np.random.default_rng(6)
    shapes = {"x": (3, 2), "W": (2, 2), "start": (3, 2)}
    try:
        differences_agree(formula, {t.name: rng.normal(size=shapes[t.name]) for t in formula.tensors})
    finally:
        forget(formula.id)


@pytest.mark.parametrize("formula_id", [name for name in RECURRENT if name not in LOGARITHMS])
def test_a_line_by_line_gradient_in_float32_is_within_the_bound(formula_id: str) -> None:
    """The backward recurrence has a running bound of its own, and it is tight enough to judge by."""
    formula = find(formula_id)
    for number in range(3):
        inputs = recurrent_inputs(formula_id, "unit", number)
        seeds = seeds_of(formula, inputs)
        judged = pull_back(formula, inputs, seeds, None, {"intermediates": "storage"}, "float32")
        gradient = vjp(formula)
        every = {**inputs, **{gradient.seeds[name].name: seed for name, seed in seeds.items()}}
        exact = enclose(gradient.flat, every)
        got = simulate(gradient.flat, every, np.float32, number)
        for name, balls, value in zip(gradient.gradients, exact, got, strict=True):
            tolerance = judged[name][1]
            assert (np.abs(value - midpoints(balls)) <= tolerance).all(), name
            assert (tolerance < 1e-2 * np.abs(midpoints(balls)).max()).any(), name


def test_sizes_of_gradients_are_those_of_their_inputs() -> None:
    """L + 1 rows of states, 4·d rows of weights."""
    inputs = recurrent_inputs("recurrent.lstm_stacked", "unit", 1)
    formula = find("recurrent.lstm_stacked")
    found = pull_back(formula, inputs, seeds_of(formula, inputs))
    assert {name: value.shape for name, (value, _) in found.items()} == {
        t.name: np.shape(inputs[t.name]) for t in formula.tensors
    }
    assert whole(formula.tensors[3].shape[0], dict.fromkeys(formula.tensors[3].shape[0].free_symbols, 2)) == 8
