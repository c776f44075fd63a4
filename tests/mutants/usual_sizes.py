"""Variants that are right in small models and at short sequences, and go wrong, or lose digits, in those that are in use.

No single size of usual tests shows them. They ask for a usual number of heads or width, padding far behind, several layers
and many steps, one position beside many, two large sizes together, or sizes that are whole blocks of 64 or 128, as tensor cores
and fused kernels do. Many round only what goes back.
"""

import torch
import torch.nn.functional as F

from tests.mutants import (
    bert_encoder,
    biased_heads,
    gru,
    lstm,
    lstm_layers,
    objectives,
    recurrent,
    steps,
    sums,
    transformer_decoders,
    transformer_models,
    wrong,
)
from tests.mutants.attention import blanked, masked, raw
from tests.mutants.heads import heads as several
from tests.mutants.heads import merged
from tests.mutants.precision import attention, imprecise, rounded, rounded_back, weights
from tests.mutants.projections import attend
from tests.mutants.recurrent_layers import STACKED, ends, layered
from tests.mutants.transformer_layers import ENCODER, LAYER, composed, depth, layer, layer_of, own, parts

HALF, BRAIN = torch.float16, torch.bfloat16
BACK = "bfloat16|gradient of"
"""The cause where gradients are rounded."""
TILE = 128
"""Rows of a tile, or of a buffer."""
LARGE = 2 * TILE
MANY_THOUSANDS = 1 << 13
HEADS, NORM = "attention.multi_head", "normalization.layer_norm"


def blocks(size):
    """Whether a size is large, and whole blocks of 128."""
    return size >= LARGE and size % TILE == 0


def blocks_of_64(size):
    """Whether a size is whole blocks of 64."""
    return size % 64 == 0


# One call -----------------------------------------------------------------------------------------------------------------


