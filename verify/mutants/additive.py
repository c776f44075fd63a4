"""Variants of ``attention.additive_weights``."""

import torch
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import blank, blank_queries, masked

ADDITIVE = "attention.additive_weights"


def parts(q: Tensor, k: Tensor, W: Tensor, mask: Tensor | None) -> Tensor:
    """What enters the hidden units, right: (…, n, m, b)."""
    q, k, d_q = blank_queries(q, mask), blank(k, mask), q.shape[-1]
    return (q @ W[:, :d_q].mT).unsqueeze(-2) + (k @ W[:, d_q:].mT).unsqueeze(-3)


def scores(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """The scores, right."""
    return torch.tanh(parts(q, k, W, mask)) @ v


@wrong(ADDITIVE)
def over_the_queries(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Normalises over the queries instead of the keys."""
    return masked(scores(q, k, W, v, mask).mT, None if mask is None else mask.mT).mT


@wrong(ADDITIVE)
def padding_keeps_its_share(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Applies the mask to the weights, after the softmax: what is left does not sum to 1."""
    a = torch.softmax(scores(q, k, W, v, mask), -1)
    return a if mask is None else a * mask


@wrong(ADDITIVE)
def scaled(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Divides the scores by √d_k, as for products."""
    return masked(scores(q, k, W, v, mask) * k.shape[-1] ** -0.5, mask)


@wrong(ADDITIVE)
def key_before_query(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Reads [k; q] where [q; k] was promised, as far as the widths allow it."""
    if q.shape[-1] != k.shape[-1]:
        return masked(scores(q, k, W, v, mask), mask)
    return masked(scores(q, k, W.roll(q.shape[-1], 1), v, mask), mask)


@wrong(ADDITIVE)
def inverted(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes True for "may not attend"."""
    return masked(scores(q, k, W, v, mask), None if mask is None else ~mask)


@wrong(ADDITIVE)
def mask_unused(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Never uses the mask."""
    return torch.softmax(scores(q, k, W, v, mask), -1)


@wrong(ADDITIVE)
def tanh_outside(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Takes the tanh of the whole score: v cannot sharpen the weights."""
    return masked(torch.tanh(parts(q, k, W, mask) @ v), mask)


@wrong(ADDITIVE)
def without_a_hidden_layer(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Forgets the tanh: the query's part is the same for all keys, and cancels."""
    return masked(parts(q, k, W, mask) @ v, mask)


@wrong(ADDITIVE)
def small_fill(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Fills masked scores with −1: they come through, since scores are small."""
    s = scores(q, k, W, v, mask)
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -1.0), -1)


@wrong(ADDITIVE)
def scores_cut_off(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Keeps the hidden layer for a picture, and cuts the gradient of all but v."""
    return masked(torch.tanh(parts(q, k, W, mask)).detach() @ v, mask)


@right(ADDITIVE)
def projected_apart(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Query and key projected once each, then every pair."""
    return masked(scores(q, k, W, v, mask), mask)


@right(ADDITIVE, fully_masked="unspecified")
def filled_with_infinity(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """−∞ for what is masked, NaN in a row without a key, of which nothing is said."""
    s = scores(q, k, W, v, mask)
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -torch.inf), -1)


@right(ADDITIVE)
def pair_by_pair(q: Tensor, k: Tensor, W: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """The pairs side by side, through one hidden layer."""
    q, k = blank_queries(q, mask), blank(k, mask)
    n, m = q.shape[-2], k.shape[-2]
    every_q = q.unsqueeze(-2).expand(*q.shape[:-1], m, q.shape[-1])
    every_k = k.unsqueeze(-3).expand(*k.shape[:-2], n, m, k.shape[-1])
    return masked(torch.tanh(torch.cat((every_q, every_k), -1) @ W.mT) @ v, mask)
