"""The additive score: a small network judges query and key together."""

from spec.vocabulary import *

n, m, a, d_q, d_k = sizes("n m a d_q d_k")
i, j, l, c, e, p = indices(i=n, j=m, l=a, c=d_q, e=d_k, p=d_q + d_k)

q = data("q", n, d_q, meaning="queries: what each position looks for")
k = data("k", m, d_k, meaning="keys: what each slot offers to be found by")
W = parameter("W", a, d_q + d_k, meaning="hidden layer: its first d_q columns act on the query")
v = parameter("v", a, meaning="how much each hidden unit counts in the score")
pair = tensor("pair", n, m, d_q + d_k, meaning="query and key side by side, [q; k]")
u = tensor("u", n, m, a, meaning="what enters the hidden units")
hidden = tensor("hidden", n, m, a, meaning="hidden units: features of how query and key fit together")
s = tensor("s", n, m, meaning="scores: how well each key fits each query")

additive = Formula(
    "scores.additive",
    "Additive score: a hidden layer over query and key",
    why="How can a query be compared with a key of another width, and the comparison itself be learned? A small network "
    "reads both at once: one hidden layer finds features of how they fit together, and v weighs them. It was the first score "
    "of attention. It needs no scale on wide vectors, but a hidden layer for every pair.",
    sizes={n: "queries", m: "keys", a: "hidden units", d_q: "width of a query", d_k: "width of a key"},
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
    pitfalls=(
        pitfall("[k; q] instead of [q; k]: lectures write both, and W has to follow", mutant="key_first"),
        pitfall("tanh of each projection alone: query and key never meet inside it", mutant="tanh_apart"),
        pitfall("tanh of the whole sum: no score lies beyond ±1, whatever v is", mutant="tanh_after_v"),
        pitfall("all n·m pairs projected, where n queries and m keys will do", theorem="splits"),
    ),
    sources=(
        deck(2, "attention scoring: additive / concat"),
        deck(4, "parametrised scoring: s(q, k) = v tanh(W(k ⊕ q))"),
        paper("bahdanau2015", "appendix A.1.2"),
        paper("luong2015", "eq. 8"),
    ),
    worked=(
        Worked(
            "Query 1 with keys 1, 0 and −1; one unit adds, one subtracts: tanh 2, 0, −tanh 2",
            {"q": [[1]], "k": [[1], [0], [-1]], "W": [[1, 1], [1, -1]], "v": [1, -1]},
            [["0.9640", "0.0000", "-0.9640"]],
            4,
        ),
    ),
    notes="The pair is [q; k]: the first d_q columns of W act on the query.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi, rho = given("pi", n, domain="permutation"), given("rho", m, domain="permutation")

from_q = tensor("from_q", n, a, meaning="the query, projected by the first d_q columns of W")
from_k = tensor("from_k", m, a, meaning="the key, projected by the other columns of W")
additive.let(from_q[i, l], Sum(W[l, c] * q[i, c], c))
additive.let(from_k[j, l], Sum(W[l, d_q + e] * k[j, e], e))
largest = Sum(absolute(v[l]), l)
term = v[l] * hidden[i, j, l]
absolute_terms = Sum(absolute(term), l)

additive.theorem(
    "splits",
    "The first columns of W act on the query and the others on the key, so each is projected once: the fast form",
    claim(s[i, j], "=", Sum(v[l] * tanh(from_q[i, l] + from_k[j, l]), l))
    .step(
        Sum(v[l] * tanh(Sum(W[l, c] * pair[i, j, c], c) + Sum(W[l, d_q + e] * pair[i, j, d_q + e], e)), l),
        "the sum over the entries of the pair, split after the first d_q",
    )
    .because("the first d_q entries of the pair are the query's, the others the key's"),
)

additive.theorem(
    "bounded",
    "No score exceeds the sum of the absolute entries of v",
    claim(s[i, j], "<=", largest)
    .at_most(absolute_terms, "no term exceeds its absolute value", gap=Sum(absolute(term) - term, l))
    .because("tanh lies between −1 and 1", gap=Sum(absolute(v[l]) - absolute(term), l)),
    claim(-largest, "<=", s[i, j])
    .at_most(-absolute_terms, "tanh lies between −1 and 1", gap=Sum(absolute(v[l]) - absolute(term), l))
    .because("no term lies below minus its absolute value", gap=Sum(absolute(term) + term, l)),
)

additive.theorem(
    "pairs",
    "A score depends on its own query and key only: permuting queries and keys permutes the scores",
    claim(
        additive(each(q[pi[i], c], i, c), each(k[rho[j], e], j, e), W, v)[i, j], "=", s[pi[i], rho[j]]
    ).by_definition("line by line, only row i of the queries and row j of the keys are read"),
    given=(pi, rho),
)
