"""Variants of ``transformer.encoder_layer`` and ``transformer.encoder``."""

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.attention import inverse
from tests.mutants.projections import attend

LAYER, ENCODER = "transformer.encoder_layer", "transformer.encoder"


def heads(x, y, W, mask=None, one=attend):
    """Multi-head attention, head by head, right, or of another ``one``: the material of the variants below."""
    W_q, W_k, W_v, W_o = W
    found = [one(x @ q, y @ k, y @ v, mask) for q, k, v in zip(W_q, W_k, W_v, strict=True)]
    return torch.cat(found, -1) @ W_o


def norm(x, W, eps):
    """Layer normalization, right."""
    return F.layer_norm(x, x.shape[-1:], W[0], W[1], eps)


def network(x, W):
    """The feed-forward network, right."""
    return F.linear(F.linear(x, W[0].mT, W[1]).relu(), W[2].mT, W[3])


def parts(inputs):
    """What follows the tokens: attention, normalization, network, normalization, ε and the mask."""
    mask = inputs[13] if len(inputs) > 13 else None
    return inputs[:4], inputs[4:6], inputs[6:10], inputs[10:12], inputs[12], mask


def post(x, sublayer, norm):
    """A sublayer, the row beside it and the normalization, right."""
    return norm(x + sublayer(x))


def pre(x, sublayer, norm):
    """The normalization first."""
    return x + sublayer(norm(x))


def after(x, sublayer, norm):
    """The sum last."""
    return x + norm(sublayer(x))


def layer_of(make, parts=parts, attention=lambda x, W, mask: heads(x, x, W, mask), network=network):
    """A layer that ``make`` composes of the row and four functions: attention, its normalization, network, and that's."""

    def layer(x, *inputs):
        W, first, N, second, eps, mask = parts(inputs)
        return make(
            x,
            lambda x: attention(x, W, mask),
            lambda x: norm(x, first, eps),
            lambda x: network(x, N),
            lambda x: norm(x, second, eps),
        )

    return layer


def composed(x, A, a, N, n):
    """The layer of these functions, right."""
    return post(post(x, A, a), N, n)


def layer(x, *inputs, one=attend):
    """An encoder layer, right, or with another attention of ``one`` head."""
    return layer_of(composed, attention=lambda x, W, mask: heads(x, x, W, mask, one))(x, *inputs)


wrong(LAYER, "no_sum_around_attention", "Forgets the row beside the attention.", cause=r"\bx\S* is not")(
    layer_of(lambda x, A, a, N, n: post(a(A(x)), N, n))
)
wrong(LAYER, "no_sum_around_network", "Forgets the row beside the network.", cause=r"\bs\S* is not added")(
    layer_of(lambda x, A, a, N, n: n(N(post(x, A, a))))
)


@wrong(LAYER, cause="(gamma|beta)_2 .*ignored|where (gamma|beta)_2")
def one_norm_for_both(x, *inputs):
    """The first gain and bias in both places."""
    unused = 0 * (inputs[10].sum() + inputs[11].sum())
    return layer_of(lambda x, A, a, N, n: post(post(x, A, a), N, a))(x, *inputs) + unused


wrong(LAYER, "norms_exchanged", "The second gain and bias first.", cause="of 1 and 2|gamma_1 and gamma_2")(
    layer_of(lambda x, A, a, N, n: post(post(x, A, n), N, a))
)
wrong(LAYER, "normalised_before", "Normalised before each sublayer, as GPT-2 is.", cause="norm=pre")(
    layer_of(lambda x, A, a, N, n: pre(pre(x, A, a), N, n))
)
wrong(LAYER, "sum_after_norm", "x + layer_norm(sublayer(x)).", cause=r"\b[xs]\S* is not added")(
    layer_of(lambda x, A, a, N, n: after(after(x, A, a), N, n))
)
wrong(LAYER, "input_added_again", "The second sum adds the layer's input.", cause="norm.*reads x where s")(
    layer_of(lambda x, A, a, N, n: n(x + N(post(x, A, a))))
)
wrong(
    LAYER,
    "side_by_side",
    "The network reads the layer's input, not what attention made of it.",
    cause="relu.*reads x where s",
)(layer_of(lambda x, A, a, N, n: n(post(x, A, a) + N(x))))


