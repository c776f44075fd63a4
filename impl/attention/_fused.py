"""torch's fused kernel for attention, reached from any number of leading dimensions."""

import torch
import torch.nn.functional as F
from torch import Tensor

from impl.attention._checks import check_lead


def fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """torch's kernel. It is fused only for four dimensions (b h n d) with equal b and h, so others are brought to that."""
    qs, ks, lead = q.shape, k.shape, None
    if len(qs) != 4 or ks[:2] != qs[:2] or v.shape != ks or not (mask is None or _fits(mask, qs)):
        lead = check_lead("attention.scaled_dot_product", q, k, v, mask)
        q, k, v = (_four(x, lead) for x in (q, k, v))
        mask = None if mask is None else _four(mask, lead)
    try:
        z = F.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal)
    except NotImplementedError as error:
        raise NotImplementedError(
            "attention: torch's fused kernel has no forward-mode derivative; pass backend='math'"
        ) from error
    return z if lead is None else z.reshape(*lead, *z.shape[-2:])


def _fits(mask: Tensor, shape: torch.Size) -> bool:
    """Whether the mask broadcasts to the leading dimensions b and h of ``shape`` without widening them."""
    lead = mask.shape[:-2]  # compared one by one: Dynamo decides `size in (1, b)` wrongly for a symbolic size
    return not lead or (
        len(lead) == 2 and (lead[0] == 1 or lead[0] == shape[0]) and (lead[1] == 1 or lead[1] == shape[1])
    )


def _four(x: Tensor, lead: torch.Size) -> Tensor:
    """x broadcast to the leading dimensions ``lead``, as (b h r c)."""
    x = x.expand(*lead, *x.shape[-2:])
    return x.flatten(0, len(lead) - 2) if len(lead) > 2 else x[(None,) * (2 - len(lead))]
