"""A layer of the encoder: self-attention and a feed-forward network, with a sum and a normalization around each.

Inputs: the tokens x; the attention's W_q … W_o; gain and bias beside it; the network's W_1, b_1, W_2, b_2; gain and bias beside
it; ε; the mask.
"""

from spec.attention.masks import FULLY_MASKED
from spec.attention.multi_head import multi_head
from spec.feedforward.relu import relu
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
    n,
    network,
    normalization,
)
from spec.vocabulary import *

i, j, l = indices(i=n, j=n, l=d_model)

x = data("x", n, d_model, meaning="the sequence: one row for each token")
ATTENTION = attention("W_q", "W_k", "W_v", "W_o", "tokens")
gamma_1, beta_1 = normalization(1, "attention")
NETWORK = network(1)
gamma_2, beta_2 = normalization(2, "feed-forward network")
WEIGHTS = (*ATTENTION, gamma_1, beta_1, *NETWORK, gamma_2, beta_2)
eps = epsilon()
mask = optional_mask("mask", n, n, meaning="which tokens each token may attend to")
u = tensor("u", n, d_model, meaning="the rows that attention reads")
z = tensor("z", n, d_model, meaning="what each token has gathered from all of them, itself included")
s = tensor("s", n, d_model, meaning="the tokens after the first sublayer")
w = tensor("w", n, d_model, meaning="the rows that the feed-forward network reads")
f = tensor("f", n, d_model, meaning="what the feed-forward network makes of each of them")
y = tensor("y", n, d_model, meaning="the tokens after both sublayers")

ONE_HEAD = {
    "x": [[1, 0], [0, 1]],
    "W_q": [[[0], [0]]],
    "W_k": [[[0], [0]]],
    "W_v": [[[2], [0]]],
    "W_o": [[1, 0]],
    "gamma_1": [1, 1],
    "beta_1": [0, 0],
    "W_1": [[1], [0]],
    "b_1": [0],
    "W_2": [[3, 0]],
    "b_2": [0, 0],
    "gamma_2": [1, 1],
    "beta_2": [0, 0],
    "eps": "3/4",
}

