"""Variants of ``attention.additive_weights``."""

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import blank, blank_queries, filled, inverse, masked, times

ADDITIVE = "attention.additive_weights"


def parts(q, k, W, mask):
    """What enters the hidden units, right: (…, n, m, b)."""
    q, k, d_q = blank_queries(q, mask), blank(k, mask), q.shape[-1]
    return (q @ W[:, :d_q].mT).unsqueeze(-2) + (k @ W[:, d_q:].mT).unsqueeze(-3)


def scores(q, k, W, v, mask):
    """The scores, right."""
    return torch.tanh(parts(q, k, W, mask)) @ v


def additive(weigh=masked, score=lambda hidden, v: torch.tanh(hidden) @ v):
    """The weights, right but for how they are made of scores and mask, and these of what enters the hidden units."""
    return lambda q, k, W, v, mask=None: weigh(score(parts(q, k, W, mask), v), mask)


wrong(ADDITIVE, "over_the_queries", "Normalises over the queries instead of the keys.", cause="wrong axis")(
    additive(lambda s, mask: masked(s.mT, None if mask is None else mask.mT).mT)
)


wrong(
    ADDITIVE,
    "padding_keeps_its_share",
    "Masks after the softmax: what is left does not sum to 1.",
    cause="do not sum to 1|sum over hidden",
)(additive(lambda s, mask: times(torch.softmax(s, -1), mask)))


wrong(ADDITIVE, "scaled", "Divides the scores by √d_k, as for products.", cause=r"is divided by √\(?d_k")(
    lambda q, k, W, v, mask=None: masked(scores(q, k, W, v, mask) * k.shape[-1] ** -0.5, mask)
)
wrong(
    ADDITIVE,
    "key_before_query",
    "Reads [k; q] where [q; k] was promised, if the widths allow it.",
    cause=r"\[k; q\]|pair reads|q and k are exch",
)(
    lambda q, k, W, v, mask=None: additive()(
        q, k, W.roll(q.shape[-1], 1) if q.shape[-1] == k.shape[-1] else W, v, mask
    )
)
wrong(ADDITIVE, "inverted", 'Takes True for "may not attend".', cause="polarity|inverted")(
    additive(lambda s, mask: masked(s, inverse(mask)))
)
wrong(ADDITIVE, "mask_unused", "Never uses the mask.", cause="mask is ignored|must not read")(
    additive(lambda s, mask: torch.softmax(s, -1))
)
wrong(
    ADDITIVE,
    "tanh_outside",
    "Takes the tanh of the whole score: v cannot sharpen the weights.",
    cause="no tanh|no activation|tanh is applied",
)(additive(score=lambda hidden, v: torch.tanh(hidden @ v)))
wrong(
    ADDITIVE,
    "without_a_hidden_layer",
    "Forgets the tanh: the query's part cancels.",
    cause=r"no tanh|no activation|\bq is ignored",
)(additive(score=lambda hidden, v: hidden @ v))


wrong(
    ADDITIVE,
    "small_fill",
    "Fills masked scores with −1: they come through, since scores are small.",
    cause=r"scores are set to (-1\b|a finite)",
)(additive(lambda s, mask: filled(s, mask, -1.0)))


wrong(
    ADDITIVE,
    "scores_cut_off",
    "Keeps the hidden layer for a picture, and cuts all gradients but v's.",
    cause=r"reaches q, k|^(hidden|u)\b.*constant",
)(additive(score=lambda hidden, v: torch.tanh(hidden).detach() @ v))
right(ADDITIVE, "projected_apart", "Query and key projected once each, then every pair.")(additive())


right(ADDITIVE, "filled_with_infinity", "NaN in a row without a key.", fully_masked="unspecified")(
    additive(lambda s, mask: filled(s, mask, -torch.inf))
)


@right(ADDITIVE)
def pair_by_pair(q, k, W, v, mask=None):
    """The pairs side by side, through one hidden layer."""
    q, k = blank_queries(q, mask), blank(k, mask)
    n, m = q.shape[-2], k.shape[-2]
    every_q = q.unsqueeze(-2).expand(*q.shape[:-1], m, q.shape[-1])
    every_k = k.unsqueeze(-3).expand(*k.shape[:-2], n, m, k.shape[-1])
    return masked(torch.tanh(torch.cat((every_q, every_k), -1) @ W.mT) @ v, mask)
