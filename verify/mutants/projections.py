"""Variants of ``attention.self`` and ``attention.cross``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import blank, blank_queries, masked

SELF, CROSS = "attention.self", "attention.cross"


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None = None) -> Tensor:
    """Scaled dot-product attention, right: the material of the variants below."""
    k, v, q = blank(k, mask), blank(v, mask), blank_queries(q, mask)
    return masked(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale), mask) @ v


# Self-attention -----------------------------------------------------------------------------------------------------------


@wrong(SELF)
def projections_exchanged(
    x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Exchanges queries and keys."""
    return attend(x @ W_k, x @ W_q, x @ W_v, mask)


@wrong(SELF)
def values_matrix_frozen(
    x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """No gradient reaches W_v."""
    return attend(x @ W_q, x @ W_k, x @ W_v.detach(), mask)


@wrong(SELF)
def scaled_by_the_model(
    x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Scales by 1/√d_model instead of 1/√d_k."""
    return attend(x @ W_q, x @ W_k, x @ W_v, mask, x.shape[-1] ** -0.5)


@wrong(SELF)
def unscaled(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Forgets the scale."""
    return attend(x @ W_q, x @ W_k, x @ W_v, mask, 1.0)


@wrong(SELF)
def mask_transposed(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Reads the mask with keys in the rows: no shape shows it."""
    return attend(x @ W_q, x @ W_k, x @ W_v, None if mask is None else mask.mT)


@wrong(SELF)
def mask_inverted(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes True for "may not attend"."""
    return attend(x @ W_q, x @ W_k, x @ W_v, None if mask is None else ~mask)


@wrong(SELF)
def always_causal(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Adds a causal mask that nobody asked for."""
    lower = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).tril()
    return attend(x @ W_q, x @ W_k, x @ W_v, lower if mask is None else lower & mask)


@wrong(SELF)
def never_itself(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """A token does not attend to itself."""
    others = ~torch.eye(x.shape[-2], dtype=torch.bool, device=x.device)
    return attend(x @ W_q, x @ W_k, x @ W_v, others if mask is None else others & mask)


@wrong(SELF)
def with_positions(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Prefers near keys by a small bias: order is no longer forgotten."""
    place = torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)
    s = (x @ W_q) @ blank(x @ W_k, mask).mT * W_q.shape[-1] ** -0.5
    return masked(s - 1e-3 * (place[:, None] - place).abs(), mask) @ blank(x @ W_v, mask)


@wrong(SELF)
def residual(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Adds the values again, as a residual connection would."""
    v = x @ W_v
    return attend(x @ W_q, x @ W_k, v, mask) + v


@right(SELF)
def packed(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """One product for queries, keys and values."""
    d = W_q.shape[1]
    q, k, v = (x @ torch.cat((W_q, W_k, W_v), 1)).split((d, d, W_v.shape[1]), -1)
    return attend(q, k, v, mask)


@right(SELF)
def by_einsum(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Every product an einsum."""
    q, k, v = (torch.einsum("...il,lc->...ic", x, W) for W in (W_q, W_k, W_v))
    s = torch.einsum("...ic,...jc->...ij", blank_queries(q, mask), blank(k, mask)) / math.sqrt(q.shape[-1])
    return torch.einsum("...ij,...jc->...ic", masked(s, mask), blank(v, mask))


# Cross-attention ----------------------------------------------------------------------------------------------------------


@wrong(CROSS)
def sequences_exchanged(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Takes queries from the encoder and keys from the decoder, where the lengths allow it."""
    if x.shape[-2] != y.shape[-2]:
        return attend(x @ W_q, y @ W_k, y @ W_v, mask)
    return attend(y @ W_q, x @ W_k, x @ W_v, mask)


@wrong(CROSS)
def encoder_detached(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """No gradient reaches the encoder."""
    return attend(x @ W_q, y.detach() @ W_k, y.detach() @ W_v, mask)


@wrong(CROSS)
def keys_for_values(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Mixes the keys where keys and values have one width, with the values' weights."""
    k = y @ W_k
    return attend(x @ W_q, k, k if W_k.shape == W_v.shape else y @ W_v, mask)


@wrong(CROSS)
def over_the_queries(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Normalises over the queries instead of the keys."""
    s = blank_queries(x @ W_q, mask) @ blank(y @ W_k, mask).mT * W_q.shape[-1] ** -0.5
    return masked(s.mT, None if mask is None else mask.mT).mT @ blank(y @ W_v, mask)


@wrong(CROSS)
def scaled_by_the_keys(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Takes the root of the number of keys."""
    return attend(x @ W_q, y @ W_k, y @ W_v, mask, y.shape[-2] ** -0.5)


@wrong(CROSS)
def values_scaled(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Scales after the softmax instead of before."""
    scale: float = W_q.shape[-1] ** -0.5
    return attend(x @ W_q, y @ W_k, y @ W_v, mask, 1.0) * scale


@wrong(CROSS)
def mean_of_the_values(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Fills masked scores with −10⁹: a fully masked query gets the mean of the values."""
    s = (x @ W_q) @ (y @ W_k).mT * W_q.shape[-1] ** -0.5
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -1e9), -1) @ (y @ W_v)


@wrong(CROSS)
def mask_by_key_only(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Takes the first query's mask for padding that all share."""
    return attend(x @ W_q, y @ W_k, y @ W_v, None if mask is None else mask[..., :1, :].expand(mask.shape))


@wrong(CROSS)
def zero_key_added(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Appends a key of zeros, as add_zero_attn does: the weights of the others no longer sum to 1."""
    q, k, v = x @ W_q, F.pad(y @ W_k, (0, 0, 0, 1)), F.pad(y @ W_v, (0, 0, 0, 1))
    return attend(q, k, v, None if mask is None else F.pad(mask, (0, 1), value=True))


@right(CROSS)
def keys_absorbed(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Projects keys and values in one product."""
    k, v = (y @ torch.cat((W_k, W_v), 1)).split((W_k.shape[1], W_v.shape[1]), -1)
    return attend(x @ W_q, k, v, mask)


@right(CROSS)
def values_last(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Scales the queries' matrix, not the scores."""
    return attend(x @ (W_q * W_q.shape[1] ** -0.5), y @ W_k, y @ W_v, mask, 1.0)
