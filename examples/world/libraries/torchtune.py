"""torchtune."""

from torch import nn
from torchtune.modules import Fp32LayerNorm, MultiHeadAttention, RMSNorm, RotaryPositionalEmbeddings

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module

component = of("torchtune")

# fmt: off


@component("MultiHeadAttention", "attention.multi_head")
def multi_head():
    """It is given its layers."""
    def build(d_model, h, d_k):
        layers = {f"{of}_proj": nn.Linear(d_model, d_model, bias=False) for of in ("q", "k", "v", "output")}
        return MultiHeadAttention(embed_dim=d_model, num_heads=h, num_kv_heads=h, head_dim=d_k, **layers, is_causal=False)
    weights = {f"{of}_proj.weight": f"rows(W_{of})" for of in "qkv"} | {"output_proj.weight": "W_o.T"}
    return module(build, weights, "x, y, mask=mask", mask="bnm", sizes=ONE_WIDTH)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """It computes in float32."""
    return module(RMSNorm, {"scale": "gamma"}, arguments="d, eps")


@component("Fp32LayerNorm", "normalization.layer_norm")
def layer_norm():
    """It computes in float32."""
    return module(Fp32LayerNorm, {"weight": "gamma", "bias": "beta"}, arguments="d, eps=eps")


@component("RotaryPositionalEmbeddings", "examples/formulas/rope.py:rope")
def rotary():
    """Neighbouring entries are a pair; positions are whole numbers."""
    return module(RotaryPositionalEmbeddings, {}, "x.unsqueeze(2), input_pos=p.long()", arguments="2 * h", pick="out[:, :, 0]")
