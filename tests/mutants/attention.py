"""Variants of ``attention.softmax`` and ``attention.scaled_dot_product``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

SOFTMAX, SDPA = "attention.softmax", "attention.scaled_dot_product"


def masked(s, mask):
    """Softmax over the permitted keys, right: the material of the variants below."""
    if mask is None:
        return torch.softmax(s, -1)
    some = mask.any(-1, keepdim=True)
    fill = torch.zeros_like(some, dtype=s.dtype).masked_fill(some, -math.inf)
    return torch.softmax(torch.where(mask, s, fill), -1).masked_fill(~some, 0.0)


def raw(q, k):
    """Scaled scores."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def blank(x, mask):
    """Keys or values with the slots that no query may attend to set to 0."""
    return x if mask is None else torch.where(mask.any(-2)[..., None], x, 0.0)


def blank_queries(q, mask):
    """Queries with those that may attend to nothing set to 0."""
    return q if mask is None else torch.where(mask.any(-1)[..., None], q, 0.0)


def blanked(q, k, v, mask):
    """All three without what nothing may read."""
    return blank_queries(q, mask), blank(k, mask), blank(v, mask)


def times(a, mask):
    """Weights of which those that are masked become 0 afterwards."""
    return a if mask is None else a * mask


def inverse(mask):
    """A mask of the other polarity."""
    return None if mask is None else ~mask


def filled(s, mask, fill):
    """The weights where a masked score is replaced by a number."""
    return torch.softmax(s if mask is None else s.masked_fill(~mask, fill), -1)


def lowered(s, mask):
    """The weights where 10⁴ is taken off a masked score, as in the original BERT."""
    return torch.softmax(s if mask is None else s - 1e4 * ~mask, -1)


@wrong(SOFTMAX, cause="overflow")
def without_shift(s, mask=None):
    """Exponentiates without subtracting the maximum: overflows."""
    e = times(s.exp(), mask)
    return e / e.sum(-1, keepdim=True).clamp_min(torch.finfo(s.dtype).tiny)


wrong(SOFTMAX, "over_queries", "Normalises over the wrong axis.", cause="wrong axis|at other positions")(
    lambda s, mask=None: masked(s.mT, None if mask is None else mask.mT).mT
)
wrong(SOFTMAX, "inverted", 'Takes True for "may not attend".', cause="polarity")(
    lambda s, mask=None: masked(s, inverse(mask))
)
wrong(
    SOFTMAX,
    "small_fill",
    "Fills with −1e4: large scores reach it, a fully masked row becomes the mean.",
    cause=r"finite number[:,]|-10000\b",
)(lambda s, mask=None: filled(s, mask, -1e4))
wrong(
    SOFTMAX,
    "infinite_fill",
    "Fills with −∞ and leaves NaN in fully masked rows, though 0 was promised.",
    cause="row nothing",
)(lambda s, mask=None: filled(s, mask, -math.inf))
wrong(
    SOFTMAX,
    "mask_after",
    "Multiplies by the mask after the softmax: permitted keys do not sum to 1.",
    cause="sum to 1|over hidden",
)(lambda s, mask=None: times(torch.softmax(s, -1), mask))


@wrong(SOFTMAX, cause="writes to its input")
def mask_in_place(s, mask=None):
    """Fills the caller's scores in place."""
    a = masked(s, mask)
    if mask is not None:
        with torch.no_grad():
            s.masked_fill_(~mask, -math.inf)
    return a


@wrong(SOFTMAX, cause="for a constant")
def denominator_detached(s, mask=None):
    """Treats the denominator as a constant: the gradient misses −a aᵀ."""
    s = s if mask is None else torch.where(mask, s, -1e30)
    e = times((s - s.amax(-1, keepdim=True)).exp(), mask)
    return e / e.sum(-1, keepdim=True).clamp_min(1e-30).detach()


wrong(SOFTMAX, "smoothed", 'Divides by 1 + 1e-6 "to be safe".', cause=r"0\.999999|1e-06")(
    lambda s, mask=None: masked(s, mask) / (1 + 1e-6)
)
wrong(SOFTMAX, "in_single", "Casts to float32 for the softmax, float64 included.", cause="float32 inside")(
    lambda s, mask=None: masked(s.float(), mask).to(s.dtype)
)


