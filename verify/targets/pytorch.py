"""PyTorch's implementations, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Adapted = Callable[..., Any]


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


def embedding() -> Adapted:
    """``F.embedding``."""

    def learned(pos: Tensor, W_PE: Tensor) -> Tensor:
        return F.embedding(pos, W_PE)

    return learned


def layer_norm() -> Adapted:
    """``F.layer_norm`` over the last dimension."""

    def normalised(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
        return F.layer_norm(x, gamma.shape, gamma, beta, eps)

    return normalised


def layer_norm_module() -> Adapted:
    """``nn.LayerNorm`` with gain and bias put in as its parameters."""

    def normalised(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
        module = torch.nn.LayerNorm(gamma.shape, eps, device=x.device, dtype=x.dtype)
        return torch.func.functional_call(module, {"weight": gamma, "bias": beta}, (x,))  # type: ignore[no-any-return]

    return normalised
