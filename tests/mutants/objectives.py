"""Variants of the cross entropy of logits: ``objectives.cross_entropy``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

LOSS = "objectives.cross_entropy"


def at(values, y):
    """The entry of each row at its target."""
    return values.gather(-1, y.clamp(min=0)[..., None])[..., 0]


def hidden(s, y):
    """The logits, 0 where nothing is asked."""
    return torch.where((y >= 0)[..., None], s, 0.0)


def mean(cost, y):
    """The mean over the targets, right."""
    inside = y >= 0
    return torch.where(inside, cost, 0.0).sum(-1) / inside.sum(-1).clamp(min=1)


def smoothed(log_p, y, epsilon):
    """What each place costs, right."""
    return -(1 - epsilon) * at(log_p, y) - epsilon * log_p.mean(-1)


def log_law(s, y):
    """The log-probabilities, right."""
    return torch.log_softmax(hidden(s, y), -1)


def loss(cost=smoothed, law=log_law, reduce=mean):
    """The loss, right but for what a place costs of its log-probabilities, for these, or for how costs are put together."""
    return lambda s, y, epsilon: reduce(cost(law(s, y), y, epsilon), y)


def asked_alone(cost, y):
    """The costs, 0 where nothing is asked."""
    return torch.where(y >= 0, cost, 0.0)


def ignored_smoothed(law, y, epsilon):
    """What each place costs, of which one without a target has the smoothing."""
    return asked_alone(-(1 - epsilon) * at(law, y), y) - epsilon * law.mean(-1)


def following(y):
    """The targets, each one place earlier."""
    return F.pad(y[..., 1:], (0, 1), value=-100)


wrong(LOSS, "ignored_in_the_count", "Divides by all places, those without a target too.", cause="count sums")(
    loss(reduce=lambda cost, y: asked_alone(cost, y).mean(-1))
)
wrong(
    LOSS,
    "ignored_pay_smoothing",
    "Smooths at places without a target, too.",
    cause=r"y\S* is not applied|smoothing of what",
)(
    loss(
        ignored_smoothed,
        lambda s, y: torch.log_softmax(s, -1),
        lambda cost, y: cost.sum(-1) / (y >= 0).sum(-1).clamp(min=1),
    )
)


@wrong(LOSS, via=loss, cause="V − [12] instead of V|V-2|smoothing=(others|but)")
def two_left_out(law, y, epsilon):
    """Shares ε among V − 2 words, as if one other had no share, and gives it to V − 1."""
    rest = (law.sum(-1) - at(law, y)) / max(law.shape[-1] - 2, 1)
    return -(1 - epsilon) * at(law, y) - epsilon * rest


wrong(
    LOSS, "smoothed_twice", "Smooths targets that are smoothed already.", cause="(epsilon|ε|smooth).*twice"
)(loss(lambda law, y, epsilon: (1 - epsilon) * smoothed(law, y, epsilon) - epsilon * law.mean(-1)))
wrong(
    LOSS,
    "target_kept_whole",
    "Smooths beside a target of its whole weight: shares sum to 1 + ε.",
    cause="ε is not subtracted in loss|not multiplied by 1 − ε",
)(loss(lambda law, y, epsilon: -at(law, y) - epsilon * law.mean(-1)))
wrong(LOSS, "smoothing_summed", "Takes the sum over the words for their mean.", cause="not divided by V")(
    loss(lambda law, y, epsilon: -(1 - epsilon) * at(law, y) - epsilon * law.sum(-1))
)
wrong(LOSS, "smoothing_left_out", "Takes ε and does not use it.", cause="epsilon is (ignored|not)")(
    loss(lambda law, y, epsilon: -at(law, y))
)
wrong(
    LOSS, "shares_swapped", "Gives the target ε and all words 1 − ε.", cause="1 − (ε|epsilon) (is read|where)"
)(loss(lambda law, y, epsilon: smoothed(law, y, 1 - epsilon)))
wrong(LOSS, "in_bits", "Takes logarithms to base 2.", cause=r"1\.442\d* times|base 2")(
    loss(reduce=lambda cost, y: mean(cost, y) / math.log(2))
)
wrong(LOSS, "summed", "Sums where the mean is stated.", cause="not divided by count")(
    loss(reduce=lambda cost, y: asked_alone(cost, y).sum(-1))
)
wrong(
    LOSS, "as_a_likelihood", "Forgets the sign: what is to be raised.", cause="sign (of|in) (L|loss)|-1 times"
)(loss(reduce=lambda cost, y: -mean(cost, y)))


@wrong(LOSS, via=lambda step: loss(law=step), cause="overflow")
def logarithm_of_a_plain_sum(s, y):
    """Exponentiates the logits as they are: large ones overflow."""
    s = hidden(s, y)
    return s - s.exp().sum(-1, keepdim=True).log()


wrong(
    LOSS,
    "logarithm_of_the_softmax",
    "Takes logarithms of probabilities: −∞ where one underflows.",
    cause="logarithm is taken of a share",
)(loss(law=lambda s, y: torch.softmax(hidden(s, y), -1).log()))
wrong(LOSS, "logarithm_kept_finite", "Adds 10⁻⁹ to the probabilities before the logarithm.", cause="1e-0?9")(
    loss(law=lambda s, y: (torch.softmax(hidden(s, y), -1) + 1e-9).log())
)
wrong(
    LOSS,
    "logarithm_of_the_mean",
    "Takes the logarithm of the mean probability.",
    cause="logarithm of (the|a) mean|mean prob",
)(
    loss(
        lambda p, y, epsilon: at(p, y),
        lambda s, y: torch.softmax(hidden(s, y), -1),
        lambda p, y: torch.where((y >= 0).any(-1), -mean(p, y).clamp(min=1e-30).log(), 0.0),
    )
)
wrong(
    LOSS, "softmax_over_places", "Normalises over the places instead of the words.", cause=r"sums over t\b"
)(loss(law=lambda s, y: torch.log_softmax(hidden(s, y), -2)))
wrong(
    LOSS, "first_word_is_padding", "Ignores word 0, taking it for padding.", cause="0 < y|word 0|but_padding"
)(loss(reduce=lambda cost, y: mean(cost, torch.where(y == 0, -100, y))))
wrong(LOSS, "nothing_ignored", "Asks for word 0 where nothing is asked.", cause=r"y\S* is not applied")(
    lambda s, y, epsilon: smoothed(torch.log_softmax(s, -1), y, epsilon).mean(-1)
)
wrong(LOSS, "none_asked_is_nan", "Divides by a count of 0.", cause="none_asked|∃.* is not applied")(
    loss(reduce=lambda cost, y: asked_alone(cost, y).sum(-1) / (y >= 0).sum(-1))
)
wrong(
    LOSS,
    "mean_over_the_batch",
    "Returns the mean over the batch's targets for each of its members.",
    cause="wrong in batches",
)(loss(reduce=lambda cost, y: mean(cost.flatten(), y.flatten()).expand(y.shape[:-1]).clone()))
wrong(
    LOSS,
    "ignored_times_zero",
    "Multiplies what is ignored by 0: NaN there reaches the loss.",
    cause="NaN or infinity in slots",
)(
    loss(
        law=lambda s, y: torch.log_softmax(s, -1),
        reduce=lambda cost, y: (cost * (y >= 0)).sum(-1) / (y >= 0).sum(-1).clamp(min=1),
    )
)
wrong(
    LOSS,
    "next_word",
    "Shifts the targets by one place, as if logits stood for the word after.",
    cause=r"moved by one|off by one: t\b",
)(lambda s, y, epsilon: loss()(s, following(y), epsilon))
wrong(LOSS, "smoothing_detached", "No gradient flows through the smoothing.", cause=r"gradient of s\b")(
    loss(lambda law, y, epsilon: -(1 - epsilon) * at(law, y) - epsilon * law.mean(-1).detach())
)


@right(LOSS)
def by_cross_entropy(s, y, epsilon):
    """torch's function without reduction, then the mean."""
    rows = hidden(s, y).flatten(0, -2)
    cost = F.cross_entropy(rows, y.flatten(), reduction="none", label_smoothing=epsilon)
    return mean(cost.reshape(y.shape), y)


