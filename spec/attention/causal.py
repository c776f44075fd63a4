"""Causal attention: a query sees no key that comes after it."""

from spec.attention.masks import FULLY_MASKED
from spec.attention.scaled_dot_product import TOKENS, scaled_dot_product
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, r, c, e = indices(i=n, j=m, l=m, r=m, c=d_k, e=d_v)

q = data("q", n, d_k, meaning="query: what each position looks for")
k = data("k", m, d_k, meaning="key: what each position offers to be found by")
v = data("v", m, d_v, meaning="value: what each position passes on where it is attended to")
z = tensor(
    "z", n, d_v, meaning="context: the mean of the values up to the query's own place, weighted by attention"
)

ALIGNMENT = Convention(
    "alignment",
    {
        "lower_right": "the last query sees the last key: j ≤ i + (m − n)",
        "upper_left": "the first query sees the first key: j ≤ i",
    },
    default="lower_right",
)
seen = by_convention("alignment", lower_right=le(j, i + (m - n)), upper_left=le(j, i))

causal = Formula(
    "attention.causal",
    "Causal attention",
    why="How can a model that predicts the next word be trained on all words of a text at once? In use it knows only what is "
    "already written; in training the whole text lies before it, and it would learn to copy the answer. So a query attends to "
    "no key that comes after it, and every position is a prediction of its own. While decoding there are fewer queries than "
    "keys, since earlier ones are kept: the last query then stands beside the last key.",
    sizes={n: "queries", m: "keys and values", d_k: "width of a key", d_v: "width of a value"},
    inputs=(q, k, v),
    lines=(define(z, scaled_dot_product(q, k, v, each(seen, i, j))),),
    outputs=(z,),
    conventions=(ALIGNMENT, FULLY_MASKED),
    stored=("a",),
    pitfalls=(
        pitfall(
            "aligned at the first key: with a cache, one query sees that key only", convention="alignment"
        ),
        pitfall("more queries than keys: the first see none, and become NaN", convention="fully_masked"),
        pitfall("a diagonal off by one: every query sees its successor", mutant="one_ahead"),
        pitfall("the future pushed down by a fixed number: large scores come through", mutant="weak_fill"),
    ),
    sources=(
        deck(0, "decoder, masked self-attention"),
        deck(1, "masked attention"),
        deck(2, "masked multi-head self-attention"),
        paper("vaswani2017", "section 3.2.3"),
    ),
    worked=(
        Worked(
            "Queries of 0 weigh alike what they see: the running means of the values 3, 1 and 5",
            {"q": [[0], [0], [0]], "k": [[1], [2], [3]], "v": [[3], [1], [5]]},
            [["3.0"], ["2.0"], ["3.0"]],
            1,
        ),
        Worked(
            "The three tokens of scaled_dot_product read from left to right, scores scaled: the first sees itself only",
            {"q": [[1, 0, 2], [2, 2, 2], [2, 1, 3]], **TOKENS},
            [["1.00", "2.00", "3.00"], ["2.00", "7.99", "0.00"], ["1.99", "7.48", "0.74"]],
            2,
        ),
        Worked(
            "One query of 0 and three keys: it stands beside the last key and sees all, the mean of 3, 1 and 5",
            {"q": [[0]], "k": [[1], [2], [3]], "v": [[3], [1], [5]]},
            [["3.0"]],
            1,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

(t,) = indices(t=n)
k_later, v_later, g = given("k_later", m, d_k), given("v_later", m, d_v), given("g", d_v)
whole = causal(q, k, v)
s = tensor("s", n, m, meaning="score: how well each key fits each query")
a = tensor("a", n, m, meaning="attention weight: 0 for every key after the query")
causal.let(s[i, j], scaled_dot(q, k)[i, j])
causal.let(a[i, j], softmax(s, each(seen, i, j))[i, j])

k_changed = each(case(le(j, r), k[j, c], k_later[j, c]), j, c)
v_changed = each(case(le(j, r), v[j, e], v_later[j, e]), j, e)
of_query = each(delta(i, t) * g[e], i, e)
later_than = {"lower_right": (t + (m - n), ""), "upper_left": (t, "_upper_left")}

for alignment, (last, suffix) in later_than.items():
    causal.theorem(
        "no_future" + suffix,
        "Keys and values after a query's last permitted one have no influence on its output, and no gradient",
        claim(causal(q, k_changed, v_changed)[t, e], "=", whole[t, e], where=le(last, r))
        .step(
            Sum(exp(s[t, j]) / Sum(exp(s[t, l]), l, where=le(l, last)) * v[j, e], j, where=le(j, last)),
            "the sums of query t run over keys up to its last, none of which was replaced",
        )
        .because("the definition"),
        claim(whole.pullback(of_query, v)[j, e], "=", 0, where=lt(last, j))
        .step(a[t, j] * g[e], "output t is Σⱼ aₜⱼvⱼ, linear in the values")
        .because("key j comes after the last of query t, so its weight is 0"),
        claim(whole.pullback(of_query, k)[j, c], "=", 0, where=lt(last, j))
        .step(
            a[t, j] * Sum(g[e] * (v[j, e] - z[t, e]), e) * q[t, c] / sqrt(d_k),
            "the chain rule: ∂sₜⱼ/∂kⱼ = qₜ/√d_k, and ∂zₜ/∂sₜⱼ = aₜⱼ(vⱼ − zₜ)",
        )
        .because("key j comes after the last of query t, so its weight is 0"),
        given=(k_later, v_later, g),
        conventions={"alignment": alignment, "fully_masked": "zero"},
    )

rows, cols, extra, more = sizes("rows cols extra more")

causal.theorem(
    "prefix",
    "Dropping the last queries with as many keys leaves the outputs of the others as they were",
    claim(causal(q[:rows], k[:cols], v[:cols])[i, e], "=", whole[i, e], (i, rows), e)
    .step(
        Sum(a[i, j] * v[j, e], (j, cols), where=le(j, i + (cols - rows))),
        "query i sees the keys up to i + m − n, and m − n is the same for both: its weights are the same",
    )
    .because("the keys dropped come after that, so they add nothing"),
    sizes={n: rows + extra, m: cols + extra},
    conventions={"alignment": "lower_right", "fully_masked": "zero"},
)

causal.theorem(
    "prefix_upper_left",
    "The outputs of the first queries are those of the first queries and as many keys alone",
    claim(causal(q[:rows], k[:rows], v[:rows])[i, e], "=", whole[i, e], (i, rows), e)
    .step(
        Sum(a[i, j] * v[j, e], (j, rows), where=le(j, i)),
        "query i sees the keys up to i in both: its weights are the same",
    )
    .because("the keys dropped come after that, so they add nothing"),
    sizes={n: rows + extra, m: rows + more},
    conventions={"alignment": "upper_left", "fully_masked": "zero"},
)

reversed_ = causal(each(q[n - 1 - i, c], i, c), each(k[m - 1 - j, c], j, c), each(v[m - 1 - j, e], j, e))

causal.theorem(
    "order_matters",
    "Causal attention is not permutation equivariant: reversing its inputs does more than reverse its outputs, so that it can "
    "tell order without positions",
    claim(reversed_[i, e], "=", whole[n - 1 - i, e]).by_witness(
        n=2, m=2, d_k=1, d_v=1, q=[[0.0], [0.0]], k=[[0.0], [0.0]], v=[[0.0], [1.0]]
    ),
    sizes={m: n},
    exists=True,
    runs=False,
    conventions={"fully_masked": "zero"},
)
