"""Sliding windows of peers: their masks with their attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from verify.adapt import Adapter, function


def transformers_window(backend: str, sides: str) -> Adapter:
    """The mask of sliding windows of transformers, as its models make it, with the attention that takes it."""
    make, owner = window_mask(backend, sides), torch.nn.Module().eval()
    owner.is_causal = False  # type: ignore[assignment]

    def call(attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, w: int, n: int, m: int) -> Any:
        return attend(owner, q, k, v, make(q, w, n, m))[0].transpose(1, 2)

    return function(_attention(backend), call, heads_axis=1)


def window_mask(backend: str, sides: str = "before") -> Callable[[Tensor, int, int, int], Tensor]:
    """What makes transformers' mask of a window for queries (b h n d): booleans for sdpa, numbers to add for eager."""
    from transformers import masking_utils as masks

    # Its causal window counts the query's own key, the other does not.
    rule = (
        (lambda w: masks.sliding_window_causal_mask_function(w + 1))
        if sides == "before"
        else masks.sliding_window_bidirectional_mask_function
    )
    make: Callable[..., Any] = masks.sdpa_mask if backend == "sdpa" else masks.eager_mask

    def mask(q: Tensor, w: int, n: int, m: int) -> Tensor:
        given = {"dtype": q.dtype} if backend == "eager" else {"allow_is_causal_skip": False}
        return make(len(q), n, m, m - n, mask_function=rule(w), device=q.device, **given)  # type: ignore[no-any-return]

    return mask


def _attention(backend: str) -> Callable[..., Any]:
    if backend == "sdpa":
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return sdpa_attention_forward
    from transformers.models.bert.modeling_bert import eager_attention_forward

    return eager_attention_forward
