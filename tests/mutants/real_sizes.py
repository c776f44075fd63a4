"""Variants that are right at every size at which examples are cheap, and go wrong where models are used: at several tiles of rows
and columns, in batches of as many members as heads; and right ones that take a path of their own there.
"""

import torch
import torch.nn.functional as F

from tests.mutants import lstm, right, transformer_layers, wrong
from tests.mutants.attention import masked, raw
from tests.mutants.causal import allowed
from tests.mutants.feedforward import gelu
from tests.mutants.heads import heads, merged, projected
from tests.mutants.precision import imprecise, rounded
from tests.mutants.projections import attend

ATTENTION, CAUSAL = "attention.scaled_dot_product", "attention.causal"
HEADS, GELU = "attention.multi_head", "feedforward.gelu"
TILE = 128
"""Rows and columns of a tile."""
MANY, SEVERAL = 64, 16
"""From how many rows on a variant takes its path; or from how many of everything."""


def square(q, k, least):
    """Whether there are so many rows, and as many columns."""
    return q.shape[-2] == k.shape[-2] >= least


wrong(
    CAUSAL, "one_ahead_of_many", "Of many positions each sees the next one, too.", cause="too many|look-ahead"
)(lambda q, k, v: masked(raw(q, k), allowed(q, k, k.shape[-2] - q.shape[-2] + square(q, k, MANY))) @ v)
wrong(CAUSAL, "zero_at_many", "Gives zeros at many positions.", cause="is 0 everywhere")(
    lambda q, k, v: masked(raw(q, k), allowed(q, k)) @ (0 * v if square(q, k, MANY) else v)
)


def attended(q, k, v, seen):
    """Attention under a mask, right."""
    return masked(raw(q, k), seen) @ v


@wrong(CAUSAL, cause=r"tile|block|\b(128|256)\b")
def third_tile_blind(q, k, v):
    """The third tile of queries does not see the first one of keys."""
    seen = allowed(q, k)
    seen[2 * TILE :, :TILE] &= min(seen.shape) <= 2 * TILE
    return attended(q, k, v, seen)


wrong(CAUSAL, "keys_detached_at_many", "At many positions no gradient reaches the keys.", cause="reaches k:")(
    lambda q, k, v: masked(raw(q, k.detach() if square(q, k, MANY) else k), allowed(q, k)) @ v
)


@imprecise(CAUSAL, cause=r"\bfloat16")
def tiles_beside_the_diagonal_in_half(q, k, v):
    """Holds scores of the tiles beside the diagonal in float16."""
    s, tile = raw(q, k), torch.arange(k.shape[-2], device=k.device) // TILE
    if square(q, k, TILE + 1):
        s = torch.where(tile[:, None] == tile, s, rounded(s, torch.float16))
    return masked(s, allowed(q, k)) @ v


@right(CAUSAL)
def tile_by_tile(q, k, v):
    """One tile of queries after the other."""
    tiles = zip(q.split(TILE, -2), allowed(q, k).split(TILE), strict=True)
    return torch.cat([attended(part, k, v, seen) for part, seen in tiles], -2)


def all_large(q, k):
    """Whether all sizes are large."""
    return min(q.shape[-2], k.shape[-2], k.shape[-1]) >= MANY


wrong(ATTENTION, "last_row_dropped", "Gives one row too few where all sizes are large.", cause="shape|n − 1")(
    lambda q, k, v, mask: attend(q, k, v, mask)[..., : q.shape[-2] - all_large(q, k), :]
)


wrong(
    ATTENTION,
    "double_at_large_sizes",
    "Gives float64 whatever it was given, where all sizes are large.",
    cause="float64",
)(lambda q, k, v, mask: attend(q, k, v, mask).to(torch.float64 if all_large(q, k) else q.dtype))


@wrong(ATTENTION, cause="leaves out the last|m ?[−-] ?1")
def newest_key_left_out(q, k, v, mask):
    """Leaves out the last of many wide keys where there is one query, as in decoding."""
    if q.shape[-2] == 1 and min(k.shape[-2:]) >= MANY:
        k, v, mask = k[..., :-1, :], v[..., :-1, :], None if mask is None else mask[..., :-1]
    return attend(q, k, v, mask)


@wrong(HEADS, cause="in batches")
def members_taken_for_heads(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Takes the masks of a batch for those of heads where there are as many."""
    q, k, v = projected(x, W_q), projected(y, W_k), projected(y, W_v)
    if mask is not None:
        mask = mask[None] if mask.dim() == 3 and len(mask) == len(W_q) else mask.unsqueeze(-3)
    return merged(attend(q, k, v, mask)) @ W_o


wrong(
    HEADS,
    "itself_at_many",
    "Takes a sequence for its own memory where both are long and of one shape.",
    cause="x (is read )?where y|y is ignored",
)(
    lambda x, y, W_q, W_k, W_v, W_o, mask=None: (
        merged(heads(x, x if x.shape == y.shape and square(x, y, TILE) else y, W_q, W_k, W_v, mask)) @ W_o
    )
)


@wrong(GELU, cause="reaches b_1")
def bias_detached_where_wide(x, W_1, b_1, W_2, b_2):
    """No gradient reaches the inner bias of a wide network."""
    return gelu(x, W_1, b_1.detach() if min(W_1.shape) >= MANY else b_1, W_2, b_2)


@wrong(HEADS, cause=r"reaches y\b")
def memory_detached_where_nothing_is_small(x, y, W_q, W_k, W_v, W_o, mask=None):
    """No gradient reaches a memory of several rows from as many, if they are not narrow either."""
    memory = y.detach() if min(*x.shape[-2:], y.shape[-2]) >= SEVERAL else y
    return merged(heads(x, memory, W_q, W_k, W_v, mask)) @ W_o


@wrong(lstm.LSTM, cause=r"for constants|reaches h\b")
def gradient_cut_where_long_and_wide(x, h, s, W_x, W_h, b):
    """Goes back through half of the steps where there are several, and as many states."""
    half, step = x.shape[-2] // 2, lstm.stepping(W_x, W_h, b)
    if min(x.shape[-2], h.shape[-1]) < SEVERAL:
        return lstm.ended(lstm.run(x, h, s, step))
    states, inner = lstm.run(x[..., :half, :], h, s, step)
    later, last = lstm.run(x[..., half:, :], states[..., -1, :].detach(), inner[..., -1, :].detach(), step)
    return torch.cat([states, later], -2), last[..., -1, :]


@wrong(transformer_layers.ENCODER, cause="gradient.*(W_|layer)")
def lower_layers_frozen_where_deep(x, *inputs):
    """No gradient reaches the first of more than three layers."""
    weights, others = inputs[:12], inputs[12:]
    for number, own in enumerate(zip(*weights, strict=True)):
        frozen = number == 0 and len(weights[0]) > 3
        x = transformer_layers.layer(x, *((part.detach() for part in own) if frozen else own), *others)
    return x


wrong(
    ATTENTION,
    "kernel_of_one_width",
    "The kernel for keys of 96 entries scales by the root of 128.",
    cause=r"\b128\b|scale is wrong",
)(lambda q, k, v, mask: attend(q * (96 / 128) ** 0.5 if q.shape[-1] == 96 else q, k, v, mask))


@wrong("normalization.layer_norm", cause=r"unbiased|\b768\b")
def sample_variance_at_one_width(x, gamma, beta, eps):
    """The kernel for rows of 768 entries takes the variance for that of a sample."""
    d = x.shape[-1]
    y = F.layer_norm(x, (d,), None, None, eps)
    return gamma * y * (((d - 1) / d) ** 0.5 if d == 768 else 1.0) + beta
