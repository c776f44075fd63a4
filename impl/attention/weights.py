"""Softmax over the keys a query may attend to, all of them or none that comes after it, and the mean of their values under it.

A query that may attend to nothing gets 0 and passes no gradient. What stands in a slot that no query may attend to, NaN and
Inf included, reaches neither output nor gradient: torch's kernels multiply it by 0, which leaves NaN as it is.
"""

import math
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl._transforms import beyond_one_grad, in_func, readable, refuse_second_derivative
from impl.attention._checks import check_bias, check_dropout, check_lead, check_mask, check_qkv
from impl.attention.flex import SparseBackend, attend_by_rule
from impl.attention.masks import Alignment, blank, causal_mask, finite, trusts_hidden, unsafe
from impl.scores import additive, scaled_dot
from impl.scores.networks import AdditiveBackend

__all__ = ["additive_weights", "causal", "log_sum_exp", "scaled_dot_product", "softmax"]


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
    if mask is not None:
        if s.dim() < 2:
            raise _refuse.shapes("attention.softmax", "s (... n m)", s=s)
        check_mask("attention.softmax", mask, s.shape[-2], s.shape[-1], s.shape[:-2])
    return masked_softmax(s, mask)


def masked_softmax(s: Tensor, mask: Tensor | None) -> Tensor:
    """``softmax`` of what was checked before; the mask may have leading dimensions that the values bring."""
    if mask is None:
        return torch.softmax(s, -1)
    # A row with no key is filled with 0, not -inf: its softmax is then finite, and so are all its derivatives.
    some = mask.any(-1, keepdim=True)
    fill = torch.zeros_like(some, dtype=s.dtype).masked_fill(some, -math.inf)
    return torch.softmax(torch.where(mask, s, fill), -1).masked_fill(~some, 0.0)


def log_sum_exp(
    s: Float[Tensor, "... n m"], mask: Bool[Tensor, "... #n #m"] | None = None
) -> Float[Tensor, "... n"]:
    """L[i] = log Σ_j exp(s[i,j]) over the keys j that query i may attend to; −∞ without one, which passes no gradient. Statement:
    ``attention.log_sum_exp``.

    In 16 bits it is computed in float32 and rounded once. ValueError for a mask that does not broadcast to s, TypeError unless s
    is floating and the mask boolean. Source: Milakov & Gimelshein 2018, "Online normalizer calculation for softmax", section 3.
    """
    if not s.is_floating_point():
        raise _refuse.dtypes("attention.log_sum_exp", "a floating s", s=s)
    if s.dim() < 2:
        raise _refuse.shapes("attention.log_sum_exp", "s (... n m)", s=s)
    if mask is not None:
        check_mask("attention.log_sum_exp", mask, s.shape[-2], s.shape[-1], s.shape[:-2])
    return masked_log_sum_exp(s, mask)


def masked_log_sum_exp(s: Tensor, mask: Tensor | None) -> Tensor:
    """``log_sum_exp`` of what was checked before."""
    wide = s.float() if s.dtype.itemsize == 2 else s
    if mask is None:
        return torch.logsumexp(wide, -1).to(s.dtype)
    # As in the softmax: a row with no key is filled with 0, so that its derivatives are finite, and becomes −∞ afterwards.
    some = mask.any(-1, keepdim=True)
    fill = torch.zeros_like(some, dtype=wide.dtype).masked_fill(some, -math.inf)
    total = torch.logsumexp(torch.where(mask, wide, fill), -1)
    return total.masked_fill(~some.squeeze(-1), -math.inf).to(s.dtype)


