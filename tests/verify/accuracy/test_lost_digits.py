"""Lines held in a coarser type: many at once say what each says alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.language.registry import find
from verify.accuracy.lost_digits import COARSE, _each_held, _names, held
from verify.extents import together

SHAPES = {
    "attention.softmax": {"s": (3, 5)},
    "attention.multi_head": {
        "x": (3, 7),
        "y": (5, 7),
        "W_q": (2, 7, 11),
        "W_k": (2, 7, 11),
        "W_v": (2, 7, 13),
        "W_o": (26, 7),
    },
    "recurrent.rnn": {"x": (5, 7), "h": (11,), "W_xh": (11, 7), "W_hh": (11, 11), "W_hy": (3, 11)},
}


@pytest.mark.parametrize("name", SHAPES)
def test_several_held_at_once_are_what_each_is_alone(name: str) -> None:
    """Every line and every input, in both types: outputs agree up to the order of sums in float64, and do change."""
    flat, random = find(name).flat(), np.random.default_rng(0)
    inputs: dict[str, Any] = {key: random.standard_normal(shape) for key, shape in SHAPES[name].items()}
    every = [(line, dtype) for line in _names(flat, inputs) for dtype in COARSE]
    assert together(flat, inputs) > 1
    changed = 0
    exact = held(flat, inputs, "", "float16")
    for (line, dtype), found in zip(every, _each_held(flat, inputs, every), strict=True):
        alone = held(flat, inputs, line, dtype)
        for output in flat.outputs:
            value = alone[output.name].floats()
            np.testing.assert_allclose(
                found[output.name], value, rtol=1e-12, atol=1e-12 * np.abs(value).max()
            )
            changed += bool((np.abs(value - exact[output.name].floats()) > 2.0**-20 * np.abs(value)).any())
    assert changed >= len(every)


def test_exponents_of_their_own_survive_beside_a_line_that_is_held() -> None:
    """exp(1000) has no place in float64: what is held in a type is infinite there, and so is nothing else."""
    flat = find("attention.softmax").flat()
    inputs = {"s": np.array([[1000.0, 999.5, -1000.0]])}
    every = [("s", "float16"), *((line, "bfloat16") for line in _names(flat, inputs))]
    for (line, dtype), found in zip(every, _each_held(flat, inputs, every), strict=True):
        alone = held(flat, inputs, line, dtype)
        for output in flat.outputs:
            np.testing.assert_allclose(
                found[output.name], alone[output.name].floats(), rtol=1e-12, equal_nan=True
            )
