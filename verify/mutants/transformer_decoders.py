"""Variants of ``transformer.decoder_layer`` and ``transformer.decoder``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.transformer_layers import Rows, heads, network, norm

LAYER, DECODER = "transformer.decoder_layer", "transformer.decoder"
Parts = tuple[Rows, Rows, Rows, Rows, Rows, Rows, float, Tensor | None]


def parts(inputs: tuple[Any, ...]) -> Parts:
    """What follows the sequences: self-attention, cross-attention, network, each with its normalization; ε and the mask."""
    mask = inputs[19] if len(inputs) > 19 else None
    return (
        inputs[:4],
        inputs[4:6],
        inputs[6:10],
        inputs[10:12],
        inputs[12:16],
        inputs[16:18],
        inputs[18],
        mask,
    )


def causal(y: Tensor, ahead: int = 0) -> Tensor:
    """The mask of the self-attention, its diagonal moved so many places ahead."""
    m = y.shape[-2]
    return torch.ones(m, m, dtype=torch.bool, device=y.device).tril(ahead)


def layer(y: Tensor, x: Tensor, *inputs: Any, ahead: int = 0) -> Tensor:
    """A decoder layer, right."""
    W, first, C, second, N, third, eps, mask = parts(inputs)
    s = norm(y + heads(y, y, W, causal(y, ahead)), first, eps)
    t = norm(s + heads(s, x, C, mask), second, eps)
    return norm(t + network(t, N), third, eps)


@wrong(LAYER)
def sees_the_next(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """A diagonal off by one: each place sees its successor."""
    return layer(y, x, *inputs, ahead=1)


@wrong(LAYER)
def sees_all(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """Self-attention without a mask."""
    return layer(y, x, *inputs, ahead=y.shape[-2])


@wrong(LAYER)
def not_itself(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """A diagonal off by one: no place sees itself."""
    return layer(y, x, *inputs, ahead=-1)


@wrong(LAYER)
def source_padding_seen(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """No mask for the source."""
    return layer(y, x, *inputs[:19])


@wrong(LAYER)
def mask_of_the_first(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The first token's mask of the source for all tokens."""
    mask = parts(inputs)[-1]
    return layer(y, x, *inputs[:19], None if mask is None else mask[..., :1, :].expand(mask.shape))


