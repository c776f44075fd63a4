"""Variants of ``attention.softmax`` and ``attention.scaled_dot_product``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

SOFTMAX, SDPA = "attention.softmax", "attention.scaled_dot_product"


def masked(s: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the permitted keys, right: the material of the variants below."""
    if mask is None:
        return torch.softmax(s, -1)
    some = mask.any(-1, keepdim=True)
    fill = torch.zeros_like(some, dtype=s.dtype).masked_fill(some, -math.inf)
    return torch.softmax(torch.where(mask, s, fill), -1).masked_fill(~some, 0.0)


def raw(q: Tensor, k: Tensor) -> Tensor:
    """Scaled scores."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def blank(x: Tensor, mask: Tensor | None) -> Tensor:
    """Keys or values with the slots that no query may attend to set to 0."""
    return x if mask is None else torch.where(mask.any(-2)[..., None], x, 0.0)


def blank_queries(q: Tensor, mask: Tensor | None) -> Tensor:
    """Queries with those that may attend to nothing set to 0."""
    return q if mask is None else torch.where(mask.any(-1)[..., None], q, 0.0)


@wrong(SOFTMAX)
def without_shift(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Exponentiates without subtracting the maximum: overflows."""
    e = s.exp() if mask is None else s.exp() * mask
    return e / e.sum(-1, keepdim=True).clamp_min(torch.finfo(s.dtype).tiny)


@wrong(SOFTMAX)
def over_queries(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Normalises over the wrong axis."""
    return masked(s.mT, None if mask is None else mask.mT).mT


@wrong(SOFTMAX)
def inverted(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes True for "may not attend"."""
    return masked(s, None if mask is None else ~mask)


@wrong(SOFTMAX)
def small_fill(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills masked scores with −1e4: large scores reach it, and a fully masked row becomes the mean."""
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -1e4), -1)


@wrong(SOFTMAX)
def infinite_fill(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills with −∞ and leaves NaN in fully masked rows, though 0 was promised."""
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -math.inf), -1)


