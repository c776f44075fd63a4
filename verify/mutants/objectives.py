"""Variants of the cross entropy of logits: ``objectives.cross_entropy``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

LOSS = "objectives.cross_entropy"


def asked(y: Tensor) -> tuple[Tensor, Tensor]:
    """Where there is a target, and the targets with 0 where there is none."""
    return y >= 0, y.clamp(min=0)


def at(values: Tensor, y: Tensor) -> Tensor:
    """The entry of each row at its target."""
    return values.gather(-1, y.clamp(min=0)[..., None])[..., 0]


def hidden(s: Tensor, y: Tensor) -> Tensor:
    """The logits, 0 where nothing is asked."""
    return torch.where((y >= 0)[..., None], s, 0.0)


def mean(cost: Tensor, y: Tensor) -> Tensor:
    """The mean over the targets, right."""
    inside = y >= 0
    return torch.where(inside, cost, 0.0).sum(-1) / inside.sum(-1).clamp(min=1)


def smoothed(log_p: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """What each place costs, right."""
    return -(1 - epsilon) * at(log_p, y) - epsilon * log_p.mean(-1)


def log_law(s: Tensor, y: Tensor) -> Tensor:
    """The log-probabilities, right."""
    return torch.log_softmax(hidden(s, y), -1)


@wrong(LOSS)
def ignored_in_the_count(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Divides by all places, those without a target too."""
    cost = torch.where(y >= 0, smoothed(log_law(s, y), y, epsilon), 0.0)
    return cost.mean(-1)


