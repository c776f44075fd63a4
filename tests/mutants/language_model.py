"""Variants of ELMo's mix of layers and of the bidirectional objective: ``recurrent.elmo_mix`` and ``.bilm_objective``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

MIX, OBJECTIVE = "recurrent.elmo_mix", "recurrent.bilm_objective"


def mix(weights, layers=lambda h: h):
    """γ times the mean of the layers under ``weights(w)``."""
    return lambda h, w, gamma: gamma * (weights(w) @ layers(h))


def softmax(w):
    """The weights of the layers, right."""
    return torch.softmax(w, -1)


wrong(
    MIX,
    "weights_not_normalised",
    "Takes the weights without a softmax.",
    cause="reads w where a|not normalised|do not sum to 1",
)(mix(lambda w: w))
wrong(
    MIX,
    "scale_inside",
    "Multiplies by γ inside the softmax: a temperature.",
    cause=r"(γ|gamma)\S* .*(inside|exp\b|in a\b)",
)(lambda h, w, gamma: torch.softmax(gamma * w, -1) @ h)
wrong(MIX, "scale_forgotten", "Leaves γ out.", cause="gamma is ignored|not multiplied by γ")(
    lambda h, w, gamma: torch.softmax(w, -1) @ h
)
wrong(MIX, "scale_added", "Adds γ.", cause="(γ|gamma) is added")(
    lambda h, w, gamma: gamma + torch.softmax(w, -1) @ h
)
wrong(MIX, "mean_of_layers", "Weighs all layers alike.", cause=r"weights a\S* have no effect|\bw is ignored")(
    lambda h, w, gamma: gamma * h.mean(-2)
)
wrong(MIX, "top_layer", "Takes the top layer only.", cause=r"\bw is ignored: other|(top|last) layer")(
    lambda h, w, gamma: gamma * h[..., -1, :]
)
wrong(MIX, "embedding_left_out", "Mixes the layers above the first only.", cause="m leaves out the first")(
    lambda h, w, gamma: gamma * (torch.softmax(w, -1)[1:] @ h[..., 1:, :])
)
wrong(
    MIX,
    "softmax_over_features",
    "Normalises weighted features over their own axis, not the weights.",
    cause=r"wrong axis|over c\b",
)(lambda h, w, gamma: gamma * torch.softmax(w[:, None] * h, -1).sum(-2))
wrong(MIX, "weights_squared", "Applies the weights twice.", cause=r"\ba\S* (is|are) squared|do not sum to 1")(
    mix(lambda w: softmax(w) ** 2)
)
wrong(
    MIX, "divided_by_the_sum", "Normalises the weights by their sum, without exponentials.", cause=r"no exp\b"
)(mix(lambda w: w / w.sum()))
wrong(
    MIX,
    "gated",
    "Lets each layer in by a sigmoid of its weight: the weights do not sum to 1.",
    cause="is a sigmoid|do not sum to 1",
)(mix(torch.sigmoid))
wrong(
    MIX,
    "layers_from_the_top",
    "Counts the layers from the top.",
    cause=r"\bw is read from the end|\bh is read from the end along L",
)(mix(lambda w: softmax(w).flip(-1)))


wrong(
    MIX,
    "exponentials_unshifted",
    "Exponentiates the weights as they are: large ones overflow.",
    cause="overflow",
)(mix(lambda w: w.exp() / w.exp().sum()))


wrong(
    MIX,
    "standardised_first",
    "Standardises each layer first: an option of the paper, not its equation.",
    cause=r"\bh is (normalised|standardised)",
)(mix(softmax, lambda h: F.layer_norm(h, h.shape[-1:])))
wrong(
    MIX,
    "weights_detached",
    "No gradient reaches the weights of the layers.",
    cause=r"gradient reaches w\b|\ba is taken for a constant",
)(mix(lambda w: softmax(w).detach()))
right(MIX, "by_einsum", "One einsum, γ first.")(
    lambda h, w, gamma: torch.einsum("j,...jc->...c", gamma * torch.softmax(w, -1), h)
)


@right(MIX)
def layer_by_layer(h, w, gamma):
    """A loop over the layers, weights by the exponential of log-softmax."""
    a = torch.log_softmax(w, -1).exp()
    total = torch.zeros_like(h[..., 0, :])
    for j, layer in enumerate(h.unbind(-2)):
        total = total + a[j] * layer
    return gamma * total


@right(MIX)
def divided_last(h, w, gamma):
    """The quotient by the sum of the exponentials comes last."""
    a = (w - w.amax()).exp()
    return gamma * ((a[:, None] * h).sum(-2) / a.sum())


# The objective ------------------------------------------------------------------------------------------------------------


def at(values, ids):
    """The entry of each row at the word that stands there."""
    return values.gather(-1, ids[..., None])[..., 0]


def log_likelihood(ids, s):
    """Each position's term in one direction, right."""
    return at(torch.log_softmax(s, -1), ids)


def objective(term=log_likelihood, reduce=lambda terms: terms.sum(-1)):
    """The objective, right but for the term of a direction, or for what is made of the terms of both."""
    return lambda ids, s_f, s_b: reduce(term(ids, s_f) + term(ids, s_b))


