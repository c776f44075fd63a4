"""Variants of the log-probability of a text: ``objectives.autoregressive``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

TEXT = "objectives.autoregressive"


def at(values, y):
    """The entry of each row at its word."""
    return values.gather(-1, y[..., None])[..., 0]


def terms(s, y):
    """The log-probability of each word, right."""
    return at(torch.log_softmax(s, -1), y)


wrong(
    TEXT,
    "logarithm_of_the_product",
    "Multiplies the probabilities: the product underflows.",
    cause="logarithm is taken of|underflow",
)(lambda s, y: at(torch.softmax(s, -1), y).prod(-1).log())
wrong(
    TEXT,
    "logarithm_of_the_softmax",
    "Takes logarithms of probabilities: −∞ where one underflows.",
    cause="logarithm is taken of|underflow",
)(lambda s, y: at(torch.softmax(s, -1), y).log().sum(-1))
wrong(
    TEXT,
    "logarithm_of_a_plain_sum",
    "Exponentiates the logits as they are: large ones overflow.",
    cause="overflows",
)(lambda s, y: (at(s, y) - s.exp().sum(-1).log()).sum(-1))
wrong(TEXT, "the_probability", "Gives the probability, not its logarithm.", cause="exponential of log_P")(
    lambda s, y: terms(s, y).sum(-1).exp()
)
wrong(
    TEXT, "mean_over_words", "Takes the mean over the words.", cause=r"mean over t\b|1/T times|divided by T\b"
)(lambda s, y: terms(s, y).mean(-1))
wrong(TEXT, "logarithm_of_the_mean", "Takes the logarithm of the mean probability.", cause="of the mean")(
    lambda s, y: y.shape[-1] * (terms(s, y).logsumexp(-1) - math.log(y.shape[-1]))
)
wrong(TEXT, "as_a_loss", "Gives what is to be minimised: the negative.", cause="sign of log_P|-1 times")(
    lambda s, y: -terms(s, y).sum(-1)
)
wrong(
    TEXT, "one_late", "Holds the logits of each place against the word after it.", cause="off by one|moved by"
)(lambda s, y: terms(s[..., :-1, :], y[..., 1:]).sum(-1))
wrong(TEXT, "first_word_given", "Takes the first word as given.", cause="leaves out the first")(
    lambda s, y: terms(s, y)[..., 1:].sum(-1)
)
wrong(TEXT, "last_word_dropped", "Leaves the last word out.", cause="leaves out the last")(
    lambda s, y: terms(s, y)[..., :-1].sum(-1)
)
wrong(
    TEXT,
    "best_word",
    "Scores the likeliest word of each place instead of the one that stands there.",
    cause=r"\by is (ignored|not read)|likeliest",
)(lambda s, y: torch.log_softmax(s, -1).amax(-1).sum(-1))
wrong(TEXT, "softmax_over_places", "Normalises over the places instead of the words.", cause="wrong axis")(
    lambda s, y: at(torch.log_softmax(s, -2), y).sum(-1)
)
wrong(TEXT, "unnormalised", "Sums the logits of the words.", cause=r"ln\(.* is not subtracted")(
    lambda s, y: at(s, y).sum(-1)
)
wrong(TEXT, "in_bits", "Takes logarithms to base 2.", cause=r"base 2\b|1\.44\d* times")(
    lambda s, y: terms(s, y).sum(-1) / math.log(2)
)
wrong(
    TEXT, "first_word_is_padding", "Leaves out word 0, taking it for padding.", cause="taken for padding|id 0"
)(lambda s, y: torch.where(y == 0, 0.0, terms(s, y)).sum(-1))
wrong(TEXT, "normaliser_detached", "No gradient reaches the normaliser.", cause=r"(ln\(|sum).*constant")(
    lambda s, y: (at(s, y) - s.logsumexp(-1).detach()).sum(-1)
)


@right(TEXT)
def by_log_sum_exp(s, y):
    """The word's logit less the log-sum-exp of its row, both relative to the largest."""
    s = s - s.amax(-1, keepdim=True).detach()
    return (at(s, y) - s.logsumexp(-1)).sum(-1)


@right(TEXT)
def word_by_word(s, y):
    """A loop along the text."""
    total = torch.zeros_like(s[..., 0, 0])
    for row, word in zip(s.unbind(-2), y.unbind(-1), strict=True):
        total = total + terms(row, word)
    return total


right(TEXT, "by_cross_entropy", "torch's function, without reduction.")(
    lambda s, y: -F.cross_entropy(s.flatten(0, -2), y.flatten(), reduction="none").reshape(y.shape).sum(-1)
)