@wrong(SOFTMAX)
def mask_after(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Multiplies by the mask after the softmax: permitted keys do not sum to 1."""
    a = torch.softmax(s, -1)
    return a if mask is None else a * mask


@wrong(SOFTMAX)
def mask_in_place(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills the caller's scores in place."""
    a = masked(s, mask)
    if mask is not None:
        with torch.no_grad():
            s.masked_fill_(~mask, -math.inf)
    return a


@wrong(SOFTMAX)
def denominator_detached(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Treats the denominator as a constant: the gradient misses −a aᵀ."""
    if mask is not None:
        s = torch.where(mask, s, -1e30)
    e = (s - s.amax(-1, keepdim=True)).exp() * (1.0 if mask is None else mask)
    return e / e.sum(-1, keepdim=True).clamp_min(1e-30).detach()


@wrong(SOFTMAX)
def smoothed(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Adds 1e-6 to the denominator "to be safe"."""
    a = masked(s, mask)
    return a / (1 + 1e-6)


@wrong(SOFTMAX)
def in_single(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Casts to float32 for the softmax, float64 included."""
    return masked(s.float(), mask).to(s.dtype)


@wrong(SOFTMAX)
def flat_row(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Normalises over the whole matrix when the queries were flattened."""
    some = masked(s.flatten(-2)[..., None, :], None if mask is None else mask.flatten(-2)[..., None, :])
    return some.reshape(s.shape)


@right(SOFTMAX)
def two_passes(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """exp of the shifted scores, over their sum."""
    if mask is None:
        e = (s - s.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)
    top = torch.where(mask, s, -math.inf).amax(-1, keepdim=True)
    top = torch.where(top.isinf(), 0.0, top).detach()
    e = torch.where(mask, s - top, -math.inf).exp()
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total > 0, total, 1.0)


@right(SOFTMAX)
def by_log_softmax(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """exp(log softmax(s))."""
    if mask is None:
        return F.log_softmax(s, -1).exp()
    some = mask.any(-1, keepdim=True)
    filled = torch.where(mask, s, torch.where(some, -math.inf, 0.0).to(s.dtype))
    return F.log_softmax(filled, -1).exp() * some


@wrong(SDPA)
def no_scale(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Forgets 1/√d_k."""
    return F.scaled_dot_product_attention(q, k, v, mask, scale=1.0)


@wrong(SDPA)
def scale_of_values(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scales by √d_v: unnoticed as long as d_k = d_v."""
    return masked(q @ k.mT / math.sqrt(v.shape[-1]), mask) @ blank(v, mask)


@wrong(SDPA)
def keys_dropped(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes a mask of nn.MultiheadAttention's polarity: True drops."""
    return masked(raw(q, k), None if mask is None else ~mask) @ v


@wrong(SDPA)
def finite_minimum(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills with finfo.min: a fully masked row becomes the mean of the values."""
    s = raw(q, k)
    return torch.softmax(s if mask is None else s.masked_fill(~mask, torch.finfo(s.dtype).min), -1) @ v


@wrong(SDPA)
def additive_boolean(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Adds the boolean mask to the scores as if it were additive."""
    s = raw(q, k)
    return torch.softmax(s if mask is None else s + mask.to(s.dtype), -1) @ v


@wrong(SDPA)
def queries_as_keys(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Masks padding of the queries too: rows at positions hidden as keys become 0."""
    z = masked(raw(q, k), mask) @ blank(v, mask)
    if mask is None or q.shape[-2] > k.shape[-2]:
        return z
    hidden = ~mask.any(-2)[..., : q.shape[-2], None]
    return torch.where(hidden, 0.0, z)


@wrong(SDPA)
def dropout_left_on(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Leaves dropout of 10 % on in evaluation."""
    return F.dropout(masked(raw(q, k), mask), 0.1) @ blank(v, mask)


@wrong(SDPA)
def weights_detached(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Stores the weights for a plot and goes on with the detached copy: queries and keys learn nothing."""
    return masked(raw(q, k), mask).detach() @ blank(v, mask) + 0 * (q.sum() + k.sum())


@wrong(SDPA)
def weights_in_bfloat(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Keeps the weights in bfloat16."""
    return masked(raw(q, k), mask).bfloat16().to(v.dtype) @ blank(v, mask)


@wrong(SDPA)
def values_zeroed_in_place(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Clears hidden values in the caller's tensor."""
    z = masked(raw(q, k), mask) @ blank(v, mask)
    if mask is not None and mask.dim() == 2:
        with torch.no_grad():
            v.masked_fill_(~mask.any(-2)[..., None], 7.0)
    return z


@wrong(SDPA)
def batch_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """dim=0 in a function that has always seen a single sequence."""
    s = raw(q, k)
    if mask is not None:
        s = s.masked_fill(~mask, -1e30)
    return torch.softmax(s, 0) @ v


@wrong(SDPA)
def kernel_as_is(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """torch's kernel as it is: NaN in a slot hidden from every query leaks (0·NaN)."""
    return F.scaled_dot_product_attention(q, k, v, mask)


@right(SDPA)
def plain(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Three lines, as in the statement; hidden slots are blanked first."""
    return masked(raw(blank_queries(q, mask), blank(k, mask)), mask) @ blank(v, mask)


@right(SDPA)
def by_contraction(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """einsum and log-softmax."""
    q, k, v = blank_queries(q, mask), blank(k, mask), blank(v, mask)
    s = torch.einsum("...ic,...jc->...ij", q * q.shape[-1] ** -0.5, k)
    return torch.einsum("...ij,...jc->...ic", by_log_softmax(s, mask), v)


@right(SDPA)
def by_blocks(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Online softmax over blocks of two keys: running maximum, sum and mean, as FlashAttention does."""
    q, k, v = blank_queries(q, mask), blank(k, mask), blank(v, mask)
    s = raw(q, k)
    if mask is not None:
        s = torch.where(mask, s, -math.inf)
    top = s.new_full((*s.shape[:-1], 1), -math.inf)
    total, z = s.new_zeros(top.shape), s.new_zeros(*s.shape[:-1], v.shape[-1])
    for start in range(0, k.shape[-2], 2):
        part = s[..., start : start + 2]
        new = torch.maximum(top, part.amax(-1, keepdim=True)).detach()
        safe = torch.where(new.isinf(), 0.0, new)
        old = (top - safe).exp()
        e = (part - safe).exp()
        total, z, top = total * old + e.sum(-1, keepdim=True), z * old + e @ v[..., start : start + 2, :], new
    return z / torch.where(total > 0, total, 1.0)


@right(SDPA)
def kernel_with_care(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """torch's kernel, on blanked slots; rows without a key set to 0."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v)
    some = mask.any(-1, keepdim=True)
    q, k, v = blank_queries(q, mask), blank(k, mask), blank(v, mask)
    return torch.where(some, F.scaled_dot_product_attention(q, k, v, mask | ~some), 0.0)


# Masks by a finite number -------------------------------------------------------------------------------------------------


def filled(s: Tensor, mask: Tensor | None, fill: float) -> Tensor:
    """The weights where a masked score is replaced by a number."""
    return torch.softmax(s if mask is None else s.masked_fill(~mask, fill), -1)


def lowered(s: Tensor, mask: Tensor | None) -> Tensor:
    """The weights where 10⁴ is taken off a masked score, as in the original BERT."""
    return torch.softmax(s if mask is None else s - 1e4 * ~mask, -1)


@right(SOFTMAX, fully_masked="filled_1e4")
def weights_filled(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """−10⁴ for masked scores, where that is the convention."""
    return filled(s, mask, -1e4)


@right(SOFTMAX, fully_masked="added_1e4")
def weights_lowered(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Masked scores less 10⁴, where that is the convention."""
    return lowered(s, mask)


@wrong(SOFTMAX, fully_masked="filled_1e4")
def lowered_not_filled(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Adds −10⁴ where the score was to be replaced by it: a query without a key attends as if none were masked."""
    return lowered(s, mask)


@wrong(SOFTMAX, fully_masked="filled_1e9")
def filled_with_less(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """−10³ where −10⁹ was promised: large scores let masked keys in."""
    return filled(s, mask, -1e3)


@right(SDPA, fully_masked="filled_1e6")
def attention_filled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """−10⁶ for masked scores, as d2l has it, where that is the convention."""
    return filled(raw(q, k), mask, -1e6) @ v


@right(SDPA, fully_masked="filled_1e9")
def attention_filled_as_annotated(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """−10⁹ for masked scores, as the Annotated Transformer has it, where that is the convention."""
    return filled(raw(q, k), mask, -1e9) @ v


@right(SDPA, fully_masked="added_1e4")
def attention_lowered(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Masked scores less 10⁴, where that is the convention."""
    return lowered(raw(q, k), mask) @ v


@wrong(SDPA, fully_masked="filled_1e9")
def filled_with_twenty(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills with −20, far from what was promised: ordinary scores come through."""
    return filled(raw(q, k), mask, -20.0) @ v
