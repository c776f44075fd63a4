"""A layer of the decoder as most models have it: attention has biases, and the network bends by ReLU or by GELU.

Inputs: the target's tokens y; what the encoder returned, x; the self-attention's W_q, b_q … W_o, b_o and the normalization beside
it; the cross-attention's C_q, c_q … C_o, c_o and the normalization beside it; the network and the normalization beside it; ε; the
mask of the cross-attention. Padding at the end of a target needs no mask: no token of the target sees what comes after it.
"""

from dataclasses import replace

from spec.attention.biased_multi_head import biased_multi_head
from spec.attention.masks import FULLY_MASKED
from spec.bert.layer import ACTIVATION, network
from spec.bert.weights import ZERO, attention
from spec.feedforward.gelu import gelu
from spec.feedforward.relu import relu
from spec.normalization.add_norm import add_norm
from spec.normalization.layer_norm import layer_norm
from spec.transformer.decoder_layer import (
    CUT,
    NETWORK,
    ONE_TOKEN,
    asks,
    beta_1,
    beta_2,
    beta_3,
    blank,
    causal,
    decoder_layer,
    eps,
    extra,
    f,
    gamma_1,
    gamma_2,
    gamma_3,
    i,
    join_sublayers,
    l,
    mask,
    reads,
    real,
    rows,
    shown,
    x,
    y,
    z,
)
from spec.transformer.decoder_layer import WEIGHTS as MATRICES
from spec.transformer.parts import NORM, WIDTHS, d_ff, d_k, d_model, d_v, h, m, n
from spec.vocabulary import *

SELF = attention(of="target", where="self-attention")
CROSS = attention(W="C", b="c", of="target", asked="source", where="cross-attention")
WEIGHTS = (*SELF, gamma_1, beta_1, *CROSS, gamma_2, beta_2, *NETWORK, gamma_3, beta_3)

BIASES = {
    "b_q": [[0]],
    "b_k": [[3]],
    "b_v": [[-1]],
    "b_o": [0, 0],
    "c_q": [[0]],
    "c_k": [[0]],
    "c_v": [[0]],
    "c_o": [0, 1],
}

