"""The encoder: layers one on another, each with weights of its own.

Inputs: those of a layer, each parameter with one axis more in front, its layer.
"""

from spec.transformer.encoder_layer import ONE_HEAD, encoder_layer
from spec.transformer.parts import (
    STACKED,
    WIDTHS,
    L,
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

i, j, l, t, u = indices(i=n, j=n, l=d_model, t=L, u=L + 1)

x = data("x", n, d_model, meaning="the sequence: embedded tokens, positions added")
WEIGHTS = (
    *attention("W_q", "W_k", "W_v", "W_o", "tokens", L),
    *normalization(1, "attention", L),
    *network(1, L),
    *normalization(2, "feed-forward network", L),
)
"""The parameters, in the order of the inputs."""
eps = epsilon()
mask = optional_mask("mask", n, n, meaning="which tokens each token may attend to, in every layer")
H = tensor("H", L + 1, n, d_model, meaning="the tokens after so many layers")
y = tensor("y", n, d_model, meaning="the tokens after all layers")


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in WEIGHTS)


encoder = Formula(
    "transformer.encoder",
    "Encoder",
    why="How does a sentence become something that can be translated? One layer relates each word to others once. To find that "
    "“it” is the animal, and that the animal was tired, what the first layer found has to be related again. Layers of one "
    "shape are stacked, six in the original, each with weights of its own: features of words, then of phrases, then of what "
    "is said. All words go through a layer side by side, so that a long sentence takes no more steps than a short one.",
    sizes={n: "tokens", L: "layers", **WIDTHS},
    inputs=(x, *WEIGHTS, eps, mask),
    lines=(
        define(H[0], x),
        define(H[t], encoder_layer(H[t - 1], *own(t - 1), eps, mask), (t, 1, L)),
        define(y, H[L]),
    ),
    outputs=(y,),
    conventions=encoder_layer.conventions,
    stored=("H",),
    pitfalls=(
        pitfall("one layer's weights used in every layer", mutant="shared_layers"),
        pitfall("a mask used in the first layer only", mutant="first_layer_masked"),
        pitfall("layers taken in reverse", mutant="layers_reversed"),
        pitfall(
            "a normalization after the last layer that belongs to layers normalised before",
            mutant="normed_again",
        ),
        pitfall("order expected to matter without positions", theorem="permutation_equivariant"),
    ),
    sources=(
        deck(0, "encoder: six layers"),
        deck(2, "encoder: N = 6 identical layers"),
        deck(3, "encoder"),
        deck(4, "stacking Transformer blocks"),
        paper("vaswani2017", "section 3.1"),
    ),
    worked=(
        Worked(
            "One layer on two tokens: as in the layer itself",
            {name: value if name in ("x", "eps") else [value] for name, value in ONE_HEAD.items()},
            [["0.9091", "-0.9091"], ["0", "0"]],
            4,
        ),
    ),
    notes="Where layers are normalised before their sublayers, models put one normalization more after the last layer. It is "
    "normalization.layer_norm of each row, and no part of what is stated here.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

(fewer,) = sizes("fewer")
pi, real = given("pi", n, domain="permutation"), given("real", n, domain="boolean")
permuted = encoder(each(x[pi[i], l], i, l), *WEIGHTS, eps, each(mask[pi[i], pi[j]], i, j))
blank, shown = each(case(real[i], x[i, l], 0), i, l), each(mask[i, j] & real[j], i, j)
padded, blanked = encoder(x, *WEIGHTS, eps, shown), encoder(blank, *WEIGHTS, eps, shown)
deep, lower = encoder(x, *WEIGHTS, eps, mask), encoder(x, *(part[:fewer] for part in WEIGHTS), eps, mask)

encoder.theorem(
    "permutation_equivariant",
    "Permuting the tokens, and the mask with them, permutes the outputs: without positions no order information is kept",
    claim(permuted[i, l], "=", y[pi[i], l])
    .by_induction(
        u,
        claim(permuted.output(H)[u, i, l], "=", H[u, pi[i], l], i, l),
        last=L,
        step=derive()
        .citing("permutation_equivariant", encoder_layer(H[u], *own(u), eps, mask), pi=pi)
        .because("a layer is permutation equivariant"),
    )
    .because("the top layer is one of the layers"),
    given=pi,
    conventions=STACKED,
)

encoder.theorem(
    "padding",
    "Tokens hidden from all, such as padding, have no influence on the others: they could as well be 0",
    claim(padded[i, l], "=", blanked[i, l], where=real[i])
    .by_induction(
        u,
        claim(padded.output(H)[u, i, l], "=", blanked.output(H)[u, i, l], i, l, where=real[i]),
        last=L,
        step=derive()
        .citing("padding", encoder_layer(padded.output(H)[u], *own(u), eps, mask), real=real)
        .citing("padding", encoder_layer(blanked.output(H)[u], *own(u), eps, mask), real=real)
        .because("they have none in a layer, and what the others are is the same below it"),
    )
    .because("the top layer is one of the layers"),
    given=real,
    conventions=STACKED,
)

seen = le(j, i)
causal = encoder(x, *WEIGHTS, eps, each(seen, i, j))
reversed_ = encoder(each(x[n - 1 - i, l], i, l), *WEIGHTS, eps, each(seen, i, j))

encoder.theorem(
    "order_matters",
    "Where each token attends to itself and those before it the encoder can tell order without positions: reversing its tokens "
    "does more than reverse its outputs",
    claim(reversed_[i, l], "=", causal[n - 1 - i, l]).by_witness(
        n=2,
        x=[[1, 0], [0, 0]],
        W_q=[[[[0], [0]]]] * 2,
        W_k=[[[[0], [0]]]] * 2,
        W_v=[[[[1], [0]]]] * 2,
        W_o=[[[1, 0]]] * 2,
        gamma_1=[[1, 1]] * 2,
        beta_1=[[0, 0]] * 2,
        W_1=[[[0], [0]]] * 2,
        b_1=[[0]] * 2,
        W_2=[[[0, 0]]] * 2,
        b_2=[[0, 0]] * 2,
        gamma_2=[[1, 1]] * 2,
        beta_2=[[0, 0]] * 2,
        eps=1,
    ),
    exists=True,
    runs=False,
    conventions=STACKED,
)

encoder.theorem(
    "another_layer",
    "One layer more is a layer that reads what the encoder below returns",
    claim(encoder_layer(lower.whole(), *own(fewer), eps, mask)[i, l], "=", deep[i, l])
    .by_induction(u, claim(lower.output(H)[u, i, l], "=", deep.output(H)[u, i, l], i, l), last=fewer)
    .keeping(encoder_layer)
    .because("the lower layers do not know of the top one"),
    sizes={L: fewer + 1},
    conventions=STACKED,
)

encoder.theorem(
    "parameters",
    "The encoder has L·(2·h·d_model·(d_k + d_v) + 2·d_model·d_ff + d_ff + 5·d_model) parameters, however long the sequence",
    claim(
        parameters(encoder),
        "=",
        L * (2 * h * d_model * (d_k + d_v) + 2 * d_model * d_ff + d_ff + 5 * d_model),
    ).by_definition("L times those of a layer"),
    runs=False,
)
