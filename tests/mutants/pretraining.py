"""Variants of the losses that BERT is pre-trained with: ``objectives.mlm``, ``objectives.nsp``, ``objectives.bert``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

MLM, NSP, BERT = "objectives.mlm", "objectives.nsp", "objectives.bert"


def hidden(s, labels):
    """The logits, 0 where nothing was selected."""
    return torch.where((labels >= 0)[..., None], s, 0.0)


def costs(s, labels, law=lambda s, labels: torch.log_softmax(hidden(s, labels), -1)):
    """What each place costs, 0 where nothing was selected; right, or of another law."""
    hit = law(s, labels).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return torch.where(labels >= 0, -hit, 0.0)


def count(labels):
    """How many places were selected, 1 at least."""
    return (labels >= 0).sum(-1).clamp(min=1)


def words(s, labels):
    """The loss of hidden words, right."""
    return costs(s, labels).sum(-1) / count(labels)


def answers(z, y):
    """What each pair costs, right."""
    return -torch.log_softmax(z, -1).gather(-1, y[..., None])[..., 0]


# Hidden words -------------------------------------------------------------------------------------------------------------

wrong(MLM, "mean_over_all_places", "Divides by all places.", cause=r"count\b.*hidden|by n\b")(
    lambda s, labels: costs(s, labels).mean(-1)
)
wrong(MLM, "summed_words", "The sum for the mean.", cause="not divided by count")(
    lambda s, labels: costs(s, labels).sum(-1)
)
wrong(
    MLM,
    "asked_of_one_more",
    "Where nothing was selected word 0 is asked, as if −100 had been clamped.",
    cause="0 ≤ labels.*not applied",
)(lambda s, labels: costs(s, labels.clamp(min=0)).mean(-1))


@wrong(MLM, cause="last place")
def last_place_asked(s, labels):
    """Padding counts as a target: it is in the count, at no cost."""
    padding = torch.arange(labels.shape[-1]) == labels.shape[-1] - 1
    return costs(s, labels).sum(-1) / ((labels >= 0) | padding).sum(-1).clamp(min=1)


wrong(
    MLM,
    "next_word",
    "Labels moved by one, as a language model that predicts the next word has them.",
    cause="moved by one",
)(lambda s, labels: words(s[..., :-1, :], labels[..., 1:]))
wrong(MLM, "softmax_over_places", "The softmax taken over the places.", cause="wrong axis")(
    lambda s, labels: costs(s, labels, lambda s, _: torch.log_softmax(s, -2)).sum(-1) / count(labels)
)
wrong(MLM, "word_zero_ignored", "Word 0 is taken for padding: its places are not asked.", cause="0 < labels")(
    lambda s, labels: words(s, torch.where(labels == 0, -100, labels))
)
wrong(
    MLM,
    "likeliest_without_loss",
    "Places that are guessed right already are left out of the count.",
    cause="likeliest|argmax",
)(lambda s, labels: words(s, torch.where(s.argmax(-1) == labels, -100, labels)))
wrong(MLM, "nan_for_none", "0/0 where nothing was selected.", cause="none_asked|∃.*not applied")(
    lambda s, labels: costs(s, labels).sum(-1) / (labels >= 0).sum(-1)
)


@wrong(MLM, cause="logarithm is taken")
def plain_logarithm(s, labels):
    """The logarithm of the softmax: −∞ where that rounds to 0."""
    each = costs(s, labels, lambda s, labels: torch.log(torch.softmax(hidden(s, labels), -1)))
    return each.sum(-1) / count(labels)


wrong(
    MLM,
    "count_of_the_batch",
    "Each member is divided by the number of places of the whole batch.",
    cause="in batches",
)(lambda s, labels: costs(s, labels).sum(-1) / (labels >= 0).sum().clamp(min=1))
right(MLM, "dense", "Logits of all places, those that were not selected set to 0 first.")(
    lambda s, labels: words(s, labels)
)


@right(MLM)
def by_one_hot(s, labels):
    """One-hot labels, as the original BERT has them; its weights are 1 where a place was selected."""
    weights, law = (labels >= 0).to(s.dtype), torch.log_softmax(hidden(s, labels), -1)
    hot = F.one_hot(labels.clamp(min=0), s.shape[-1]).to(s.dtype)
    return (weights * -(law * hot).sum(-1)).sum(-1) / weights.sum(-1).clamp(min=1)


# Pairs --------------------------------------------------------------------------------------------------------------------


def by_sigmoids(z, y):
    """What each logit costs by a sigmoid."""
    return F.binary_cross_entropy_with_logits(z, y.to(z.dtype), reduction="none")


wrong(
    NSP,
    "labels_swapped",
    "0 taken for random, 1 for the one that follows.",
    cause=r"1 − y|(to|from) y\b|sign of z",
)(lambda z, y: answers(z, 1 - y).mean(-1))
wrong(NSP, "two_sigmoids", "A sigmoid for each logit.", cause=r"sigmoid (for|of)\b")(
    lambda z, y: by_sigmoids(z, F.one_hot(y, 2)).mean((-2, -1))
)
wrong(NSP, "summed", "The sum for the mean.", cause=r"not divided by m\b|is m times")(
    lambda z, y: answers(z, y).sum(-1)
)
wrong(NSP, "first_logit_alone", "Reads one logit, as a head with a single one would.", cause=r"z\[k,0|logit")(
    lambda z, y: by_sigmoids(z[..., 0], y == 0).mean(-1)
)
wrong(
    NSP,
    "random_ones_alone",
    "Pairs that follow cost nothing: label 0 is taken for one to be ignored.",
    cause="0 < y|label 0",
)(lambda z, y: (answers(z, y) * (y > 0)).sum(-1) / (y > 0).sum(-1).clamp(min=1))
wrong(NSP, "halved", "The mean over both logits.", cause=r"halved|0\.5 times")(
    lambda z, y: answers(z, y).mean(-1) / 2
)
wrong(NSP, "over_the_pairs", "The softmax taken over the pairs.", cause="wrong axis")(
    lambda z, y: -torch.log_softmax(z, -2).gather(-1, y[..., None])[..., 0].mean(-1)
)


@wrong(NSP, cause="overflow")
def overflowing(z, y):
    """ln(1 + e^difference) as it stands."""
    other = torch.where(y == 0, z[..., 1] - z[..., 0], z[..., 0] - z[..., 1])
    return torch.log(1 + other.exp()).mean(-1)


wrong(
    NSP, "last_pair_dropped", "Leaves the last pair out, if it is not the only one.", cause="last entry|m − 1"
)(lambda z, y: answers(z, y)[..., : max(1, z.shape[-2] - 1)].mean(-1))
right(NSP, "by_softmax", "The logarithm of the softmax, and one of its two entries.")(
    lambda z, y: answers(z, y).mean(-1)
)

# Both ---------------------------------------------------------------------------------------------------------------------


def both(join=lambda words, pairs: words + pairs, pairs=lambda z, y: answers(z, y).mean(-1), words=words):
    """Both losses, right but for what is given."""
    return lambda s, labels, z, y: join(words(s, labels), pairs(z, y))


wrong(BERT, "mean_of_both", "The mean of the two losses.", cause=r"halved|0\.5 times")(
    both(lambda words, pairs: (words + pairs) / 2)
)
wrong(BERT, "one_mean", "One mean over selected places and pairs together.", cause="one mean|together")(
    lambda s, labels, z, y: (
        (costs(s, labels).sum(-1) + answers(z, y).sum(-1)) / ((labels >= 0).sum(-1) + y.shape[-1])
    )
)
wrong(
    BERT, "words_alone", "The pairs are forgotten, as RoBERTa means to.", cause=r"L_nsp is not|\bz is ignored"
)(both(lambda words, pairs: words + 0 * pairs))
wrong(BERT, "pairs_alone", "The words are forgotten.", cause=r"L_mlm is not|\bs is ignored")(
    both(lambda words, pairs: 0 * words + pairs)
)
wrong(
    BERT,
    "pairs_detached",
    "The loss of the pairs is shown and not learned from.",
    cause=r"reaches z\b|nsp\b.*for a constant",
)(both(lambda words, pairs: words + pairs.detach()))
wrong(BERT, "answers_swapped", "0 taken for random.", cause=r"1 − y|(to|from) y\b|sign of z")(
    both(pairs=lambda z, y: answers(z, 1 - y).mean(-1))
)
wrong(
    BERT, "words_over_all_places", "The words' loss divided by all places.", cause=r"count\b.*hidden|by n\b"
)(both(words=lambda s, labels: costs(s, labels).mean(-1)))
wrong(BERT, "pairs_summed", "The sum over the pairs.", cause=r"not divided by m\b|multiplied by m\b")(
    both(pairs=lambda z, y: answers(z, y).sum(-1))
)
wrong(
    BERT,
    "nothing_without_words",
    "A text in which nothing was selected is skipped, its pairs too.",
    cause="L_nsp.*(∃|where)",
)(lambda s, labels, z, y: torch.where((labels >= 0).any(-1), both()(s, labels, z, y), 0.0))
right(BERT, "added", "Each by itself, then added.")(both())
