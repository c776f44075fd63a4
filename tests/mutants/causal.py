"""Variants of ``attention.causal``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong
from tests.mutants.attention import masked, raw

CAUSAL = "attention.causal"


def allowed(q, k, shift=None):
    """The mask j ≤ i + shift; ours where no shift is given."""
    n, m = q.shape[-2], k.shape[-2]
    return torch.ones(n, m, dtype=torch.bool, device=q.device).tril(m - n if shift is None else shift)


wrong(
    CAUSAL, "upper_left", "torch's is_causal: aligned at the first key, not at the last.", cause="j ≤ i in"
)(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
wrong(CAUSAL, "strictly_before", "A query may not see its own position.", cause="too few is seen")(
    lambda q, k, v: masked(raw(q, k), allowed(q, k, k.shape[-2] - q.shape[-2] - 1)) @ v
)
wrong(
    CAUSAL,
    "one_ahead",
    "triu(diagonal=2) instead of 1: every query sees one key of the future.",
    cause="too many is seen|depends on later",
)(lambda q, k, v: masked(raw(q, k), allowed(q, k, k.shape[-2] - q.shape[-2] + 1)) @ v)


wrong(
    CAUSAL, "reversed_time", "triu for tril: sees the future only.", cause="wrong way round|depends on later"
)(lambda q, k, v: masked(raw(q, k), ~allowed(q, k, k.shape[-2] - q.shape[-2] - 1)) @ v)
wrong(CAUSAL, "not_causal", "The mask was built and never used.", cause="look-ahead")(
    lambda q, k, v: torch.softmax(raw(q, k), -1) @ v
)
wrong(
    CAUSAL,
    "weak_fill",
    "Subtracts 100 from scores of the future: large ones come through.",
    cause=r"lowered by 100\b|set to a finite",
)(lambda q, k, v: torch.softmax(raw(q, k) - 100.0 * ~allowed(q, k), -1) @ v)
wrong(
    CAUSAL,
    "nan_rows",
    "Queries before the first key are NaN: softmax of −∞ only.",
    cause="a row nothing|∃ mask is not applied",
)(lambda q, k, v: torch.softmax(raw(q, k).masked_fill(~allowed(q, k), -math.inf), -1) @ v)
wrong(
    CAUSAL,
    "mask_after_softmax",
    "Zeroes the future after the softmax: rows do not sum to 1.",
    cause="do not sum to 1|sum over hidden",
)(lambda q, k, v: torch.softmax(raw(q, k), -1) * allowed(q, k) @ v)
wrong(
    CAUSAL,
    "decoding_without_scale",
    "A fast path for a single query that forgets the scale.",
    cause=r"scale is missing|n = 1\b",
)(lambda q, k, v: masked(q @ k.mT if q.shape[-2] == 1 else raw(q, k), allowed(q, k)) @ v)
wrong(CAUSAL, "last_key_without_gradient", "Cached values: no gradient flows into v.", cause=r"reaches v\b")(
    lambda q, k, v: masked(raw(q, k), allowed(q, k)) @ v.detach()
)


@wrong(CAUSAL, cause=r"writes to its input v\b")
def rolled_in_place(q, k, v):
    """Rolls the caller's values to make room in the cache."""
    z = masked(raw(q, k), allowed(q, k)) @ v
    with torch.no_grad():
        v.copy_(v.roll(1, -2).clone() + 1)
    return z


wrong(CAUSAL, "in_bfloat", "Mixes the values in bfloat16.", cause="bfloat16 inside")(
    lambda q, k, v: (masked(raw(q, k), allowed(q, k)).bfloat16() @ v.bfloat16()).to(v.dtype)
)
right(CAUSAL, "masked_plainly", "Scores, mask, softmax, mix.")(
    lambda q, k, v: masked(raw(q, k), allowed(q, k)) @ v
)


@right(CAUSAL)
def row_by_row(q, k, v):
    """One query at a time over the keys it may see, as a decoder with a cache."""
    before, rows = k.shape[-2] - q.shape[-2] + 1, []
    for i, row in enumerate(q.split(1, -2)):
        seen = max(i + before, 0)
        a = torch.softmax(raw(row, k[..., :seen, :]), -1)
        rows.append(a @ v[..., :seen, :] if seen else v.new_zeros(*q.shape[:-2], 1, v.shape[-1]))
    return torch.cat(rows, -2)


right(CAUSAL, "kernel_upper_left", "torch's is_causal, without keys that none sees.", alignment="upper_left")(
    lambda q, k, v: F.scaled_dot_product_attention(
        q, k[..., : q.shape[-2], :], v[..., : q.shape[-2], :], is_causal=True
    )
)