def normed(y, eps):
    """A normalization without gain and bias."""
    return F.layer_norm(y, y.shape[-1:], eps=eps)


wrong(
    LAYER,
    "normalised_at_the_end",
    "One normalization too many, without gain and bias.",
    cause=r"normali\w+ (too|again|twice)",
)(lambda x, *inputs: normed(layer(x, *inputs), inputs[12]))
wrong(LAYER, "mask_transposed", "Rows and columns of the mask exchanged.", cause="axes swapped.*mask")(
    altering(layer, {14: lambda mask: None if mask is None else mask.mT})
)
wrong(LAYER, "mask_inverted", "True taken for “may not attend”.", cause="(polarity|condition).*inverted")(
    altering(layer, {14: inverse})
)


@wrong(LAYER, cause="wrong axis|must not read|over tokens")
def normalised_over_tokens(x, *inputs):
    """The second normalization over the tokens, as batch normalization does."""
    r = layer_of(lambda x, A, a, N, n: post(post(x, A, a), N, lambda r: r))(x, *inputs)
    centred = r - r.mean(-2, keepdim=True)
    return inputs[10] * centred / (centred.square().mean(-2, keepdim=True) + inputs[12]).sqrt() + inputs[11]


def annotated_norm(y, W, eps):
    """The Annotated Transformer's normalization: divided by its unbiased deviation, with ε beside it."""
    return W[0] * (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + eps) + W[1]


def normed_by(first, second):
    """A layer normalised before its sublayers, by these."""

    def layer(x, *inputs):
        W, a, N, n, eps, mask = parts(inputs)
        s = x + heads(u := first(x, a, eps), u, W, mask)
        return s + network(second(s, n, eps), N)

    return layer


ANNOTATED = {"norm": "pre", "eps": "outside", "divisor": "unbiased"}
right(LAYER, "annotated", "The Annotated Transformer's layer, by its conventions.", **ANNOTATED)(
    normed_by(annotated_norm, annotated_norm)
)
wrong(
    LAYER,
    "annotated_once",
    "The first normalization alone divides by the unbiased deviation plus ε.",
    **ANNOTATED,
    cause="inside the (root|sqrt)|eps=inside|biased",
)(normed_by(annotated_norm, norm))
wrong(
    LAYER,
    "gain_plus_one_once",
    "1 + γ in the first normalization alone.",
    norm="pre",
    gain="one_plus",
    cause="1 is (subtracted from gamma_2|not added)",
)(normed_by(lambda x, W, eps: norm(x, (1 + W[0], W[1]), eps), norm))


right(LAYER, "head_by_head", "The heads one after another.")(lambda x, *inputs: layer(x, *inputs))


def side_by_side_heads(q, k, v, mask):
    """All heads at once, merged."""
    return attend(q, k, v, None if mask is None else mask.unsqueeze(-3)).transpose(-2, -3).flatten(-2)


def by_one_product(x, W, mask):
    """Multi-head attention by packed projections."""
    sizes = [w.shape[0] * w.shape[2] for w in W[:3]]
    packed = torch.cat([w.transpose(0, 1).flatten(1) for w in W[:3]], 1)
    three = [part.unflatten(-1, (len(W[0]), -1)).transpose(-2, -3) for part in (x @ packed).split(sizes, -1)]
    return side_by_side_heads(*three, mask) @ W[3]


right(LAYER, "projected_at_once", "Queries, keys and values of all heads by one product.")(
    layer_of(composed, attention=by_one_product)
)


def onto(x, z, W):
    """x + z W, term after term added onto x."""
    for c in range(len(W)):
        x = x + z[..., c : c + 1] * W[c]
    return x


@right(LAYER)
def products_added_onto_rows(x, *inputs):
    """The last products are added onto the rows beside them, term after term, as fused kernels do with beta = 1."""
    W, first, N, second, eps, mask = parts(inputs)
    z = side_by_side_heads(*(torch.einsum("...nl,hlc->...hnc", x, w) for w in W[:3]), mask)
    s = norm(onto(x, z, W[3]), first, eps)
    h = F.linear(s, N[0].mT, N[1]).relu()
    return norm(onto(s + N[3], h, N[2]), second, eps)