def flat(x):
    """A matrix as one row."""
    return None if x is None else x.flatten(-2)[..., None, :]


wrong(
    SOFTMAX, "flat_row", "Normalises over the whole matrix when the queries were flattened.", cause="it must"
)(lambda s, mask=None: masked(flat(s), flat(mask)).reshape(s.shape))


@right(SOFTMAX)
def two_passes(s, mask=None):
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
def by_log_softmax(s, mask=None):
    """exp(log softmax(s))."""
    if mask is None:
        return F.log_softmax(s, -1).exp()
    some = mask.any(-1, keepdim=True)
    hidden = torch.where(mask, s, torch.where(some, -math.inf, 0.0).to(s.dtype))
    return F.log_softmax(hidden, -1).exp() * some


right(SOFTMAX, "weights_filled", "−10⁴ for masked scores, by that convention.", fully_masked="filled_1e4")(
    lambda s, mask=None: filled(s, mask, -1e4)
)
right(SOFTMAX, "weights_lowered", "Masked scores less 10⁴, by that convention.", fully_masked="added_1e4")(
    lambda s, mask=None: lowered(s, mask)
)
wrong(
    SOFTMAX,
    "lowered_not_filled",
    "Adds −10⁴ where that was to be filled in.",
    fully_masked="filled_1e4",
    cause="lowered|number added",
)(lambda s, mask=None: lowered(s, mask))
wrong(
    SOFTMAX,
    "filled_with_less",
    "−10³ where −10⁹ was promised.",
    fully_masked="filled_1e9",
    cause=r"finite number[:,]|-1000\b",
)(lambda s, mask=None: filled(s, mask, -1e3))

# Scaled dot-product attention ---------------------------------------------------------------------------------------------

wrong(SDPA, "no_scale", "Forgets 1/√d_k.", cause="scale is missing|√d_k times")(
    lambda q, k, v, mask=None: F.scaled_dot_product_attention(q, k, v, mask, scale=1.0)
)
wrong(SDPA, "scale_of_values", "Scales by √d_v: unnoticed as long as d_k = d_v.", cause=r"d_v\)? in|√\(?d_v")(
    lambda q, k, v, mask=None: masked(q @ k.mT / math.sqrt(v.shape[-1]), mask) @ blank(v, mask)
)
wrong(SDPA, "keys_dropped", "Takes a mask of nn.MultiheadAttention's polarity: True drops.", cause="polar")(
    lambda q, k, v, mask=None: masked(raw(q, k), inverse(mask)) @ v
)
wrong(
    SDPA,
    "finite_minimum",
    "Fills with finfo.min: a fully masked row becomes the mean of the values.",
    cause="finite number|gets the mean",
)(lambda q, k, v, mask=None: filled(raw(q, k), mask, torch.finfo(q.dtype).min) @ v)
wrong(
    SDPA, "additive_boolean", "Adds the boolean mask to the scores as if it were additive.", cause="additive"
)(
    lambda q, k, v, mask=None: (
        torch.softmax(raw(q, k) if mask is None else raw(q, k) + mask.to(q.dtype), -1) @ v
    )
)


@wrong(SDPA, cause="(mask|hid).*queries")
def queries_as_keys(q, k, v, mask=None):
    """Masks padding of the queries too: rows at positions hidden as keys become 0."""
    z = masked(raw(q, k), mask) @ blank(v, mask)
    if mask is None or q.shape[-2] > k.shape[-2]:
        return z
    hidden = ~mask.any(-2)[..., : q.shape[-2], None]
    return torch.where(hidden, 0.0, z)


wrong(SDPA, "dropout_left_on", "Leaves dropout of 10 % on in evaluation.", cause="dropout|random")(
    lambda q, k, v, mask=None: F.dropout(masked(raw(q, k), mask), 0.1) @ blank(v, mask)
)
wrong(
    SDPA,
    "weights_detached",
    "Stores the weights for a plot and goes on with the detached copy.",
    cause=r"reaches q, k\b|\b[as] .*for a constant",
)(lambda q, k, v, mask=None: masked(raw(q, k), mask).detach() @ blank(v, mask) + 0 * (q.sum() + k.sum()))
wrong(SDPA, "weights_in_bfloat", "Keeps the weights in bfloat16.", cause="bfloat16 inside")(
    lambda q, k, v, mask=None: masked(raw(q, k), mask).bfloat16().to(v.dtype) @ blank(v, mask)
)


