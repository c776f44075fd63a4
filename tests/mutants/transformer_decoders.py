"""Variants of ``transformer.decoder_layer`` and ``transformer.decoder``."""

import itertools

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.transformer_layers import heads, network, norm, normed, post

LAYER, DECODER = "transformer.decoder_layer", "transformer.decoder"


def parts(inputs):
    """What follows the sequences: self-attention, cross-attention, network, each with its normalization; ε and the mask."""
    ends = (0, 4, 6, 10, 12, 16, 18)
    weights = [inputs[start:end] for start, end in itertools.pairwise(ends)]
    return *weights, inputs[18], inputs[19] if len(inputs) > 19 else None


def causal(y, ahead=0):
    """The mask of the self-attention, its diagonal moved so many places ahead."""
    m = y.shape[-2]
    return torch.ones(m, m, dtype=torch.bool, device=y.device).tril(ahead)


def composed(y, x, S, a, C, b, N, c):
    """The layer of self-attention, cross-attention and network, each with its normalization, right."""
    s = post(y, S, a)
    return post(b(s + C(s, x)), N, c)


def layer_of(make=composed, ahead=lambda y: 0):
    """A layer that ``make`` composes of both sequences and six functions, its diagonal so far ``ahead``."""

    def layer(y, x, *inputs):
        W, first, C, second, N, third, eps, mask = parts(inputs)
        return make(
            y,
            x,
            lambda y: heads(y, y, W, causal(y, ahead(y))),
            lambda y: norm(y, first, eps),
            lambda s, x: heads(s, x, C, mask),
            lambda s: norm(s, second, eps),
            lambda t: network(t, N),
            lambda t: norm(t, third, eps),
        )

    return layer


layer = layer_of()
"""A decoder layer, right."""


def of_decoder(s, x):
    """The target, instead of a source of its shape."""
    return s + 0 * x if s.shape == x.shape else x


wrong(
    LAYER,
    "sees_the_next",
    "A diagonal off by one: each place sees its successor.",
    cause="too many is seen|depends on later positions",
)(layer_of(ahead=lambda y: 1))
sees_all = wrong(LAYER, "sees_all", "Self-attention without a mask.", cause="look-ahead")(
    layer_of(ahead=lambda y: y.shape[-2])
)
wrong(LAYER, "not_itself", "A diagonal off by one: no place sees itself.", cause="too few is seen")(
    layer_of(ahead=lambda y: -1)
)
wrong(
    LAYER,
    "source_padding_seen",
    "No mask for the source.",
    cause=r"mask is ignored|mask\S* is not applied|must not read",
)(lambda y, x, *inputs: layer(y, x, *inputs[:19]))
wrong(
    LAYER, "mask_of_the_first", "The first token's mask of the source for all tokens.", cause="mask the first"
)(altering(layer, {21: lambda mask: None if mask is None else mask[..., :1, :].expand(mask.shape)}))
wrong(
    LAYER,
    "keys_of_the_decoder",
    "Cross-attention asks the target where the lengths let it.",
    cause=r"\bs\b.*where x\b|x is ignored|\b(n = m|m = n)\b",
)(layer_of(lambda y, x, S, a, C, *rest: composed(y, x, S, a, lambda s, x: C(s, of_decoder(s, x)), *rest)))
wrong(LAYER, "cross_first", "Cross-attention before self-attention.", cause="cross.*(first|before)")(
    layer_of(lambda y, x, S, a, C, b, N, c: post(post(b(y + C(y, x)), S, a), N, c))
)
wrong(
    LAYER,
    "asked_by_the_input",
    "The source is asked by the layer's input, not by what it became.",
    cause=r"\by\b.* where s\b",
)(layer_of(lambda y, x, S, a, C, b, N, c: post(b(post(y, S, a) + C(y, x)), N, c)))
wrong(
    LAYER, "no_sum_around_cross", "Forgets the row beside the cross-attention.", cause=r"s\[\S* is not added"
)(layer_of(lambda y, x, S, a, C, b, N, c: post(b(C(post(y, S, a), x)), N, c)))


@wrong(LAYER, cause="(gamma|γ)_3.* (ignored|belongs)")
def norms_of_an_encoder(y, x, *inputs):
    """The second normalization's gain and bias in the third place too."""
    unused = 0 * (inputs[16] + inputs[17])
    return layer(y, x, *inputs[:16], inputs[10] + unused, inputs[11], *inputs[18:])


