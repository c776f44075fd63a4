"""A layer of BERT: self-attention with biases and a network with GELU, with a sum and a normalization around each.

Inputs: the tokens x; the attention's W_q, b_q … W_o, b_o; gain and bias beside it; the network's W_1, b_1, W_2, b_2; gain and
bias beside it; ε; the mask.
"""

from spec.attention.biased_multi_head import biased_multi_head
from spec.attention.masks import FULLY_MASKED
from spec.bert.weights import ZERO, weights
from spec.feedforward.gelu import gelu
from spec.feedforward.relu import relu
from spec.normalization.add_norm import add_norm
from spec.normalization.layer_norm import layer_norm
from spec.transformer.parts import NORM, WIDTHS, d_ff, d_k, d_model, d_v, epsilon, h, n
from spec.vocabulary import *

i, j, l = indices(i=n, j=n, l=d_model)

x = data("x", n, d_model, meaning="the sequence: one row for each token")
WEIGHTS = weights()
ATTENTION, FIRST, NETWORK, SECOND = WEIGHTS[:8], WEIGHTS[8:10], WEIGHTS[10:14], WEIGHTS[14:]
eps = epsilon()
mask = optional_mask("mask", n, n, meaning="which tokens each token may attend to")
u = tensor("u", n, d_model, meaning="the rows that attention reads")
z = tensor("z", n, d_model, meaning="what each token has gathered from the others")
s = tensor("s", n, d_model, meaning="the tokens after the first sublayer")
w = tensor("w", n, d_model, meaning="the rows that the feed-forward network reads")
f = tensor("f", n, d_model, meaning="what the feed-forward network makes of each of them")
y = tensor("y", n, d_model, meaning="the tokens after both sublayers")

ONE_HEAD = {
    "x": [[1, 0], [0, 1]],
    "W_q": [[[0], [0]]],
    "b_q": [[0]],
    "W_k": [[[0], [0]]],
    "b_k": [[3]],
    "W_v": [[[2], [0]]],
    "b_v": [[0]],
    "W_o": [[1, 0]],
    "b_o": [0, 0],
    "gamma_1": [1, 1],
    "beta_1": [0, 0],
    "W_1": [[0], [0]],
    "b_1": [1],
    "W_2": [[1, 0]],
    "b_2": [0, 0],
    "gamma_2": [1, 1],
    "beta_2": [0, 0],
    "eps": "3/4",
}

ACTIVATION = Convention(
    "activation",
    {
        "gelu": "the network bends by the Gaussian error linear unit",
        "relu": "it has a corner: max(0, ·), as in the Transformer",
    },
    default="gelu",
)


def network(row: Node) -> Node:
    """Entry l of what the feed-forward network makes of a row."""
    return by_convention("activation", gelu=gelu(row, *NETWORK)[l], relu=relu(row, *NETWORK)[l])


