"""Variants of ELMo's mix of layers and of the bidirectional objective: ``recurrent.elmo_mix`` and ``.bilm_objective``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

MIX, OBJECTIVE = "recurrent.elmo_mix", "recurrent.bilm_objective"


@wrong(MIX)
def weights_not_normalised(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Takes the weights without a softmax."""
    return gamma * (w @ h)


@wrong(MIX)
def scale_inside(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Multiplies by γ inside the softmax: a temperature."""
    return torch.softmax(gamma * w, -1) @ h


@wrong(MIX)
def scale_forgotten(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Leaves γ out."""
    return torch.softmax(w, -1) @ h


@wrong(MIX)
def scale_added(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Adds γ."""
    return gamma + torch.softmax(w, -1) @ h


@wrong(MIX)
def mean_of_layers(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Weighs all layers alike."""
    return gamma * h.mean(-2)


@wrong(MIX)
def top_layer(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Takes the top layer only."""
    return gamma * h[..., -1, :]


@wrong(MIX)
def embedding_left_out(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Mixes the layers above the first only."""
    return gamma * (torch.softmax(w, -1)[1:] @ h[..., 1:, :])


@wrong(MIX)
def softmax_over_features(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Normalises weighted features over their own axis instead of the weights over the layers."""
    return gamma * torch.softmax(w[:, None] * h, -1).sum(-2)


@wrong(MIX)
def weights_squared(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Applies the weights twice."""
    return gamma * (torch.softmax(w, -1) ** 2 @ h)


@wrong(MIX)
def divided_by_the_sum(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Normalises the weights by their sum, without exponentials."""
    return gamma * (w / w.sum() @ h)


@wrong(MIX)
def gated(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Lets each layer in by a sigmoid of its weight: the weights do not sum to 1."""
    return gamma * (torch.sigmoid(w) @ h)


@wrong(MIX)
def layers_from_the_top(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Counts the layers from the top."""
    return gamma * (torch.softmax(w, -1).flip(-1) @ h)


@wrong(MIX)
def exponentials_unshifted(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Exponentiates the weights as they are: large ones overflow."""
    a = w.exp()
    return gamma * (a / a.sum() @ h)


@wrong(MIX)
def standardised_first(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """Standardises each layer first: an option of the paper, not its equation."""
    return gamma * (torch.softmax(w, -1) @ F.layer_norm(h, h.shape[-1:]))


@wrong(MIX)
def weights_detached(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """No gradient reaches the weights of the layers."""
    return gamma * (torch.softmax(w, -1).detach() @ h)


@right(MIX)
def by_einsum(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """One einsum, γ first."""
    return torch.einsum("j,...jc->...c", gamma * torch.softmax(w, -1), h)


@right(MIX)
def layer_by_layer(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """A loop over the layers, weights by the exponential of log-softmax."""
    a = torch.log_softmax(w, -1).exp()
    total = torch.zeros_like(h[..., 0, :])
    for j, layer in enumerate(h.unbind(-2)):
        total = total + a[j] * layer
    return gamma * total


@right(MIX)
def divided_last(h: Tensor, w: Tensor, gamma: Tensor) -> Tensor:
    """The quotient by the sum of the exponentials comes last."""
    a = (w - w.amax()).exp()
    return gamma * ((a[:, None] * h).sum(-2) / a.sum())


# The objective ------------------------------------------------------------------------------------------------------------


def at(values: Tensor, ids: Tensor) -> Tensor:
    """The entry of each row at the word that stands there."""
    return values.gather(-1, ids[..., None])[..., 0]


def log_likelihood(ids: Tensor, s: Tensor) -> Tensor:
    """Each position's term in one direction, right."""
    return at(torch.log_softmax(s, -1), ids)


@wrong(OBJECTIVE)
def mean_over_positions(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Takes the mean over the positions."""
    return (log_likelihood(ids, s_f) + log_likelihood(ids, s_b)).mean(-1)


@wrong(OBJECTIVE)
def as_a_loss(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Returns what is to be minimised: the negative."""
    return -(log_likelihood(ids, s_f) + log_likelihood(ids, s_b)).sum(-1)


@wrong(OBJECTIVE)
def halved(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Averages the two directions."""
    return (log_likelihood(ids, s_f) + log_likelihood(ids, s_b)).sum(-1) / 2


@wrong(OBJECTIVE)
def forward_only(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Leaves the backward direction out."""
    return log_likelihood(ids, s_f).sum(-1)


@wrong(OBJECTIVE)
def summed_logits(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Adds the logits of both directions before one softmax, as for a single prediction."""
    return log_likelihood(ids, s_f + s_b).sum(-1)


@wrong(OBJECTIVE)
def logarithm_of_the_softmax(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Takes logarithms of probabilities: −∞ where one underflows."""
    return (at(torch.softmax(s_f, -1), ids).log() + at(torch.softmax(s_b, -1), ids).log()).sum(-1)


@wrong(OBJECTIVE)
def logarithm_kept_finite(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Adds 10⁻⁹ to the probabilities before the logarithm."""
    p, q = at(torch.softmax(s_f, -1), ids), at(torch.softmax(s_b, -1), ids)
    return ((p + 1e-9).log() + (q + 1e-9).log()).sum(-1)


@wrong(OBJECTIVE)
def logarithm_of_a_plain_sum(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Exponentiates the logits as they are: large ones overflow."""
    return (at(s_f, ids) - s_f.exp().sum(-1).log() + at(s_b, ids) - s_b.exp().sum(-1).log()).sum(-1)


@wrong(OBJECTIVE)
def probabilities(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Forgets the logarithm."""
    return (at(torch.softmax(s_f, -1), ids) + at(torch.softmax(s_b, -1), ids)).sum(-1)


@wrong(OBJECTIVE)
def scores_unnormalised(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Sums the logits of the words themselves."""
    return (at(s_f, ids) + at(s_b, ids)).sum(-1)


@wrong(OBJECTIVE)
def softmax_over_positions(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Normalises over the positions instead of the vocabulary."""
    return (at(torch.log_softmax(s_f, -2), ids) + at(torch.log_softmax(s_b, -2), ids)).sum(-1)


@wrong(OBJECTIVE)
def next_word(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Holds the logits of each position against the next and the previous word, as if they were not aligned with it."""
    forward = log_likelihood(ids[..., 1:], s_f[..., :-1, :]).sum(-1)
    return forward + log_likelihood(ids[..., :-1], s_b[..., 1:, :]).sum(-1)


@wrong(OBJECTIVE)
def last_position_dropped(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Drops the last position, for want of a next word."""
    return (log_likelihood(ids, s_f) + log_likelihood(ids, s_b))[..., :-1].sum(-1)


@wrong(OBJECTIVE)
def backward_reversed(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Takes the backward logits for those of the reversed sequence."""
    return (log_likelihood(ids, s_f) + log_likelihood(ids, s_b.flip(-2))).sum(-1)


@wrong(OBJECTIVE)
def first_word_is_padding(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Ignores positions of word 0, taking it for padding."""
    terms = log_likelihood(ids, s_f) + log_likelihood(ids, s_b)
    return torch.where(ids == 0, 0.0, terms).sum(-1)


@wrong(OBJECTIVE)
def summed_over_the_batch(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Returns the sum over the batch for each of its members, as a cross-entropy with reduction does."""
    total = (log_likelihood(ids, s_f) + log_likelihood(ids, s_b)).sum()
    return total.expand(ids.shape[:-1]).clone()


@right(OBJECTIVE)
def by_cross_entropy(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Two cross-entropies, without reduction."""
    s = torch.stack([s_f, s_b])
    both = ids.expand(2, *ids.shape)
    lost = F.cross_entropy(s.reshape(-1, s.shape[-1]), both.reshape(-1), reduction="none")
    return -lost.reshape(both.shape).sum((0, -1))


@right(OBJECTIVE)
def by_log_sum_exp(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """The word's logit less the log-sum-exp of its row."""
    s = torch.stack([s_f, s_b])
    return (at(s, ids.expand(2, *ids.shape)) - s.logsumexp(-1)).sum((0, -1))


@right(OBJECTIVE)
def by_indicators(ids: Tensor, s_f: Tensor, s_b: Tensor) -> Tensor:
    """Products with one-hot rows."""
    hot = F.one_hot(ids, s_f.shape[-1]).to(s_f.dtype)
    return (hot * (torch.log_softmax(s_f, -1) + torch.log_softmax(s_b, -1))).sum((-2, -1))
