"""What is drawn of a law that selects positions, and its tests: selection, counts, independence, outcomes, words.

Each adds p-values to a tally; all are exact (binomial, Poisson-binomial) or conservative (stochastic dominance, Chernoff's
bound under negative association).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verify.laws.statistics import (
    LAGS,
    Bools,
    Ints,
    Reals,
    Tally,
    binomial_p,
    chernoff_p,
    pairs,
    poisson_binomial,
    upper_tail,
)

TWICE = "twice"
"""A word of what is said of pairs of outcomes, which do not tell of shares."""
QUARTERS = 4
"""Into so many parts a vocabulary is divided where the words of a pair are compared."""


@dataclass(frozen=True)
class Layout:
    """Rows of ``length`` over a vocabulary of ``words``; ``tokens`` free positions in all, ``copies`` of each design a call.

    ``rows``: which of the designs; all where not given. ``at_once``: of how many calls the results are looked at together.
    """

    name: str
    length: int
    words: int
    tokens: int
    copies: int
    rows: tuple[int, ...] = ()
    at_once: int = 1

    def take_share(self, part: float) -> Layout:
        """The layout with a share of its positions, in calls that are smaller; as it is where the share is 1."""
        copies = max(1, min(self.copies, round(4 * part * self.copies)))
        return self if part >= 1 else replace(self, tokens=math.ceil(part * self.tokens), copies=copies)

    def plan_calls(self, designs: int) -> tuple[int, int]:
        """How many calls, about, and how many positions in each; ``designs`` where all of them are drawn."""
        positions = (len(self.rows) or designs) * self.length * self.copies
        return max(2, -(-self.tokens // positions)), positions


@dataclass
class Sample:
    """What was drawn: ``chosen[t, r, i]`` (the last component of the outcome) and ``word[t, r, i]`` (the first).

    ``t`` counts repetitions of the designs ``r``, ``per_call`` of them in one call. ``rate[r, i]`` is the statement's
    probability of being chosen by itself, ``given[r, i, w]`` that of word w where chosen, ``level`` its level set (−1:
    impossible). ``joined[r, i]``: it is chosen just where the position before it is, and its rate is 0.
    ``independent``: whether all others are chosen by themselves.
    """

    layout: Layout
    ids: Ints
    chosen: Bools
    word: Ints
    per_call: int
    probability: Reals
    rate: Reals
    given: Reals
    level: Ints
    values: Reals
    joined: Bools
    independent: bool = True

    @property
    def total(self) -> int:
        """How many positions were drawn."""
        return int(self.word.size)

    @property
    def times(self) -> int:
        """How often every design was drawn."""
        return int(self.chosen.shape[0])

    @property
    def first(self) -> Ints:
        """The position at which the group of each position begins: its own where nothing is chosen together."""
        places = np.where(self.joined, 0, np.arange(self.joined.shape[1]))
        first: Ints = np.maximum.accumulate(places, axis=1)
        return first

    def impossible(self) -> str:
        """The first outcome that has probability 0 in the statement, with its place."""
        R, n, V = self.probability.shape[:3]
        rows, places = np.meshgrid(np.arange(R), np.arange(n), indexing="ij")
        p = self.probability[rows, places, np.clip(self.word, 0, V - 1), self.chosen.astype(np.int64)]
        wrong = np.argwhere((self.word < 0) | (self.word >= V) | (p <= 0))
        if not wrong.size:
            return ""
        t, r, i = (int(x) for x in wrong[0])
        return (
            f"{self.layout.name}: id {self.ids[r, i]} at position {i} became word {self.word[t, r, i]}, "
            f"{'selected' if self.chosen[t, r, i] else 'not selected'}: the statement gives this probability 0"
        )


def apart(sample: Sample) -> tuple[int, int, int] | None:
    """The first (t, design, position) that is chosen where the one before it, with which it goes, is not, or the other way."""
    wrong = sample.joined[:, 1:] & (sample.chosen[..., 1:] != sample.chosen[..., :-1])
    if not wrong.any():
        return None
    t, row, position = (int(x) for x in np.argwhere(wrong)[0])
    return t, row, position + 1


def selection(sample: Sample, tally: Tally) -> None:
    """How often positions are chosen: in all, at each position of each design, and by the id that stands there."""
    rate, hits = sample.rate, sample.chosen.sum(0)
    T, name = sample.times, sample.layout.name
    free = rate > 0
    if sample.independent:
        k, N, low, high = int(hits[free].sum()), int(free.sum()) * T, rate[free].min(), rate[free].max()
        tally.judge(name, "selected", k, N, low, high, headline=True)
        for what, part in (*_by_id(sample), *_by_length(sample)):
            at = free & part
            if at.any():
                k, N = int(hits[at].sum()), int(at.sum()) * T
                tally.judge(name, f"selected where {what}", k, N, low, high)
    for first in _powers(rate.shape[1]):
        for p in np.unique(rate[:, first:][free[:, first:]]):
            at = (rate == p) & (np.arange(rate.shape[1]) >= first)
            k, N = int(hits[at].sum()), int(at.sum()) * T
            by = binomial_p if sample.independent else chernoff_p
            tally.judge(name, f"selected from position {first} on", k, N, float(p), by=by)
    for r, i in np.argwhere(free):
        k, p = int(hits[r, i]), float(rate[r, i])
        tally.judge(name, f"selected at position {i} of design {r}", k, T, p)


def count_pooled(samples: Sequence[Sample], tally: Tally) -> None:
    """How often positions are chosen in all samples together, where each is by itself."""
    if samples[0].independent:
        k = sum(int(sample.chosen.sum(0)[sample.rate > 0].sum()) for sample in samples)
        count, (low, high) = count_free_draws(samples), rates(samples)
        tally.judge("all", "selected", k, count, low, high, headline=True)


def count_free_draws(samples: Sequence[Sample]) -> int:
    """How many positions were drawn that may be chosen."""
    return sum(int((sample.rate > 0).sum()) * sample.times for sample in samples)


def rates(samples: Sequence[Sample]) -> tuple[float, float]:
    """The least and the largest of the statement's probabilities of being chosen, 0 apart."""
    every = [sample.rate[sample.rate > 0] for sample in samples]
    return float(min(rate.min() for rate in every)), float(max(rate.max() for rate in every))


