"""The scores of attention that knows distances: what a query finds in a key, and how much it heeds that distance."""

from spec.vocabulary import *

n, m, d_k = sizes("n m d_k")
i, j, c = indices(i=n, j=m, c=d_k)

q = data("q", n, d_k, meaning="queries: what each place looks for; the last one stands beside the last key")
k = data("k", m, d_k, meaning="keys: what each place offers to be found by, in their order")
r = data(
    "r",
    n + m - 1,
    d_k,
    meaning="distances: one row for each, from the farthest behind to the farthest ahead; a query's own place is row m − 1",
)
u = parameter("u", d_k, meaning="bias of content: what every query looks for in a key")
w = parameter("w", d_k, meaning="bias of position: what every query looks for in a distance")
s = tensor("s", n, m, meaning="scores: how well each key, at its distance, fits each query")

relative_scores = Formula(
    "attention.relative_scores",
    "Scores that know distances",
    sizes={n: "queries", m: "keys", d_k: "width of queries, keys and distances"},
    inputs=(q, k, r, u, w),
    lines=(
        define(
            s[i, j],
            (Sum((q[i, c] + u[c]) * k[j, c], c) + Sum((q[i, c] + w[c]) * r[j - i + n - 1, c], c)) / sqrt(d_k),
        ),
    ),
    outputs=(s,),
    sources=(paper("dai2019", "section 3.3"),),
    notes="Query i stands at key i + (m − n), so that key j is i + (m − n) − j places behind it: row j − i + n − 1 of r.",
    auxiliary=True,
)
