"""A layer of the decoder: self-attention that sees no later place, cross-attention to the encoder, a feed-forward network.

Inputs: the target's tokens y; what the encoder returned, x; the self-attention's W_q … W_o and the normalization beside it; the
cross-attention's C_q … C_o and the normalization beside it; the network and the normalization beside it; ε; the mask of the
cross-attention. Padding at the end of a target needs no mask: no token of the target sees what comes after it.
"""

from collections.abc import Callable

from spec.attention.masks import FULLY_MASKED
from spec.attention.multi_head import multi_head
from spec.feedforward.relu import relu
from spec.language.lines import LineChoice
from spec.normalization.add_norm import add_norm
from spec.normalization.layer_norm import layer_norm
from spec.transformer.parts import (
    NORM,
    WIDTHS,
    ZERO,
    attention,
    d_ff,
    d_k,
    d_model,
    d_v,
    epsilon,
    h,
    m,
    n,
    network,
    normalization,
)
from spec.vocabulary import *

i, j, l, k = indices(i=m, j=m, l=d_model, k=n)

y = data("y", m, d_model, meaning="the target: one row for each token written so far")
x = data("x", n, d_model, meaning="what the encoder returned: one row for each token of the source")
SELF = attention("W_q", "W_k", "W_v", "W_o", "target", where="self-attention")
gamma_1, beta_1 = normalization(1, "self-attention")
CROSS = attention("C_q", "C_k", "C_v", "C_o", "target", asked="source", where="cross-attention")
gamma_2, beta_2 = normalization(2, "cross-attention")
NETWORK = network(1)
gamma_3, beta_3 = normalization(3, "feed-forward network")
WEIGHTS = (*SELF, gamma_1, beta_1, *CROSS, gamma_2, beta_2, *NETWORK, gamma_3, beta_3)
eps = epsilon()
mask = optional_mask(
    "mask", m, n, meaning="which tokens of the source each token of the target may attend to"
)
u = tensor("u", m, d_model, meaning="the rows that self-attention reads")
g = tensor("g", m, d_model, meaning="what each token has gathered from those up to its own place")
s = tensor("s", m, d_model, meaning="the tokens after the first sublayer")
v = tensor("v", m, d_model, meaning="the rows that ask the source")
c = tensor("c", m, d_model, meaning="what each token has gathered from the source")
t = tensor("t", m, d_model, meaning="the tokens after the second sublayer")
w = tensor("w", m, d_model, meaning="the rows that the feed-forward network reads")
f = tensor("f", m, d_model, meaning="what the feed-forward network makes of each of them")
z = tensor("z", m, d_model, meaning="the tokens after all sublayers")
causal = each(le(j, i), i, j)

ONE_TOKEN = {
    "y": [[1, 0]],
    "x": [[0, 1]],
    "W_q": [[[0], [0]]],
    "W_k": [[[0], [0]]],
    "W_v": [[[2], [0]]],
    "W_o": [[1, 0]],
    "gamma_1": [1, 1],
    "beta_1": [0, 0],
    "C_q": [[[0], [0]]],
    "C_k": [[[0], [0]]],
    "C_v": [[[0], [2]]],
    "C_o": [[0, 1]],
    "gamma_2": [1, 1],
    "beta_2": [0, 0],
    "W_1": [[1], [0]],
    "b_1": [0],
    "W_2": [[3, 0]],
    "b_2": [0, 0],
    "gamma_3": [1, 1],
    "beta_3": [0, 0],
    "eps": "3/4",
}


def join_sublayers(
    gathered: Callable[[Tensor], Applied],
    asked: Callable[[Tensor], Applied],
    worked: Callable[[Tensor], Definition],
) -> LineChoice:
    """The lines of a layer, from what rows gather of each other, what they ask of the source, and the line of its network."""
    return lines_by_convention(
        "norm",
        post=(
            define(g, gathered(y)),
            define(s[i], add_norm(y[i], g[i], gamma_1, beta_1, eps)),
            define(c, asked(s)),
            define(t[i], add_norm(s[i], c[i], gamma_2, beta_2, eps)),
            worked(t),
            define(z[i], add_norm(t[i], f[i], gamma_3, beta_3, eps)),
        ),
        pre=(
            define(u[i], layer_norm(y[i], gamma_1, beta_1, eps)),
            define(g, gathered(u)),
            define(s[i, l], y[i, l] + g[i, l]),
            define(v[i], layer_norm(s[i], gamma_2, beta_2, eps)),
            define(c, asked(v)),
            define(t[i, l], s[i, l] + c[i, l]),
            define(w[i], layer_norm(t[i], gamma_3, beta_3, eps)),
            worked(w),
            define(z[i, l], t[i, l] + f[i, l]),
        ),
    )