def counts(sample: Sample, tally: Tally) -> None:
    """How many positions of a row are chosen by themselves: their distribution if each is by itself, else the count stated."""
    T, name = sample.times, sample.layout.name
    for r, rate in enumerate(sample.rate):
        number = sample.chosen[:, r, ~sample.joined[r]].sum(-1)
        if not sample.independent:
            wanted = round(float(rate.sum()))
            wrong = number[number != wanted]
            tally.add(
                0.0 if wrong.size else 1.0,
                f"{name}: design {r}: {wanted} selected in each row; seen {wrong[:1]}",
            )
            continue
        pmf = poisson_binomial(rate[rate > 0])
        for count, p in enumerate(pmf):
            k = int((number == count).sum())
            tally.judge(name, f"rows of design {r} with {count} selected", k, T, float(p))


def independence(sample: Sample, tally: Tally) -> None:
    """Pairs both chosen: neighbours in a row, the same place in two rows, in two repetitions, in two calls.

    Pairs are disjoint. Chosen without replacement they are negatively associated, and Chernoff's bound judges them.
    """
    Y, rate, name = sample.chosen, sample.rate, sample.layout.name
    n = rate.shape[1]

    def judge(what: str, both: Ints, joint: Any, trials: int, headline: bool = False) -> None:
        """``both[r, …]`` and ``joint[r, …]``: pairs seen and the probability of one, over ``trials`` repetitions."""
        if sample.independent:
            used = joint > 0
            if used.any():
                k, N, low, high = (
                    int(both[used].sum()),
                    int(used.sum()) * trials,
                    joint[used].min(),
                    joint[used].max(),
                )
                tally.judge(name, what, k, N, low, high, headline=headline)
            return
        for r in range(joint.shape[0]):
            for p in np.unique(joint[r][joint[r] > 0]):
                at = joint[r] == p
                k, N = int(both[r][at].sum()), int(at.sum()) * trials
                tally.judge(name, f"{what} (design {r})", k, N, float(p), by=chernoff_p, headline=headline)

    for lag in LAGS:
        first = pairs(n, lag)
        if not first.size:
            continue
        both = (Y[..., first] & Y[..., first + lag]).sum(0)
        free = rate > 0
        if sample.independent:
            joint = rate[:, first] * rate[:, first + lag]
        else:
            c, o = rate.sum(-1, keepdims=True), free.sum(-1, keepdims=True)
            joint = c * (c - 1) / np.maximum(o * (o - 1), 1) * (free[:, first] & free[:, first + lag])
        judge(f"both selected at distance {lag}", both, joint, sample.times, lag == 1)
    if sample.independent:
        _next(sample, tally)
        _across(sample, tally)
    rows = rate.shape[0] // 2 * 2
    judge(
        "both selected in neighbouring rows",
        (Y[:, 0:rows:2] & Y[:, 1:rows:2]).sum(0),
        rate[0:rows:2] * rate[1:rows:2],
        sample.times,
    )
    steps = {"repetitions of a row": 1, "calls": sample.per_call}
    if sample.per_call == 1:
        steps = {f"calls {apart} apart": apart for apart in (1, 2, 3, 5)}
    for what, apart in steps.items():
        first = pairs(sample.times, apart)
        judge(
            f"both selected in neighbouring {what}",
            (Y[first] & Y[first + apart]).sum(0),
            rate * rate,
            first.size,
        )


