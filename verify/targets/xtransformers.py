"""Implementations of x-transformers, adapted to the declared input order and otherwise as they are."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from verify.adapt import Adapter, State, module, rows


def multi_head(flash: bool) -> Adapter:
    """``Attention`` with a context; with ``flash`` it goes to torch's fused kernel."""
    from x_transformers.x_transformers import Attention

    def build(d_model: int, h: int, d_k: int, d_v: int) -> Any:
        return Attention(d_model, dim_head=d_k, heads=h, value_dim_head=d_v, flash=flash, project_out=True)

    def weights(W_o: Tensor, **w: Tensor) -> State:
        return {"to_out.weight": W_o.T, **{f"to_{name}.weight": rows(w[f"W_{name}"]) for name in "qkv"}}

    return module(
        build, weights, lambda attend, x, y, mask: attend(x, context=y, attn_mask=mask), mask="b1nm"
    )
