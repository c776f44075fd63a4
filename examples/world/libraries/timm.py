"""timm."""

from timm.layers import Attention, LayerNorm2d, Mlp, RmsNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module

component = of("timm")

# fmt: off


@component("Attention(is_causal)", "attention.causal_multi_head")
def causal():
    """Its layer of all three is packed."""
    weights = {"qkv.weight": "cat(rows(W_q), rows(W_k), rows(W_v))", "proj.weight": "W_o.T", "proj.bias": "b_o"}
    weights["qkv.bias"] = "cat(b_q.flatten(), b_k.flatten(), b_v.flatten())"
    return module(Attention, weights, "x, is_causal=True", arguments="d_model, h, qkv_bias=True", sizes=ONE_WIDTH)


@component("Mlp", "feedforward.gelu")
def mlp():
    """Two layers."""
    weights = {"fc1.weight": "W_1.T", "fc1.bias": "b_1", "fc2.weight": "W_2.T", "fc2.bias": "b_2"}
    return module(Mlp, weights, "x", arguments="d, f")


@component("RmsNorm", "normalization.rms_norm")
def rms_norm():
    """Over the last axis."""
    return module(RmsNorm, {"weight": "gamma"}, arguments="d, eps=eps")


@component("LayerNorm2d", "normalization.layer_norm")
def layer_norm():
    """Over the channels of an image, here of one pixel."""
    weights, call = {"weight": "gamma", "bias": "beta"}, "x[:, :, None, None]"
    return module(LayerNorm2d, weights, call, arguments="d, eps=eps", pick="out[:, :, 0, 0]")
