"""Multi-head attention: several attentions side by side, joined by one matrix."""

from spec.attention.cross import cross
from spec.attention.masks import FULLY_MASKED, OURS, POLARITY
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

TWO_HEADS = {
    "x": [[1, 0], [0, 1]],
    "y": [[1, 0], [0, 1]],
    "W_q": [[[1], [0]], [[0], [2]]],
    "W_k": [[[1], [0]], [[0], [1]]],
    "W_v": [[[1], [0]], [[0], [1]]],
    "W_o": [[1, 1], [1, -1]],
}

multi_head = Formula(
    "attention.multi_head",
    "Multi-head attention",
    why="How can a token look for several things at once? One attention gives each token one set of weights, and a weighted mean "
    "blurs what it finds: who acts, and where, and when. Several heads attend side by side, each with matrices of its own, to "
    "different places and in different subspaces. The next layer expects one vector for each token, not h of them: W_o joins "
    "them and brings them back to the width of the model, so that layers can be stacked.",
    sizes={
        n: "tokens that ask",
        m: "tokens that are read",
        h: "heads",
        d_model: "width of a token",
        d_k: "width of queries and keys in each head",
        d_v: "width of values in each head",
    },
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
        pitfall(
            "heads merged by a view without the transpose: it shows only with more than one head and more than one token",
            mutant="viewed_without_transpose",
        ),
        pitfall(
            "columns interleaved component by component instead of head by head: right only for weights trained so",
            mutant="heads_interleaved",
        ),
        pitfall(
            "scores divided by the root of the width before the split, √(h·d_k)", mutant="scaled_by_all_heads"
        ),
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
            "Two heads of width 1 on two tokens: the first asks for what the first entry says, the second for the second",
            TWO_HEADS,
            [[["0.7311"], ["0.5000"]], [["0.5000"], ["0.8808"]]],
            4,
            output="head",
        ),
        Worked(
            "Their sum and their difference, by W_o",
            TWO_HEADS,
            [["1.2311", "0.2311"], ["1.3808", "-0.3808"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

has_key = Some(mask[i, j], j)
pi, rho = given("pi", n, domain="permutation"), given("rho", m, domain="permutation")
sigma = given("sigma", h, domain="permutation")
r, y_other = given("r", domain="integer", below=m), given("y_other", d_model)

a = tensor(
    "a", h, n, m, meaning="weights: how much each asking token takes from each token read, in each head"
)
v = tensor("v", h, m, d_v, meaning="values: what each token read hands over, in each head")
one = cross(x, y, W_q[t], W_k[t], W_v[t], mask)
multi_head.let(a[t], softmax(scaled_dot(one.output("q"), one.output("k")), mask))
multi_head.let(v[t, j, e], Sum(y[j, l] * W_v[t, l, e], l))
replaced = each(case(eq(j, r), y_other[l], y[j, l]), j, l)
hidden = each(mask[i, j] & ~eq(j, r), i, j)
place = floor(b / d_v)

multi_head.theorem(
    "heads",
    "Each output has the width of the model: for every query with a permitted key it is the sum over the heads of each one's "
    "attention times its block of W_o",
    claim(
        z[i, l],
        "=",
        Sum(cross(x, y, W_q[t], W_k[t], W_v[t], mask)[i, e] * W_o[t * d_v + e, l], t, e),
        where=has_key,
    )
    .step(
        Sum(concat[i, t * d_v + e] * W_o[t * d_v + e, l], t, e),
        "the definition; the columns counted head by head, b = t·d_v + e",
    )
    .step(Sum(head[t, i, e] * W_o[t * d_v + e, l], t, e), "column t·d_v + e is column e of head t")
    .because("a head is cross-attention with matrices of its own"),
    conventions={"polarity": "true_attends"},
)

multi_head.theorem(
    "one_head",
    "A single head is cross-attention, then W_o, for every query with a permitted key",
    claim(z[i, l], "=", Sum(cross(x, y, W_q[0], W_k[0], W_v[0], mask)[i, e] * W_o[e, l], e), where=has_key)
    .step(Sum(head[0, i, e] * W_o[e, l], e), "there is one block, and the concatenation is its head")
    .because("the head is cross-attention"),
    sizes={h: Rational(1)},
    conventions={"polarity": "true_attends"},
)

multi_head.theorem(
    "head_permutation",
    "Permuting the heads, and the blocks of W_o with them, changes nothing for a query with a permitted key",
    claim(
        multi_head(
            x,
            y,
            each(W_q[sigma[t], l, c], t, l, c),
            each(W_k[sigma[t], l, c], t, l, c),
            each(W_v[sigma[t], l, e], t, l, e),
            each(W_o[sigma[place] * d_v + (b - d_v * place), l], b, l),
            mask,
        )[i, l],
        "=",
        z[i, l],
        where=has_key,
    )
    .step(
        Sum(head[sigma[t], i, e] * W_o[sigma[t] * d_v + e, l], t, e),
        "a sum over the heads, of which number t and its block are now those of σ(t)",
    )
    .step(
        Sum(head[t, i, e] * W_o[t * d_v + e, l], t, e),
        "σ reaches every head once: the terms in another order",
    )
    .because("the sum over the heads that z is"),
    given=sigma,
    conventions={"polarity": "true_attends"},
)

multi_head.theorem(
    "masked_for_all",
    "A token masked for every query has no influence through any head",
    claim(
        multi_head(x, replaced, W_q, W_k, W_v, W_o, hidden)[i, l],
        "=",
        multi_head(x, y, W_q, W_k, W_v, W_o, hidden)[i, l],
    )
    .step(
        Sum(cross(x, replaced, W_q[t], W_k[t], W_v[t], hidden)[i, e] * W_o[t * d_v + e, l], t, e),
        "the sum over the heads",
    )
    .step(
        Sum(cross(x, y, W_q[t], W_k[t], W_v[t], hidden)[i, e] * W_o[t * d_v + e, l], t, e),
        "it has none in cross-attention",
    )
    .because("the sum over the heads"),
    given=(r, y_other),
    conventions=OURS,
)

multi_head.theorem(
    "permutation_equivariant",
    "Permuting the queries' tokens permutes the outputs; permuting the tokens attended to changes nothing",
    claim(
        multi_head(
            each(x[pi[i], l], i, l),
            each(y[rho[j], l], j, l),
            W_q,
            W_k,
            W_v,
            W_o,
            each(mask[pi[i], rho[j]], i, j),
        )[i, l],
        "=",
        z[pi[i], l],
    )
    .step(
        Sum(
            Sum(a[t, pi[i], rho[j]] * v[t, rho[j], e], j, where=mask[pi[i], rho[j]]) * W_o[t * d_v + e, l],
            t,
            e,
        ),
        "the sum over the heads; the query at place i is that of token π(i), key and value at place j those of token ρ(j)",
    )
    .step(
        Sum(Sum(a[t, pi[i], j] * v[t, j, e], j, where=mask[pi[i], j]) * W_o[t * d_v + e, l], t, e),
        "ρ reaches every token once: the terms in another order",
    )
    .step(Sum(head[t, pi[i], e] * W_o[t * d_v + e, l], t, e), "the definition of a head")
    .because("the sum over the heads"),
    given=(pi, rho),
    conventions=OURS,
)
