"""Implementations of x-transformers, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from torch import Tensor, nn

from verify.targets.flattening import called, flat, hollow, opened
from verify.targets.multihead import rows

Adapted = Callable[..., Any]


@lru_cache(maxsize=256)
def _attention(width: int, heads: int, d_k: int, d_v: int, flash: bool) -> nn.Module:
    from x_transformers.x_transformers import Attention

    return hollow(
        lambda: Attention(width, dim_head=d_k, heads=heads, value_dim_head=d_v, flash=flash, project_out=True)
    )


def multi_head(flash: bool) -> Adapted:
    """``Attention`` with a context; with ``flash`` it goes to torch's fused kernel."""

    def attend(
        x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        lead = x.shape[:-2]
        heads, width, d_k = W_q.shape
        module = _attention(width, heads, d_k, W_v.shape[-1], flash)
        weights = {
            "to_q.weight": rows(W_q),
            "to_k.weight": rows(W_k),
            "to_v.weight": rows(W_v),
            "to_out.weight": W_o.mT,
        }
        given = None if mask is None else flat(mask, lead, 2).unsqueeze(1)
        out = called(module, weights, flat(x, lead, 2), context=flat(y, lead, 2), attn_mask=given)
        return opened(out, lead)

    return attend
