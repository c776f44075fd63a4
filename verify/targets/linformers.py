"""Linformer's attention of peers, of one head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, module

SPARE = 3
"""Columns that the matrices of a peer have beyond the text, which has to take the first."""


def linformer() -> Adapter:
    """``LinformerSelfAttention``. Queries, and keys beside values, are halves of the rows that its projections read; of its
    matrices it takes the first columns.
    """
    from linformer import LinformerSelfAttention

    def build(m: int, r: int, d_k: int) -> nn.Module:
        made: nn.Module = LinformerSelfAttention(2 * d_k, m + SPARE, k=r, heads=1, dim_head=d_k)
        return made

    def weights(E: Tensor, F: Tensor, d_k: int) -> State:
        left, right = torch.eye(2 * d_k, dtype=E.dtype, device=E.device).split(d_k)
        behind = E.new_ones(SPARE, len(E))
        return {
            "to_q.weight": left,
            "to_k.weight": left,
            "to_v.weight": right,
            "proj_k": torch.cat((E.T, behind)),
            "proj_v": torch.cat((F.T, behind)),
            "to_out.weight": left.T,
            "to_out.bias": E.new_zeros(2 * d_k),
        }

    def call(attend: nn.Module, q: Tensor, k: Tensor, v: Tensor, d_k: int) -> Any:
        x = torch.cat((q, torch.zeros_like(q)), -1)
        return attend(x, context=torch.cat((k, v), -1))[..., :d_k]

    return module(build, weights, call)


def linformer_pytorch(shared: bool) -> Adapter:
    """``LinearAttentionHead`` with linear layers for E and F, or with one for both."""
    from linformer_pytorch.linformer_pytorch import LinearAttentionHead

    def build(m: int, r: int, d_k: int) -> nn.Module:
        E = nn.Linear(m, r)
        made: nn.Module = LinearAttentionHead(d_k, 0.0, E, E if shared else nn.Linear(m, r), None)
        return made

    def weights(E: Tensor, b_E: Tensor, F: Tensor, b_F: Tensor) -> State:
        made = {"E.weight": E, "E.bias": b_E}
        return made if shared else made | {"F.weight": F, "F.bias": b_F}

    return module(build, weights, lambda attend, q, k, v: attend(q, k, v))
