"""Llama: from the tokens of a text to the logits of the token that comes next, at every place.

Inputs: tokens and positions; frequencies; the table of tokens; the parameters of llama.layer, each with one axis more in front,
its layer; the gain of the last normalization and the matrix of the logits; ε; which tokens are words.
"""

from typing import Any

from spec.embedding.token import token
from spec.llama import parts
from spec.llama.layer import ONE_UNIT, layer
from spec.llama.parts import (
    CONVENTIONS,
    INNER,
    SEEN,
    WIDTHS,
    L,
    V,
    d_ff,
    d_model,
    d_v,
    g,
    i,
    j,
    l,
    mask,
    n,
    p,
    pos,
    r,
    theta,
)
from spec.normalization.rms_norm import rms_norm
from spec.positional.rotary import LONGEST
from spec.transformer.parts import epsilon
from spec.vocabulary import *

h, k, v = indices(h=L, k=L + 1, v=V)

ids = data("ids", n, domain="integer", below=V, meaning="which token stands at each place")
E = parameter("E", V, d_model, meaning="table: one learned vector for each token")
LAYERS = parts.weights(L)
gamma_f = parameter("gamma_f", d_model, meaning="gain of the last normalization")
U = parameter(
    "U",
    V,
    d_model,
    meaning="head: what each token of the vocabulary is recognised by; in small models it is E itself",
)
WEIGHTS = (E, *LAYERS, gamma_f, U)
eps = epsilon()
H = tensor("H", L + 1, n, d_model, meaning="the tokens after so many layers; 0 is their vectors")
y = tensor("y", n, d_model, meaning="last hidden states: what is compared with every token of the vocabulary")
logits = tensor("logits", n, V, meaning="after each token how much speaks for each next one, in logarithms")


def own(t: object) -> tuple[Comprehension, ...]:
    """The parameters of layer t."""
    return tuple(part[t] for part in LAYERS)


SMALL = {
    "ids": [0, 1],
    "E": [[1, 0], [0, 1]],
    **{name: [value] for name, value in ONE_UNIT.items() if name not in ("x", "pos", "theta", "eps")},
    "pos": [0, 1],
    "theta": [0],
    "gamma_f": [1, 1],
    "U": [[1, 0], [0, 0]],
    "eps": Rational(1, 2),
}

