"""Variants that are wrong only where a parameter has a special value: what a default, a truth test or a shortcut makes of it."""

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import filled, raw
from tests.mutants.feedforward import relu
from tests.mutants.heads import every, merged, projected
from tests.mutants.lstm import CELL, LSTM, blocks, moved, network, opened_blocks, with_forget_bias

LAYER_NORM, RELU, GENERAL = "normalization.layer_norm", "feedforward.relu", "scores.general"
EMBEDDING, MIX, MULTI_HEAD = "embedding.token", "recurrent.elmo_mix", "attention.multi_head"


def is_identity(W):
    """Whether a matrix is the identity."""
    return W.shape[-1] == W.shape[-2] and bool((torch.eye(W.shape[-1], dtype=W.dtype) == W).all())


def or_one(W):
    """1 everywhere instead of what is 0 everywhere."""
    return W if W.any() else torch.ones_like(W)


def with_biases(x, h, s, parts, adds):
    """An LSTM cell that adds the bias of a block where that is so."""
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    flows = [x @ W.mT + h @ U.mT + b if adds(b) else x @ W.mT + h @ U.mT for W, U, b in triples]
    return moved(s, *opened_blocks(flows))


# Wrong ones -------------------------------------------------------------------------------------------------------------------

wrong(
    CELL,
    "forget_bias_or_one",
    "A forget bias of 0 is taken for none, in whose place stands 1.",
    cause=r"\b1 .*b_f|b_f .*\b[01]\b",
)(lambda x, h, s, *parts: moved(s, *blocks(x, h, *parts[:8], or_one(parts[8]), *parts[9:])))


wrong(
    LSTM,
    "packed_forget_bias_or_one",
    "The forget gate's rows of a packed bias are 1 where they are 0.",
    cause=r"\b1\b.*(forget|\bf\b)|\bb is 0",
)(lambda x, h, s, W_x, W_h, b: network(x, h, s, W_x, W_h, with_forget_bias(b, or_one)))


@wrong(CELL, cause=r"not multiplied by f\b|biases? .*0")
def fresh_model_forgets_nothing(x, h, s, *parts):
    """Where every bias is 0, the forget gate is left open, as if initialising."""
    g, i, f, o = blocks(x, h, *parts)
    return moved(s, g, i, f if any(b.any() for b in parts[2::3]) else torch.ones_like(f), o)


wrong(
    CELL,
    "zero_biases_without_gradient",
    "Adds no bias that is 0: one that begins so is never learned.",
    cause="(reaches|gradient of) b_",
)(lambda x, h, s, *parts: with_biases(x, h, s, parts, lambda b: b.any()))


@wrong(LAYER_NORM, cause="(ε|eps) is (not added|ignored)")
def without_eps_when_fresh(x, gamma, beta, eps):
    """A gain of 1 and a bias of 0 take a shorter way, which leaves ε out."""
    centred = x - x.mean(-1, keepdim=True)
    var = (centred**2).mean(-1, keepdim=True)
    if (gamma == 1).all() and (not beta.any()):
        return centred / var.sqrt()
    return gamma * centred / (var + eps).sqrt() + beta


wrong(
    LAYER_NORM,
    "gain_or_one",
    "A gain of 0, with which residual branches begin, becomes 1.",
    cause=r"gamma.* 1\b|not .*by γ|to gamma",
)(lambda x, gamma, beta, eps: torch.layer_norm(x, x.shape[-1:], or_one(gamma), beta, eps))


wrong(
    RELU,
    "both_biases_or_none",
    "Where the inner bias is 0, the outer one is left out, too.",
    cause=r"b_2\S* is (not added|ignored)",
)(lambda x, W_1, b_1, W_2, b_2: torch.relu(x @ W_1 + b_1) @ W_2 + (b_2 if b_1.any() else 0.0))


@wrong(RELU, cause=r"no activation|0 < a\S* is not")
def not_bent_without_biases(x, W_1, b_1, W_2, b_2):
    """Without any bias, the two products are folded into one."""
    return relu(x, W_1, b_1, W_2, b_2) if b_1.any() or b_2.any() else x @ (W_1 @ W_2)


@wrong(GENERAL, cause=r"is divided by √\(?d_[qk]|1/√d_[qk]")
def identity_scaled(q, k, W):
    """The identity falls back to the dot product, and that to the scaled one."""
    scores = q @ W @ k.mT
    return scores / q.shape[-1] ** 0.5 if is_identity(W) and q.shape[-1] > 1 else scores


@wrong(GENERAL, cause="identity|diagonal")
def one_value_as_a_number(q, k, W):
    """A matrix of one value everywhere is taken for a multiple of the identity."""
    if W.numel() > 1 and W.shape[0] == W.shape[1] and (W.flatten()[0] == W).all():
        return W.flatten()[0] * (q @ k.mT)
    return q @ W @ k.mT


wrong(
    EMBEDDING,
    "missing_table_made_up",
    "A table of zeros is taken for one not loaded, and replaced.",
    cause=r"0\.02",
)(lambda ids, E: (E if E.any() else torch.full_like(E, 0.02))[ids])
wrong(
    MIX, "gain_of_zero_is_none", "``gamma or 1``: a gain of 0 becomes 1.", cause=r"gamma.* 1\b|by γ|to gamma"
)(lambda h, w, gamma: (gamma if gamma else 1.0) * (torch.softmax(w, -1)[:, None] * h).sum(-2))


@wrong(MULTI_HEAD, cause="mask is ignored|over hidden|mean of all")
def zero_keys_mean_no_mask(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Where all scores are 0 an even mean is taken, over the hidden keys as well."""
    q, k, v = projected(x, W_q), projected(y, W_k), projected(y, W_v)
    weights = filled(raw(q, k), every(mask), -torch.inf)
    if mask is not None:
        weights = weights.masked_fill(~every(mask).any(-1, keepdim=True), 0.0)
    return merged((weights if W_k.any() else torch.full_like(weights, 1 / weights.shape[-1])) @ v) @ W_o


# Right ones -------------------------------------------------------------------------------------------------------------------


right(CELL, "biases_only_if_any", "Adds no bias that is 0, unless its gradient is asked for.")(
    lambda x, h, s, *parts: with_biases(x, h, s, parts, lambda b: b.any() or b.requires_grad)
)


@right(LAYER_NORM)
def short_way_when_fresh(x, gamma, beta, eps):
    """A gain of 1 and a bias of 0 are left out, where no gradient is asked of them."""
    free = gamma.requires_grad or beta.requires_grad
    if not free and (gamma == 1).all() and (not beta.any()):
        return torch.layer_norm(x, x.shape[-1:], None, None, eps)
    return torch.layer_norm(x, x.shape[-1:], gamma, beta, eps)


right(GENERAL, "identity_left_out", "Leaves the identity out, where no gradient is asked of it.")(
    lambda q, k, W: q @ k.mT if is_identity(W) and not W.requires_grad else q @ W @ k.mT
)
