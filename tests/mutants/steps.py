"""Variants of ``attention.bahdanau_step`` and ``attention.luong_step``."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tests.mutants import right, wrong
from tests.mutants.attention import masked

BAHDANAU, LUONG = "attention.bahdanau_step", "attention.luong_step"


def over(eta, mask):
    """Weights over the permitted annotations."""
    return masked(eta[..., None, :], None if mask is None else mask[..., None, :])[..., 0, :]


def clean(h, mask):
    """Annotations with those not permitted set to 0."""
    return h if mask is None else torch.where(mask[..., None], h, 0.0)


def mixed(alpha, h):
    """The mean of the annotations under the weights."""
    return (alpha[..., None, :] @ h)[..., 0, :]


def linear(x, W):
    """W x."""
    return x @ W.mT


# Bahdanau -----------------------------------------------------------------------------------------------------------------


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

    def __post_init__(self):
        self.h = clean(self.annotations, self.mask)
        self.d = self.s.shape[-1]

    def hidden(self, s):
        """What the hidden units of the alignment get for a state, before their tanh."""
        return linear(s, self.W[:, : self.d])[..., None, :] + linear(self.h, self.W[:, self.d :])

    def aligned(self, s):
        """The alignment scores against a state."""
        return torch.tanh(self.hidden(s)) @ self.v

    def moved(self, c):
        """The next state before its tanh."""
        return linear(self.s, self.W_s) + linear(self.y, self.W_y) + linear(c, self.W_c)

    def returned(self, alpha):
        """What the step returns for these weights."""
        c = mixed(alpha, self.h)
        return torch.tanh(self.moved(c)), c, alpha


def bahdanau(
    alpha=None, eta=lambda x: x.aligned(x.s), returned=lambda x, alpha: x.returned(alpha), **changes
):
    """The step, right but for its weights (or their scores), what it returns for them, or inputs that are changed."""

    def step(*given):
        x = Bahdanau(*given)
        for name, change in changes.items():
            setattr(x, name, change(getattr(x, name)))
        return returned(x, over(eta(x), x.mask) if alpha is None else alpha(x))

    return step


def unpadded(x):
    """The scores, 0 where there is padding."""
    eta = x.aligned(x.s)
    return eta if x.mask is None else eta * x.mask


wrong(
    BAHDANAU,
    "new_state_aligns",
    "Moves first and aligns with the new state, as Luong does.",
    cause="reads s_next where|new state",
)(bahdanau(eta=lambda x: x.aligned(torch.tanh(linear(x.s, x.W_s) + linear(x.y, x.W_y)))))


@wrong(BAHDANAU, via=lambda step: bahdanau(eta=step), cause=r"\[h; s\]|pair reads|s and h are exch")
def annotation_first(x):
    """Applies W to [h; s] instead of [s; h]."""
    e = x.h.shape[-1]
    return torch.tanh(linear(x.s, x.W[:, e:])[..., None, :] + linear(x.h, x.W[:, :e])) @ x.v


wrong(
    BAHDANAU,
    "linear_alignment",
    "Forgets the alignment's tanh: the state then shifts all scores alike.",
    cause="hidden.* no (tanh|activation)",
)(bahdanau(eta=lambda x: x.hidden(x.s) @ x.v))


@wrong(BAHDANAU, cause="no effect on what is read")
def mean_context(*given):
    """Takes the plain mean of the annotations for the context."""
    x = Bahdanau(*given)
    alpha = over(x.aligned(x.s), x.mask)
    c = mixed(over(torch.zeros_like(alpha), x.mask), x.h)
    return torch.tanh(x.moved(c)), c, alpha


wrong(BAHDANAU, "no_softmax", "Weighs by the scores themselves.", cause="no (softmax|exp)|(η|eta) where")(
    bahdanau(unpadded)
)
wrong(BAHDANAU, "mask_ignored", "Attends to padding.", cause="mask is ignored|must not read")(
    lambda *given: bahdanau()(*given[:8])
)
wrong(
    BAHDANAU, "mask_zeroes_scores", "Sets the scores of padding to 0 before the softmax.", cause=r"exp\(0\)"
)(bahdanau(lambda x: over(unpadded(x), None)))
wrong(
    BAHDANAU, "word_ignored", "Does not read the previous word.", cause=r"(\b|_)y\S* .*(ignored|not added)"
)(bahdanau(y=torch.zeros_like))
wrong(BAHDANAU, "linear_state", "Forgets the tanh of the state.", cause="s_next has no tanh")(
    bahdanau(returned=lambda x, alpha: (x.moved(mixed(alpha, x.h)), mixed(alpha, x.h), alpha))
)
wrong(
    BAHDANAU,
    "transposed_recurrence",
    "W_sᵀ s instead of W_s s: the shapes do not tell.",
    cause=r"W_s is .*transp|W_s\[l,b",
)(bahdanau(W_s=lambda W: W.mT))
wrong(
    BAHDANAU,
    "weights_detached",
    "The context passes no gradient to the alignment.",
    cause=r"^a\w* .*const",
)(bahdanau(returned=lambda x, alpha: (*x.returned(alpha.detach())[:2], alpha)))
_KEPT = {}


@wrong(BAHDANAU, cause="kept from call to call|not the same from call")
def projected_once(*given):
    """Projects the annotations once a sentence and knows it by its tensor, which may have been written to since."""
    x = Bahdanau(*given)
    if _KEPT.get("h") is not x.annotations:
        _KEPT.update(h=x.annotations, keys=linear(x.h, x.W[:, x.d :]))
    scores = torch.tanh(linear(x.s, x.W[:, : x.d])[..., None, :] + _KEPT["keys"]) @ x.v
    return x.returned(over(scores, x.mask))


@right(BAHDANAU)
def concatenated(*given):
    """W applied to [s; h_j], row by row; one product for the state."""
    x = Bahdanau(*given)
    pairs = torch.cat([x.s[..., None, :].expand(*x.h.shape[:-1], x.d), x.h], -1)
    alpha = over(torch.tanh(linear(pairs, x.W)) @ x.v, x.mask)
    c = (alpha[..., None] * x.h).sum(-2)
    state = linear(torch.cat([x.s, x.y, c], -1), torch.cat([x.W_s, x.W_y, x.W_c], -1))
    return torch.tanh(state), c, alpha


right(BAHDANAU, "in_parts", "W split in a part for the state and one for the annotations.")(bahdanau())

# Luong --------------------------------------------------------------------------------------------------------------------


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

    def __post_init__(self):
        self.h = clean(self.annotations, self.mask)
        self.state = torch.tanh(linear(self.s, self.W_s) + linear(self.y, self.W_y))

    def scores(self, state):
        """The dot products of a state with the annotations."""
        return (self.h @ state[..., None])[..., 0]

    def output(self, c):
        """h̃ before its tanh."""
        return linear(torch.cat([c, self.state], -1), self.W_c)


def luong(
    eta=lambda x: x.scores(x.state),
    alpha=over,
    context=lambda x, alpha: mixed(alpha, x.h),
    squash=torch.tanh,
    law=lambda logits: torch.softmax(logits, -1),
    returned=lambda state, h_tilde, law, alpha: (state, h_tilde, law, alpha),
):
    """The step, right but for what is given."""

    def step(*given):
        x = Luong(*given)
        weights = alpha(eta(x), x.mask)
        h_tilde = squash(x.output(context(x, weights)))
        return returned(x.state, h_tilde, law(linear(h_tilde, x.W_o)), weights)

    return step


def turned(W_c, d):
    """Its two parts exchanged."""
    return torch.cat([W_c[:, d:], W_c[:, :d]], -1)


wrong(
    LUONG,
    "old_state_aligns",
    "Aligns with the state before the step, as Bahdanau does.",
    cause="reads s where s_next",
)(luong(lambda x: x.scores(x.s)))
wrong(
    LUONG,
    "state_first",
    "Concatenates [s; c] where [c; s] is meant.",
    cause=r"s_next where c\b|c where s_next|(c and s_next|s_next and c)\b",
)(lambda *given: luong()(*given[:5], turned(given[5], given[0].shape[-1]), *given[6:]))
wrong(LUONG, "scaled_scores", "Divides the scores by √d.", cause=r"belong: (s|η|eta)\b.*divided by √")(
    luong(lambda x: x.scores(x.state) / math.sqrt(x.s.shape[-1]))
)
wrong(
    LUONG,
    "no_context",
    "The last annotation for the context: the decoder without attention.",
    cause=r"\bc\b.*last|last annotation|no effect on what is",
)(luong(context=lambda x, alpha: x.h[..., -1, :].expand(x.state.shape)))
wrong(LUONG, "linear_output", "Forgets the tanh after W_c.", cause="h_tilde has no tanh")(
    luong(squash=lambda z: z)
)
wrong(LUONG, "logits", "Returns logits where probabilities are promised.", cause=r"P reads o\b|no softmax")(
    luong(law=lambda logits: logits)
)
wrong(LUONG, "log_probabilities", "Returns log-probabilities.", cause="logarithm of P is")(
    luong(law=lambda logits: torch.log_softmax(logits, -1))
)
wrong(LUONG, "padding_attended", "Attends to padding.", cause="mask is ignored|must not read")(
    lambda *given: luong()(*given[:7])
)
wrong(
    LUONG,
    "zeros_for_padding",
    "Zeroes the annotations of padding, and lets the softmax run over all: e⁰.",
    cause=r"exp\(0\)",
)(luong(alpha=lambda eta, mask: over(eta, None)))
wrong(LUONG, "word_unread", "Does not read the previous word.", cause=r"(\b|_)y\S* .*(ignored|not added)")(
    lambda *given: luong()(given[0], torch.zeros_like(given[1]), *given[2:])
)
wrong(
    LUONG,
    "output_for_state",
    "Returns h̃ as the state, too (input feeding misread).",
    cause="s_next .*h_tilde|h_tilde .*s_next",
)(luong(returned=lambda state, h_tilde, law, alpha: (h_tilde, h_tilde.clone(), law, alpha)))
right(LUONG, "in_seven_steps", "Step by step.")(luong())


@right(LUONG)
def split_weights(*given):
    """W_c split in a part for the context and one for the state; softmax by logsumexp."""
    x, d = Luong(*given), given[0].shape[-1]
    state = torch.tanh(linear(torch.cat([x.s, x.y], -1), torch.cat([x.W_s, x.W_y], -1)))
    alpha = over((x.h * state[..., None, :]).sum(-1), x.mask)
    c = (alpha[..., None] * x.h).sum(-2)
    h_tilde = torch.tanh(linear(c, x.W_c[:, :d]) + linear(state, x.W_c[:, d:]))
    return state, h_tilde, torch.log_softmax(linear(h_tilde, x.W_o), -1).exp(), alpha
