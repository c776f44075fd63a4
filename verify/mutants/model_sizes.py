"""Variants that are right in small models and at short sequences, and go wrong in those that are in use.

Theirs are a usual number of heads, a usual width, padding far behind, and later layers at long sequences.
"""

import math
from typing import Any

import torch
from torch import Tensor

from verify.mutants import bert_encoder, sums, transformer_layers, wrong
from verify.mutants.heads import heads, merged
from verify.mutants.precision import held, weights
from verify.mutants.recurrent_layers import STACKED, ends, layered
from verify.mutants.transformer_layers import ENCODER, network, norm

SINGLE = ("float32",)
TILE = 128
"""Rows of a tile, or of a buffer."""


@wrong("attention.multi_head")
def scale_of_twelve_heads(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Takes heads to be 64 wide where there are twelve, as in the model that it was written for."""
    scale = 1 / 8 if len(W_q) == 12 else None
    return merged(heads(x, y, W_q, W_k, W_v, mask, scale)) @ W_o


@wrong(sums.ADD_NORM)
def eps_of_one_width(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """The kernel for rows of 768 entries has ε built in."""
    return sums.norm(x + r, gamma, beta, 1e-5 if x.shape[-1] == 768 else eps)


@wrong(STACKED, dtypes=SINGLE)
def upper_layers_in_half_where_long(
    x: Tensor, h: Tensor, W_xh: Tensor, W_hh: Tensor, U: Tensor
) -> tuple[Tensor, Tensor]:
    """Holds what reaches the third layer in float16 where a sequence is long."""
    first = layered(x, h[..., :2, :], W_xh, W_hh[:2], U[:1])
    if len(U) < 2:
        layers = layered(x, h, W_xh, W_hh, U)
        return layers[-1], ends(layers)
    below = held(first[-1], torch.float16, 1) if x.shape[-2] >= TILE else first[-1]
    later = layered(below, h[..., 2:, :], U[1], W_hh[2:], U[2:])
    return later[-1], ends([*first, *later])


@wrong(bert_encoder.ENCODER)
def padding_far_behind_seen(*inputs: Any) -> Tensor:
    """Reads the first 128 entries of a mask only; what lies behind is seen."""
    words = bert_encoder.words(inputs)
    if words is None or words.shape[-1] <= TILE:
        return bert_encoder.encoder(*inputs)
    seen = torch.cat([words[..., :TILE], torch.ones_like(words[..., TILE:])], -1)
    return bert_encoder.encoder(*inputs[:-1], seen)


@wrong(ENCODER)
def mask_of_the_first_tile(x: Tensor, *inputs: Any) -> Tensor:
    """Each tile of queries reads the first tile's rows of the mask."""
    layers, eps, *mask = inputs[:12], *inputs[12:]
    if mask and mask[0] is not None and mask[0].shape[-2] > TILE:
        mask = [mask[0][..., torch.arange(mask[0].shape[-2]) % TILE, :]]
    for own in zip(*layers, strict=True):
        x = transformer_layers.layer(x, *own, eps, *mask)
    return x


@wrong(ENCODER, dtypes=SINGLE)
def later_scores_in_bfloat16_where_long(x: Tensor, *inputs: Any) -> Tensor:
    """Holds the scores of all layers but the first in bfloat16 where a sequence is long."""
    layers, eps, *mask = inputs[:12], *inputs[12:]
    masked = mask[0] if mask else None
    for number, own in enumerate(zip(*layers, strict=True)):
        found = []
        for q, k, v in zip(*(part.unbind() for part in own[:3]), strict=True):
            scores = (x @ q) @ (x @ k).mT / math.sqrt(q.shape[-1])
            scores = held(scores, torch.bfloat16, 2 * TILE) if number else scores
            found.append(weights(scores, masked) @ (x @ v))
        s = norm(x + torch.cat(found, -1) @ own[3], own[4:6], eps)
        x = norm(s + network(s, own[6:10]), own[10:], eps)
    return x
