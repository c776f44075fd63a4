"""Variants of ``attention.relative``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.attention import blank_queries, blanked, inverse, masked

RELATIVE = "attention.relative"


def placed(x, m):
    """Scores of distances (… n, n + m − 1) as scores of keys (… n, m), right: row by row."""
    n = x.shape[-2]
    return torch.stack([x[..., i, n - 1 - i : n - 1 - i + m] for i in range(n)], -2)


def asked(r, mask, n, m):
    """The encodings of distances with 0 in those that no query may look over, right."""
    if mask is None:
        return r
    seen = mask.expand(*mask.shape[:-2], n, m)
    rows = [F.pad(seen[..., i, :], (n - 1 - i, i)) for i in range(n)]
    return torch.where(torch.stack(rows).any(0)[..., None], r, 0.0)


def content(q, k, u):
    """What is found in the keys, right."""
    return (q + u) @ k.mT


def distance(q, k, r, w, place=placed):
    """What is found in the distances, right, or put in ``place`` otherwise."""
    return place((q + w) @ r.mT, k.shape[-2])


def scores(q, k, r, u, w, place=placed):
    """All of it, right, but for how distances are put in ``place``."""
    return (content(q, k, u) + distance(q, k, r, w, place)) / math.sqrt(q.shape[-1])


def by_scores(make):
    """Attention by relative positions whose scores are made otherwise, of what no mask hides."""

    def attend(q, k, v, r, u, w, mask=None):
        q, k, v = blanked(q, k, v, mask)
        r = asked(r, mask, q.shape[-2], k.shape[-2])
        return masked(make(q, k, r, u, w), mask) @ v

    return attend


def by_place(place):
    """Attention by relative positions whose distances are put in place otherwise."""
    return by_scores(lambda *inputs: scores(*inputs, place))


attend = by_scores(scores)


def shifted_behind(x, m):
    """The shift of Transformer-XL: distances behind alone, a column of 0 in front, and the array read anew."""
    n = x.shape[-2]
    padded = F.pad(x[..., :m], (1, 0))
    return padded.flatten(-2)[..., n:].unflatten(-1, (n, m))


def seen_by_all(x, m):
    """The distances of the last query, for every query."""
    return x[..., :m].clone()


wrong(
    RELATIVE,
    "distances_reversed",
    "Encodings of distances in the other order.",
    cause=r"from the end|revers",
)(altering(attend, {3: lambda r: r.flip(-2)}))
wrong(
    RELATIVE, "biases_exchanged", "u and w exchanged.", cause=r"\bu\b.*\bw\b|\bw\b.*\bu\b|exchanged|swapped"
)(by_scores(lambda q, k, r, u, w: scores(q, k, r, w, u)))
wrong(
    RELATIVE,
    "shifted_without_mask",
    "Transformer-XL's shift without its causal mask: beyond a query's place stand other scores.",
    cause=r"\br\b|index|j \+|position|distance",
)(by_place(shifted_behind))
wrong(
    RELATIVE,
    "not_shifted",
    "The shift is left out: every query has the distances of the last.",
    cause=r"\br\b|index|j \+|i\b|position",
)(by_place(seen_by_all))
wrong(
    RELATIVE,
    "shifted_too_far",
    "The shift is one place too far.",
    cause=r"off by one|one (place|further|more)|\br\b|index",
)(by_place(lambda x, m: placed(x.roll(1, -1), m)))
wrong(
    RELATIVE,
    "shifted_to_the_other_side",
    "Rows are shifted to the other side: later queries are given distances farther ahead.",
    cause=r"\br\b|index|sign|revers",
)(by_place(lambda x, m: placed(x.flip(-2), m).flip(-2)))
wrong(
    RELATIVE, "distance_unscaled", "The score of the distance is not divided by √d_k.", cause=r"scale|√|sqrt"
)(by_scores(lambda q, k, r, u, w: content(q, k, u) / math.sqrt(q.shape[-1]) + distance(q, k, r, w)))
wrong(RELATIVE, "scale_missing", "No score is divided by √d_k.", cause=r"scale|√|sqrt")(
    by_scores(lambda q, k, r, u, w: content(q, k, u) + distance(q, k, r, w))
)
wrong(RELATIVE, "content_bias_forgotten", "Forgets u.", cause=r"\bu (is|are) (not added|ignored|not read)")(
    altering(attend, {4: lambda u: 0 * u})
)
wrong(RELATIVE, "position_bias_forgotten", "Forgets w.", cause=r"\bw (is|are) (not added|ignored|not read)")(
    altering(attend, {5: lambda w: 0 * w})
)
wrong(
    RELATIVE,
    "distances_unasked",
    "The distance is heeded whatever the query: q is not compared with it.",
    cause=r"\bq\b",
)(
    by_scores(
        lambda q, k, r, u, w: (
            scores(q, k, r, u, w) + (placed(w @ r.mT - (q + w) @ r.mT, k.shape[-2])) / math.sqrt(q.shape[-1])
        )
    )
)
wrong(
    RELATIVE,
    "biases_scaled",
    "u and w are added to queries that are divided by √d_k already.",
    cause=r"scale|√|sqrt|\bu\b|\bw\b",
)(by_scores(lambda q, k, r, u, w: scores(q, k, r, u * math.sqrt(q.shape[-1]), w * math.sqrt(q.shape[-1]))))
wrong(
    RELATIVE,
    "relative_mask_inverted",
    "True taken for “may not attend”.",
    cause="true_drops|mask|inverted|polarity",
)(altering(attend, {6: inverse}))
wrong(
    RELATIVE,
    "distances_detached",
    "No gradient reaches the encodings of distances.",
    cause=r"reaches r\b|gradient",
)(altering(attend, {3: lambda r: r.detach()}))
wrong(
    RELATIVE,
    "distances_added_after",
    "What is found in the distances is added to the weights.",
    cause=r"weights|softmax|sum",
)(
    lambda q, k, v, r, u, w, mask=None: (
        (
            masked(
                content(blank_queries(q, mask), blanked(q, k, v, mask)[1], u) / math.sqrt(q.shape[-1]), mask
            )
            + (1 if mask is None else mask)
            * distance(blank_queries(q, mask), k, asked(r, mask, q.shape[-2], k.shape[-2]), w)
            / math.sqrt(q.shape[-1])
        )
        @ blanked(q, k, v, mask)[2]
    )
)

right(RELATIVE, "placed_row_by_row", "Each query's row of distances cut out by itself.")(attend)


@right(RELATIVE)
def gathered(q, k, v, r, u, w, mask=None):
    """An encoding for every pair, gathered from the table, and compared with its query."""
    q, k, v = blanked(q, k, v, mask)
    n, m = q.shape[-2], k.shape[-2]
    r = asked(r, mask, n, m)
    place = torch.arange(m, device=q.device) - torch.arange(n, device=q.device)[:, None] + n - 1
    of_pairs = torch.einsum("...ic,...ijc->...ij", q + w, r[..., place, :])
    return masked((content(q, k, u) + of_pairs) / math.sqrt(q.shape[-1]), mask) @ v


@right(RELATIVE)
def in_four_terms(q, k, v, r, u, w, mask=None):
    """The four terms of the paper, each by itself."""
    q, k, v = blanked(q, k, v, mask)
    n, m = q.shape[-2], k.shape[-2]
    r = asked(r, mask, n, m)
    of_all = placed((r @ w).unsqueeze(-2).expand(*r.shape[:-2], n, -1), m)
    s = q @ k.mT + placed(q @ r.mT, m) + (k @ u).unsqueeze(-2) + of_all
    return masked(s / math.sqrt(q.shape[-1]), mask) @ v