source_normalised = wrong(
    LAYER, "source_normalised", "The source normalised once more.", cause=r"\bx is normalised|mean of x\b"
)(lambda y, x, *inputs: layer(y, F.layer_norm(x, x.shape[-1:]), *inputs))
encoder_frozen = wrong(
    LAYER, "encoder_frozen", "No gradient reaches the encoder.", cause=r"no gradient reaches x\b"
)(lambda y, x, *inputs: layer(y, x.detach() + 0 * x, *inputs))
right(LAYER, "by_heads", "The heads one after another.")(lambda y, x, *inputs: layer(y, x, *inputs))


@right(LAYER)
def one_by_one(y, x, *inputs):
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


def own(inputs, t):
    """The inputs of layer t."""
    return (*(W[t] for W in inputs[:18]), inputs[18])


def depth(inputs):
    """How many layers there are."""
    return len(inputs[0])


def stack(y, x, *inputs, order=None, above=layer, seen=lambda t: True):
    """A decoder, right; the layers in another ``order``, of another layer above the first, or masked where ``seen``."""
    mask = parts(inputs)[-1]
    for t in range(depth(inputs)) if order is None else order:
        y = (above if t else layer)(y, x, *own(inputs, t), mask if seen(t) else None)
    return y


def unused(inputs):
    """0, with all weights in its graph."""
    return 0 * sum(W.sum() for W in inputs[:18])


wrong(DECODER, "shared_layers", "The first layer's weights in every layer.", cause="first layer|layer 0")(
    lambda y, x, *inputs: stack(y, x, *inputs, order=[0] * depth(inputs)) + unused(inputs)
)
wrong(DECODER, "layers_reversed", "The last layer first.", cause=r"from the end along L\b|last layer first")(
    lambda y, x, *inputs: stack(y, x, *inputs, order=range(depth(inputs) - 1, -1, -1))
)
wrong(
    DECODER,
    "first_layer_masked",
    "The source's padding seen from the second layer on.",
    cause=r"mask\S* is not applied|must not read",
)(lambda y, x, *inputs: stack(y, x, *inputs, seen=lambda t: t == 0))
wrong(DECODER, "first_layer_causal", "Later places seen from the second layer on.", cause="look-ahead")(
    lambda y, x, *inputs: stack(y, x, *inputs, above=sees_all)
)
wrong(
    DECODER,
    "source_changes",
    "The source normalised once more for every layer above the first.",
    cause=r"\bx is normalised|mean of x\b",
)(lambda y, x, *inputs: stack(y, x, *inputs, above=source_normalised))
wrong(DECODER, "normed_again", "A normalization after the last layer.", cause="normalised")(
    lambda y, x, *inputs: normed(stack(y, x, *inputs), inputs[18])
)
wrong(
    DECODER,
    "last_layer_left_out",
    "One layer too few, where there is more than one.",
    cause="last layer|L − 1 instead of L",
)(lambda y, x, *inputs: stack(y, x, *inputs, order=range(max(depth(inputs) - 1, 1))) + unused(inputs))
wrong(
    DECODER,
    "source_of_the_first_layer",
    "Gradient reaches the source through the first layer only.",
    cause=r"gradient (of|reaches) x\b",
)(lambda y, x, *inputs: stack(y, x, *inputs, above=encoder_frozen))
wrong(
    DECODER,
    "cross_weights_shared",
    "All layers ask with the first one's matrices.",
    cause=r"C_q.*(first|\[0)|first layer",
)(altering(stack, dict.fromkeys(range(8, 12), lambda W: W[:1].expand_as(W) + 0 * W)))
right(DECODER, "layer_by_layer", "A loop over the layers, and over the heads in each.")(
    lambda y, x, *inputs: stack(y, x, *inputs)
)


@right(DECODER)
def token_by_token(y, x, *inputs):
    """A token at a time, as in use: the last row of the decoder of those written so far."""
    mask, rows = parts(inputs)[-1], []
    for i in range(y.shape[-2]):
        seen = None if mask is None else mask[..., : i + 1, :]
        rows.append(stack(y[..., : i + 1, :], x, *inputs[:19], seen)[..., -1:, :])
    return torch.cat(rows, -2)
