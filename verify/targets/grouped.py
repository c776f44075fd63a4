"""Grouped-query attention of PyTorch and transformers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.adapt import Adapter, function
from verify.targets.multihead import MASKS


def torch_grouped() -> Adapter:
    """``F.scaled_dot_product_attention`` with ``enable_gqa``."""

    def call(attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
        return attend(q, k, v, mask, enable_gqa=True)

    return function(F.scaled_dot_product_attention, call, mask="b1nm", batch=1)


def flex_grouped() -> Adapter:
    """``flex_attention`` with ``enable_gqa``, as it is without a compiler."""

    def call(attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
        def hidden(score: Tensor, b: Tensor, _: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return score if mask is None else torch.where(mask[b, i, j], score, -math.inf)

        return attend(q, k, v, score_mod=hidden, enable_gqa=True)

    return function(flex(), call, mask="bnm", batch=1)


def flex() -> Callable[..., Any]:
    """``flex_attention`` as it is without a compiler, whose warning of that is left out; on the CPU it has no gradient."""
    from torch.nn.attention.flex_attention import flex_attention

    run: Callable[..., Any] = flex_attention

    def attend(*given: Tensor, **options: Any) -> Any:
        alone = [x.detach() if x.device.type == "cpu" else x for x in given]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(*alone, **options)

    return attend


def transformers_grouped(model: str, backend: str) -> Adapter:
    """The attention of a model of transformers: its own in plain operations, or the one over the fused kernel that all share."""
    if backend == "sdpa":
        from transformers.integrations.sdpa_attention import sdpa_attention_forward as forward
    else:
        forward = import_module(f"transformers.models.{model}.modeling_{model}").eager_attention_forward
    owner = nn.Module().eval()
    owner.is_causal = False  # type: ignore[assignment]

    def call(
        attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, r: int, d_k: int
    ) -> Any:
        owner.num_key_value_groups = r  # type: ignore[assignment]
        return attend(owner, q, k, v, mask, scaling=d_k**-0.5)[0].transpose(1, 2)

    return function(forward, call, mask=MASKS[backend], batch=1)


def transformers_sinks() -> Adapter:
    """gpt-oss's attention in plain operations."""
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    owner = nn.Module().eval()

    def call(
        attend: Callable[..., Any],
        q: Tensor,
        k: Tensor,
        v: Tensor,
        sink: Tensor,
        mask: Tensor | None,
        r: int,
        d_k: int,
    ) -> Any:
        owner.num_key_value_groups, owner.sinks = r, sink  # type: ignore[assignment]
        return attend(owner, q, k, v, mask, scaling=d_k**-0.5)[0].transpose(1, 2)

    return function(eager_attention_forward, call, mask=MASKS["eager"], batch=1)


def transformers_softcap() -> Adapter:
    """Gemma 2's attention in plain operations, with as many heads of keys as of queries."""
    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    owner = nn.Module().eval()
    owner.num_key_value_groups = 1  # type: ignore[assignment]

    def call(
        attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, cap: float, mask: Tensor | None, d_k: int
    ) -> Any:
        return attend(owner, q, k, v, mask, scaling=d_k**-0.5, softcap=cap)[0].transpose(1, 2)

    return function(eager_attention_forward, call, mask="additive=min", heads_axis=1)


def flex_softcap() -> Adapter:
    """``flex_attention`` with a tanh as its ``score_mod``, as it is without a compiler."""

    def call(
        attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, cap: float, mask: Tensor | None
    ) -> Any:
        def capped(score: Tensor, b: Tensor, _: Tensor, i: Tensor, j: Tensor) -> Tensor:
            score = cap * torch.tanh(score / cap)
            return score if mask is None else torch.where(mask[b, i, j], score, -math.inf)

        return attend(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), score_mod=capped).squeeze(1)

    return function(flex(), call, mask="bnm", batch=1)