layer = Formula(
    "bert.layer",
    "BERT's layer",
    why="What is one step of reading a sentence in both directions? A language model that reads from left to right settles what "
    "a word means before it has seen the end of its sentence. BERT's layer lets every token attend to all others, before and "
    "after it, then works on each by itself, as the Transformer's encoder does, from which it differs in three details that "
    "decide whether trained weights give the numbers that they gave where they were trained: every projection has a bias, the "
    "network bends by the Gaussian error linear unit, and ε is 10⁻¹².",
    sizes={n: "tokens", **WIDTHS},
    inputs=(x, *WEIGHTS, eps, mask),
    lines=(
        lines_by_convention(
            "norm",
            post=(
                define(z, biased_multi_head(x, x, *ATTENTION, mask)),
                define(s[i], add_norm(x[i], z[i], *FIRST, eps)),
                define(f[i, l], network(s[i])),
                define(y[i], add_norm(s[i], f[i], *SECOND, eps)),
            ),
            pre=(
                define(u[i], layer_norm(x[i], *FIRST, eps)),
                define(z, biased_multi_head(u, u, *ATTENTION, mask)),
                define(s[i, l], x[i, l] + z[i, l]),
                define(w[i], layer_norm(s[i], *SECOND, eps)),
                define(f[i, l], network(w[i])),
                define(y[i, l], s[i, l] + f[i, l]),
            ),
        ),
    ),
    outputs=(y,),
    conventions=(NORM, ACTIVATION, *gelu.conventions, FULLY_MASKED, *layer_norm.conventions),
    stored=("u", "z", "s", "w", "f"),
    pitfalls=(
        pitfall(
            "GELU's form with tanh, which many later models have, in its place", convention="approximation"
        ),
        pitfall("ε = 10⁻⁵, a library's default, instead of 10⁻¹²", mutant="bert_large_eps"),
        pitfall("normalised before each sublayer, as GPT-2 is", convention="norm"),
        pitfall("one bias dropped: all works, and no weights of others do", mutant="bert_no_query_bias"),
        pitfall("padding that takes part: what is behind a sentence changes it", theorem="unpadded"),
    ),
    sources=(
        deck(0, "BERT: encoder"),
        deck(2, "BERT (Bidirectional Encoder Representations from Transformers)"),
        deck(4, "BERT uses the encoder-only Transformer"),
        paper("devlin2019", "section 3 and appendix A.2"),
        paper("xiong2020", "figure 1: normalised after and before"),
    ),
    worked=(
        Worked(
            "Two tokens, one head that hands over twice the first entry: each gathers (1, 0) and becomes (2, 0) or (1, 1), "
            "normalised with ε = 3/4; the bias of the keys changes nothing",
            ONE_HEAD,
            [["0.7559", "-0.7559"], ["0", "0"]],
            4,
            output="s",
        ),
        Worked(
            "The network's unit is reached by its bias 1 alone, and adds Φ(1) = 0.8413 to the first entry",
            ONE_HEAD,
            [["0.8054", "-0.8054"], ["0.4369", "-0.4369"]],
            4,
        ),
    ),
    notes="It is the layer of others, too: under norm=pre that of GPT-2 (with approximation=tanh and a causal mask), of ViT, of "
    "ESM, and of Whisper's encoder, whose keys have no bias; under activation=relu it is the Transformer's encoder layer with "
    "biases in its attention. Where layers are normalised before their sublayers, models put one normalization more after the "
    "last layer: normalization.layer_norm of each row.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi, real = given("pi", n, domain="permutation"), given("real", n, domain="boolean")
permuted = layer(each(x[pi[i], l], i, l), *WEIGHTS, eps, each(mask[pi[i], pi[j]], i, j))
blank, shown = each(case(real[i], x[i, l], 0), i, l), each(mask[i, j] & real[j], i, j)


def of_rows(claimed: Claim) -> Claim:
    """A claim that follows from what attention does: everything else is done row by row."""
    return claimed.keeping(layer_norm, add_norm, gelu, relu)


def read(rows: Tensor | Comprehension) -> Comprehension:
    """The rows that attention reads: as they are, or normalised."""
    normalised = layer_norm(rows[i], *FIRST, eps)[l]
    return each(by_convention("norm", post=rows[i, l], pre=normalised), i, l)


def reads(rows: Tensor | Comprehension, seen: Tensor | Comprehension) -> Applied:
    """What the rows gather from each other."""
    return biased_multi_head(read(rows), read(rows), *ATTENTION, seen)


layer.theorem(
    "permutation_equivariant",
    "Permuting the tokens, and the mask with them, permutes the outputs: without positions no order information is kept",
    of_rows(claim(permuted[i, l], "=", y[pi[i], l]))
    .citing("permutation_equivariant", reads(x, mask), pi=pi, rho=pi)
    .by_definition("attention is permutation equivariant, and all else is done row by row"),
    given=pi,
    conventions=ZERO,
)

layer.theorem(
    "padding",
    "Tokens hidden from all, such as padding, have no influence on the others: they could as well be 0",
    of_rows(
        claim(
            layer(x, *WEIGHTS, eps, shown)[i, l],
            "=",
            layer(blank, *WEIGHTS, eps, shown)[i, l],
            where=real[i],
        )
    )
    .citing("padding", reads(x, mask), real=real, asked=real)
    .citing("padding", reads(blank, mask), real=real, asked=real)
    .by_definition("they have none on what the others gather, and all else is done row by row"),
    given=real,
    conventions=ZERO,
)

rows, extra = sizes("rows extra")

layer.theorem(
    "unpadded",
    "Where no token sees past the first, these become what they would become without the rest: padding may be cut off",
    of_rows(
        claim(
            layer(x, *WEIGHTS, eps, each(mask[i, j] & lt(j, rows), i, j))[i, l],
            "=",
            layer(x[:rows], *WEIGHTS, eps, mask[:rows, :rows])[i, l],
            (i, rows),
            l,
        )
    )
    .citing("unpadded", reads(x, mask), rows=rows, cols=rows, extra=extra, more=extra)
    .by_definition("they gather the same, and all else is done row by row"),
    sizes={n: rows + extra},
    conventions=ZERO,
)

b_other = given("b_other", h, d_k)
W_q, b_q, W_k, b_k, *REST = ATTENTION

layer.theorem(
    "key_bias",
    "The bias of the keys changes nothing",
    of_rows(
        claim(
            layer(x, W_q, b_q, W_k, b_other, *REST, *FIRST, *NETWORK, *SECOND, eps, mask)[i, l], "=", y[i, l]
        )
    )
    .citing("key_bias", reads(x, mask), b_other=b_other)
    .by_definition("no attention depends on it"),
    given=b_other,
    conventions=ZERO,
)

layer.theorem(
    "straight_way",
    "Normalised before its sublayers, the layer adds to each token what they make of it: nothing multiplies the token itself, "
    "nor the gradient on its way past them",
    claim(y[i, l], "=", x[i, l] + z[i, l] + f[i, l])
    .keeping(layer_norm, biased_multi_head, gelu, relu)
    .by_definition("two sums, one after the other"),
    conventions={**ZERO, "norm": "pre"},
)

COUNT = (
    h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model + 2 * d_model * d_ff + d_ff + 5 * d_model
)

layer.theorem(
    "parameters",
    "The layer has h·(d_model + 1)·(2·d_k + d_v) + (h·d_v + 1)·d_model + 2·d_model·d_ff + d_ff + 5·d_model parameters: 7,087,872 "
    "in BERT's base model",
    claim(parameters(layer), "=", COUNT).by_definition(
        "attention with its biases, the two matrices and biases of the network, two gains and two biases"
    ),
    runs=False,
)
