"""What PyTorch has for blocks of keys: log-sum-exps of scores, and what joins blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from verify.adapt import Adapter, function


def torch_log_sum_exp() -> Callable[..., Any]:
    """``torch.logsumexp`` of scores whose masked entries are −∞."""
    return lambda s, mask=None: torch.logsumexp(s if mask is None else s.masked_fill(~mask, -math.inf), -1)


def flash_log_sum_exp() -> Adapter:
    """The log-sum-exp of the fused kernel for the CPU: the scores are queries, and the keys the identity."""

    def call(attend: Callable[..., Any], s: Tensor, mask: Tensor | None, m: int) -> Any:
        keys = torch.eye(m, dtype=s.dtype, device=s.device).expand(len(s), 1, m, m)
        # The function that calls this kernel sees to it that rows lie in one piece.
        return attend(s.unsqueeze(1).contiguous(), keys, keys, 0.0, False, attn_mask=mask, scale=1.0)[
            1
        ].squeeze(1)

    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return function(kernel, call, mask="additive b1nm", batch=1)


def ring_merger() -> Adapter:
    """What joins the blocks of torch's context parallelism, one after another."""
    from torch.distributed.tensor.experimental._context_parallel import _attention

    def join(merger: Any, z: Tensor, L: Tensor, b: int) -> Any:
        made = merger(convert_to_f32=False, seq_dim=1)
        for t in range(b):
            made.step(z[:, t], L[:, t], partial=False)
        return made.results()

    return function(_attention._SDPAMerger, join, mask="none", batch=1)
