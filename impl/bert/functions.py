"""BERT as functions of its weights, with the statements' inputs in their order and the weights of a layer in a tuple.

Letters are the statements': n tokens of d_model entries each; h heads; L layers, whose parameters are stacked in front; a
vocabulary of V tokens, K segments, N positions. Leading dimensions of tokens and masks are batches and broadcast. A mask is
boolean: True means "may attend", or of tokens "is a word"; what stands in a token hidden from all others reaches none of them.
"""

from typing import Literal, NamedTuple

import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl.attention import biased_multi_head
from impl.embedding import bert
from impl.feedforward import gelu, relu
from impl.normalization import add_norm, layer_norm

__all__ = ["LayerWeights", "layer", "pooler", "encoder"]

_POOLER = Axes("x (... n d_model), W (d_model d_model), b (d_model)")

Approximation = Literal["none", "tanh"]


class LayerWeights(NamedTuple):
    """The weights of a layer; or of L layers, each with an axis L in front."""

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
    W_1: Float[Tensor, "*L d_model d_ff"]
    b_1: Float[Tensor, "*L d_ff"]
    W_2: Float[Tensor, "*L d_ff d_model"]
    b_2: Float[Tensor, "*L d_model"]
    gamma_2: Float[Tensor, "*L d_model"]
    beta_2: Float[Tensor, "*L d_model"]


def layer(
    x: Float[Tensor, "... n d_model"],
    weights: LayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n #n"] | None = None,
    *,
    norm: Literal["post", "pre"] = "post",
    activation: Literal["gelu", "relu"] = "gelu",
    approximation: Approximation = "none",
) -> Float[Tensor, "... n d_model"]:
    """Self-attention with biases, then ``feedforward.gelu``, each within ``add_norm``. Statement: ``bert.layer``.

    ``norm="pre"`` normalises what each sublayer reads instead, as GPT-2 and ViT do; with ``activation="relu"`` the network is
    ``feedforward.relu``; ``approximation`` is that of GELU. BERT's ε is 1e-12. Errors are those of the parts;
    ValueError for another norm or activation. Source: Devlin et al. 2019, section 3; Xiong et al. 2020, figure 1.
    """
    W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2 = weights

    def network(x: Tensor) -> Tensor:
        if activation == "relu":
            return relu(x, W_1, b_1, W_2, b_2)
        return gelu(x, W_1, b_1, W_2, b_2, approximation=approximation)

    if norm == "pre":
        u = layer_norm(x, gamma_1, beta_1, eps)
        s = x + biased_multi_head(u, u, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, mask)
        return s + network(layer_norm(s, gamma_2, beta_2, eps))
    z = biased_multi_head(x, x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, mask)
    s = add_norm(x, z, gamma_1, beta_1, eps)
    return add_norm(s, network(s), gamma_2, beta_2, eps)


def pooler(
    x: Float[Tensor, "... n d_model"], W: Float[Tensor, "d_model d_model"], b: Float[Tensor, " d_model"]
) -> Float[Tensor, "... d_model"]:
    """c = tanh(x[0] W + b): one vector for the whole input, of its first token. Statement: ``bert.pooler``.

    ValueError for shapes that do not fit and for no token, TypeError unless all share one floating dtype. Source: Devlin et al.
    2019, section 3.
    """
    if not _POOLER.fit("bert.pooler", x=x, W=W, b=b)["n"]:
        raise _refuse.shapes("bert.pooler", "at least one token", x=x)
    return F.tanh(F.linear(x[..., 0, :], W.mT, b))


def encoder(
    ids: Integer[Tensor, "... #n"],
    seg: Integer[Tensor, "... #n"],
    pos: Integer[Tensor, "... #n"],
    E: Float[Tensor, "V d_model"],
    S: Float[Tensor, "K d_model"],
    P: Float[Tensor, "N d_model"],
    gamma_0: Float[Tensor, " d_model"],
    beta_0: Float[Tensor, " d_model"],
    weights: LayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n"] | None = None,
    *,
    approximation: Approximation = "none",
) -> Float[Tensor, "... n d_model"]:
    """The last hidden states: ``impl.embedding.bert``, then L layers, each ``layer`` with weights of its own. Statement:
    ``bert.encoder``.

    The mask tells which tokens are words; no other is attended to. BERT's positions are ``torch.arange(n)``. ValueError unless
    all parameters of layers have as many of them; else errors are those of the parts. Source: Devlin et al. 2019, section 3.
    """
    keys = None if mask is None else mask.unsqueeze(-2)
    x = bert(ids, seg, pos, E, S, P, gamma_0, beta_0, eps)
    for own in _refuse.layers("bert.encoder", weights):
        x = layer(x, own, eps, keys, approximation=approximation)
    return x