decoder_layer = Formula(
    "transformer.decoder_layer",
    "Decoder layer",
    why="What does the next word of a translation depend on? On the words written so far, and on the source. A decoder layer "
    "asks both in turn: self-attention gathers from the words up to each place and from none after it, since these are what "
    "has to be predicted; cross-attention asks what the encoder made of the source. A feed-forward network works on what was "
    "gathered. All places are computed side by side in training; in use, one after another.",
    sizes={m: "tokens of the target", n: "tokens of the source", **WIDTHS},
    inputs=(y, x, *WEIGHTS, eps, mask),
    lines=(
        join_sublayers(
            lambda rows: multi_head(rows, rows, *SELF, causal),
            lambda rows: multi_head(rows, x, *CROSS, mask),
            lambda rows: define(f[i], relu(rows[i], *NETWORK)),
        ),
    ),
    outputs=(z,),
    conventions=(NORM, FULLY_MASKED, *layer_norm.conventions),
    stored=("u", "g", "s", "v", "c", "t", "w", "f"),
    pitfalls=(
        pitfall(
            "a diagonal off by one: each place sees the word that it has to predict", mutant="sees_the_next"
        ),
        pitfall("keys and values of the cross-attention taken from the target", mutant="keys_of_the_decoder"),
        pitfall("the source's padding attended to", mutant="source_padding_seen"),
        pitfall("cross-attention before self-attention", mutant="cross_first"),
        pitfall("normalised before each sublayer, as most later models are", convention="norm"),
    ),
    sources=(
        deck(0, "decoder: masked self-attention, encoder–decoder attention, feed-forward network"),
        deck(2, "decoder: encoder-decoder attention"),
        deck(3, "decoder"),
        deck(4, "two types of attention: cross-attention"),
        paper("vaswani2017", "section 3.1"),
    ),
    worked=(
        Worked(
            "One token of the target, (1, 0), which gathers (2, 0) from itself and (0, 2) from the one token of the source; "
            "normalised with ε = 3/4",
            ONE_TOKEN,
            [["0.8660", "-0.8660"]],
            4,
            output="s",
        ),
        Worked(
            "After the second sublayer its first entry is negative, so the network is silent, and what is left is normalised "
            "once more",
            ONE_TOKEN,
            [["-0.1738", "0.1738"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
real = given("real", n, domain="boolean")
shown = each(mask[i, k] & real[k], i, k)
blank = each(case(real[k], x[k, l], 0), k, l)
CUT = {m: rows + extra}


def asks(layer: Applied) -> Comprehension:
    """The rows that ask the source in a layer."""
    rows_ = layer.output(s)
    return each(
        by_convention("norm", post=rows_[i, l], pre=layer_norm(rows_[i], gamma_2, beta_2, eps)[l]), i, l
    )


def reads(rows_: Tensor) -> Comprehension:
    """The rows that self-attention reads."""
    return each(
        by_convention("norm", post=rows_[i, l], pre=layer_norm(rows_[i], gamma_1, beta_1, eps)[l]), i, l
    )


whole = decoder_layer(y, x, *WEIGHTS, eps, mask)

decoder_layer.theorem(
    "prefix",
    "What a token becomes does not depend on those after it: without them it becomes the same",
    claim(z[i, l], "=", decoder_layer(y[:rows], x, *WEIGHTS, eps, mask[:rows])[i, l], (i, rows), l)
    .keeping(layer_norm, add_norm, relu)
    .citing("prefix", multi_head(reads(y), reads(y), *SELF), rows=rows, extra=extra, more=extra)
    .citing("first_queries", multi_head(asks(whole), x, *CROSS, mask), rows=rows, extra=extra)
    .by_definition(
        "self-attention sees nothing after a token, each token asks the source by itself, and all else is done row by row"
    ),
    sizes=CUT,
    conventions=ZERO,
)

decoder_layer.theorem(
    "source_padding",
    "Tokens of the source that are hidden from all have no influence: they could as well be 0",
    claim(
        decoder_layer(y, x, *WEIGHTS, eps, shown)[i, l],
        "=",
        decoder_layer(y, blank, *WEIGHTS, eps, shown)[i, l],
    )
    .keeping(layer_norm, add_norm, relu)
    .citing("padding", multi_head(asks(whole), x, *CROSS, mask), real=real, asked=each(TRUE, i))
    .by_definition("the source is seen by cross-attention alone, in which they have none"),
    given=real,
    conventions=ZERO,
)

decoder_layer.theorem(
    "parameters",
    "The layer has 4·h·d_model·(d_k + d_v) + 2·d_model·d_ff + d_ff + 7·d_model parameters, however long the sequences",
    claim(
        parameters(decoder_layer),
        "=",
        4 * h * d_model * (d_k + d_v) + 2 * d_model * d_ff + d_ff + 7 * d_model,
    ).by_definition("those of an encoder layer, a second attention, one gain and one bias more"),
    runs=False,
)
