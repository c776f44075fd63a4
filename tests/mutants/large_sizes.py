"""Variants that are right at small sizes: past a block, or past what a narrow type holds, they go wrong, or do not."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import gru, lstm, recurrent, right, wrong
from tests.mutants.attention import blank, blank_queries, masked
from tests.mutants.gpt import joined, later, parts
from tests.mutants.heads import every, merged, projected
from tests.mutants.transformer_layers import layer

LSTM, GRU, RNN, BOTH = "recurrent.lstm", "recurrent.gru", "recurrent.rnn", "recurrent.lstm_bidirectional"
SELF, HEADS, GPT = "attention.self", "attention.multi_head", "attention.causal_multi_head"
LAYER_NORM, RELU, ENCODER = "normalization.layer_norm", "feedforward.relu", "transformer.encoder_layer"
TOKEN, LEARNED, WAVES = "embedding.token", "positional.learned", "positional.sinusoidal"
LOSS, LINEAR_LOSS, SOFTMAX = (
    "objectives.cross_entropy",
    "objectives.linear_cross_entropy",
    "attention.softmax",
)
BLOCK = 128
"""Entries of a block."""


def blocks(size, block=BLOCK):
    """The blocks of an axis, the last of which may be a part of one."""
    return (slice(start, min(start + block, size)) for start in range(0, size, block))


# Steps --------------------------------------------------------------------------------------------------------------------


def in_blocks(x, h, s, weights, kept):
    """An LSTM block by block; ``kept(state, first)`` is what a block begins with of the state before it."""
    first, found, (W_x, W_h, b) = (h, s), [], weights
    for block in blocks(x.shape[-2]):
        if block.start:
            h, s = kept(h, first[0]), kept(s, first[1])
        states, inner = lstm.run(x[..., block, :], h, s, lstm.stepping(W_x, W_h, b))
        h, s = states[..., -1, :], inner[..., -1, :]
        found.append(states)
    return torch.cat(found, -2), s


wrong(LSTM, "state_begins_again", "Begins with the first state again after 128 steps.")(
    lambda x, h, s, *weights: in_blocks(x, h, s, weights, lambda now, first: first)
)
wrong(LSTM, "cut_after_a_block", "Cuts the gradient after 128 steps.")(
    lambda x, h, s, *weights: in_blocks(x, h, s, weights, lambda now, first: now.detach())
)
right(LSTM, "handed_on", "Block by block; the state is handed on.")(
    lambda x, h, s, *weights: in_blocks(x, h, s, weights, lambda now, first: now)
)
wrong(GRU, "state_zero_after_a_block", "Begins with zeros after 128 steps.")(
    lambda x, h, *weights: torch.cat(
        [
            gru.run(x[..., block, :], {0: h}.get(block.start, torch.zeros_like(h)), *weights)
            for block in blocks(x.shape[-2])
        ],
        -2,
    )
)


@wrong(RNN)
def at_most_256_steps(x, h, W_xh, W_hh, W_hy):
    """Runs through 256 steps, and repeats the last state for those that follow."""
    states = recurrent.run(x[..., :256, :], h, recurrent.stepping(W_xh, W_hh))
    rest = x.shape[-2] - states.shape[-2]
    states = torch.cat([states, states[..., -1:, :].expand(*states.shape[:-2], rest, -1)], -2)
    return states, torch.softmax(states @ W_hy.mT, -1)


# Keys ---------------------------------------------------------------------------------------------------------------------


def by_blocks(s, v, size, *, wrong_at_the_end=False):
    """Softmax and mean in one pass over blocks of keys; ``s`` is −∞ where a key is hidden, but not in all of a row."""
    top = s.new_full((*s.shape[:-1], 1), -math.inf)
    total, z = torch.zeros_like(top), v.new_zeros(*s.shape[:-1], v.shape[-1])
    for block in blocks(s.shape[-1], size):
        part = s[..., block]
        new = torch.maximum(top, part.amax(-1, keepdim=True)).detach()
        safe = torch.where(new.isinf(), 0.0, new)
        old = (top - safe).exp()
        if wrong_at_the_end and block.start and (block.stop - block.start < size):
            old = torch.ones_like(old)
        e = (part - safe).exp()
        total, z, top = total * old + e.sum(-1, keepdim=True), z * old + e @ v[..., block, :], new
    return z / total


def hidden(s, mask):
    """Scores with −∞ where a key is hidden; a row that sees nothing keeps its own."""
    return s if mask is None else torch.where(mask | ~mask.any(-1, keepdim=True), s, -math.inf)


def seen(z, mask):
    """0 for a query that sees nothing."""
    return z if mask is None else torch.where(mask.any(-1, keepdim=True), z, 0.0)


def own_attention(inputs, size, *, wrong_at_the_end=False):
    """Self-attention by blocks of keys; slots that nothing reads are blanked."""
    x, W_q, W_k, W_v, mask = (*inputs, None)[:5]
    asks, read = blank_queries(x, mask), blank(x, mask)
    s = asks @ W_q @ (read @ W_k).mT / math.sqrt(W_k.shape[-1])
    return seen(by_blocks(hidden(s, mask), read @ W_v, size, wrong_at_the_end=wrong_at_the_end), mask)


wrong(
    SELF,
    "last_block_not_rescaled",
    "Online softmax over blocks of 64 keys that does not rescale what it has where the last block is a part of one.",
)(lambda *inputs: own_attention(inputs, 64, wrong_at_the_end=True))
right(SELF, "online_softmax", "Online softmax over blocks of 64 keys.")(
    lambda *inputs: own_attention(inputs, 64)
)


@wrong(HEADS)
def last_keys_left_out(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Past 128 keys leaves out those that do not fill a block of 128."""
    if y.shape[-2] > BLOCK:
        whole = y.shape[-2] // BLOCK * BLOCK
        y, mask = y[..., :whole, :], None if mask is None else mask[..., :whole]
    x, y = blank_queries(x, mask), blank(y, mask)
    s = projected(x, W_q) @ projected(y, W_k).mT / math.sqrt(W_k.shape[-1])
    return merged(masked(s, every(mask)) @ projected(y, W_v)) @ W_o


