"""Variants that lose digits on a path of its own for some kind of use, or some sizes: batches, masks, training, serving, one
query, one sequence for both inputs, the proportions of usual models, long and wide at once, the gradient of one weight, many
steps, later layers.
"""

import math
from typing import Any

import torch
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.gru import stepped
from verify.mutants.precision import Held, weights

ATTENTION, MULTI_HEAD = "attention.scaled_dot_product", "attention.multi_head"
LAYER_NORM, GRU = "normalization.layer_norm", "recurrent.gru"
LAYER, ENCODER = "transformer.encoder_layer", "transformer.encoder"
SINGLE = ("float32",)
WIDE = 64
"""From how many terms on a variant takes its path."""


class HeldBack(torch.autograd.Function):
    """Numbers as they are; their gradient is held in another type."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Hand the numbers on."""
        ctx.dtype = dtype  # type: ignore[attr-defined]
        return x.view_as(x)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None]:
        """Round to the type and back."""
        return gradients[0].to(ctx.dtype).to(gradients[0].dtype), None  # type: ignore[attr-defined]


def half(x: Tensor, where: bool) -> Tensor:
    """Numbers held in float16 there."""
    return Held.apply(x, torch.float16) if where else x  # type: ignore[no-untyped-call]


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, coarse: bool) -> Tensor:
    """Attention, the weights of which are coarse or not."""
    return half(weights(q @ k.mT / math.sqrt(q.shape[-1]), mask), coarse) @ v


