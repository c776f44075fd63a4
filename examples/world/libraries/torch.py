"""PyTorch."""

import torch.nn.functional as F
from torch import nn

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import function, module

component = of("torch")

# fmt: off


@component("F.scaled_dot_product_attention", "attention.scaled_dot_product")
def attention():
    """With a boolean mask."""
    return function(F.scaled_dot_product_attention, "q, k, v, mask")


@component("nn.MultiheadAttention", "attention.multi_head")
def multi_head():
    """Weights are packed; its mask says what to drop, and is given for every head."""
    weights = {"in_proj_weight": "cat(rows(W_q), rows(W_k), rows(W_v))", "out_proj.weight": "W_o.T", "*bias": 0}
    arguments, call = "d_model, h, batch_first=True", "x, y, y, attn_mask=mask"
    return module(nn.MultiheadAttention, weights, call, arguments=arguments, mask="drop heads", sizes=ONE_WIDTH)


@component("nn.MultiheadAttention, key_padding_mask", "attention.multi_head")
def padded():
    """With the sequence first, and a mask of keys."""
    q, k, v = (f"heads(in_proj_weight.chunk(3)[{place}], h)" for place in range(3))
    weights, arguments = {"W_q": q, "W_k": k, "W_v": v, "W_o": "out_proj.weight.T"}, "d_model, h, bias=False"
    call, how = "x, y, y, key_padding_mask=mask", {"mask": "drop keys", "seq_first": True, "sizes": ONE_WIDTH}
    return module(nn.MultiheadAttention, weights, call, arguments=arguments, **how)


@component("nn.TransformerEncoderLayer", "transformer.encoder_layer")
def encoder_layer():
    """In evaluation, with gradients."""
    weights = {"*in_proj_weight": "cat(rows(W_q), rows(W_k), rows(W_v))", "*out_proj.weight": "W_o.T", "self*bias": 0}
    names = ("linear?.weight", "W_?.T"), ("linear?.bias", "b_?"), ("norm?.weight", "gamma_?"), ("norm?.bias", "beta_?")
    weights |= {name.replace("?", t): letter.replace("?", t) for name, letter in names for t in "12"}
    arguments, how = "d_model, h, d_ff, layer_norm_eps=eps, batch_first=True", {"mask": "drop heads", "sizes": ONE_WIDTH}
    return module(nn.TransformerEncoderLayer, weights, "x, src_mask=mask", arguments=arguments, **how)


@component("nn.LSTM", "recurrent.lstm")
def lstm():
    """Its second bias is 0; of what it returns the last cell state is an output."""
    weights = {"weight_ih_l0": "W_x", "weight_hh_l0": "W_h", "bias_ih_l0": "b", "bias_hh_l0": 0}
    call, pick = "x, (h.unsqueeze(0), s.unsqueeze(0))", "out[0], out[1][1][0]"
    return module(nn.LSTM, weights, call, arguments="p, d, batch_first=True", pick=pick)


@component("nn.GRU", "recurrent.gru")
def gru():
    """One layer."""
    weights = {"weight_ih_l0": "W_x", "weight_hh_l0": "W_h", "bias_ih_l0": "b_x", "bias_hh_l0": "b_h"}
    return module(nn.GRU, weights, "x, h.unsqueeze(0)", arguments="p, d, batch_first=True", pick="out[0]")


@component("nn.LayerNorm", "normalization.layer_norm")
def layer_norm():
    """Over the last axis."""
    return module(nn.LayerNorm, {"weight": "gamma", "bias": "beta"}, arguments="d, eps", batch=None)


@component("nn.RMSNorm", "normalization.rms_norm")
def rms_norm():
    """Over the last axis."""
    return module(nn.RMSNorm, {"weight": "gamma"}, arguments="d, eps", batch=None)


@component("nn.CosineSimilarity", "similarity.cosine")
def cosine():
    """Norms below 1e-8 count as 1e-8."""
    return module(nn.CosineSimilarity, arguments="-1, 1e-8", batch=None)


@component("nn.Bilinear", "scores.general")
def bilinear():
    """With one output, of every query with every key."""
    call = "q.unsqueeze(-2).expand(-1, n, m, d_q), k.unsqueeze(-3).expand(-1, n, m, d_k)"
    return module(nn.Bilinear, {"weight": "W.unsqueeze(0)"}, call, arguments="d_q, d_k, 1, bias=False", pick="out.squeeze(-1)")
