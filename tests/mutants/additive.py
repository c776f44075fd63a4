"""Variants of ``attention.additive_weights``."""

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import blank, blank_queries, masked

ADDITIVE = "attention.additive_weights"


def parts(q, k, W, mask):
    """What enters the hidden units, right: (…, n, m, b)."""
    q, k, d_q = blank_queries(q, mask), blank(k, mask), q.shape[-1]
    return (q @ W[:, :d_q].mT).unsqueeze(-2) + (k @ W[:, d_q:].mT).unsqueeze(-3)


def scores(q, k, W, v, mask):
    """The scores, right."""
    return torch.tanh(parts(q, k, W, mask)) @ v


wrong(ADDITIVE, "over_the_queries", "Normalises over the queries instead of the keys.")(
    lambda q, k, W, v, mask=None: masked(scores(q, k, W, v, mask).mT, None if mask is None else mask.mT).mT
)


@wrong(ADDITIVE)
def padding_keeps_its_share(q, k, W, v, mask=None):
    """Applies the mask to the weights, after the softmax: what is left does not sum to 1."""
    a = torch.softmax(scores(q, k, W, v, mask), -1)
    return a if mask is None else a * mask


wrong(ADDITIVE, "scaled", "Divides the scores by √d_k, as for products.")(
    lambda q, k, W, v, mask=None: masked(scores(q, k, W, v, mask) * k.shape[-1] ** (-0.5), mask)
)
wrong(ADDITIVE, "key_before_query", "Reads [k; q] where [q; k] was promised, as far as the widths allow it.")(
    lambda q, k, W, v, mask=None: (
        masked(scores(q, k, W, v, mask), mask)
        if q.shape[-1] != k.shape[-1]
        else masked(scores(q, k, W.roll(q.shape[-1], 1), v, mask), mask)
    )
)
wrong(ADDITIVE, "inverted", 'Takes True for "may not attend".')(
    lambda q, k, W, v, mask=None: masked(scores(q, k, W, v, mask), None if mask is None else ~mask)
)
wrong(ADDITIVE, "mask_unused", "Never uses the mask.")(
    lambda q, k, W, v, mask=None: torch.softmax(scores(q, k, W, v, mask), -1)
)
wrong(ADDITIVE, "tanh_outside", "Takes the tanh of the whole score: v cannot sharpen the weights.")(
    lambda q, k, W, v, mask=None: masked(torch.tanh(parts(q, k, W, mask) @ v), mask)
)
wrong(
    ADDITIVE,
    "without_a_hidden_layer",
    "Forgets the tanh: the query's part is the same for all keys, and cancels.",
)(lambda q, k, W, v, mask=None: masked(parts(q, k, W, mask) @ v, mask))


@wrong(ADDITIVE)
def small_fill(q, k, W, v, mask=None):
    """Fills masked scores with −1: they come through, since scores are small."""
    s = scores(q, k, W, v, mask)
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -1.0), -1)


wrong(
    ADDITIVE, "scores_cut_off", "Keeps the hidden layer for a picture, and cuts the gradient of all but v."
)(lambda q, k, W, v, mask=None: masked(torch.tanh(parts(q, k, W, mask)).detach() @ v, mask))
right(ADDITIVE, "projected_apart", "Query and key projected once each, then every pair.")(
    lambda q, k, W, v, mask=None: masked(scores(q, k, W, v, mask), mask)
)


@right(ADDITIVE, fully_masked="unspecified")
def filled_with_infinity(q, k, W, v, mask=None):
    """−∞ for what is masked, NaN in a row without a key, of which nothing is said."""
    s = scores(q, k, W, v, mask)
    return torch.softmax(s if mask is None else s.masked_fill(~mask, -torch.inf), -1)


@right(ADDITIVE)
def pair_by_pair(q, k, W, v, mask=None):
    """The pairs side by side, through one hidden layer."""
    q, k = blank_queries(q, mask), blank(k, mask)
    n, m = q.shape[-2], k.shape[-2]
    every_q = q.unsqueeze(-2).expand(*q.shape[:-1], m, q.shape[-1])
    every_k = k.unsqueeze(-3).expand(*k.shape[:-2], n, m, k.shape[-1])
    return masked(torch.tanh(torch.cat((every_q, every_k), -1) @ W.mT) @ v, mask)