def _next(sample: Sample, tally: Tally) -> None:
    """Pairs of neighbours both chosen, among the positions that are chosen by themselves, wherever in a row these stand."""
    for lag in (1, 2):
        found = [
            (r, at[first], at[first + lag])
            for r, at in _chosen_alone(sample)
            for first in [pairs(len(at), lag)]
        ]
        k = sum(int((sample.chosen[:, r, a] & sample.chosen[:, r, b]).sum()) for r, a, b in found)
        joint = np.concatenate([sample.rate[r, a] * sample.rate[r, b] for r, a, b in found])
        if joint.size:
            N, low, high = joint.size * sample.times, joint.min(), joint.max()
            what = "both selected of neighbours" if lag == 1 else "both selected of next but one"
            tally.judge(sample.layout.name, what, k, N, low, high, headline=lag == 1)


def _chosen_alone(sample: Sample) -> list[tuple[int, Ints]]:
    """For each design the positions that are chosen by themselves."""
    return [(r, np.nonzero(rate > 0)[0]) for r, rate in enumerate(sample.rate)]


def _across(sample: Sample, tally: Tally) -> None:
    """Pairs both chosen of the end of a row and the beginning of the next one, as they stand in a batch."""
    T, R, n = sample.chosen.shape
    chance = np.take_along_axis(sample.rate, sample.first, 1)
    chosen = sample.chosen.reshape(T * R, n)
    joint = np.tile(chance[:, -1], T)[:-1] * np.tile(chance[:, 0], T)[1:]
    both = chosen[:-1, -1] & chosen[1:, 0]
    for first in (0, 1):
        at = joint[first::2] > 0
        k, N = int(both[first::2][at].sum()), int(at.sum())
        if N:
            low, high = joint[first::2][at].min(), joint[first::2][at].max()
            what = "both selected of the end of a row and the beginning of the next"
            tally.judge(sample.layout.name, what, k, N, low, high)


