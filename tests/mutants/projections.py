"""Variants of ``attention.self`` and ``attention.cross``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong
from tests.mutants.attention import blank, blank_queries, filled, inverse, masked

SELF, CROSS = "attention.self", "attention.cross"


def attend(q, k, v, mask, scale=None):
    """Scaled dot-product attention, right: the material of the variants below."""
    k, v, q = blank(k, mask), blank(v, mask), blank_queries(q, mask)
    return masked(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale), mask) @ v


def both(mask, other):
    """A mask together with one that may be missing."""
    return mask if other is None else mask & other


# Self-attention -----------------------------------------------------------------------------------------------------------

wrong(SELF, "projections_exchanged", "Exchanges queries and keys.", cause=r"W_q and W_k|\bq and k\b")(
    lambda x, W_q, W_k, W_v, mask=None: attend(x @ W_k, x @ W_q, x @ W_v, mask)
)
wrong(SELF, "values_matrix_frozen", "No gradient reaches W_v.", cause="reaches W_v")(
    lambda x, W_q, W_k, W_v, mask=None: attend(x @ W_q, x @ W_k, x @ W_v.detach(), mask)
)
wrong(
    SELF, "scaled_by_the_model", "Scales by 1/√d_model instead of 1/√d_k.", cause=r"d_model\)? in|√\(?d_model"
)(lambda x, W_q, W_k, W_v, mask=None: attend(x @ W_q, x @ W_k, x @ W_v, mask, x.shape[-1] ** -0.5))
wrong(SELF, "unscaled", "Forgets the scale.", cause="scale is missing|√d_k times")(
    lambda x, W_q, W_k, W_v, mask=None: attend(x @ W_q, x @ W_k, x @ W_v, mask, 1.0)
)
wrong(
    SELF, "mask_transposed", "Reads the mask with keys in the rows: no shape shows it.", cause="swapped.*mask"
)(lambda x, W_q, W_k, W_v, mask=None: attend(x @ W_q, x @ W_k, x @ W_v, None if mask is None else mask.mT))
wrong(SELF, "mask_inverted", 'Takes True for "may not attend".', cause="polarity")(
    lambda x, W_q, W_k, W_v, mask=None: attend(x @ W_q, x @ W_k, x @ W_v, inverse(mask))
)


@wrong(SELF, cause="as if it were causal")
def always_causal(x, W_q, W_k, W_v, mask=None):
    """Adds a causal mask that nobody asked for."""
    lower = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).tril()
    return attend(x @ W_q, x @ W_k, x @ W_v, both(lower, mask))


@wrong(SELF, cause="no position sees itself")
def never_itself(x, W_q, W_k, W_v, mask=None):
    """A token does not attend to itself."""
    others = ~torch.eye(x.shape[-2], dtype=torch.bool, device=x.device)
    return attend(x @ W_q, x @ W_k, x @ W_v, both(others, mask))


@wrong(SELF, cause="distance|near keys|bias")
def with_positions(x, W_q, W_k, W_v, mask=None):
    """Prefers near keys by a small bias: order is no longer forgotten."""
    place = torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)
    s = (x @ W_q) @ blank(x @ W_k, mask).mT * W_q.shape[-1] ** -0.5
    return masked(s - 1e-3 * (place[:, None] - place).abs(), mask) @ blank(x @ W_v, mask)


wrong(SELF, "residual", "Adds the values again, as a residual connection would.", cause=r"\bv is added to")(
    lambda x, W_q, W_k, W_v, mask=None: attend(x @ W_q, x @ W_k, x @ W_v, mask) + x @ W_v
)


@right(SELF)
def packed(x, W_q, W_k, W_v, mask=None):
    """One product for queries, keys and values."""
    d = W_q.shape[1]
    q, k, v = (x @ torch.cat((W_q, W_k, W_v), 1)).split((d, d, W_v.shape[1]), -1)
    return attend(q, k, v, mask)


@right(SELF)
def by_einsum(x, W_q, W_k, W_v, mask=None):
    """Every product an einsum."""
    q, k, v = (torch.einsum("...il,lc->...ic", x, W) for W in (W_q, W_k, W_v))
    s = torch.einsum("...ic,...jc->...ij", blank_queries(q, mask), blank(k, mask)) / math.sqrt(q.shape[-1])
    return torch.einsum("...ij,...jc->...ic", masked(s, mask), blank(v, mask))


# Cross-attention ----------------------------------------------------------------------------------------------------------


@wrong(CROSS, cause="x and y")
def sequences_exchanged(x, y, W_q, W_k, W_v, mask=None):
    """Takes queries from the encoder and keys from the decoder, where the lengths allow it."""
    x, y = (x, y) if x.shape[-2] != y.shape[-2] else (y, x)
    return attend(x @ W_q, y @ W_k, y @ W_v, mask)


wrong(CROSS, "encoder_detached", "No gradient reaches the encoder.", cause=r"reaches y\b")(
    lambda x, y, W_q, W_k, W_v, mask=None: attend(x @ W_q, y.detach() @ W_k, y.detach() @ W_v, mask)
)
wrong(
    CROSS,
    "keys_for_values",
    "Mixes the keys, where the values are as wide.",
    cause="W_k.*where W_v|k where v",
)(
    lambda x, y, W_q, W_k, W_v, mask=None: attend(
        x @ W_q, y @ W_k, y @ (W_k if W_k.shape == W_v.shape else W_v), mask
    )
)


@wrong(CROSS, cause="wrong axis|at other positions")
def over_the_queries(x, y, W_q, W_k, W_v, mask=None):
    """Normalises over the queries instead of the keys."""
    s = blank_queries(x @ W_q, mask) @ blank(y @ W_k, mask).mT * W_q.shape[-1] ** -0.5
    return masked(s.mT, None if mask is None else mask.mT).mT @ blank(y @ W_v, mask)


wrong(
    CROSS, "scaled_by_the_keys", "Takes the root of the number of keys.", cause=r"\bm\)? in the|by √\(?m\b"
)(lambda x, y, W_q, W_k, W_v, mask=None: attend(x @ W_q, y @ W_k, y @ W_v, mask, y.shape[-2] ** -0.5))
wrong(
    CROSS, "values_scaled", "Scales after the softmax instead of before.", cause="scale (is missing|does not)"
)(lambda x, y, W_q, W_k, W_v, mask=None: attend(x @ W_q, y @ W_k, y @ W_v, mask, 1.0) * W_q.shape[-1] ** -0.5)
wrong(
    CROSS,
    "mean_of_the_values",
    "Fills with −10⁹: a fully masked query gets the mean of the values.",
    cause="finite number|gets the mean",
)(
    lambda x, y, W_q, W_k, W_v, mask=None: (
        filled((x @ W_q) @ (y @ W_k).mT * W_q.shape[-1] ** -0.5, mask, -1e9) @ (y @ W_v)
    )
)
wrong(
    CROSS, "mask_by_key_only", "Takes the first query's mask for padding that all share.", cause="first row"
)(
    lambda x, y, W_q, W_k, W_v, mask=None: attend(
        x @ W_q, y @ W_k, y @ W_v, None if mask is None else mask[..., :1, :].expand(mask.shape)
    )
)


@wrong(CROSS, cause=r"zeros|m \+ 1")
def zero_key_added(x, y, W_q, W_k, W_v, mask=None):
    """Appends a key of zeros, as add_zero_attn does: the weights of the others no longer sum to 1."""
    q, k, v = x @ W_q, F.pad(y @ W_k, (0, 0, 0, 1)), F.pad(y @ W_v, (0, 0, 0, 1))
    return attend(q, k, v, None if mask is None else F.pad(mask, (0, 1), value=True))


@right(CROSS)
def keys_absorbed(x, y, W_q, W_k, W_v, mask=None):
    """Projects keys and values in one product."""
    k, v = (y @ torch.cat((W_k, W_v), 1)).split((W_k.shape[1], W_v.shape[1]), -1)
    return attend(x @ W_q, k, v, mask)


right(CROSS, "values_last", "Scales the queries' matrix, not the scores.")(
    lambda x, y, W_q, W_k, W_v, mask=None: attend(
        x @ (W_q * W_q.shape[1] ** -0.5), y @ W_k, y @ W_v, mask, 1.0
    )
)
