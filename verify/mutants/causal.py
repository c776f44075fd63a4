"""Variants of ``attention.causal``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import masked, raw

CAUSAL = "attention.causal"


def allowed(q: Tensor, k: Tensor, shift: int | None = None) -> Tensor:
    """The mask j ≤ i + shift; ours where no shift is given."""
    n, m = q.shape[-2], k.shape[-2]
    return torch.ones(n, m, dtype=torch.bool, device=q.device).tril(m - n if shift is None else shift)


@wrong(CAUSAL)
def upper_left(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """torch's is_causal: aligned at the first key, not at the last."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@wrong(CAUSAL)
def strictly_before(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A query may not see its own position."""
    return masked(raw(q, k), allowed(q, k, k.shape[-2] - q.shape[-2] - 1)) @ v


@wrong(CAUSAL)
def one_ahead(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """triu(diagonal=2) instead of 1: every query sees one key of the future."""
    return masked(raw(q, k), allowed(q, k, k.shape[-2] - q.shape[-2] + 1)) @ v


@wrong(CAUSAL)
def reversed_time(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """triu for tril: sees the future only."""
    n, m = q.shape[-2], k.shape[-2]
    return masked(raw(q, k), torch.ones(n, m, dtype=torch.bool).triu(m - n)) @ v


@wrong(CAUSAL)
def not_causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The mask was built and never used."""
    return torch.softmax(raw(q, k), -1) @ v


@wrong(CAUSAL)
def weak_fill(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Subtracts 100 from scores of the future: large ones come through."""
    return torch.softmax(raw(q, k) - 100.0 * ~allowed(q, k), -1) @ v


@wrong(CAUSAL)
def nan_rows(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Queries before the first key are NaN: softmax of −∞ only."""
    return torch.softmax(raw(q, k).masked_fill(~allowed(q, k), -math.inf), -1) @ v


@wrong(CAUSAL)
def mask_after_softmax(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Zeroes the future after the softmax: rows do not sum to 1."""
    return (torch.softmax(raw(q, k), -1) * allowed(q, k)) @ v


@wrong(CAUSAL)
def decoding_without_scale(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A fast path for a single query that forgets the scale."""
    s = q @ k.mT if q.shape[-2] == 1 else raw(q, k)
    return masked(s, allowed(q, k)) @ v


@wrong(CAUSAL)
def last_key_without_gradient(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Cached values: no gradient flows into v."""
    return masked(raw(q, k), allowed(q, k)) @ v.detach()


@wrong(CAUSAL)
def rolled_in_place(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Rolls the caller's values to make room in the cache."""
    z = masked(raw(q, k), allowed(q, k)) @ v
    with torch.no_grad():
        v.copy_(v.roll(1, -2).clone() + 1)
    return z


@wrong(CAUSAL)
def in_bfloat(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Mixes the values in bfloat16."""
    return (masked(raw(q, k), allowed(q, k)).bfloat16() @ v.bfloat16()).to(v.dtype)


@right(CAUSAL)
def masked_plainly(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Scores, mask, softmax, mix."""
    return masked(raw(q, k), allowed(q, k)) @ v


@right(CAUSAL)
def row_by_row(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One query at a time over the keys it may see, as a decoder with a cache."""
    n, m = q.shape[-2], k.shape[-2]
    rows = []
    for i in range(n):
        seen = i + m - n + 1
        if seen <= 0:
            rows.append(v.new_zeros(*q.shape[:-2], 1, v.shape[-1]))
        else:
            rows.append(torch.softmax(raw(q[..., i : i + 1, :], k[..., :seen, :]), -1) @ v[..., :seen, :])
    return torch.cat(rows, -2)


@right(CAUSAL, alignment="upper_left")
def kernel_upper_left(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """torch's is_causal, under its own alignment, without the keys that no query sees."""
    n = q.shape[-2]
    return F.scaled_dot_product_attention(q, k[..., :n, :], v[..., :n, :], is_causal=True)
