"""Variants of the cross entropy of a linear layer, mostly mistakes in parts: ``objectives.linear_cross_entropy``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

LOSS = "objectives.linear_cross_entropy"
PART = 2


def cost(x, W, y, epsilon):
    """What each place costs, 0 where nothing is asked; right."""
    inside = y >= 0
    return torch.where(inside, everywhere(torch.where(inside[..., None], x, 0.0), W, y, epsilon), 0.0)


def everywhere(x, W, y, epsilon):
    """What each place costs, with word 0 for the target where nothing is asked."""
    law = torch.log_softmax(x @ W.mT, -1)
    hit = law.gather(-1, y.clamp(min=0)[..., None])[..., 0]
    return -(1 - epsilon) * hit - epsilon * law.mean(-1)


def counted(y):
    """The number of targets, at least 1."""
    return (y >= 0).sum(-1).clamp(min=1)


def parts(x, y):
    """Some places at a time."""
    return zip(x.split(PART, -2), y.split(PART, -1), strict=True)


wrong(LOSS, "mean_of_means", "Averages the means of the parts.")(
    lambda x, W, y, epsilon: torch.stack(
        [cost(a, W, b, epsilon).sum(-1) / counted(b) for a, b in parts(x, y)]
    ).mean(0)
)


@wrong(LOSS)
def last_part_only(x, W, y, epsilon):
    """Lets W have the gradient of the last part alone."""
    costs = [cost(a, W.detach(), b, epsilon).sum(-1) for a, b in parts(x, y)]
    a, b = list(parts(x, y))[-1]
    return torch.stack([*costs[:-1], cost(a, W, b, epsilon).sum(-1)]).sum(0) / counted(y)


@wrong(LOSS)
def last_part_dropped(x, W, y, epsilon):
    """Leaves out a last part that is not full."""
    full = x.shape[-2] - x.shape[-2] % PART
    return cost(x[..., :full, :], W, y[..., :full], epsilon).sum(-1) / counted(y)


wrong(LOSS, "all_places_counted", "Divides by all places.")(
    lambda x, W, y, epsilon: cost(x, W, y, epsilon).mean(-1)
)


@wrong(LOSS)
def normalised_within_parts_of_the_vocabulary(x, W, y, epsilon):
    """Takes the softmax over the words of the target's half of the vocabulary only."""
    inside, half = y >= 0, max(1, W.shape[0] // 2)
    s = torch.where(inside[..., None], x, 0.0) @ W.mT
    own = (torch.arange(W.shape[0]) < half) == (y.clamp(min=0) < half)[..., None]
    law = s - s.masked_fill(~own, -math.inf).logsumexp(-1, keepdim=True)
    hit = law.gather(-1, y.clamp(min=0)[..., None])[..., 0]
    each = torch.where(inside, -(1 - epsilon) * hit - epsilon * law.mean(-1), 0.0)
    return each.sum(-1) / counted(y)


@wrong(LOSS)
def largest_of_the_first_part(x, W, y, epsilon):
    """Subtracts the largest logit of the first place everywhere: others overflow."""
    inside = y >= 0
    s = torch.where(inside[..., None], x, 0.0) @ W.mT
    top = s[..., :1, :].amax(-1, keepdim=True).detach()
    law = s - top - (s - top).exp().sum(-1, keepdim=True).log()
    hit = law.gather(-1, y.clamp(min=0)[..., None])[..., 0]
    each = torch.where(inside, -(1 - epsilon) * hit - epsilon * law.mean(-1), 0.0)
    return each.sum(-1) / counted(y)


wrong(LOSS, "weight_detached", "No gradient reaches W.")(
    lambda x, W, y, epsilon: cost(x, W.detach(), y, epsilon).sum(-1) / counted(y)
)
wrong(LOSS, "weight_normalised", "Brings the rows of W to length 1.")(
    lambda x, W, y, epsilon: cost(x, F.normalize(W, dim=-1), y, epsilon).sum(-1) / counted(y)
)
wrong(LOSS, "scaled_by_the_width", "Divides the logits by the root of the width.")(
    lambda x, W, y, epsilon: cost(x / math.sqrt(x.shape[-1]), W, y, epsilon).sum(-1) / counted(y)
)
wrong(LOSS, "smoothing_left_out", "Takes ε and does not use it.")(
    lambda x, W, y, epsilon: cost(x, W, y, 0.0).sum(-1) / counted(y)
)


@wrong(LOSS)
def ignored_times_zero(x, W, y, epsilon):
    """Multiplies what is ignored by 0: NaN there reaches the loss."""
    inside = (y >= 0).to(x.dtype)
    return (everywhere(x * inside[..., None], W, y, epsilon) * inside).sum(-1) / counted(y)


wrong(LOSS, "none_asked_is_nan", "Divides by a count of 0.")(
    lambda x, W, y, epsilon: cost(x, W, y, epsilon).sum(-1) / (y >= 0).sum(-1)
)
right(LOSS, "in_parts", "Sums the parts and divides once.")(
    lambda x, W, y, epsilon: (
        torch.stack([cost(a, W, b, epsilon).sum(-1) for a, b in parts(x, y)]).sum(0) / counted(y)
    )
)


@right(LOSS)
def part_by_part_of_the_vocabulary(x, W, y, epsilon):
    """Log-sum-exp of parts of the vocabulary, and of these."""
    inside = y >= 0
    x = torch.where(inside[..., None], x, 0.0)
    halves = [x @ rows.mT for rows in W.split(PART)]
    total = torch.stack([s.logsumexp(-1) for s in halves]).logsumexp(0)
    hit = (x * W[y.clamp(min=0)]).sum(-1)
    mean = torch.stack([s.sum(-1) for s in halves]).sum(0) / W.shape[0]
    each = torch.where(inside, total - (1 - epsilon) * hit - epsilon * mean, 0.0)
    return each.sum(-1) / counted(y)
