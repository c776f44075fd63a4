"""OpenCLIP."""

from open_clip.transformer import Attention, LayerNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module

component = of("open-clip-torch")

# fmt: off


@component("Attention, causal mask", "attention.causal_multi_head")
def causal():
    """Its mask says what to drop."""
    weights = {"in_proj_weight": "cat(rows(W_q), rows(W_k), rows(W_v))", "out_proj.weight": "W_o.T", "out_proj.bias": "b_o"}
    weights["in_proj_bias"] = "cat(b_q.flatten(), b_k.flatten(), b_v.flatten())"
    return module(Attention, weights, "x, ~causal(n)", arguments="d_model, h", sizes=ONE_WIDTH)


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """Over the last axis."""
    return module(LayerNorm, {"weight": "gamma", "bias": "beta"}, arguments="d, eps")