model = Formula(
    "llama.model",
    "Llama",
    why="How good can a language model become that is trained on public text alone, and run on one machine? Llama answered with "
    "few novelties and many more tokens: a decoder of the parts that had proved themselves since 2017, trained far beyond the "
    "point at which a larger model would have been the cheaper way to the same loss, since what is used often should be small. "
    "Its weights were published, and its plan has become that of nearly all open models: other sizes, the same lines.",
    sizes={
        n: "tokens",
        V: "vocabulary: 32,000 in Llama 2, 128,256 in Llama 3",
        L: "layers: 32 where the model has 7 or 8 billion parameters",
        **WIDTHS,
        **INNER,
    },
    inputs=(ids, pos, theta, *WEIGHTS, eps, mask),
    lines=(
        define(H[0, i, l], token(ids, E)[i, l]),
        define(H[k], layer(H[k - 1], pos, theta, *own(k - 1), eps, mask), (k, 1, L)),
        define(y[i], rms_norm(H[L, i], gamma_f, eps)),
        define(logits[i, v], Sum(y[i, l] * U[v, l], l)),
    ),
    outputs=(logits,),
    conventions=CONVENTIONS,
    stored=("H", "y"),
    pitfalls=(
        pitfall(
            "positions that begin anew with each piece read from a cache",
            mutant="llama_positions_not_continued",
        ),
        pitfall("the last normalization forgotten", mutant="llama_last_norm_forgotten"),
        pitfall(
            "the table of tokens taken for the head, where the model has one of its own",
            mutant="llama_head_is_the_table",
        ),
        pitfall("the columns of W_q and W_k in the order of another checkpoint", convention="pairs"),
        pitfall("the logits compared with the token at their own place, not with the next", theorem="prefix"),
    ),
    sources=(
        paper("touvron2023", "section 2.2 and table 2"),
        paper("touvron2023b", "section 2.2 and table 1"),
        paper("grattafiori2024", "section 3.2 and table 3"),
    ),
    worked=(
        Worked(
            "Two tokens, (1, 0) and (0, 1), in one layer: as in the layer itself",
            SMALL,
            [[["1.0000", "0.0000"], ["0.0000", "1.0000"]], [["9.7313", "8.0000"], ["6.6428", "8.6000"]]],
            4,
            output="H",
        ),
        Worked(
            "Normalised, the first entries are 1.0890 and 0.8609; token 0 of the vocabulary is recognised by them, "
            "token 1 by nothing",
            SMALL,
            [["1.0890", "0.0000"], ["0.8609", "0.0000"]],
            4,
        ),
    ),
    notes="Losses compare the logits of place i with the token at place i + 1. Llama 2 of 70 billion and all of Llama 3 have "
    "grouped queries, Llama 1 and the smaller ones of Llama 2 as many groups as heads.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra, fewer = sizes("rows extra fewer")
first = (i, rows)
top = "the top layer is one of the layers, and all behind it is done row by row"
whole = model(ids, pos, theta, *WEIGHTS, eps, mask)
alone = model(ids[:rows], pos[:rows], theta, *WEIGHTS, eps, mask[:rows])

model.theorem(
    "prefix",
    "What is predicted after a token does not depend on those behind it: a prefix alone gives the same, so that a cache changes "
    "nothing",
    claim(whole[i, v], "=", alone[i, v], first, v)
    .by_induction(
        k,
        claim(alone.output(H)[k, i, l], "=", whole.output(H)[k, i, l], first, l),
        last=L,
        base=derive().because("a token's vector is looked up by itself"),
        step=derive()
        .citing("prefix", layer(whole.output(H)[k], pos, theta, *own(k), eps, mask), rows=rows, extra=extra)
        .because("a layer makes the same of the first tokens, which are the same below it"),
    )
    .keeping(rms_norm)
    .because(top),
    sizes={n: rows + extra},
    conventions=SEEN,
)

near, by = (
    given("near", n, domain="integer", below=LONGEST // 2),
    given("by", domain="integer", below=LONGEST // 2),
)
moved = model(ids, each(near[j] + by, j), theta, *WEIGHTS, eps, mask)
there = model(ids, near, theta, *WEIGHTS, eps, mask)

model.theorem(
    "shift",
    "All positions moved by the same number change nothing: a text may begin anywhere",
    claim(moved[i, v], "=", there[i, v])
    .by_induction(
        k,
        claim(moved.output(H)[k, i, l], "=", there.output(H)[k, i, l], i, l),
        last=L,
        base=derive().because("a token's vector knows no position"),
        step=derive()
        .citing("shift", layer(there.output(H)[k], near, theta, *own(k), eps, mask), near=near, by=by)
        .because("in a layer it changes nothing, and the tokens are the same below it"),
    )
    .keeping(rms_norm)
    .because(top),
    given=(near, by),
    conventions={**SEEN, "pairs": "halves"},
)

lower = model(ids, pos, theta, E, *(part[:fewer] for part in LAYERS), gamma_f, U, eps, mask)

model.theorem(
    "another_layer",
    "One layer more is a layer that reads what those below it made",
    claim(
        layer(lower.output(H)[fewer], pos, theta, *own(fewer), eps, mask)[i, l], "=", whole.output(H)[L, i, l]
    )
    .by_induction(k, claim(lower.output(H)[k, i, l], "=", whole.output(H)[k, i, l], i, l), last=fewer)
    .keeping(layer)
    .because("the lower layers do not know of the top one"),
    sizes={L: fewer + 1},
    conventions=SEEN,
)


def count(L: Any, V: Any, d_model: Any, d_ff: Any, g: Any, r: Any, d_k: Any) -> Any:
    """The parameters of a model of these sizes, whose values are as wide as its keys."""
    return (2 * V + 1) * d_model + L * (2 * d_model * (g * r + g) * d_k + 3 * d_model * d_ff + 2 * d_model)


model.theorem(
    "parameters",
    "The model has (2·V + 1)·d_model parameters beside its layers, and L times those of a layer, 2·d_model·(g·r + g)·2·p + "
    "3·d_model·d_ff + 2·d_model where values are as wide as keys; positions need none, as its p frequencies are not learned",
    claim(parameters(model) - p, "=", count(L, V, d_model, d_ff, g, r, 2 * p)).by_definition(
        "the table and the head, a gain, and the layers"
    ),
    sizes={d_v: 2 * p},
    runs=False,
)

PUBLISHED = {
    (32, 32_000, 4_096, 11_008, 32, 1, 128): 6_738_415_616,
    (40, 32_000, 5_120, 13_824, 40, 1, 128): 13_015_864_320,
    (80, 32_000, 8_192, 28_672, 8, 8, 128): 68_976_648_192,
    (32, 128_256, 4_096, 14_336, 8, 4, 128): 8_030_261_248,
    (80, 128_256, 8_192, 28_672, 8, 8, 128): 70_553_706_496,
}
"""The parameters of Llama 2 7B, 13B and 70B and of Llama 3 8B and 70B, by layers, vocabulary, width, inner units, groups, heads
in each, and width of a head.
"""

model.theorem(
    "published",
    "Llama 2 has 6,738,415,616, 13,015,864,320 and 68,976,648,192 parameters, Llama 3 8,030,261,248 and 70,553,706,496",
    *(claim(count(*of), "=", found).by_definition("the sizes put in") for of, found in PUBLISHED.items()),
    runs=False,
)
