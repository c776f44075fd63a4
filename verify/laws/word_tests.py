"""The tests of the words that are drawn where several are alike likely: each has its share, and none tells of another."""

from __future__ import annotations

import numpy as np

from verify.laws.draws import Sample
from verify.laws.layouts import Bools, Ints
from verify.laws.results import seen as _seen
from verify.laws.statistics import Tally, binomial_p, upper_tail

QUARTERS = 4
"""Into so many parts a vocabulary is divided where the words of a pair are compared."""


def words(sample: Sample, independent: bool, tally: Tally) -> None:
    """Among words that are alike likely: each word or range of words has its share, and no draw repeats another."""
    name, V = sample.layout.name, sample.probability.shape[2]
    t, r, i = np.nonzero(sample.chosen)
    w = sample.word[t, r, i]
    kind = sample.level[r, i, w]
    every = np.arange(V)
    bins = [(f"word {v}", every == v) for v in range(V)] if V <= 64 else []
    if V > 64:
        bins += [(f"words {b[0]}–{b[-1]}", np.isin(every, b)) for b in np.array_split(every, 32)]
        for parts in (2, 4, 8):
            bins += [(f"words {b[0]}–{b[-1]}", np.isin(every, b)) for b in np.array_split(every, parts)]
        bins += [(f"words ≡ {rest} mod 8", every % 8 == rest) for rest in range(8)]
    for each in range(len(sample.values)):
        member = sample.level == each
        size = member.sum(-1)
        if size.max() < 2:
            continue
        at = (kind == each) & (size[r, i] > 1)
        if not at.any():
            continue
        for what, inside in bins:
            with np.errstate(invalid="ignore", divide="ignore"):
                share = (member & inside).sum(-1) / size
            p = share[r[at], i[at]]
            able = p > 0
            if able.any():
                k, N = int(inside[w[at]][able].sum()), int(able.sum())
                low, high = float(p[able].min()), float(p[able].max())
                tally.add(
                    binomial_p(k, N, low, high),
                    _seen(name, f"{what} among words alike likely", k, N, low, high),
                )
        least = int(size[size > 1].min())
        orders = {
            "one after the other": np.arange(int(at.sum())),
            "at the same place of a row": np.lexsort((t[at], i[at], r[at])),
        }
        for what, order in orders.items():
            seen = w[at][order]
            half = seen.size // 2 * 2
            k = int((seen[0:half:2] == seen[1:half:2]).sum())
            tally.add(
                upper_tail(k, half // 2, 1 / least),
                _seen(name, f"equal words drawn {what}", k, half // 2, 1 / least),
            )
            _apart(sample, member, (r[at][order], i[at][order], seen), what, tally)
        call = t[at] // sample.per_call
        batches = [w[at][call == c] for c in range(int(call.max()) + 1)]
        k = N = 0
        for a, b in zip(batches[0::2], batches[1::2], strict=False):
            both = min(a.size, b.size)
            k, N = k + int((a[:both] == b[:both]).sum()), N + both
        tally.add(
            upper_tail(k, N, 1 / least),
            _seen(name, "equal words drawn in neighbouring calls", k, N, 1 / least),
        )


def _apart(sample: Sample, member: Bools, drawn: tuple[Ints, Ints, Ints], order: str, tally: Tally) -> None:
    """Pairs of words drawn one after the other: how many quarters of the vocabulary the second is past the first, all around.

    ``drawn`` are rows, positions and words; of two that are independent it is as likely to be anywhere as its own shares say.
    """
    V = member.shape[-1]
    if V < QUARTERS:
        return
    quarter = np.arange(V) * QUARTERS // V
    size = np.maximum(member.sum(-1), 1)
    shares = np.stack([(member & (quarter == q)).sum(-1) / size for q in range(QUARTERS)], -1)
    half = drawn[0].size // 2 * 2
    (one, other), (before, after) = (
        [made[start:half:2] for start in (0, 1)] for made in (shares[drawn[0], drawn[1]], quarter[drawn[2]])
    )
    if not half:
        return
    for far in range(QUARTERS):
        p = (one * np.roll(other, -far, axis=-1)).sum(-1)
        k, low, high = int(((after - before) % QUARTERS == far).sum()), float(p.min()), float(p.max())
        what = f"words drawn {order} that are {far} of {QUARTERS} parts of the vocabulary apart"
        tally.add(
            binomial_p(k, half // 2, low, high), _seen(sample.layout.name, what, k, half // 2, low, high)
        )