biased_decoder_layer = Formula(
    "transformer.biased_decoder_layer",
    "Decoder layer with biases",
    why="Which decoder layer do trained weights fit? Hardly ever the one on paper, whose attention multiplies by matrices alone: "
    "a linear layer as libraries build it adds a bias, and so do both attentions of PyTorch's decoder layer, of Marian, of BART "
    "and of Whisper. Eight vectors are little beside eight matrices, but without them none of these models says what it was "
    "trained to say. Two choices more tell the models apart: whether they are normalised before or after, and by what the "
    "network bends.",
    sizes={m: "tokens of the target", n: "tokens of the source", **WIDTHS},
    inputs=(y, x, *WEIGHTS, eps, mask),
    lines=(
        join_sublayers(
            lambda rows: biased_multi_head(rows, rows, *SELF, causal),
            lambda rows: biased_multi_head(rows, x, *CROSS, mask),
            lambda rows: define(f[i, l], network(rows[i])),
        ),
    ),
    outputs=(z,),
    conventions=(
        NORM,
        replace(ACTIVATION, default="relu"),
        *gelu.conventions,
        FULLY_MASKED,
        *layer_norm.conventions,
    ),
    stored=("u", "g", "s", "v", "c", "t", "w", "f"),
    pitfalls=(
        pitfall("a diagonal off by one: each place sees the word that it has to predict", theorem="prefix"),
        pitfall("one bias dropped: all works, and no weights of others do", mutant="asked_without_bias"),
        pitfall(
            "the biases of the self-attention in both attentions", mutant="biases_of_the_first_attention"
        ),
        pitfall(
            "a source set to 0 where it is padding, and not masked: it still has keys and values, the biases",
            mutant="source_zeroed",
        ),
        pitfall("GELU where the weights were trained with ReLU, or the reverse", convention="activation"),
        pitfall("normalised before each sublayer, as Whisper is and BART is not", convention="norm"),
    ),
    sources=(
        *decoder_layer.sources,
        paper("lewis2020", "section 2.1: the Transformer's, with GELU"),
        paper("xiong2020", "figure 1: normalised after and before"),
    ),
    worked=(
        Worked(
            "One token of the target, (1, 0), gathers 2 − 1 from itself, −1 being the bias of the values; that of the keys does "
            "nothing: (2, 0), normalised with ε = 3/4",
            ONE_TOKEN | BIASES,
            [["0.7559", "-0.7559"]],
            4,
            output="s",
        ),
        Worked(
            "From the source it gathers (0, 2), and a bias of 1; the network is silent, and what is left is normalised once more",
            ONE_TOKEN | BIASES,
            [["-0.6013", "0.6013"]],
            4,
        ),
    ),
    notes="Under activation=gelu it is BART's layer, and under norm=pre, too, Whisper's, whose keys have no bias, which changes "
    "nothing; with ReLU it is that of PyTorch, nn.TransformerDecoderLayer, before or after. Where layers are normalised before "
    "their sublayers, models put one normalization more after the last layer: normalization.layer_norm of each row.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

whole = biased_decoder_layer(y, x, *WEIGHTS, eps, mask)


def of_rows(claimed: Claim) -> Claim:
    """A claim that follows from what attention does: everything else is done row by row."""
    return claimed.keeping(layer_norm, add_norm, relu, gelu)


a, b, e = indices(a=h, b=d_k, e=d_v)
NONE = each(0, a, b), each(0, a, b), each(0, a, e), each(0, l)


def unbiased(weights: tuple[Tensor, ...]) -> list[Tensor | Comprehension]:
    """The weights of an attention, with biases of 0."""
    return [part for pair in zip(weights[::2], NONE, strict=True) for part in pair]


biased_decoder_layer.theorem(
    "decoder_layer",
    "With all biases of its attentions 0, and by ReLU, it is the Transformer's decoder layer",
    of_rows(
        claim(
            biased_decoder_layer(
                y,
                x,
                *unbiased(SELF),
                gamma_1,
                beta_1,
                *unbiased(CROSS),
                gamma_2,
                beta_2,
                *NETWORK,
                gamma_3,
                beta_3,
                eps,
                mask,
            )[i, l],
            "=",
            decoder_layer(y, x, *MATRICES, eps, mask)[i, l],
        )
    )
    .citing("multi_head", biased_multi_head(reads(y), reads(y), *SELF, causal))
    .citing(
        "multi_head",
        biased_multi_head(asks(decoder_layer(y, x, *MATRICES, eps, mask)), x, *CROSS, mask),
    )
    .by_definition("both attentions are multi-head attention, and all else is the same"),
    conventions={**ZERO, "activation": "relu"},
)

biased_decoder_layer.theorem(
    "prefix",
    "What a token becomes does not depend on those after it: without them it becomes the same",
    of_rows(
        claim(z[i, l], "=", biased_decoder_layer(y[:rows], x, *WEIGHTS, eps, mask[:rows])[i, l], (i, rows), l)
    )
    .citing("prefix", biased_multi_head(reads(y), reads(y), *SELF), rows=rows, extra=extra, more=extra)
    .citing("first_queries", biased_multi_head(asks(whole), x, *CROSS, mask), rows=rows, extra=extra)
    .by_definition(
        "self-attention sees nothing after a token, each token asks the source by itself, and all else is done row by row"
    ),
    sizes=CUT,
    conventions=ZERO,
)

biased_decoder_layer.theorem(
    "source_padding",
    "Tokens of the source that are hidden from all have no influence: they could as well be 0, though a 0 has keys and values",
    of_rows(
        claim(
            biased_decoder_layer(y, x, *WEIGHTS, eps, shown)[i, l],
            "=",
            biased_decoder_layer(y, blank, *WEIGHTS, eps, shown)[i, l],
        )
    )
    .citing("padding", biased_multi_head(asks(whole), x, *CROSS, mask), real=real, asked=each(TRUE, i))
    .by_definition("the source is seen by cross-attention alone, in which they have none"),
    given=real,
    conventions=ZERO,
)

ATTENTION = h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model

biased_decoder_layer.theorem(
    "parameters",
    "The layer has 2·(h·(d_model + 1)·(2·d_k + d_v) + (h·d_v + 1)·d_model) + 2·d_model·d_ff + d_ff + 7·d_model parameters, "
    "however long the sequences",
    claim(
        parameters(biased_decoder_layer), "=", 2 * ATTENTION + 2 * d_model * d_ff + d_ff + 7 * d_model
    ).by_definition(
        "two attentions with their biases, the two matrices and biases of the network, three gains and three biases"
    ),
    runs=False,
)
