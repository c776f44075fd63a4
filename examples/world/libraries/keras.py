"""Keras, on torch: layers are called with the statement's parameters instead of their own."""

import keras
import torch

from examples.world.component import of
from verify.adapt import function

component = of("keras")

# fmt: off


def called(layer, shapes, weights, *given, **named):
    """A layer, built for shapes and called with weights."""
    layer.build(*shapes)
    kept = [each.value for each in layer.non_trainable_variables]
    return layer.stateless_call(list(weights), kept, *given, **named)[0]


@component("layers.LayerNormalization", "normalization.layer_norm")
def layer_norm():
    """Over the last axis."""
    def norm(x, gamma, beta, eps):
        return called(keras.layers.LayerNormalization(epsilon=eps, dtype=str(x.dtype)[6:]), [x.shape], [gamma, beta], x)
    return function(norm)


@component("layers.RMSNormalization", "normalization.rms_norm")
def rms_norm():
    """Over the last axis."""
    def norm(x, gamma, eps):
        return called(keras.layers.RMSNormalization(epsilon=eps, dtype=str(x.dtype)[6:]), [x.shape], [gamma], x)
    return function(norm)


@component("layers.MultiHeadAttention", "attention.multi_head")
def multi_head():
    """Its weights are (d_model, h, d_k)."""
    def attend(x, y, W_q, W_k, W_v, W_o, mask):
        layer = keras.layers.MultiHeadAttention(len(W_q), W_q.shape[-1], W_v.shape[-1], use_bias=False, dtype=str(x.dtype)[6:])
        weights = [*(W.transpose(0, 1) for W in (W_q, W_k, W_v)), W_o.unflatten(0, (len(W_q), -1))]
        return called(layer, [x.shape, y.shape], weights, x, y, attention_mask=mask)
    return function(attend, mask="bnm", batch=1)


@component("layers.Attention", "attention.scaled_dot_product")
def attention():
    """It does not divide by √d_k, so q is divided; by a mask of keys."""
    def attend(q, k, v, mask):
        return keras.layers.Attention(dtype=str(q.dtype)[6:])([q, v, k], mask=[None, mask])
    return function(lambda q, k, v, mask: attend(q / q.shape[-1] ** 0.5, k, v, mask), mask="keys", batch=1)


@component("layers.LSTM", "recurrent.lstm")
def lstm():
    """Gates in the order input, forget, node, output."""
    def run(x, h, s, W_x, W_h, b):
        layer = keras.layers.LSTM(h.shape[-1], return_sequences=True, return_state=True, dtype=str(x.dtype)[6:])
        states, _, last = called(layer, [x.shape], [W_x.mT, W_h.mT, b], x, initial_state=[h, s])
        return states, last
    return function(run, batch=1)


@component("layers.GRU", "recurrent.gru")
def gru():
    """Update gate first."""
    def run(x, h, W_x, W_h, b_x, b_h):
        layer = keras.layers.GRU(h.shape[-1], return_sequences=True, dtype=str(x.dtype)[6:])
        return called(layer, [x.shape], [W_x.mT, W_h.mT, torch.stack((b_x, b_h))], x, initial_state=h)
    return function(run, batch=1)


@component("layers.Embedding", "embedding.token")
def embedding():
    """A look-up."""
    return function(lambda ids, E: called(keras.layers.Embedding(*E.shape, dtype=str(E.dtype)[6:]), [ids.shape], [E], ids))


@component("activations.gelu, two layers", "feedforward.gelu")
def gelu():
    """The activation as it is by default."""
    return function(lambda x, W_1, b_1, W_2, b_2: keras.activations.gelu(x @ W_1 + b_1) @ W_2 + b_2)


@component("losses.SparseCategoricalCrossentropy", "objectives.autoregressive")
def cross_entropy():
    """Of logits, summed over the text; labels have an axis of their own."""
    how = {"from_logits": True, "reduction": "sum"}
    loss = lambda s, y: keras.losses.SparseCategoricalCrossentropy(dtype=str(s.dtype)[6:], **how)(y, s)
    return function(lambda s, y: -loss(s, y.unsqueeze(-1)), batch=0)
