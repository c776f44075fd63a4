"""Variants of the losses that BERT is pre-trained with: ``objectives.mlm``, ``objectives.nsp``, ``objectives.bert``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

MLM, NSP, BERT = "objectives.mlm", "objectives.nsp", "objectives.bert"


def costs(s: Tensor, labels: Tensor) -> Tensor:
    """What each place costs, 0 where nothing was selected; right."""
    inside = labels >= 0
    law = torch.log_softmax(torch.where(inside[..., None], s, 0.0), -1)
    return torch.where(inside, -law.gather(-1, labels.clamp(min=0)[..., None])[..., 0], 0.0)


def words(s: Tensor, labels: Tensor) -> Tensor:
    """The loss of hidden words, right."""
    return costs(s, labels).sum(-1) / (labels >= 0).sum(-1).clamp(min=1)


def answers(z: Tensor, y: Tensor) -> Tensor:
    """What each pair costs, right."""
    return -torch.log_softmax(z, -1).gather(-1, y[..., None])[..., 0]


# Hidden words -------------------------------------------------------------------------------------------------------------


@wrong(MLM)
def mean_over_all_places(s: Tensor, labels: Tensor) -> Tensor:
    """Divides by all places."""
    return costs(s, labels).mean(-1)


@wrong(MLM)
def summed_words(s: Tensor, labels: Tensor) -> Tensor:
    """The sum for the mean."""
    return costs(s, labels).sum(-1)


@wrong(MLM)
def asked_of_one_more(s: Tensor, labels: Tensor) -> Tensor:
    """Labels at all places: those that were not selected are asked for word 0, as if −100 had been clamped."""
    return costs(s, labels.clamp(min=0)).mean(-1)


@wrong(MLM)
def last_place_asked(s: Tensor, labels: Tensor) -> Tensor:
    """Padding counts as a target: it is in the count, at no cost."""
    padding = torch.arange(labels.shape[-1]) == labels.shape[-1] - 1
    return costs(s, labels).sum(-1) / ((labels >= 0) | padding).sum(-1).clamp(min=1)


@wrong(MLM)
def next_word(s: Tensor, labels: Tensor) -> Tensor:
    """Labels moved by one, as a language model that predicts the next word has them."""
    return words(s[..., :-1, :], labels[..., 1:])


@wrong(MLM)
def softmax_over_places(s: Tensor, labels: Tensor) -> Tensor:
    """The softmax taken over the places."""
    law = torch.log_softmax(s, -2)
    hit = law.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return torch.where(labels >= 0, -hit, 0.0).sum(-1) / (labels >= 0).sum(-1).clamp(min=1)


@wrong(MLM)
def word_zero_ignored(s: Tensor, labels: Tensor) -> Tensor:
    """Word 0 is taken for padding: its places are not asked."""
    return words(s, torch.where(labels == 0, -100, labels))


@wrong(MLM)
def likeliest_without_loss(s: Tensor, labels: Tensor) -> Tensor:
    """Places that are guessed right already are left out of the count, and cost nothing."""
    wrong_ones = torch.where(s.argmax(-1) == labels, -100, labels)
    return words(s, wrong_ones)


@wrong(MLM)
def nan_for_none(s: Tensor, labels: Tensor) -> Tensor:
    """0/0 where nothing was selected."""
    return costs(s, labels).sum(-1) / (labels >= 0).sum(-1)


@wrong(MLM)
def plain_logarithm(s: Tensor, labels: Tensor) -> Tensor:
    """The logarithm of the softmax: −∞ where that rounds to 0."""
    law = torch.log(torch.softmax(torch.where((labels >= 0)[..., None], s, 0.0), -1))
    hit = law.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return torch.where(labels >= 0, -hit, 0.0).sum(-1) / (labels >= 0).sum(-1).clamp(min=1)


@wrong(MLM)
def count_of_the_batch(s: Tensor, labels: Tensor) -> Tensor:
    """Each member is divided by the number of selected places of the whole batch."""
    return costs(s, labels).sum(-1) / (labels >= 0).sum().clamp(min=1)


@right(MLM)
def dense(s: Tensor, labels: Tensor) -> Tensor:
    """Logits of all places, those that were not selected set to 0 first."""
    return words(s, labels)


@right(MLM)
def by_one_hot(s: Tensor, labels: Tensor) -> Tensor:
    """One-hot labels, as the original BERT has them; its weights are 1 where a place was selected."""
    weights = (labels >= 0).to(s.dtype)
    law = torch.log_softmax(torch.where(weights[..., None] > 0, s, 0.0), -1)
    hot = F.one_hot(labels.clamp(min=0), s.shape[-1]).to(s.dtype)
    return (weights * -(law * hot).sum(-1)).sum(-1) / weights.sum(-1).clamp(min=1)


# Pairs --------------------------------------------------------------------------------------------------------------------


@wrong(NSP)
def labels_swapped(z: Tensor, y: Tensor) -> Tensor:
    """0 taken for random, 1 for the one that follows."""
    return answers(z, 1 - y).mean(-1)


@wrong(NSP)
def two_sigmoids(z: Tensor, y: Tensor) -> Tensor:
    """A sigmoid for each logit."""
    return F.binary_cross_entropy_with_logits(z, F.one_hot(y, 2).to(z.dtype), reduction="none").mean((-2, -1))


@wrong(NSP)
def summed(z: Tensor, y: Tensor) -> Tensor:
    """The sum for the mean."""
    return answers(z, y).sum(-1)


@wrong(NSP)
def first_logit_alone(z: Tensor, y: Tensor) -> Tensor:
    """Reads one logit, as a head with a single one would."""
    return F.binary_cross_entropy_with_logits(z[..., 0], (y == 0).to(z.dtype), reduction="none").mean(-1)


@wrong(NSP)
def random_ones_alone(z: Tensor, y: Tensor) -> Tensor:
    """Pairs that follow cost nothing: label 0 is taken for one to be ignored."""
    return (answers(z, y) * (y > 0)).sum(-1) / (y > 0).sum(-1).clamp(min=1)


@wrong(NSP)
def halved(z: Tensor, y: Tensor) -> Tensor:
    """The mean over both logits."""
    return answers(z, y).mean(-1) / 2


@wrong(NSP)
def over_the_pairs(z: Tensor, y: Tensor) -> Tensor:
    """The softmax taken over the pairs."""
    return -torch.log_softmax(z, -2).gather(-1, y[..., None])[..., 0].mean(-1)


@wrong(NSP)
def overflowing(z: Tensor, y: Tensor) -> Tensor:
    """ln(1 + e^difference) as it stands."""
    other = torch.where(y == 0, z[..., 1] - z[..., 0], z[..., 0] - z[..., 1])
    return torch.log(1 + other.exp()).mean(-1)


@wrong(NSP)
def last_pair_dropped(z: Tensor, y: Tensor) -> Tensor:
    """Leaves the last pair out, if it is not the only one."""
    kept = max(1, z.shape[-2] - 1)
    return answers(z[..., :kept, :], y[..., :kept]).mean(-1)


@right(NSP)
def by_softmax(z: Tensor, y: Tensor) -> Tensor:
    """The logarithm of the softmax, and one of its two entries."""
    return answers(z, y).mean(-1)


# Both ---------------------------------------------------------------------------------------------------------------------


@wrong(BERT)
def mean_of_both(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """The mean of the two losses."""
    return (words(s, labels) + answers(z, y).mean(-1)) / 2


@wrong(BERT)
def one_mean(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """One mean over selected places and pairs together."""
    total = costs(s, labels).sum(-1) + answers(z, y).sum(-1)
    return total / ((labels >= 0).sum(-1) + y.shape[-1])


@wrong(BERT)
def words_alone(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """The pairs are forgotten, as RoBERTa means to."""
    return words(s, labels) + 0 * answers(z, y).mean(-1)


@wrong(BERT)
def pairs_alone(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """The words are forgotten."""
    return 0 * words(s, labels) + answers(z, y).mean(-1)


@wrong(BERT)
def pairs_detached(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """The loss of the pairs is shown and not learned from."""
    return words(s, labels) + answers(z, y).mean(-1).detach()


@wrong(BERT)
def answers_swapped(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """0 taken for random."""
    return words(s, labels) + answers(z, 1 - y).mean(-1)


@wrong(BERT)
def words_over_all_places(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """The words' loss divided by all places."""
    return costs(s, labels).mean(-1) + answers(z, y).mean(-1)


@wrong(BERT)
def pairs_summed(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """The sum over the pairs."""
    return words(s, labels) + answers(z, y).sum(-1)


@wrong(BERT)
def nothing_without_words(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """A text in which nothing was selected is skipped, its pairs too."""
    return torch.where((labels >= 0).any(-1), words(s, labels) + answers(z, y).mean(-1), 0.0)


@right(BERT)
def added(s: Tensor, labels: Tensor, z: Tensor, y: Tensor) -> Tensor:
    """Each by itself, then added."""
    return words(s, labels) + answers(z, y).mean(-1)
