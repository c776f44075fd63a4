"""Llama as functions of its weights, with the statements' inputs in their order and the weights of a layer in a tuple.

Letters are the statements': n tokens of d_model entries each; h = g·r heads of queries, in g groups that share keys and values; p
pairs of entries that are turned, so that queries and keys are 2·p wide; L layers, whose parameters are stacked in front; a
vocabulary of V tokens. Leading dimensions of tokens, positions and masks are batches and broadcast. A mask is boolean: True means
"is a word"; what stands where it is False reaches no word. No gradient reaches the frequencies theta.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl._weights import with_axes
from impl.attention import causal_mask, grouped_query
from impl.attention.masks import blank_sequences
from impl.attention.projections import split_heads
from impl.embedding import rows
from impl.feedforward import gated
from impl.normalization import add_rms_norm, rms_norm
from impl.positional import rotary

__all__ = ["AttentionWeights", "LayerWeights", "attention", "layer", "model", "step"]

Pairs = Literal["halves", "interleaved"]
Activation = Literal["silu", "gelu", "relu", "sigmoid", "none"]
Approximation = Literal["none", "tanh"]
Gain = Literal["gamma", "one_plus"]


class AttentionWeights(NamedTuple):
    """The weights of one attention."""

    W_q: Float[Tensor, "h d_model 2*p"]
    W_k: Float[Tensor, "g d_model 2*p"]
    W_v: Float[Tensor, "g d_model d_v"]
    W_o: Float[Tensor, "h d_v d_model"]


class LayerWeights(NamedTuple):
    """The weights of a layer; or of L layers, each with an axis L in front."""

    W_q: Float[Tensor, "*L h d_model 2*p"]
    W_k: Float[Tensor, "*L g d_model 2*p"]
    W_v: Float[Tensor, "*L g d_model d_v"]
    W_o: Float[Tensor, "*L h d_v d_model"]
    gamma_1: Float[Tensor, "*L d_model"]
    W_g: Float[Tensor, "*L d_model d_ff"]
    W_u: Float[Tensor, "*L d_model d_ff"]
    W_d: Float[Tensor, "*L d_ff d_model"]
    gamma_2: Float[Tensor, "*L d_model"]


_AXES = with_axes("x (... n d_model)", AttentionWeights)


def attention(
    x: Float[Tensor, "... n d_model"],
    pos: Integer[Tensor, "... #n"],
    theta: Float[Tensor, " p"],
    weights: AttentionWeights,
    mask: Bool[Tensor, "... #n"] | None = None,
    *,
    pairs: Pairs = "halves",
) -> Float[Tensor, "... n d_model"]:
    """Causal ``attention.grouped_query`` of queries and keys turned by ``positional.rotary``, its heads joined by W_o. Statement:
    ``llama.attention``.

    ``pairs`` is rotary's. A token without a word up to its own place gathers 0. ValueError for shapes that do not fit, TypeError
    unless x and the weights share one floating dtype, the mask is boolean and pos holds integers. Source: Touvron et al. 2023,
    "Llama 2", section 2.2.
    """
    W_q, W_k, W_v, W_o = weights
    named = {"W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o}
    _AXES.fit("llama.attention", x=x, **named)
    if not W_k.shape[0] or W_q.shape[0] % W_k.shape[0] or theta.shape != (W_q.shape[-1] // 2,):
        expected = "W_q (g*r d_model 2*p), W_k (g d_model 2*p), theta (p)"
        raise _refuse.shapes("llama.attention", expected, W_q=W_q, W_k=W_k, theta=theta)
    n = x.shape[-2]
    if pos.shape[-1:] not in ((n,), (1,), ()):
        raise _refuse.shapes("llama.attention", "x (... n d_model), pos (... n)", x=x, pos=pos)
    seen = causal_mask(n, n, device=x.device)
    if mask is not None:
        if mask.dtype != torch.bool:
            raise _refuse.dtypes("llama.attention", "a boolean mask, True = a word", mask=mask)
        if mask.shape[-1:] not in ((n,), (1,)):
            raise _refuse.shapes("llama.attention", "x (... n d_model), mask (... n)", x=x, mask=mask)
        seen = seen & mask.unsqueeze(-2)
    asking, asked = blank_sequences(x, x, None if mask is None else seen)
    q, k, v = _project(asking, asked, pos, theta, weights, pairs)
    return _join(grouped_query(q, k, v, seen), W_o)


def _project(
    asking: Tensor, asked: Tensor, pos: Tensor, theta: Tensor, weights: AttentionWeights, pairs: Pairs
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys, turned by their positions, and values, in their heads."""
    q, k, v = (
        split_heads(of @ W.transpose(0, 1).flatten(1), W.shape[0])
        for of, W in zip((asking, asked, asked), weights[:3], strict=True)
    )
    place = pos.expand(*pos.shape[:-1], q.shape[-2]).unsqueeze(-2)  # for all heads
    still = theta.detach()
    return rotary(q, place, still, pairs=pairs), rotary(k, place, still, pairs=pairs), v


