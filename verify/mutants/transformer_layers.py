"""Variants of ``transformer.encoder_layer`` and ``transformer.encoder``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.projections import attend

LAYER, ENCODER = "transformer.encoder_layer", "transformer.encoder"
Rows = tuple[Tensor, ...]


def heads(
    x: Tensor, y: Tensor, W: Rows, mask: Tensor | None = None, one: Callable[..., Tensor] = attend
) -> Tensor:
    """Multi-head attention, head by head, right, or of another ``one``: the material of the variants below."""
    W_q, W_k, W_v, W_o = W
    found = [
        one(x @ q, y @ k, y @ v, mask)
        for q, k, v in zip(W_q.unbind(), W_k.unbind(), W_v.unbind(), strict=True)
    ]
    return torch.cat(found, -1) @ W_o


def norm(x: Tensor, W: Rows, eps: float) -> Tensor:
    """Layer normalization, right."""
    return F.layer_norm(x, x.shape[-1:], W[0], W[1], eps)


def network(x: Tensor, W: Rows) -> Tensor:
    """The feed-forward network, right."""
    return F.linear(F.linear(x, W[0].mT, W[1]).relu(), W[2].mT, W[3])


def parts(inputs: tuple[Any, ...]) -> tuple[Rows, Rows, Rows, Rows, float, Tensor | None]:
    """What follows the tokens: attention, normalization, network, normalization, ε and the mask."""
    mask = inputs[13] if len(inputs) > 13 else None
    return inputs[:4], inputs[4:6], inputs[6:10], inputs[10:12], inputs[12], mask


def layer(x: Tensor, *inputs: Any, one: Callable[..., Tensor] = attend) -> Tensor:
    """An encoder layer, right, or with another attention of ``one`` head."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + heads(x, x, W, mask, one), first, eps)
    return norm(s + network(s, N), second, eps)


@wrong(LAYER)
def no_sum_around_attention(x: Tensor, *inputs: Any) -> Tensor:
    """Forgets the row beside the attention."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(heads(x, x, W, mask), first, eps)
    return norm(s + network(s, N), second, eps)


@wrong(LAYER)
def no_sum_around_network(x: Tensor, *inputs: Any) -> Tensor:
    """Forgets the row beside the network."""
    W, first, N, second, eps, mask = parts(inputs)
    return norm(network(norm(x + heads(x, x, W, mask), first, eps), N), second, eps)


@wrong(LAYER)
def one_norm_for_both(x: Tensor, *inputs: Any) -> Tensor:
    """The first gain and bias in both places."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + heads(x, x, W, mask), first, eps)
    return norm(s + network(s, N), first, eps) + 0 * second[0].sum() + 0 * second[1].sum()


@wrong(LAYER)
def norms_exchanged(x: Tensor, *inputs: Any) -> Tensor:
    """The second gain and bias first."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + heads(x, x, W, mask), second, eps)
    return norm(s + network(s, N), first, eps)


@wrong(LAYER)
def normalised_before(x: Tensor, *inputs: Any) -> Tensor:
    """Normalised before each sublayer, as GPT-2 is."""
    W, first, N, second, eps, mask = parts(inputs)
    u = norm(x, first, eps)
    s = x + heads(u, u, W, mask)
    return s + network(norm(s, second, eps), N)


@wrong(LAYER)
def sum_after_norm(x: Tensor, *inputs: Any) -> Tensor:
    """x + layer_norm(sublayer(x))."""
    W, first, N, second, eps, mask = parts(inputs)
    s = x + norm(heads(x, x, W, mask), first, eps)
    return s + norm(network(s, N), second, eps)


@wrong(LAYER)
def input_added_again(x: Tensor, *inputs: Any) -> Tensor:
    """The second sum adds the layer's input."""
    W, first, N, second, eps, mask = parts(inputs)
    return norm(x + network(norm(x + heads(x, x, W, mask), first, eps), N), second, eps)


@wrong(LAYER)
def side_by_side(x: Tensor, *inputs: Any) -> Tensor:
    """The network reads the layer's input, not what attention made of it."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + heads(x, x, W, mask), first, eps)
    return norm(s + network(x, N), second, eps)


@wrong(LAYER)
def normalised_at_the_end(x: Tensor, *inputs: Any) -> Tensor:
    """One normalization too many, without gain and bias."""
    y = layer(x, *inputs)
    return F.layer_norm(y, y.shape[-1:], eps=inputs[12])


@wrong(LAYER)
def mask_transposed(x: Tensor, *inputs: Any) -> Tensor:
    """Rows and columns of the mask exchanged."""
    mask = parts(inputs)[-1]
    return layer(x, *inputs[:13], None if mask is None else mask.mT)


@wrong(LAYER)
def mask_inverted(x: Tensor, *inputs: Any) -> Tensor:
    """True taken for “may not attend”."""
    mask = parts(inputs)[-1]
    return layer(x, *inputs[:13], None if mask is None else ~mask)


@wrong(LAYER)
def normalised_over_tokens(x: Tensor, *inputs: Any) -> Tensor:
    """The second normalization over the tokens, as batch normalization does."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + heads(x, x, W, mask), first, eps)
    r = s + network(s, N)
    centred = r - r.mean(-2, keepdim=True)
    return second[0] * centred / (centred.square().mean(-2, keepdim=True) + eps).sqrt() + second[1]


@right(LAYER)
def head_by_head(x: Tensor, *inputs: Any) -> Tensor:
    """The heads one after another."""
    return layer(x, *inputs)