def additive_weights(
    q: Float[Tensor, "... n d_q"],
    k: Float[Tensor, "... m d_k"],
    W: Float[Tensor, "b d_q+d_k"],
    v: Float[Tensor, " b"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: AdditiveBackend = "auto",
) -> Float[Tensor, "... n m"]:
    """``softmax(additive(q, k, W, v), mask)``: the weights of ``impl.scores.additive``'s scores. Statement:
    ``attention.additive_weights``.

    ``backend`` is that of the score. ValueError for shapes that do not fit, TypeError unless all share one floating dtype and
    the mask is boolean. Source: Bahdanau, Cho & Bengio 2015, "Neural Machine Translation by Jointly Learning to Align and
    Translate", equation 6 and appendix A.1.2.
    """
    _refuse.check_floating("attention.additive_weights", q=q, k=k, W=W, v=v)
    if mask is not None and min(q.dim(), k.dim()) > 1:
        check_mask("attention.additive_weights", mask, q.shape[-2], k.shape[-2])
        if unsafe(q, k):
            asks, asked = mask.any(-1, keepdim=True), mask.any(-2).unsqueeze(-1)
            q, k = torch.where(asks, q, 0.0), torch.where(asked, k, 0.0)
    return softmax(additive(q, k, W, v, backend=backend), mask)


def scaled_dot_product(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    bias: Float[Tensor, "... #n #m"] | None = None,
    dropout: float = 0.0,
    backend: SparseBackend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """z = softmax(q kᵀ / √d_k) v over the permitted keys; a row with none is 0. Statement: ``attention.scaled_dot_product``.

    A ``bias`` is added to the scores, such as that of relative positions; ``dropout`` is the share of weights that are dropped.
    ``backend="flex"`` is torch's FlexAttention, on CUDA alone, which has neither: NotImplementedError. ValueError for shapes that
    do not fit, a dropout outside 0..1 included, TypeError unless q, k and v share one floating dtype, the bias is floating and
    the mask is boolean. Source: Vaswani et al. 2017, equation 1.
    """
    check_qkv("attention.scaled_dot_product", q, k, v)
    if mask is not None:
        check_mask("attention.scaled_dot_product", mask, q.shape[-2], k.shape[-2])
    if bias is not None:
        lead = check_lead("attention.scaled_dot_product", q, k, v, None)
        check_bias("attention.scaled_dot_product", bias, q.shape[-2], k.shape[-2], lead)
    check_dropout("attention.scaled_dot_product", dropout)
    if backend == "flex":
        if bias is not None or dropout:
            raise NotImplementedError(
                "attention.scaled_dot_product: backend='flex' has neither bias nor dropout; use backend='auto'"
            )
        check_lead("attention.scaled_dot_product", q, k, v, mask)
        return attend_by_rule("attention.scaled_dot_product", q, k, v, None, mask)
    if backend == "math" or beyond_one_grad() or (bias is not None and in_func()):
        check_lead("attention.scaled_dot_product", q, k, v, mask)
        return attend_with_weights(q, k, v, mask, bias, dropout)[0]
    run = partial(attend_fused, bias=bias, dropout=dropout) if bias is not None or dropout else attend_fused
    if mask is None or trusts_hidden():
        return run(q, k, v, mask)
    if not readable(q):
        # Looking at values would wait for the device, or stop the compiler.
        return run(*blank(q, k, v, mask), mask)
    # Few inputs need blanking, and a sum shows cheaply which. Without gradients the sum of the output is enough.
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        if not finite(q, k, v):
            q, k, v = blank(q, k, v, mask)
        return run(q, k, v, mask)
    z = run(q, k, v, mask)
    return z if finite(z) else run(*blank(q, k, v, mask), mask)


def causal(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    *,
    alignment: Alignment = "lower_right",
    dropout: float = 0.0,
    backend: SparseBackend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """Scaled dot-product attention in which query i attends to key j only if j ≤ i + (m − n): the last query sees
    every key, as when decoding with a cache. A row with no key is 0. Statement: ``attention.causal``.

    ``alignment="upper_left"`` is torch's ``is_causal``: j ≤ i, the first query sees the first key only. The two agree
    where n = m. ``dropout`` is the share of weights that are dropped. Raises what ``scaled_dot_product`` raises. Source:
    Vaswani et al. 2017, section 3.2.3.
    """
    check_qkv("attention.causal", q, k, v)
    check_dropout("attention.causal", dropout)
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        check_lead("attention.causal", q, k, v, None)
    n, m = q.shape[-2], k.shape[-2]
    if alignment == "upper_left":
        if m > n:  # keys that no query ever sees
            k, v, m = k[..., :n, :], v[..., :n, :], n
    elif n > m:  # queries that never see a key
        z = causal(q[..., n - m :, :], k, v, dropout=dropout, backend=backend)
        return F.pad(z, (0, 0, n - m, 0))
    if backend == "flex":
        if dropout:
            raise NotImplementedError("attention.causal: backend='flex' has no dropout; use backend='auto'")
        ahead = max(m - n, 0)
        return attend_by_rule("attention.causal", q, k, v, lambda i, j: j <= i + ahead)
    if backend == "math" or beyond_one_grad():
        seen = causal_mask(n, m, alignment=alignment, device=q.device)
        return attend_with_weights(q, k, v, seen, dropout=dropout)[0]
    if n >= m:
        return attend_fused(q, k, v, is_causal=True, dropout=dropout)
    mask = None if n == 1 else causal_mask(n, m, device=q.device)
    return attend_fused(q, k, v, mask, dropout=dropout)


def attend_with_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None = None, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The contexts, and the weights (... n m) that they are means under, before some are dropped, in plain operations; with
    16-bit inputs these are done in float32 and rounded once, at the end.
    """
    if q.dtype.itemsize == 2:
        z, a = attend_with_weights(q.float(), k.float(), v.float(), mask, bias, dropout)
        return z.to(q.dtype), a.to(q.dtype)
    if mask is not None and unsafe(q, k, v):
        q, k, v = blank(q, k, v, mask)
    s = scaled_dot(q, k)
    a = masked_softmax(s if bias is None else s + bias.to(s.dtype), mask)
    return (F.dropout(a, dropout) if dropout else a) @ v, a


def attend_fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    is_causal: bool = False,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """torch's kernel. It is fused only for four dimensions (b h n d) with equal b and h, so others are brought to that."""
    if bias is not None:  # to the kernel, a bias of -inf is a mask
        bias = bias.to(q.dtype)
        mask = bias if mask is None else torch.where(mask, bias, -math.inf)
    qs, ks, lead = q.shape, k.shape, None
    if len(qs) != 4 or ks[:2] != qs[:2] or v.shape != ks or not (mask is None or _fits(mask, qs)):
        lead = check_lead("attention.scaled_dot_product", q, k, v, mask)
        q, k, v = (_four(x, lead) for x in (q, k, v))
        mask = None if mask is None else _four(mask, lead)
    z = kernel(q, k, v, mask, dropout, is_causal)
    return z if lead is None else z.reshape(*lead, *z.shape[-2:])


def kernel(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float = 0.0, is_causal: bool = False
) -> Tensor:
    """torch's kernel; where it has no derivative, that is said in one line."""
    lacks = "attention: torch's fused kernel has no {}; use backend='math' or torch.nn.attention.sdpa_kernel"
    try:
        z = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal)
    except NotImplementedError as error:
        raise NotImplementedError(lacks.format("forward-mode derivative")) from error
    refuse_second_derivative(z, "ScaledDotProduct", lacks.format("second derivative"))
    return z


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
