"""Variants of layers and stacks that hold something in half the digits where a fast path begins: far up, far along, far back.

No single size of usual tests shows them: they ask for several layers and many steps, for one position beside many, or for two
large sizes together.
"""

import torch
import torch.nn.functional as F

from tests.mutants import gru, lstm, lstm_layers, recurrent, transformer_decoders, wrong
from tests.mutants import transformer_models as models
from tests.mutants.attention import raw
from tests.mutants.fast_paths import HeldBack
from tests.mutants.model_sizes import SINGLE, TILE, layers
from tests.mutants.precision import held, weights
from tests.mutants.transformer_layers import ENCODER, LAYER, depth, heads, layer, norm, own, parts


def back(x, dtype, where):
    """Numbers whose gradient is rounded to a type, where they are."""
    return HeldBack.apply(x, dtype) if where else x


@wrong(LAYER, dtypes=SINGLE)
def hidden_in_half_where_long_and_wide(x, *inputs):
    """Holds the network's hidden entries in float16 where there are many, at many positions."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + heads(x, x, W, mask), first, eps)
    hidden = F.linear(s, N[0].mT, N[1]).relu()
    large = min(hidden.shape[-2:]) >= 2 * TILE
    return norm(
        s + F.linear(held(hidden, torch.float16, 1 if large else 1 << 30), N[2].mT, N[3]), second, eps
    )


@wrong(ENCODER, dtypes=SINGLE)
def later_rows_in_half_where_long_and_wide(x, *inputs):
    """Holds what reaches the second layer and those above in float16 where many positions have wide rows."""
    large, mask = min(x.shape[-2:]) >= TILE, parts(inputs)[-1]
    for t in range(depth(inputs)):
        x = held(x, torch.float16, 1) if t and large else x
        x = layer(x, *own(inputs, t), mask)
    return x


@wrong(ENCODER, dtypes=SINGLE)
def rows_go_back_in_bfloat16_from_the_seventh(x, *inputs):
    """Rounds the gradient of what reaches the seventh layer and those above to bfloat16."""
    mask = parts(inputs)[-1]
    for t in range(depth(inputs)):
        x = layer(back(x, torch.bfloat16, t >= 6), *own(inputs, t), mask)
    return x


@wrong(ENCODER, dtypes=SINGLE)
def weights_in_half_in_large_batches(x, *inputs):
    """Holds the attention weights in float16 where a batch has 16 members or more."""
    large = x.dim() > 2 and len(x) >= 16

    def one(q, k, v, mask):
        return held(weights(raw(q, k), mask), torch.float16, 1 if large else 1 << 30) @ v

    return layers(x, *inputs, one=lambda number: one)


@wrong("transformer.decoder", dtypes=SINGLE)
def memory_in_bfloat16_beside_one_position(y, x, *inputs):
    """Keeps a long source in bfloat16 where one position is asked for, as a cache for decoding does."""
    cached = y.shape[-2] == 1 and x.shape[-2] >= 2 * TILE
    return transformer_decoders.stack(y, held(x, torch.bfloat16, 1) if cached else x, *inputs)


@wrong("transformer.model", dtypes=SINGLE)
def late_positions_in_bfloat16(s, t, E, *inputs):
    """Keeps the table of positions in bfloat16 from the 257th on."""

    def embedded(ids):
        table = models.positions(ids.shape[-1], E)
        late = held(table[2 * TILE :], torch.bfloat16, 1)
        rows = E[ids] * E.shape[-1] ** 0.5
        return rows + torch.cat([table[: 2 * TILE], late])

    return models.run(embedded(s), embedded(t), E, inputs).softmax(-1)


def through(given, inner=None, flows=None):
    """An LSTM in layers, right; ``inner`` and ``flows`` may round what goes back through states and gates of a layer."""
    x, h, s, W_x, W_h, b, U = given
    states, inside = [], []
    for l, W in enumerate([W_x, *U]):

        def step(row, h, s, l=l, W=W):
            packed = row @ W.mT + h @ W_h[l].mT + b[l]
            i, f, g, o = (packed if flows is None else flows(packed, l)).chunk(4, -1)
            s = f.sigmoid() * s + i.sigmoid() * g.tanh()
            s = s if inner is None else inner(s, l)
            return o.sigmoid() * s.tanh(), s

        x, internal = lstm.run(x, h[..., l, :], s[..., l, :], step)
        states.append(x)
        inside.append(internal)
    return lstm_layers.ended((states, inside))


@wrong(lstm_layers.STACKED, dtypes=SINGLE)
def later_states_go_back_in_bfloat16_where_long(*given):
    """Rounds the gradient of the internal states above the first layer to bfloat16 where a sequence is long."""
    long = given[0].shape[-2] >= TILE // 2
    return through(given, inner=lambda s, l: back(s, torch.bfloat16, long and l > 0))


@wrong(lstm_layers.STACKED, dtypes=SINGLE)
def gates_go_back_in_half_where_wide(*given):
    """Rounds the gradient of all gates to float16 where states are wide."""
    wide = given[1].shape[-1] >= 2 * TILE
    return through(given, flows=lambda packed, l: back(packed, torch.float16, wide))


@wrong(recurrent.RNN, dtypes=SINGLE)
def states_go_back_in_bfloat16_where_very_long(x, h, W_xh, W_hh, W_hy):
    """Rounds the gradient of each state to bfloat16 where a sequence has more than 256 elements."""
    step, long = recurrent.stepping(W_xh, W_hh), x.shape[-2] > 2 * TILE
    states = recurrent.run(x, h, lambda x, h: back(step(x, h), torch.bfloat16, long))
    return states, recurrent.words(states, W_hy)


@wrong(gru.GRU, dtypes=SINGLE)
def states_of_a_unit_go_back_in_half_where_very_long(x, h, *weights):
    """Rounds the gradient of each state to float16 where a sequence has 129 elements or more."""
    long = x.shape[-2] > TILE
    return recurrent.run(x, h, lambda x, h: back(gru.stepped(x, h, *weights), torch.float16, long))
