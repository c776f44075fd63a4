"""Variants that hold something on the way in a coarser type than their inputs have, and careful ones in the same types.

A coarse line shows at the sizes of real models, where the rigorous bound lets it through, by the accuracy it costs.
"""

import math

import torch

from tests.mutants import right, wrong
from tests.mutants.gru import stepped
from tests.mutants.recurrent import inflow, words

SCORES, SOFTMAX, ATTENTION = "scores.scaled_dot", "attention.softmax", "attention.scaled_dot_product"
LAYER_NORM, RMS_NORM = "normalization.layer_norm", "normalization.rms_norm"
RNN, GRU, LSTM = "recurrent.rnn", "recurrent.gru", "recurrent.lstm"
SINGLE, SHORT = ("float32",), ("bfloat16",)
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


def held(x, dtype, from_=MANY):
    """Rows of so many entries held in a type."""
    return Held.apply(x, dtype) if x.shape[-1] >= from_ else x


def weights(s, mask):
    """Softmax over the permitted keys; 0 where there is none."""
    if mask is None:
        return s.softmax(-1)
    a = s.masked_fill(~mask, -torch.inf)
    a = torch.where(mask.any(-1, keepdim=True), a, 0.0).softmax(-1)
    return a.masked_fill(~mask, 0.0)


wrong(ATTENTION, "scores_in_half", "Holds many scores in float16.", dtypes=SINGLE)(
    lambda q, k, v, mask: weights(held(q @ k.mT / math.sqrt(q.shape[-1]), torch.float16), mask) @ v
)
wrong(ATTENTION, "scores_in_bfloat16", "Holds many scores in bfloat16.", dtypes=SINGLE)(
    lambda q, k, v, mask: weights(held(q @ k.mT / math.sqrt(q.shape[-1]), torch.bfloat16), mask) @ v
)
wrong(ATTENTION, "weights_in_half", "Holds many weights in float16.", dtypes=SINGLE)(
    lambda q, k, v, mask: held(weights(q @ k.mT / math.sqrt(q.shape[-1]), mask), torch.float16) @ v
)


@wrong(ATTENTION, dtypes=SINGLE)
def weights_in_half_of_large_tables(q, k, v, mask):
    """Holds the weights in float16 where there are many queries and many keys."""
    a = weights(q @ k.mT / math.sqrt(q.shape[-1]), mask)
    return (held(a, torch.float16, 1) if min(a.shape[-2:]) >= MANY // 2 else a) @ v


wrong(SOFTMAX, "softmax_of_bfloat16", "Takes the weights of many scores from bfloat16 ones.", dtypes=SINGLE)(
    lambda s, mask: weights(held(s, torch.bfloat16), mask)
)


@wrong(LAYER_NORM, dtypes=SINGLE)
def mean_in_half(x, gamma, beta, eps):
    """Holds the mean of a wide row in float16."""
    mean = x.mean(-1, keepdim=True)
    centred = x - held(mean, torch.float16, 1 if x.shape[-1] >= MANY else 2)
    return gamma * centred / ((centred**2).mean(-1, keepdim=True) + eps).sqrt() + beta


@wrong(RMS_NORM, dtypes=SINGLE)
def squares_in_bfloat16(x, g, eps):
    """Holds the mean square of a wide row in bfloat16."""
    square = (x * x).mean(-1, keepdim=True)
    return g * x / (held(square, torch.bfloat16, 1 if x.shape[-1] >= MANY else 2) + eps).sqrt()


def state_held(h, steps, dtype):
    """A state after so many steps, held in another type once there are many."""
    return held(h, dtype, WIDE) if steps >= LONG else h


@wrong(RNN)
def state_in_half_after_many_steps(x, h, W_xh, W_hh, W_hy):
    """Holds the state in float16 after a hundred steps, unless it is narrow."""
    states = []
    for t in range(x.shape[-2]):
        h = state_held(inflow(x[..., t, :], h, W_xh, W_hh).tanh(), t, torch.float16)
        states.append(h)
    every = torch.stack(states, -2)
    return every, words(every, W_hy)


@wrong(GRU)
def gated_state_in_bfloat16_after_many_steps(x, h, *weights):
    """Holds the state in bfloat16 after a hundred steps, unless it is narrow."""
    states = []
    for t in range(x.shape[-2]):
        h = state_held(stepped(x[..., t, :], h, *weights), t, torch.bfloat16)
        states.append(h)
    return torch.stack(states, -2)


@wrong(LSTM)
def inner_state_in_half_after_many_steps(x, h, s, W_x, W_h, b):
    """Holds the internal state in float16 after a hundred steps, unless it is narrow."""
    states = []
    for t in range(x.shape[-2]):
        i, f, g, o = (x[..., t, :] @ W_x.mT + h @ W_h.mT + b).chunk(4, -1)
        s = state_held(f.sigmoid() * s + i.sigmoid() * g.tanh(), t, torch.float16)
        h = o.sigmoid() * s.tanh()
        states.append(h)
    return torch.stack(states, -2), s


@wrong(SCORES, dtypes=SHORT, intermediates="storage")
def accumulated_in_bfloat16(q, k):
    """Adds the products of long vectors one by one in bfloat16."""
    if q.shape[-1] < MANY:
        return q @ k.mT / math.sqrt(q.shape[-1])
    total = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for c in range(q.shape[-1]):
        total = total + q[..., :, None, c] * k[..., None, :, c]
    return total / math.sqrt(q.shape[-1])


@right(SCORES, dtypes=SINGLE)
def accumulated_one_by_one(q, k):
    """Adds the products one by one in the type itself."""
    total = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    for c in range(q.shape[-1]):
        total = total + q[..., :, None, c] * k[..., None, :, c]
    return total / math.sqrt(q.shape[-1])


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
