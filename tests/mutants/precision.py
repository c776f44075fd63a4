"""Variants that hold something on the way in a coarser type than their inputs have, and careful ones in the same types.

A coarse line shows at the sizes of real models, where the rigorous bound lets it through, by the accuracy it costs.
"""

import math
from functools import partial

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import raw
from tests.mutants.gru import stepped
from tests.mutants.recurrent import inflow, words

SCORES, SOFTMAX, ATTENTION = "scores.scaled_dot", "attention.softmax", "attention.scaled_dot_product"
LAYER_NORM, RMS_NORM = "normalization.layer_norm", "normalization.rms_norm"
RNN, GRU, LSTM = "recurrent.rnn", "recurrent.gru", "recurrent.lstm"
SINGLE, SHORT = ("float32",), ("bfloat16",)
imprecise = partial(wrong, dtypes=SINGLE)
"""Register a variant that is wrong by the digits that it loses, in float32."""
MANY = 128
"""From how many terms on a variant takes its fast path."""
LONG, WIDE = 100, 8
"""After how many steps, of states of how many entries, it does."""


class Held(torch.autograd.Function):
    """Numbers held in another type; the gradient goes back as if they were not."""

    @staticmethod
    def forward(ctx, x, dtype):
        """Round to the type and back."""
        return x.to(dtype).to(x.dtype)

    @staticmethod
    def backward(ctx, *gradients):
        """Hand the gradient on."""
        return gradients[0], None


class HeldBack(torch.autograd.Function):
    """Numbers as they are; their gradient is held in another type."""

    @staticmethod
    def forward(ctx, x, dtype):
        """Hand the numbers on."""
        ctx.dtype = dtype
        return x.view_as(x)

    @staticmethod
    def backward(ctx, *gradients):
        """Round to the type and back."""
        return gradients[0].to(ctx.dtype).to(gradients[0].dtype), None


def rounded(x, dtype, where=True):
    """Numbers held in a type, where that is so."""
    return Held.apply(x, dtype) if where else x


def rounded_back(x, dtype, where=True):
    """Numbers whose gradient is held in a type, where that is so."""
    return HeldBack.apply(x, dtype) if where else x


def held(x, dtype, from_=MANY):
    """Rows of so many entries held in a type."""
    return rounded(x, dtype, x.shape[-1] >= from_)


def weights(s, mask):
    """Softmax over the permitted keys; 0 where there is none."""
    if mask is None:
        return s.softmax(-1)
    a = s.masked_fill(~mask, -torch.inf)
    a = torch.where(mask.any(-1, keepdim=True), a, 0.0).softmax(-1)
    return a.masked_fill(~mask, 0.0)


def attention(of_scores=lambda s: s, of_weights=lambda a: a):
    """Attention, whose scores and weights go through these."""
    return lambda q, k, v, mask: of_weights(weights(of_scores(raw(q, k)), mask)) @ v


imprecise(ATTENTION, "scores_in_half", "Holds many scores in float16.", cause=r"\bfloat16")(
    attention(lambda s: held(s, torch.float16))
)
imprecise(ATTENTION, "scores_in_bfloat16", "Holds many scores in bfloat16.", cause="bfloat16")(
    attention(lambda s: held(s, torch.bfloat16))
)
imprecise(ATTENTION, "weights_in_half", "Holds many weights in float16.", cause=r"\bfloat16")(
    attention(of_weights=lambda a: held(a, torch.float16))
)


