"""OpenNMT."""

from onmt.modules import MultiHeadedAttention
from onmt.modules.global_attention import GlobalAttention
from onmt.modules.position_ffn import PositionwiseFeedForward
from onmt.modules.rmsnorm import RMSNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module

component = of("opennmt-py")

# fmt: off


@component("MultiHeadedAttention", "attention.multi_head")
def multi_head():
    """Its mask says what to drop."""
    weights = {"linear_query.weight": "rows(W_q)", "linear_keys.weight": "rows(W_k)", "linear_values.weight": "rows(W_v)"}
    weights["final_linear.weight"] = "W_o.T"
    arguments, how = "h, d_model, 0.0, attn_type='context'", {"mask": "drop b1nm", "sizes": ONE_WIDTH}
    return module(MultiHeadedAttention, weights, "y, y, x, mask", arguments=arguments, **how)


@component("GlobalAttention(mlp), weights", "attention.additive_weights")
def additive():
    """By lengths; its bias and what it makes of the mean are left out."""
    weights = {"linear_context.weight": "W[:, :d_k]", "linear_query.weight": "W[:, d_k:]", "v.weight": "v.unsqueeze(0)"}
    call, how = "q, k, mask", {"mask": "lengths", "pick": 1, "sizes": {"b": "d_k", "d_q": "d_k"}}
    return module(GlobalAttention, {**weights, "*": 0}, call, arguments="d_k, attn_type='mlp'", **how)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """It computes in float32."""
    return module(RMSNorm, {"weight": "gamma"}, arguments="d, eps")


@component("PositionwiseFeedForward", "normalization.residual")
def feedforward():
    """With its normalization first, here of gain 1."""
    weights = {"w_1.weight": "W_1.T", "w_1.bias": "b_1", "w_2.weight": "W_2.T", "w_2.bias": "b_2", "layer_norm*": None}
    return module(PositionwiseFeedForward, weights, "x", arguments="d, f, 0.0")
