"""Variants that lose digits on a path of its own for some kind of use, or some sizes: batches, masks, training, serving, one
query, one sequence for both inputs, the proportions of usual models, long and wide at once, the gradient of one weight, many
steps, later layers.
"""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong
from tests.mutants.attention import blanked
from tests.mutants.gru import stepped
from tests.mutants.precision import attention, imprecise, rounded, rounded_back
from tests.mutants.recurrent import run
from verify.targets.ours import implementation

ATTENTION, MULTI_HEAD = "attention.scaled_dot_product", "attention.multi_head"
LAYER_NORM, GRU = "normalization.layer_norm", "recurrent.gru"
LAYER, ENCODER = "transformer.encoder_layer", "transformer.encoder"
encoder, encoder_layer = (implementation(each) for each in (ENCODER, LAYER))
WIDE = 64
"""From how many terms on a variant takes its path."""


def half(x, where):
    """Numbers held in float16 there."""
    return rounded(x, torch.float16, where)


def attended(q, k, v, mask, coarse):
    """Attention, the weights of which are coarse or not."""
    return attention(of_weights=lambda a: half(a, coarse))(q, k, v, mask)


imprecise(
    ATTENTION,
    "half_in_batches",
    "Holds many weights in float16 where there is a batch.",
    cause=r"\bfloat16|in batches$",
)(lambda q, k, v, mask: attended(q, k, v, mask, q.dim() > 2 and k.shape[-2] >= WIDE))
imprecise(
    ATTENTION, "half_under_a_mask", "Holds many weights in float16 where a mask is given.", cause=r"\bfloat16"
)(lambda q, k, v, mask: attended(q, k, v, mask, mask is not None and k.shape[-2] >= WIDE))


imprecise(
    ATTENTION,
    "half_for_one_query",
    "Holds many weights in float16 where there is one query, as in decoding.",
    cause=r"\bfloat16",
)(lambda q, k, v, mask: attended(q, k, v, mask, q.shape[-2] == 1 and k.shape[-2] >= WIDE))


imprecise(
    ATTENTION,
    "half_in_square_tiles",
    "Holds weights in float16 where all sizes are whole tiles.",
    cause=r"\bfloat16",
)(lambda q, k, v, mask: attended(q, k, v, mask, q.shape == k.shape == v.shape and k.shape[-2] % WIDE == 0))


@right(ATTENTION)
def single_in_batches(q, k, v, mask):
    """Takes a path of its own for a batch, member by member."""
    if q.dim() < 3:
        q, k, v = blanked(q, k, v, mask)
        return attended(q, k, v, mask, False)
    given = [None] * len(q) if mask is None else mask
    return torch.stack([single_in_batches(*each) for each in zip(q, k, v, given, strict=True)])


def normed(coarse):
    """Layer normalization of rows that are held in float16 where ``coarse(x)``."""

    def norm(x, gamma, beta, eps):
        return half(F.layer_norm(x, gamma.shape, None, None, eps), coarse(x)) * gamma + beta

    return norm


imprecise(
    LAYER_NORM,
    "half_in_training",
    "Holds wide rows in float16 where a gradient is to follow.",
    cause=r"\bfloat16",
)(normed(lambda x: x.requires_grad and x.shape[-1] >= WIDE))


wrong(LAYER_NORM, "half_when_served", "Holds rows in float16 in inference mode.", cause=r"\bfloat16")(
    normed(lambda x: torch.is_inference_mode_enabled())
)


def side_by_side(x, y, W_q, W_k, W_v, mask, coarse):
    """What the heads found, one beside the other; their weights are coarse or not."""
    q, k, v = (of.unsqueeze(-3) @ W for of, W in ((x, W_q), (y, W_k), (y, W_v)))
    hidden = mask if mask is None else mask.unsqueeze(-3)
    return attended(q, k, v, hidden, coarse).transpose(-3, -2).flatten(-2)


