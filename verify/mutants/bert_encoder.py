"""Variants of ``bert.layer`` and ``bert.encoder``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.biased_heads import biased, without
from verify.mutants.transformer_layers import norm

LAYER, ENCODER = "bert.layer", "bert.encoder"
Rows = tuple[Tensor, ...]


def network(x: Tensor, N: Rows, approximate: str = "none") -> Tensor:
    """The feed-forward network with GELU, right."""
    W_1, b_1, W_2, b_2 = N
    return F.linear(F.gelu(F.linear(x, W_1.mT, b_1), approximate=approximate), W_2.mT, b_2)


def parts(inputs: tuple[Any, ...]) -> tuple[Rows, Rows, Rows, Rows, float, Tensor | None]:
    """What follows the tokens: attention, normalization, network, normalization, ε and the mask."""
    mask = inputs[17] if len(inputs) > 17 else None
    return inputs[:8], inputs[8:10], inputs[10:14], inputs[14:16], inputs[16], mask


def layer(x: Tensor, *inputs: Any) -> Tensor:
    """A layer, right."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + biased(x, x, *W, mask), first, eps)
    return norm(s + network(s, N), second, eps)


@wrong(LAYER)
def bert_gelu_by_tanh(x: Tensor, *inputs: Any) -> Tensor:
    """GELU's form with tanh."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + biased(x, x, *W, mask), first, eps)
    return norm(s + network(s, N, "tanh"), second, eps)


@wrong(LAYER)
def bert_with_relu(x: Tensor, *inputs: Any) -> Tensor:
    """max(0, ·) in the place of GELU, as in the Transformer."""
    W, first, (W_1, b_1, W_2, b_2), second, eps, mask = parts(inputs)
    s = norm(x + biased(x, x, *W, mask), first, eps)
    return norm(s + F.linear(F.linear(s, W_1.mT, b_1).relu(), W_2.mT, b_2), second, eps)


@wrong(LAYER)
def bert_large_eps(x: Tensor, *inputs: Any) -> Tensor:
    """ε is 10⁻⁵, whatever it is told."""
    return layer(x, *inputs[:16], 1e-5, *inputs[17:])


@wrong(LAYER)
def bert_no_query_bias(x: Tensor, *inputs: Any) -> Tensor:
    """The queries' bias dropped."""
    return layer(x, inputs[0], 0 * inputs[1], *inputs[2:])


@wrong(LAYER)
def bert_no_output_bias(x: Tensor, *inputs: Any) -> Tensor:
    """The bias of the attention's output dropped."""
    return layer(x, *inputs[:7], 0 * inputs[7], *inputs[8:])


@wrong(LAYER)
def bert_no_outer_bias(x: Tensor, *inputs: Any) -> Tensor:
    """The network's outer bias dropped."""
    return layer(x, *inputs[:13], 0 * inputs[13], *inputs[14:])


@wrong(LAYER)
def bert_normed_before(x: Tensor, *inputs: Any) -> Tensor:
    """Normalised before each sublayer."""
    W, first, N, second, eps, mask = parts(inputs)
    u = norm(x, first, eps)
    s = x + biased(u, u, *W, mask)
    return s + network(norm(s, second, eps), N)


@wrong(LAYER)
def bert_norms_exchanged(x: Tensor, *inputs: Any) -> Tensor:
    """The second gain and bias first."""
    return layer(x, *inputs[:8], *inputs[14:16], *inputs[10:14], *inputs[8:10], *inputs[16:])


@wrong(LAYER)
def bert_network_without_sum(x: Tensor, *inputs: Any) -> Tensor:
    """Forgets the row beside the network."""
    W, first, N, second, eps, mask = parts(inputs)
    return norm(network(norm(x + biased(x, x, *W, mask), first, eps), N), second, eps)


@wrong(LAYER)
def bert_mask_ignored(x: Tensor, *inputs: Any) -> Tensor:
    """The mask is never used."""
    return layer(x, *inputs[:17])


@wrong(LAYER)
def bert_sum_detached(x: Tensor, *inputs: Any) -> Tensor:
    """No gradient passes beside the attention."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x.detach() + biased(x, x, *W, mask), first, eps)
    return norm(s + network(s, N), second, eps)


@right(LAYER)
def bert_without_key_bias(x: Tensor, *inputs: Any) -> Tensor:
    """The keys' bias dropped: no softmax sees it."""
    W, first, N, second, eps, mask = parts(inputs)
    s = norm(x + without(3, x, x, (*W, mask)), first, eps)
    return norm(s + network(s, N), second, eps)


@right(LAYER, approximation="tanh")
def bert_gelu_by_tanh_by_name(x: Tensor, *inputs: Any) -> Tensor:
    """GELU's form with tanh, where that is the convention."""
    made: Tensor = bert_gelu_by_tanh(x, *inputs)
    return made


# The encoder --------------------------------------------------------------------------------------------------------------


def words(inputs: tuple[Any, ...]) -> Tensor | None:
    """Which tokens are words."""
    return inputs[25] if len(inputs) > 25 else None


def embedded(*inputs: Any) -> Tensor:
    """The embedding, right."""
    ids, seg, pos, E, S, P = inputs[:6]
    return norm(E[ids] + S[seg] + P[pos], inputs[6:8], inputs[24])


