"""OpenNMT."""

from onmt.modules import MultiHeadedAttention
from onmt.modules.global_attention import GlobalAttention
from onmt.modules.position_ffn import PositionwiseFeedForward
from onmt.modules.rmsnorm import RMSNorm

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify.adapt import module, rows

component = of("opennmt-py")

# fmt: off


@component("MultiHeadedAttention", "attention.multi_head")
def multi_head():
    """Its mask says what to drop."""
    at = {"linear_query.weight": "W_q", "linear_keys.weight": "W_k", "linear_values.weight": "W_v"}
    weights = lambda W_o, **w: {"final_linear.weight": W_o.T, **{name: rows(w[of]) for name, of in at.items()}}
    build = lambda h, d_model: MultiHeadedAttention(h, d_model, 0.0, attn_type="context")
    return module(build, weights, lambda attend, x, y, mask: attend(y, y, x, mask), mask="drop b1nm", sizes=ONE_WIDTH)


@component("GlobalAttention(mlp), weights", "attention.additive_weights")
def additive():
    """By lengths; its bias and what it makes of the mean are left out."""
    def weights(W, v, d_k):
        return {"linear_context.weight": W[:, :d_k], "linear_query.weight": W[:, d_k:], "v.weight": v.unsqueeze(0), "*": 0}
    how = {"mask": "lengths", "pick": 1, "sizes": {"b": "d_k", "d_q": "d_k"}}
    return module(lambda d_k: GlobalAttention(d_k, attn_type="mlp"), weights, **how)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """It computes in float32."""
    return module(lambda d, eps: RMSNorm(d, eps), lambda gamma: {"weight": gamma})


@component("PositionwiseFeedForward", "normalization.residual")
def feedforward():
    """With its normalization first, here of gain 1."""
    def weights(W_1, b_1, W_2, b_2):
        return {"w_1.weight": W_1.T, "w_1.bias": b_1, "w_2.weight": W_2.T, "w_2.bias": b_2, "layer_norm*": None}
    return module(lambda d, f: PositionwiseFeedForward(d, f, 0.0), weights)
