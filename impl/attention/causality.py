"""Causal attention: a query sees no key that comes after it. The masking is the fused kernel's own where it has one."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl._transforms import beyond_one_grad
from impl.attention._checks import Backend, check_lead, check_qkv
from impl.attention._fused import fused
from impl.attention.weights import weighted

__all__ = ["causal", "causal_mask"]

Alignment = Literal["lower_right", "upper_left"]


def causal(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    *,
    alignment: Alignment = "lower_right",
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """Scaled dot-product attention in which query i attends to key j only if j ≤ i + (m − n): the last query sees
    every key, as when decoding with a cache. A row with no key is 0. Statement: ``attention.causal``.

    ``alignment="upper_left"`` is torch's ``is_causal``: j ≤ i, the first query sees the first key only. The two agree
    where n = m. Raises what ``scaled_dot_product`` raises. Source: Vaswani et al. 2017, section 3.2.3.
    """
    check_qkv("attention.causal", q, k, v, backend)
    _check_alignment(alignment)
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        check_lead("attention.causal", q, k, v, None)
    n, m = q.shape[-2], k.shape[-2]
    if alignment == "upper_left":
        if m > n:  # keys that no query ever sees
            k, v, m = k[..., :n, :], v[..., :n, :], n
    elif n > m:  # queries that never see a key
        z = causal(q[..., n - m :, :], k, v, backend=backend)
        return F.pad(z, (0, 0, n - m, 0))
    if backend == "math" or beyond_one_grad():
        return weighted(q, k, v, causal_mask(n, m, alignment=alignment, device=q.device))[0]
    if n >= m:
        return fused(q, k, v, is_causal=True)
    return fused(q, k, v, None if n == 1 else causal_mask(n, m, device=q.device))


def causal_mask(
    n: int, m: int, *, alignment: Alignment = "lower_right", device: torch.device | str | None = None
) -> Bool[Tensor, "{n} {m}"]:
    """The mask of ``causal``: True where key j may be attended to by query i. ValueError for another alignment."""
    _check_alignment(alignment)
    offset = m - n if alignment == "lower_right" else 0
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(offset)


def _check_alignment(alignment: str) -> None:
    if alignment not in ("lower_right", "upper_left"):
        raise ValueError(f"attention.causal: alignment is 'lower_right' or 'upper_left'; got {alignment!r}")
