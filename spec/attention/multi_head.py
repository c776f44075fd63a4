"""Multi-head attention: several attentions side by side, joined by one matrix."""

from spec.attention.cross import cross
from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
from spec.attention.parts import WIDTHS, replace_row
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_model, d_k, d_v, h = sizes("n m d_model d_k d_v h")
i, j, l, c, e, t, b = indices(i=n, j=m, l=d_model, c=d_k, e=d_v, t=h, b=h * d_v)

x = data("x", n, d_model, meaning="the sequence that asks")
y = data("y", m, d_model, meaning="the sequence that is read; x itself in self-attention")
W_q = parameter("W_q", h, d_model, d_k, meaning="for each head, what makes its queries")
W_k = parameter("W_k", h, d_model, d_k, meaning="for each head, what makes its keys")
W_v = parameter("W_v", h, d_model, d_v, meaning="for each head, what makes its values")
W_o = parameter("W_o", h * d_v, d_model, meaning="brings what the heads found back to the width of the model")
mask = optional_mask("mask", n, m, meaning="which tokens of y each token of x may attend to, in every head")
head = tensor("head", h, n, d_v, meaning="what each head has gathered for each asking token")
concat = tensor("concat", n, h * d_v, meaning="what all heads have gathered, side by side, head by head")
z = tensor("z", n, d_model, meaning="the heads' findings joined, as wide as a token")

UNIT, ENTRIES = [[1, 0], [0, 1]], [[[1], [0]], [[0], [1]]]
WEIGHTS = {"W_q": [[[1], [0]], [[0], [2]]], "W_k": ENTRIES, "W_v": ENTRIES, "W_o": [[1, 1], [1, -1]]}
TWO_HEADS = {"x": UNIT, "y": UNIT, **WEIGHTS}

