"""The additive score: a small network judges query and key together."""

from spec.vocabulary import *

n, m, a, d_q, d_k = sizes("n m a d_q d_k")
i, j, l, c, e, p = indices(i=n, j=m, l=a, c=d_q, e=d_k, p=d_q + d_k)

q = data("q", n, d_q, meaning="queries: what each position looks for")
k = data("k", m, d_k, meaning="keys: what each slot offers to be found by")
W = parameter("W", a, d_q + d_k, meaning="weights of the hidden layer: its first d_q columns act on the query")
v = parameter("v", a, meaning="how much each hidden unit counts in the score")
pair = tensor("pair", n, m, d_q + d_k, meaning="query and key side by side, [q; k]")
u = tensor("u", n, m, a, meaning="what enters the hidden units")
hidden = tensor("hidden", n, m, a, meaning="hidden units: features of how query and key fit together")
s = tensor("s", n, m, meaning="scores: how well each key fits each query")

additive = Formula(
    "scores.additive",
    "Additive score: a hidden layer over query and key",
    inputs=(q, k, W, v),
    lines=(
        define(pair[i, j, c], q[i, c]),
        define(pair[i, j, d_q + e], k[j, e]),
        define(u[i, j, l], Sum(W[l, p] * pair[i, j, p], p)),
        define(hidden[i, j, l], tanh(u[i, j, l])),
        define(s[i, j], Sum(v[l] * hidden[i, j, l], l)),
    ),
    outputs=(s,),
    stored=("u", "hidden"),
    sources=(
        deck(2, "attention scoring: additive / concat"),
        deck(4, "parametrised scoring: s(q, k) = v tanh(W(k ⊕ q))"),
        paper("bahdanau2015", "appendix A.1.2"),
        paper("luong2015", "eq. 8"),
    ),
    notes="The pair is [q; k]: the first d_q columns of W act on the query.",
)
