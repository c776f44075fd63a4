"""Variants of ``attention.decoder_heads``."""

import math

import torch

from impl.attention import decoder_heads
from tests.mutants import right, wrong
from tests.mutants.attention import blanked, masked, raw
from tests.mutants.grouped import repeat, tile
from tests.mutants.sinks import shares
from tests.mutants.sliding import reach

HEADS = "attention.decoder_heads"


def limit(s, cap):
    """A capped score, right."""
    return cap * torch.tanh(s / cap)


def heads(
    window=None,
    keys=repeat,
    scores=lambda q, k, cap: limit(raw(q, k), cap),
    sinks=lambda sink, cap: sink,
    weights=lambda s, sink, seen, cap: shares(s, sink, seen),
):
    """A decoder's heads, right but for what is given."""
    within = window or reach()

    def attention(q, k, v, sink, cap, w, mask=None):
        times, seen = q.shape[-3] // k.shape[-3], within(q, k, w)
        seen = seen if mask is None else seen & mask.unsqueeze(-3)
        q, k, v = blanked(q, keys(k, times), keys(v, times), seen)
        return weights(scores(q, k, cap), sinks(sink, cap)[:, None, None], seen, cap) @ v

    return attention


wrong(HEADS, "sink_capped", "Caps the sink like a score.", cause="sink|tanh|cap")(
    heads(sinks=lambda sink, cap: limit(sink, cap))
)
wrong(HEADS, "cap_last", "Caps after the mask: what is hidden is seen.", cause="mask|must not read|many")(
    heads(
        scores=lambda q, k, cap: raw(q, k),
        weights=lambda s, sink, seen, cap: shares(limit(torch.where(seen, s, -1e30), cap), sink, None),
    )
)
wrong(HEADS, "cap_first", "Caps the products, and divides by √d_k afterwards.", cause=r"√\(?d_k|cap")(
    heads(scores=lambda q, k, cap: limit(raw(q, k) * math.sqrt(q.shape[-1]), cap) / math.sqrt(q.shape[-1]))
)
wrong(HEADS, "no_cap", "Leaves the cap out.", cause="cap")(heads(scores=lambda q, k, cap: raw(q, k)))
wrong(HEADS, "no_sinks", "Leaves the sinks out.", cause="sink")(
    heads(weights=lambda s, sink, seen, cap: masked(s, seen) + 0 * sink)
)
wrong(HEADS, "no_window", "Causal, with no end to the past.", cause="w|many|not applied")(
    heads(reach(behind=lambda w: math.inf))
)
wrong(HEADS, "own_among_w", "Counts the query's own key among the w.", cause=r"w . 1|few|off by one")(
    heads(reach(behind=lambda w: max(w - 1, 0)))
)
wrong(HEADS, "window_from_the_start", "The first query stands beside the first key.", cause="align|n|m . n")(
    heads(reach(place=lambda n, m: 0))
)
wrong(
    HEADS,
    "gate_twice",
    "Counts the sink in the denominator, and as a gate once more.",
    cause="sink|σ|sigmoid",
)(heads(weights=lambda s, sink, seen, cap: (a := shares(s, sink, seen)) * a.sum(-1, keepdim=True)))
wrong(
    HEADS, "decoder_tiled", "Repeats the groups as a whole, not each in a row.", cause="heads.*(order|group)"
)(heads(keys=tile))
wrong(HEADS, "mask_dropped", "Looks at the window alone, not at the mask.", cause="mask is ignored|must not")(
    lambda q, k, v, sink, cap, w, mask=None: heads()(q, k, v, sink, cap, w)
)

right(HEADS, "decoder_as_written", "As it is written.")(heads())


@right(HEADS)
def last_query_alone(q, k, v, sink, cap, w, mask=None):
    """One query after another, each with the keys that it reaches alone, as a decoder with a rolling cache."""
    n, m = q.shape[-2], k.shape[-2]
    rows = []
    for i in range(n):
        end = max(i + m - n + 1, 0)
        near = slice(max(end - w - 1, 0), end)
        seen = None if mask is None else mask.expand(*mask.shape[:-2], n, m)[..., i : i + 1, near]
        given = (q[..., i : i + 1, :], k[..., near, :], v[..., near, :])
        rows.append(decoder_heads(*given, sink, cap, None, seen))
    return torch.cat(rows, -2)
