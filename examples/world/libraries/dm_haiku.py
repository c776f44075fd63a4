"""Haiku."""

import haiku as hk

from examples.world.component import of
from verify import adapt

component = of("dm-haiku")
NAMES = ("query", "key", "value", "linear")
PLAIN = {"w_init_scale": 1.0, "with_bias": False}

# fmt: off


def by_row(attend, x, y, W_q, W_k, W_v, W_o, h, d_k, mask):
    """With matrices that a row is multiplied by."""
    return attend(x, y, mask, h, d_k, adapt.rows(W_q).T, adapt.rows(W_k).T, adapt.rows(W_v).T, W_o)


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """Over the last axis."""
    def norm(x, gamma, beta, eps):
        made = hk.transform(lambda x: hk.LayerNorm(-1, True, True, eps=eps)(x))
        return made.apply({"layer_norm": {"scale": gamma, "offset": beta}}, None, x)
    return adapt.jax(norm)


@component("RMSNorm", "normalization.rms_norm")
def rms_norm():
    """Over the last axis."""
    def norm(x, gamma, eps):
        made = hk.transform(lambda x: hk.RMSNorm(-1, eps=eps)(x))
        return made.apply({"rms_norm": {"scale": gamma}}, None, x)
    return adapt.jax(norm)


@component("GRU", "recurrent.gru_cell")
def gru_cell():
    """One step: its blocks are update, reset, candidate, and it resets before the product."""
    def step(x, h, W_x, W_h, b_x):
        made, weights = hk.transform(lambda x, h: hk.GRU(h.shape[-1])(x, h)), {"w_i": W_x.T, "w_h": W_h.T, "b": b_x}
        return made.apply({"gru": weights}, None, x, h)[0]
    return adapt.jax(step, lambda step, x, h, W_x, W_h, b_x: step(x, h, W_x, W_h, b_x), fixed={"b_h": 0})


@component("MultiHeadAttention", "attention.multi_head")
def multi_head():
    """A mask for all heads."""
    def attend(x, y, mask, h, d, *weights):
        made = hk.transform(lambda *given: hk.MultiHeadAttention(h, d, model_size=x.shape[-1], **PLAIN)(*given))
        named = {f"multi_head_attention/{name}": {"w": W} for name, W in zip(NAMES, weights, strict=True)}
        return made.apply(named, None, x, y, y, mask)
    return adapt.jax(attend, by_row, mask="b1nm", batch=1, sizes={"d_v": "d_k"})
