"""A layer of Llama: attention and a gated network, each reading normalised rows, and each adding to what it read.

Inputs: the tokens x and their positions; frequencies; attention's W_q, W_k, W_v, W_o and the gain before it; the network's W_g,
W_u, W_d and the gain before it; ε; which tokens are words.
"""

from typing import Any

from spec.feedforward.gated import gated
from spec.llama import parts
from spec.llama.attention import TWO_HEADS, attention
from spec.llama.parts import (
    CONVENTIONS,
    INNER,
    SEEN,
    WIDTHS,
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

x = data("x", n, d_model, meaning="the text so far: one row for each token")
WEIGHTS = parts.weights()
ATTENTION, gamma_1, NETWORK, gamma_2 = WEIGHTS[:4], WEIGHTS[4], WEIGHTS[5:8], WEIGHTS[8]
eps = epsilon()
q = tensor("q", n, d_model, meaning="the rows that attention reads")
z = tensor("z", n, d_model, meaning="what each token has gathered from those up to its own place")
s = tensor("s", n, d_model, meaning="the tokens after the first step")
w = tensor("w", n, d_model, meaning="the rows that the network reads")
f = tensor("f", n, d_model, meaning="what the network makes of each of them")
y = tensor("y", n, d_model, meaning="the tokens after both steps")

ONE_UNIT = TWO_HEADS | {
    "gamma_1": [1, 1],
    "W_g": [[1], [0]],
    "W_u": [[0], [1]],
    "W_d": [[1, 0]],
    "gamma_2": [1, 1],
    "eps": Rational(1, 2),
}

layer = Formula(
    "llama.layer",
    "Llama's layer",
    why="Five years after the Transformer a layer of a language model still does two things: each token asks those up to its own "
    "place, then works on what it gathered. But each part was replaced by one that trains better or computes less. The "
    "normalization stands before each step, and takes no mean; positions turn queries and keys; heads share keys and values; the "
    "network has a gate; nothing has a bias. Almost every open model since 2023 is built of this layer.",
    sizes={n: "tokens", **WIDTHS, **INNER},
    inputs=(x, pos, theta, *WEIGHTS, eps, mask),
    lines=(
        define(q[i], rms_norm(x[i], gamma_1, eps)),
        define(z, attention(q, pos, theta, *ATTENTION, mask)),
        define(s[i, l], x[i, l] + z[i, l]),
        define(w[i], rms_norm(s[i], gamma_2, eps)),
        define(f[i], gated(w[i], *NETWORK)),
        define(y[i, l], s[i, l] + f[i, l]),
    ),
    outputs=(y,),
    conventions=CONVENTIONS,
    stored=("q", "z", "s", "w", "f"),
    pitfalls=(
        pitfall("one normalization for both steps, or both gains exchanged", mutant="llama_gains_exchanged"),
        pitfall(
            "the sum taken with the normalised row, not with the row itself",
            mutant="llama_sum_of_the_normalised",
        ),
        pitfall("normalised after each sum, as the Transformer was", mutant="llama_post_norm"),
        pitfall("Gemma's gain, 1 + γ, or its GELU, where Llama's weights are read", convention="gain"),
        pitfall("pairs of neighbours, where the weights were trained with halves", convention="pairs"),
    ),
    sources=(
        paper("touvron2023", "section 2.2"),
        paper("touvron2023b", "section 2.2"),
        paper("grattafiori2024", "section 3.2 and table 3"),
        paper("shazeer2020", "eq. 6"),
    ),
    worked=(
        Worked(
            "Two tokens, (1, 0) and (0, 1), of mean square 1/2, so that with ε = 1/2 they are read as they are: after attention "
            "they are (9, 8) and (6, 8.6)",
            ONE_UNIT,
            [["9.0", "8.0"], ["6.0", "8.6"]],
            1,
            output="s",
        ),
        Worked(
            "Normalised by √73 and √55.48 they open a gate by 1.0534 and 0.8055, and add 0.7313 and 0.6428 to the first entry",
            ONE_UNIT,
            [["9.7313", "8.0000"], ["6.6428", "8.6000"]],
            4,
        ),
    ),
    notes="Mistral's layer is this one under a window, Gemma's under gain=one_plus and activation=gelu; Qwen's has biases of "
    "queries, keys and values besides.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
first = (i, rows)
real = given("real", n, domain="boolean")
blank, shown = each(case(real[i], x[i, l], 0), i, l), each(mask[i] & real[i], i)
x_later = given("x_later", n, d_model)
(last,) = indices(last=n)


def of_rows(claimed: Claim) -> Claim:
    """A claim that follows from what attention does: everything else is done row by row."""
    return claimed.keeping(rms_norm, attention, gated)


def read(rows: Tensor | Comprehension) -> Comprehension:
    """The rows, normalised before they are read."""
    return each(rms_norm(rows[i], gamma_1, eps)[l], i, l)


def gathers(rows: Tensor | Comprehension, words: Any = mask) -> Applied:
    """Attention to the rows, normalised before they are read."""
    return attention(read(rows), pos, theta, *ATTENTION, words)


layer.theorem(
    "straight_way",
    "The layer adds to each token what attention and network make of it: nothing multiplies the token itself, nor the gradient "
    "on its way past them",
    of_rows(claim(y[i, l], "=", x[i, l] + z[i, l] + f[i, l])).by_definition("two sums, one after the other"),
    conventions=SEEN,
)

layer.theorem(
    "prefix",
    "What a token becomes does not depend on those after it: without them it becomes the same, so that keys and values may be "
    "kept while a text grows",
    of_rows(
        claim(layer(x[:rows], pos[:rows], theta, *WEIGHTS, eps, mask[:rows])[i, l], "=", y[i, l], first, l)
    )
    .citing("prefix", gathers(x), rows=rows, extra=extra)
    .by_definition("it gathers the same, and all else is done row by row"),
    sizes={n: rows + extra},
    conventions=SEEN,
)

layer.theorem(
    "no_future",
    "Other tokens behind a place change nothing up to it",
    of_rows(
        claim(
            layer(each(case(le(j, last), x[j, l], x_later[j, l]), j, l), pos, theta, *WEIGHTS, eps, mask)[
                i, l
            ],
            "=",
            y[i, l],
            where=le(i, last),
        )
    )
    .citing("no_future", gathers(x), x_later=read(x_later))
    .by_definition("it gathers nothing of them, and all else is done row by row"),
    given=x_later,
    conventions=SEEN,
)

layer.theorem(
    "padding",
    "What stands where padding is has no influence on the words: it could as well be 0",
    of_rows(
        claim(
            layer(x, pos, theta, *WEIGHTS, eps, shown)[i, l],
            "=",
            layer(blank, pos, theta, *WEIGHTS, eps, shown)[i, l],
            where=real[i],
        )
    )
    .citing("padding", gathers(x), real=real)
    .citing("padding", gathers(blank), real=real)
    .by_definition("it has none on what they gather, and all else is done row by row"),
    given=real,
    conventions=SEEN,
)

layer.theorem(
    "left_padding",
    "Padding in front of a text changes nothing: its tokens become what they become without it, at the same positions",
    of_rows(
        claim(
            layer(x, pos, theta, *WEIGHTS, eps, each(mask[i] & le(extra, i), i))[extra + i, l],
            "=",
            layer(
                each(x[extra + i, l], first, l),
                each(pos[extra + i], first),
                theta,
                *WEIGHTS,
                eps,
                each(mask[extra + i], first),
            )[i, l],
            first,
            l,
        )
    )
    .citing("left_padding", gathers(x), rows=rows, extra=extra)
    .by_definition("they gather the same, and all else is done row by row"),
    sizes={n: extra + rows},
    conventions=SEEN,
)

near, by = (
    given("near", n, domain="integer", below=LONGEST // 2),
    given("by", domain="integer", below=LONGEST // 2),
)

layer.theorem(
    "shift",
    "All positions moved by the same number change nothing: a text may begin anywhere",
    of_rows(
        claim(
            layer(x, each(near[i] + by, i), theta, *WEIGHTS, eps, mask)[i, l],
            "=",
            layer(x, near, theta, *WEIGHTS, eps, mask)[i, l],
        )
    )
    .citing("shift", attention(read(x), near, theta, *ATTENTION, mask), near=near, by=by)
    .by_definition("it changes nothing that is gathered"),
    given=(near, by),
    conventions={**SEEN, "pairs": "halves"},
)

COUNT = d_model * (g * r + g) * (2 * p + d_v) + 3 * d_model * d_ff + 2 * d_model

layer.theorem(
    "parameters",
    "The layer has d_model·(g·r + g)·(2·p + d_v) + 3·d_model·d_ff + 2·d_model parameters, beside the p frequencies, which are "
    "not learned",
    claim(parameters(layer) - p, "=", COUNT).by_definition(
        "attention, the three matrices of the network, and two gains"
    ),
    runs=False,
)

d = g * r * 2 * p
layer.theorem(
    "parameters_of_width",
    "With heads that share the width d of the model, and values as wide as keys, these are 2·d² for queries and output, "
    "2·d·(g·2·p) for keys and values, 3·d·d_ff and 2·d",
    claim(parameters(layer) - p, "=", 2 * d**2 + 2 * d * (g * 2 * p) + 3 * d * d_ff + 2 * d).by_definition(
        "d = g·r·2·p"
    ),
    sizes={d_model: d, d_v: 2 * p},
    runs=False,
)