@right(LOSS)
def by_shares(s, y, epsilon):
    """The product with the smoothed targets, written out."""
    q = (1 - epsilon) * F.one_hot(y.clamp(min=0), s.shape[-1]).to(s.dtype) + epsilon / s.shape[-1]
    return mean(-(q * log_law(s, y)).sum(-1), y)


@right(LOSS)
def by_log_sum_exp(s, y, epsilon):
    """ln Z less the smoothed target's mean logit, all relative to the largest."""
    s = hidden(s, y)
    s = s - s.amax(-1, keepdim=True).detach()
    return mean(s.logsumexp(-1) - (1 - epsilon) * at(s, y) - epsilon * s.mean(-1), y)


def member_by_member(one):
    """A loss that is ``one(logits, targets, ε)`` for each member of the batch."""

    def each(s, y, epsilon):
        members = zip(s.reshape(-1, *s.shape[-2:]), y.reshape(-1, y.shape[-1]), strict=True)
        return torch.stack([one(a, b, epsilon) for a, b in members]).reshape(y.shape[:-1])

    return each


@right(LOSS, via=member_by_member)
def only_what_is_asked(s, y, epsilon):
    """Takes the rows with a target out first, member by member."""
    inside = y >= 0
    return loss()(s[inside], y[inside], epsilon) if inside.any() else s[:0].sum()


