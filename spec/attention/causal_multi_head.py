"""Causal multi-head self-attention: what every layer of a GPT computes. One sequence, several heads, biases, no future."""

from spec.attention.causal import causal
from spec.attention.multi_head import multi_head
from spec.attention.parts import WIDTHS
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, d_model, d_k, d_v, h = sizes("n d_model d_k d_v h")
i, j, u, r, l, c, e, t, b = indices(i=n, j=n, u=n, r=n, l=d_model, c=d_k, e=d_v, t=h, b=h * d_v)

x = data("x", n, d_model, meaning="the sequence: one row for each token")
W_q = parameter("W_q", h, d_model, d_k, meaning="for each head, what makes its queries")
b_q = parameter("b_q", h, d_k, meaning="for each head, the bias of its queries")
W_k = parameter("W_k", h, d_model, d_k, meaning="for each head, what makes its keys")
b_k = parameter("b_k", h, d_k, meaning="for each head, the bias of its keys")
W_v = parameter("W_v", h, d_model, d_v, meaning="for each head, what makes its values")
b_v = parameter("b_v", h, d_v, meaning="for each head, the bias of its values")
W_o = parameter("W_o", h * d_v, d_model, meaning="brings what the heads found back to the width of the model")
b_o = parameter("b_o", d_model, meaning="the bias of the output")
q = tensor("q", h, n, d_k, meaning="in each head, what each token looks for")
k = tensor("k", h, n, d_k, meaning="in each head, what each token is found by")
v = tensor("v", h, n, d_v, meaning="in each head, what each token hands over")
head = tensor(
    "head", h, n, d_v, meaning="what each head has gathered for each token, from it and those before it"
)
concat = tensor("concat", n, h * d_v, meaning="what all heads have gathered, side by side, head by head")
z = tensor("z", n, d_model, meaning="the heads' findings joined, as wide as a token")

ZEROS = {"b_q": [[0], [0]], "b_k": [[0], [0]], "b_v": [[0], [0]], "b_o": [0, 0]}
TWO_HEADS = {
    "x": [[1, 0], [0, 1]],
    "W_q": [[[1], [0]], [[0], [2]]],
    "W_k": [[[1], [0]], [[0], [1]]],
    "W_v": [[[1], [0]], [[0], [1]]],
    "W_o": [[1, 1], [1, -1]],
    **ZEROS,
}

