"""Variants of ``bert.layer`` and ``bert.encoder``."""

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.biased_heads import biased, zero
from tests.mutants.transformer_layers import composed, norm, post, pre
from tests.mutants.transformer_layers import layer_of as layer_in_general

LAYER, ENCODER = "bert.layer", "bert.encoder"
UNMASKED = r"mask is ignored|mask\S* is not applied|must not read"
"""The cause where a mask hides nothing."""


def network(x, N, activity=F.gelu):
    """The feed-forward network with GELU, right."""
    W_1, b_1, W_2, b_2 = N
    return F.linear(activity(F.linear(x, W_1.mT, b_1)), W_2.mT, b_2)


def parts(inputs):
    """What follows the tokens: attention, normalization, network, normalization, ε and the mask."""
    mask = inputs[17] if len(inputs) > 17 else None
    return inputs[:8], inputs[8:10], inputs[10:14], inputs[14:16], inputs[16], mask


def layer_of(make=composed, activity=F.gelu):
    """A layer composed as ``make`` does, or with another ``activity``."""
    return layer_in_general(
        make, parts, lambda x, W, mask: biased(x, x, *W, mask), lambda x, N: network(x, N, activity)
    )


def layer(x, *inputs):
    """A layer, right."""
    return layer_of()(x, *inputs)


def by_tanh(x):
    """GELU's form with tanh."""
    return F.gelu(x, approximate="tanh")


bert_gelu_by_tanh = wrong(LAYER, "bert_gelu_by_tanh", "GELU's form with tanh.", cause="GELU by tanh")(
    layer_of(activity=by_tanh)
)
wrong(LAYER, "bert_with_relu", "max(0, ·) instead of GELU, as in the Transformer.", cause="is ReLU of")(
    layer_of(activity=torch.relu)
)
wrong(LAYER, "bert_large_eps", "ε is 10⁻⁵, whatever it is told.", cause="(eps|ε) is (not read:|ignored)")(
    altering(layer, {17: lambda eps: 1e-5})
)
wrong(LAYER, "bert_no_query_bias", "The queries' bias dropped.", cause=r"b_q\S* is (not added|ignored)")(
    altering(layer, {2: zero})
)
wrong(
    LAYER,
    "bert_no_output_bias",
    "The bias of the attention's output dropped.",
    cause=r"b_o\S* is (not added|ignored)",
)(altering(layer, {8: zero}))
wrong(
    LAYER, "bert_no_outer_bias", "The network's outer bias dropped.", cause=r"b_2\S* is (not added|ignored)"
)(altering(layer, {14: zero}))
bert_normed_before = wrong(
    LAYER, "bert_normed_before", "Normalised before each sublayer.", cause="norm=pre|normalised before"
)(layer_of(lambda x, A, a, N, n: pre(pre(x, A, a), N, n)))
wrong(
    LAYER,
    "bert_norms_exchanged",
    "The second gain and bias first.",
    cause="parameters of 1 and 2 are exch|(gamma|γ)_1 and (gamma|γ)_2",
)(layer_of(lambda x, A, a, N, n: post(post(x, A, n), N, a)))
wrong(
    LAYER, "bert_network_without_sum", "Forgets the row beside the network.", cause=r"\bs\[\S* is not added"
)(layer_of(lambda x, A, a, N, n: n(N(post(x, A, a)))))
wrong(LAYER, "bert_mask_ignored", "The mask is never used.", cause=UNMASKED)(
    lambda x, *inputs: layer(x, *inputs[:17])
)
wrong(
    LAYER, "bert_sum_detached", "No gradient passes beside the attention.", cause=r"gradient (of|reaches) x\b"
)(layer_of(lambda x, A, a, N, n: post(a(x.detach() + A(x)), N, n)))
right(LAYER, "bert_without_key_bias", "The keys' bias dropped: no softmax sees it.")(
    altering(layer, {4: zero})
)
before = layer_of(lambda x, A, a, N, n: pre(pre(x, A, a), N, n))
right(
    LAYER, "bert_normed_before_by_name", "Normalised before each sublayer, by that convention.", norm="pre"
)(before)
wrong(
    LAYER,
    "bert_normed_after_all",
    "Normalised after each sum, where it should be before.",
    cause="norm=post|normalised after",
    norm="pre",
)(layer)
wrong(
    LAYER,
    "bert_network_not_normed",
    "The network reads the sum as it is.",
    cause=r"s\b.* where w\b",
    norm="pre",
)(layer_of(lambda x, A, a, N, n: pre(x, A, a) + N(pre(x, A, a)) + 0 * n(x)))
wrong(
    LAYER,
    "bert_normed_row_added",
    "The normalised row added, not the row.",
    cause=r"residual in s is u\b|reads u\b.* where x\b",
    norm="pre",
)(layer_of(lambda x, A, a, N, n: pre(a(x) + A(a(x)), N, n)))
right(LAYER, "bert_relu_by_name", "max(0, ·) for GELU, by that convention.", activation="relu")(
    layer_of(activity=torch.relu)
)
right(LAYER, "bert_relu_and_normed_before", "Both.", activation="relu", norm="pre")(
    layer_of(lambda x, A, a, N, n: pre(pre(x, A, a), N, n), activity=torch.relu)
)
right(LAYER, "bert_gelu_by_tanh_by_name", "GELU's form with tanh, by that convention.", approximation="tanh")(
    layer_of(activity=by_tanh)
)

# The encoder --------------------------------------------------------------------------------------------------------------


def words(inputs):
    """Which tokens are words."""
    return inputs[25] if len(inputs) > 25 else None


