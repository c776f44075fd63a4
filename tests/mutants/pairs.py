"""Variants of the pairs of next sentence prediction: ``masking.nsp``."""

import random

import torch
from torch import Generator

from tests.mutants import right, wrong

NSP = "masking.nsp"


def uniform(like, generator):
    """Uniform numbers in [0, 1), float64, one for each entry."""
    return torch.rand(like.shape, generator=generator, dtype=torch.float64)


def following(starts, first):
    """Whether a sentence follows in the same document."""
    N = starts.shape[-1]
    begins = starts.expand(*first.shape[:-1], N).gather(-1, (first + 1).clamp(max=N - 1))
    return (first + 1 < N) & ~begins


def any_but(place, left_out, N, generator):
    """A sentence, uniform on all but the one at ``place`` where ``left_out`` says so."""
    count = N - left_out.long()
    drawn = (uniform(place, generator) * count).long()
    return drawn + (left_out & (drawn >= place))


def paired(first, true, drawn):
    """The sentence that follows where ``true``, else the one drawn."""
    return torch.where(true, first + 1, drawn), (~true).long()


def plain(starts, first, generator, share=0.5):
    """Right, at a share of one half."""
    follows = following(starts, first)
    true = follows & (uniform(first, generator) < share)
    return paired(first, true, any_but(first + 1, follows, starts.shape[-1], generator))


wrong(NSP, "fifty_two", "The one that follows is taken with 0.52.", cause="share of label")(
    lambda starts, first, generator: plain(starts, first, generator, 0.52)
)
wrong(
    NSP,
    "one_third",
    "The next sentence in a third of the pairs, not in half.",
    cause="share of label",
)(lambda starts, first, generator: plain(starts, first, generator, 1 / 3))


def pairing(draw=any_but, coin=lambda first, generator: uniform(first, generator) < 0.5):
    """Pairs, right but for how a sentence is drawn, or for where the one that follows is taken."""

    def pairs(starts, first, generator):
        follows = following(starts, first)
        true = follows & coin(first, generator)
        return paired(first, true, draw(first + 1, follows, starts.shape[-1], generator))

    return pairs


def any_at_all(place, left_out, N, generator):
    """Any sentence, the true next one among them."""
    return (uniform(place, generator) * N).long()


wrong(
    NSP,
    "true_next_drawn",
    "A random sentence is any at all, the true next one among them.",
    cause="negatives=any|one that may be drawn",
)(pairing(any_at_all))


@wrong(NSP, cause="label 0 and label 1 are exchanged")
def labels_reversed(starts, first, generator):
    """1 for the one that follows."""
    second, label = plain(starts, first, generator)
    return second, 1 - label


wrong(
    NSP,
    "across_documents",
    "The next sentence of the corpus is taken, whatever document it is in.",
    cause="is the one that follows",
)(lambda starts, first, generator: plain(torch.zeros_like(starts), first, generator))


wrong(NSP, "one_coin", "One coin for the whole call.", cause="not drawn independently")(
    pairing(coin=lambda first, generator: torch.rand((), generator=generator) < 0.5)
)


@wrong(NSP, via=lambda step: pairing(coin=step), cause="not drawn independently")
def alternating(first, generator):
    """True and random pairs take turns, from a random beginning."""
    turn = torch.arange(first.shape[-1]) + torch.randint(2, (), generator=generator)
    return turn % 2 == 0


@wrong(NSP, via=pairing, cause="never drawn")
def last_never_drawn(place, left_out, N, generator):
    """randint(0, N − 1): the last sentence is never drawn, if there are others."""
    most = max(N - 1, 1)
    return any_but(place, left_out & (place < most), most, generator).clamp(max=N - 1)


@wrong(NSP, via=pairing, cause=r"second \d+.*expected")
def never_itself(place, left_out, N, generator):
    """Where the next sentence is drawn, the one behind it comes: twice as often."""
    drawn = any_at_all(place, left_out, N, generator)
    return torch.where(left_out & (drawn == place), (place + 1) % N, drawn)


@wrong(NSP, cause=r"second \d+.*expected")
def neighbours(starts, first, generator):
    """Random sentences come from close by, with three chances in four."""
    second, label = plain(starts, first, generator)
    close = (label == 1) & (uniform(first, generator) < 0.75) & (first > 0)
    return torch.where(close, first - 1, second), label


@wrong(NSP, via=pairing, cause="not drawn independently")
def one_for_all(place, left_out, N, generator):
    """One random place for all pairs of a call."""
    count = N - left_out.long()
    drawn = (torch.rand((), generator=generator, dtype=torch.float64) * count).long()
    return drawn + (left_out & (drawn >= place))


wrong(NSP, "global_generator", "Draws from torch's global generator.", cause="global random")(
    lambda starts, first, generator: plain(starts, first, torch.default_generator)
)
wrong(NSP, "reseeded", "Seeds a generator of its own with 0 in every call.", cause="another seed gave")(
    lambda starts, first, generator: plain(starts, first, Generator().manual_seed(0))
)


wrong(
    NSP,
    "same_document",
    "Random sentences from anywhere.",
    cause="negatives=not_next|one that may be drawn",
    negatives="other_document",
)(pairing())


right(NSP, "by_shifting", "A draw from one sentence fewer, moved past the one that follows.")(pairing())


@right(NSP)
def one_by_one(starts, first, generator):
    """A Python loop over the pairs; what may be drawn is listed."""
    draw = random.Random(int(torch.randint(2**62, (1,), generator=generator)))
    N = starts.shape[-1]
    rows = starts.expand(*first.shape[:-1], N).reshape(-1, N).tolist()
    second, label = [], []
    for row, begins in zip(rows, first.reshape(-1, first.shape[-1]).tolist(), strict=True):
        for at in begins:
            follows = at + 1 < N and (not row[at + 1])
            true = follows and draw.random() < 0.5
            place = draw.randrange(N - follows)
            second.append(at + 1 if true else place + (follows and place > at))
            label.append(0 if true else 1)
    return torch.tensor(second).reshape(first.shape), torch.tensor(label).reshape(first.shape)


right(NSP, "anywhere", "Any sentence at all, where that is claimed.", negatives="any")(pairing(any_at_all))
