"""Equinox."""

import equinox as eqx
import jax
import torch
from jax import numpy as jnp

from examples.world.component import of
from examples.world.sizes import ONE_WIDTH
from verify import adapt

component = of("equinox")
KEY = jax.random.PRNGKey(0)

# fmt: off


def packed(step, x, h, s, **w):
    """A call with the weights of all gates."""
    return step(x, h, s, *(torch.cat([w[of.format(gate)] for gate in "ifgo"]) for of in ("W_{}x", "W_{}h", "b_{}")))


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
    return adapt.jax(step, packed, batch=0)


def turned(attend, x, y, W_q, W_k, W_v, W_o, h, mask):
    """A call with weights as linear layers have them."""
    return attend(x, y, mask, h, adapt.rows(W_q), adapt.rows(W_k), adapt.rows(W_v), W_o.T)


@component("nn.MultiheadAttention", "attention.multi_head")
def multi_head():
    """For each sequence by itself."""
    def attend(x, y, mask, h, *weights):
        made = eqx.nn.MultiheadAttention(h, x.shape[-1], key=KEY)
        at = lambda a: [each.weight for each in (a.query_proj, a.key_proj, a.value_proj, a.output_proj)]
        return eqx.tree_at(at, made, list(weights))(x, y, y, mask)
    return adapt.jax(attend, turned, batch=0, sizes=ONE_WIDTH)
