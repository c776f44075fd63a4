"""Variants of ``vision.patches``, ``vision.encoder`` and ``vision.classifier``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong
from tests.mutants.bert_encoder import before, by_tanh, layer_of
from tests.mutants.bert_encoder import layer as after
from tests.mutants.transformer_layers import norm, pre

PATCHES, ENCODER, CLASSIFIER = "vision.patches", "vision.encoder", "vision.classifier"


def squares(image, p):
    """The pixels of each patch: (…, n_r, n_c, C, p, p)."""
    cut = image.unflatten(-1, (-1, p)).unflatten(-3, (-1, p))  # (…, C, n_r, p, n_c, p)
    return cut.movedim(-4, -5).movedim(-2, -4)


def rows(grid):
    """A grid of rows as one sequence, as one reads a page."""
    return grid.flatten(-3, -2)


def patches_of(cut=squares, kernel=lambda W: W, bias=lambda b, W: b, join=rows):
    """Patches, right but for how the image is cut, for the matrix, the bias, or the order of the rows."""

    def patches(image, W, b):
        grid = cut(image, W.shape[1]).flatten(-3) @ kernel(W).flatten(0, 2) + bias(b, W)
        return join(grid)

    return patches


patches = patches_of()
"""Patches, right."""

wrong(
    PATCHES, "patches_by_columns", "Counts patches down the columns.", cause="n_r|n_c|swapped|transpos|order"
)(patches_of(join=lambda grid: rows(grid.transpose(-3, -2))))
wrong(
    PATCHES, "patch_transposed", "Rows and columns of a patch exchanged.", cause="swapped|transpos|exchanged"
)(patches_of(kernel=lambda W: W.transpose(1, 2)))
wrong(
    PATCHES,
    "channels_last",
    "Reads a matrix whose rows are in the order row, column, channel as if channels came first.",
    cause="swapped|transpos|permuted|reshaped",
)(patches_of(kernel=lambda W: W.movedim(0, 2).reshape(W.shape)))
wrong(
    PATCHES,
    "channels_averaged",
    "The mean of the channels, not their sum.",
    cause=r"mean over c\b|divided by C\b",
)(patches_of(kernel=lambda W: W / len(W)))
wrong(
    PATCHES, "channels_reversed", "Blue first: the channels in reverse.", cause=r"channel|revers|from the end"
)(patches_of(cut=lambda image, p: squares(image.flip(-3), p)))
wrong(
    PATCHES, "patch_bias_left_out", "No bias.", cause=r"\bb(\[l\])? is (not (added|read)|ignored)|fixed at 0"
)(patches_of(bias=lambda b, W: 0 * b))
wrong(
    PATCHES,
    "bias_of_every_channel",
    "Adds the bias once for each channel.",
    cause=r"multiplied by C\b|\bb\b.*\bC\b",
)(patches_of(bias=lambda b, W: len(W) * b))
wrong(PATCHES, "one_pixel_off", "Cuts one pixel further left, around the edge.", cause="off by one|− 1|- 1")(
    patches_of(cut=lambda image, p: squares(image.roll(1, -1), p))
)
wrong(
    PATCHES,
    "kernel_flipped",
    "Turns the kernel around, as convolutions in mathematics do.",
    cause="revers|flip|from the end|p - ",
)(patches_of(kernel=lambda W: W.flip(1, 2)))
wrong(
    PATCHES,
    "stride_of_one",
    "Moves on by one pixel, not by a patch, and keeps the first.",
    cause=r"i·p|j·p|by p\b|stride",
)(
    patches_of(
        cut=lambda image, p: (
            image.unfold(-2, p, 1)
            .unfold(-2, p, 1)[..., : image.shape[-2] // p, : image.shape[-1] // p, :, :]
            .movedim(-5, -3)
        )
    )
)
wrong(
    PATCHES, "patch_bias_frozen", "No gradient reaches the bias.", cause=r"gradient.*\bb\b|\bb\b.*gradient"
)(patches_of(bias=lambda b, W: b.detach() + 0 * b))


@right(PATCHES)
def channel_by_channel(image, W, b):
    """A sum over the channels, each a picture of its own, cut by a view."""
    p, z = W.shape[1], 0
    for x, of in zip(image.unbind(-3), W, strict=True):
        n_r, n_c = x.shape[-2] // p, x.shape[-1] // p
        cut = x.reshape(*x.shape[:-2], n_r, p, n_c, p).movedim(-3, -2).flatten(-2).flatten(-3, -2)
        z = z + cut @ of.flatten(0, 1)
    return z + b


# The encoder --------------------------------------------------------------------------------------------------------------

EPS = 1e-6


def tokens(z, cls, P):
    """What the first layer reads, right."""
    return torch.cat((cls.expand(*z.shape[:-2], 1, -1), z), -2) + P


def own(weights, t):
    """The parameters of layer t."""
    return tuple(W[t] for W in weights)


def encoder_of(
    embed=tokens, one=before, eps=EPS, last=norm, order=lambda L: range(L), between=lambda x, first: x
):
    """An encoder, right but for what the first layer reads, for the layer, ε, the last normalization, the layers' order, or for
    what is done before each layer but the first.
    """

    def encoder(z, cls, P, *rest):
        weights, ends = rest[:16], rest[16:]
        x = first = embed(z, cls, P)
        for place, t in enumerate(order(len(weights[0]))):
            x = one(between(x, first) if place else x, *own(weights, t), eps)
        return last(x, ends, eps)

    return encoder


encoder = encoder_of()
"""The encoder, right."""


@wrong(ENCODER, via=encoder_of, cause=r"P\[|off by one|position|exchanged|cls")
def class_behind(z, cls, P):
    """Puts the class token behind the patches: each has the position of the next, and it that of the last."""
    return (torch.cat((z, cls.expand(*z.shape[:-2], 1, -1)), -2) + P).roll(1, -2)


@wrong(ENCODER, via=encoder_of, cause=r"P(\[0.*)? is (not (added|read)|ignored)|fixed at 0")
def class_without_position(z, cls, P):
    """The class token has no position."""
    return tokens(z, cls, torch.cat((0 * P[:1], P[1:])))


@wrong(ENCODER, via=encoder_of, cause=r"off by one|P\[k")
def patches_from_zero(z, cls, P):
    """The first patch has the class token's position, and so on."""
    return tokens(z, cls, torch.cat((P[:1], P[:-1])) + 0 * P)


