"""Multi-head attention whose projections have biases, as BERT's have."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
from spec.attention.multi_head import multi_head
from spec.attention.parts import WIDTHS
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_model, d_k, d_v, h = sizes("n m d_model d_k d_v h")
i, j, u, l, c, e, t, b = indices(i=n, j=m, u=m, l=d_model, c=d_k, e=d_v, t=h, b=h * d_v)

x = data("x", n, d_model, meaning="the sequence that asks")
y = data("y", m, d_model, meaning="the sequence that is read; x itself in self-attention")
W_q = parameter("W_q", h, d_model, d_k, meaning="for each head, what makes its queries")
b_q = parameter(
    "b_q", h, d_k, meaning="for each head, the bias of its queries: what it asks whatever the token"
)
W_k = parameter("W_k", h, d_model, d_k, meaning="for each head, what makes its keys")
b_k = parameter("b_k", h, d_k, meaning="for each head, the bias of its keys")
W_v = parameter("W_v", h, d_model, d_v, meaning="for each head, what makes its values")
b_v = parameter("b_v", h, d_v, meaning="for each head, the bias of its values")
W_o = parameter("W_o", h * d_v, d_model, meaning="brings what the heads found back to the width of the model")
b_o = parameter("b_o", d_model, meaning="the bias of the output")
mask = optional_mask("mask", n, m, meaning="which tokens of y each token of x may attend to, in every head")
q = tensor("q", h, n, d_k, meaning="in each head, what each asking token looks for")
k = tensor("k", h, m, d_k, meaning="in each head, what each token read is found by")
v = tensor("v", h, m, d_v, meaning="in each head, what each token read hands over")
head = tensor("head", h, n, d_v, meaning="what each head has gathered for each asking token")
concat = tensor("concat", n, h * d_v, meaning="what all heads have gathered, side by side, head by head")
z = tensor("z", n, d_model, meaning="the heads' findings joined, as wide as a token")

UNIT, ENTRIES = [[1, 0], [0, 1]], [[[1], [0]], [[0], [1]]]
TWO_HEADS = {
    "x": UNIT,
    "y": UNIT,
    "W_q": [[[1], [0]], [[0], [2]]],
    "b_q": [[0], [0]],
    "W_k": ENTRIES,
    "b_k": [[0], [0]],
    "W_v": ENTRIES,
    "b_v": [[0], [0]],
    "W_o": [[1, 1], [1, -1]],
    "b_o": [0, 0],
}

biased_multi_head = Formula(
    "attention.biased_multi_head",
    "Multi-head attention with biases",
    why="What does a head ask of a token that says nothing? Where queries are products with a matrix alone, a row of zeros asks "
    "nothing and fits everything alike. A linear layer as libraries build it adds a bias, and so do the projections of BERT "
    "and of the GPT models: with one, a head can prefer certain keys whoever asks. Not all four biases do something new: that "
    "of the keys moves all scores of a query alike, which a softmax does not see, and that of the values reaches every token "
    "in full, since weights sum to 1, and could as well stand behind W_o. They are stated because trained weights have them.",
    sizes={n: "tokens that ask", m: "tokens that are read", h: "heads", **WIDTHS},
    inputs=(x, y, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, mask),
    lines=(
        define(q[t, i, c], Sum(x[i, l] * W_q[t, l, c], l) + b_q[t, c]),
        define(k[t, j, c], Sum(y[j, l] * W_k[t, l, c], l) + b_k[t, c]),
        define(v[t, j, e], Sum(y[j, l] * W_v[t, l, e], l) + b_v[t, e]),
        define(head[t], scaled_dot_product(q[t], k[t], v[t], mask)),
        define(concat[i, t * d_v + e], head[t, i, e]),
        define(z[i, l], Sum(concat[i, b] * W_o[b, l], b) + b_o[l]),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("q", "k", "v", "head"),
    pitfalls=(
        pitfall("the bias of the keys expected to learn something: it changes nothing", theorem="key_bias"),
        pitfall("the bias of the queries added after the scale", mutant="query_bias_after_the_scale"),
        pitfall("the output's bias added in every head: h times", mutant="output_bias_in_every_head"),
        pitfall(
            "zeroed tokens taken for hidden ones: with biases they still have a key and a value",
            mutant="values_masked_instead",
        ),
        pitfall("one bias forgotten: invisible while it is 0", mutant="no_query_bias"),
    ),
    sources=(
        deck(0, "BERT: encoder, self-attention"),
        deck(4, "BERT: stacked Transformer blocks"),
        paper("vaswani2017", "section 3.2.2"),
        paper("devlin2019", "section 3"),
    ),
    worked=(
        Worked(
            "Two tokens, two heads of width 1, as in multi_head: the biases are 0",
            TWO_HEADS,
            [["1.2311", "0.2311"], ["1.3808", "-0.3808"]],
            4,
        ),
        Worked(
            "A bias of the queries of the first head: the second token, which asked nothing of it, now asks, too",
            TWO_HEADS | {"b_q": [[1], [0]]},
            [[["0.8808"], ["0.7311"]], [["0.5000"], ["0.8808"]]],
            4,
            output="head",
        ),
        Worked(
            "A bias of the values reaches every token through W_o, that of the keys none",
            TWO_HEADS | {"b_v": [[1], [0]], "b_k": [[5], [5]], "b_o": [0, 1]},
            [["2.2311", "2.2311"], ["2.3808", "1.6192"]],
            4,
        ),
    ),
    notes="A query without a permitted key gets b_o. causal_multi_head is the same, of one sequence that sees no later token.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

WEIGHTS = (W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o)
has_key = Some(mask[i, j], j)
s = tensor("s", h, n, m, meaning="scores: in each head, how well each token read fits each asking token")
a = tensor("a", h, n, m, meaning="weights: in each head, how much a token takes from each token read")
biased_multi_head.let(s[t, i, j], scaled_dot(q[t], k[t])[i, j])
biased_multi_head.let(a[t, i, j], softmax(s[t], mask)[i, j])


def by_heads(found: Node) -> Node:
    """The sum over the heads of what each has found (its column e), times its block of W_o, and the bias."""
    return Sum(found * W_o[t * d_v + e, l], t, e) + b_o[l]


biased_multi_head.theorem(
    "heads",
    "Each output is the sum over the heads of each one's attention times its block of W_o, and the bias",
    claim(z[i, l], "=", by_heads(scaled_dot_product(q[t], k[t], v[t], mask)[i, e]))
    .step(by_heads(concat[i, t * d_v + e]), "the columns counted head by head, b = t·d_v + e")
    .step(by_heads(head[t, i, e]), "column t·d_v + e is column e of head t")
    .keeping(scaled_dot_product)
    .because("a head is scaled dot-product attention"),
    conventions=OURS,
)

biased_multi_head.theorem(
    "multi_head",
    "With all biases 0 it is multi-head attention",
    claim(
        biased_multi_head(
            x, y, W_q, each(0, t, c), W_k, each(0, t, c), W_v, each(0, t, e), W_o, each(0, l), mask
        )[i, l],
        "=",
        multi_head(x, y, W_q, W_k, W_v, W_o, mask)[i, l],
    )
    .keeping(scaled_dot_product)
    .by_definition("queries, keys and values are the products alone"),
    conventions=OURS,
)

mixed = Sum(a[t, i, j] * v[t, j, e], j, where=mask[i, j])
b_other = given("b_other", h, d_k)
moved = Sum(q[t, i, c] * (b_other[t, c] - b_k[t, c]), c) / sqrt(d_k)

biased_multi_head.theorem(
    "key_bias",
    "The bias of the keys changes nothing: it adds the same number to all scores of a query",
    claim(biased_multi_head(x, y, W_q, b_q, W_k, b_other, W_v, b_v, W_o, b_o, mask)[i, l], "=", z[i, l])
    .step(
        by_heads(
            Sum(
                exp(s[t, i, j] + moved) / Sum(exp(s[t, i, u] + moved), u, where=mask[i, u]) * v[t, j, e],
                j,
                where=mask[i, j],
            )
        ),
        "q·(k + b′ − b) = q·k + q·(b′ − b), and the second does not depend on the key",
    )
    .step(by_heads(mixed), "a softmax does not change where one number is added to all its scores")
    .because("the sum over the heads"),
    given=b_other,
    conventions=OURS,
)

c_v = given("c_v", h, d_v)

biased_multi_head.theorem(
    "value_bias",
    "The bias of the values moves every output alike, by its product with W_o, for every query with a permitted key",
    claim(
        biased_multi_head(x, y, W_q, b_q, W_k, b_k, W_v, each(b_v[t, e] + c_v[t, e], t, e), W_o, b_o, mask)[
            i, l
        ],
        "=",
        z[i, l] + Sum(c_v[t, e] * W_o[t * d_v + e, l], t, e),
        where=has_key,
    )
    .step(
        by_heads(Sum(a[t, i, j] * (v[t, j, e] + c_v[t, e]), j, where=mask[i, j])),
        "no score depends on the values, and every value grows by c",
    )
    .step(
        by_heads(mixed + c_v[t, e] * Sum(a[t, i, j], j, where=mask[i, j])),
        "the sum split; c does not depend on the key",
    )
    .step(by_heads(mixed + c_v[t, e]), "the weights of a query with a permitted key sum to 1")
    .because("the sum over the heads, split"),
    given=c_v,
    conventions=OURS,
)

pi, rho = given("pi", n, domain="permutation"), given("rho", m, domain="permutation")
permuted = each(x[pi[i], l], i, l), each(y[rho[j], l], j, l)

biased_multi_head.theorem(
    "permutation_equivariant",
    "Permuting the queries' tokens permutes the outputs; permuting the tokens attended to changes nothing",
    claim(biased_multi_head(*permuted, *WEIGHTS, each(mask[pi[i], rho[j]], i, j))[i, l], "=", z[pi[i], l])
    .step(
        by_heads(Sum(a[t, pi[i], rho[j]] * v[t, rho[j], e], j, where=mask[pi[i], rho[j]])),
        "the query at place i is that of token π(i), key and value at place j are those of token ρ(j)",
    )
    .step(
        by_heads(Sum(a[t, pi[i], j] * v[t, j, e], j, where=mask[pi[i], j])),
        "ρ reaches every token once: the same terms in another order",
    )
    .step(by_heads(head[t, pi[i], e]), "the definition of a head at the token π(i)")
    .because("z is this sum over the heads"),
    given=(pi, rho),
    conventions=OURS,
)

real, asked = given("real", m, domain="boolean"), given("asked", n, domain="boolean")
shown = each(mask[i, j] & real[j], i, j)

biased_multi_head.theorem(
    "padding",
    "Tokens hidden from all queries, such as padding, could as well be 0, and so might the other queries",
    claim(
        biased_multi_head(x, y, *WEIGHTS, shown)[i, l],
        "=",
        biased_multi_head(
            each(case(asked[i], x[i, l], 0), i, l), each(case(real[j], y[j, l], 0), j, l), *WEIGHTS, shown
        )[i, l],
        where=asked[i],
    )
    .step(by_heads(scaled_dot_product(q[t], k[t], v[t], shown)[i, e]), "the sum over the heads")
    .because("in each head the query is that of token i, and hidden tokens are in no sum"),
    given=(real, asked),
    conventions=OURS,
)

rows, cols, extra, more = sizes("rows cols extra more")

biased_multi_head.theorem(
    "unpadded",
    "Where no query sees past the first tokens, the first tokens gather from them what they would gather without the rest",
    claim(
        biased_multi_head(x, y, *WEIGHTS, each(mask[i, j] & lt(j, cols), i, j))[i, l],
        "=",
        biased_multi_head(x[:rows], y[:cols], *WEIGHTS, mask[:rows, :cols])[i, l],
        (i, rows),
        l,
    )
    .step(
        by_heads(
            Sum(
                exp(s[t, i, j]) / Sum(exp(s[t, i, u]), (u, cols), where=mask[i, u]) * v[t, j, e],
                (j, cols),
                where=mask[i, j],
            )
        ),
        "the sums run over the first tokens alone, and what is in them does not depend on the rest",
    )
    .because("the definition, of the first tokens"),
    sizes={n: rows + extra, m: cols + more},
    conventions=OURS,
)

biased_multi_head.theorem(
    "first_queries",
    "What the first tokens gather does not depend on the queries of those after them",
    claim(z[i, l], "=", biased_multi_head(x[:rows], y, *WEIGHTS, mask[:rows])[i, l], (i, rows), l)
    .step(by_heads(head[t, i, e]), "the sum over the heads")
    .because("in each head the query is that of token i alone"),
    sizes={n: rows + extra},
    conventions=OURS,
)

upto = each(mask[i, j] & le(j, i), i, j)

biased_multi_head.theorem(
    "prefix",
    "Where each query sees nothing past its own place, the first tokens gather what they would gather alone",
    claim(
        biased_multi_head(x, y, *WEIGHTS, upto)[i, l],
        "=",
        biased_multi_head(x[:rows], y[:rows], *WEIGHTS, upto[:rows, :rows])[i, l],
        (i, rows),
        l,
    )
    .step(
        by_heads(
            Sum(
                exp(s[t, i, j]) / Sum(exp(s[t, i, u]), (u, rows), where=upto[i, u]) * v[t, j, e],
                (j, rows),
                where=upto[i, j],
            )
        ),
        "token i sees keys up to its own place, and these are among the first",
    )
    .because("the definition, of the first tokens"),
    sizes={n: rows + extra, m: rows + more},
    conventions=OURS,
)

x_later, y_later = given("x_later", n, d_model), given("y_later", m, d_model)
(r,) = indices(r=n)

biased_multi_head.theorem(
    "no_future",
    "Where each query sees nothing past its own place, other tokens behind a place change nothing up to it",
    claim(
        biased_multi_head(
            each(case(le(i, r), x[i, l], x_later[i, l]), i, l),
            each(case(le(j, r), y[j, l], y_later[j, l]), j, l),
            *WEIGHTS,
            upto,
        )[i, l],
        "=",
        biased_multi_head(x, y, *WEIGHTS, upto)[i, l],
        where=le(i, r),
    )
    .step(
        by_heads(scaled_dot_product(q[t], k[t], v[t], upto)[i, e]),
        "token i sees those up to its own place in every head, none of which was replaced",
    )
    .because("the sum over the heads"),
    given=(x_later, y_later),
    conventions=OURS,
)

biased_multi_head.theorem(
    "behind",
    "Where no query sees the first tokens, those behind them gather what they would gather alone",
    claim(
        biased_multi_head(x, y, *WEIGHTS, each(mask[i, j] & le(more, j), i, j))[extra + i, l],
        "=",
        biased_multi_head(
            each(x[extra + i, l], (i, rows), l),
            each(y[more + j, l], (j, cols), l),
            *WEIGHTS,
            each(mask[extra + i, more + j], (i, rows), (j, cols)),
        )[i, l],
        (i, rows),
        l,
    )
    .step(
        by_heads(
            Sum(
                exp(s[t, extra + i, more + j])
                / Sum(exp(s[t, extra + i, more + u]), (u, cols), where=mask[extra + i, more + u])
                * v[t, more + j, e],
                (j, cols),
                where=mask[extra + i, more + j],
            )
        ),
        "the sums begin behind the first tokens, and are counted from there",
    )
    .because("the definition, of the tokens behind them"),
    sizes={n: extra + rows, m: more + cols},
    conventions=OURS,
)

sigma, block = given("sigma", h, domain="permutation"), floor(b / d_v)

biased_multi_head.theorem(
    "head_permutation",
    "Permuting the heads, with their biases and their blocks of W_o, changes nothing",
    claim(
        biased_multi_head(
            x,
            y,
            each(W_q[sigma[t], l, c], t, l, c),
            each(b_q[sigma[t], c], t, c),
            each(W_k[sigma[t], l, c], t, l, c),
            each(b_k[sigma[t], c], t, c),
            each(W_v[sigma[t], l, e], t, l, e),
            each(b_v[sigma[t], e], t, e),
            each(W_o[sigma[block] * d_v + (b - d_v * block), l], b, l),
            b_o,
            mask,
        )[i, l],
        "=",
        z[i, l],
    )
    .step(
        Sum(head[sigma[t], i, e] * W_o[sigma[t] * d_v + e, l], t, e) + b_o[l],
        "the sum over the heads: number t is now head σ(t), with its block",
    )
    .step(by_heads(head[t, i, e]), "σ reaches every head once: the same terms in another order")
    .keeping(scaled_dot_product)
    .because("z is this sum over the heads"),
    given=sigma,
    conventions=OURS,
)

biased_multi_head.theorem(
    "parameters",
    "It has h·(d_model + 1)·(2·d_k + d_v) + (h·d_v + 1)·d_model parameters: 4·d_model·(d_model + 1) where h heads share the "
    "width of the model",
    claim(
        parameters(biased_multi_head),
        "=",
        h * (d_model + 1) * (2 * d_k + d_v) + (h * d_v + 1) * d_model,
    ).by_definition("four matrices with their biases"),
    runs=False,
)
