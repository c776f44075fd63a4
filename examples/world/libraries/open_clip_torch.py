"""OpenCLIP."""

from open_clip.transformer import Attention, LayerNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import causal as mask
from verify.adapt import entries, module, rows

component = of("open-clip-torch")

# fmt: off


@component("Attention, causal mask", "attention.causal_multi_head")
def causal():
    """Its mask says what to drop."""
    def weights(W_q, W_k, W_v, b_q, b_k, b_v, W_o, b_o):
        inward = {"in_proj_weight": rows(W_q, W_k, W_v), "in_proj_bias": entries(b_q, b_k, b_v)}
        return {**inward, "out_proj.weight": W_o.T, "out_proj.bias": b_o}
    call = lambda attend, x, n: attend(x, ~mask(n, device=x.device))
    return module(lambda d_model, h: Attention(d_model, h), weights, call, sizes=ONE_WIDTH)


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """Over the last axis."""
    return module(lambda d, eps: LayerNorm(d, eps), lambda gamma, beta: {"weight": gamma, "bias": beta})