@right(LAYER)
def projected_at_once(x: Tensor, *inputs: Any) -> Tensor:
    """Queries, keys and values of all heads by one product."""
    W, first, N, second, eps, mask = parts(inputs)
    sizes = [W[k].shape[0] * W[k].shape[2] for k in range(3)]
    packed = torch.cat([w.transpose(0, 1).flatten(1) for w in W[:3]], 1)
    q, k, v = (
        part.unflatten(-1, (len(W[0]), -1)).transpose(-2, -3) for part in (x @ packed).split(sizes, -1)
    )
    z = attend(q, k, v, None if mask is None else mask.unsqueeze(-3)).transpose(-2, -3).flatten(-2) @ W[3]
    s = norm(x + z, first, eps)
    return norm(s + network(s, N), second, eps)


def onto(x: Tensor, z: Tensor, W: Tensor) -> Tensor:
    """x + z W, term after term added onto x."""
    for c in range(len(W)):
        x = x + z[..., c : c + 1] * W[c]
    return x


@right(LAYER)
def products_added_onto_rows(x: Tensor, *inputs: Any) -> Tensor:
    """The last products are added onto the rows beside them, term after term, as fused kernels do with beta = 1."""
    W, first, N, second, eps, mask = parts(inputs)
    q, k, v = (torch.einsum("...nl,hlc->...hnc", x, w) for w in W[:3])
    z = attend(q, k, v, None if mask is None else mask.unsqueeze(-3)).transpose(-2, -3).flatten(-2)
    s = norm(onto(x, z, W[3]), first, eps)
    h = F.linear(s, N[0].mT, N[1]).relu()
    return norm(onto(s + N[3], h, N[2]), second, eps)


@right(LAYER, norm="pre")
def normalised_before_by_name(x: Tensor, *inputs: Any) -> Tensor:
    """Normalised before each sublayer, under that convention."""
    made: Tensor = normalised_before(x, *inputs)
    return made


# Stacks -------------------------------------------------------------------------------------------------------------------


def depth(inputs: tuple[Any, ...]) -> int:
    """How many layers there are."""
    return len(inputs[0])


def own(inputs: tuple[Any, ...], t: int) -> tuple[Any, ...]:
    """The inputs of layer t."""
    return (*(W[t] for W in inputs[:12]), inputs[12])


def stack(x: Tensor, *inputs: Any, order: Any = None) -> Tensor:
    """An encoder, right; the layers in another ``order`` where one is given."""
    mask = parts(inputs)[-1]
    for t in range(depth(inputs)) if order is None else order:
        x = layer(x, *own(inputs, t), mask)
    return x


@wrong(ENCODER)
def shared_layers(x: Tensor, *inputs: Any) -> Tensor:
    """The first layer's weights in every layer."""
    made: Tensor = stack(x, *inputs, order=[0] * depth(inputs)) + 0 * sum(W.sum() for W in inputs[:12])
    return made


@wrong(ENCODER)
def layers_reversed(x: Tensor, *inputs: Any) -> Tensor:
    """The last layer first."""
    return stack(x, *inputs, order=range(depth(inputs) - 1, -1, -1))


@wrong(ENCODER)
def last_layer_left_out(x: Tensor, *inputs: Any) -> Tensor:
    """One layer too few, where there is more than one."""
    left = max(depth(inputs) - 1, 1)
    made: Tensor = stack(x, *inputs, order=range(left)) + 0 * sum(W.sum() for W in inputs[:12])
    return made


@wrong(ENCODER)
def first_layer_masked(x: Tensor, *inputs: Any) -> Tensor:
    """The mask used in the first layer only."""
    mask = parts(inputs)[-1]
    for t in range(depth(inputs)):
        x = layer(x, *own(inputs, t), mask if t == 0 else None)
    return x


@wrong(ENCODER)
def last_layer_masked(x: Tensor, *inputs: Any) -> Tensor:
    """The mask used in the last layer only."""
    mask = parts(inputs)[-1]
    for t in range(depth(inputs)):
        x = layer(x, *own(inputs, t), mask if t == depth(inputs) - 1 else None)
    return x


@wrong(ENCODER)
def normed_again(x: Tensor, *inputs: Any) -> Tensor:
    """A normalization after the last layer."""
    y = stack(x, *inputs)
    return F.layer_norm(y, y.shape[-1:], eps=inputs[12])


@wrong(ENCODER)
def tokens_added_to_every_layer(x: Tensor, *inputs: Any) -> Tensor:
    """Adds the embedded tokens before every layer but the first."""
    mask, first = parts(inputs)[-1], x
    for t in range(depth(inputs)):
        x = layer(x if t == 0 else x + first, *own(inputs, t), mask)
    return x


@wrong(ENCODER)
def norms_of_the_first_layer(x: Tensor, *inputs: Any) -> Tensor:
    """All layers have the first one's gains and biases."""
    shared = [
        W[:1].expand_as(W) + 0 * W if place in (4, 5, 10, 11) else W for place, W in enumerate(inputs[:12])
    ]
    return stack(x, *shared, *inputs[12:])


@wrong(ENCODER)
def lower_layers_frozen(x: Tensor, *inputs: Any) -> Tensor:
    """No gradient passes below the last layer."""
    top = depth(inputs) - 1
    below = stack(x, *inputs, order=range(top))
    return layer(below.detach() + 0 * x if top else x, *own(inputs, top), parts(inputs)[-1])


@right(ENCODER)
def layer_by_layer(x: Tensor, *inputs: Any) -> Tensor:
    """A loop over the layers, and over the heads in each."""
    return stack(x, *inputs)


@right(ENCODER)
def layers_nested(x: Tensor, *inputs: Any) -> Tensor:
    """The last layer of the encoder that all others are."""
    mask, top = parts(inputs)[-1], depth(inputs) - 1
    below = layers_nested(x, *(W[:top] for W in inputs[:12]), inputs[12], mask) if top else x
    return layer(below, *own(inputs, top), mask)