encoder_layer = Formula(
    "transformer.encoder_layer",
    "Encoder layer",
    why="How does a word come to mean what it means in its sentence? Two things are needed in turn: to gather from other words, "
    "and to work out what follows from what was gathered. Self-attention does the first, all words at once; a feed-forward "
    "network does the second, for each word by itself. Around each stands a sum, so that a sublayer only has to say what "
    "changes, and a normalization, which keeps the rows of every layer at one scale. What comes out has the shape of what "
    "went in, so that layers can be stacked.",
    sizes={n: "tokens", **WIDTHS},
    inputs=(x, *WEIGHTS, eps, mask),
    lines=(
        lines_by_convention(
            "norm",
            post=(
                define(z, multi_head(x, x, *ATTENTION, mask)),
                define(s[i], add_norm(x[i], z[i], gamma_1, beta_1, eps)),
                define(f[i], relu(s[i], *NETWORK)),
                define(y[i], add_norm(s[i], f[i], gamma_2, beta_2, eps)),
            ),
            pre=(
                define(u[i], layer_norm(x[i], gamma_1, beta_1, eps)),
                define(z, multi_head(u, u, *ATTENTION, mask)),
                define(s[i, l], x[i, l] + z[i, l]),
                define(w[i], layer_norm(s[i], gamma_2, beta_2, eps)),
                define(f[i], relu(w[i], *NETWORK)),
                define(y[i, l], s[i, l] + f[i, l]),
            ),
        ),
    ),
    outputs=(y,),
    conventions=(NORM, FULLY_MASKED, *layer_norm.conventions),
    stored=("u", "z", "s", "w", "f"),
    pitfalls=(
        pitfall("normalised before each sublayer, as most later models are", convention="norm"),
        pitfall("one of the two sums forgotten", mutant="no_sum_around_attention"),
        pitfall(
            "one normalization's gain and bias used in both places: equal while fresh",
            mutant="one_norm_for_both",
        ),
        pitfall("order expected to matter without positions", theorem="permutation_equivariant"),
        pitfall("padding that takes part: what is behind a sentence changes it", theorem="padding"),
    ),
    sources=(
        deck(0, "encoder: self-attention, feed-forward network"),
        deck(1, "Transformer: encoder block"),
        deck(2, "encoder layer; residuals and layer norm"),
        deck(3, "encoder"),
        deck(4, "Transformer block: multi-head attention, add & layer norm, feed-forward, add & layer norm"),
        paper("vaswani2017", "section 3.1"),
    ),
    worked=(
        Worked(
            "Two tokens, one head that hands over twice the first entry; queries and keys are 0, so that all weights are ½: each "
            "gathers (1, 0) and becomes (2, 0) or (1, 1), normalised with ε = 3/4",
            ONE_HEAD,
            [["0.7559", "-0.7559"], ["0", "0"]],
            4,
            output="s",
        ),
        Worked(
            "The network adds three times a positive first entry to it",
            ONE_HEAD,
            [["0.9091", "-0.9091"], ["0", "0"]],
            4,
        ),
    ),
    notes="Its attention has no biases, as in the paper. The layer with biases is bert.layer: under activation=relu with this "
    "network, under norm=pre with this order.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi, real = given("pi", n, domain="permutation"), given("real", n, domain="boolean")
layer = encoder_layer(x, *WEIGHTS, eps, mask)
permuted = encoder_layer(each(x[pi[i], l], i, l), *WEIGHTS, eps, each(mask[pi[i], pi[j]], i, j))
blank, shown = each(case(real[i], x[i, l], 0), i, l), each(mask[i, j] & real[j], i, j)


def reads(rows: Tensor | Comprehension) -> Applied:
    """What attention makes of rows: it reads them as they are, or normalised."""
    return multi_head(read_rows(rows), read_rows(rows), *ATTENTION, mask)


def read_rows(rows: Tensor | Comprehension) -> Comprehension:
    """The rows that attention reads."""
    normalised = layer_norm(rows[i], gamma_1, beta_1, eps)[l]
    return each(by_convention("norm", post=rows[i, l], pre=normalised), i, l)


def of_rows(claimed: Claim) -> Claim:
    """A claim that follows from what attention does: everything else is done row by row."""
    return claimed.keeping(layer_norm, add_norm, relu)


encoder_layer.theorem(
    "permutation_equivariant",
    "Permuting the tokens, and the mask with them, permutes the outputs: without positions no order information is kept",
    of_rows(claim(permuted[i, l], "=", y[pi[i], l]))
    .citing("permutation_equivariant", reads(x), pi=pi, rho=pi)
    .by_definition("attention is permutation equivariant, and all else is done row by row"),
    given=pi,
    conventions=ZERO,
)

encoder_layer.theorem(
    "padding",
    "Tokens hidden from all, such as padding, have no influence on the others: they could as well be 0",
    of_rows(
        claim(
            encoder_layer(x, *WEIGHTS, eps, shown)[i, l],
            "=",
            encoder_layer(blank, *WEIGHTS, eps, shown)[i, l],
            where=real[i],
        )
    )
    .citing("padding", reads(x), real=real, asked=real)
    .citing("padding", reads(blank), real=real, asked=real)
    .by_definition("they have none on what the others gather, and all else is done row by row"),
    given=real,
    conventions=ZERO,
)

encoder_layer.theorem(
    "parameters",
    "The layer has 2·h·d_model·(d_k + d_v) + 2·d_model·d_ff + d_ff + 5·d_model parameters, however long the sequence",
    claim(
        parameters(encoder_layer),
        "=",
        2 * h * d_model * (d_k + d_v) + 2 * d_model * d_ff + d_ff + 5 * d_model,
    ).by_definition(
        "four matrices for each head, two matrices and two biases of the network, two gains and two biases"
    ),
    runs=False,
)
