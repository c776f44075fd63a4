"""A layer of a GPT: self-attention that sees no later token, and a network with GELU, each in a residual connection.

Inputs: the tokens x; the attention's W_q, b_q … W_o, b_o; gain and bias beside it; the network's W_1, b_1, W_2, b_2; gain and
bias beside it; ε; which tokens are words. Padding behind a text needs no mask: no word sees what comes after it.
"""

from spec.attention.biased_multi_head import biased_multi_head
from spec.attention.causal_multi_head import causal_multi_head
from spec.bert.layer import ONE_HEAD
from spec.bert.weights import weights
from spec.feedforward.gelu import gelu
from spec.gpt.parts import CONVENTIONS, ZERO
from spec.normalization.add_norm import add_norm
from spec.normalization.layer_norm import layer_norm
from spec.transformer.parts import WIDTHS, d_ff, d_k, d_model, d_v, epsilon, h, n
from spec.vocabulary import *

i, j, l = indices(i=n, j=n, l=d_model)

x = data("x", n, d_model, meaning="the text so far: one row for each token")
WEIGHTS = weights()
ATTENTION, FIRST, NETWORK, SECOND = WEIGHTS[:8], WEIGHTS[8:10], WEIGHTS[10:14], WEIGHTS[14:]
eps = epsilon()
mask = optional_mask("mask", n, meaning="which tokens are words, and not padding")
u = tensor("u", n, d_model, meaning="the rows that attention reads")
z = tensor("z", n, d_model, meaning="what each token has gathered from those up to its own place")
s = tensor("s", n, d_model, meaning="the tokens after the first sublayer")
w = tensor("w", n, d_model, meaning="the rows that the feed-forward network reads")
f = tensor("f", n, d_model, meaning="what the feed-forward network makes of each of them")
y = tensor("y", n, d_model, meaning="the tokens after both sublayers")
SEEN = each(le(j, i) & mask[j], i, j)
"""Which words each token may attend to: those up to its own place."""

