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


def switch() -> Adapted:
    """The router of Switch Transformers, which tells where tokens go and what they weigh."""
    from transformers.models.switch_transformers.modeling_switch_transformers import (
        SwitchTransformersTop1Router,
    )

    def capacity(s: Tensor, k: int, C: int) -> Tensor:
        taken, share, _ = _limited(SwitchTransformersTop1Router, s, C, router_jitter_noise=0.0)(s)
        found: Tensor = taken * share
        return found

    return capacity


def nllb() -> Adapted:
    """The router of NLLB's mixture of experts, for one text at a time."""
    from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeTop2Router

    options = {
        "second_expert_policy": "all",
        "normalize_router_prob_before_dropping": True,
        "batch_prioritized_routing": False,
        "moe_eval_capacity_token_fraction": 0.0,
    }

    def capacity(s: Tensor, k: int, C: int) -> Tensor:
        texts = s.reshape(-1, *s.shape[-2:])
        return torch.stack([_limited(NllbMoeTop2Router, text, C, **options)(text)[1] for text in texts]).view(
            s.shape
        )

    return capacity


def _limited(kind: Callable[..., Any], s: Tensor, C: int, **options: Any) -> Any:
    """A router with a capacity, in the type of these logits."""
    shared = {"router_bias": False, "router_ignore_padding_tokens": False}
    dtype, experts = str(s.dtype).removeprefix("torch."), s.shape[-1]
    sizes = {"hidden_size": experts, "num_experts": experts, "expert_capacity": C}
    with torch.device("meta"):  # its own weights are not drawn
        route = kind(SimpleNamespace(router_dtype=dtype, **sizes, **shared, **options))
    route.classifier.weight = torch.nn.Parameter(torch.eye(experts, dtype=s.dtype))
    return route
