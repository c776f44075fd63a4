"""The decoder: layers one on another, each asking the same encoder.

Inputs: those of a decoder layer, each parameter with one axis more in front, its layer.
"""

from spec.transformer.decoder_layer import ONE_TOKEN, decoder_layer
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
    m,
    n,
    network,
    normalization,
)
from spec.vocabulary import *

i, l, k, t, o = indices(i=m, l=d_model, k=n, t=L, o=L + 1)

y = data("y", m, d_model, meaning="the target: embedded tokens, positions added")
x = data("x", n, d_model, meaning="what the encoder returned: one row for each token of the source")
WEIGHTS = (
    *attention("W_q", "W_k", "W_v", "W_o", "target", L, where="self-attention"),
    *normalization(1, "self-attention", L),
    *attention("C_q", "C_k", "C_v", "C_o", "target", L, asked="source", where="cross-attention"),
    *normalization(2, "cross-attention", L),
    *network(1, L),
    *normalization(3, "feed-forward network", L),
)
"""The parameters, in the order of the inputs."""
eps = epsilon()
mask = optional_mask(
    "mask", m, n, meaning="which tokens of the source each token of the target may attend to, in every layer"
)
G = tensor("G", L + 1, m, d_model, meaning="the target's tokens after so many layers")
z = tensor("z", m, d_model, meaning="the target's tokens after all layers")


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in WEIGHTS)


decoder = Formula(
    "transformer.decoder",
    "Decoder",
    why="How is a translation written that fits both the source and itself? Each layer of the decoder asks the encoder's last "
    "output anew, with what the layers below have made of the words written so far: early layers may ask for a word's "
    "counterpart, later ones for what the sentence still lacks. However many layers there are, none sees a later word, so "
    "that in training all words of a translation are learned from at once.",
    sizes={m: "tokens of the target", n: "tokens of the source", L: "layers", **WIDTHS},
    inputs=(y, x, *WEIGHTS, eps, mask),
    lines=(
        define(G[0], y),
        define(G[t], decoder_layer(G[t - 1], x, *own(t - 1), eps, mask), (t, 1, L)),
        define(z, G[L]),
    ),
    outputs=(z,),
    conventions=decoder_layer.conventions,
    stored=("G",),
    pitfalls=(
        pitfall("later words seen in one layer: enough for the loss to fall to nothing", theorem="prefix"),
        pitfall("what the encoder returned normalised once more for every layer", mutant="source_changes"),
        pitfall("the source's padding attended to from the second layer on", mutant="first_layer_masked"),
        pitfall("one layer's weights used in every layer", mutant="shared_layers"),
    ),
    sources=(
        deck(0, "decoder: six layers"),
        deck(2, "decoder: N = 6 identical layers"),
        deck(3, "decoder"),
        paper("vaswani2017", "section 3.1"),
    ),
    worked=(
        Worked(
            "One layer on one token: as in the layer itself",
            {name: value if name in ("y", "x", "eps") else [value] for name, value in ONE_TOKEN.items()},
            [["-0.1738", "0.1738"]],
            4,
        ),
    ),
    notes="All layers ask the same x, which is what the encoder's top layer returned.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra, fewer = sizes("rows extra fewer")
real = given("real", n, domain="boolean")
shown = each(mask[i, k] & real[k], i, k)
blank = each(case(real[k], x[k, l], 0), k, l)
whole = decoder(y, x, *WEIGHTS, eps, mask)
cut = decoder(y[:rows], x, *WEIGHTS, eps, mask[:rows])
padded, blanked = decoder(y, x, *WEIGHTS, eps, shown), decoder(y, blank, *WEIGHTS, eps, shown)
lower = decoder(y, x, *(part[:fewer] for part in WEIGHTS), eps, mask)

decoder.theorem(
    "prefix",
    "What a token becomes does not depend on those after it: without them it becomes the same",
    claim(z[i, l], "=", cut[i, l], (i, rows), l)
    .by_induction(
        o,
        claim(G[o, i, l], "=", cut.output(G)[o, i, l], (i, rows), l),
        last=L,
        step=derive()
        .citing("prefix", decoder_layer(G[o], x, *own(o), eps, mask), rows=rows, extra=extra)
        .because("it does not in a layer, and the tokens before are the same below it"),
    )
    .because("the top layer is one of the layers"),
    sizes={m: rows + extra},
    conventions=STACKED,
)

seeing_all = decoder(y, x, *WEIGHTS, eps)
reversed_ = decoder(each(y[m - 1 - i, l], i, l), x, *WEIGHTS, eps)

decoder.theorem(
    "order_matters",
    "The decoder can tell order without positions: reversing its tokens does more than reverse what they become",
    claim(reversed_[i, l], "=", seeing_all[m - 1 - i, l]).by_witness(
        y=[[1, 0], [0, 0]],
        x=[[0, 0]],
        **{f"{of}_{what}": [[[[0], [0]]]] * 2 for of in "WC" for what in "qk"},
        W_v=[[[[1], [0]]]] * 2,
        W_o=[[[1, 0]]] * 2,
        C_v=[[[[0], [0]]]] * 2,
        C_o=[[[0, 0]]] * 2,
        **{f"gamma_{place}": [[1, 1]] * 2 for place in (1, 2, 3)},
        **{f"beta_{place}": [[0, 0]] * 2 for place in (1, 2, 3)},
        W_1=[[[0], [0]]] * 2,
        b_1=[[0]] * 2,
        W_2=[[[0, 0]]] * 2,
        b_2=[[0, 0]] * 2,
        eps=1,
    ),
    exists=True,
    runs=False,
    conventions=STACKED,
)

decoder.theorem(
    "source_padding",
    "Tokens of the source that are hidden from all have no influence: they could as well be 0",
    claim(padded[i, l], "=", blanked[i, l])
    .by_induction(
        o,
        claim(padded.output(G)[o, i, l], "=", blanked.output(G)[o, i, l], i, l),
        last=L,
        step=derive()
        .citing("source_padding", decoder_layer(blanked.output(G)[o], x, *own(o), eps, mask), real=real)
        .because("they have none in a layer"),
    )
    .because("the top layer is one of the layers"),
    given=real,
    conventions=STACKED,
)

decoder.theorem(
    "another_layer",
    "One layer more is a layer that reads what the decoder below returns, and asks the same source",
    claim(decoder_layer(lower.whole(), x, *own(fewer), eps, mask)[i, l], "=", whole[i, l])
    .by_induction(o, claim(lower.output(G)[o, i, l], "=", whole.output(G)[o, i, l], i, l), last=fewer)
    .keeping(decoder_layer)
    .because("the lower layers do not know of the top one"),
    sizes={L: fewer + 1},
    conventions=STACKED,
)

decoder.theorem(
    "parameters",
    "The decoder has L·(4·h·d_model·(d_k + d_v) + 2·d_model·d_ff + d_ff + 7·d_model) parameters, however long the sequences",
    claim(
        parameters(decoder),
        "=",
        L * (4 * h * d_model * (d_k + d_v) + 2 * d_model * d_ff + d_ff + 7 * d_model),
    ).by_definition("L times those of a layer"),
    runs=False,
)
