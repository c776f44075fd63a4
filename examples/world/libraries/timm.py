"""timm."""

from timm.layers import Attention, LayerNorm2d, Mlp, RmsNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import entries, module, rows

component = of("timm")

# fmt: off


@component("Attention(is_causal)", "attention.causal_multi_head")
def causal():
    """Its layer of all three is packed."""
    def weights(W_q, W_k, W_v, b_q, b_k, b_v, W_o, b_o):
        packed = {"qkv.weight": rows(W_q, W_k, W_v), "qkv.bias": entries(b_q, b_k, b_v)}
        return {**packed, "proj.weight": W_o.T, "proj.bias": b_o}
    build, call = lambda d_model, h: Attention(d_model, h, qkv_bias=True), lambda attend, x: attend(x, is_causal=True)
    return module(build, weights, call, sizes=ONE_WIDTH)


@component("Mlp", "feedforward.gelu")
def mlp():
    """Two layers."""
    weights = lambda W_1, b_1, W_2, b_2: {"fc1.weight": W_1.T, "fc1.bias": b_1, "fc2.weight": W_2.T, "fc2.bias": b_2}
    return module(lambda d, f: Mlp(d, f), weights)


@component("RmsNorm", "normalization.rms_norm")
def rms_norm():
    """Over the last axis."""
    return module(lambda d, eps: RmsNorm(d, eps=eps), lambda gamma: {"weight": gamma})


@component("LayerNorm2d", "normalization.layer_norm")
def layer_norm():
    """Over the channels of an image, here of one pixel."""
    weights, call = lambda gamma, beta: {"weight": gamma, "bias": beta}, lambda norm, x: norm(x[:, :, None, None])[:, :, 0, 0]
    return module(lambda d, eps: LayerNorm2d(d, eps=eps), weights, call)
