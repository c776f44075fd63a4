"""What PyTorch has for blocks of keys: log-sum-exps of scores, and what joins blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from verify.adapt import Adapter, function
from verify.targets.grouped import flex


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


def flex_log_sum_exp() -> Adapter:
    """The log-sum-exp that ``flex_attention`` returns: the scores are queries, and the keys the identity."""
    from torch.nn.attention.flex_attention import AuxRequest

    def call(attend: Callable[..., Any], s: Tensor, mask: Tensor | None, m: int) -> Any:
        def hidden(score: Tensor, b: Tensor, _: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return score if mask is None else torch.where(mask[b, i, j], score, -math.inf)

        keys = torch.eye(m, dtype=s.dtype, device=s.device).expand(len(s), 1, m, m)
        found = attend(
            s.unsqueeze(1), keys, keys, score_mod=hidden, scale=1.0, return_aux=AuxRequest(lse=True)
        )
        return found[1].lse.squeeze(1)

    return function(flex(), call, mask="bnm", batch=1)


def transformers_cache() -> Adapter:
    """A layer of transformers' ``DynamicCache``, with the attention over the fused kernel that reads it."""
    from transformers import DynamicCache
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import causal_mask_function, sdpa_mask

    owner = torch.nn.Module().eval()

    def call(
        attend: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, K: Tensor, V: Tensor, p: int, n: int
    ) -> Any:
        cache = DynamicCache()
        cache.update(K, V, 0)
        length, offset = cache.get_mask_sizes(n, 0)
        K_all, V_all = cache.update(k, v, 0)
        mask = sdpa_mask(
            len(q), n, length, p, offset, causal_mask_function, device=q.device, allow_is_causal_skip=False
        )
        return attend(owner, q, K_all, V_all, mask)[0].transpose(1, 2), K_all, V_all

    return function(sdpa_attention_forward, call, heads_axis=1, pick=(0, 1, 2))