causal_multi_head = Formula(
    "attention.causal_multi_head",
    "Causal multi-head self-attention",
    why="What does a layer of a language model do with its tokens? Each is to be told of those before it, in several respects at "
    "once, and of none after it: these are what the model learns to predict. So one sequence makes queries, keys and values "
    "for h heads; in each of them a token attends to itself and to what stands before it; W_o joins what they found. What is "
    "known of a token then never changes as the text grows, so a decoder keeps keys and values and works out one row for "
    "each new token.",
    sizes={n: "tokens", h: "heads", **WIDTHS},
    inputs=(x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o),
    lines=(
        define(q[t, i, c], Sum(x[i, l] * W_q[t, l, c], l) + b_q[t, c]),
        define(k[t, j, c], Sum(x[j, l] * W_k[t, l, c], l) + b_k[t, c]),
        define(v[t, j, e], Sum(x[j, l] * W_v[t, l, e], l) + b_v[t, e]),
        define(head[t], causal(q[t], k[t], v[t])),
        define(concat[i, t * d_v + e], head[t, i, e]),
        define(z[i, l], Sum(concat[i, b] * W_o[b, l], b) + b_o[l]),
    ),
    outputs=(z,),
    stored=("q", "k", "v", "head"),
    pitfalls=(
        pitfall(
            "heads split by a view without a transpose: tokens are mixed, and see the future",
            mutant="split_by_a_view",
        ),
        pitfall("one product for all three, taken apart in another order", mutant="fused_in_another_order"),
        pitfall(
            "the mask counts heads or a batch where it should count tokens", mutant="mask_over_the_heads"
        ),
        pitfall("the bias of the keys expected to learn something: it changes nothing", theorem="key_bias"),
    ),
    sources=(
        deck(0, "decoder, masked self-attention"),
        deck(1, "masked attention"),
        deck(2, "masked multi-head self-attention"),
        paper("vaswani2017", "sections 3.2.2 and 3.2.3"),
    ),
    worked=(
        Worked(
            "Two tokens, two heads of width 1: the first token sees itself alone, the second both, as in multi_head",
            TWO_HEADS,
            [["1.0000", "1.0000"], ["1.3808", "-0.3808"]],
            4,
        ),
        Worked(
            "What the heads found for them, before W_o",
            TWO_HEADS,
            [[["1.0000"], ["0.5000"]], [["0.0000"], ["0.8808"]]],
            4,
            output="head",
        ),
        Worked(
            "A bias of the values reaches every token through W_o, that of the keys none",
            TWO_HEADS | {"b_v": [[1], [0]], "b_k": [[5], [5]], "b_o": [0, 1]},
            [["2.0000", "3.0000"], ["2.3808", "1.6192"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

WEIGHTS = (W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o)
whole = causal_multi_head(x, *WEIGHTS)
s = tensor("s", h, n, n, meaning="scores: in each head, how well each token fits each")
a = tensor(
    "a", h, n, n, meaning="weights: in each head, how much a token takes from each that is not after it"
)
causal_multi_head.let(s[t, i, j], scaled_dot(q[t], k[t])[i, j])
causal_multi_head.let(a[t, i, j], softmax(s[t], each(le(j, i), i, j))[i, j])


def by_heads(found: Node) -> Node:
    """The sum over the heads of what each has found (its column e), times its block of W_o, and the bias."""
    return Sum(found * W_o[t * d_v + e, l], t, e) + b_o[l]


causal_multi_head.theorem(
    "heads",
    "Each output is the sum over the heads of each one's causal attention times its block of W_o, and the bias",
    claim(z[i, l], "=", by_heads(causal(q[t], k[t], v[t])[i, e]))
    .step(by_heads(concat[i, t * d_v + e]), "the columns counted head by head, b = t·d_v + e")
    .step(by_heads(head[t, i, e]), "column t·d_v + e is column e of head t")
    .because("a head is causal attention"),
)

causal_multi_head.theorem(
    "multi_head",
    "With all biases 0 it is multi-head attention of the sequence to itself under the causal mask",
    claim(
        causal_multi_head(x, W_q, each(0, t, c), W_k, each(0, t, c), W_v, each(0, t, e), W_o, each(0, l))[
            i, l
        ],
        "=",
        multi_head(x, x, W_q, W_k, W_v, W_o, each(le(j, i), i, j))[i, l],
    ).by_definition("queries, keys and values come from x alone, and a token sees those up to its own place"),
)

x_later, g = given("x_later", n, d_model), given("g", n, d_model)
changed = causal_multi_head(each(case(le(j, r), x[j, l], x_later[j, l]), j, l), *WEIGHTS)
mixed = Sum(a[t, i, j] * v[t, j, e], j, where=le(j, i))

causal_multi_head.theorem(
    "no_future",
    "No output depends on a token after it",
    claim(changed[i, l], "=", whole[i, l], where=le(i, r))
    .step(by_heads(mixed), "token i sees those up to its own place in every head, none of which was replaced")
    .because("the definition"),
    given=x_later,
)

causal_multi_head.theorem(
    "no_future_gradient",
    "A gradient that reaches the outputs up to a token does not reach the tokens after it",
    claim(whole.pullback(each(case(le(i, r), g[i, l]), i, l), x)[j, l], "=", 0, where=lt(r, j)).by_definition(
        "the token stands in no sum of an output up to r"
    ),
    given=g,
)

rows, extra = sizes("rows extra")

causal_multi_head.theorem(
    "prefix",
    "The outputs of the first tokens are those of the first tokens alone: as a text grows, what was said of it stays",
    claim(causal_multi_head(x[:rows], *WEIGHTS)[i, l], "=", whole[i, l], (i, rows), l)
    .step(
        by_heads(mixed),
        "token i sees those up to its own place, and these are among the first: the same scores and values",
    )
    .because("the sum over the heads"),
    sizes={n: rows + extra},
)

causal_multi_head.theorem(
    "first_token",
    "The first token attends to itself alone: it gets its own values, through W_o",
    claim(z[0, l], "=", by_heads(v[t, 0, e]))
    .step(by_heads(a[t, 0, 0] * v[t, 0, e]), "no token but itself is not after it")
    .because("its only weight is e^s/e^s = 1"),
)

b_other = given("b_other", h, d_k)
moved = Sum(q[t, i, c] * (b_other[t, c] - b_k[t, c]), c) / sqrt(d_k)

causal_multi_head.theorem(
    "key_bias",
    "The bias of the keys changes nothing: it adds the same number to all scores of a query",
    claim(causal_multi_head(x, W_q, b_q, W_k, b_other, W_v, b_v, W_o, b_o)[i, l], "=", z[i, l])
    .step(
        by_heads(
            Sum(
                exp(s[t, i, j] + moved) / Sum(exp(s[t, i, u] + moved), u, where=le(u, i)) * v[t, j, e],
                j,
                where=le(j, i),
            )
        ),
        "q·(k + b′ − b) = q·k + q·(b′ − b), and the second does not depend on the key",
    )
    .step(by_heads(mixed), "a softmax does not change where one number is added to all its scores")
    .because("the sum over the heads"),
    given=b_other,
)

sigma = given("sigma", h, domain="permutation")
block = floor(b / d_v)

causal_multi_head.theorem(
    "head_permutation",
    "Permuting the heads, with their biases and their blocks of W_o, changes nothing",
    claim(
        causal_multi_head(
            x,
            each(W_q[sigma[t], l, c], t, l, c),
            each(b_q[sigma[t], c], t, c),
            each(W_k[sigma[t], l, c], t, l, c),
            each(b_k[sigma[t], c], t, c),
            each(W_v[sigma[t], l, e], t, l, e),
            each(b_v[sigma[t], e], t, e),
            each(W_o[sigma[block] * d_v + (b - d_v * block), l], b, l),
            b_o,
        )[i, l],
        "=",
        z[i, l],
    )
    .step(
        Sum(head[sigma[t], i, e] * W_o[sigma[t] * d_v + e, l], t, e) + b_o[l],
        "the sum over the heads: number t is now head σ(t), with its block",
    )
    .step(by_heads(head[t, i, e]), "σ reaches every head once: the same terms in another order")
    .because("z is this sum over the heads"),
    given=sigma,
)

causal_multi_head.theorem(
    "parameters",
    "It has h·(d_model + 1)·(2·d_k + d_v) + (h·d_v + 1)·d_model parameters, however long the text: 4·d_model·(d_model + 1) where "
    "h heads share the width of the model",
    claim(
        parameters(causal_multi_head),
        "=",
        h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model,
    ).by_definition("four matrices with their biases"),
    runs=False,
)
