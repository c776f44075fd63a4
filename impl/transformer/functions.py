"""The Transformer as functions of its weights, with the statements' inputs in their order and the weights of layers in tuples.

Letters are the statements': n tokens of the source and m of the target, of d_model entries each; h heads; L layers, whose
parameters are stacked in front. Leading dimensions of tokens and masks are batches and broadcast. A mask is boolean and True
means "may attend"; what stands in a token that is hidden from all others reaches none of them.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl.attention import biased_multi_head, multi_head, softmax
from impl.attention.masks import causal_mask
from impl.embedding import token
from impl.feedforward import gelu, relu
from impl.normalization import add_norm, layer_norm
from impl.positional import sinusoidal

__all__ = [
    "EncoderLayerWeights",
    "DecoderLayerWeights",
    "BiasedDecoderLayerWeights",
    "encoder_layer",
    "encoder",
    "decoder_layer",
    "biased_decoder_layer",
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


class BiasedDecoderLayerWeights(NamedTuple):
    """The same of a layer whose attentions have biases: b_… of the self-attention, c_… of that to the encoder."""

    W_q: Float[Tensor, "*L h d_model d_k"]
    b_q: Float[Tensor, "*L h d_k"]
    W_k: Float[Tensor, "*L h d_model d_k"]
    b_k: Float[Tensor, "*L h d_k"]
    W_v: Float[Tensor, "*L h d_model d_v"]
    b_v: Float[Tensor, "*L h d_v"]
    W_o: Float[Tensor, "*L h*d_v d_model"]
    b_o: Float[Tensor, "*L d_model"]
    gamma_1: Float[Tensor, "*L d_model"]
    beta_1: Float[Tensor, "*L d_model"]
    C_q: Float[Tensor, "*L h d_model d_k"]
    c_q: Float[Tensor, "*L h d_k"]
    C_k: Float[Tensor, "*L h d_model d_k"]
    c_k: Float[Tensor, "*L h d_k"]
    C_v: Float[Tensor, "*L h d_model d_v"]
    c_v: Float[Tensor, "*L h d_v"]
    C_o: Float[Tensor, "*L h*d_v d_model"]
    c_o: Float[Tensor, "*L d_model"]
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
    s = _add(x, lambda u: multi_head(u, u, W_q, W_k, W_v, W_o, mask), norm, gamma_1, beta_1, eps)
    return _add(s, lambda w: relu(w, W_1, b_1, W_2, b_2), norm, gamma_2, beta_2, eps)


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
    causal = _causal(y)
    s = _add(y, lambda u: multi_head(u, u, W_q, W_k, W_v, W_o, causal), norm, gamma_1, beta_1, eps)
    t = _add(s, lambda v: multi_head(v, x, C_q, C_k, C_v, C_o, mask), norm, gamma_2, beta_2, eps)
    return _add(t, lambda w: relu(w, W_1, b_1, W_2, b_2), norm, gamma_3, beta_3, eps)


def biased_decoder_layer(
    y: Float[Tensor, "... m d_model"],
    x: Float[Tensor, "... n d_model"],
    weights: BiasedDecoderLayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #m #n"] | None = None,
    *,
    norm: Norm = "post",
    activation: Literal["relu", "gelu"] = "relu",
    approximation: Literal["none", "tanh"] = "none",
) -> Float[Tensor, "... m d_model"]:
    """``decoder_layer`` whose attentions are ``attention.biased_multi_head``. Statement: ``transformer.biased_decoder_layer``.

    With ``activation="gelu"`` the network is ``feedforward.gelu``, as in BART and Whisper; ``approximation`` is that of GELU. A
    token that may attend to nothing in x gathers c_o. Errors are those of the parts; ValueError for another norm or
    activation. Source: Vaswani et al. 2017, section 3.1; Lewis et al. 2020, section 2.1.
    """
    own, (gamma_1, beta_1) = weights[:8], weights[8:10]
    asked, (gamma_2, beta_2) = weights[10:18], weights[18:20]
    inner, (gamma_3, beta_3) = weights[20:24], weights[24:]
    causal = _causal(y)

    def network(w: Tensor) -> Tensor:
        return relu(w, *inner) if activation == "relu" else gelu(w, *inner, approximation=approximation)

    s = _add(y, lambda u: biased_multi_head(u, u, *own, causal), norm, gamma_1, beta_1, eps)
    t = _add(s, lambda v: biased_multi_head(v, x, *asked, mask), norm, gamma_2, beta_2, eps)
    return _add(t, network, norm, gamma_3, beta_3, eps)


def _causal(y: Tensor) -> Tensor:
    """The mask of self-attention: each token sees those up to its own place."""
    m = y.shape[-2] if y.dim() > 1 else 0
    return causal_mask(m, m, device=y.device)


def _add(
    x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: Norm, gamma: Tensor, beta: Tensor, eps: float
) -> Tensor:
    """A row and what a sublayer makes of it, with the normalization before the sublayer or after the sum."""
    if norm == "pre":
        return x + sublayer(layer_norm(x, gamma, beta, eps))
    return add_norm(x, sublayer(x), gamma, beta, eps)


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
    if not s.dim() or not t.dim() or E.dim() != 2:
        raise _refuse.shapes("transformer.model", "s (... n), t (... m), E (V d_model)", s=s, t=t, E=E)
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
