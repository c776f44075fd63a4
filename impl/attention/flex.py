"""FlexAttention: torch's compiled kernel for a mask that is a rule, on CUDA. It computes the blocks that the rule leaves, and
never stores the mask.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from torch import Tensor

from impl import _refuse

__all__: list[str] = []

SparseBackend = Literal["auto", "math", "flex"]
Rule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""Whether a query may attend to a key: (batch, head, query, key), each an index, to a boolean."""


def attend_by_rule(formula: str, q: Tensor, k: Tensor, v: Tensor, rule: Rule) -> Tensor:
    """Attention of q (... n d_k) to k (... m d_k) and v (... m d_v) under a rule. NotImplementedError but on CUDA."""
    if not (q.is_cuda and k.is_cuda and v.is_cuda):
        raise NotImplementedError(
            f"{formula}: backend='flex' is torch's FlexAttention, for CUDA; got tensors on {q.device}: use backend='auto'"
        )
    lead = _refuse.check_lead(formula, q=q, k=k, v=v)
    q, k, v = (x.expand(*lead, *x.shape[-2:]).reshape(1, -1, *x.shape[-2:]) for x in (q, k, v))
    attention, make_mask = _compiled()
    mask = make_mask(rule, None, None, q.shape[-2], k.shape[-2], device=q.device, _compile=True)
    z: Tensor = attention(q, k, v, block_mask=mask)
    return z.reshape(*lead, *z.shape[-2:])


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """FlexAttention, compiled once, and what makes its masks."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return torch.compile(flex_attention, dynamic=False), create_block_mask
