"""Routers of transformers, given the logits: their own matrix is the identity. Their weights are put where the experts are."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

Adapted = Callable[..., Any]


def router(model: str, name: str, **options: Any) -> Adapted:
    """A router of a model, which returns logits, weights and the experts that they belong to."""
    kind = getattr(import_module(f"transformers.models.{model}.modeling_{model}"), name)

    def top_k(s: Tensor, k: int) -> Tensor:
        experts = s.shape[-1]
        sizes = {"num_experts_per_tok": min(k, experts), "num_local_experts": experts, "num_experts": experts}
        route = kind(SimpleNamespace(hidden_size=experts, **sizes, **options))
        route.weight = torch.nn.Parameter(torch.eye(experts, dtype=s.dtype))
        _, weights, index = route(s)
        shape = (*s.shape[:-1], index.shape[-1])
        dense = torch.zeros(s.shape, dtype=weights.dtype)
        return dense.scatter(-1, index.view(shape), weights.view(shape))

    return top_k