@wrong(HEADS, cause=r"scale is fixed|√\(?64|h = 12\b")
def scale_of_twelve_heads(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Takes heads to be 64 wide where there are twelve, as in the model that it was written for."""
    scale = 1 / 8 if len(W_q) == 12 else None
    return merged(several(x, y, W_q, W_k, W_v, mask, scale)) @ W_o


@imprecise(HEADS, cause=r"\bfloat16|gradient of W_o")
def joining_weights_back_in_half(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Rounds the gradient of the weights that join the heads to float16 where rows are whole blocks."""
    return merged(several(x, y, W_q, W_k, W_v, mask)) @ rounded_back(W_o, HALF, blocks(x.shape[-1]))


wrong(
    sums.ADD_NORM,
    "eps_of_one_width",
    "The kernel for rows of 768 entries has ε built in.",
    cause=r"(eps|ε) is (not read|ignored|fixed)|\b768\b",
)(lambda x, r, gamma, beta, eps: sums.norm(x + r, gamma, beta, 1e-5 if x.shape[-1] == 768 else eps))
imprecise(
    "attention.softmax",
    "weights_of_a_vocabulary_in_half",
    "Holds thousands of them in float16.",
    cause=r"\bfloat16",
)(lambda s, mask=None: rounded(weights(s, mask), HALF, s.shape[-1] >= MANY_THOUSANDS))


@imprecise(NORM, cause="bfloat16")
def deviation_of_thousands_in_bfloat16(x, gamma, beta, eps):
    """Holds the deviation of rows of thousands of entries in bfloat16."""
    centred = x - x.mean(-1, keepdim=True)
    deviation = ((centred**2).mean(-1, keepdim=True) + eps).sqrt()
    return gamma * centred / rounded(deviation, BRAIN, x.shape[-1] >= MANY_THOUSANDS) + beta


@imprecise("attention.bahdanau_step", cause=r"bfloat16|gradient of h\b")
def annotations_back_in_bfloat16(*inputs):
    """Rounds the gradient of the annotations to bfloat16 where a sentence is whole blocks of 64."""
    s, y, h, *rest = inputs
    return steps.bahdanau()(s, y, rounded_back(h, BRAIN, blocks_of_64(h.shape[-2])), *rest)


imprecise(
    recurrent.CELL, "inflow_back_in_bfloat16", "Rounds the gradient of inflows of whole blocks.", cause=BACK
)(recurrent.cell(lambda z: torch.tanh(rounded_back(z, BRAIN, blocks(z.shape[-1])))))


@imprecise("objectives.linear_cross_entropy", cause=BACK)
def scores_of_words_back_in_bfloat16(x, W, y, epsilon):
    """Rounds the gradient of the scores to bfloat16 where the words are whole blocks."""
    s = torch.where((y >= 0)[..., None], x, 0.0) @ W.mT
    return objectives.loss()(rounded_back(s, BRAIN, blocks(W.shape[0])), y, epsilon)


@imprecise("bert.head_mlm", cause=BACK)
def rows_of_the_head_back_in_bfloat16(x, W, b, gamma, beta, eps, E, b_V):
    """Rounds the gradient of the normalised rows to bfloat16 where they are whole blocks."""
    row = F.layer_norm(F.gelu(x @ W + b), gamma.shape, gamma, beta, eps)
    return rounded_back(row, BRAIN, blocks(x.shape[-1])) @ E.mT + b_V


# Steps --------------------------------------------------------------------------------------------------------------------


@imprecise(recurrent.RNN, cause=BACK)
def states_go_back_in_bfloat16_where_very_long(x, h, W_xh, W_hh, W_hy):
    """Rounds the gradient of each state to bfloat16 where a sequence has more than 256 elements."""
    step, long = recurrent.stepping(W_xh, W_hh), x.shape[-2] > LARGE
    states = recurrent.run(x, h, lambda x, h: rounded_back(step(x, h), BRAIN, long))
    return states, recurrent.words(states, W_hy)


@imprecise(gru.GRU, cause=r"\bfloat16|gradient of")
def states_of_a_unit_go_back_in_half_where_very_long(x, h, *weights):
    """Rounds the gradient of each state to float16 where a sequence has 129 elements or more."""
    long = x.shape[-2] > TILE
    return gru.run(x, h, *weights, step=lambda *given: rounded_back(gru.stepped(*given), HALF, long))


@imprecise(gru.GRU, cause=BACK)
def update_gates_back_in_bfloat16_where_very_long(x, h, *weights):
    """Rounds the gradient of the update gates to bfloat16 where a sequence has 256 elements or more."""
    long = x.shape[-2] >= LARGE
    step = gru.cell(lambda h, r, z, *rest: gru.moved(h, r, rounded_back(z, BRAIN, long), *rest))
    return gru.run(x, h, *weights, step=step)


@imprecise(STACKED, cause=r"\bfloat16")
def upper_layers_in_half_where_long(x, h, W_xh, W_hh, U):
    """Holds what reaches the third layer in float16 where a sequence is long."""
    first = layered(x, h[..., :2, :], W_xh, W_hh[:2], U[:1])
    if len(U) < 2:
        whole = layered(x, h, W_xh, W_hh, U)
        return whole[-1], ends(whole)
    below = rounded(first[-1], HALF, x.shape[-2] >= TILE)
    later = layered(below, h[..., 2:, :], U[1], W_hh[2:], U[2:])
    return later[-1], ends([*first, *later])


def stepping(W, W_h, b, inner=lambda s: s, flows=lambda packed: packed):
    """The step of an LSTM, right but that its internal state and what flows into its gates go through these."""

    def step(row, h, s):
        i, f, g, o = flows(row @ W.mT + h @ W_h.mT + b).chunk(4, -1)
        s = inner(f.sigmoid() * s + i.sigmoid() * g.tanh())
        return o.sigmoid() * s.tanh(), s

    return step


def through(given, inner=lambda s, l: s, flows=lambda packed, l: packed):
    """An LSTM in layers, right; ``inner`` and ``flows`` may round states and gates of a layer."""
    x, h, s, W_x, W_h, b, U = given
    states, inside = [], []
    for l, W in enumerate([W_x, *U]):
        step = stepping(W, W_h[l], b[l], lambda s, l=l: inner(s, l), lambda packed, l=l: flows(packed, l))
        x, internal = lstm.run(x, h[..., l, :], s[..., l, :], step)
        states.append(x)
        inside.append(internal)
    return lstm_layers.ended((states, inside))


@imprecise("recurrent.lstm", cause=r"\bfloat16")
def internal_states_of_blocks_of_steps_in_half(*given):
    """Holds the internal state in float16 where a sequence is whole blocks of 64."""
    x, h, s, *weights = given
    step = lstm.stepping(*weights)

    def coarse(x_t, h, s):
        h, s = step(x_t, h, s)
        return h, rounded(s, HALF, blocks_of_64(x.shape[-2]))

    return lstm.ended(lstm.run(x, h, s, coarse))


@imprecise(lstm_layers.STACKED, cause=r"\bfloat16")
def internal_states_of_layers_in_half_where_very_long(*given):
    """Holds the internal states above the first layer in float16 where a sequence has 256 elements or more."""
    x, h, s, W_x, W_h, b, U = given
    states, inside = [], []
    for l, W in enumerate([W_x, *U]):
        step = lstm.stepping(W, W_h[l], b[l])

        def coarse(x_t, h, s, step=step, where=x.shape[-2] >= LARGE and l > 0):
            h, s = step(x_t, h, s)
            return h, rounded(s, HALF, where)

        x, internal = lstm.run(x, h[..., l, :], s[..., l, :], coarse)
        states.append(x)
        inside.append(internal)
    return lstm_layers.ended((states, inside))


@imprecise(lstm_layers.STACKED, cause=BACK)
def later_states_go_back_in_bfloat16_where_long(*given):
    """Rounds the gradient of the internal states above the first layer to bfloat16 where a sequence is long."""
    long = given[0].shape[-2] >= TILE // 2
    return through(given, inner=lambda s, l: rounded_back(s, BRAIN, long and l > 0))


@imprecise(lstm_layers.STACKED, cause=r"\bfloat16|gradient of")
def gates_go_back_in_half_where_wide(*given):
    """Rounds the gradient of all gates to float16 where states are wide."""
    wide = given[1].shape[-1] >= LARGE
    return through(given, flows=lambda packed, l: rounded_back(packed, HALF, wide))


# Layers -------------------------------------------------------------------------------------------------------------------


def layers(x, *inputs, one=lambda number: attend, read=lambda number, x: x):
    """The layers of an encoder, right, or with another attention of one head, or other rows, for the layer of a number."""
    for number in range(depth(inputs)):
        x = layer(read(number, x), *own(inputs, number), parts(inputs)[-1], one=one(number))
    return x


def blank_attention(of_scores=lambda s, q: s, of_weights=lambda a: a):
    """Attention of what may be read, whose scores and weights go through these."""

    def attend(q, k, v, mask):
        q, k, v = blanked(q, k, v, mask)
        return of_weights(masked(of_scores(raw(q, k), q), mask)) @ v

    return attend


many_weights_in_half = attention(of_weights=lambda a: rounded(a, HALF, a.shape[-1] >= LARGE))
many_scores_in_bfloat16 = attention(lambda s: rounded(s, BRAIN, s.shape[-1] >= LARGE))
many_scores_back_in_bfloat16 = attention(lambda s: rounded_back(s, BRAIN, s.shape[-1] >= LARGE))


@imprecise(LAYER, cause="bfloat16")
def scores_in_bfloat16_where_long_and_wide(x, *inputs):
    """Holds the scores in bfloat16 where many positions have wide rows."""
    large = min(x.shape[-2:]) >= LARGE
    return layer(x, *inputs, one=attention(lambda s: rounded(s, BRAIN, large)))


imprecise(
    LAYER, "scores_go_back_in_bfloat16_where_long", "Rounds the scores' gradient to bfloat16.", cause=BACK
)(lambda x, *inputs: layer(x, *inputs, one=many_scores_back_in_bfloat16))


@imprecise(LAYER, cause=BACK)
def scores_back_in_bfloat16(x, *inputs):
    """Rounds the gradient of the scores to bfloat16 where a head's rows are whole blocks of 64."""
    one = blank_attention(lambda s, q: rounded_back(s, BRAIN, blocks_of_64(q.shape[-1])))
    return layer(x, *inputs, one=one)


@imprecise(LAYER, cause=r"\bfloat16")
def weights_of_blocks_of_positions_in_half(x, *inputs):
    """Holds the attention weights in float16 where positions are whole blocks."""
    one = blank_attention(of_weights=lambda a: rounded(a, HALF, blocks(a.shape[-1])))
    return layer(x, *inputs, one=one)


def coarse_network(x, N):
    """The network, its hidden entries held in float16 where there are many, at many positions."""
    hidden = F.linear(x, N[0].mT, N[1]).relu()
    return F.linear(rounded(hidden, HALF, min(hidden.shape[-2:]) >= LARGE), N[2].mT, N[3])


imprecise(
    LAYER,
    "hidden_in_half_where_long_and_wide",
    "Holds the network's hidden entries in float16.",
    cause=r"\bfloat16",
)(layer_of(composed, network=coarse_network))


@imprecise("bert.layer", cause=BACK)
def what_attention_found_back_in_bfloat16(x, *inputs):
    """Rounds the gradient of what the heads found to bfloat16 where rows are whole blocks of 64."""
    found = lambda x, W, mask: rounded_back(
        biased_heads.biased(x, x, *W, mask), BRAIN, blocks_of_64(x.shape[-1])
    )
    return layer_of(composed, bert_encoder.parts, found, bert_encoder.network)(x, *inputs)


@wrong(ENCODER, cause=r"mask.*tile|\b12[89]\b")
def mask_of_the_first_tile(x, *inputs):
    """Each tile of queries reads the first tile's rows of the mask."""
    mask = parts(inputs)[-1]
    if mask is not None and mask.shape[-2] > TILE:
        mask = mask[..., torch.arange(mask.shape[-2]) % TILE, :]
    return layers(x, *inputs[:13], mask)


imprecise(
    ENCODER,
    "weights_of_many_keys_in_half",
    "Holds the weights of more than 255 positions in float16.",
    cause=r"\bfloat16",
)(lambda x, *inputs: layers(x, *inputs, one=lambda number: many_weights_in_half))
imprecise(
    ENCODER,
    "later_scores_in_bfloat16_where_long",
    "Holds scores above the first layer in bfloat16.",
    cause="bfloat16",
)(lambda x, *inputs: layers(x, *inputs, one=lambda number: many_scores_in_bfloat16 if number else attend))
imprecise(
    ENCODER, "later_scores_go_back_in_bfloat16_where_long", "Rounds those scores' gradients.", cause=BACK
)(
    lambda x, *inputs: layers(
        x, *inputs, one=lambda number: many_scores_back_in_bfloat16 if number else attend
    )
)


@imprecise(ENCODER, cause="bfloat16")
def layers_from_the_seventh_in_bfloat16(x, *inputs):
    """Holds what attention finds in bfloat16 where six layers lie below."""
    one = lambda number: lambda *given: rounded(attend(*given), BRAIN, number >= 6)
    return layers(x, *inputs, one=one)


@imprecise(ENCODER, cause=r"\bfloat16")
def later_rows_in_half_where_long_and_wide(x, *inputs):
    """Holds what reaches the second layer and those above in float16 where many positions have wide rows."""
    large = min(x.shape[-2:]) >= TILE
    return layers(x, *inputs, read=lambda number, x: rounded(x, HALF, number > 0 and large))


imprecise(
    ENCODER,
    "rows_go_back_in_bfloat16_from_the_seventh",
    "Rounds the gradient of what is read there.",
    cause=BACK,
)(lambda x, *inputs: layers(x, *inputs, read=lambda number, x: rounded_back(x, BRAIN, number >= 6)))


@imprecise(ENCODER, cause=r"\bfloat16")
def weights_in_half_in_large_batches(x, *inputs):
    """Holds the attention weights in float16 where a batch has 16 members or more."""
    large = x.dim() > 2 and len(x) >= 16
    one = attention(of_weights=lambda a: rounded(a, HALF, large))
    return layers(x, *inputs, one=lambda number: one)


@wrong(bert_encoder.ENCODER, cause=r"\b12[89]\b|mask\S* is not applied|must not read")
def padding_far_behind_seen(*inputs):
    """Reads the first 128 entries of a mask only; what lies behind is seen."""
    words = bert_encoder.words(inputs)
    if words is None or words.shape[-1] <= TILE:
        return bert_encoder.encoder(*inputs)
    seen = torch.cat([words[..., :TILE], torch.ones_like(words[..., TILE:])], -1)
    return bert_encoder.encoder(*inputs[:-1], seen)


@imprecise("transformer.decoder", cause="bfloat16")
def memory_in_bfloat16_beside_one_position(y, x, *inputs):
    """Keeps a long source in bfloat16 where one position is asked for, as a cache for decoding does."""
    cached = y.shape[-2] == 1 and x.shape[-2] >= LARGE
    return transformer_decoders.stack(y, rounded(x, BRAIN, cached), *inputs)


def late_coarse(ids, E):
    """The embedding, whose table of positions is held in bfloat16 from the 257th on."""
    table = transformer_models.positions(ids.shape[-1], E)
    late = rounded(table[LARGE:], BRAIN)
    return E[ids] * E.shape[-1] ** 0.5 + torch.cat([table[:LARGE], late])


imprecise(
    "transformer.model",
    "late_positions_in_bfloat16",
    "Keeps positions from the 257th on in bfloat16.",
    cause="bfloat16",
)(transformer_models.model(late_coarse))