wrong(OBJECTIVE, "mean_over_positions", "Takes the mean over the positions.", cause="mean over k|1/T times")(
    objective(reduce=lambda terms: terms.mean(-1))
)
wrong(OBJECTIVE, "as_a_loss", "Returns what is to be minimised: the negative.", cause="sign of J|-1 times")(
    objective(reduce=lambda terms: -terms.sum(-1))
)
wrong(OBJECTIVE, "halved", "Averages the two directions.", cause=r"J is halved|0\.5 times")(
    objective(reduce=lambda terms: terms.sum(-1) / 2)
)
wrong(
    OBJECTIVE, "forward_only", "Leaves the backward direction out.", cause=r"(backward|s_b)\S* is (not|ign)"
)(lambda ids, s_f, s_b: log_likelihood(ids, s_f).sum(-1))
wrong(
    OBJECTIVE,
    "summed_logits",
    "Adds the logits of both directions before one softmax.",
    cause=r"s_[fb]\S* is added",
)(lambda ids, s_f, s_b: log_likelihood(ids, s_f + s_b).sum(-1))
wrong(
    OBJECTIVE,
    "logarithm_of_the_softmax",
    "Takes logarithms of probabilities: −∞ where one underflows.",
    cause="logarithm is taken of a share",
)(objective(lambda ids, s: at(torch.softmax(s, -1), ids).log()))
wrong(
    OBJECTIVE, "logarithm_kept_finite", "Adds 10⁻⁹ to the probabilities before the logarithm.", cause="1e-0?9"
)(objective(lambda ids, s: (at(torch.softmax(s, -1), ids) + 1e-9).log()))
wrong(
    OBJECTIVE,
    "logarithm_of_a_plain_sum",
    "Exponentiates the logits as they are: large ones overflow.",
    cause="overflow",
)(objective(lambda ids, s: at(s, ids) - s.exp().sum(-1).log()))
wrong(
    OBJECTIVE, "probabilities", "Forgets the logarithm.", cause=r"no log\b|exponential of (forward|backward)"
)(objective(lambda ids, s: at(torch.softmax(s, -1), ids)))
wrong(
    OBJECTIVE,
    "scores_unnormalised",
    "Sums the logits of the words themselves.",
    cause="not subtracted in (forward|backward)",
)(objective(lambda ids, s: at(s, ids)))
wrong(
    OBJECTIVE,
    "softmax_over_positions",
    "Normalises over the positions instead of the vocabulary.",
    cause=r"wrong axis|sums over k\b",
)(objective(lambda ids, s: at(torch.log_softmax(s, -2), ids)))


@wrong(OBJECTIVE, cause=r"off by one: k\b|moved by one|next word")
def next_word(ids, s_f, s_b):
    """Holds the logits of each position against the next and the previous word, as if they were not aligned with it."""
    forward = log_likelihood(ids[..., 1:], s_f[..., :-1, :]).sum(-1)
    return forward + log_likelihood(ids[..., :-1], s_b[..., 1:, :]).sum(-1)


wrong(
    OBJECTIVE,
    "last_position_dropped",
    "Drops the last position, for want of a next word.",
    cause="J leaves out the last",
)(objective(reduce=lambda terms: terms[..., :-1].sum(-1)))
wrong(
    OBJECTIVE,
    "backward_reversed",
    "Takes the backward logits for those of the reversed sequence.",
    cause="s_b is read from the end along T",
)(lambda ids, s_f, s_b: objective()(ids, s_f, s_b.flip(-2)))
wrong(
    OBJECTIVE,
    "first_word_is_padding",
    "Ignores positions of word 0, taking it for padding.",
    cause=r"(word|id) 0|ids\S* (=|>) 0",
)(objective(lambda ids, s: torch.where(ids == 0, 0.0, log_likelihood(ids, s))))


wrong(
    OBJECTIVE,
    "summed_over_the_batch",
    "Returns the sum over the batch for each of its members.",
    cause="wrong in batches",
)(objective(reduce=lambda terms: terms.sum().expand(terms.shape[:-1]).clone()))


@right(OBJECTIVE)
def by_cross_entropy(ids, s_f, s_b):
    """Two cross-entropies, without reduction."""
    s = torch.stack([s_f, s_b])
    both = ids.expand(2, *ids.shape)
    lost = F.cross_entropy(s.reshape(-1, s.shape[-1]), both.reshape(-1), reduction="none")
    return -lost.reshape(both.shape).sum((0, -1))


@right(OBJECTIVE)
def by_log_sum_exp(ids, s_f, s_b):
    """The word's logit less the log-sum-exp of its row, both relative to the largest."""
    s = torch.stack([s_f, s_b])
    s = s - s.amax(-1, keepdim=True).detach()
    return (at(s, ids.expand(2, *ids.shape)) - s.logsumexp(-1)).sum((0, -1))


@right(OBJECTIVE)
def by_indicators(ids, s_f, s_b):
    """Products with one-hot rows."""
    hot = F.one_hot(ids, s_f.shape[-1]).to(s_f.dtype)
    return (hot * (torch.log_softmax(s_f, -1) + torch.log_softmax(s_b, -1))).sum((-2, -1))