right(LAYER, "normalised_before_by_name", "Normalised before each sublayer, by that convention.", norm="pre")(
    layer_of(lambda x, A, a, N, n: pre(pre(x, A, a), N, n))
)

# Stacks -------------------------------------------------------------------------------------------------------------------


def depth(inputs):
    """How many layers there are."""
    return len(inputs[0])


def own(inputs, t):
    """The inputs of layer t."""
    return (*(W[t] for W in inputs[:12]), inputs[12])


def stack(x, *inputs, order=None, seen=lambda t, top: True, read=lambda t, x, first: x):
    """An encoder, right; the layers in another ``order``, the mask where it is ``seen``, or other rows read by layer t."""
    mask, first, top = parts(inputs)[-1], x, depth(inputs) - 1
    for t in range(top + 1) if order is None else order:
        x = layer(read(t, x, first), *own(inputs, t), mask if seen(t, top) else None)
    return x


def unused(inputs):
    """0, with all weights in its graph."""
    return 0 * sum(W.sum() for W in inputs[:12])


wrong(ENCODER, "shared_layers", "The first layer's weights in every layer.", cause=r"first layer|\[0,")(
    lambda x, *inputs: stack(x, *inputs, order=[0] * depth(inputs)) + unused(inputs)
)
wrong(ENCODER, "layers_reversed", "The last layer first.", cause="from the end along L")(
    lambda x, *inputs: stack(x, *inputs, order=range(depth(inputs) - 1, -1, -1))
)
wrong(ENCODER, "last_layer_left_out", "One layer too few, where there is more than one.", cause="L − 1")(
    lambda x, *inputs: stack(x, *inputs, order=range(max(depth(inputs) - 1, 1))) + unused(inputs)
)
wrong(
    ENCODER,
    "first_layer_masked",
    "The mask used in the first layer only.",
    cause="must not read|mask.*(first|one) layer",
)(lambda x, *inputs: stack(x, *inputs, seen=lambda t, top: t == 0))
wrong(
    ENCODER,
    "last_layer_masked",
    "The mask used in the last layer only.",
    cause="must not read|mask.*(last|one) layer",
)(lambda x, *inputs: stack(x, *inputs, seen=lambda t, top: t == top))
wrong(
    ENCODER, "normed_again", "A normalization after the last layer.", cause=r"normali\w+ (too|again|twice)"
)(lambda x, *inputs: normed(stack(x, *inputs), inputs[12]))
wrong(
    ENCODER,
    "tokens_added_to_every_layer",
    "Adds the embedded tokens before every layer but the first.",
    cause=r"\bx is added to|H\[0",
)(lambda x, *inputs: stack(x, *inputs, read=lambda t, x, first: x + first if t else x))
wrong(
    ENCODER,
    "norms_of_the_first_layer",
    "All layers have the first one's gains and biases.",
    cause=r"(gamma|beta)_\d.*first|first layer",
)(altering(stack, dict.fromkeys((5, 6, 11, 12), lambda W: W[:1].expand_as(W) + 0 * W)))


@wrong(ENCODER, cause=r"reaches x\b|\bH .*for a constant")
def lower_layers_frozen(x, *inputs):
    """No gradient passes below the last layer."""
    top = depth(inputs) - 1
    below = stack(x, *inputs, order=range(top))
    return layer(below.detach() + 0 * x if top else x, *own(inputs, top), parts(inputs)[-1])


right(ENCODER, "layer_by_layer", "A loop over the layers, and over the heads in each.")(
    lambda x, *inputs: stack(x, *inputs)
)


@right(ENCODER)
def layers_nested(x, *inputs):
    """The last layer of the encoder that all others are."""
    mask, top = parts(inputs)[-1], depth(inputs) - 1
    below = layers_nested(x, *(W[:top] for W in inputs[:12]), inputs[12], mask) if top else x
    return layer(below, *own(inputs, top), mask)