@wrong(GPT)
def sees_ahead_past_a_table(x, *weights):
    """Takes its mask from a table of 128 tokens; those that follow see everything."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    s = q @ k.mT / math.sqrt(q.shape[-1])
    ahead = later(s.shape[-1], s)
    ahead[BLOCK:] = False
    return joined(torch.softmax(s.masked_fill(ahead, -math.inf), -1) @ v, W_o, b_o)


@right(GPT)
def causal_by_blocks(x, *weights):
    """Online softmax over blocks of 128 keys under the causal mask."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    s = q @ k.mT / math.sqrt(q.shape[-1])
    return joined(by_blocks(s.masked_fill(later(s.shape[-1], s), -math.inf), v, BLOCK), W_o, b_o)


@wrong(ENCODER)
def window_of_128(x, *inputs):
    """Lets a token see those less than 128 away only."""
    *weights, mask = inputs if len(inputs) > 13 else (*inputs, None)
    n = x.shape[-2]
    near = (torch.arange(n)[:, None] - torch.arange(n)).abs() < BLOCK
    if n <= BLOCK:
        return layer(x, *weights, mask)
    return layer(x, *weights, near if mask is None else mask & near)


# Members ------------------------------------------------------------------------------------------------------------------


@wrong(HEADS)
def members_past_32_lost(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Leaves the members of a batch from the 33rd on at 0."""
    x, y = blank_queries(x, mask), blank(y, mask)
    s = projected(x, W_q) @ projected(y, W_k).mT / math.sqrt(W_k.shape[-1])
    z = merged(masked(s, every(mask)) @ projected(y, W_v)) @ W_o
    if z.dim() == 3 and len(z) > 32:
        z = torch.cat([z[:32], torch.zeros_like(z[32:])])
    return z


@wrong(LAYER_NORM)
def members_past_64_from_the_first(x, gamma, beta, eps):
    """Works on 64 members, and returns these again for those that follow."""
    if x.dim() == 2 and len(x) > 64:
        x = x[torch.arange(len(x)) % 64]
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


@wrong(RELU)
def members_past_128_detached(x, W_1, b_1, W_2, b_2):
    """Passes no gradient back from members past the 128th."""
    y = F.relu(x @ W_1 + b_1) @ W_2 + b_2
    return torch.cat([y[:BLOCK], y[BLOCK:].detach()]) if y.dim() == 2 and len(y) > BLOCK else y


right(LAYER_NORM, "members_in_parts", "Works on 32 members at a time.")(
    lambda x, gamma, beta, eps: (
        F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
        if x.dim() < 2
        else torch.cat([F.layer_norm(part, part.shape[-1:], gamma, beta, eps) for part in x.split(32)])
    )
)

# Indices ------------------------------------------------------------------------------------------------------------------

wrong(TOKEN, "ids_in_16_bits", "Keeps ids in 16 bits: from 2¹⁵ on they count from the end.")(
    lambda ids, E: E[ids.to(torch.int16).long()]
)
right(TOKEN, "ids_in_32_bits", "Keeps ids in 32 bits.")(lambda ids, E: F.embedding(ids.int(), E))
wrong(LEARNED, "positions_in_16_bits", "Keeps positions in 16 bits.")(
    lambda pos, W_PE: W_PE[pos.to(torch.int16).long()]
)


@wrong(WAVES)
def waves_start_again(n, d):
    """Counts positions in 16 bits: from 2¹⁵ on they are negative."""
    t = torch.arange(n).to(torch.int16).double()[:, None]
    angle = t * 10000.0 ** (-(torch.arange(0, d, 2, dtype=torch.float64) / d))
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[:, :d]


@wrong(LOSS)
def targets_in_16_bits(s, y, epsilon):
    """Keeps targets in 16 bits: those from 2¹⁵ on are negative, and ignored."""
    y = torch.where(y.to(torch.int16) < 0, -100, y)
    lead, flat = s.shape[:-2], y.reshape(-1, y.shape[-1])
    costs = [
        F.cross_entropy(part, at, label_smoothing=epsilon) if (at >= 0).any() else 0.0 * part.sum()
        for part, at in zip(s.reshape(-1, *s.shape[-2:]), flat, strict=True)
    ]
    return torch.stack(costs).reshape(lead)


@wrong(LINEAR_LOSS)
def last_words_left_out(x, W, y, epsilon):
    """Adds up the exponentials of whole blocks of 128 words only, where there are several."""
    s = x @ W.mT
    asked = y >= 0
    whole = s.shape[-1] // BLOCK * BLOCK if s.shape[-1] > BLOCK else s.shape[-1]
    own = torch.gather(s, -1, y.clamp_min(0)[..., None]).squeeze(-1)
    stated = (1 - epsilon) * own + epsilon * s.mean(-1)
    cost = torch.where(asked, s[..., :whole].logsumexp(-1) - stated, 0.0)
    return cost.sum(-1) / asked.sum(-1).clamp_min(1)


# Widths -------------------------------------------------------------------------------------------------------------------


@wrong(LSTM)
def state_sums_cut(x, h, s, W_x, W_h, b):
    """Past 256 units multiplies whole blocks of 128 of the state only."""
    d = h.shape[-1]
    if d >= 256:
        W_h = W_h.clone()
        W_h[:, d // BLOCK * BLOCK :] = 0.0
    return lstm.ended(lstm.run(x, h, s, lstm.stepping(W_x, W_h, b)))


wrong(RELU, "bias_of_128_units", "Adds the bias to the first 128 hidden units only.")(
    lambda x, W_1, b_1, W_2, b_2: (
        F.relu(x @ W_1 + torch.cat([b_1[:BLOCK], torch.zeros_like(b_1[BLOCK:])])) @ W_2 + b_2
    )
)


@wrong(SOFTMAX)
def sum_of_whole_blocks(s, mask=None):
    """Past 256 keys the denominator leaves out those that do not fill a block of 64."""
    a = masked(s, mask)
    m = s.shape[-1]
    if m < 256:
        return a
    total = a[..., : m // 64 * 64].sum(-1, keepdim=True)
    return a / torch.where(total > 0, total, 1.0)


@right(RELU)
def sums_in_blocks(x, W_1, b_1, W_2, b_2):
    """Multiplies 128 columns at a time."""
    inside = sum((x[..., part] @ W_1[part] for part in blocks(x.shape[-1])), torch.zeros(()).to(x)) + b_1
    h = F.relu(inside)
    return sum((h[..., part] @ W_2[part] for part in blocks(h.shape[-1])), torch.zeros(()).to(x)) + b_2
