"""PyTorch."""

import torch.nn.functional as F
from torch import nn

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import function, module, rows

component = of("torch")

LAYER = {
    "linear1.bias": "b_1", "norm1.weight": "gamma_1", "norm1.bias": "beta_1",
    "linear2.bias": "b_2", "norm2.weight": "gamma_2", "norm2.bias": "beta_2",
}  # fmt: skip
"""The parameters of a layer that are what they are in the statement, and their letters."""

# fmt: off


@component("F.scaled_dot_product_attention", "attention.scaled_dot_product")
def attention():
    """With a boolean mask."""
    return function(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask))


@component("nn.MultiheadAttention", "attention.multi_head")
def multi_head():
    """Weights are packed; its mask says what to drop, and is given for every head."""
    build = lambda d_model, h: nn.MultiheadAttention(d_model, h, batch_first=True)
    weights = lambda W_q, W_k, W_v, W_o: {"in_proj_weight": rows(W_q, W_k, W_v), "out_proj.weight": W_o.T, "*bias": 0}
    call = lambda attend, x, y, mask: attend(x, y, y, attn_mask=mask)
    return module(build, weights, call, mask="drop heads", sizes=ONE_WIDTH)


@component("nn.MultiheadAttention, key_padding_mask", "attention.multi_head")
def padded():
    """With the sequence first, and a mask of keys."""
    build = lambda d_model, h: nn.MultiheadAttention(d_model, h, bias=False)
    weights = lambda W_q, W_k, W_v, W_o: {"in_proj_weight": rows(W_q, W_k, W_v), "out_proj.weight": W_o.T}
    call = lambda attend, x, y, mask: attend(x, y, y, key_padding_mask=mask)
    return module(build, weights, call, mask="drop keys", seq_first=True, sizes=ONE_WIDTH)


@component("nn.TransformerEncoderLayer", "transformer.encoder_layer")
def encoder_layer():
    """In evaluation, with gradients."""
    def weights(W_q, W_k, W_v, W_o, W_1, W_2, **w):
        own = {"*in_proj_weight": rows(W_q, W_k, W_v), "*out_proj.weight": W_o.T, "self*bias": 0, "linear1.weight": W_1.T}
        return own | {"linear2.weight": W_2.T} | {at: w[of] for at, of in LAYER.items()}
    build = lambda d_model, h, d_ff, eps: nn.TransformerEncoderLayer(d_model, h, d_ff, layer_norm_eps=eps, batch_first=True)
    return module(build, weights, lambda encode, x, mask: encode(x, src_mask=mask), mask="drop heads", sizes=ONE_WIDTH)


@component("nn.LSTM", "recurrent.lstm")
def lstm():
    """Its second bias is 0; of what it returns the last cell state is an output."""
    weights = lambda W_x, W_h, b: {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": b, "bias_hh_l0": 0}
    call, pick = lambda lstm, x, h, s: lstm(x, (h.unsqueeze(0), s.unsqueeze(0))), lambda out: (out[0], out[1][1][0])
    return module(lambda p, d: nn.LSTM(p, d, batch_first=True), weights, call, pick=pick)


@component("nn.GRU", "recurrent.gru")
def gru():
    """One layer."""
    weights = lambda W_x, W_h, b_x, b_h: {"weight_ih_l0": W_x, "weight_hh_l0": W_h, "bias_ih_l0": b_x, "bias_hh_l0": b_h}
    return module(lambda p, d: nn.GRU(p, d, batch_first=True), weights, lambda gru, x, h: gru(x, h.unsqueeze(0)))


@component("nn.LayerNorm", "normalization.layer_norm")
def layer_norm():
    """Over the last axis."""
    return module(lambda d, eps: nn.LayerNorm(d, eps), lambda gamma, beta: {"weight": gamma, "bias": beta}, batch=None)


@component("nn.RMSNorm", "normalization.rms_norm")
def rms_norm():
    """Over the last axis."""
    return module(lambda d, eps: nn.RMSNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)


@component("nn.CosineSimilarity", "similarity.cosine")
def cosine():
    """Norms below 1e-8 count as 1e-8."""
    return module(lambda: nn.CosineSimilarity(-1, 1e-8), batch=None)


@component("nn.Bilinear", "scores.general")
def bilinear():
    """With one output, of every query with every key."""
    pairs = lambda q, k, n, m: (q.unsqueeze(-2).expand(-1, n, m, -1), k.unsqueeze(-3).expand(-1, n, m, -1))
    call = lambda layer, q, k, n, m: layer(*pairs(q, k, n, m)).squeeze(-1)
    return module(lambda d_q, d_k: nn.Bilinear(d_q, d_k, 1, bias=False), lambda W: {"weight": W.unsqueeze(0)}, call)