@imprecise(MULTI_HEAD, cause=r"\bfloat16")
def half_of_one_sequence(x, y, W_q, W_k, W_v, W_o, mask):
    """Holds the weights in float16 where a sequence attends to itself."""
    return side_by_side(x, y, W_q, W_k, W_v, mask, x is y and y.shape[-2] >= WIDE // 2) @ W_o


@imprecise(MULTI_HEAD, cause=r"\bfloat16")
def half_of_usual_widths(x, y, W_q, W_k, W_v, W_o, mask):
    """Holds what the heads found in float16 where they share the width of the model between them."""
    heads = side_by_side(x, y, W_q, W_k, W_v, mask, False)
    return half(heads, heads.shape[-1] == x.shape[-1] >= WIDE) @ W_o


@imprecise(MULTI_HEAD, cause="bfloat16")
def bfloat16_of_many_heads(x, y, W_q, W_k, W_v, W_o, mask):
    """Holds what the heads found in bfloat16 where there are eight or more, each as wide as usual."""
    heads = side_by_side(x, y, W_q, W_k, W_v, mask, False)
    return rounded(heads, torch.bfloat16, len(W_q) >= 8 and W_q.shape[-1] >= WIDE) @ W_o


@imprecise(MULTI_HEAD, cause="bfloat16")
def last_gradient_in_bfloat16(x, y, W_q, W_k, W_v, W_o, mask):
    """Holds the gradient of the last matrix in bfloat16 where the model is wide."""
    W_o = rounded_back(W_o, torch.bfloat16, x.shape[-1] >= 4 * WIDE)
    return side_by_side(x, y, W_q, W_k, W_v, mask, False) @ W_o


imprecise(
    ATTENTION,
    "half_for_one_query_of_many_keys",
    "The same for one query, with a long text behind it.",
    cause=r"\bfloat16",
)(lambda q, k, v, mask: attended(q, k, v, mask, q.shape[-2] == 1 and k.shape[-2] >= 4 * WIDE))


@imprecise(MULTI_HEAD, cause=r"\bfloat16")
def half_where_long_and_wide(x, y, W_q, W_k, W_v, W_o, mask):
    """Holds the weights in float16 where there are many queries, many keys and wide ones."""
    many = min(x.shape[-2], y.shape[-2], W_k.shape[-1]) >= 2 * WIDE
    return side_by_side(x, y, W_q, W_k, W_v, mask, many) @ W_o


imprecise(
    LAYER,
    "half_in_wide_models",
    "Holds the words in float16 where the model is as wide as usual.",
    cause=r"\bfloat16",
)(lambda x, *given: encoder_layer(half(x, x.shape[-1] >= 4 * WIDE), *given))


@imprecise("feedforward.relu", cause=r"\bfloat16")
def half_in_usual_networks(x, W_1, b_1, W_2, b_2):
    """Holds the hidden entries in float16 where they are four times as many."""
    hidden = torch.relu(x @ W_1 + b_1)
    return half(hidden, W_1.shape[1] == 4 * W_1.shape[0] >= 4 * WIDE) @ W_2 + b_2


imprecise(LAYER, "bfloat16_where_long_and_wide", "Holds many wide words in bfloat16.", cause="bfloat16")(
    lambda x, *given: encoder_layer(rounded(x, torch.bfloat16, min(x.shape[-2:]) >= 2 * WIDE), *given)
)


@imprecise(GRU, cause="bfloat16")
def backward_in_bfloat16(x, h, *weights):
    """Goes back through many steps in bfloat16."""
    many = x.shape[-2] >= WIDE // 2
    return run(x, h, lambda x, h: rounded_back(stepped(x, h, *weights), torch.bfloat16, many))


def layer_by_layer(x, *given, change=lambda place, W: W):
    """The encoder, a layer after another, of stacked weights that are changed first."""
    *stacked, eps, mask = given
    stacked = [change(place, W) for place, W in enumerate(stacked)]
    for layer in range(len(stacked[0])):
        x = encoder(x, *(each[layer : layer + 1] for each in stacked), eps, mask)
    return x


@imprecise(ENCODER, cause=r"\bfloat16")
def one_gradient_in_half(x, *given):
    """Holds the gradient of the first network's bias in float16 where there are many words."""
    many = x.shape[-2] >= WIDE // 2
    change = lambda place, W: rounded_back(W, torch.float16, many and place == 7)
    return layer_by_layer(x, *given, change=change)


@imprecise(ENCODER, cause="bfloat16")
def later_layers_in_bfloat16(x, *given):
    """Holds the networks of the fourth layer and all after it in bfloat16."""
    change = lambda place, W: torch.cat((W[:3], rounded(W, torch.bfloat16)[3:])) if place == 6 else W
    return layer_by_layer(x, *given, change=change)


right(ENCODER, "a_layer_after_another", "Calls the stack once for each layer.")(
    lambda x, *given: layer_by_layer(x, *given)
)
