"""Variants that are right in small models and at short sequences, and go wrong in those that are in use.

Theirs are a usual number of heads, a usual width, padding far behind, and later layers at long sequences.
"""

import torch

from tests.mutants import bert_encoder, sums, wrong
from tests.mutants.attention import raw
from tests.mutants.fast_paths import HeldBack
from tests.mutants.heads import heads, merged
from tests.mutants.precision import held, weights
from tests.mutants.projections import attend
from tests.mutants.recurrent_layers import STACKED, ends, layered
from tests.mutants.transformer_layers import ENCODER, LAYER, layer

SINGLE = ("float32",)
TILE = 128
"""Rows of a tile, or of a buffer."""


def back_in(x, dtype, from_):
    """Rows of so many entries, whose gradients are rounded to a type."""
    return HeldBack.apply(x, dtype) if x.shape[-1] >= from_ else x


@wrong("attention.multi_head")
def scale_of_twelve_heads(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Takes heads to be 64 wide where there are twelve, as in the model that it was written for."""
    scale = 1 / 8 if len(W_q) == 12 else None
    return merged(heads(x, y, W_q, W_k, W_v, mask, scale)) @ W_o


wrong(sums.ADD_NORM, "eps_of_one_width", "The kernel for rows of 768 entries has ε built in.")(
    lambda x, r, gamma, beta, eps: sums.norm(x + r, gamma, beta, 1e-5 if x.shape[-1] == 768 else eps)
)


@wrong(STACKED, dtypes=SINGLE)
def upper_layers_in_half_where_long(x, h, W_xh, W_hh, U):
    """Holds what reaches the third layer in float16 where a sequence is long."""
    first = layered(x, h[..., :2, :], W_xh, W_hh[:2], U[:1])
    if len(U) < 2:
        whole = layered(x, h, W_xh, W_hh, U)
        return whole[-1], ends(whole)
    below = held(first[-1], torch.float16, 1) if x.shape[-2] >= TILE else first[-1]
    later = layered(below, h[..., 2:, :], U[1], W_hh[2:], U[2:])
    return later[-1], ends([*first, *later])


@wrong(bert_encoder.ENCODER)
def padding_far_behind_seen(*inputs):
    """Reads the first 128 entries of a mask only; what lies behind is seen."""
    words = bert_encoder.words(inputs)
    if words is None or words.shape[-1] <= TILE:
        return bert_encoder.encoder(*inputs)
    seen = torch.cat([words[..., :TILE], torch.ones_like(words[..., TILE:])], -1)
    return bert_encoder.encoder(*inputs[:-1], seen)


def layers(x, *inputs, one=lambda number: attend):
    """The layers of an encoder, right, or with another attention of one head for the layer of a number."""
    for number, own in enumerate(zip(*inputs[:12], strict=True)):
        x = layer(x, *own, *inputs[12:], one=one(number))
    return x


@wrong(ENCODER)
def mask_of_the_first_tile(x, *inputs):
    """Each tile of queries reads the first tile's rows of the mask."""
    mask = inputs[13] if len(inputs) > 13 else None
    if mask is not None and mask.shape[-2] > TILE:
        mask = mask[..., torch.arange(mask.shape[-2]) % TILE, :]
    return layers(x, *inputs[:13], mask)


@wrong(ENCODER, dtypes=SINGLE)
def weights_of_many_keys_in_half(x, *inputs):
    """Holds the attention weights of more than 255 positions in float16, in each layer."""

    def one(q, k, v, mask):
        return held(weights(raw(q, k), mask), torch.float16, 2 * TILE) @ v

    return layers(x, *inputs, one=lambda number: one)


@wrong(ENCODER, dtypes=SINGLE)
def later_scores_in_bfloat16_where_long(x, *inputs):
    """Holds the scores of all layers but the first in bfloat16 where a sequence is long."""

    def one(q, k, v, mask):
        return weights(held(raw(q, k), torch.bfloat16, 2 * TILE), mask) @ v

    return layers(x, *inputs, one=lambda number: one if number else attend)


@wrong(ENCODER, dtypes=SINGLE)
def layers_from_the_seventh_in_bfloat16(x, *inputs):
    """Holds what attention finds in bfloat16 where six layers lie below."""

    def one(q, k, v, mask):
        return held(attend(q, k, v, mask), torch.bfloat16, 1)

    return layers(x, *inputs, one=lambda number: one if number >= 6 else attend)


@wrong(LAYER, dtypes=SINGLE)
def scores_in_bfloat16_where_long_and_wide(x, *inputs):
    """Holds the scores in bfloat16 where many positions have wide rows."""
    large = min(x.shape[-2:]) >= 2 * TILE

    def one(q, k, v, mask):
        return weights(held(raw(q, k), torch.bfloat16, 1 if large else 1 << 30), mask) @ v

    return layer(x, *inputs, one=one)


@wrong(LAYER, dtypes=SINGLE)
def scores_go_back_in_bfloat16_where_long(x, *inputs):
    """Rounds the gradient of the scores of a long sequence to bfloat16."""

    def one(q, k, v, mask):
        return weights(back_in(raw(q, k), torch.bfloat16, 2 * TILE), mask) @ v

    return layer(x, *inputs, one=one)


@wrong(ENCODER, dtypes=SINGLE)
def later_scores_go_back_in_bfloat16_where_long(x, *inputs):
    """The same in all layers but the first."""

    def one(q, k, v, mask):
        return weights(back_in(raw(q, k), torch.bfloat16, 2 * TILE), mask) @ v

    return layers(x, *inputs, one=lambda number: one if number else attend)


@wrong("attention.softmax", dtypes=SINGLE)
def weights_of_a_vocabulary_in_half(s, mask=None):
    """Holds the weights of rows of thousands of scores in float16."""
    return held(weights(s, mask), torch.float16, 1 << 13)


@wrong("normalization.layer_norm", dtypes=SINGLE)
def deviation_of_thousands_in_bfloat16(x, gamma, beta, eps):
    """Holds the deviation of rows of thousands of entries in bfloat16."""
    centred = x - x.mean(-1, keepdim=True)
    deviation = ((centred**2).mean(-1, keepdim=True) + eps).sqrt()
    return gamma * centred / held(deviation, torch.bfloat16, 1 if x.shape[-1] >= 1 << 13 else 2) + beta
