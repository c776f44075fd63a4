"""Variants of the log-probability of a text: ``objectives.autoregressive``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

TEXT = "objectives.autoregressive"


def at(values: Tensor, y: Tensor) -> Tensor:
    """The entry of each row at its word."""
    return values.gather(-1, y[..., None])[..., 0]


def terms(s: Tensor, y: Tensor) -> Tensor:
    """The log-probability of each word, right."""
    return at(torch.log_softmax(s, -1), y)


@wrong(TEXT)
def logarithm_of_the_product(s: Tensor, y: Tensor) -> Tensor:
    """Multiplies the probabilities: the product underflows."""
    return at(torch.softmax(s, -1), y).prod(-1).log()


@wrong(TEXT)
def logarithm_of_the_softmax(s: Tensor, y: Tensor) -> Tensor:
    """Takes logarithms of probabilities: −∞ where one underflows."""
    return at(torch.softmax(s, -1), y).log().sum(-1)


@wrong(TEXT)
def logarithm_of_a_plain_sum(s: Tensor, y: Tensor) -> Tensor:
    """Exponentiates the logits as they are: large ones overflow."""
    return (at(s, y) - s.exp().sum(-1).log()).sum(-1)


@wrong(TEXT)
def the_probability(s: Tensor, y: Tensor) -> Tensor:
    """Gives the probability, not its logarithm."""
    return terms(s, y).sum(-1).exp()


@wrong(TEXT)
def mean_over_words(s: Tensor, y: Tensor) -> Tensor:
    """Takes the mean over the words."""
    return terms(s, y).mean(-1)


@wrong(TEXT)
def logarithm_of_the_mean(s: Tensor, y: Tensor) -> Tensor:
    """Takes the logarithm of the mean probability."""
    return y.shape[-1] * (terms(s, y).logsumexp(-1) - math.log(y.shape[-1]))


@wrong(TEXT)
def as_a_loss(s: Tensor, y: Tensor) -> Tensor:
    """Gives what is to be minimised: the negative."""
    return -terms(s, y).sum(-1)


@wrong(TEXT)
def one_late(s: Tensor, y: Tensor) -> Tensor:
    """Holds the logits of each place against the word after it."""
    return terms(s[..., :-1, :], y[..., 1:]).sum(-1)


@wrong(TEXT)
def first_word_given(s: Tensor, y: Tensor) -> Tensor:
    """Takes the first word as given."""
    return terms(s, y)[..., 1:].sum(-1)


@wrong(TEXT)
def last_word_dropped(s: Tensor, y: Tensor) -> Tensor:
    """Leaves the last word out."""
    return terms(s, y)[..., :-1].sum(-1)


@wrong(TEXT)
def best_word(s: Tensor, y: Tensor) -> Tensor:
    """Scores the likeliest word of each place in the place of the one that stands there."""
    return torch.log_softmax(s, -1).amax(-1).sum(-1)


@wrong(TEXT)
def softmax_over_places(s: Tensor, y: Tensor) -> Tensor:
    """Normalises over the places instead of the words."""
    return at(torch.log_softmax(s, -2), y).sum(-1)


@wrong(TEXT)
def unnormalised(s: Tensor, y: Tensor) -> Tensor:
    """Sums the logits of the words."""
    return at(s, y).sum(-1)


@wrong(TEXT)
def in_bits(s: Tensor, y: Tensor) -> Tensor:
    """Takes logarithms to base 2."""
    return terms(s, y).sum(-1) / math.log(2)


@wrong(TEXT)
def first_word_is_padding(s: Tensor, y: Tensor) -> Tensor:
    """Leaves out word 0, taking it for padding."""
    return torch.where(y == 0, 0.0, terms(s, y)).sum(-1)


@wrong(TEXT)
def normaliser_detached(s: Tensor, y: Tensor) -> Tensor:
    """No gradient reaches the normaliser."""
    return (at(s, y) - s.logsumexp(-1).detach()).sum(-1)


@right(TEXT)
def by_log_sum_exp(s: Tensor, y: Tensor) -> Tensor:
    """The word's logit less the log-sum-exp of its row."""
    return (at(s, y) - s.logsumexp(-1)).sum(-1)


@right(TEXT)
def word_by_word(s: Tensor, y: Tensor) -> Tensor:
    """A loop along the text."""
    total = torch.zeros_like(s[..., 0, 0])
    for row, word in zip(s.unbind(-2), y.unbind(-1), strict=True):
        total = total + terms(row, word)
    return total


@right(TEXT)
def by_cross_entropy(s: Tensor, y: Tensor) -> Tensor:
    """torch's function, without reduction."""
    cost = F.cross_entropy(s.flatten(0, -2), y.flatten(), reduction="none")
    return -cost.reshape(y.shape).sum(-1)
