"""torchtune."""

from torch import nn
from torchtune.modules import Fp32LayerNorm, MultiHeadAttention, RMSNorm, RotaryPositionalEmbeddings

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module, rows

component = of("torchtune")

# fmt: off


@component("MultiHeadAttention", "attention.multi_head")
def multi_head():
    """It is given its layers."""
    def build(d_model, h, d_k):
        layers = {f"{of}_proj": nn.Linear(d_model, d_model, bias=False) for of in ("q", "k", "v", "output")}
        return MultiHeadAttention(embed_dim=d_model, num_heads=h, num_kv_heads=h, head_dim=d_k, **layers, is_causal=False)
    weights = lambda W_o, **w: {"output_proj.weight": W_o.T, **{f"{of}_proj.weight": rows(w[f"W_{of}"]) for of in "qkv"}}
    return module(build, weights, lambda attend, x, y, mask: attend(x, y, mask=mask), mask="bnm", sizes=ONE_WIDTH)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """It computes in float32."""
    return module(lambda d, eps: RMSNorm(d, eps), lambda gamma: {"scale": gamma})


@component("Fp32LayerNorm", "normalization.layer_norm")
def layer_norm():
    """It computes in float32."""
    return module(lambda d, eps: Fp32LayerNorm(d, eps=eps), lambda gamma, beta: {"weight": gamma, "bias": beta})


@component("RotaryPositionalEmbeddings", "examples/formulas/rope.py:rope")
def rotary():
    """Neighbouring entries are a pair; positions are whole numbers."""
    call = lambda turn, x, p: turn(x.unsqueeze(2), input_pos=p.long())[:, :, 0]
    return module(lambda h: RotaryPositionalEmbeddings(2 * h), None, call)
