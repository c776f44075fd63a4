"""Variants of ``attention.sinks`` and ``attention.softcap``."""

import math

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import blanked, masked, raw
from tests.mutants.grouped import repeat, tile

SINKS, CAP = "attention.sinks", "attention.softcap"


def shares(s, sink, mask):
    """The weights of the keys beside a sink, right."""
    hidden = s if mask is None else torch.where(mask, s, -math.inf)
    return torch.softmax(torch.cat((hidden, sink.expand(*s.shape[:-1], 1)), -1), -1)[..., :-1]


def sinks(
    weights=shares, keys=repeat, sink=lambda sink, q: sink, scores=raw, place=lambda sink: sink[:, None, None]
):
    """Attention with sinks, right but for what is given."""

    def attention(q, k, v, b, mask=None):
        times = q.shape[-3] // k.shape[-3]
        mask = None if mask is None else mask.unsqueeze(-3)
        q, k, v = blanked(q, keys(k, times), keys(v, times), mask)
        return weights(scores(q, k), place(sink(b, q)), mask) @ v

    return attention


wrong(SINKS, "no_sink", "Leaves the sink out.", cause="sink.* is not added|sink is not read")(
    sinks(lambda s, sink, mask: masked(s, mask) + 0 * sink)
)
wrong(
    SINKS,
    "sink_scaled",
    "Divides the sink by √d_k, as if it were a product.",
    cause=r"sink is divided by √\(?d_k",
)(sinks(sink=lambda sink, q: sink / math.sqrt(q.shape[-1])))
wrong(
    SINKS,
    "renormalised",
    "Divides what is left by its sum: the sink does nothing.",
    cause="sum to 1|sink is not read",
)(sinks(lambda s, sink, mask: (a := shares(s, sink, mask)) / a.sum(-1, keepdim=True).clamp_min(1e-300)))
wrong(SINKS, "one_sink", "Gives all heads the sink of the first.", cause=r"sink\[0\]|first")(
    sinks(sink=lambda sink, q: sink[:1].expand_as(sink))
)
wrong(
    SINKS,
    "sinks_reversed",
    "Gives the heads the sinks in the reverse order.",
    cause="sink is read from the end|order",
)(sinks(sink=lambda sink, q: sink.flip(0)))
wrong(SINKS, "sink_detached", "The sink learns nothing.", cause="gradient reaches sink")(
    sinks(sink=lambda sink, q: sink.detach())
)
wrong(
    SINKS, "groups_tiled", "Repeats the groups as a whole, not each in a row.", cause="heads.*(order|group)"
)(sinks(keys=tile))
wrong(SINKS, "scores_unscaled", "Does not divide the scores by √d_k.", cause=r"not divided by √\(?d_k")(
    sinks(scores=lambda q, k: q @ k.mT)
)
wrong(SINKS, "maskless", "Takes the mask and does not look at it.", cause="mask is ignored")(
    lambda q, k, v, b, mask=None: sinks()(q, k, v, b)
)
wrong(SINKS, "sink_of_value_1", "What the sink takes hands over 1, not 0.", cause="is added|1 . ")(
    sinks(lambda s, sink, mask: (a := shares(s, sink, mask)) + (1 - a.sum(-1, keepdim=True)) / s.shape[-1])
)


@wrong(SINKS, via=sinks, cause="exp.*sink|exponential")
def sink_not_exponentiated(s, sink, mask):
    """Adds the sink as a number to the denominator, as quiet attention adds 1."""
    hidden = s if mask is None else torch.where(mask, s, -math.inf)
    largest = torch.where((top := hidden.amax(-1, keepdim=True)).isinf(), 0.0, top)
    e = (hidden - largest).exp()
    return e / (e.sum(-1, keepdim=True) + sink.abs() * (-largest).exp())


@wrong(SINKS, via=sinks, cause="overflow")
def scores_not_shifted(s, sink, mask):
    """Takes exponentials without subtracting the largest score: they overflow."""
    e = s.exp() if mask is None else torch.where(mask, s, -math.inf).exp()
    return e / (e.sum(-1, keepdim=True) + sink.exp())