@wrong(SDPA, cause="writes to its input")
def values_overwritten_in_place(q, k, v, mask=None):
    """Writes over hidden values in the caller's tensor."""
    z = masked(raw(q, k), mask) @ blank(v, mask)
    if mask is not None and mask.dim() == 2:
        with torch.no_grad():
            v.masked_fill_(~mask.any(-2)[..., None], 7.0)
    return z


@wrong(SDPA, cause="wrong axis|at other positions")
def batch_softmax(q, k, v, mask=None):
    """dim=0 in a function that has always seen a single sequence."""
    s = raw(q, k)
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -1e30), 0) @ v


wrong(
    SDPA,
    "kernel_as_is",
    "torch's kernel as it is: NaN in a slot hidden from every query leaks (0·NaN).",
    cause="in slots of",
)(lambda q, k, v, mask=None: F.scaled_dot_product_attention(q, k, v, mask))
right(SDPA, "plain", "Three lines, as in the statement; hidden slots are blanked first.")(
    lambda q, k, v, mask=None: masked(raw(blank_queries(q, mask), blank(k, mask)), mask) @ blank(v, mask)
)


@right(SDPA)
def by_contraction(q, k, v, mask=None):
    """einsum and log-softmax."""
    q, k, v = blanked(q, k, v, mask)
    s = torch.einsum("...ic,...jc->...ij", q * q.shape[-1] ** -0.5, k)
    return torch.einsum("...ij,...jc->...ic", by_log_softmax(s, mask), v)


def mix_by_blocks(s, v, size, *, wrong_at_the_end=False):
    """Softmax and sum, not yet divided, in one pass over blocks of keys, and the divisor; ``s`` is −∞ where a key is hidden."""
    top = s.new_full((*s.shape[:-1], 1), -math.inf)
    total, z = torch.zeros_like(top), v.new_zeros(*s.shape[:-1], v.shape[-1])
    for start in range(0, s.shape[-1], size):
        part, values = s[..., start : start + size], v[..., start : start + size, :]
        new = torch.maximum(top, part.amax(-1, keepdim=True)).detach()
        safe = torch.where(new.isinf(), 0.0, new)
        old, e = (top - safe).exp(), (part - safe).exp()
        if wrong_at_the_end and start and part.shape[-1] < size:
            old = torch.ones_like(old)
        total, z, top = total * old + e.sum(-1, keepdim=True), z * old + e @ values, new
    return z, total


@right(SDPA)
def by_blocks(q, k, v, mask=None):
    """Online softmax over blocks of two keys: running maximum, sum and mean, as FlashAttention does."""
    q, k, v = blanked(q, k, v, mask)
    s = raw(q, k)
    z, total = mix_by_blocks(s if mask is None else torch.where(mask, s, -math.inf), v, 2)
    return z / torch.where(total > 0, total, 1.0)


@right(SDPA)
def kernel_with_care(q, k, v, mask=None):
    """torch's kernel, on blanked slots; rows without a key set to 0."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v)
    some = mask.any(-1, keepdim=True)
    return torch.where(some, F.scaled_dot_product_attention(*blanked(q, k, v, mask), mask | ~some), 0.0)


right(SDPA, "attention_filled", "−10⁶ for masked scores, as d2l has it.", fully_masked="filled_1e6")(
    lambda q, k, v, mask=None: filled(raw(q, k), mask, -1e6) @ v
)
right(SDPA, "attention_filled_as_annotated", "−10⁹ for masked scores.", fully_masked="filled_1e9")(
    lambda q, k, v, mask=None: filled(raw(q, k), mask, -1e9) @ v
)
right(SDPA, "attention_lowered", "Masked scores less 10⁴, by that convention.", fully_masked="added_1e4")(
    lambda q, k, v, mask=None: lowered(raw(q, k), mask) @ v
)
wrong(SDPA, "filled_with_twenty", "−20 where −10⁹ was promised.", fully_masked="filled_1e9", cause=r"-20\b")(
    lambda q, k, v, mask=None: filled(raw(q, k), mask, -20.0) @ v
)