def outcomes(sample: Sample, tally: Tally) -> None:
    """What chosen positions become, by kinds of equal probability: in all, by place, by rank, by id, and in succession.

    Given what is chosen, outcomes are independent under every convention.
    """
    name = sample.layout.name
    t, r, i = np.nonzero(sample.chosen)
    kind = sample.level[r, i, sample.word[t, r, i]]
    kinds = len(sample.values)
    share = np.stack([np.where(sample.level == each, sample.given, 0).sum(-1) for each in range(kinds)], -1)
    signature, group = np.unique(np.round(share, 9).reshape(-1, kinds), axis=0, return_inverse=True)
    group = group.reshape(share.shape[:2])[r, i]
    # The rank of a chosen position among those of its row, and whether it is the last.
    row = t * sample.rate.shape[0] + r
    fresh = np.r_[True, row[1:] != row[:-1]] if row.size else np.zeros(0, bool)
    starts = np.nonzero(fresh)[0]
    rank = np.arange(row.size) - np.repeat(starts, np.diff(np.r_[starts, row.size]))
    last = np.r_[fresh[1:], True] if row.size else fresh
    largest = int(np.bincount(group[group >= 0], minlength=len(signature)).argmax()) if row.size else 0
    strata: list[tuple[str, Bools]] = [(f"at position {p}", i == p) for p in range(sample.rate.shape[1])]
    strata += [(f"at place {p} of the selected", rank == p) for p in range(8)]
    strata += [("at odd places of the selected", rank % 2 == 1), ("at the last of the selected", last)]
    strata += [(f"from position {first} on", i >= first) for first in _powers(sample.rate.shape[1])]
    strata += [(f"in design {d}", r == d) for d in range(sample.rate.shape[0])]
    strata += [(f"where {what}", part[r, i]) for what, part in (*_by_id(sample), *_by_length(sample))]
    place = (np.arange(sample.rate.shape[1]) - sample.first)[r, i]
    if sample.joined.any():
        strata += [(f"at place {p} of what is selected together", place == p) for p in range(4)]
    neighbours = [(lag, _members(sample, (t, r, i), place, lag)) for lag in LAGS]
    for g, shares in enumerate(signature):
        mine = group == g
        for each, p in enumerate(shares):
            if not 0 < p < 1 - 1e-12:
                continue
            p = float(p)
            k, N = int((mine & (kind == each)).sum()), int(mine.sum())
            what = f"outcomes of probability {sample.values[each]:.4g} each"
            tally.judge(name, what, k, N, p, headline=g == largest)
            if g != largest:
                continue
            for where, part in strata:
                N = int((mine & part).sum())
                if N:
                    k = int((mine & part & (kind == each)).sum())
                    tally.judge(name, f"{what} {where}", k, N, p)
            seen = (kind == each)[mine]
            half = seen.size // 2 * 2
            k = int((seen[0:half:2] & seen[1:half:2]).sum())
            tally.judge(name, f"{what}, {TWICE} running", k, half // 2, p * p)
            for lag, one in neighbours:
                one = one[mine[one] & mine[one + lag]]
                k, N = int(((kind == each)[one] & (kind == each)[one + lag]).sum()), one.size
                if N:
                    said = f"{what}, {TWICE} at distance {lag} of what is selected together"
                    tally.judge(name, said, k, N, p * p)


def _members(sample: Sample, drawn: tuple[Ints, Ints, Ints], place: Ints, lag: int) -> Ints:
    """Which of the chosen positions have another of their group at a distance, chosen as well: disjoint pairs, by their first."""
    t, r, i = drawn
    first = sample.first[r, i]
    same = (t[lag:] == t[:-lag]) & (r[lag:] == r[:-lag]) & (first[lag:] == first[:-lag])
    same &= i[lag:] == i[:-lag] + lag
    members: Ints = np.nonzero(same & (place[:-lag] // lag % 2 == 0))[0]
    return members


def words(sample: Sample, tally: Tally) -> None:
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
                tally.judge(name, f"{what} among words alike likely", k, N, low, high)
        least = int(size[size > 1].min())
        orders = {
            "one after the other": np.arange(int(at.sum())),
            "at the same place of a row": np.lexsort((t[at], i[at], r[at])),
        }
        for what, order in orders.items():
            seen = w[at][order]
            half = seen.size // 2 * 2
            k = int((seen[0:half:2] == seen[1:half:2]).sum())
            tally.judge(name, f"equal words drawn {what}", k, half // 2, 1 / least, by=upper_tail)
            _apart(sample, member, (r[at][order], i[at][order], seen), what, tally)
        call = t[at] // sample.per_call
        batches = [w[at][call == c] for c in range(int(call.max()) + 1)]
        k = N = 0
        for a, b in zip(batches[0::2], batches[1::2], strict=False):
            both = min(a.size, b.size)
            k, N = k + int((a[:both] == b[:both]).sum()), N + both
        tally.judge(name, "equal words drawn in neighbouring calls", k, N, 1 / least, by=upper_tail)


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
        tally.judge(sample.layout.name, what, k, half // 2, low, high)


def _powers(length: int) -> list[int]:
    """Powers of 2 inside a row, where blocks of it and tables for it end."""
    return [2**power for power in range(3, 20) if 2**power < length]


def _by_length(sample: Sample) -> list[tuple[str, Bools]]:
    """Positions by how many are selected together with them; none where nothing is."""
    if not sample.joined.any():
        return []
    n = sample.joined.shape[1]
    length = np.stack([np.bincount(first, minlength=n)[first] for first in sample.first])
    few = [(f"{k} are selected together", length == k) for k in range(1, 5)]
    return [*few, ("more than 4 are selected together", length > 4)]


def _by_id(sample: Sample) -> list[tuple[str, Bools]]:
    V = sample.probability.shape[2]
    return [
        ("the id is even", sample.ids % 2 == 0),
        ("the id is odd", sample.ids % 2 == 1),
        *((f"the id is in quarter {q + 1} of the vocabulary", sample.ids * 4 // V == q) for q in range(4)),
    ]
