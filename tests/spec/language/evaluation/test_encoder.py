"""A whole encoder from its symbols, at a small size and at that of a real model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.encoder import drawn, encoder
from spec import expected_error
from spec.language.evaluation.evaluate import evaluate

FAR = 32
"""So many times what careful arithmetic errs by, an entry's error is: the limit of the accuracy grades in float32."""


def layer(inputs: dict[str, Any], place: int) -> torch.nn.TransformerEncoderLayer:
    """PyTorch's layer with these weights."""
    heads, width = inputs["W_q"].shape[1:3]
    made = torch.nn.TransformerEncoderLayer(
        width,
        heads,
        inputs["W_1"].shape[2],
        0.0,
        batch_first=True,
        layer_norm_eps=inputs["eps"],
        dtype=torch.float64,
    ).eval()
    given = {
        name: torch.tensor(inputs[name][place]) for name in inputs if np.ndim(inputs[name]) and name != "x"
    }
    with torch.no_grad():
        made.self_attn.in_proj_weight.copy_(
            torch.cat([given[name].mT.reshape(width, width) for name in ("W_q", "W_k", "W_v")])
        )
        made.self_attn.in_proj_bias.zero_()
        made.self_attn.out_proj.weight.copy_(given["W_o"].T)
        made.self_attn.out_proj.bias.zero_()
        for own, name in (("linear1", "1"), ("linear2", "2")):
            getattr(made, own).weight.copy_(given[f"W_{name}"].T)
            getattr(made, own).bias.copy_(given[f"b_{name}"])
            getattr(made, f"norm{name}").weight.copy_(given[f"g_{name}"])
            getattr(made, f"norm{name}").bias.copy_(given[f"s_{name}"])
    return made


@pytest.mark.parametrize(
    ("tokens", "width", "heads", "inside", "layers"), [(7, 12, 3, 20, 2), (15, 384, 12, 1536, 6)]
)
def test_the_encoder_composed_of_statements_is_pytorchs(
    tokens: int, width: int, heads: int, inside: int, layers: int
) -> None:
    """Entry by entry, as near as float64 allows careful arithmetic to come."""
    inputs = drawn(tokens, width, heads, inside, layers)
    (value,) = evaluate(encoder, inputs)
    ((again, sigma),) = expected_error(encoder, inputs, dtype="float64", samples=8)
    assert (np.abs(again - value) <= FAR * sigma).all()  # sums in another order
    x = torch.tensor(inputs["x"])[None]
    with torch.no_grad():
        for place in range(layers):
            x = layer(inputs, place)(x)
    assert (np.abs(x[0].numpy() - value) <= FAR * sigma).all()
    assert sigma.max() < 1e-9 * np.abs(value).max()  # which says something
