"""Variants that are right at small sizes: past a block, or past what a narrow type holds, they go wrong, or do not."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, gru, lstm, objectives, recurrent, right, wrong
from tests.mutants.attention import blank, blank_queries, masked, mix_by_blocks, raw
from tests.mutants.feedforward import relu
from tests.mutants.gpt import causal, later, mixed
from tests.mutants.heads import every, merged, projected
from tests.mutants.positional import frequencies
from tests.mutants.projections import both
from tests.mutants.sums import norm as normed
from tests.mutants.transformer_layers import layer

LSTM, GRU, RNN = "recurrent.lstm", "recurrent.gru", "recurrent.rnn"
SELF, HEADS, GPT = "attention.self", "attention.multi_head", "attention.causal_multi_head"
LAYER_NORM, RELU, ENCODER = "normalization.layer_norm", "feedforward.relu", "transformer.encoder_layer"
TOKEN, LEARNED, WAVES = "embedding.token", "positional.learned", "positional.sinusoidal"
LOSS, LINEAR_LOSS = "objectives.cross_entropy", "objectives.linear_cross_entropy"
SOFTMAX = "attention.softmax"
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


wrong(
    LSTM,
    "state_begins_again",
    "Begins with the first state again after 128 steps.",
    cause=r"\b12[89]\b|initial state|begins again",
)(lambda x, h, s, *weights: in_blocks(x, h, s, weights, lambda now, first: first))
wrong(LSTM, "cut_after_a_block", "Cuts the gradient after 128 steps.", cause="gradient")(
    lambda x, h, s, *weights: in_blocks(x, h, s, weights, lambda now, first: now.detach())
)
right(LSTM, "handed_on", "Block by block; the state is handed on.")(
    lambda x, h, s, *weights: in_blocks(x, h, s, weights, lambda now, first: now)
)


@wrong(GRU, cause=r"\b12[89]\b|begins again")
def state_zero_after_a_block(x, h, *weights):
    """Begins with zeros after 128 steps."""
    first, *later = x.split(BLOCK, -2)
    rest = (gru.run(part, torch.zeros_like(h), *weights) for part in later)
    return torch.cat([gru.run(first, h, *weights), *rest], -2)


@wrong(RNN, cause=r"\b25[67]\b|last state")
def at_most_256_steps(x, h, W_xh, W_hh, W_hy):
    """Runs through 256 steps, and repeats the last state for those that follow."""
    states = recurrent.run(x[..., :256, :], h, recurrent.stepping(W_xh, W_hh))
    rest = x.shape[-2] - states.shape[-2]
    states = torch.cat([states, states[..., -1:, :].expand(*states.shape[:-2], rest, -1)], -2)
    return states, torch.softmax(states @ W_hy.mT, -1)


# Keys ---------------------------------------------------------------------------------------------------------------------


def by_blocks(s, v, size, **changes):
    """Softmax and mean in one pass over blocks of keys; ``s`` is −∞ where a key is hidden, but not in all of a row."""
    z, total = mix_by_blocks(s, v, size, **changes)
    return z / total


def hidden(s, mask):
    """Scores with −∞ where a key is hidden; a row that sees nothing keeps its own."""
    return s if mask is None else torch.where(mask | ~mask.any(-1, keepdim=True), s, -math.inf)


def seen(z, mask):
    """0 for a query that sees nothing."""
    return z if mask is None else torch.where(mask.any(-1, keepdim=True), z, 0.0)


def own_attention(**changes):
    """Self-attention by blocks of 64 keys; slots that nothing reads are blanked."""

    def attention(*inputs):
        x, W_q, W_k, W_v, mask = (*inputs, None)[:5]
        asks, read = blank_queries(x, mask), blank(x, mask)
        s = asks @ W_q @ (read @ W_k).mT / math.sqrt(W_k.shape[-1])
        return seen(by_blocks(hidden(s, mask), read @ W_v, 64, **changes), mask)

    return attention


wrong(
    SELF,
    "last_block_not_rescaled",
    "Online softmax that does not rescale before a last block in part.",
    cause="multiple of 64|last block|rescaled",
)(own_attention(wrong_at_the_end=True))
right(SELF, "online_softmax", "Online softmax over blocks of 64 keys.")(own_attention())


def joining(x, y, W_q, W_k, W_v, W_o, mask):
    """Multi-head attention, right."""
    x, y = blank_queries(x, mask), blank(y, mask)
    s = projected(x, W_q) @ projected(y, W_k).mT / math.sqrt(W_k.shape[-1])
    return merged(masked(s, every(mask)) @ projected(y, W_v)) @ W_o


@wrong(HEADS, cause=r"multiple of 128|last block|\b129\b")
def last_keys_left_out(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Past 128 keys leaves out those that do not fill a block of 128."""
    m = y.shape[-2]
    whole = m // BLOCK * BLOCK if m > BLOCK else m
    return joining(x, y[..., :whole, :], W_q, W_k, W_v, W_o, None if mask is None else mask[..., :whole])


def in_a_table(s):
    """What comes later, up to the 128th token."""
    ahead = later(s.shape[-1], s)
    ahead[BLOCK:] = False
    return ahead


wrong(
    GPT,
    "sees_ahead_past_a_table",
    "Takes its mask from a table of 128 tokens; others see everything.",
    cause=r"look-ahead|sees the future|\b129\b",
)(causal(lambda q, k, v: mixed(q, k, v, in_a_table)))