@wrong(LOSS)
def ignored_pay_smoothing(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Smooths at places without a target, too."""
    law, inside = torch.log_softmax(s, -1), y >= 0
    cost = torch.where(inside, -(1 - epsilon) * at(law, y), 0.0) - epsilon * law.mean(-1)
    return cost.sum(-1) / inside.sum(-1).clamp(min=1)


@wrong(LOSS)
def two_left_out(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Shares ε among the other words as if one of them, the padding, had no share: V − 2 take it all."""
    law = log_law(s, y)
    rest = (law.sum(-1) - at(law, y)) / max(s.shape[-1] - 2, 1)
    return mean(-(1 - epsilon) * at(law, y) - epsilon * rest, y)


@wrong(LOSS)
def smoothed_twice(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Smooths targets that are smoothed already."""
    law = log_law(s, y)
    return mean((1 - epsilon) * smoothed(law, y, epsilon) - epsilon * law.mean(-1), y)


@wrong(LOSS)
def target_kept_whole(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Adds the smoothing to a target that keeps its whole weight: the shares sum to 1 + ε."""
    law = log_law(s, y)
    return mean(-at(law, y) - epsilon * law.mean(-1), y)


@wrong(LOSS)
def smoothing_summed(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Takes the sum over the words for their mean."""
    law = log_law(s, y)
    return mean(-(1 - epsilon) * at(law, y) - epsilon * law.sum(-1), y)


@wrong(LOSS)
def smoothing_left_out(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Takes ε and does not use it."""
    return mean(-at(log_law(s, y), y), y)


@wrong(LOSS)
def shares_swapped(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Gives the target ε and all words 1 − ε."""
    return mean(smoothed(log_law(s, y), y, 1 - epsilon), y)


@wrong(LOSS)
def in_bits(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Takes logarithms to base 2."""
    return mean(smoothed(log_law(s, y), y, epsilon), y) / math.log(2)


@wrong(LOSS)
def summed(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Sums where the mean is stated."""
    return torch.where(y >= 0, smoothed(log_law(s, y), y, epsilon), 0.0).sum(-1)


@wrong(LOSS)
def as_a_likelihood(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Forgets the sign: what is to be raised."""
    return -mean(smoothed(log_law(s, y), y, epsilon), y)


@wrong(LOSS)
def logarithm_of_a_plain_sum(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Exponentiates the logits as they are: large ones overflow."""
    s = hidden(s, y)
    return mean(smoothed(s - s.exp().sum(-1, keepdim=True).log(), y, epsilon), y)


@wrong(LOSS)
def logarithm_of_the_softmax(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Takes logarithms of probabilities: −∞ where one underflows."""
    return mean(smoothed(torch.softmax(hidden(s, y), -1).log(), y, epsilon), y)


@wrong(LOSS)
def logarithm_kept_finite(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Adds 10⁻⁹ to the probabilities before the logarithm."""
    return mean(smoothed((torch.softmax(hidden(s, y), -1) + 1e-9).log(), y, epsilon), y)


@wrong(LOSS)
def logarithm_of_the_mean(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Takes the logarithm of the mean probability."""
    p = at(torch.softmax(hidden(s, y), -1), y)
    return torch.where((y >= 0).any(-1), -mean(p, y).clamp(min=1e-30).log(), 0.0)


@wrong(LOSS)
def softmax_over_places(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Normalises over the places instead of the words."""
    return mean(smoothed(torch.log_softmax(hidden(s, y), -2), y, epsilon), y)


@wrong(LOSS)
def first_word_is_padding(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Ignores word 0, taking it for padding."""
    return mean(smoothed(log_law(s, y), y, epsilon), torch.where(y == 0, -100, y))


@wrong(LOSS)
def nothing_ignored(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Asks for word 0 where nothing is asked."""
    return smoothed(torch.log_softmax(s, -1), y, epsilon).mean(-1)


@wrong(LOSS)
def none_asked_is_nan(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Divides by a count of 0."""
    cost = torch.where(y >= 0, smoothed(log_law(s, y), y, epsilon), 0.0)
    return cost.sum(-1) / (y >= 0).sum(-1)


@wrong(LOSS)
def mean_over_the_batch(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Returns the mean over all targets of the batch for each of its members."""
    whole = mean(smoothed(log_law(s, y), y, epsilon).flatten(), y.flatten())
    return whole.expand(y.shape[:-1]).clone()


@wrong(LOSS)
def ignored_times_zero(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Multiplies what is ignored by 0: NaN there reaches the loss."""
    inside = (y >= 0).to(s.dtype)
    cost = smoothed(torch.log_softmax(s, -1), y, epsilon)
    return (cost * inside).sum(-1) / inside.sum(-1).clamp(min=1)


@wrong(LOSS)
def next_word(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Shifts the targets by one place, as if logits stood for the word after."""
    later = F.pad(y[..., 1:], (0, 1), value=-100)
    return mean(smoothed(log_law(s, later), later, epsilon), later)


@wrong(LOSS)
def smoothing_detached(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """No gradient flows through the smoothing."""
    law = log_law(s, y)
    return mean(-(1 - epsilon) * at(law, y) - epsilon * law.mean(-1).detach(), y)


@right(LOSS)
def by_cross_entropy(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """torch's function without reduction, then the mean."""
    rows = hidden(s, y).flatten(0, -2)
    cost = F.cross_entropy(rows, y.flatten(), reduction="none", label_smoothing=epsilon)
    return mean(cost.reshape(y.shape), y)


@right(LOSS)
def by_shares(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """The product with the smoothed targets, written out."""
    _, ids = asked(y)
    q = (1 - epsilon) * F.one_hot(ids, s.shape[-1]).to(s.dtype) + epsilon / s.shape[-1]
    return mean(-(q * log_law(s, y)).sum(-1), y)


@right(LOSS)
def by_log_sum_exp(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """ln Z less the smoothed target's mean logit, all relative to the largest."""
    s = hidden(s, y)
    s = s - s.amax(-1, keepdim=True).detach()
    return mean(s.logsumexp(-1) - (1 - epsilon) * at(s, y) - epsilon * s.mean(-1), y)


@right(LOSS)
def only_what_is_asked(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Takes the rows with a target out first, member by member."""

    def one(rows: Tensor, targets: Tensor) -> Tensor:
        inside = targets >= 0
        if not inside.any():
            return rows[:0].sum()
        return smoothed(torch.log_softmax(rows[inside], -1), targets[inside], epsilon).mean()

    members = zip(s.flatten(0, -3), y.flatten(0, -2), strict=True) if y.ndim > 1 else [(s, y)]
    return torch.stack([one(*member) for member in members]).reshape(y.shape[:-1])


@right(LOSS, none_asked="unspecified")
def torch_member_by_member(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """torch's function with its mean, for each member of the batch."""
    members = (
        zip(hidden(s, y).flatten(0, -3), y.flatten(0, -2), strict=True) if y.ndim > 1 else [(hidden(s, y), y)]
    )
    means = [F.cross_entropy(a, b, label_smoothing=epsilon) for a, b in members]
    return torch.stack(means).reshape(y.shape[:-1])


@right(LOSS, smoothing="others")
def among_the_others(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
    """Shares ε among the V − 1 other words, as fairseq does: so much less for the target, and the rest for all."""
    law = log_law(s, y)
    each = epsilon / max(s.shape[-1] - 1, 1)
    return mean(-(1 - epsilon - each) * at(law, y) - each * law.sum(-1), y)
