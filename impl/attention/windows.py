"""Attention within windows: around a position that the query predicts, and sliding with the query's own place."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl.attention._checks import check_lead, check_mask, check_qkv
from impl.attention.flex import SparseBackend, attend_within
from impl.attention.masks import blank, unsafe
from impl.attention.weights import attend_with_weights, masked_softmax, scaled_dot_product
from impl.scores import dot

__all__ = ["local", "window"]

Window = Literal["cut", "whole"]
Sides = Literal["before", "both"]
ROWS = 64
"""Queries that are computed together, at least: narrower windows than this are padded to it."""


def local(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    W_p: Float[Tensor, "a d_k"],
    v_p: Float[Tensor, " a"],
    D: int | float,
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    window: Window = "cut",
) -> Float[Tensor, "... n d_v"]:
    """Query i looks around the position p_i = m·σ(v_pᵀ tanh(W_p q_i)): softmax of q_i·k_j over the permitted keys with
    |j − p_i| ≤ D, each weight times exp(−(j − p_i)²/(2σ²)) with σ = D/2; z_i is the sum of the values under these weights,
    0 where no key is in reach. Statement: ``attention.local``.

    Keys stand at 0 … m − 1. ``window="whole"`` lets the softmax run over all permitted keys; the Gaussian alone favours
    those nearby. The gradient reaches W_p and v_p through the Gaussian. In 16 bits all is computed in float32, z rounded
    once.

    ValueError for shapes that do not fit or a D that is not positive, TypeError unless all share one floating dtype and the
    mask is boolean. Source: Luong, Pham & Manning 2015, section 3.2 (local-p), equations 9 and 10.
    """
    _check(q, k, v, W_p, v_p, D, mask)
    if q.dtype.itemsize == 2:
        z = local(q.float(), k.float(), v.float(), W_p.float(), v_p.float(), D, mask, window=window)
        return z.to(q.dtype)
    m = k.shape[-2]
    if mask is not None and unsafe(q, k, v):
        q, k, v = blank(q, k, v, mask)
    p = m * torch.sigmoid(torch.tanh(F.linear(q, W_p)) @ v_p)
    distance = torch.arange(m, device=q.device) - p.unsqueeze(-1)
    if window == "cut":
        reach = distance.abs() <= D
        mask = reach if mask is None else mask & reach
        distance = torch.where(reach, distance, 0.0)
        if unsafe(k, v):  # keys out of reach of every query
            _, k, v = blank(q, k, v, mask)
    a = masked_softmax(dot(q, k), mask) * torch.exp(-2 * (distance / D) ** 2)
    return a @ v


def window(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    w: int,
    *,
    sides: Sides = "before",
    backend: SparseBackend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """Scaled dot-product attention of each query to its own key and the w keys before it; with ``sides="both"`` to the w after
    it, too. The last query stands beside the last key; a query with no key within reach gets 0. Statement: ``attention.window``.

    Operations and memory grow with n·w, forward and backward: queries are taken in blocks, and keys and values are read where
    they lie. ``backend="flex"`` is torch's FlexAttention, on CUDA alone. ValueError for shapes that do not fit or a negative w,
    TypeError unless q, k and v share one floating dtype, NotImplementedError for a backend that the device does not have.
    Source: Beltagy et al. 2020, "Longformer", section 3.1; Jiang et al. 2023, "Mistral 7B", section 2.
    """
    check_qkv("attention.window", q, k, v)
    check_lead("attention.window", q, k, v, None)
    if w < 0:
        raise ValueError(f"attention.window: expected w >= 0; got {w}")
    n, m = q.shape[-2], k.shape[-2]
    if backend == "flex":
        after = w if sides == "both" else 0
        one = q.unsqueeze(-3), k.unsqueeze(-3), v.unsqueeze(-3)
        return attend_within("attention.window", *one, w, after).squeeze(-3)
    if not n or not m:
        return attend_with_weights(q, k, v, None)[0]
    w = min(w, max(n, m))  # no key is farther away
    after = w if sides == "both" else 0
    rows = min(n, max(w, ROWS))
    blocks = -(-n // rows)
    first, width = m - n - w, w + 1 + after
    # A block of queries reads the keys from the first query's first key to the last query's last one.
    span = rows + width - 1
    k, v = (_cut(x, first, blocks * rows + width - 1).unfold(-2, span, rows).mT for x in (k, v))
    q = F.pad(q, (0, 0, 0, blocks * rows - n)).unflatten(-2, (blocks, rows))
    at = torch.arange(span, device=q.device)
    ahead = at - torch.arange(rows, device=q.device).unsqueeze(-1)
    key = at + first + rows * torch.arange(blocks, device=q.device).view(-1, 1, 1)
    mask = (ahead >= 0) & (ahead < width) & (key >= 0) & (key < m)
    z = scaled_dot_product(q, k, v, mask, backend=backend)
    return z.flatten(-3, -2)[..., :n, :]


def _cut(x: Tensor, first: int, count: int) -> Tensor:
    """``count`` rows of x from number ``first`` on; 0 where it has none."""
    kept = x[..., max(first, 0) : max(first + count, 0), :]
    before = min(max(-first, 0), count)
    return F.pad(kept, (0, 0, before, count - before - kept.shape[-2]))


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    W_p: Tensor,
    v_p: Tensor,
    D: int | float,
    mask: Tensor | None,
) -> None:
    check_qkv("attention.local", q, k, v)
    if W_p.dim() != 2 or W_p.shape != (*v_p.shape, q.shape[-1]):
        raise _refuse.shapes("attention.local", "q (... n d_k), W_p (a d_k), v_p (a)", q=q, W_p=W_p, v_p=v_p)
    _refuse.check_floating("attention.local", q=q, W_p=W_p, v_p=v_p)
    if not D > 0:
        raise ValueError(f"attention.local: expected D > 0; got {D}")
    if mask is not None:
        check_mask("attention.local", mask, q.shape[-2], k.shape[-2])
    check_lead("attention.local", q, k, v, mask)
