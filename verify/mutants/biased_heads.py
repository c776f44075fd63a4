"""Variants of ``attention.biased_multi_head``. Weights in its order, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o; then the mask."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import filled
from verify.mutants.gpt import joined
from verify.mutants.heads import every, merged, projected
from verify.mutants.projections import attend

BIASED = "attention.biased_multi_head"
Three = tuple[Tensor, Tensor, Tensor]


def taken(inputs: tuple[Any, ...]) -> tuple[tuple[Tensor, ...], Tensor, Tensor, Tensor | None]:
    """The weights and biases of the projections, those of the output, and the mask of every head."""
    mask = inputs[8] if len(inputs) > 8 else None
    return inputs[:6], inputs[6], inputs[7], every(mask)


def hidden_blanked(x: Tensor, mask: Tensor | None, dim: int) -> Tensor:
    """A sequence with 0 where it is in no attention."""
    return x if mask is None else torch.where(mask.squeeze(-3).any(dim).unsqueeze(-1), x, 0.0)


def three(x: Tensor, y: Tensor, projections: tuple[Tensor, ...], mask: Tensor | None) -> Three:
    """Queries, keys and values of every head, right: (…, h, n, width)."""
    W_q, b_q, W_k, b_k, W_v, b_v = projections
    x, y = hidden_blanked(x, mask, -1), hidden_blanked(y, mask, -2)
    q, k, v = (
        projected(of, W) + b.unsqueeze(-2) for of, W, b in ((x, W_q, b_q), (y, W_k, b_k), (y, W_v, b_v))
    )
    return q, k, v


def biased(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """Multi-head attention with biases, right."""
    projections, W_o, b_o, mask = taken(inputs)
    return joined(attend(*three(x, y, projections, mask), mask), W_o, b_o)


def without(place: int, x: Tensor, y: Tensor, inputs: tuple[Any, ...]) -> Tensor:
    """The same, without the bias at this place."""
    return biased(x, y, *(0 * part if at == place else part for at, part in enumerate(inputs)))


@wrong(BIASED)
def no_query_bias(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The bias of the queries is forgotten."""
    return without(1, x, y, inputs)


@wrong(BIASED)
def no_value_bias(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The bias of the values is forgotten."""
    return without(5, x, y, inputs)


@wrong(BIASED)
def no_output_bias(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The bias of the output is forgotten."""
    return without(7, x, y, inputs)


@wrong(BIASED)
def query_bias_after_the_scale(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """Queries are scaled before their bias is added."""
    projections, W_o, b_o, mask = taken(inputs)
    W_q, b_q = projections[:2]
    q, k, v = three(x, y, (W_q, 0 * b_q, *projections[2:]), mask)
    q = q / q.shape[-1] ** 0.5 + b_q.unsqueeze(-2)
    return joined(attend(q, k, v, mask, 1.0), W_o, b_o)


@wrong(BIASED)
def biases_exchanged(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """Queries have the keys' bias, keys the queries'."""
    W_q, b_q, W_k, b_k, *rest = inputs
    return biased(x, y, W_q, b_k, W_k, b_q, *rest)


@wrong(BIASED)
def one_bias_for_all(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The first head's bias of the queries in every head."""
    W_q, b_q, *rest = inputs
    return biased(x, y, W_q, b_q[:1].expand_as(b_q) + 0 * b_q, *rest)


@wrong(BIASED)
def output_bias_in_every_head(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """Each head goes through W_o and its bias by itself: the bias is added h times."""
    *weights, b_o = inputs[:8]
    return biased(x, y, *weights, len(inputs[0]) * b_o, *inputs[8:])


@wrong(BIASED)
def output_bias_before_the_join(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The output's bias is added before W_o, where the widths allow it."""
    projections, W_o, b_o, mask = taken(inputs)
    found = merged(attend(*three(x, y, projections, mask), mask))
    return (found + b_o) @ W_o if len(W_o) == len(b_o) else found @ W_o + b_o


@wrong(BIASED)
def values_masked_instead(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """Sets hidden tokens to 0 and lets them take part: their biases make keys and values of them."""
    projections, W_o, b_o, mask = taken(inputs)
    return joined(attend(*three(x, y, projections, mask), None), W_o, b_o)


@wrong(BIASED)
def value_bias_where_all_is_hidden(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """Adds the values' bias after the mix, to queries that see nothing, too."""
    projections, W_o, b_o, mask = taken(inputs)
    b_v = projections[5]
    q, k, v = three(x, y, (*projections[:5], 0 * b_v), mask)
    return joined(attend(q, k, v, mask) + b_v.unsqueeze(-2), W_o, b_o)


@wrong(BIASED)
def bias_of_the_wrong_layout(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """Reads the packed bias of the queries entry by entry, not head by head."""
    W_q, b_q, *rest = inputs
    return biased(x, y, W_q, b_q.flatten().reshape(b_q.shape[::-1]).mT, *rest)


@wrong(BIASED)
def value_bias_frozen(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """No gradient reaches the bias of the values."""
    W_q, b_q, W_k, b_k, W_v, b_v, *rest = inputs
    return biased(x, y, W_q, b_q, W_k, b_k, W_v, b_v.detach(), *rest)


@right(BIASED)
def no_key_bias(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The bias of the keys is left out: softmax does not see it."""
    return without(3, x, y, inputs)


@right(BIASED)
def value_bias_behind_the_join(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The values' bias goes through W_o by itself, to every query that sees something."""
    projections, W_o, b_o, mask = taken(inputs)
    b_v = projections[5]
    q, k, v = three(x, y, (*projections[:5], 0 * b_v), mask)
    found = joined(attend(q, k, v, mask), W_o, b_o)
    more = b_v.flatten() @ W_o
    return found + (more if mask is None else mask.squeeze(-3).any(-1).unsqueeze(-1) * more)


@right(BIASED)
def one_more_column(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """The biases are one row more of the matrices, and the sequences have a column of ones."""
    (W_q, b_q, W_k, b_k, W_v, b_v), W_o, b_o, mask = taken(inputs)
    x, y = (torch.cat((of, torch.ones_like(of[..., :1])), -1) for of in (x, y))
    wide = [torch.cat((W, b.unsqueeze(-2)), -2) for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v))]
    x, y = hidden_blanked(x, mask, -1), hidden_blanked(y, mask, -2)
    q, k, v = projected(x, wide[0]), projected(y, wide[1]), projected(y, wide[2])
    return joined(attend(q, k, v, mask), W_o, b_o)


@right(BIASED, fully_masked="filled_1e9")
def biased_and_filled(x: Tensor, y: Tensor, *inputs: Any) -> Tensor:
    """−10⁹ for masked scores, where that is the convention."""
    projections, W_o, b_o, mask = taken(inputs)
    W_q, b_q, W_k, b_k, W_v, b_v = projections
    q, k, v = (
        projected(of, W) + b.unsqueeze(-2) for of, W, b in ((x, W_q, b_q), (y, W_k, b_k), (y, W_v, b_v))
    )
    return joined(filled(q @ k.mT * q.shape[-1] ** -0.5, mask, -1e9) @ v, W_o, b_o)