wrong(
    ENCODER,
    "positions_forgotten",
    "No positions.",
    cause=r"\bP(\[.*)? is (not (added|read)|ignored)|fixed at 0",
)(encoder_of(lambda z, cls, P: tokens(z, cls, 0 * P)))
wrong(
    ENCODER,
    "positions_in_every_layer",
    "Adds what the first layer reads in every layer.",
    cause=r"\bx\b.*(added|,? too)",
)(encoder_of(between=lambda x, first: x + first))
wrong(
    ENCODER,
    "not_normed_at_the_end",
    "Forgets the last normalization, but for gain and bias.",
    cause="layer_norm|normali[sz]|divided by",
)(encoder_of(last=lambda x, W, eps: W[0] * x + W[1]))
wrong(
    ENCODER, "image_eps_of_torch", "ε = 10⁻⁵, torch's default.", cause=r"(ε|eps).*(10⁻⁵|1e-0?5)|0\.00001\b"
)(encoder_of(eps=1e-5))
wrong(
    ENCODER,
    "image_eps_of_transformers",
    "ε = 10⁻¹², the default of transformers.",
    cause="epsilon=transformers",
)(encoder_of(eps=1e-12))
wrong(ENCODER, "image_normed_after", "Normalised after each sum, as in BERT.", cause="norm=post")(
    encoder_of(one=after)
)
wrong(
    ENCODER,
    "image_gelu_by_tanh",
    "GELU's form with tanh, in every layer.",
    cause="approximation=tanh|gelu_tanh|by tanh",
)(encoder_of(one=layer_of(lambda x, A, a, N, n: pre(pre(x, A, a), N, n), activity=by_tanh)))
wrong(
    ENCODER,
    "image_layers_reversed",
    "The last layer first.",
    cause=r"layer.*(order|revers)|L - |instead of",
)(encoder_of(order=lambda L: range(L - 1, -1, -1)))
wrong(
    ENCODER,
    "image_query_bias_left_out",
    "The queries have no bias.",
    cause=r"b_q\b.*(not (added|read)|ignored|fixed)",
)(lambda z, cls, P, W_q, b_q, *rest: encoder(z, cls, P, W_q, 0 * b_q, *rest))
wrong(
    ENCODER,
    "positions_frozen",
    "No gradient reaches the positions.",
    cause=r"gradient.*\bP\b|\bP\b.*gradient",
)(encoder_of(lambda z, cls, P: tokens(z, cls, P.detach() + 0 * P)))
right(ENCODER, "token_layers_in_a_loop", "A loop over the layers, and over the heads in each.")(
    lambda *inputs: encoder(*inputs)
)
right(ENCODER, "image_without_key_biases", "The keys' biases dropped, in every layer.")(
    lambda *inputs: encoder(*inputs[:6], 0 * inputs[6], *inputs[7:])
)
right(ENCODER, "image_eps_by_name", "ε = 10⁻¹², by that convention.", epsilon="transformers")(
    encoder_of(eps=1e-12)
)
right(ENCODER, "image_normed_after_by_name", "Normalised after each sum, by that convention.", norm="post")(
    encoder_of(one=after)
)

