"""Softmax over the keys a query may attend to, and the mean of their values under it.

A query that may attend to nothing gets 0 and passes no gradient. What stands in a slot that no query may attend to, NaN and
Inf included, reaches neither output nor gradient: torch's kernels multiply it by 0, which leaves NaN as it is.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl._transforms import beyond_one_grad, in_func
from impl.scores import scaled_dot

__all__ = ["scaled_dot_product", "softmax"]

Backend = Literal["auto", "math"]

_QKV = "q (... n d_k), k (... m d_k), v (... m d_v)"


def softmax(
    s: Float[Tensor, "... n m"], mask: Bool[Tensor, "... #n #m"] | None = None
) -> Float[Tensor, "... n m"]:
    """a[i,j] = exp(s[i,j]) / Σ_l exp(s[i,l]) over the keys l that query i may attend to; exactly 0 elsewhere, and in a
    row with none. Statement: ``attention.softmax``.

    ValueError for a mask that does not broadcast to s, TypeError unless s is floating and the mask boolean. Source:
    Vaswani et al. 2017, section 3.2.1; Bridle 1990 for softmax itself.
    """
    if not s.is_floating_point():
        raise _refuse.dtypes("attention.softmax", "a floating s", s=s)
    if mask is None:
        return torch.softmax(s, -1)
    if s.dim() < 1:
        raise _refuse.shapes("attention.softmax", "s (... n m)", s=s)
    _check_mask("attention.softmax", mask, s.shape[-2] if s.dim() > 1 else 1, s.shape[-1])
    if mask.dim() > 2:
        _refuse.check_lead("attention.softmax", s=s, mask=mask)
    # A row with no key is filled with 0, not -inf: its softmax is then finite, and so are all its derivatives.
    some = mask.any(-1, keepdim=True)
    fill = torch.zeros_like(some, dtype=s.dtype).masked_fill(some, -math.inf)
    return torch.softmax(torch.where(mask, s, fill), -1).masked_fill(~some, 0.0)


def scaled_dot_product(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """z = softmax(q kᵀ / √d_k) v over the permitted keys; a row with none is 0. Statement: ``attention.scaled_dot_product``.

    ValueError for shapes that do not fit, TypeError unless q, k and v share one floating dtype and the mask is boolean.
    Source: Vaswani et al. 2017, equation 1.
    """
    _check("attention.scaled_dot_product", q, k, v, backend)
    if mask is None:
        return _math(q, k, v, None) if backend == "math" or beyond_one_grad() else _fused(q, k, v)
    _check_mask("attention.scaled_dot_product", mask, q.shape[-2], k.shape[-2])
    if backend == "math" or beyond_one_grad():
        return _math(q, k, v, mask)
    if not q.is_cpu or torch.compiler.is_compiling():
        # Looking at values would wait for the device, or stop the compiler.
        return _fused(*_blank(q, k, v, mask), mask)
    # Few inputs need blanking, and a sum shows cheaply which. Without gradients the sum of the output is enough.
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        if not _finite(q, k, v):
            q, k, v = _blank(q, k, v, mask)
        return _fused(q, k, v, mask)
    z = _fused(q, k, v, mask)
    return z if _finite(z) else _fused(*_blank(q, k, v, mask), mask)


def _math(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """The formula in plain operations; with 16-bit inputs they are done in float32 and rounded once, at the end."""
    _lead("attention.scaled_dot_product", q, k, v, mask)
    return _weighted(q, k, v, mask)[0]


def _weighted(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The contexts, and the weights (... n m) that they are means under, in plain operations."""
    if q.dtype.itemsize == 2:
        z, a = _weighted(q.float(), k.float(), v.float(), mask)
        return z.to(q.dtype), a.to(q.dtype)
    if mask is not None and _unsafe(q, k, v):
        q, k, v = _blank(q, k, v, mask)
    a = softmax(scaled_dot(q, k), mask)
    return a @ v, a


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """torch's kernel. It is fused only for four dimensions (b h n d) with equal b and h, so others are brought to that."""
    qs, ks, lead = q.shape, k.shape, None
    if len(qs) != 4 or ks[:2] != qs[:2] or v.shape != ks or not (mask is None or _fits(mask, qs)):
        lead = _lead("attention.scaled_dot_product", q, k, v, mask)
        q, k, v = (_four(x, lead) for x in (q, k, v))
        mask = None if mask is None else _four(mask, lead)
    try:
        z = F.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal)
    except NotImplementedError as error:
        raise NotImplementedError(
            "attention: torch's fused kernel has no forward-mode derivative; pass backend='math'"
        ) from error
    return z if lead is None else z.reshape(*lead, *z.shape[-2:])


def _lead(formula: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> torch.Size:
    """The leading dimensions that all broadcast to."""
    masked = {} if mask is None else {"mask": mask}
    return _refuse.check_lead(formula, q=q, k=k, v=v, **masked)


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


def _blank(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v with 0 in every slot that the mask hides from all its partners: 0 · 0 is 0 where 0 · NaN is NaN."""
    asks, asked = mask.any(-1, keepdim=True), mask.any(-2).unsqueeze(-1)
    return torch.where(asks, q, 0.0), torch.where(asked, k, 0.0), torch.where(asked, v, 0.0)


def _unsafe(*tensors: Tensor) -> bool:
    """Whether hidden slots have to be blanked: where something is not finite, and where looking at values would wait for
    the device, stop the compiler or a transform.
    """
    looking = tensors[0].is_cpu and not torch.compiler.is_compiling() and not in_func()
    return not looking or not _finite(*tensors)


def _finite(*tensors: Tensor) -> bool:
    """False if any entry is NaN or Inf (or a sum overflows: that costs the caller some time, never a wrong value)."""
    return all(math.isfinite(x.sum().item()) for x in tensors)


def _check(formula: str, q: Tensor, k: Tensor, v: Tensor, backend: str) -> None:
    qs, ks, vs = q.shape, k.shape, v.shape
    if len(qs) < 2 or len(ks) < 2 or len(vs) < 2 or qs[-1] != ks[-1] or ks[-2] != vs[-2]:
        raise _refuse.shapes(formula, _QKV, q=q, k=k, v=v)
    if not (q.dtype == k.dtype == v.dtype and q.is_floating_point()):
        _refuse.check_floating(formula, q=q, k=k, v=v)
    _check_backend(formula, backend)


def _check_backend(formula: str, backend: str) -> None:
    if backend != "auto" and backend != "math":
        raise ValueError(f"{formula}: backend is 'auto' or 'math'; got {backend!r}")


def _check_mask(formula: str, mask: Tensor, n: int, m: int) -> None:
    if mask.dtype != torch.bool:
        raise _refuse.dtypes(
            formula, "a boolean mask, True = may attend (of an additive mask: mask > -inf)", mask=mask
        )
    ms = mask.shape
    if len(ms) < 2 or (ms[-1] != m and ms[-1] != 1) or (ms[-2] != n and ms[-2] != 1):
        raise _refuse.shapes(formula, f"a mask that broadcasts to (... n m) = (... {n} {m})", mask=mask)