right(LOSS, "torch_member_by_member", "torch's function with its mean, by member.", none_asked="unspecified")(
    member_by_member(lambda s, y, epsilon: F.cross_entropy(hidden(s, y), y, label_smoothing=epsilon))
)


def but_padding(share, sign=1.0, where=lambda y: y > 0):
    """Kullback-Leibler divergence from targets that are smoothed by ``share(V)`` of ε for each word that is no padding."""

    @member_by_member
    def loss(s, y, epsilon):
        law, asked = torch.log_softmax(s, -1), where(y)
        each = epsilon * share(s.shape[-1])
        q = torch.full_like(law, each).scatter(-1, y.clamp(min=0).unsqueeze(-1), 1 - epsilon)
        q = q * (torch.arange(s.shape[-1]) > 0)
        cost = (sign * torch.xlogy(q, q) - q * law).sum(-1)
        return torch.where(asked, cost, 0.0).sum() / asked.sum().clamp(min=1)

    return loss


KL = {"smoothing": "but_padding", "divergence": "kl"}
right(LOSS, "annotated", "The Annotated Transformer's: V − 2 words share ε.", **KL)(
    but_padding(lambda V: 1 / max(V - 2, 1))
)
wrong(
    LOSS,
    "padding_has_a_share",
    "ε over V − 1 words, of which padding's share is lost.",
    cause=r"V \+ 1 instead of V|V-1",
    **KL,
)(but_padding(lambda V: 1 / max(V - 1, 1)))
wrong(
    LOSS,
    "entropy_left",
    "The cross entropy, where the divergence is asked for.",
    cause="divergence=cross|off by a term|ln.* is not added",
    **KL,
)(but_padding(lambda V: 1 / max(V - 2, 1), sign=0.0))
wrong(LOSS, "padding_asked", "Padding as a target is asked for.", cause="0 ≤ y|word 0", **KL)(
    but_padding(lambda V: 1 / max(V - 2, 1), where=lambda y: y >= 0)
)


@right(LOSS, via=loss, smoothing="others")
def among_the_others(law, y, epsilon):
    """Shares ε among the V − 1 other words, as fairseq does."""
    each = epsilon / max(law.shape[-1] - 1, 1)
    return -(1 - epsilon - each) * at(law, y) - each * law.sum(-1)