multi_head = Formula(
    "attention.multi_head",
    "Multi-head attention",
    why="How can a token look for several things at once? One attention gives each token one set of weights, and a weighted mean "
    "blurs what it finds: who acts, and where, and when. Several heads attend side by side, each with matrices of its own, to "
    "different places and in different subspaces. The next layer expects one vector for each token, not h of them: W_o joins "
    "them and brings them back to the width of the model, so that layers can be stacked.",
    sizes={n: "tokens that ask", m: "tokens that are read", h: "heads", **WIDTHS},
    inputs=(x, y, W_q, W_k, W_v, W_o, mask),
    lines=(
        define(head[t], cross(x, y, W_q[t], W_k[t], W_v[t], mask)),
        define(concat[i, t * d_v + e], head[t, i, e]),
        define(z[i, l], Sum(concat[i, b] * W_o[b, l], b)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("head",),
    pitfalls=(
        pitfall("heads merged by a view without the transpose", mutant="viewed_without_transpose"),
        pitfall("columns interleaved component by component, not head by head", mutant="heads_interleaved"),
        pitfall("scores divided by √(h·d_k), from before the split", mutant="scaled_by_all_heads"),
        pitfall("the mask applied to the first head only", mutant="first_head_masked"),
    ),
    sources=(
        deck(0, "multi-head attention"),
        deck(1, "MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O"),
        deck(2, "condensing multi-head attention results"),
        deck(3, "multi-head self-attention"),
        deck(4, "mh-att(X) = (Z_1 ⊕ … ⊕ Z_H) W_o"),
        paper("vaswani2017", "section 3.2.2"),
    ),
    worked=(
        Worked(
            "Two tokens, two heads of width 1, each of them for one entry",
            TWO_HEADS,
            [[["0.7311"], ["0.5000"]], [["0.5000"], ["0.8808"]]],
            4,
            output="head",
        ),
        Worked("W_o: sum and difference", TWO_HEADS, [["1.2311", "0.2311"], ["1.3808", "-0.3808"]], 4),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

has_key = Some(mask[i, j], j)
pi, rho = given("pi", n, domain="permutation"), given("rho", m, domain="permutation")
sigma = given("sigma", h, domain="permutation")
r, y_other = given("r", domain="integer", below=m), given("y_other", d_model)

W, W_t = (W_q, W_k, W_v), (W_q[t], W_k[t], W_v[t])
one = cross(x, y, *W_t, mask)
a = tensor("a", h, n, m, meaning="weights: in each head, how much a token takes from each token read")
v = tensor("v", h, m, d_v, meaning="values: in each head, what a token read hands over")
multi_head.let(a[t], softmax(scaled_dot(one.output("q"), one.output("k")), mask))
multi_head.let(v[t], one.output("v"))


def by_heads(found: Node) -> Node:
    """The sum over the heads of what each has found (its column e), times its block of W_o."""
    return Sum(found * W_o[t * d_v + e, l], t, e)


multi_head.theorem(
    "heads",
    "Each output has the width of the model: for every query with a permitted key it is the sum over the heads of each one's "
    "attention times its block of W_o",
    claim(z[i, l], "=", by_heads(one[i, e]), where=has_key)
    .step(by_heads(concat[i, t * d_v + e]), "the definition; the columns counted head by head, b = t·d_v + e")
    .step(by_heads(head[t, i, e]), "column t·d_v + e is column e of head t")
    .because("a head is cross-attention with matrices of its own")
    .keeping(cross),
    conventions={"polarity": "true_attends"},
)

multi_head.theorem(
    "one_head",
    "A single head is cross-attention, then W_o, for every query with a permitted key",
    claim(z[i, l], "=", Sum(cross(x, y, W_q[0], W_k[0], W_v[0], mask)[i, e] * W_o[e, l], e), where=has_key)
    .step(Sum(head[0, i, e] * W_o[e, l], e), "there is one block, and the concatenation is its head")
    .because("the head is cross-attention")
    .keeping(cross),
    sizes={h: 1},
    conventions={"polarity": "true_attends"},
)

block = floor(b / d_v)
exchanged = (
    each(W_q[sigma[t], l, c], t, l, c),
    each(W_k[sigma[t], l, c], t, l, c),
    each(W_v[sigma[t], l, e], t, l, e),
    each(W_o[sigma[block] * d_v + (b - d_v * block), l], b, l),
)
multi_head.theorem(
    "head_permutation",
    "Permuting the heads, and the blocks of W_o with them, changes nothing for a query with a permitted key",
    claim(multi_head(x, y, *exchanged, mask)[i, l], "=", z[i, l], where=has_key)
    .step(
        Sum(head[sigma[t], i, e] * W_o[sigma[t] * d_v + e, l], t, e),
        "the sum over the heads: number t is now head σ(t), with its block",
    )
    .step(by_heads(head[t, i, e]), "σ reaches every head once: the same terms in another order")
    .because("z is this sum over the heads")
    .keeping(cross),
    given=sigma,
    conventions={"polarity": "true_attends"},
)

other, hidden = replace_row(y, r, y_other), each(mask[i, j] & ~eq(j, r), i, j)
multi_head.theorem(
    "masked_for_all",
    "A token masked for every query has no influence through any head",
    claim(multi_head(x, other, *W, W_o, hidden)[i, l], "=", multi_head(x, y, *W, W_o, hidden)[i, l])
    .step(by_heads(cross(x, other, *W_t, hidden)[i, e]), "the sum over the heads")
    .step(by_heads(cross(x, y, *W_t, hidden)[i, e]), "it has no influence on cross-attention")
    .because("the sum over the heads again"),
    given=(r, y_other),
    conventions=OURS,
)

permuted = each(x[pi[i], l], i, l), each(y[rho[j], l], j, l)
multi_head.theorem(
    "permutation_equivariant",
    "Permuting the queries' tokens permutes the outputs; permuting the tokens attended to changes nothing",
    claim(multi_head(*permuted, *W, W_o, each(mask[pi[i], rho[j]], i, j))[i, l], "=", z[pi[i], l])
    .step(
        by_heads(Sum(a[t, pi[i], rho[j]] * v[t, rho[j], e], j, where=mask[pi[i], rho[j]])),
        "the sum over the heads; the query at place i is that of token π(i), key and value at place j are those of token ρ(j)",
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

multi_head.theorem(
    "padding",
    "Tokens hidden from all queries, such as padding, could as well be 0, and so might the other queries",
    claim(
        multi_head(x, y, *W, W_o, shown)[i, l],
        "=",
        multi_head(
            each(case(asked[i], x[i, l], 0), i, l), each(case(real[j], y[j, l], 0), j, l), *W, W_o, shown
        )[i, l],
        where=asked[i],
    )
    .step(by_heads(cross(x, y, *W_t, shown)[i, e]), "the sum over the heads")
    .because("in each head the query is that of token i, and hidden tokens are in no sum"),
    given=(real, asked),
    conventions=OURS,
)

rows, extra, more = sizes("rows extra more")
first, causal = (i, rows), each(le(j, i), i, j)

multi_head.theorem(
    "first_queries",
    "What the first tokens gather does not depend on the queries of those after them",
    claim(z[i, l], "=", multi_head(x[:rows], y, *W, W_o, mask[:rows])[i, l], first, l)
    .step(
        by_heads(cross(x[:rows], y, *W_t, mask[:rows])[i, e]),
        "in each head the query is that of token i alone",
    )
    .because("the sum over the heads again"),
    sizes={n: rows + extra},
    conventions=OURS,
)

multi_head.theorem(
    "prefix",
    "Where each query sees the keys up to its own place, the first tokens gather what they would gather alone",
    claim(
        multi_head(x, y, *W, W_o, causal)[i, l],
        "=",
        multi_head(x[:rows], y[:rows], *W, W_o, causal[:rows, :rows])[i, l],
        first,
        l,
    )
    .step(
        by_heads(cross(x[:rows], y[:rows], *W_t, causal[:rows, :rows])[i, e]),
        "in each head token i sees keys up to its own place, and these are among the first",
    )
    .because("the sum over the heads again"),
    sizes={n: rows + extra, m: rows + more},
    conventions=OURS,
)
