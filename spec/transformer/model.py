"""The Transformer: from a source and what has been written of the target to the probabilities of the next word.

Inputs: the source s and the target t as tokens of one vocabulary; its table E; the encoder's parameters as in
transformer.encoder; the decoder's as in transformer.decoder, by letters of their own: its self-attention has U, its
cross-attention C, its normalizations, network and biases go on counting; ε; which tokens of the source are words.
"""

from spec.attention.masks import FULLY_MASKED
from spec.embedding.token import token
from spec.normalization.layer_norm import layer_norm
from spec.positional.sinusoidal import sinusoidal
from spec.transformer.decoder import decoder
from spec.transformer.encoder import encoder
from spec.transformer.output import output
from spec.transformer.parts import (
    STACKED,
    WIDTHS,
    L,
    V,
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

i, k, j, c, v = indices(i=n, k=n, j=m, c=d_model, v=V)

s = data("s", n, domain="integer", below=V, meaning="the source: which token stands at each place")
t = data(
    "t",
    m,
    domain="integer",
    below=V,
    meaning="the target so far: a token that begins it, then what was written",
)
E = parameter(
    "E", V, d_model, meaning="table: one learned vector for each token, for reading and for writing it"
)
ENCODER = (
    *attention("W_q", "W_k", "W_v", "W_o", "source", L, where="encoder"),
    *normalization(1, "encoder's attention", L),
    *network(1, L, of="encoder"),
    *normalization(2, "encoder's network", L),
)
DECODER = (
    *attention("U_q", "U_k", "U_v", "U_o", "target", L, where="self-attention"),
    *normalization(3, "self-attention", L),
    *attention("C_q", "C_k", "C_v", "C_o", "target", L, asked="source", where="cross-attention"),
    *normalization(4, "cross-attention", L),
    *network(3, L, of="decoder"),
    *normalization(5, "decoder's network", L),
)
eps = epsilon()
mask = optional_mask("mask", n, meaning="which tokens of the source are words, and not padding")
X = tensor("X", n, d_model, meaning="the source's tokens, embedded, their positions added")
x = tensor("x", n, d_model, meaning="what the encoder makes of them")
Y = tensor("Y", m, d_model, meaning="the target's tokens, embedded, their positions added")
y = tensor("y", m, d_model, meaning="what the decoder makes of them")
p = tensor("p", m, V, meaning="after each token of the target, the probability of each next one")

EMBEDDING_SCALE = Convention(
    "embedding_scale",
    {
        "sqrt_d": "embeddings times √d_model: as large as the positions that are added to them, although E, which writes the "
        "logits, too, has entries of about 1/√d_model",
        "one": "embeddings as they stand in the table",
    },
    default="sqrt_d",
)


def embed_token(ids: Tensor, place: Index, length: Node) -> Node:
    """The vector of the token at a place, with its position."""
    looked_up = token(ids, E)[place, c]
    return (
        by_convention("embedding_scale", sqrt_d=sqrt(d_model) * looked_up, one=looked_up)
        + (sinusoidal(length, d_model)[place, c])
    )


ONE, TWO = [0], [0, 0]
IDLE = {
    "s": [0],
    "t": [0, 1],
    "E": [[1, 0], [0, 1]],
    **{f"{of}_{what}": [[[ONE, ONE]]] for of in "WUC" for what in "qkv"},
    **{f"{of}_o": [[TWO]] for of in "WUC"},
    **{f"gamma_{k}": [[1, 1]] for k in range(1, 6)},
    **{f"beta_{k}": [TWO] for k in range(1, 6)},
    **{f"W_{k}": [[ONE, ONE]] for k in (1, 3)},
    **{f"b_{k}": [ONE] for k in (1, 3)},
    **{f"W_{k}": [[TWO]] for k in (2, 4)},
    **{f"b_{k}": [TWO] for k in (2, 4)},
    "eps": "1/1000000000",
}

model = Formula(
    "transformer.model",
    "The Transformer",
    why="How can a sentence be translated without reading it word by word? A recurrent network needs as many steps as there are "
    "words, and what stood far away has to be carried through all of them. Here nothing recurs: tokens become vectors, positions "
    "are added, since attention to the whole source knows no order, and layers relate all words of the source to each other at "
    "once. The decoder does the same with what has been written, never looking ahead, and asks the source; the row of its last "
    "layer at each place says which word comes next. In training every place of a translation is such a question, and all of "
    "them are answered together.",
    sizes={
        n: "tokens of the source",
        m: "tokens of the target",
        V: "vocabulary: the tokens there are",
        L: "layers of the encoder, and of the decoder",
        **WIDTHS,
    },
    inputs=(s, t, E, *ENCODER, *DECODER, eps, mask),
    lines=(
        define(X[i, c], embed_token(s, i, n)),
        define(x, encoder(X, *ENCODER, eps, each(mask[k], i, k))),
        define(Y[j, c], embed_token(t, j, m)),
        define(y, decoder(Y, x, *DECODER, eps, each(mask[k], j, k))),
        define(p, output(y, each(E[v, c], c, v))),
    ),
    outputs=(p,),
    conventions=(EMBEDDING_SCALE, FULLY_MASKED, *layer_norm.conventions),
    stored=("X", "x", "Y", "y"),
    pitfalls=(
        pitfall(
            "embeddings not scaled: with entries of 1/√d_model the positions are √(d_model/2) times as large, and drown the "
            "words",
            convention="embedding_scale",
        ),
        pitfall(
            "positions counted from 1: all works, and no weights of others do", mutant="positions_from_one"
        ),
        pitfall(
            "the target not shifted: each place is given the word that it has to predict", theorem="prefix"
        ),
        pitfall(
            "the source's padding hidden from the encoder, but not from the decoder",
            mutant="padding_in_cross",
        ),
        pitfall(
            "the table read with its rows off by one, a padding token having been added",
            mutant="table_shifted",
        ),
    ),
    sources=(
        deck(0, "the Transformer"),
        deck(1, "Transformer"),
        deck(2, "the Transformer: encoder and decoder"),
        deck(3, "Transformer"),
        deck(4, "Transformer"),
        paper("vaswani2017", "figure 1, sections 3.1 to 3.5"),
    ),
    worked=(
        Worked(
            "Layers of 0 leave the target as it is: √2·(1, 0) + (sin 0, cos 0) and √2·(0, 1) + (sin 1, cos 1)",
            IDLE,
            [["1.4142", "1.0000"], ["0.8415", "1.9545"]],
            4,
            output="Y",
        ),
        Worked(
            "Normalised they are (1, −1) and (−1, 1), compared with the rows of the table: each token predicts itself",
            IDLE,
            [["0.8808", "0.1192"], ["0.1192", "0.8808"]],
            4,
        ),
    ),
    notes="One table for source, target and output, as in section 3.4 of the paper; all layers are normalised after their "
    "sublayers, as there, so that neither stack ends with a normalization of its own. The base model, of width 512 with 8 heads, "
    "2,048 inner units, 6 layers and 37,000 tokens, has 63,045,632 parameters: 18,944,000 in its table, 18,902,016 in the "
    "encoder and 25,199,616 in the decoder.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
s_other = given("s_other", n, domain="integer", below=V)
s_changed = each(case(mask[k], s[k], s_other[k]), k)
whole = model(s, t, E, *ENCODER, *DECODER, eps, mask)
other = model(s_changed, t, E, *ENCODER, *DECODER, eps, mask)

model.theorem(
    "sums_to_one",
    "After each token the probabilities of all next ones sum to 1",
    claim(Sum(p[j, v], v), "=", 1)
    .keeping(encoder, decoder, sinusoidal)
    .by_definition("the last line is the output layer"),
    conventions=STACKED,
)

model.theorem(
    "prefix",
    "What is predicted after a token does not depend on those after it: written one by one or given at once, it is the same",
    claim(p[j, v], "=", model(s, t[:rows], E, *ENCODER, *DECODER, eps, mask)[j, v], (j, rows), v)
    .keeping(encoder)
    .citing("prefix", sinusoidal(m, d_model), rows=rows, extra=extra)
    .citing("prefix", decoder(Y, x, *DECODER, eps, each(mask[k], j, k)), rows=rows, extra=extra)
    .by_definition(
        "it does not in the decoder, and a position's vector does not depend on how many there are"
    ),
    sizes={m: rows + extra},
    conventions=STACKED,
)

model.theorem(
    "source_padding",
    "What stands behind the end of the source has no influence",
    claim(other[j, v], "=", p[j, v])
    .keeping(sinusoidal)
    .citing("padding", encoder(X, *ENCODER, eps), real=mask)
    .citing("padding", encoder(other.output(X), *ENCODER, eps), real=mask)
    .citing("source_padding", decoder(Y, x, *DECODER, eps), real=mask)
    .citing("source_padding", decoder(Y, other.output(x), *DECODER, eps), real=mask)
    .by_definition("it has none in the encoder on what the words become, and the decoder does not see it"),
    given=s_other,
    conventions=STACKED,
)

COUNT = (
    V * d_model
    + L * (2 * h * d_model * (d_k + d_v) + 2 * d_model * d_ff + d_ff + 5 * d_model)
    + L * (4 * h * d_model * (d_k + d_v) + 2 * d_model * d_ff + d_ff + 7 * d_model)
)
model.theorem(
    "parameters",
    "The model has V·d_model parameters in its table, and those of L encoder and L decoder layers, however long the sequences",
    claim(parameters(model), "=", COUNT).by_definition("the sizes of the table and of the two stacks"),
    runs=False,
)