@wrong(ATTENTION, dtypes=SINGLE)
def half_in_batches(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Holds many weights in float16 where there is a batch."""
    return attended(q, k, v, mask, q.dim() > 2 and k.shape[-2] >= WIDE)


@wrong(ATTENTION, dtypes=SINGLE)
def half_under_a_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Holds many weights in float16 where a mask is given."""
    return attended(q, k, v, mask, mask is not None and k.shape[-2] >= WIDE)


@wrong(ATTENTION, dtypes=SINGLE)
def half_for_one_query(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Holds many weights in float16 where there is one query, as in decoding."""
    return attended(q, k, v, mask, q.shape[-2] == 1 and k.shape[-2] >= WIDE)


@wrong(ATTENTION, dtypes=SINGLE)
def half_in_square_tiles(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Holds the weights in float16 where queries, keys and widths come in whole tiles."""
    return attended(q, k, v, mask, q.shape == k.shape == v.shape and k.shape[-2] % WIDE == 0)


@right(ATTENTION)
def single_in_batches(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Takes a path of its own for a batch, member by member."""
    if q.dim() < 3:
        if mask is not None:  # what nobody reads may be anything
            asks, asked = mask.any(-1).unsqueeze(-1), mask.any(-2).unsqueeze(-1)
            q, k, v = torch.where(asks, q, 0.0), torch.where(asked, k, 0.0), torch.where(asked, v, 0.0)
        return attended(q, k, v, mask, False)
    given = [None] * len(q) if mask is None else mask
    return torch.stack([single_in_batches(*each) for each in zip(q, k, v, given, strict=True)])


@wrong(LAYER_NORM, dtypes=SINGLE)
def half_in_training(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Holds wide rows in float16 where a gradient is to follow."""
    y = torch.nn.functional.layer_norm(x, gamma.shape, None, None, eps)
    return half(y, x.requires_grad and x.shape[-1] >= WIDE) * gamma + beta


@wrong(LAYER_NORM)
def half_when_served(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Holds rows in float16 in inference mode."""
    y = torch.nn.functional.layer_norm(x, gamma.shape, None, None, eps)
    return half(y, torch.is_inference_mode_enabled()) * gamma + beta


def side_by_side(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None, coarse: bool
) -> Tensor:
    """What the heads found, one beside the other; their weights are coarse or not."""
    q, k, v = (of.unsqueeze(-3) @ W for of, W in ((x, W_q), (y, W_k), (y, W_v)))
    hidden = mask if mask is None else mask.unsqueeze(-3)
    return attended(q, k, v, hidden, coarse).transpose(-3, -2).flatten(-2)


@wrong(MULTI_HEAD, dtypes=SINGLE)
def half_of_one_sequence(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None
) -> Tensor:
    """Holds the weights in float16 where a sequence attends to itself."""
    return side_by_side(x, y, W_q, W_k, W_v, mask, x is y and y.shape[-2] >= WIDE // 2) @ W_o


@wrong(MULTI_HEAD, dtypes=SINGLE)
def half_of_usual_widths(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None
) -> Tensor:
    """Holds what the heads found in float16 where they share the width of the model between them."""
    heads = side_by_side(x, y, W_q, W_k, W_v, mask, False)
    return half(heads, heads.shape[-1] == x.shape[-1] >= WIDE) @ W_o


@wrong(MULTI_HEAD, dtypes=SINGLE)
def bfloat16_of_many_heads(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None
) -> Tensor:
    """Holds what the heads found in bfloat16 where there are eight or more, each as wide as usual."""
    heads = side_by_side(x, y, W_q, W_k, W_v, mask, False)
    if len(W_q) >= 8 and W_q.shape[-1] >= WIDE:
        heads = Held.apply(heads, torch.bfloat16)  # type: ignore[no-untyped-call]
    return heads @ W_o


@wrong(MULTI_HEAD, dtypes=SINGLE)
def last_gradient_in_bfloat16(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None
) -> Tensor:
    """Holds the gradient of the last matrix in bfloat16 where the model is wide."""
    if x.shape[-1] >= 4 * WIDE:
        W_o = HeldBack.apply(W_o, torch.bfloat16)  # type: ignore[no-untyped-call]
    return side_by_side(x, y, W_q, W_k, W_v, mask, False) @ W_o


@wrong(ATTENTION, dtypes=SINGLE)
def half_for_one_query_of_many_keys(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Holds the weights in float16 where there is one query, and a long text behind it."""
    return attended(q, k, v, mask, q.shape[-2] == 1 and k.shape[-2] >= 4 * WIDE)


@wrong(MULTI_HEAD, dtypes=SINGLE)
def half_where_long_and_wide(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, mask: Tensor | None
) -> Tensor:
    """Holds the weights in float16 where there are many queries, many keys and wide ones."""
    many = min(x.shape[-2], y.shape[-2], W_k.shape[-1]) >= 2 * WIDE
    return side_by_side(x, y, W_q, W_k, W_v, mask, many) @ W_o


@wrong(LAYER, dtypes=SINGLE)
def half_in_wide_models(x: Tensor, *given: Any) -> Tensor:
    """Holds the words in float16 where the model is as wide as usual."""
    from verify.targets.ours import implementation

    encoder_layer = implementation(LAYER)
    y: Tensor = encoder_layer(half(x, x.shape[-1] >= 4 * WIDE), *given)
    return y


@wrong("feedforward.relu", dtypes=SINGLE)
def half_in_usual_networks(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Holds the hidden entries in float16 where they are four times as many."""
    hidden = torch.relu(x @ W_1 + b_1)
    return half(hidden, W_1.shape[1] == 4 * W_1.shape[0] >= 4 * WIDE) @ W_2 + b_2


@wrong(LAYER, dtypes=SINGLE)
def bfloat16_where_long_and_wide(x: Tensor, *given: Any) -> Tensor:
    """Holds the words in bfloat16 where there are many, and wide ones."""
    from verify.targets.ours import implementation

    encoder_layer = implementation(LAYER)
    if min(x.shape[-2:]) >= 2 * WIDE:
        x = Held.apply(x, torch.bfloat16)  # type: ignore[no-untyped-call]
    y: Tensor = encoder_layer(x, *given)
    return y


@wrong(GRU, dtypes=SINGLE)
def backward_in_bfloat16(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Goes back through many steps in bfloat16."""
    states = []
    for t in range(x.shape[-2]):
        h = stepped(x[..., t, :], h, *weights)
        if x.shape[-2] >= WIDE // 2:
            h = HeldBack.apply(h, torch.bfloat16)  # type: ignore[no-untyped-call]
        states.append(h)
    return torch.stack(states, -2)


def layer_by_layer(x: Tensor, given: list[Any], eps: float, mask: Tensor | None) -> Tensor:
    """The encoder, a layer after another; ``given`` are the stacked weights."""
    from verify.targets.ours import implementation

    encoder = implementation(ENCODER)
    for layer in range(len(given[0])):
        one: list[Any] = [*(each[layer : layer + 1] for each in given), eps, mask]
        x = encoder(x, *one)
    return x


@wrong(ENCODER, dtypes=SINGLE)
def one_gradient_in_half(x: Tensor, *given: Any) -> Tensor:
    """Holds the gradient of the first network's bias in float16 where there are many words."""
    *stacked, eps, mask = given
    if x.shape[-2] >= WIDE // 2:
        stacked[7] = HeldBack.apply(stacked[7], torch.float16)  # type: ignore[no-untyped-call]
    return layer_by_layer(x, stacked, eps, mask)


@wrong(ENCODER, dtypes=SINGLE)
def later_layers_in_bfloat16(x: Tensor, *given: Any) -> Tensor:
    """Holds the networks of the fourth layer and all after it in bfloat16."""
    *stacked, eps, mask = given
    first = stacked[6]
    coarse = Held.apply(first, torch.bfloat16)  # type: ignore[no-untyped-call]
    stacked[6] = torch.cat((first[:3], coarse[3:]))
    return layer_by_layer(x, stacked, eps, mask)


@right(ENCODER)
def a_layer_after_another(x: Tensor, *given: Any) -> Tensor:
    """Calls the stack once for each layer."""
    *stacked, eps, mask = given
    return layer_by_layer(x, stacked, eps, mask)
