"""A GPT as functions of its weights, with the statements' inputs in their order and the weights of a layer in a tuple.

Letters are the statements': n tokens of d_model entries each; h heads; L layers, whose parameters are stacked in front; a
vocabulary of V tokens, N positions. Leading dimensions of tokens and masks are batches and broadcast. A mask is boolean: True
means "is a word"; what stands where it is False reaches no word.
"""

from typing import Literal

import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl.attention import biased_multi_head, causal_mask, causal_multi_head
from impl.bert.functions import LayerWeights
from impl.embedding import rows
from impl.feedforward import gelu
from impl.normalization import add_norm, layer_norm

__all__ = ["layer", "model"]

Norm = Literal["pre", "post"]
Approximation = Literal["tanh", "none"]


def layer(
    x: Float[Tensor, "... n d_model"],
    weights: LayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n"] | None = None,
    *,
    norm: Norm = "pre",
    approximation: Approximation = "tanh",
) -> Float[Tensor, "... n d_model"]:
    """Causal self-attention with biases, then ``feedforward.gelu``, each reading normalised rows and added to them. Statement:
    ``gpt.layer``.

    ``norm="post"`` normalises each sum instead, as GPT-1 does; ``approximation`` is that of GELU. Without a mask attention is
    ``causal_multi_head``; a token without a word up to its own place gathers b_o. Errors are those of the parts; ValueError for
    another norm. Source: Radford et al. 2018, section 3.1; Radford et al. 2019, section 2.3.
    """
    W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2 = weights
    attention = W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o

    def attend(x: Tensor) -> Tensor:
        if mask is None:
            return causal_multi_head(x, *attention)
        n = x.shape[-2] if x.dim() > 1 else 0
        seen = causal_mask(n, n, device=x.device) & mask.unsqueeze(-2)
        return biased_multi_head(x, x, *attention, seen)

    if norm == "pre":
        s = x + attend(layer_norm(x, gamma_1, beta_1, eps))
        u = layer_norm(s, gamma_2, beta_2, eps)
        return s + gelu(u, W_1, b_1, W_2, b_2, approximation=approximation)
    s = add_norm(x, attend(x), gamma_1, beta_1, eps)
    return add_norm(s, gelu(s, W_1, b_1, W_2, b_2, approximation=approximation), gamma_2, beta_2, eps)


def model(
    ids: Integer[Tensor, "... n"],
    pos: Integer[Tensor, "... #n"],
    E: Float[Tensor, "V d_model"],
    P: Float[Tensor, "N d_model"],
    weights: LayerWeights,
    gamma_f: Float[Tensor, " d_model"],
    beta_f: Float[Tensor, " d_model"],
    eps: float,
    mask: Bool[Tensor, "... #n"] | None = None,
    *,
    norm: Norm = "pre",
    approximation: Approximation = "tanh",
) -> Float[Tensor, "... n V"]:
    """At each place the logits of the next token, given those up to it: E[ids] + P[pos], L layers, each ``layer`` with weights of
    its own, a last normalization, and a product with every row of E. Statement: ``gpt.model``.

    ``norm="post"`` has no last normalization: gamma_f and beta_f are not read. The mask tells which tokens are words. ValueError
    unless all parameters of layers have as many of them, and for shapes that do not fit; else errors are those of the parts.
    Source: Radford et al. 2018, section 3.1; Radford et al. 2019, section 2.3.
    """
    formula = "gpt.model"
    _refuse.check_floating(formula, E=E, P=P, gamma_f=gamma_f, beta_f=beta_f)
    if not ids.dim() or ids.shape[-1:] != pos.shape[-1:] or E.shape[-1:] != P.shape[-1:]:
        expected = "ids (... n), pos (... n), E (V d_model), P (N d_model)"
        raise _refuse.shapes(formula, expected, ids=ids, pos=pos, E=E, P=P)
    _refuse.check_lead(formula, {"ids": ids, "pos": pos})
    x = rows(formula, "E (V d_model)", ids=ids, E=E) + rows(formula, "P (N d_model)", pos=pos, P=P)
    for own in _refuse.layers(formula, weights):
        x = layer(x, own, eps, mask, norm=norm, approximation=approximation)
    if norm == "pre":
        x = layer_norm(x, gamma_f, beta_f, eps)
    return F.linear(x, E)