def _join(z: Tensor, W_o: Tensor) -> Tensor:
    """What the heads have found, as wide as a token."""
    return z.transpose(-3, -2).flatten(-2) @ W_o.flatten(0, 1)


def layer(
    x: Float[Tensor, "... n d_model"],
    pos: Integer[Tensor, "... #n"],
    theta: Float[Tensor, " p"],
    weights: LayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n"] | None = None,
    *,
    pairs: Pairs = "halves",
    activation: Activation = "silu",
    approximation: Approximation = "none",
    gain: Gain = "gamma",
) -> Float[Tensor, "... n d_model"]:
    """``attention``, then ``feedforward.gated``, each reading rows of ``rms_norm`` and added to them. Statement: ``llama.layer``.

    Options and errors are those of the parts. Source: Touvron et al. 2023, "LLaMA", section 2.2.
    """
    own = AttentionWeights(*weights[:4])
    return _around(
        lambda x: attention(x, pos, theta, own, mask, pairs=pairs),
        *(x, weights, eps, activation, approximation, gain),
    )


def step(
    x: Float[Tensor, "... n d_model"],
    pos: Integer[Tensor, "... n"],
    theta: Float[Tensor, " p"],
    weights: LayerWeights,
    eps: float,
    append: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    mask: Bool[Tensor, "... n m"] | None = None,
) -> Float[Tensor, "... n d_model"]:
    """``layer`` of the n tokens that come next in a text: ``append`` puts their keys, turned by their positions, and their values
    behind those that are kept, and returns all m of them. No mask: each token sees all before it and itself.
    """
    own = AttentionWeights(*weights[:4])

    def attend(x: Tensor) -> Tensor:
        q, k, v = _project(x, x, pos, theta, own, "halves")
        k, v = append(k, v)
        alone = mask is None and q.shape[-2] == 1  # the last token sees all: no mask says so
        seen = mask if mask is not None or alone else causal_mask(q.shape[-2], k.shape[-2], device=x.device)
        return _join(grouped_query(q, k, v, seen), own.W_o)

    return _around(attend, x, weights, eps)


def _around(
    attend: Callable[[Tensor], Tensor],
    x: Tensor,
    weights: LayerWeights,
    eps: float,
    activation: Activation = "silu",
    approximation: Approximation = "none",
    gain: Gain = "gamma",
) -> Tensor:
    """Attention and the network, each reading normalised rows and added to them."""
    *_, gamma_1, W_g, W_u, W_d, gamma_2 = weights
    w, s = add_rms_norm(x, attend(rms_norm(x, gamma_1, eps, gain=gain)), gamma_2, eps, gain=gain)
    return s + gated(w, W_g, W_u, W_d, activation=activation, approximation=approximation)


def model(
    ids: Integer[Tensor, "... n"],
    pos: Integer[Tensor, "... #n"],
    theta: Float[Tensor, " p"],
    E: Float[Tensor, "V d_model"],
    weights: LayerWeights,
    gamma_f: Float[Tensor, " d_model"],
    U: Float[Tensor, "V d_model"],
    eps: float,
    mask: Bool[Tensor, "... #n"] | None = None,
    *,
    pairs: Pairs = "halves",
    activation: Activation = "silu",
    approximation: Approximation = "none",
    gain: Gain = "gamma",
) -> Float[Tensor, "... n V"]:
    """At each place the logits of the next token, given those up to it: E[ids], L layers, each ``layer`` with weights of its own,
    a last normalization, and a product with every row of U. Statement: ``llama.model``.

    ValueError unless all parameters of layers have as many of them, and for shapes that do not fit; else options and errors are
    those of the parts. Source: Touvron et al. 2023, "LLaMA", section 2.2.
    """
    formula = "llama.model"
    _refuse.check_floating(formula, E=E, gamma_f=gamma_f, U=U)
    if U.shape != E.shape:
        raise _refuse.shapes(formula, "E (V d_model), U (V d_model)", E=E, U=U)
    x = rows(formula, "E (V d_model)", ids=ids, E=E)
    how = {"pairs": pairs, "activation": activation, "approximation": approximation, "gain": gain}
    for own in _refuse.layers(formula, weights):
        x = layer(x, pos, theta, own, eps, mask, **how)  # type: ignore[arg-type]
    return F.linear(rms_norm(x, gamma_f, eps, gain=gain), U)
