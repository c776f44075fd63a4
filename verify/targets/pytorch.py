"""PyTorch's functions, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.targets.flattening import called, hollow

Adapted = Callable[..., Any]


# Similarity, embedding, scores ------------------------------------------------------------------------------------------------


def vecdot() -> Adapted:
    """``torch.linalg.vecdot``."""

    def dot(x: Tensor, y: Tensor) -> Tensor:
        return torch.linalg.vecdot(x, y)  # type: ignore[no-any-return]

    return dot


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

    def cosine(x: Tensor, y: Tensor) -> Tensor:
        return F.cosine_similarity(x, y, -1)

    return cosine


def cosine_scores() -> Adapted:
    """``F.cosine_similarity`` of every query with every key."""

    def cosine(q: Tensor, k: Tensor) -> Tensor:
        return F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), -1)

    return cosine


def embedding() -> Adapted:
    """``F.embedding``."""

    def token(ids: Tensor, E: Tensor) -> Tensor:
        return F.embedding(ids, E)

    return token


def embedding_module() -> Adapted:
    """``nn.Embedding`` with the table put in as its parameter."""

    def token(ids: Tensor, E: Tensor) -> Tensor:
        module = hollow(lambda: torch.nn.Embedding(*E.shape))
        return called(module, {"weight": E}, ids)  # type: ignore[no-any-return]

    return token


def embedding_padded(place: int) -> Adapted:
    """``nn.Embedding`` with ``padding_idx``, whose row of the table is 0, as the module initialises it."""

    def token(ids: Tensor, E: Tensor) -> Tensor:
        at_padding = torch.arange(E.shape[0], device=E.device).unsqueeze(-1) == place
        # The row's value goes, its gradient would come: it is the module that must not pass one.
        table = E - torch.where(at_padding, E, 0.0).detach()
        module = hollow(lambda: torch.nn.Embedding(E.shape[0], E.shape[1], padding_idx=place))
        return called(module, {"weight": table}, ids)  # type: ignore[no-any-return]

    return token


def matmul() -> Adapted:
    """``q @ kᵀ``."""

    def dot(q: Tensor, k: Tensor) -> Tensor:
        return torch.matmul(q, k.mT)

    return dot


def baddbmm() -> Adapted:
    """The batched product with a factor; it takes exactly one batch dimension."""

    def scaled_dot(q: Tensor, k: Tensor) -> Tensor:
        lead, n, m = q.shape[:-2], q.shape[-2], k.shape[-2]
        q3, k3 = q.reshape(-1, n, q.shape[-1]), k.reshape(-1, m, k.shape[-1])
        none = q.new_zeros(q3.shape[0], n, m)
        return torch.baddbmm(none, q3, k3.mT, beta=0, alpha=1 / math.sqrt(q.shape[-1])).reshape(*lead, n, m)

    return scaled_dot


def bilinear() -> Adapted:
    """``nn.Bilinear`` with one output, of every query with every key."""

    def general(q: Tensor, k: Tensor, W: Tensor) -> Tensor:
        n, m = q.shape[-2], k.shape[-2]
        every_q = q.unsqueeze(-2).expand(*q.shape[:-1], m, q.shape[-1])
        every_k = k.unsqueeze(-3).expand(*k.shape[:-2], n, m, k.shape[-1])
        d_q, d_k = W.shape
        module = hollow(lambda: torch.nn.Bilinear(d_q, d_k, 1, bias=False))
        return called(module, {"weight": W.unsqueeze(0)}, every_q, every_k).squeeze(-1)  # type: ignore[no-any-return]

    return general


# Attention ------------------------------------------------------------------------------------------------------------------


def softmax() -> Adapted:
    """``torch.softmax`` of scores whose masked entries are −∞."""

    def masked(s: Tensor, mask: Tensor | None = None) -> Tensor:
        return torch.softmax(s if mask is None else s.masked_fill(~mask, -math.inf), -1)

    return masked


def attention() -> Adapted:
    """``F.scaled_dot_product_attention`` with a boolean mask."""

    def scaled_dot_product(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, mask)

    return scaled_dot_product


def causal() -> Adapted:
    """``F.scaled_dot_product_attention`` with ``is_causal``."""

    def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return causal_attention


# Normalisation, objectives ----------------------------------------------------------------------------------------------------


def layer_norm() -> Adapted:
    """``F.layer_norm`` over the last dimension."""

    def normalised(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
        return F.layer_norm(x, gamma.shape, gamma, beta, eps)

    return normalised


def layer_norm_module() -> Adapted:
    """``nn.LayerNorm`` with gain and bias put in as its parameters."""

    def normalised(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
        module = hollow(lambda: torch.nn.LayerNorm(gamma.shape, eps))
        return called(module, {"weight": gamma, "bias": beta}, x)  # type: ignore[no-any-return]

    return normalised


def rms_norm() -> Adapted:
    """``F.rms_norm`` over the last dimension."""

    def normalised(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
        return F.rms_norm(x, gamma.shape, gamma, eps)

    return normalised


def rms_norm_module() -> Adapted:
    """``nn.RMSNorm`` with the gain put in as its parameter."""

    def normalised(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
        module = hollow(lambda: torch.nn.RMSNorm(gamma.shape, eps))
        return called(module, {"weight": gamma}, x)  # type: ignore[no-any-return]

    return normalised


def cross_entropy() -> Adapted:
    """``F.cross_entropy`` of both directions, negated, summed over each sequence."""

    def bilm_objective(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
        each = [F.cross_entropy(s.flatten(0, -2), ids.flatten(), reduction="none") for s in (s_f, s_b)]
        return -(each[0] + each[1]).reshape(ids.shape).sum(-1)

    return bilm_objective
