"""Scaled dot-product attention: weights mix values."""

from spec.attention.masks import FULLY_MASKED, OURS, POLARITY, mix
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, c, e = indices(i=n, j=m, l=m, c=d_k, e=d_v)

q = data("q", n, d_k, meaning="query: what each position looks for")
k = data("k", m, d_k, meaning="key: what each position offers to be found by")
v = data("v", m, d_v, meaning="value: what each position passes on where it is attended to")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
s = tensor("s", n, m, meaning="score: how well each key fits each query")
a = tensor("a", n, m, meaning="attention weight: the share of its attention that a query gives to each key")
z = tensor("z", n, d_v, meaning="context: the mean of the values, weighted by attention")

TOKENS = {"k": [[0, 1, 1], [4, 4, 0], [2, 3, 1]], "v": [[1, 2, 3], [2, 8, 0], [2, 6, 3]]}
"""Keys and values of the three tokens that deck S0 takes from Karim 2019."""
THINKING = {"q": [[112] + [0] * 63], "k": [[1] + [0] * 63, ["6/7"] + [0] * 63]}
"""A query and two keys of width 64 with the products of “Thinking Machines”, 112 and 96."""

scaled_dot_product = Formula(
    "attention.scaled_dot_product",
    "Scaled dot-product attention",
    why="How can a position gather what it needs from all others, near or far, in one step? A recurrent network passes "
    "everything on through one state, place by place, and forgets on the way. Here every query is compared with every key, "
    "and the values are averaged with the weights that result: a look-up that is soft, so that it can be learned. Keys say "
    "where to look and values what is found there. All queries are independent, so they are computed at once.",
    sizes={n: "queries", m: "keys and values", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v, mask),
    lines=(
        define(s, scaled_dot(q, k)),
        define(a, softmax(s, mask)),
        define(z[i, e], mix(a, v, mask, i, j, l, e)),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("a",),
    pitfalls=(
        pitfall("a mask of the other polarity: in some libraries True drops a key", convention="polarity"),
        pitfall("a query without a key: NaN from 0/0, or the mean of all values", convention="fully_masked"),
        pitfall("NaN in a masked slot leaks where it is multiplied by 0", mutant="kernel_as_is"),
        pitfall("scores divided by √d_v: unnoticed while d_k = d_v", mutant="scale_of_values"),
    ),
    sources=(
        deck(0, "self-attention, steps 1 to 6"),
        deck(1, "attention"),
        deck(2, "scaled dot-product attention"),
        deck(3, "step 1 – 6"),
        deck(4, "Z = softmax(QKᵀ/√k)V"),
        paper("vaswani2017", "eq. 1"),
    ),
    worked=(
        Worked(
            "Three tokens, unscaled scores (2, 4, 4) for the first: the queries carry the factor √3 that the scale divides out",
            {"q": [["sqrt(3)", 0, "2*sqrt(3)"]], **TOKENS},
            [["1.94", "6.68", "1.60"]],
            2,
            deck(0, "illustrated self-attention"),
        ),
        Worked(
            "The weights of all three tokens where the scores are scaled, (2, 4, 4)/√3 for the first",
            {"q": [[1, 0, 2], [2, 2, 2], [2, 1, 3]], **TOKENS},
            [["0.136", "0.432", "0.432"], ["0.001", "0.909", "0.090"], ["0.007", "0.755", "0.238"]],
            3,
            output="a",
        ),
        Worked(
            "“Thinking Machines”: products 112 and 96, scores 14 and 12; with unit vectors for v₁, v₂: z = 0.88·v₁ + 0.12·v₂",
            {**THINKING, "v": [[1, 0], [0, 1]]},
            [["0.88", "0.12"]],
            2,
            deck(0, "self-attention, steps 2 to 6"),
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

here, some_key = mask[i, j], Some(mask[i, l], l)
pi, sigma = given("pi", m, domain="permutation"), given("sigma", n, domain="permutation")
attended = scaled_dot_product(q, k, v, mask)

w = given("w", d_v)
p = tensor("p", m, meaning="how far each value reaches in the direction w")
M = tensor("M", n, meaning="how far the farthest permitted value reaches in that direction")
scaled_dot_product.let(p[j], Sum(w[e] * v[j, e], e))
scaled_dot_product.let(M[i], Max(p[j], j, where=here))

scaled_dot_product.theorem(
    "convex_hull",
    "Every output lies in the convex hull of the permitted values: in no direction w does it exceed them all",
    claim(Sum(w[e] * attended[i, e], e), "<=", M[i], where=some_key)
    .step(Sum(w[e] * Sum(a[i, j] * v[j, e], j, where=here), e), "the definition")
    .step(Sum(a[i, j] * p[j], j, where=here), "the sums exchanged: aᵢⱼ does not depend on e")
    .at_most(
        Sum(a[i, j] * M[i], j, where=here),
        "no permitted value reaches farther than M, and no weight is negative",
        gap=Sum(a[i, j] * (M[i] - p[j]), j, where=here),
    )
    .step(M[i] * Sum(a[i, j], j, where=here), "M does not depend on j")
    .because("the weights of a query with a permitted key sum to 1"),
    given=w,
    conventions=OURS,
)

moved = scaled_dot_product(q, each(k[pi[j], c], j, c), each(v[pi[j], e], j, e), each(mask[i, pi[j]], i, j))
total = Sum(exp(s[i, pi[l]]), l, where=mask[i, pi[l]])

scaled_dot_product.theorem(
    "key_permutation",
    "Permuting keys, values and mask alike changes nothing",
    claim(moved[i, e], "=", attended[i, e])
    .step(
        Sum(exp(s[i, pi[j]]) / total * v[pi[j], e], j, where=mask[i, pi[j]]),
        "the definition: every row of keys, values and mask is read at π(j)",
    )
    .step(
        Sum(a[i, pi[j]] * v[pi[j], e], j, where=mask[i, pi[j]]),
        "the denominator is a sum over all keys, which does not depend on their order",
    )
    .because("nor does the sum over j: π meets every key once"),
    given=pi,
    conventions=OURS,
)

reordered = scaled_dot_product(each(q[sigma[i], c], i, c), k, v, each(mask[sigma[i], j], i, j))

scaled_dot_product.theorem(
    "query_permutation",
    "Permuting queries and mask alike permutes the outputs",
    claim(reordered[i, e], "=", attended[sigma[i], e])
    .step(
        Sum(softmax(s, mask)[sigma[i], j] * v[j, e], j, where=mask[sigma[i], j]),
        "each row of scores and of weights comes from its own query and row of the mask",
    )
    .because("the definition for query σ(i)"),
    given=sigma,
    conventions=OURS,
)

r = given("r", domain="integer", below=m)
k_other, v_other, g = given("k_other", d_k), given("v_other", d_v), given("g", n, d_v)
k_changed = each(case(eq(j, r), k_other[c], k[j, c]), j, c)
v_changed = each(case(eq(j, r), v_other[e], v[j, e]), j, e)
hidden = each(mask[i, j] & ~eq(j, r), i, j)
without, changed = scaled_dot_product(q, k, v, hidden), scaled_dot_product(q, k_changed, v_changed, hidden)

b = tensor("b", n, m, meaning="the weights where slot r is masked for every query")
y = tensor("y", n, d_v, meaning="the outputs where slot r is masked for every query")
D = tensor("D", n, m, meaning="the gradient that reaches each score")
scaled_dot_product.let(b[i, j], softmax(s, hidden)[i, j])
scaled_dot_product.let(y[i, e], without[i, e])
scaled_dot_product.let(D[i, j], b[i, j] * Sum(g[i, e] * (v[j, e] - y[i, e]), e))

scaled_dot_product.theorem(
    "masked_for_all",
    "A key masked for every query has no influence: neither on the outputs nor on any gradient",
    claim(changed[i, e], "=", without[i, e])
    .step(
        Sum(b[i, j] * v_changed[j, e], j, where=mask[i, j] & ~eq(j, r)),
        "the definition: no sum in the weights meets the replaced key",
    )
    .because("nor does the sum over the values: where j is not r, they are the old ones"),
    claim(changed.pullback(g, q)[i, c], "=", without.pullback(g, q)[i, c])
    .step(Sum(D[i, j] * k[j, c], j, where=~eq(j, r)) / sqrt(d_k), "the chain rule; slot r has weight 0")
    .because("the same sum"),
    claim(changed.pullback(g, k)[j, c], "=", without.pullback(g, k)[j, c])
    .step(Sum(D[i, j] * q[i, c], i) / sqrt(d_k), "the chain rule; slot r has weight 0")
    .because("the same sum"),
    claim(changed.pullback(g, v)[j, e], "=", without.pullback(g, v)[j, e])
    .step(Sum(b[i, j] * g[i, e], i), "the outputs are linear in the values")
    .because("the same sum"),
    claim(without.pullback(g, k)[r, c], "=", 0)
    .step(Sum(D[i, r] * q[i, c], i) / sqrt(d_k), "the chain rule")
    .because("D has the factor bᵢᵣ = 0"),
    claim(without.pullback(g, v)[r, e], "=", 0)
    .step(Sum(b[i, r] * g[i, e], i), "the outputs are linear in the values")
    .because("every weight bᵢᵣ is 0"),
    given=(r, k_other, v_other, g),
    conventions=OURS,
)

scaled_dot_product.theorem(
    "masked_for_one",
    "A key masked for a query has no influence on that query's output",
    claim(scaled_dot_product(q, k_changed, v_changed, mask)[i, e], "=", attended[i, e], where=~mask[i, r])
    .step(
        Sum(a[i, j] * v_changed[j, e], j, where=here),
        "the keys in the sums of this query are permitted, so none is the replaced one",
    )
    .because("the values in its sum are not the replaced one either"),
    given=(r, k_other, v_other),
    conventions=OURS,
)