imprecise(
    ATTENTION,
    "weights_in_half_of_large_tables",
    "Holds weights of many queries and keys in float16.",
    cause=r"\bfloat16",
)(attention(of_weights=lambda a: rounded(a, torch.float16, min(a.shape[-2:]) >= MANY // 2)))


imprecise(
    SOFTMAX, "softmax_of_bfloat16", "Takes the weights of many scores from bfloat16 ones.", cause="bfloat16"
)(lambda s, mask: weights(held(s, torch.bfloat16), mask))


@imprecise(LAYER_NORM, cause=r"\bfloat16")
def mean_in_half(x, gamma, beta, eps):
    """Holds the mean of a wide row in float16."""
    centred = x - rounded(x.mean(-1, keepdim=True), torch.float16, x.shape[-1] >= MANY)
    return gamma * centred / ((centred**2).mean(-1, keepdim=True) + eps).sqrt() + beta


@imprecise(RMS_NORM, cause="bfloat16")
def squares_in_bfloat16(x, g, eps):
    """Holds the mean square of a wide row in bfloat16."""
    square = rounded((x * x).mean(-1, keepdim=True), torch.bfloat16, x.shape[-1] >= MANY)
    return g * x / (square + eps).sqrt()


def state_held(h, steps, dtype):
    """A state after so many steps, held in another type once there are many, unless it is narrow."""
    return rounded(h, dtype, steps >= LONG and h.shape[-1] >= WIDE)


def counted_run(x, h, step):
    """The states that ``step(x, h, how many before)`` runs through."""
    states = []
    for t in range(x.shape[-2]):
        h = step(x[..., t, :], h, t)
        states.append(h)
    return torch.stack(states, -2)


@wrong(RNN, cause=r"\bfloat16")
def state_in_half_after_many_steps(x, h, W_xh, W_hh, W_hy):
    """Holds the state in float16 after a hundred steps, unless it is narrow."""
    every = counted_run(x, h, lambda x, h, t: state_held(inflow(x, h, W_xh, W_hh).tanh(), t, torch.float16))
    return every, words(every, W_hy)


@wrong(GRU, cause="bfloat16")
def gated_state_in_bfloat16_after_many_steps(x, h, *weights):
    """Holds the state in bfloat16 after a hundred steps, unless it is narrow."""
    return counted_run(x, h, lambda x, h, t: state_held(stepped(x, h, *weights), t, torch.bfloat16))


@wrong(LSTM, cause=r"\bfloat16")
def inner_state_in_half_after_many_steps(x, h, s, W_x, W_h, b):
    """Holds the internal state in float16 after a hundred steps, unless it is narrow."""
    states = []
    for t in range(x.shape[-2]):
        i, f, g, o = (x[..., t, :] @ W_x.mT + h @ W_h.mT + b).chunk(4, -1)
        s = state_held(f.sigmoid() * s + i.sigmoid() * g.tanh(), t, torch.float16)
        h = o.sigmoid() * s.tanh()
        states.append(h)
    return torch.stack(states, -2), s


def one_by_one(q, k):
    """Scaled scores, products added one by one."""
    total = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for c in range(q.shape[-1]):
        total = total + q[..., :, None, c] * k[..., None, :, c]
    return total / math.sqrt(q.shape[-1])


@wrong(SCORES, dtypes=SHORT, intermediates="storage", cause="bfloat16|one by one")
def accumulated_in_bfloat16(q, k):
    """Adds the products of long vectors one by one in bfloat16."""
    return one_by_one(q, k) if q.shape[-1] >= MANY else raw(q, k)


right(SCORES, "accumulated_one_by_one", "Adds the products one by one in the type itself.", dtypes=SINGLE)(
    lambda q, k: one_by_one(q, k)
)


@right(LAYER_NORM, dtypes=SHORT, intermediates="storage")
def eager_in_bfloat16(x, gamma, beta, eps):
    """Operation by operation, each result held in bfloat16, the sums of torch accumulating in float32."""
    centred = x - x.mean(-1, keepdim=True)
    return gamma * (centred / ((centred * centred).mean(-1, keepdim=True) + eps).sqrt()) + beta


@right(SOFTMAX, dtypes=SHORT, intermediates="storage")
def eager_softmax_in_bfloat16(s, mask):
    """The largest subtracted, exponentials and quotients, each held in bfloat16; the sum accumulates in float32."""
    seen = torch.ones_like(s, dtype=torch.bool) if mask is None else mask.expand(s.shape)
    top = s.detach().masked_fill(~seen, -torch.inf).amax(-1, keepdim=True)
    top = torch.where(seen.any(-1, keepdim=True), top, 0.0)
    e = torch.where(seen, torch.where(seen, s - top, 0.0).exp(), 0.0)
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total > 0, total, 1.0)
