"""In which line of its statement a callable loses digits is found by holding each in a coarser type, many at once, and is said in
the first line of a report.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import impl.attention
from spec.language.evaluation.evaluate import evaluate
from spec.language.registry import find
from verify import check
from verify.accuracy.lost_digits import COARSE, _names, evaluate_rounded
from verify.inputs.examples import round_to
from verify.oracle import examples_at_once

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


CLOSE = 1000 * 2.0**-53
"""How far apart sums of a few dozen terms may be whose order differs, as a share of the largest entry: far above their roundoff,
and far below that of any type in which a line is held.
"""


@pytest.mark.parametrize("name", SHAPES)
def test_several_held_at_once_are_what_each_is_alone(name: str) -> None:
    """Every line and every input, in both types: outputs agree up to the order of sums, and each changes some output."""
    flat, random = find(name).flat(), np.random.default_rng(0)
    inputs: dict[str, Any] = {key: random.standard_normal(shape) for key, shape in SHAPES[name].items()}
    every = [(line, dtype) for line in _names(flat, inputs) for dtype in COARSE]
    assert examples_at_once(flat, inputs) > 1
    exact = evaluate(flat, inputs)
    for (line, dtype), found in zip(every, evaluate_rounded(flat, inputs, every), strict=True):
        (alone,) = evaluate_rounded(flat, inputs, [(line, dtype)])
        changed = False
        for output, value in zip(flat.outputs, exact, strict=True):
            most = np.abs(value).max()
            assert np.abs(found[output.name] - alone[output.name]).max() <= CLOSE * most
            changed |= bool(np.abs(alone[output.name] - value).max() > 2.0**-20 * most)
        assert changed, (line, dtype)


def test_an_input_that_is_held_is_the_rounded_input() -> None:
    """What the statement says of it, beside other lines that are held in the same run."""
    flat, random = find("recurrent.rnn").flat(), np.random.default_rng(0)
    inputs = {key: random.standard_normal(shape) for key, shape in SHAPES["recurrent.rnn"].items()}
    _, found = evaluate_rounded(flat, inputs, [("H", "bfloat16"), ("x", "float16")])
    wanted = evaluate(flat, {**inputs, "x": round_to(inputs["x"], "float16")})
    for output, value in zip(flat.outputs, wanted, strict=True):
        assert np.abs(found[output.name] - value).max() <= CLOSE * np.abs(value).max()


def test_exponents_of_their_own_survive_beside_a_line_that_is_held() -> None:
    """exp(1000) has no place in float64: what is held in a type is infinite there, and so is nothing else."""
    flat = find("attention.softmax").flat()
    inputs = {"s": np.array([[1000.0, 999.5, -1000.0]])}
    every = [("s", "float16"), *((line, "bfloat16") for line in _names(flat, inputs))]
    for (line, dtype), found in zip(every, evaluate_rounded(flat, inputs, every), strict=True):
        (alone,) = evaluate_rounded(flat, inputs, [(line, dtype)])
        for output in flat.outputs:
            np.testing.assert_allclose(found[output.name], alone[output.name], rtol=CLOSE, equal_nan=True)
    ((weights,), (value,)) = next(evaluate_rounded(flat, inputs, every[:1])).values(), evaluate(flat, inputs)
    assert np.abs(weights - value).max() < 2.0**-9  # 1000 and 999.5 are numbers of float16


def test_the_line_in_which_digits_are_lost_is_told_before_the_nearest_convention():
    """Scores in half of the digits: what leaves unsaid where that shows is near, and explains nothing."""

    def layer(x, W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2, eps, mask=None):
        z = impl.attention.multi_head(x, x, W_q, W_k, W_v, W_o, mask)
        s = F.layer_norm(x + z, x.shape[-1:], g_1, b_1, eps)
        s = s.half().to(s.dtype) if s.dtype == torch.float32 else s
        return F.layer_norm(s + (s @ W_1 + c_1).relu() @ W_2 + c_2, x.shape[-1:], g_2, b_2, eps)

    report = check(layer, "transformer.encoder_layer")
    assert report.headline.startswith("falsified: as if `s` were held in float16")
    assert "convention" not in report.headline


def test_where_it_shows_stands_beside_the_line_in_which_digits_are_lost():
    """Weights in half of the digits where there are many keys: both are told."""

    def attention(q, k, v, mask=None):
        s = q @ k.mT / q.shape[-1] ** 0.5
        a = impl.attention.softmax(s, mask)
        return (a.half().to(a.dtype) if a.shape[-1] >= 7 and a.dtype == torch.float32 else a) @ v

    headline = check(attention, "attention.scaled_dot_product").headline
    assert headline.startswith("falsified: as if `a` were held in float16")
