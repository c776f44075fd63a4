"""JAX's own functions."""

import jax
from jax import numpy as jnp

from examples.world.component import of
from verify import adapt

component = of("jax")

# fmt: off


@component("nn.dot_product_attention", "attention.scaled_dot_product")
def attention():
    """Of one head, which it has before the width."""
    def attend(q, k, v, mask):
        q, k, v = (each[:, :, None] for each in (q, k, v))
        return jax.nn.dot_product_attention(q, k, v, mask=None if mask is None else mask[:, None])[:, :, 0]
    return adapt.jax(attend, batch=1, sizes={"d_v": "d_k"})


@component("nn.softmax(where=)", "attention.softmax")
def softmax():
    """Hidden entries are 0."""
    return adapt.jax(lambda s, mask: jax.nn.softmax(s, where=mask))


@component("nn.gelu, two layers", "feedforward.gelu")
def gelu():
    """The activation as it is by default: by its approximation."""
    return adapt.jax(lambda x, W_1, b_1, W_2, b_2: jax.nn.gelu(x @ W_1 + b_1) @ W_2 + b_2)


@component("nn.standardize", "normalization.layer_norm")
def standardize():
    """Gain and bias are beside it."""
    return adapt.jax(lambda x, gamma, beta, eps: jax.nn.standardize(x, epsilon=eps) * gamma + beta)


@component("nn.log_softmax, of the words read", "objectives.autoregressive")
def log_softmax():
    """Summed over the text."""
    return adapt.jax(lambda s, y: jnp.take_along_axis(jax.nn.log_softmax(s), y[..., None], -1)[..., 0].sum(-1))