@wrong(LAYER)
def keys_of_the_decoder(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """Cross-attention asks the target where the lengths let it."""
    W, first, C, second, N, third, eps, mask = parts(inputs)
    s = norm(y + heads(y, y, W, causal(y)), first, eps)
    read = s + 0 * x if s.shape == x.shape else x
    t = norm(s + heads(s, read, C, mask), second, eps)
    return norm(t + network(t, N), third, eps)


@wrong(LAYER)
def cross_first(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """Cross-attention before self-attention."""
    W, first, C, second, N, third, eps, mask = parts(inputs)
    s = norm(y + heads(y, x, C, mask), second, eps)
    t = norm(s + heads(s, s, W, causal(s)), first, eps)
    return norm(t + network(t, N), third, eps)


@wrong(LAYER)
def asked_by_the_input(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The source is asked by the layer's input, not by what self-attention made of it."""
    W, first, C, second, N, third, eps, mask = parts(inputs)
    s = norm(y + heads(y, y, W, causal(y)), first, eps)
    t = norm(s + heads(y, x, C, mask), second, eps)
    return norm(t + network(t, N), third, eps)


@wrong(LAYER)
def no_sum_around_cross(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """Forgets the row beside the cross-attention."""
    W, first, C, second, N, third, eps, mask = parts(inputs)
    s = norm(y + heads(y, y, W, causal(y)), first, eps)
    t = norm(heads(s, x, C, mask), second, eps)
    return norm(t + network(t, N), third, eps)


@wrong(LAYER)
def norms_of_an_encoder(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The second normalization's gain and bias in the third place too."""
    W, first, C, second, N, third, eps, mask = parts(inputs)
    unused = 0 * (third[0] + third[1])
    return layer(y, x, *W, *first, *C, *second, *N, second[0] + unused, second[1], eps, mask)


@wrong(LAYER)
def source_normalised(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The source normalised once more."""
    return layer(y, F.layer_norm(x, x.shape[-1:]), *inputs)


@wrong(LAYER)
def encoder_frozen(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """No gradient reaches the encoder."""
    return layer(y, x.detach() + 0 * x, *inputs)


@right(LAYER)
def by_heads(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The heads one after another."""
    return layer(y, x, *inputs)


@right(LAYER)
def one_by_one(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """A token at a time, as in use: each is the last of those written so far, and nothing has to be masked."""
    W, first, C, second, N, third, eps, mask = parts(inputs)
    made = []
    for i in range(y.shape[-2]):
        last, so_far = y[..., i : i + 1, :], y[..., : i + 1, :]
        s = norm(last + heads(last, so_far, W), first, eps)
        seen = None if mask is None else mask[..., i : i + 1, :]
        t = norm(s + heads(s, x, C, seen), second, eps)
        made.append(norm(t + network(t, N), third, eps))
    return torch.cat(made, -2)


# Stacks -------------------------------------------------------------------------------------------------------------------


def own(inputs: tuple[Any, ...], t: int) -> tuple[Any, ...]:
    """The inputs of layer t."""
    return (*(W[t] for W in inputs[:18]), inputs[18])


def depth(inputs: tuple[Any, ...]) -> int:
    """How many layers there are."""
    return len(inputs[0])


def stack(y: Tensor, x: Tensor, *inputs: Any, order: Any = None) -> Tensor:
    """A decoder, right; the layers in another ``order`` where one is given."""
    mask = parts(inputs)[-1]
    for t in range(depth(inputs)) if order is None else order:
        y = layer(y, x, *own(inputs, t), mask)
    return y


def varied(
    y: Tensor, x: Tensor, inputs: tuple[Any, ...], one: Callable[..., Tensor], masked: Callable[[int], bool]
) -> Tensor:
    """A decoder whose layers above the first are made by ``one``, and which are masked is chosen."""
    mask = parts(inputs)[-1]
    for t in range(depth(inputs)):
        made = one if t else layer
        y = made(y, x, *own(inputs, t), mask if masked(t) else None)
    return y


@wrong(DECODER)
def shared_layers(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The first layer's weights in every layer."""
    made: Tensor = stack(y, x, *inputs, order=[0] * depth(inputs)) + 0 * sum(W.sum() for W in inputs[:18])
    return made


@wrong(DECODER)
def layers_reversed(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The last layer first."""
    return stack(y, x, *inputs, order=range(depth(inputs) - 1, -1, -1))


@wrong(DECODER)
def first_layer_masked(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The source's padding seen from the second layer on."""
    return varied(y, x, inputs, layer, lambda t: t == 0)


@wrong(DECODER)
def first_layer_causal(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """Later places seen from the second layer on."""
    return varied(y, x, inputs, sees_all, lambda t: True)


@wrong(DECODER)
def source_changes(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """The source normalised once more for every layer above the first."""
    return varied(y, x, inputs, source_normalised, lambda t: True)


@wrong(DECODER)
def normed_again(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """A normalization after the last layer."""
    z = stack(y, x, *inputs)
    return F.layer_norm(z, z.shape[-1:], eps=inputs[18])


@wrong(DECODER)
def last_layer_left_out(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """One layer too few, where there is more than one."""
    left = max(depth(inputs) - 1, 1)
    made: Tensor = stack(y, x, *inputs, order=range(left)) + 0 * sum(W.sum() for W in inputs[:18])
    return made


@wrong(DECODER)
def source_of_the_first_layer(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """Gradient reaches the source through the first layer only."""
    return varied(y, x, inputs, encoder_frozen, lambda t: True)


@wrong(DECODER)
def cross_weights_shared(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """All layers ask with the first one's matrices."""
    asked = [W[:1].expand_as(W) + 0 * W if 6 <= place < 10 else W for place, W in enumerate(inputs[:18])]
    return stack(y, x, *asked, *inputs[18:])


@right(DECODER)
def layer_by_layer(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """A loop over the layers, and over the heads in each."""
    return stack(y, x, *inputs)


@right(DECODER)
def token_by_token(y: Tensor, x: Tensor, *inputs: Any) -> Tensor:
    """A token at a time, as in use: the last row of the decoder of those written so far."""
    mask, rows = parts(inputs)[-1], []
    for i in range(y.shape[-2]):
        seen = None if mask is None else mask[..., : i + 1, :]
        rows.append(stack(y[..., : i + 1, :], x, *inputs[:19], seen)[..., -1:, :])
    return torch.cat(rows, -2)
