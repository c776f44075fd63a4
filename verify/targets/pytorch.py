"""PyTorch's functions, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.adapt import Adapter, State, module

Adapted = Callable[..., Any]


# Similarity, embedding, scores ------------------------------------------------------------------------------------------------


def vecdot() -> Adapted:
    """``torch.linalg.vecdot``."""
    return lambda x, y: torch.linalg.vecdot(x, y)


def one_by_one(name: str) -> Adapted:
    """``torch.dot`` or ``torch.inner`` on each pair of vectors by itself: a batch means something else to them."""
    product = getattr(torch, name)

    def dot(x: Tensor, y: Tensor) -> Tensor:
        if x.ndim == 1:
            return product(x, y)  # type: ignore[no-any-return]
        pairs = zip(x.flatten(0, -2), y.flatten(0, -2), strict=True)
        return torch.stack([product(a, b) for a, b in pairs]).reshape(x.shape[:-1])

    return dot


def cosine_similarity() -> Adapted:
    """``F.cosine_similarity`` over the last dimension."""
    return lambda x, y: F.cosine_similarity(x, y, -1)


def normalized_product() -> Adapted:
    """The scalar product of what ``F.normalize`` makes of both."""
    return lambda x, y: (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(-1)


def cosine_scores() -> Adapted:
    """``F.cosine_similarity`` of every query with every key."""
    return lambda q, k: F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), -1)


def embedding() -> Adapted:
    """``F.embedding``."""
    return lambda ids, E: F.embedding(ids, E)


def embedding_module() -> Adapter:
    """``nn.Embedding`` with the table put in as its parameter."""
    return module(lambda V, d: nn.Embedding(V, d), lambda E: {"weight": E}, batch=None)


def embedding_padded(place: int) -> Adapter:
    """``nn.Embedding`` with ``padding_idx``, whose row of the table is 0, as the module initialises it."""

    def weights(E: Tensor) -> State:
        at_padding = torch.arange(E.shape[0], device=E.device).unsqueeze(-1) == place
        # The row's value goes, its gradient would come: it is the module that must not pass one.
        return {"weight": E - torch.where(at_padding, E, 0.0).detach()}

    return module(lambda V, d: nn.Embedding(V, d, padding_idx=place), weights, batch=None)


def matmul() -> Adapted:
    """``q @ kᵀ``."""
    return lambda q, k: torch.matmul(q, k.mT)


def baddbmm() -> Adapted:
    """The batched product with a factor; it takes exactly one batch dimension."""

    def scaled_dot(q: Tensor, k: Tensor) -> Tensor:
        lead, n, m = q.shape[:-2], q.shape[-2], k.shape[-2]
        q3, k3 = q.reshape(-1, n, q.shape[-1]), k.reshape(-1, m, k.shape[-1])
        none = q.new_zeros(q3.shape[0], n, m)
        return torch.baddbmm(none, q3, k3.mT, beta=0, alpha=1 / math.sqrt(q.shape[-1])).reshape(*lead, n, m)

    return scaled_dot


def bilinear() -> Adapter:
    """``nn.Bilinear`` with one output, of every query with every key."""

    def score(layer: nn.Module, q: Tensor, k: Tensor, n: int, m: int) -> Any:
        return layer(q.unsqueeze(-2).expand(-1, n, m, -1), k.unsqueeze(-3).expand(-1, n, m, -1)).squeeze(-1)

    build, weights = (
        lambda d_q, d_k: nn.Bilinear(d_q, d_k, 1, bias=False),
        lambda W: {"weight": W.unsqueeze(0)},
    )
    return module(build, weights, score)


# Attention ------------------------------------------------------------------------------------------------------------------


def softmax() -> Adapted:
    """``torch.softmax`` of scores whose masked entries are −∞."""
    return lambda s, mask=None: torch.softmax(s if mask is None else s.masked_fill(~mask, -math.inf), -1)


def attention() -> Adapted:
    """``F.scaled_dot_product_attention`` with a boolean mask."""
    return lambda q, k, v, mask=None: F.scaled_dot_product_attention(q, k, v, mask)


def causal() -> Adapted:
    """``F.scaled_dot_product_attention`` with ``is_causal``."""
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


# Normalisation, objectives ----------------------------------------------------------------------------------------------------


def layer_norm() -> Adapted:
    """``F.layer_norm`` over the last dimension."""
    return lambda x, gamma, beta, eps: F.layer_norm(x, gamma.shape, gamma, beta, eps)


def layer_norm_module() -> Adapter:
    """``nn.LayerNorm`` with gain and bias put in as its parameters."""
    return module(
        lambda d, eps: nn.LayerNorm(d, eps), lambda gamma, beta: {"weight": gamma, "bias": beta}, batch=None
    )


def rms_norm() -> Adapted:
    """``F.rms_norm`` over the last dimension."""
    return lambda x, gamma, eps: F.rms_norm(x, gamma.shape, gamma, eps)


def rms_norm_module() -> Adapter:
    """``nn.RMSNorm`` with the gain put in as its parameter."""
    return module(lambda d, eps: nn.RMSNorm(d, eps), lambda gamma: {"weight": gamma}, batch=None)


def entrywise(name: str, **options: Any) -> Adapted:
    """A function of ``torch.nn.functional`` of one tensor, as it is."""
    function = getattr(F, name)
    return lambda x: function(x, **options)


def cross_entropy() -> Adapted:
    """``F.cross_entropy`` of both directions, negated, summed over each sequence."""

    def bilm_objective(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
        each = [F.cross_entropy(s.flatten(0, -2), ids.flatten(), reduction="none") for s in (s_f, s_b)]
        return -(each[0] + each[1]).reshape(ids.shape).sum(-1)

    return bilm_objective
