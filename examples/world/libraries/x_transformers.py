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
from verify.adapt import function, module

component = of("x-transformers")

# fmt: off


@component("Attention", "attention.multi_head")
def attention():
    """Over a context."""
    weights = {"to_q.weight": "rows(W_q)", "to_k.weight": "rows(W_k)", "to_v.weight": "rows(W_v)", "to_out.weight": "W_o.T"}
    arguments = "d_model, dim_head=d_k, heads=h, value_dim_head=d_v, project_out=True"
    return module(Attention, weights, "x, context=y, attn_mask=mask", arguments=arguments, mask="b1nm")


@component("Attention(flash=True)", "attention.multi_head")
def flash():
    """Over a context, through torch's fused kernel."""
    weights = {"to_q.weight": "rows(W_q)", "to_k.weight": "rows(W_k)", "to_v.weight": "rows(W_v)", "to_out.weight": "W_o.T"}
    arguments = "d_model, dim_head=d_k, heads=h, value_dim_head=d_v, flash=True, project_out=True"
    return module(Attention, weights, "x, context=y, attn_mask=mask", arguments=arguments, mask="b1nm")


@component("Attention, context_mask", "attention.multi_head")
def padded():
    """Over a context, with a mask of its keys."""
    weights = {"to_q.weight": "rows(W_q)", "to_k.weight": "rows(W_k)", "to_v.weight": "rows(W_v)", "to_out.weight": "W_o.T"}
    arguments = "d_model, dim_head=d_k, heads=h, value_dim_head=d_v, project_out=True"
    return module(Attention, weights, "x, context=y, context_mask=mask", arguments=arguments, mask="keys")


@component("FeedForward", "feedforward.gelu")
def feedforward():
    """Its width is a multiple of d."""
    weights = {"ff.0.0.weight": "W_1.T", "ff.0.0.bias": "b_1", "ff.2.weight": "W_2.T", "ff.2.bias": "b_2"}
    return module(FeedForward, weights, "x", arguments="d, mult=f / d", sizes={"f": "d*any"})


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """It has no bias, and the ε of torch."""
    return module(LayerNorm, {"gamma": "gamma"}, arguments="d", batch=None, fixed={"eps": 1e-5, "beta": 0})


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """By F.normalize, whose ε is the least norm."""
    return module(RMSNorm, {"g": "gamma"}, arguments="d", batch=None, fixed={"eps": 1e-37})


@component("AbsolutePositionalEmbedding", "positional.learned")
def learned():
    """Times 1/√d, which it is given back, where that is exact."""
    weights, how = {"emb.weight": "W_PE * sqrt(d)"}, {"sizes": {"d": "4|16|64"}}
    return module(AbsolutePositionalEmbedding, weights, "zeros(1, 1), pos=pos", arguments="d, N", **how)


@component("RotaryEmbedding", "examples/formulas/rope.py:rope")
def rotary():
    """Neighbouring entries are a pair; of one pair alone it divides by zero."""
    table = lambda x, p: RotaryEmbedding(x.shape[-1]).forward(p)[0]
    return function(lambda x, p: apply_rotary_pos_emb(x, table(x, p)), batch=1, sizes={"h": "2..16"})