@right(GPT, via=causal)
def causal_by_blocks(q, k, v):
    """Online softmax over blocks of 128 keys under the causal mask."""
    s = raw(q, k)
    return by_blocks(s.masked_fill(later(s.shape[-1], s), -math.inf), v, BLOCK)


@wrong(ENCODER, cause=r"\b12[89]\b|window")
def window_of_128(x, *inputs):
    """Lets a token see those less than 128 away only."""
    *weights, mask = inputs if len(inputs) > 13 else (*inputs, None)
    place = torch.arange(x.shape[-2])
    near = (place[:, None] - place).abs() < BLOCK
    return layer(x, *weights, both(near, mask) if len(place) > BLOCK else mask)


# Members ------------------------------------------------------------------------------------------------------------------


@wrong(HEADS, cause=r"in batches|large batch|\b3[23]\b")
def members_past_32_lost(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Leaves the members of a batch from the 33rd on at 0."""
    z = joining(x, y, W_q, W_k, W_v, W_o, mask)
    return torch.cat([z[:32], torch.zeros_like(z[32:])]) if z.dim() == 3 else z


@wrong(LAYER_NORM, cause=r"in batches|large batch|\b6[45]\b")
def members_past_64_from_the_first(x, gamma, beta, eps):
    """Works on 64 members, and returns these again for those that follow."""
    return normed(x[torch.arange(len(x)) % 64] if x.dim() == 2 else x, gamma, beta, eps)


@wrong(RELU, cause=r"gradient|\b129\b")
def members_past_128_detached(x, W_1, b_1, W_2, b_2):
    """Passes no gradient back from members past the 128th."""
    y = relu(x, W_1, b_1, W_2, b_2)
    return torch.cat([y[:BLOCK], y[BLOCK:].detach()]) if y.dim() == 2 and len(y) > BLOCK else y


@right(LAYER_NORM)
def members_in_parts(x, gamma, beta, eps):
    """Works on 32 members at a time."""
    parts = x.split(32) if x.dim() > 1 else [x]
    return torch.cat([normed(part, gamma, beta, eps) for part in parts])


# Indices ------------------------------------------------------------------------------------------------------------------

wrong(
    TOKEN,
    "ids_in_16_bits",
    "Keeps ids in 16 bits: from 2¹⁵ on they count from the end.",
    cause="16 bits|int16",
)(lambda ids, E: E[ids.to(torch.int16).long()])
right(TOKEN, "ids_in_32_bits", "Keeps ids in 32 bits.")(lambda ids, E: F.embedding(ids.int(), E))
wrong(LEARNED, "positions_in_16_bits", "Keeps positions in 16 bits.", cause="16 bits|int16")(
    lambda pos, W_PE: W_PE[pos.to(torch.int16).long()]
)


@wrong(WAVES, cause="16 bits|int16")
def waves_start_again(n, d):
    """Counts positions in 16 bits: from 2¹⁵ on they are negative."""
    angle = torch.arange(n).to(torch.int16).double()[:, None] * frequencies(d)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[:, :d]


wrong(
    LOSS,
    "targets_in_16_bits",
    "Keeps targets in 16 bits: those from 2¹⁵ on are negative, and ignored.",
    cause="16 bits|int16",
)(lambda s, y, epsilon: objectives.loss()(s, torch.where(y.to(torch.int16) < 0, -100, y), epsilon))


@wrong(LINEAR_LOSS, cause=r"multiple of 128|last block|\b129\b")
def last_words_left_out(x, W, y, epsilon):
    """Adds up the exponentials of whole blocks of 128 words only, where there are several."""
    s = x @ W.mT
    whole = s.shape[-1] // BLOCK * BLOCK if s.shape[-1] > BLOCK else s.shape[-1]
    stated = (1 - epsilon) * objectives.at(s, y) + epsilon * s.mean(-1)
    return objectives.mean(s[..., :whole].logsumexp(-1) - stated, y)


# Widths -------------------------------------------------------------------------------------------------------------------


@wrong(LSTM, cause=r"multiple of 128|last block|\b25[67]\b")
def state_sums_cut(x, h, s, W_x, W_h, b):
    """Past 256 units multiplies whole blocks of 128 of the state only."""
    d = h.shape[-1]
    counts = torch.arange(d) < d // BLOCK * BLOCK
    return lstm.network(x, h, s, W_x, torch.where(counts, W_h, 0.0) if d >= 256 else W_h, b)


wrong(
    RELU,
    "bias_of_128_units",
    "Adds the bias to the first 128 hidden units only.",
    cause=r"b_1\S* is (not added|ignored)|\b129\b",
)(altering(relu, {2: lambda b_1: torch.cat([b_1[:BLOCK], torch.zeros_like(b_1[BLOCK:])])}))


@wrong(SOFTMAX, cause=r"multiple of 64|last block|\b25[67]\b|do not sum to 1")
def sum_of_whole_blocks(s, mask=None):
    """Past 256 keys the denominator leaves out those that do not fill a block of 64."""
    a, m = masked(s, mask), s.shape[-1]
    total = a[..., : m // 64 * 64].sum(-1, keepdim=True)
    return a if m < 256 else a / torch.where(total > 0, total, 1.0)


@right(RELU)
def sums_in_blocks(x, W_1, b_1, W_2, b_2):
    """Multiplies 128 columns at a time."""
    inside = sum((x[..., part] @ W_1[part] for part in blocks(x.shape[-1])), torch.zeros(()).to(x)) + b_1
    h = F.relu(inside)
    return sum((h[..., part] @ W_2[part] for part in blocks(h.shape[-1])), torch.zeros(()).to(x)) + b_2