def own(inputs: tuple[Any, ...], t: int) -> tuple[Any, ...]:
    """The parameters of layer t, and ε."""
    return (*(W[t] for W in inputs[8:24]), inputs[24])


def depth(inputs: tuple[Any, ...]) -> int:
    """How many layers there are."""
    return len(inputs[8])


def stack(
    x: Tensor, *inputs: Any, order: Any = None, one: Callable[..., Tensor] = layer, seen: Any = None
) -> Tensor:
    """The layers over an embedding, right; in another ``order``, or of another layer, or with the mask where ``seen`` says."""
    mask = words(inputs)
    keys = None if mask is None else mask.unsqueeze(-2)
    for place, t in enumerate(range(depth(inputs)) if order is None else order):
        x = one(x, *own(inputs, t), keys if seen is None or seen(place) else None)
    return x


def encoder(*inputs: Any) -> Tensor:
    """The encoder, right."""
    return stack(embedded(*inputs), *inputs)


def untouched(inputs: tuple[Any, ...]) -> Tensor:
    """0, with every parameter of the layers in its graph."""
    made: Tensor = 0 * sum(W.sum() for W in inputs[8:24])
    return made


@wrong(ENCODER)
def segments_exchanged_below(ids: Tensor, seg: Tensor, *rest: Any) -> Tensor:
    """The rows of the segments read in reverse."""
    return encoder(ids, len(rest[2]) - 1 - seg, *rest)


@wrong(ENCODER)
def segments_forgotten(ids: Tensor, seg: Tensor, *rest: Any) -> Tensor:
    """Every token in the first segment."""
    return encoder(ids, 0 * seg, *rest)


@wrong(ENCODER)
def positions_from_one_below(ids: Tensor, seg: Tensor, pos: Tensor, *rest: Any) -> Tensor:
    """Positions counted from 1, the last of the table excepted."""
    return encoder(ids, seg, (pos + 1).clamp_max(len(rest[2]) - 1), *rest)


@wrong(ENCODER)
def embedding_as_it_is(*inputs: Any) -> Tensor:
    """The embedding is not normalised, but for gain and bias."""
    ids, seg, pos, E, S, P, gamma, beta = inputs[:8]
    return stack(gamma * (E[ids] + S[seg] + P[pos]) + beta, *inputs)


@wrong(ENCODER)
def small_eps_forgotten(*inputs: Any) -> Tensor:
    """ε is 10⁻⁵, whatever it is told."""
    return encoder(*inputs[:24], 1e-5, *inputs[25:])


@wrong(ENCODER)
def gelu_by_tanh_in_all(*inputs: Any) -> Tensor:
    """GELU's form with tanh, in every layer."""
    return stack(embedded(*inputs), *inputs, one=bert_gelu_by_tanh)


@wrong(ENCODER)
def one_bias_dropped(*inputs: Any) -> Tensor:
    """The values' bias of the last layer dropped."""
    last = torch.arange(depth(inputs)) == depth(inputs) - 1
    kept = torch.where(last.view(-1, 1, 1), 0 * inputs[13], inputs[13])
    return encoder(*inputs[:13], kept, *inputs[14:])


@wrong(ENCODER)
def normed_before_in_all(*inputs: Any) -> Tensor:
    """Normalised before each sublayer, in every layer."""
    return stack(embedded(*inputs), *inputs, one=bert_normed_before)


@wrong(ENCODER)
def one_layer_for_all(*inputs: Any) -> Tensor:
    """The first layer's weights in every layer, as ALBERT has them."""
    return stack(embedded(*inputs), *inputs, order=[0] * depth(inputs)) + untouched(inputs)


@wrong(ENCODER)
def layers_upside_down(*inputs: Any) -> Tensor:
    """The last layer first."""
    return stack(embedded(*inputs), *inputs, order=range(depth(inputs) - 1, -1, -1))


@wrong(ENCODER)
def last_but_one(*inputs: Any) -> Tensor:
    """The hidden states before the last layer, where there are several."""
    lower = range(max(depth(inputs) - 1, 1))
    return stack(embedded(*inputs), *inputs, order=lower) + untouched(inputs)


@wrong(ENCODER)
def padding_seen(*inputs: Any) -> Tensor:
    """Padding is attended to."""
    return encoder(*inputs[:25])


@wrong(ENCODER)
def padding_hidden_once(*inputs: Any) -> Tensor:
    """Padding is hidden in the first layer only."""
    return stack(embedded(*inputs), *inputs, seen=lambda place: place == 0)


@wrong(ENCODER)
def padding_zeroed_instead(*inputs: Any) -> Tensor:
    """The embedding of padding is set to 0, and takes part."""
    x, mask = embedded(*inputs), words(inputs)
    return stack(x if mask is None else x * mask.unsqueeze(-1), *inputs[:25])


@wrong(ENCODER)
def embedding_frozen(*inputs: Any) -> Tensor:
    """No gradient reaches the embedding."""
    x = embedded(*inputs)
    return stack(x.detach() + 0 * x, *inputs)


@right(ENCODER)
def layer_after_layer(*inputs: Any) -> Tensor:
    """A loop over the layers, and over the heads in each."""
    return encoder(*inputs)


@right(ENCODER)
def without_key_biases(*inputs: Any) -> Tensor:
    """The keys' biases dropped, in every layer."""
    return encoder(*inputs[:11], 0 * inputs[11], *inputs[12:])
