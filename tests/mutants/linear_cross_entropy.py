"""Variants of the cross entropy of a linear layer, mostly mistakes in parts: ``objectives.linear_cross_entropy``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

LOSS = "objectives.linear_cross_entropy"
PART = 2


def asked_alone(x, y):
    """The rows, 0 where nothing is asked."""
    return torch.where((y >= 0)[..., None], x, 0.0)


def of_law(law, y, epsilon):
    """What each place costs of log-probabilities, with word 0 for the target where nothing is asked."""
    return -(1 - epsilon) * law.gather(-1, y.clamp(min=0)[..., None])[..., 0] - epsilon * law.mean(-1)


def cost(x, W, y, epsilon, law=lambda s, y: torch.log_softmax(s, -1)):
    """What each place costs, 0 where nothing is asked; right, or of another law."""
    return torch.where(y >= 0, of_law(law(asked_alone(x, y) @ W.mT, y), y, epsilon), 0.0)


def loss(x, W, y, epsilon, **changes):
    """The loss, right but for a change of the costs."""
    return cost(x, W, y, epsilon, **changes).sum(-1) / counted(y)


def in_half(s, y):
    """Log-probabilities among the words of the target's half of the vocabulary."""
    half = max(1, s.shape[-1] // 2)
    own = (torch.arange(s.shape[-1]) < half) == (y.clamp(min=0) < half)[..., None]
    return s - s.masked_fill(~own, -math.inf).logsumexp(-1, keepdim=True)


def less_the_first(s, y):
    """Log-probabilities of exponentials relative to the largest of the first place."""
    s = s - s[..., :1, :].amax(-1, keepdim=True).detach()
    return s - s.exp().sum(-1, keepdim=True).log()


def counted(y):
    """The number of targets, at least 1."""
    return (y >= 0).sum(-1).clamp(min=1)


def parts(x, y):
    """Some places at a time."""
    return zip(x.split(PART, -2), y.split(PART, -1), strict=True)


wrong(LOSS, "mean_of_means", "Averages the means of the parts.", cause="mean of .*means|in parts|block")(
    lambda x, W, y, epsilon: torch.stack([loss(a, W, b, epsilon) for a, b in parts(x, y)]).mean(0)
)


@wrong(LOSS, cause=r"gradient.*\bW\b")
def last_part_only(x, W, y, epsilon):
    """Lets W have the gradient of the last part alone."""
    costs = [cost(a, W.detach(), b, epsilon).sum(-1) for a, b in parts(x, y)]
    a, b = list(parts(x, y))[-1]
    return torch.stack([*costs[:-1], cost(a, W, b, epsilon).sum(-1)]).sum(0) / counted(y)


@wrong(LOSS, cause="T is (odd|no multiple)|last (entry|block)")
def last_part_dropped(x, W, y, epsilon):
    """Leaves out a last part that is not full."""
    full = x.shape[-2] - x.shape[-2] % PART
    return cost(x[..., :full, :], W, y[..., :full], epsilon).sum(-1) / counted(y)


wrong(LOSS, "all_places_counted", "Divides by all places.", cause=r"count\b.*hidden|by T\b|all places")(
    lambda x, W, y, epsilon: cost(x, W, y, epsilon).mean(-1)
)


wrong(
    LOSS,
    "normalised_within_parts_of_the_vocabulary",
    "Normalises over the target's half of the words.",
    cause=r"\bhalf\b|in parts",
)(lambda x, W, y, epsilon: loss(x, W, y, epsilon, law=in_half))


wrong(
    LOSS,
    "largest_of_the_first_part",
    "Subtracts the first place's largest logit: others overflow.",
    cause="overflow",
)(lambda x, W, y, epsilon: loss(x, W, y, epsilon, law=less_the_first))


wrong(LOSS, "weight_detached", "No gradient reaches W.", cause=r"reaches W\b")(
    lambda x, W, y, epsilon: loss(x, W.detach(), y, epsilon)
)
wrong(LOSS, "weight_normalised", "Brings the rows of W to length 1.", cause=r"\bW .*(length|norm)")(
    lambda x, W, y, epsilon: loss(x, F.normalize(W, dim=-1), y, epsilon)
)
wrong(LOSS, "scaled_by_the_width", "Divides the logits by the root of the width.", cause=r"by √\(?d\b")(
    lambda x, W, y, epsilon: loss(x / math.sqrt(x.shape[-1]), W, y, epsilon)
)
wrong(LOSS, "smoothing_left_out", "Takes ε and does not use it.", cause="epsilon is not|ε.* not subtracted")(
    lambda x, W, y, epsilon: loss(x, W, y, 0.0)
)


@wrong(LOSS, cause="in slots of")
def ignored_times_zero(x, W, y, epsilon):
    """Multiplies what is ignored by 0: NaN there reaches the loss."""
    inside = (y >= 0).to(x.dtype)
    law = torch.log_softmax(x * inside[..., None] @ W.mT, -1)
    return (of_law(law, y, epsilon) * inside).sum(-1) / counted(y)


wrong(LOSS, "none_asked_is_nan", "Divides by a count of 0.", cause="none_asked|∃.*not applied")(
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
    x = asked_alone(x, y)
    halves = [x @ rows.mT for rows in W.split(PART)]
    total = torch.stack([s.logsumexp(-1) for s in halves]).logsumexp(0)
    hit = (x * W[y.clamp(min=0)]).sum(-1)
    mean = torch.stack([s.sum(-1) for s in halves]).sum(0) / W.shape[0]
    each = torch.where(y >= 0, total - (1 - epsilon) * hit - epsilon * mean, 0.0)
    return each.sum(-1) / counted(y)
