"""FlexAttention: torch's compiled kernel for a mask that is a rule, on CUDA. It computes the blocks that the rule leaves, and
never stores the mask. **It has not run on a device**; the tests run torch's function uncompiled, on the CPU.

A query with no permitted key gets 0 from it, and passes no gradient. NaN in a slot that all partners have hidden does reach
outputs (of values) and gradients (of queries and keys): such slots are left out or blanked before.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from impl import _refuse
from impl.attention.masks import blank, unsafe

__all__: list[str] = []

SparseBackend = Literal["auto", "math", "flex"]
Rule = Callable[[Tensor, Tensor], Tensor]
"""Whether a query may attend to a key: (query, key), each an index, to a boolean."""
Score = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""A score, and where it stands, to the score that is taken instead."""


def attend_by_rule(
    formula: str, q: Tensor, k: Tensor, v: Tensor, rule: Rule | None = None, mask: Tensor | None = None
) -> Tensor:
    """Attention of q (... n d_k) to k (... m d_k) and v (... m d_v) under a rule, a mask (... n m), or both."""
    one = q.unsqueeze(-3), k.unsqueeze(-3), v.unsqueeze(-3)
    return attend_groups(formula, *one, rule, mask).squeeze(-3)


def attend_groups(
    formula: str,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rule: Rule | None = None,
    mask: Tensor | None = None,
    score: Score | None = None,
) -> Tensor:
    """Attention of q (... h n d_k) to k (... g m d_k) and v (... g m d_v), g a divisor of h, under a rule that leaves no slot
    without partners, a mask (... n m) for all heads, or both. NotImplementedError but on CUDA.
    """
    attention, make_mask = _kernels(formula, q, k, v)
    lead = _refuse.check_lead(formula, q=q[..., 0, :, :], k=k[..., 0, :, :], v=v[..., 0, :, :])
    n, m = q.shape[-2], k.shape[-2]
    if not n or not m:
        return q.new_zeros(*lead, *q.shape[-3:-1], v.shape[-1])
    if mask is not None and unsafe(q, k, v):
        i, j = torch.arange(n, device=q.device), torch.arange(m, device=q.device)
        seen = mask if rule is None else mask & rule(i[:, None], j)
        q, k, v = blank(q, k, v, seen.unsqueeze(-3))
    q, k, v = (x.expand(*lead, *x.shape[-3:]).reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    blocks = None
    if mask is not None:
        each = None if mask.shape[:-2].numel() == 1 else len(q)
        blocks = make_mask(_read(mask, lead, rule), each, None, n, m, device=q.device)
    elif rule is not None:
        blocks = make_mask(lambda b, head, i, j: rule(i, j), None, None, n, m, device=q.device)
    z: Tensor = attention(q, k, v, score, blocks, enable_gqa=q.shape[1] != k.shape[1])
    return z.reshape(*lead, *z.shape[-3:])


def attend_within(
    formula: str,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    before: int,
    after: int = 0,
    mask: Tensor | None = None,
    score: Score | None = None,
) -> Tensor:
    """``attend_groups`` of each query to its own key, and to those ``before`` and ``after`` it; the last query stands beside the
    last key. Keys that no window reaches are cut off, and queries that reach none: they get 0.
    """
    n, m = q.shape[-2], k.shape[-2]
    first, blind = (max(m - n - before, 0), min(max(n - m - after, 0), n)) if mask is None else (0, 0)
    offset = m - n + blind - first
    z = attend_groups(
        formula,
        q[..., blind:, :],
        k[..., first:, :],
        v[..., first:, :],
        lambda i, j: (j >= i + (offset - before)) & (j <= i + (offset + after)),
        mask,
        score,
    )
    return F.pad(z, (0, 0, blind, 0))


def _read(
    mask: Tensor, lead: torch.Size, rule: Rule | None
) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """What a mask holds and a rule allows, by (batch, head, query, key); the batch is one axis for all of ``lead``."""
    axes: list[tuple[int, int]] = []
    stride = 1
    for axis in range(1, len(lead) + 1):
        if axis <= mask.dim() - 2 and mask.shape[-2 - axis] > 1:
            axes.insert(0, (stride, lead[-axis]))
        stride *= lead[-axis]
    held, by_query, by_key = mask.squeeze(), mask.shape[-2] > 1, mask.shape[-1] > 1

    def look(b: Tensor, i: Tensor, j: Tensor) -> Tensor:
        at = [b // stride % size for stride, size in axes] + [i] * by_query + [j] * by_key
        seen = held[tuple(at)] if at else held
        return seen if rule is None else seen & rule(i, j)

    return lambda b, head, i, j: look(
        b, i, j
    )  # torch counts a function's parameters, which a decorator hides


def _kernels(formula: str, *given: Tensor) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """FlexAttention, and what makes its masks; refused but on CUDA."""
    if not all(x.is_cuda for x in given):
        raise NotImplementedError(
            f"{formula}: backend='flex' is torch's FlexAttention, for CUDA; got tensors on {given[0].device}: use backend='auto'"
        )
    return _compiled()


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Both, compiled once."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return torch.compile(flex_attention, dynamic=False), torch.compile(create_block_mask, dynamic=False)