def embedded(*inputs):
    """The embedding, right."""
    ids, seg, pos, E, S, P = inputs[:6]
    return norm(E[ids] + S[seg] + P[pos], inputs[6:8], inputs[24])


def own(inputs, t):
    """The parameters of layer t, and ε."""
    return (*(W[t] for W in inputs[8:24]), inputs[24])


def depth(inputs):
    """How many layers there are."""
    return len(inputs[8])


def stack(x, *inputs, order=None, one=layer, seen=None):
    """The layers over an embedding, right; in another ``order``, or of another layer, or with the mask where ``seen`` says."""
    mask = words(inputs)
    keys = None if mask is None else mask.unsqueeze(-2)
    for place, t in enumerate(range(depth(inputs)) if order is None else order):
        x = one(x, *own(inputs, t), keys if seen is None or seen(place) else None)
    return x


def encoder(*inputs, embed=lambda x: x, **changes):
    """The encoder, right but for a change of the embedding or of the stack."""
    return stack(embed(embedded(*inputs)), *inputs, **changes)


def untouched(inputs):
    """0, with every parameter of the layers in its graph."""
    return 0 * sum(W.sum() for W in inputs[8:24])


wrong(
    ENCODER,
    "segments_exchanged_below",
    "The rows of the segments read in reverse.",
    cause=r"\bS is read from the end along K",
)(lambda ids, seg, *rest: encoder(ids, len(rest[2]) - 1 - seg, *rest))
wrong(
    ENCODER, "segments_forgotten", "Every token in the first segment.", cause=r"\bseg is (ignored|not read)"
)(lambda ids, seg, *rest: encoder(ids, 0 * seg, *rest))
wrong(
    ENCODER,
    "positions_from_one_below",
    "Positions counted from 1, the last of the table excepted.",
    cause="1 is added to pos",
)(lambda ids, seg, pos, *rest: encoder(ids, seg, (pos + 1).clamp_max(len(rest[2]) - 1), *rest))


@wrong(ENCODER, cause="not normalised")
def embedding_as_it_is(*inputs):
    """The embedding is not normalised, but for gain and bias."""
    ids, seg, pos, E, S, P, gamma, beta = inputs[:8]
    return stack(gamma * (E[ids] + S[seg] + P[pos]) + beta, *inputs)


wrong(
    ENCODER, "small_eps_forgotten", "ε is 10⁻⁵, whatever it is told.", cause="(eps|ε) is (not read:|ignored)"
)(lambda *inputs: encoder(*inputs[:24], 1e-5, *inputs[25:]))
wrong(ENCODER, "gelu_by_tanh_in_all", "GELU's form with tanh, in every layer.", cause="GELU by tanh")(
    lambda *inputs: encoder(*inputs, one=bert_gelu_by_tanh)
)


@wrong(ENCODER, cause=r"b_v\S* is (not added|ignored)")
def one_bias_dropped(*inputs):
    """The values' bias of the last layer dropped."""
    last = torch.arange(depth(inputs)) == depth(inputs) - 1
    kept = torch.where(last.view(-1, 1, 1), 0 * inputs[13], inputs[13])
    return encoder(*inputs[:13], kept, *inputs[14:])


wrong(
    ENCODER,
    "normed_before_in_all",
    "Normalised before each sublayer, in every layer.",
    cause="norm=pre|normalised (first|before)",
)(lambda *inputs: encoder(*inputs, one=bert_normed_before))
wrong(
    ENCODER,
    "one_layer_for_all",
    "The first layer's weights in every layer, as ALBERT has them.",
    cause="first layer|layer 0",
)(lambda *inputs: encoder(*inputs, order=[0] * depth(inputs)) + untouched(inputs))
wrong(
    ENCODER, "layers_upside_down", "The last layer first.", cause=r"from the end along L\b|last layer first"
)(lambda *inputs: encoder(*inputs, order=range(depth(inputs) - 1, -1, -1)))
wrong(
    ENCODER,
    "last_but_one",
    "The hidden states before the last layer, where there are several.",
    cause="last layer|L − 1 instead of L",
)(lambda *inputs: encoder(*inputs, order=range(max(depth(inputs) - 1, 1))) + untouched(inputs))
wrong(ENCODER, "padding_seen", "Padding is attended to.", cause=UNMASKED)(
    lambda *inputs: encoder(*inputs[:25])
)
wrong(
    ENCODER,
    "padding_hidden_once",
    "Padding is hidden in the first layer only.",
    cause=r"mask\S* is not applied|must not read",
)(lambda *inputs: encoder(*inputs, seen=lambda place: place == 0))


@wrong(ENCODER, cause=r"mask\S* is not applied|must not read|hidden entries")
def padding_zeroed_instead(*inputs):
    """The embedding of padding is set to 0, and takes part."""
    x, mask = embedded(*inputs), words(inputs)
    return stack(x if mask is None else x * mask.unsqueeze(-1), *inputs[:25])


wrong(ENCODER, "embedding_frozen", "No gradient reaches the embedding.", cause="no gradient reaches E, S, P")(
    lambda *inputs: encoder(*inputs, embed=lambda x: x.detach() + 0 * x)
)
right(ENCODER, "layer_after_layer", "A loop over the layers, and over the heads in each.")(
    lambda *inputs: encoder(*inputs)
)
right(ENCODER, "without_key_biases", "The keys' biases dropped, in every layer.")(
    lambda *inputs: encoder(*inputs[:11], 0 * inputs[11], *inputs[12:])
)
