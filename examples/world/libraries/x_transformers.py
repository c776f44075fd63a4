"""x-transformers."""

from x_transformers.x_transformers import (
    AbsolutePositionalEmbedding,
    Attention,
    FeedForward,
    LayerNorm,
    RMSNorm,
    RotaryEmbedding,
    apply_rotary_pos_emb,
)

from examples.world.component import of
from verify.adapt import function, module, rows

component = of("x-transformers")

# fmt: off


def build(d_model, h, d_k, d_v, **how):
    """An attention; of one head, too, with an output layer."""
    return Attention(d_model, dim_head=d_k, heads=h, value_dim_head=d_v, project_out=True, **how)


def weights(W_q, W_k, W_v, W_o):
    """Of an attention."""
    return {"to_q.weight": rows(W_q), "to_k.weight": rows(W_k), "to_v.weight": rows(W_v), "to_out.weight": W_o.T}


@component("Attention", "attention.multi_head")
def attention():
    """Over a context."""
    return module(build, weights, lambda attend, x, y, mask: attend(x, context=y, attn_mask=mask), mask="b1nm")


@component("Attention(flash=True)", "attention.multi_head")
def flash():
    """Over a context, through torch's fused kernel."""
    fused = lambda d_model, h, d_k, d_v: build(d_model, h, d_k, d_v, flash=True)
    return module(fused, weights, lambda attend, x, y, mask: attend(x, context=y, attn_mask=mask), mask="b1nm")


@component("Attention, context_mask", "attention.multi_head")
def padded():
    """Over a context, with a mask of its keys."""
    return module(build, weights, lambda attend, x, y, mask: attend(x, context=y, context_mask=mask), mask="keys")


@component("FeedForward", "feedforward.gelu")
def feedforward():
    """Its width is a multiple of d."""
    layers = lambda W_1, b_1, W_2, b_2: {"ff.0.0.weight": W_1.T, "ff.0.0.bias": b_1, "ff.2.weight": W_2.T, "ff.2.bias": b_2}
    return module(lambda d, f: FeedForward(d, mult=f / d), layers, sizes={"f": "d*any"})


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """It has no bias, and the ε of torch."""
    return module(lambda d: LayerNorm(d), batch=None, fixed={"eps": 1e-5, "beta": 0})


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """By F.normalize, whose ε is the least norm."""
    return module(lambda d: RMSNorm(d), lambda gamma: {"g": gamma}, batch=None, fixed={"eps": 1e-37})


@component("AbsolutePositionalEmbedding", "positional.learned")
def learned():
    """Times 1/√d, which it is given back, where that is exact."""
    build, table = lambda d, N: AbsolutePositionalEmbedding(d, N), lambda W_PE, d: {"emb.weight": W_PE * d**0.5}
    return module(build, table, lambda embed, pos: embed(pos.new_zeros(1, 1), pos=pos), sizes={"d": "4|16|64"})


@component("RotaryEmbedding", "examples/formulas/rope.py:rope")
def rotary():
    """Neighbouring entries are a pair; of one pair alone it divides by zero."""
    table = lambda x, p: RotaryEmbedding(x.shape[-1]).forward(p)[0]
    return function(lambda x, p: apply_rotary_pos_emb(x, table(x, p)), batch=1, sizes={"h": "2..16"})
