"""Variants of ``attention.bahdanau_step`` and ``attention.luong_step``."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import masked

BAHDANAU, LUONG = "attention.bahdanau_step", "attention.luong_step"


def over(eta: Tensor, mask: Tensor | None) -> Tensor:
    """Weights over the permitted annotations."""
    return masked(eta[..., None, :], None if mask is None else mask[..., None, :])[..., 0, :]


def clean(h: Tensor, mask: Tensor | None) -> Tensor:
    """Annotations with those not permitted set to 0."""
    return h if mask is None else torch.where(mask[..., None], h, 0.0)


def mixed(alpha: Tensor, h: Tensor) -> Tensor:
    """The mean of the annotations under the weights."""
    return (alpha[..., None, :] @ h)[..., 0, :]


def linear(x: Tensor, W: Tensor) -> Tensor:
    """W x."""
    return x @ W.mT


# Bahdanau -----------------------------------------------------------------------------------------------------------------

Three = tuple[Tensor, Tensor, Tensor]


@dataclass
class Bahdanau:
    """The inputs of the step, and its parts, right."""

    s: Tensor
    y: Tensor
    annotations: Tensor
    W: Tensor
    v: Tensor
    W_s: Tensor
    W_y: Tensor
    W_c: Tensor
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        self.h = clean(self.annotations, self.mask)
        self.d = self.s.shape[-1]

    def aligned(self, s: Tensor) -> Tensor:
        """The alignment scores against a state."""
        return (
            torch.tanh(linear(s, self.W[:, : self.d])[..., None, :] + linear(self.h, self.W[:, self.d :]))
            @ self.v
        )

    def moved(self, c: Tensor) -> Tensor:
        """The next state before its tanh."""
        return linear(self.s, self.W_s) + linear(self.y, self.W_y) + linear(c, self.W_c)

    def returned(self, alpha: Tensor) -> Three:
        """What the step returns for these weights."""
        c = mixed(alpha, self.h)
        return torch.tanh(self.moved(c)), c, alpha


@wrong(BAHDANAU)
def new_state_aligns(*given: Tensor) -> Three:
    """Moves first and aligns with the new state, as Luong does."""
    x = Bahdanau(*given)
    early = torch.tanh(linear(x.s, x.W_s) + linear(x.y, x.W_y))
    return x.returned(over(x.aligned(early), x.mask))


@wrong(BAHDANAU)
def annotation_first(*given: Tensor) -> Three:
    """Applies W to [h; s] instead of [s; h]."""
    x = Bahdanau(*given)
    e = x.h.shape[-1]
    hidden = torch.tanh(linear(x.s, x.W[:, e:])[..., None, :] + linear(x.h, x.W[:, :e]))
    return x.returned(over(hidden @ x.v, x.mask))


@wrong(BAHDANAU)
def linear_alignment(*given: Tensor) -> Three:
    """Forgets the tanh of the alignment: the state then shifts all scores alike and has no say."""
    x = Bahdanau(*given)
    hidden = linear(x.s, x.W[:, : x.d])[..., None, :] + linear(x.h, x.W[:, x.d :])
    return x.returned(over(hidden @ x.v, x.mask))


@wrong(BAHDANAU)
def mean_context(*given: Tensor) -> Three:
    """Takes the plain mean of the annotations for the context."""
    x = Bahdanau(*given)
    alpha = over(x.aligned(x.s), x.mask)
    c = mixed(over(torch.zeros_like(alpha), x.mask), x.h)
    return torch.tanh(x.moved(c)), c, alpha


@wrong(BAHDANAU)
def no_softmax(*given: Tensor) -> Three:
    """Weighs by the scores themselves."""
    x = Bahdanau(*given)
    eta = x.aligned(x.s)
    return x.returned(eta if x.mask is None else eta * x.mask)


@wrong(BAHDANAU)
def mask_ignored(*given: Tensor) -> Three:
    """Attends to padding."""
    x = Bahdanau(*given[:8])
    return x.returned(over(x.aligned(x.s), None))


@wrong(BAHDANAU)
def mask_zeroes_scores(*given: Tensor) -> Three:
    """Sets the scores of padding to 0 before the softmax."""
    x = Bahdanau(*given)
    eta = x.aligned(x.s)
    return x.returned(over(eta if x.mask is None else eta * x.mask, None))


@wrong(BAHDANAU)
def word_ignored(*given: Tensor) -> Three:
    """Does not read the previous word."""
    x = Bahdanau(*given)
    x.y = torch.zeros_like(x.y)
    return x.returned(over(x.aligned(x.s), x.mask))


@wrong(BAHDANAU)
def linear_state(*given: Tensor) -> Three:
    """Forgets the tanh of the state."""
    x = Bahdanau(*given)
    _, c, alpha = x.returned(over(x.aligned(x.s), x.mask))
    return x.moved(c), c, alpha


@wrong(BAHDANAU)
def transposed_recurrence(*given: Tensor) -> Three:
    """W_sᵀ s instead of W_s s: the shapes do not tell."""
    x = Bahdanau(*given)
    x.W_s = x.W_s.mT
    return x.returned(over(x.aligned(x.s), x.mask))


@wrong(BAHDANAU)
def weights_detached(*given: Tensor) -> Three:
    """The context passes no gradient to the alignment."""
    x = Bahdanau(*given)
    alpha = over(x.aligned(x.s), x.mask)
    state, c, _ = x.returned(alpha.detach())
    return state, c, alpha


_KEPT: dict[str, Tensor] = {}


@wrong(BAHDANAU)
def projected_once(*given: Tensor) -> Three:
    """Projects the annotations once a sentence and knows it by its tensor, which may have been written to since."""
    x = Bahdanau(*given)
    if _KEPT.get("h") is not x.annotations:
        _KEPT.update(h=x.annotations, keys=linear(x.h, x.W[:, x.d :]))
    scores = torch.tanh(linear(x.s, x.W[:, : x.d])[..., None, :] + _KEPT["keys"]) @ x.v
    return x.returned(over(scores, x.mask))


@right(BAHDANAU)
def concatenated(*given: Tensor) -> Three:
    """W applied to [s; h_j], row by row; one product for the state."""
    x = Bahdanau(*given)
    pairs = torch.cat([x.s[..., None, :].expand(*x.h.shape[:-1], x.d), x.h], -1)
    alpha = over(torch.tanh(linear(pairs, x.W)) @ x.v, x.mask)
    c = (alpha[..., None] * x.h).sum(-2)
    state = linear(torch.cat([x.s, x.y, c], -1), torch.cat([x.W_s, x.W_y, x.W_c], -1))
    return torch.tanh(state), c, alpha


@right(BAHDANAU)
def in_parts(*given: Tensor) -> Three:
    """W split in a part for the state and one for the annotations."""
    x = Bahdanau(*given)
    return x.returned(over(x.aligned(x.s), x.mask))


# Luong --------------------------------------------------------------------------------------------------------------------

Four = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass
class Luong:
    """The inputs of the step, and its parts, right."""

    s: Tensor
    y: Tensor
    annotations: Tensor
    W_s: Tensor
    W_y: Tensor
    W_c: Tensor
    W_o: Tensor
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        self.h = clean(self.annotations, self.mask)
        self.state = torch.tanh(linear(self.s, self.W_s) + linear(self.y, self.W_y))

    def scores(self, state: Tensor) -> Tensor:
        """The dot products of a state with the annotations."""
        return (self.h @ state[..., None])[..., 0]

    def output(self, c: Tensor) -> Tensor:
        """h̃ before its tanh."""
        return linear(torch.cat([c, self.state], -1), self.W_c)

    def returned(self, alpha: Tensor, c: Tensor | None = None) -> Four:
        """What the step returns for these weights (and this context)."""
        h_tilde = torch.tanh(self.output(mixed(alpha, self.h) if c is None else c))
        return self.state, h_tilde, torch.softmax(linear(h_tilde, self.W_o), -1), alpha


@wrong(LUONG)
def old_state_aligns(*given: Tensor) -> Four:
    """Aligns with the state before the step, as Bahdanau does."""
    x = Luong(*given)
    return x.returned(over(x.scores(x.s), x.mask))


@wrong(LUONG)
def state_first(*given: Tensor) -> Four:
    """Concatenates [s; c] where [c; s] is meant."""
    x = Luong(*given)
    d = x.s.shape[-1]
    x.W_c = torch.cat([x.W_c[:, d:], x.W_c[:, :d]], -1)
    return x.returned(over(x.scores(x.state), x.mask))


@wrong(LUONG)
def scaled_scores(*given: Tensor) -> Four:
    """Divides the scores by √d."""
    x = Luong(*given)
    return x.returned(over(x.scores(x.state) / math.sqrt(x.s.shape[-1]), x.mask))


@wrong(LUONG)
def no_context(*given: Tensor) -> Four:
    """The last annotation for the context: the decoder without attention."""
    x = Luong(*given)
    return x.returned(over(x.scores(x.state), x.mask), x.h[..., -1, :].expand(x.state.shape))


@wrong(LUONG)
def linear_output(*given: Tensor) -> Four:
    """Forgets the tanh after W_c."""
    x = Luong(*given)
    alpha = over(x.scores(x.state), x.mask)
    h_tilde = x.output(mixed(alpha, x.h))
    return x.state, h_tilde, torch.softmax(linear(h_tilde, x.W_o), -1), alpha


@wrong(LUONG)
def logits(*given: Tensor) -> Four:
    """Returns logits where probabilities are promised."""
    x = Luong(*given)
    state, h_tilde, _, alpha = x.returned(over(x.scores(x.state), x.mask))
    return state, h_tilde, linear(h_tilde, x.W_o), alpha


@wrong(LUONG)
def log_probabilities(*given: Tensor) -> Four:
    """Returns log-probabilities."""
    x = Luong(*given)
    state, h_tilde, _, alpha = x.returned(over(x.scores(x.state), x.mask))
    return state, h_tilde, torch.log_softmax(linear(h_tilde, x.W_o), -1), alpha


@wrong(LUONG)
def padding_attended(*given: Tensor) -> Four:
    """Attends to padding."""
    x = Luong(*given[:7])
    return x.returned(over(x.scores(x.state), None))


@wrong(LUONG)
def zeros_for_padding(*given: Tensor) -> Four:
    """Zeroes the annotations of padding and lets the softmax run over all: padding gets e⁰."""
    x = Luong(*given)
    return x.returned(over(x.scores(x.state), None))


@wrong(LUONG)
def word_unread(*given: Tensor) -> Four:
    """Does not read the previous word."""
    s, y, *rest = given
    x = Luong(s, torch.zeros_like(y), *rest)
    return x.returned(over(x.scores(x.state), x.mask))


@wrong(LUONG)
def output_for_state(*given: Tensor) -> Four:
    """Returns h̃ as the state, too (input feeding misread)."""
    x = Luong(*given)
    _, h_tilde, words, alpha = x.returned(over(x.scores(x.state), x.mask))
    return h_tilde, h_tilde.clone(), words, alpha


@right(LUONG)
def in_seven_steps(*given: Tensor) -> Four:
    """Step by step."""
    x = Luong(*given)
    return x.returned(over(x.scores(x.state), x.mask))


@right(LUONG)
def split_weights(*given: Tensor) -> Four:
    """W_c split in a part for the context and one for the state; softmax by logsumexp."""
    x = Luong(*given)
    d = x.s.shape[-1]
    state = torch.tanh(linear(torch.cat([x.s, x.y], -1), torch.cat([x.W_s, x.W_y], -1)))
    alpha = over((x.h * state[..., None, :]).sum(-1), x.mask)
    c = (alpha[..., None] * x.h).sum(-2)
    h_tilde = torch.tanh(linear(c, x.W_c[:, :d]) + linear(state, x.W_c[:, d:]))
    return state, h_tilde, torch.log_softmax(linear(h_tilde, x.W_o), -1).exp(), alpha
