"""Flax: linen, with parameters as they are passed."""

from flax import linen as nn

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify import adapt

component = of("flax")

# fmt: off


def blocks(step, x, h, W_x, W_h, b_x, b_h, d):
    """A call with the weights of each gate by itself, as a row is multiplied by them."""
    W, U, b, c = (each.unflatten(0, (3, d)) for each in (W_x, W_h, b_x, b_h))
    return step(x, h, W.mT, U.mT, b, c)


@component("linen.MultiHeadDotProductAttention", "attention.multi_head")
def multi_head():
    """Its weights are (d_model, h, d_k)."""
    def attend(x, y, W_q, W_k, W_v, W_o, mask):
        weights = {name: {"kernel": W.swapaxes(0, 1)} for name, W in (("query", W_q), ("key", W_k), ("value", W_v))}
        weights["out"] = {"kernel": W_o.reshape(len(W_q), -1, x.shape[-1])}
        return nn.MultiHeadDotProductAttention(len(W_q), use_bias=False).apply({"params": weights}, x, y, mask=mask)
    return adapt.jax(attend, mask="b1nm", batch=1, sizes=ONE_WIDTH)


@component("linen.dot_product_attention", "attention.scaled_dot_product")
def attention():
    """Of one head, which it has before the width."""
    def attend(q, k, v, mask):
        return nn.dot_product_attention(q[:, :, None], k[:, :, None], v[:, :, None], mask=mask)[:, :, 0]
    return adapt.jax(attend, mask="b1nm", batch=1)


@component("linen.LayerNorm", "normalization.layer_norm")
def layer_norm():
    """The variance as the mean of squares less the square of the mean, by default."""
    def norm(x, gamma, beta, eps):
        return nn.LayerNorm(epsilon=eps).apply({"params": {"scale": gamma, "bias": beta}}, x)
    return adapt.jax(norm)


@component("linen.LayerNorm(use_fast_variance=False)", "normalization.layer_norm")
def layer_norm_careful():
    """The variance as the mean of squared differences."""
    def norm(x, gamma, beta, eps):
        return nn.LayerNorm(epsilon=eps, use_fast_variance=False).apply({"params": {"scale": gamma, "bias": beta}}, x)
    return adapt.jax(norm)


@component("linen.RMSNorm", "normalization.rms_norm")
def rms_norm():
    """Over the last axis."""
    return adapt.jax(lambda x, gamma, eps: nn.RMSNorm(epsilon=eps).apply({"params": {"scale": gamma}}, x))


@component("linen.GRUCell", "recurrent.gru_cell")
def gru_cell():
    """Its gates have one bias, its candidate two."""
    def step(x, h, W, U, b, c):
        weights = {f"i{g}": {"kernel": W[k], "bias": b[k] + (k < 2) * c[k]} for k, g in enumerate("rzn")}
        weights |= {"hr": {"kernel": U[0]}, "hz": {"kernel": U[1]}, "hn": {"kernel": U[2], "bias": c[2]}}
        return nn.GRUCell(h.shape[-1]).apply({"params": weights}, h, x)[0]
    return adapt.jax(step, blocks)


@component("linen.Embed", "embedding.token")
def embed():
    """A look-up."""
    return adapt.jax(lambda ids, E: nn.Embed(*E.shape).apply({"params": {"embedding": E}}, ids))
