"""Grouped-query attention: several heads of queries share one head of keys and values; normalised, with sinks, window and cap."""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl.attention._checks import Backend, check_lead, check_mask, check_qkv
from impl.attention.flex import SparseBackend, attend_groups, attend_within
from impl.attention.masks import blank, causal_mask, unsafe
from impl.attention.weights import masked_softmax, scaled_dot_product
from impl.normalization import rms_norm
from impl.scores import scaled_dot

__all__ = ["decoder_heads", "grouped_query", "qk_norm", "sinks", "softcap"]


def grouped_query(
    q: Float[Tensor, "... h n d_k"],
    k: Float[Tensor, "... g m d_k"],
    v: Float[Tensor, "... g m d_v"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: SparseBackend = "auto",
) -> Float[Tensor, "... h n d_v"]:
    """Of h = g·r heads, head t attends to the keys and values of group ⌊t/r⌋, scaled by 1/√d_k; a row with no permitted key is
    0. Statement: ``attention.grouped_query``.

    One group is multi-query attention, as many as heads are multi-head attention. The mask is one for all heads: its leading
    dimensions are those before the heads. Keys and values are read where they lie, never repeated. ValueError for shapes that do
    not fit, TypeError unless q, k and v share one floating dtype and the mask is boolean. Source: Ainslie et al. 2023, "GQA",
    section 2.2; Shazeer 2019 for one group.
    """
    if backend == "flex":
        check_groups("attention.grouped_query", q, k, v, mask)
        return attend_groups("attention.grouped_query", q, k, v, None, mask)
    rows, mask = split_groups("attention.grouped_query", q, k, v, mask)
    return _join(scaled_dot_product(rows, k, v, mask, backend=backend), q)


def qk_norm(
    q: Float[Tensor, "... h n d_k"],
    k: Float[Tensor, "... g m d_k"],
    v: Float[Tensor, "... g m d_v"],
    gamma_q: Float[Tensor, " d_k"],
    gamma_k: Float[Tensor, " d_k"],
    eps: float,
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    gain: Literal["gamma", "one_plus"] = "gamma",
    backend: Backend = "auto",
) -> Float[Tensor, "... h n d_v"]:
    """``grouped_query`` of queries and keys that ``rms_norm`` has brought to one size, over the width of each head. Statement:
    ``attention.qk_norm``.

    Raises what these two raise. Source: Henry et al. 2020, "Query-Key Normalization for Transformers"; Qwen Team 2025, "Qwen3
    Technical Report", section 2, for RMSNorm.
    """
    split_groups("attention.qk_norm", q, k, v, mask)
    if mask is not None and unsafe(q, k):
        q, k, v = blank(q, k, v, mask.unsqueeze(-3))
    q, k = rms_norm(q, gamma_q, eps, gain=gain), rms_norm(k, gamma_k, eps, gain=gain)
    return grouped_query(q, k, v, mask, backend=backend)


def sinks(
    q: Float[Tensor, "... h n d_k"],
    k: Float[Tensor, "... g m d_k"],
    v: Float[Tensor, "... g m d_v"],
    sink: Float[Tensor, " h"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
) -> Float[Tensor, "... h n d_v"]:
    """Grouped-query attention in which each head's ``sink`` is one more score of the softmax, whose share is handed to nothing.
    Statement: ``attention.sinks``.

    A row with no permitted key is 0. In 16 bits all is computed in float32 and rounded once. Raises what ``grouped_query``
    raises, and ValueError unless ``sink`` has an entry for each head. Source: OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model
    Card", section 2.2.
    """
    _check_sink("attention.sinks", q, sink)
    return _attend(*split_groups("attention.sinks", q, k, v, mask), q, k, v, sink, None)


def decoder_heads(
    q: Float[Tensor, "... h n d_k"],
    k: Float[Tensor, "... g m d_k"],
    v: Float[Tensor, "... g m d_v"],
    sink: Float[Tensor, " h"] | None = None,
    cap: int | float | None = None,
    w: int | None = None,
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: SparseBackend = "auto",
) -> Float[Tensor, "... h n d_v"]:
    """``grouped_query`` with what today's decoders add to it: ``sinks``, scores capped as in ``softcap``, and a window of each
    query's own key and the ``w`` before it, the last query beside the last key. Statement: ``attention.decoder_heads``.

    What is None is left out; without a window a query sees what the mask lets it see. A row with no permitted key is 0. In 16
    bits with a sink or a cap all is computed in float32 and rounded once. ``backend="flex"`` is torch's FlexAttention, on CUDA
    alone and without sinks: NotImplementedError. Raises what these three raise, and ValueError for a negative ``w``. Source:
    Jiang et al. 2023, "Mistral 7B", section 2; Gemma Team 2024, "Gemma 2", section 2; OpenAI 2025, "gpt-oss-120b & gpt-oss-20b
    Model Card", section 2.2.
    """
    formula = "attention.decoder_heads"
    if cap is not None and not 0 < cap < math.inf:
        raise ValueError(f"{formula}: expected a finite cap > 0; got {cap}")
    if w is not None and w < 0:
        raise ValueError(f"{formula}: expected w >= 0; got {w}")
    if sink is not None:
        _check_sink(formula, q, sink)
    if backend == "flex":
        if sink is not None:
            raise NotImplementedError(f"{formula}: backend='flex' has no sinks; use backend='auto'")
        check_groups(formula, q, k, v, mask)
        capped = None if cap is None else lambda s, b, head, i, j: cap * torch.tanh(s / cap)
        if w is None:
            return attend_groups(formula, q, k, v, None, mask, capped)
        return attend_within(formula, q, k, v, w, 0, mask, capped)
    rows, seen = split_groups(formula, q, k, v, mask)
    if w is not None:
        n, m = q.shape[-2], k.shape[-2]
        within = causal_mask(n, m, device=q.device).triu(m - n - w)
        rows, seen = split_groups(formula, q, k, v, within if mask is None else within & mask)
    if sink is None and cap is None:
        return _join(scaled_dot_product(rows, k, v, seen, backend=backend), q)
    return _attend(rows, seen, q, k, v, sink, cap)


def softcap(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    cap: int | float,
    mask: Bool[Tensor, "... #n #m"] | None = None,
) -> Float[Tensor, "... n d_v"]:
    """Scaled dot-product attention whose scores s become cap·tanh(s/cap) before the softmax; a row with no permitted key is 0.
    Statement: ``attention.softcap``.

    In 16 bits all is computed in float32 and rounded once. Raises what ``scaled_dot_product`` raises, and ValueError unless the
    cap is finite and positive. Source: Gemma Team 2024, "Gemma 2", section 2.
    """
    check_qkv("attention.softcap", q, k, v)
    if not 0 < cap < math.inf:
        raise ValueError(f"attention.softcap: expected a finite cap > 0; got {cap}")
    if mask is not None:
        check_mask("attention.softcap", mask, q.shape[-2], k.shape[-2])
    check_lead("attention.softcap", q, k, v, mask)
    if q.dtype.itemsize == 2:
        return softcap(q.float(), k.float(), v.float(), cap, mask).to(q.dtype)
    if mask is not None and unsafe(q, k, v):
        q, k, v = blank(q, k, v, mask)
    return masked_softmax(cap * torch.tanh(scaled_dot(q, k) / cap), mask) @ v


def split_groups(
    formula: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The queries of a group as rows of one head (... g r·n d_k), and the mask repeated for each; refuse what does not fit."""
    check_groups(formula, q, k, v, mask)
    n, g = q.shape[-2], k.shape[-3]
    if mask is not None:
        if mask.shape[-2] != 1:
            mask = (
                mask.unsqueeze(-3)
                .expand(*mask.shape[:-2], q.shape[-3] // g, n, mask.shape[-1])
                .flatten(-3, -2)
            )
        mask = mask.unsqueeze(-3)
    return q.unflatten(-3, (g, -1)).flatten(-3, -2), mask


def check_groups(formula: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    """Refuse heads of queries that are no multiple of the groups, and a mask that does not fit or has an axis for heads."""
    check_qkv(formula, q, k, v)
    if (
        min(q.dim(), k.dim(), v.dim()) < 3
        or k.shape[-3] != v.shape[-3]
        or not (q.shape[-3] and k.shape[-3])
        or q.shape[-3] % k.shape[-3]
    ):
        expected = "q (... g*r n d_k), k (... g m d_k), v (... g m d_v)"
        raise _refuse.shapes(formula, expected, q=q, k=k, v=v)
    if mask is not None:
        check_mask(formula, mask, q.shape[-2], k.shape[-2])
        check_lead(formula, q[..., 0, :, :], k[..., 0, :, :], v[..., 0, :, :], mask)


def _join(z: Tensor, q: Tensor) -> Tensor:
    """The rows of groups (... g r·n d_v) as heads (... h n d_v)."""
    return z.reshape(*z.shape[:-3], *q.shape[-3:-1], z.shape[-1])


def _check_sink(formula: str, q: Tensor, sink: Tensor) -> None:
    """Refuse sinks that are not one for each head, of the queries' dtype."""
    if sink.dim() != 1 or q.dim() < 3 or len(sink) != q.shape[-3]:
        raise _refuse.shapes(formula, "q (... h n d_k), sink (h)", q=q, sink=sink)
    _refuse.check_floating(formula, q=q, sink=sink)


def _attend(
    rows: Tensor,
    mask: Tensor | None,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sink: Tensor | None,
    cap: float | None,
) -> Tensor:
    """Attention of rows to their groups in plain operations, with capped scores, and with a sink as one more score."""
    if q.dtype.itemsize == 2:
        rows, k, v, sink = rows.float(), k.float(), v.float(), None if sink is None else sink.float()
    if mask is not None and unsafe(rows, k, v):
        rows, k, v = blank(rows, k, v, mask)
    s = scaled_dot(rows, k)
    if cap is not None:
        s = cap * torch.tanh(s / cap)
    if sink is None:
        a = masked_softmax(s, mask)
    else:
        if mask is not None:
            s = torch.where(mask, s, -math.inf)
        beside = sink.view(k.shape[-3], -1, 1).expand(-1, -1, q.shape[-2]).flatten(-2).unsqueeze(-1)
        a = torch.softmax(torch.cat((s, beside.expand(*s.shape[:-1], 1)), -1), -1)[..., :-1]
    return _join(a @ v, q).to(q.dtype)
