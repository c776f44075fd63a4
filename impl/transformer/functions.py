"""The Transformer as functions of its weights, with the statements' inputs in their order and the weights of layers in tuples.

Letters are the statements': n tokens of the source and m of the target, of d_model entries each; h heads; L layers, whose
parameters are stacked in front. Leading dimensions of tokens and masks are batches and broadcast. A mask is boolean and True
means "may attend"; what stands in a token that is hidden from all others reaches none of them.
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl.attention import multi_head, softmax
from impl.attention.masks import causal_mask
from impl.embedding import token
from impl.feedforward import relu
from impl.normalization import add_norm, layer_norm
from impl.positional import sinusoidal

__all__ = [
    "EncoderLayerWeights",
    "DecoderLayerWeights",
    "encoder_layer",
    "encoder",
    "decoder_layer",
    "decoder",
    "output",
    "model",
]

_OUTPUT = Axes("x (... m d_model), W_vocab (d_model V)")

Norm = Literal["post", "pre"]


class EncoderLayerWeights(NamedTuple):
    """The weights of a layer of the encoder; or of L layers, each with an axis L in front."""

    W_q: Float[Tensor, "*L h d_model d_k"]
    W_k: Float[Tensor, "*L h d_model d_k"]
    W_v: Float[Tensor, "*L h d_model d_v"]
    W_o: Float[Tensor, "*L h*d_v d_model"]
    gamma_1: Float[Tensor, "*L d_model"]
    beta_1: Float[Tensor, "*L d_model"]
    W_1: Float[Tensor, "*L d_model d_ff"]
    b_1: Float[Tensor, "*L d_ff"]
    W_2: Float[Tensor, "*L d_ff d_model"]
    b_2: Float[Tensor, "*L d_model"]
    gamma_2: Float[Tensor, "*L d_model"]
    beta_2: Float[Tensor, "*L d_model"]


class DecoderLayerWeights(NamedTuple):
    """The weights of a layer of the decoder, with C_… those of its attention to the encoder; or of L layers, L in front."""

    W_q: Float[Tensor, "*L h d_model d_k"]
    W_k: Float[Tensor, "*L h d_model d_k"]
    W_v: Float[Tensor, "*L h d_model d_v"]
    W_o: Float[Tensor, "*L h*d_v d_model"]
    gamma_1: Float[Tensor, "*L d_model"]
    beta_1: Float[Tensor, "*L d_model"]
    C_q: Float[Tensor, "*L h d_model d_k"]
    C_k: Float[Tensor, "*L h d_model d_k"]
    C_v: Float[Tensor, "*L h d_model d_v"]
    C_o: Float[Tensor, "*L h*d_v d_model"]
    gamma_2: Float[Tensor, "*L d_model"]
    beta_2: Float[Tensor, "*L d_model"]
    W_1: Float[Tensor, "*L d_model d_ff"]
    b_1: Float[Tensor, "*L d_ff"]
    W_2: Float[Tensor, "*L d_ff d_model"]
    b_2: Float[Tensor, "*L d_model"]
    gamma_3: Float[Tensor, "*L d_model"]
    beta_3: Float[Tensor, "*L d_model"]


def encoder_layer(
    x: Float[Tensor, "... n d_model"],
    weights: EncoderLayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n #n"] | None = None,
    *,
    norm: Norm = "post",
) -> Float[Tensor, "... n d_model"]:
    """Self-attention, then ``feedforward.relu``, each within ``add_norm``. Statement: ``transformer.encoder_layer``.

    ``norm="pre"`` normalises what each sublayer reads instead: x + sublayer(layer_norm(x)). Errors are those of the parts;
    ValueError for another norm. Source: Vaswani et al. 2017, section 3.1.
    """
    W_q, W_k, W_v, W_o, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2 = weights
    if norm == "pre":
        u = layer_norm(x, gamma_1, beta_1, eps)
        s = x + multi_head(u, u, W_q, W_k, W_v, W_o, mask)
        return s + relu(layer_norm(s, gamma_2, beta_2, eps), W_1, b_1, W_2, b_2)
    s = add_norm(x, multi_head(x, x, W_q, W_k, W_v, W_o, mask), gamma_1, beta_1, eps)
    return add_norm(s, relu(s, W_1, b_1, W_2, b_2), gamma_2, beta_2, eps)


def encoder(
    x: Float[Tensor, "... n d_model"],
    weights: EncoderLayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n #n"] | None = None,
    *,
    norm: Norm = "post",
) -> Float[Tensor, "... n d_model"]:
    """L layers one on another, each ``encoder_layer`` with weights of its own. Statement: ``transformer.encoder``.

    There is no normalisation after the last one: with ``norm="pre"`` models add theirs. ValueError unless all parameters have
    as many layers; else errors are those of a layer. Source: Vaswani et al. 2017, section 3.1.
    """
    for layer in _refuse.layers("transformer.encoder", weights):
        x = encoder_layer(x, layer, eps, mask, norm=norm)
    return x


def decoder_layer(
    y: Float[Tensor, "... m d_model"],
    x: Float[Tensor, "... n d_model"],
    weights: DecoderLayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #m #n"] | None = None,
    *,
    norm: Norm = "post",
) -> Float[Tensor, "... m d_model"]:
    """Causal self-attention, attention to the encoder's x, ``feedforward.relu``, each within ``add_norm``.
    Statement: ``transformer.decoder_layer``.

    ``norm="pre"`` normalises what each sublayer reads instead (x as it is). The mask is that of the attention to x. Errors are
    those of the parts; ValueError for another norm. Source: Vaswani et al. 2017, section 3.1.
    """
    W_q, W_k, W_v, W_o, gamma_1, beta_1, C_q, C_k, C_v, C_o, gamma_2, beta_2, *network, gamma_3, beta_3 = (
        weights
    )
    W_1, b_1, W_2, b_2 = network
    m = y.shape[-2] if y.dim() > 1 else 0
    causal = causal_mask(m, m, device=y.device)
    if norm == "pre":
        u = layer_norm(y, gamma_1, beta_1, eps)
        s = y + multi_head(u, u, W_q, W_k, W_v, W_o, causal)
        t = s + multi_head(layer_norm(s, gamma_2, beta_2, eps), x, C_q, C_k, C_v, C_o, mask)
        return t + relu(layer_norm(t, gamma_3, beta_3, eps), W_1, b_1, W_2, b_2)
    s = add_norm(y, multi_head(y, y, W_q, W_k, W_v, W_o, causal), gamma_1, beta_1, eps)
    t = add_norm(s, multi_head(s, x, C_q, C_k, C_v, C_o, mask), gamma_2, beta_2, eps)
    return add_norm(t, relu(t, W_1, b_1, W_2, b_2), gamma_3, beta_3, eps)


def decoder(
    y: Float[Tensor, "... m d_model"],
    x: Float[Tensor, "... n d_model"],
    weights: DecoderLayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #m #n"] | None = None,
    *,
    norm: Norm = "post",
) -> Float[Tensor, "... m d_model"]:
    """L layers one on another, each ``decoder_layer`` with weights of its own and the same x. Statement: ``transformer.decoder``.

    Errors and the normalisation that is not there as in ``encoder``. Source: Vaswani et al. 2017, section 3.1.
    """
    for layer in _refuse.layers("transformer.decoder", weights):
        y = decoder_layer(y, x, layer, eps, mask, norm=norm)
    return y


def output(
    x: Float[Tensor, "... m d_model"], W_vocab: Float[Tensor, "d_model V"]
) -> tuple[Float[Tensor, "... m V"], Float[Tensor, "... m V"]]:
    """(p, logits): logits x W_vocab, and their softmax over the vocabulary. Statement: ``transformer.output``.

    A tied table E (V d_model) is given as ``E.mT``. ValueError for shapes that do not fit, TypeError unless both share one
    floating dtype. Source: Vaswani et al. 2017, section 3.4.
    """
    _OUTPUT.fit("transformer.output", x=x, W_vocab=W_vocab)
    logits = x @ W_vocab
    return softmax(logits), logits


def model(
    s: Integer[Tensor, "... n"],
    t: Integer[Tensor, "... m"],
    E: Float[Tensor, "V d_model"],
    in_encoder: EncoderLayerWeights,
    in_decoder: DecoderLayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n"] | None = None,
    *,
    embedding_scale: Literal["sqrt_d", "one"] = "sqrt_d",
) -> Float[Tensor, "... m V"]:
    """After each token of the target t the probabilities of the next, given the source s. Statement: ``transformer.model``.

    One table E embeds both, its rows times √d_model (as they are with ``embedding_scale="one"``), and is the output layer's; the
    positions are ``sinusoidal``. The mask tells which tokens of the source are words. ``encoder`` and ``decoder`` normalise
    after each sum. Errors are those of the parts; ValueError for another scale. Source: Vaswani et al. 2017, figure 1.
    """
    keys = None if mask is None else mask.unsqueeze(-2)
    scale = math.sqrt(E.shape[-1]) if embedding_scale == "sqrt_d" else 1.0
    x = encoder(_embed(s, E, scale), in_encoder, eps, keys)
    y = decoder(_embed(t, E, scale), x, in_decoder, eps, keys)
    return output(y, E.mT)[0]


def _embed(ids: Tensor, E: Tensor, scale: float) -> Tensor:
    """The vectors of tokens, their positions added; in 16 bits rounded once."""
    dtype = torch.float32 if E.dtype.itemsize == 2 else E.dtype
    positions = sinusoidal(ids.shape[-1], E.shape[-1], dtype=dtype, device=E.device)
    return torch.add(positions, token(ids, E).to(dtype), alpha=scale).to(E.dtype)
