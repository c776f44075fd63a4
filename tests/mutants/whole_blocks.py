"""Variants that hold something in half the digits where a size is whole blocks of 64 or 128, or a sequence very long: what tensor
cores and fused kernels ask for. Most round what goes back alone.
"""

import torch
import torch.nn.functional as F

from tests.mutants import bert_encoder as bert
from tests.mutants import biased_heads, gru, lstm, lstm_layers, objectives, recurrent, steps, wrong
from tests.mutants import heads as several
from tests.mutants import transformer_layers as transformer
from tests.mutants.attention import blank, blank_queries, masked, raw
from tests.mutants.model_sizes import SINGLE, TILE
from tests.mutants.precision import held
from tests.mutants.stack_sizes import back

LARGE = 2 * TILE


def blocks(size):
    """Whether a size is large, and whole blocks of 128."""
    return size >= LARGE and size % TILE == 0


@wrong("attention.multi_head", dtypes=SINGLE)
def joining_weights_back_in_half(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Rounds the gradient of the weights that join the heads to float16 where rows are whole blocks."""
    z = several.merged(several.heads(x, y, W_q, W_k, W_v, mask))
    return z @ back(W_o, torch.float16, blocks(x.shape[-1]))


@wrong(transformer.LAYER, dtypes=SINGLE)
def scores_back_in_bfloat16(x, *inputs):
    """Rounds the gradient of the scores to bfloat16 where a head's rows are whole blocks of 64."""

    def one(q, k, v, mask):
        k, v, q = blank(k, mask), blank(v, mask), blank_queries(q, mask)
        return masked(back(raw(q, k), torch.bfloat16, q.shape[-1] % 64 == 0), mask) @ v

    return transformer.layer(x, *inputs, one=one)


@wrong(transformer.LAYER, dtypes=SINGLE)
def weights_of_blocks_of_positions_in_half(x, *inputs):
    """Holds the attention weights in float16 where positions are whole blocks."""

    def one(q, k, v, mask):
        large = blocks(k.shape[-2])
        k, v, q = blank(k, mask), blank(v, mask), blank_queries(q, mask)
        return held(masked(raw(q, k), mask), torch.float16, 1 if large else 1 << 30) @ v

    return transformer.layer(x, *inputs, one=one)


@wrong("bert.layer", dtypes=SINGLE)
def what_attention_found_back_in_bfloat16(x, *inputs):
    """Rounds the gradient of what the heads found to bfloat16 where rows are whole blocks of 64."""
    W, first, N, second, eps, mask = bert.parts(inputs)
    found = back(biased_heads.biased(x, x, *W, mask), torch.bfloat16, x.shape[-1] % 64 == 0)
    s = transformer.norm(x + found, first, eps)
    return transformer.norm(s + bert.network(s, N), second, eps)


@wrong("attention.bahdanau_step", dtypes=SINGLE)
def annotations_back_in_bfloat16(*inputs):
    """Rounds the gradient of the annotations to bfloat16 where a sentence is whole blocks of 64."""
    given = list(inputs)
    given[2] = back(given[2], torch.bfloat16, given[2].shape[-2] % 64 == 0)
    step = steps.Bahdanau(*given)
    return step.returned(steps.over(step.aligned(step.s), step.mask))


@wrong(recurrent.CELL, dtypes=SINGLE)
def inflow_back_in_bfloat16(x, h, W_xh, W_hh, W_hy):
    """Rounds the gradient of what is squashed to bfloat16 where states are whole blocks."""
    inflow = back(recurrent.inflow(x, h, W_xh, W_hh), torch.bfloat16, blocks(h.shape[-1]))
    new = torch.tanh(inflow)
    return new, new @ W_hy.mT


@wrong("objectives.linear_cross_entropy", dtypes=SINGLE)
def scores_of_words_back_in_bfloat16(x, W, y, epsilon):
    """Rounds the gradient of the scores to bfloat16 where the words are whole blocks."""
    s = torch.where((y >= 0)[..., None], x, 0.0) @ W.mT
    s = back(s, torch.bfloat16, blocks(W.shape[0]))
    return objectives.mean(objectives.smoothed(objectives.log_law(s, y), y, epsilon), y)


@wrong("bert.head_mlm", dtypes=SINGLE)
def rows_of_the_head_back_in_bfloat16(x, W, b, gamma, beta, eps, E, b_V):
    """Rounds the gradient of the normalised rows to bfloat16 where they are whole blocks."""
    row = F.layer_norm(F.gelu(x @ W + b), gamma.shape, gamma, beta, eps)
    return back(row, torch.bfloat16, blocks(x.shape[-1])) @ E.mT + b_V


@wrong("recurrent.lstm", dtypes=SINGLE)
def internal_states_of_blocks_of_steps_in_half(*given):
    """Holds the internal state in float16 where a sequence is whole blocks of 64."""
    x, h, s, W_x, W_h, b = given
    step, whole = lstm.stepping(W_x, W_h, b), x.shape[-2] % 64 == 0

    def coarse(x, h, s):
        h, s = step(x, h, s)
        return h, held(s, torch.float16, 1 if whole else 1 << 30)

    return lstm.ended(lstm.run(x, h, s, coarse))


@wrong(lstm_layers.STACKED, dtypes=SINGLE)
def internal_states_of_layers_in_half_where_very_long(*given):
    """Holds the internal states above the first layer in float16 where a sequence has 256 elements or more."""
    x, h, s, W_x, W_h, b, U = given
    long = x.shape[-2] >= LARGE
    states, inside = [], []
    for l, W in enumerate([W_x, *U]):
        step = lstm.stepping(W, W_h[l], b[l])

        def coarse(x, h, s, step=step, l=l):
            h, s = step(x, h, s)
            return h, held(s, torch.float16, 1 if long and l else 1 << 30)

        x, internal = lstm.run(x, h[..., l, :], s[..., l, :], coarse)
        states.append(x)
        inside.append(internal)
    return lstm_layers.ended((states, inside))


@wrong(gru.GRU, dtypes=SINGLE)
def update_gates_back_in_bfloat16_where_very_long(x, h, *weights):
    """Rounds the gradient of the update gates to bfloat16 where a sequence has 256 elements or more."""
    long = x.shape[-2] >= LARGE

    def step(x, h):
        r, z, n, r_h, z_h, n_h = gru.flows(x, h, *weights)
        return gru.moved(h, r, back(z, torch.bfloat16, long), n, r_h, z_h, n_h)

    return recurrent.run(x, h, step)