# The classifier -----------------------------------------------------------------------------------------------------------


def first(y):
    """The class token's row."""
    return y[..., 0, :]


def classifier_of(cut=patches, encode=encoder, read=first, say=lambda logits: logits, bias=lambda b: b):
    """A classifier, right but for its patches, its encoder, the row that is read, the logits, or the head's bias."""

    def classifier(image, W, b, *rest):
        *inside, W_h, b_h = rest
        return say(read(encode(cut(image, W, b), *inside)) @ W_h + bias(b_h))

    return classifier


wrong(
    CLASSIFIER, "mean_of_patches", "Reads the mean of the patches' features.", cause=r"y\[|mean|class token"
)(classifier_of(read=lambda y: y[..., 1:, :].mean(-2)))
wrong(CLASSIFIER, "mean_of_all_tokens", "Reads the mean of all features.", cause=r"y\[|mean")(
    classifier_of(read=lambda y: y.mean(-2))
)
wrong(
    CLASSIFIER,
    "last_patch",
    "Reads the last patch's feature.",
    cause=r"y\[|last|instead of 0",
)(classifier_of(read=lambda y: y[..., -1, :]))
wrong(CLASSIFIER, "pooled_by_tanh", "A tanh before the head, as BERT's pooler has it.", cause="tanh")(
    classifier_of(read=lambda y: first(y).tanh())
)
wrong(
    CLASSIFIER,
    "not_normed_below_the_head",
    "Reads the class token before the last normalization, but for gain and bias.",
    cause="layer_norm|normali[sz]|divided by",
)(classifier_of(encode=encoder_of(last=lambda x, W, eps: W[0] * x + W[1])))
wrong(
    CLASSIFIER, "columns_first", "Counts patches down the columns.", cause="n_r|n_c|swapped|transpos|order"
)(classifier_of(cut=patches_of(join=lambda grid: rows(grid.transpose(-3, -2)))))
wrong(CLASSIFIER, "softmax_in_the_classifier", "Returns probabilities.", cause="softmax")(
    classifier_of(say=lambda logits: logits.softmax(-1))
)
wrong(
    CLASSIFIER,
    "class_bias_left_out",
    "The head has no bias.",
    cause=r"b_h(\[.*)? is (not (added|read)|ignored)|fixed at 0",
)(classifier_of(bias=lambda b: 0 * b))
wrong(
    CLASSIFIER,
    "classifier_eps_of_transformers",
    "ε = 10⁻¹², the default of transformers.",
    cause="epsilon=transformers",
)(classifier_of(encode=encoder_of(eps=1e-12)))
wrong(CLASSIFIER, "encoder_frozen", "Trains the head alone: no gradient passes below it.", cause="gradient")(
    classifier_of(read=lambda y: first(y).detach() + 0 * first(y))
)
wrong(CLASSIFIER, "class_token_unscaled", "Attention without its scale.", cause="scale")(
    classifier_of(
        encode=lambda z, cls, P, W_q, b_q, *rest: encoder(
            z, cls, P, W_q * W_q.shape[-1] ** 0.5, b_q * W_q.shape[-1] ** 0.5, *rest
        )
    )
)
right(CLASSIFIER, "composed", "A convolution, the encoder, and a product.")(
    classifier_of(
        cut=lambda image, W, b: (
            F.conv2d(image.flatten(0, -4), W.movedim(-1, 0), b, stride=W.shape[1])
            .flatten(-2)
            .mT.unflatten(0, image.shape[:-3])
        )
    )
)
right(CLASSIFIER, "head_below_the_gain", "The last gain and bias are taken into the head.")(
    lambda image, W, b, *rest: classifier_of()(
        image,
        W,
        b,
        *rest[:-4],
        torch.ones_like(rest[-4]),
        torch.zeros_like(rest[-3]),
        rest[-4].unsqueeze(-1) * rest[-2],
        rest[-1] + rest[-3] @ rest[-2],
    )
)