layer = Formula(
    "gpt.layer",
    "GPT's layer",
    why="What is left of the Transformer if there is nothing to translate? A language model has no source: it writes on from its "
    "own words. So the decoder's layer loses its attention to the encoder, and what stays is two steps: each token asks those up "
    "to its own place, then works on what it gathered. From GPT-2 on the normalization stands before each step and not behind "
    "the sum, so that a token's row passes through the layer untouched but for what is added to it; stacks of a hundred layers "
    "learn that way.",
    sizes={n: "tokens", **WIDTHS},
    inputs=(x, *WEIGHTS, eps, mask),
    lines=(
        lines_by_convention(
            "norm",
            pre=(
                define(u[i], layer_norm(x[i], *FIRST, eps)),
                define(z, biased_multi_head(u, u, *ATTENTION, SEEN)),
                define(s[i, l], x[i, l] + z[i, l]),
                define(w[i], layer_norm(s[i], *SECOND, eps)),
                define(f[i], gelu(w[i], *NETWORK)),
                define(y[i, l], s[i, l] + f[i, l]),
            ),
            post=(
                define(z, biased_multi_head(x, x, *ATTENTION, SEEN)),
                define(s[i], add_norm(x[i], z[i], *FIRST, eps)),
                define(f[i], gelu(s[i], *NETWORK)),
                define(y[i], add_norm(s[i], f[i], *SECOND, eps)),
            ),
        ),
    ),
    outputs=(y,),
    conventions=CONVENTIONS,
    stored=("u", "z", "s", "w", "f"),
    pitfalls=(
        pitfall("the mask left out, or off by one: a token sees what it has to predict", theorem="prefix"),
        pitfall("normalised after each sum, as GPT-1 is and GPT-2 is not", convention="norm"),
        pitfall(
            "GELU by the normal distribution itself, where GPT's weights were trained with tanh",
            convention="approximation",
        ),
        pitfall(
            "padding in front that takes part: a text's vectors depend on its batch",
            mutant="padding_in_front_seen",
        ),
        pitfall(
            "the sum taken with the normalised row, not with the row itself", mutant="sum_of_the_normalised"
        ),
    ),
    sources=(
        deck(0, "decoder, masked self-attention"),
        deck(1, "masked attention"),
        deck(2, "masked multi-head self-attention"),
        paper("radford2018", "section 3.1"),
        paper("radford2019", "section 2.3: the normalization moved to the input of each sub-block"),
        paper("xiong2020", "figure 1: normalised after and before"),
    ),
    worked=(
        Worked(
            "Two tokens, (1, 0) and (0, 1), normalised (0.4472, −0.4472) and its opposite; one head hands over twice the first "
            "entry of what it reads: the first token gathers 0.8944 from itself, the second from both 0, so that ±0.4472 cancel",
            ONE_HEAD | {"eps": 1},
            [["1.8944", "0.0000"], ["0.0000", "1.0000"]],
            4,
            output="s",
        ),
        Worked(
            "The network's unit is reached by its bias 1 alone, and adds 0.8412, GELU of 1 by tanh, to the first entry",
            ONE_HEAD | {"eps": 1},
            [["2.7356", "0.0000"], ["0.8412", "1.0000"]],
            4,
        ),
    ),
    notes="It is bert.layer under a causal mask, with other defaults: a third of the Transformer's decoder layer is gone, the "
    "attention to a source, with its normalization, and every projection has a bias.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
first = (i, rows)
real = given("real", n, domain="boolean")
blank, shown = each(case(real[i], x[i, l], 0), i, l), each(mask[i] & real[i], i)


def of_rows(claimed: Claim) -> Claim:
    """A claim that follows from what attention does: everything else is done row by row."""
    return claimed.keeping(layer_norm, add_norm, gelu)


def read(rows: Tensor | Comprehension) -> Comprehension:
    """The rows that attention reads: as they are, or normalised."""
    normalised = layer_norm(rows[i], *FIRST, eps)[l]
    return each(by_convention("norm", post=rows[i, l], pre=normalised), i, l)


def gathers(rows: Tensor | Comprehension, seen: Tensor | Comprehension = SEEN) -> Applied:
    """What the rows gather from each other."""
    return biased_multi_head(read(rows), read(rows), *ATTENTION, seen)


layer.theorem(
    "causal_multi_head",
    "Where all tokens are words, they gather what causal multi-head attention gathers for them",
    claim(layer(x, *WEIGHTS, eps).output(z)[i, l], "=", causal_multi_head(read(x), *ATTENTION)[i, l])
    .keeping(layer_norm)
    .by_definition("a token sees those up to its own place"),
    conventions=ZERO,
)

layer.theorem(
    "prefix",
    "What a token becomes does not depend on those after it: without them it becomes the same, so that keys and values may be "
    "kept while a text grows",
    of_rows(claim(layer(x[:rows], *WEIGHTS, eps, mask[:rows])[i, l], "=", y[i, l], first, l))
    .citing("prefix", gathers(x, each(mask[j], i, j)), rows=rows, extra=extra, more=extra)
    .by_definition("it gathers the same, and all else is done row by row"),
    sizes={n: rows + extra},
    conventions=ZERO,
)

x_later, r, g = given("x_later", n, d_model), *indices(r=n), given("g", n, d_model)
whole = layer(x, *WEIGHTS, eps, mask)

layer.theorem(
    "no_future",
    "Other tokens behind a place change nothing up to it",
    of_rows(
        claim(
            layer(each(case(le(j, r), x[j, l], x_later[j, l]), j, l), *WEIGHTS, eps, mask)[i, l],
            "=",
            y[i, l],
            where=le(i, r),
        )
    )
    .citing("no_future", gathers(x, each(mask[j], i, j)), x_later=read(x_later), y_later=read(x_later))
    .by_definition("it gathers nothing of them, and all else is done row by row"),
    given=x_later,
    conventions=ZERO,
)

layer.theorem(
    "no_future_gradient",
    "A gradient that reaches the tokens up to a place does not reach those behind it",
    claim(whole.pullback(each(case(le(i, r), g[i, l], 0), i, l), x)[j, l], "=", 0, where=lt(r, j))
    .by_enclosure()
    .because("no output up to r reads a later token"),
    given=g,
    conventions=ZERO,
)

layer.theorem(
    "padding",
    "What stands where padding is has no influence on the words: it could as well be 0",
    of_rows(
        claim(
            layer(x, *WEIGHTS, eps, shown)[i, l], "=", layer(blank, *WEIGHTS, eps, shown)[i, l], where=real[i]
        )
    )
    .citing("padding", gathers(x), real=real, asked=real)
    .citing("padding", gathers(blank), real=real, asked=real)
    .by_definition("it has none on what they gather, and all else is done row by row"),
    given=real,
    conventions=ZERO,
)

layer.theorem(
    "left_padding",
    "Padding in front of a text changes nothing: its tokens become what they become without it",
    of_rows(
        claim(
            layer(x, *WEIGHTS, eps, each(mask[i] & le(extra, i), i))[extra + i, l],
            "=",
            layer(each(x[extra + i, l], first, l), *WEIGHTS, eps, each(mask[extra + i], first))[i, l],
            first,
            l,
        )
    )
    .citing("behind", gathers(x), rows=rows, cols=rows, extra=extra, more=extra)
    .by_definition("they gather the same, and all else is done row by row"),
    sizes={n: extra + rows},
    conventions=ZERO,
)

layer.theorem(
    "straight_way",
    "Normalised before its sublayers, the layer adds to each token what they make of it: nothing multiplies the token itself, "
    "nor the gradient on its way past them",
    claim(y[i, l], "=", x[i, l] + z[i, l] + f[i, l])
    .keeping(layer_norm, biased_multi_head, gelu)
    .by_definition("two sums, one after the other"),
    conventions={**ZERO, "norm": "pre"},
)

COUNT = (
    h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model + 2 * d_model * d_ff + d_ff + 5 * d_model
)

layer.theorem(
    "parameters",
    "The layer has h·(d_model + 1)·(2·d_k + d_v) + (h·d_v + 1)·d_model + 2·d_model·d_ff + d_ff + 5·d_model parameters",
    claim(parameters(layer), "=", COUNT).by_definition(
        "attention with its biases, the two matrices and biases of the network, two gains and two biases"
    ),
    runs=False,
)

(width,) = sizes("width")

layer.theorem(
    "parameters_of_width",
    "With heads that share the width d of the model, and 4·d inner units, these are 12·d² + 13·d: 7,087,872 where d is 768",
    claim(parameters(layer), "=", 12 * (h * d_k) ** 2 + 13 * h * d_k).by_definition(
        "d_model = h·d_k = h·d_v and d_ff = 4·d_model"
    ),
    sizes={d_model: h * d_k, d_v: d_k, d_ff: 4 * h * d_k},
    runs=False,
)
