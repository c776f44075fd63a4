"""Variants that are wrong only where a parameter has a special value: what a default, a truth test or a shortcut makes of it."""

import torch

from tests.mutants import right, wrong
from tests.mutants.lstm import CELL, LSTM, blocks, ended, moved, run, stepping

LAYER_NORM, RELU, GENERAL = "normalization.layer_norm", "feedforward.relu", "scores.general"
EMBEDDING, MIX, MULTI_HEAD = "embedding.token", "recurrent.elmo_mix", "attention.multi_head"


def is_identity(W):
    """Whether a matrix is the identity."""
    return W.shape[-1] == W.shape[-2] and bool((torch.eye(W.shape[-1], dtype=W.dtype) == W).all())


def _flow(x, h, weights, adds):
    W, U, b = weights
    return x @ W.mT + h @ U.mT + b if adds else x @ W.mT + h @ U.mT


def _opened(g, i, f, o):
    return torch.tanh(g), torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)


def _shares(scores, mask):
    if mask is None:
        return torch.softmax(scores, -1)
    mask = mask.unsqueeze(-3)
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


# Wrong ones -------------------------------------------------------------------------------------------------------------------

wrong(CELL, "forget_bias_or_one", "A forget bias of 0 is taken for none, in whose place stands 1.")(
    lambda x, h, s, *parts: moved(
        s, *blocks(x, h, *parts[:8], parts[8] if parts[8].any() else torch.ones_like(parts[8]), *parts[9:])
    )
)


@wrong(LSTM)
def packed_forget_bias_or_one(x, h, s, W_x, W_h, b):
    """The forget gate's rows of a packed bias are set to 1 where they are 0."""
    i, f, g, o = b.chunk(4)
    f = f if f.any() else torch.ones_like(f)
    return ended(run(x, h, s, stepping(W_x, W_h, torch.cat([i, f, g, o]))))


@wrong(CELL)
def fresh_model_forgets_nothing(x, h, s, *parts):
    """Where every bias is 0, the forget gate is left open, as if initialising."""
    g, i, f, o = blocks(x, h, *parts)
    return moved(s, g, i, f if any(b.any() for b in parts[2::3]) else torch.ones_like(f), o)


@wrong(CELL)
def zero_biases_without_gradient(x, h, s, *parts):
    """Adds a bias only where one of its entries is not 0: one that begins at 0 is never learned."""
    return moved(
        s, *_opened(*(_flow(x, h, parts[k : k + 3], bool(parts[k + 2].any())) for k in range(0, 12, 3)))
    )


@wrong(LAYER_NORM)
def without_eps_when_fresh(x, gamma, beta, eps):
    """A gain of 1 and a bias of 0 take a shorter way, which leaves ε out."""
    centred = x - x.mean(-1, keepdim=True)
    var = (centred**2).mean(-1, keepdim=True)
    if (gamma == 1).all() and (not beta.any()):
        return centred / var.sqrt()
    return gamma * centred / (var + eps).sqrt() + beta


wrong(LAYER_NORM, "gain_or_one", "A gain of 0, with which residual branches begin, becomes 1.")(
    lambda x, gamma, beta, eps: torch.layer_norm(
        x, x.shape[-1:], gamma if gamma.any() else torch.ones_like(gamma), beta, eps
    )
)


@wrong(RELU)
def both_biases_or_none(x, W_1, b_1, W_2, b_2):
    """Where the inner bias is 0, the outer one is left out, too."""
    inner = torch.relu(x @ W_1 + b_1)
    return inner @ W_2 + b_2 if b_1.any() else inner @ W_2


wrong(RELU, "not_bent_without_biases", "Without any bias, the two products are folded into one.")(
    lambda x, W_1, b_1, W_2, b_2: (
        x @ (W_1 @ W_2) if not b_1.any() and (not b_2.any()) else torch.relu(x @ W_1 + b_1) @ W_2 + b_2
    )
)


@wrong(GENERAL)
def identity_scaled(q, k, W):
    """The identity falls back to the dot product, and that to the scaled one."""
    scores = q @ W @ k.mT
    return scores / q.shape[-1] ** 0.5 if is_identity(W) and q.shape[-1] > 1 else scores


@wrong(GENERAL)
def one_value_as_a_number(q, k, W):
    """A matrix of one value everywhere is taken for a multiple of the identity."""
    if W.numel() > 1 and W.shape[0] == W.shape[1] and (W.flatten()[0] == W).all():
        return W.flatten()[0] * (q @ k.mT)
    return q @ W @ k.mT


wrong(
    EMBEDDING, "missing_table_made_up", "A table of zeros is taken for one that was not loaded, and replaced."
)(lambda ids, E: (E if E.any() else torch.full_like(E, 0.02))[ids])
wrong(MIX, "gain_of_zero_is_none", "``gamma or 1``: a gain of 0 becomes 1.")(
    lambda h, w, gamma: (gamma if gamma else 1.0) * (torch.softmax(w, -1)[:, None] * h).sum(-2)
)


@wrong(MULTI_HEAD)
def zero_keys_mean_no_mask(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Where all scores are 0 an even mean is taken, over the hidden keys as well."""
    q, k, v = (part.unsqueeze(-3) @ W for part, W in ((x, W_q), (y, W_k), (y, W_v)))
    weights = _shares(q @ k.mT / W_q.shape[-1] ** 0.5, mask)
    if not W_k.any():
        weights = torch.full_like(weights, 1 / weights.shape[-1])
    return (weights @ v).transpose(-3, -2).flatten(-2) @ W_o


# Right ones -------------------------------------------------------------------------------------------------------------------


@right(CELL)
def biases_only_if_any(x, h, s, *parts):
    """Adds a bias only where one of its entries is not 0, or where its gradient is asked for."""
    adds = [bool(b.any()) or b.requires_grad for b in parts[2::3]]
    return moved(s, *_opened(*(_flow(x, h, parts[3 * k : 3 * k + 3], adds[k]) for k in range(4))))


@right(LAYER_NORM)
def short_way_when_fresh(x, gamma, beta, eps):
    """A gain of 1 and a bias of 0 are left out, where no gradient is asked of them."""
    free = gamma.requires_grad or beta.requires_grad
    if not free and (gamma == 1).all() and (not beta.any()):
        return torch.layer_norm(x, x.shape[-1:], None, None, eps)
    return torch.layer_norm(x, x.shape[-1:], gamma, beta, eps)


right(
    GENERAL,
    "identity_left_out",
    "The product with the identity is left out, where no gradient is asked of it.",
)(lambda q, k, W: q @ k.mT if is_identity(W) and (not W.requires_grad) else q @ W @ k.mT)
