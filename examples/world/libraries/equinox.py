"""Equinox."""

import equinox as eqx
import jax
from jax import numpy as jnp

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify import adapt

component = of("equinox")
KEY = jax.random.PRNGKey(0)

# fmt: off


@component("nn.LayerNorm", "normalization.layer_norm")
def layer_norm():
    """For each vector by itself."""
    def norm(x, gamma, beta, eps):
        layer = eqx.tree_at(lambda at: (at.weight, at.bias), eqx.nn.LayerNorm(x.shape, eps), (gamma, beta))
        return layer(x)
    return adapt.jax(norm, batch=0)


@component("nn.RMSNorm", "normalization.rms_norm")
def rms_norm():
    """For each vector by itself."""
    def norm(x, gamma, eps):
        return eqx.tree_at(lambda at: at.weight, eqx.nn.RMSNorm(x.shape, eps, use_bias=False), gamma)(x)
    return adapt.jax(norm, batch=0)


@component("nn.GRUCell", "recurrent.gru_cell")
def gru_cell():
    """Its gates have one bias, its candidate two."""
    def step(x, h, W_x, W_h, b_x, b_h):
        d, at = len(h), lambda g: (g.weight_ih, g.weight_hh, g.bias, g.bias_n)
        b = jnp.concatenate((b_x[: 2 * d] + b_h[: 2 * d], b_x[2 * d :]))
        return eqx.tree_at(at, eqx.nn.GRUCell(len(x), d, key=KEY), (W_x, W_h, b, b_h[2 * d :]))(x, h)
    return adapt.jax(step, batch=0)


@component("nn.LSTMCell", "recurrent.lstm_cell")
def lstm_cell():
    """Its gates are packed: input, forget, node, output."""
    def step(x, h, s, W_ih, W_hh, b):
        made = eqx.nn.LSTMCell(len(x), len(h), key=KEY)
        return eqx.tree_at(lambda g: (g.weight_ih, g.weight_hh, g.bias), made, (W_ih, W_hh, b))(x, (h, s))
    return adapt.jax(step, "x, h, s, cat(W_ix, W_fx, W_gx, W_ox), cat(W_ih, W_fh, W_gh, W_oh), cat(b_i, b_f, b_g, b_o)", batch=0)


@component("nn.MultiheadAttention", "attention.multi_head")
def multi_head():
    """For each sequence by itself."""
    def attend(x, y, W_q, W_k, W_v, W_o, h, mask):
        made = eqx.nn.MultiheadAttention(h, x.shape[-1], key=KEY)
        at = lambda a: [each.weight for each in (a.query_proj, a.key_proj, a.value_proj, a.output_proj)]
        return eqx.tree_at(at, made, [W_q, W_k, W_v, W_o])(x, y, y, mask)
    return adapt.jax(attend, "x, y, rows(W_q), rows(W_k), rows(W_v), W_o.T, h, mask", batch=0, sizes=ONE_WIDTH)