right(
    SINKS,
    "one_more_key",
    "The sink as one more column of scores, dropped after the softmax, as in transformers.",
)(sinks())


@right(SINKS, via=sinks)
def by_sums(s, sink, mask):
    """Exponentials of what is less than the largest, the sink among them, over their sum."""
    hidden = s if mask is None else torch.where(mask, s, -math.inf)
    largest = torch.maximum(hidden.amax(-1, keepdim=True), sink).detach()
    e = (hidden - largest).exp()
    return e / (e.sum(-1, keepdim=True) + (sink - largest).exp())


def capped(
    limit=lambda s, cap: cap * torch.tanh(s / cap),
    weigh=lambda s, limited, mask: masked(limited(s), mask),
    scores=raw,
):
    """Attention with capped scores, right but for what is given."""

    def attention(q, k, v, cap, mask=None):
        q, k, v = blanked(q, k, v, mask)
        return weigh(scores(q, k), lambda s: limit(s, cap), mask) @ v

    return attention


wrong(CAP, "uncapped", "Leaves the cap out.", cause="cap is ignored|no tanh")(capped(lambda s, cap: s))
wrong(CAP, "clamped", "Cuts scores off at the cap.", cause="tanh")(capped(lambda s, cap: s.clamp(-cap, cap)))
wrong(CAP, "not_stretched", "Divides by the cap and does not multiply again.", cause="not multiplied by cap")(
    capped(lambda s, cap: torch.tanh(s / cap))
)
wrong(CAP, "not_shrunk", "Multiplies by the cap and does not divide before.", cause="not divided by cap")(
    capped(lambda s, cap: cap * torch.tanh(s))
)
wrong(CAP, "by_the_inverse", "Takes the cap for its inverse.", cause="cap")(
    capped(lambda s, cap: torch.tanh(s * cap) / cap)
)
wrong(CAP, "by_a_sigmoid", "A sigmoid for the tanh: scores between 0 and the cap.", cause="sigmoid|tanh")(
    capped(lambda s, cap: cap * torch.sigmoid(s / cap))
)
wrong(
    CAP,
    "capped_before_the_scale",
    "Caps the products and divides them by √d_k afterwards.",
    cause=r"√\(?d_k",
)(
    lambda q, k, v, cap, mask=None: capped(
        lambda s, cap: cap * torch.tanh(s * math.sqrt(q.shape[-1]) / cap) / math.sqrt(q.shape[-1])
    )(q, k, v, cap, mask)
)
wrong(
    CAP,
    "capped_after_the_mask",
    "Caps after the mask: what is hidden has the score −cap, and is seen.",
    cause="mask|must not read",
)(
    capped(
        weigh=lambda s, limited, mask: torch.softmax(
            limited(s if mask is None else torch.where(mask, s, -1e30)), -1
        )
    )
)
wrong(CAP, "weights_capped", "Caps the weights, not the scores.", cause="after the softmax|tanh|order")(
    capped(weigh=lambda s, limited, mask: limited(masked(s, mask)))
)
wrong(CAP, "cap_unmasked", "Takes the mask and does not look at it.", cause="mask is ignored")(
    capped(weigh=lambda s, limited, mask: masked(limited(s), None))
)
wrong(CAP, "straight_through", "Passes the gradient as if nothing were capped.", cause="gradient")(
    capped(lambda s, cap: s + (cap * torch.tanh(s / cap) - s).detach())
)

right(CAP, "capped_scores", "As it is written.")(capped())


@right(CAP)
def query_by_query(q, k, v, cap, mask=None):
    """One query after another."""
    rows = [
        capped()(q[..., i : i + 1, :], k, v, cap, None if mask is None else mask[..., i : i + 1, :])
        for i in range(q.shape[-2])
    ]
    return torch.cat(rows, -2)
