"""The general score: an inner product through a learned matrix."""

from spec.scores.dot import dot
from spec.vocabulary import *

n, m, d_q, d_k = sizes("n m d_q d_k")
i, j, c, l, e = indices(i=n, j=m, c=d_q, l=d_k, e=d_k)

q = data("q", n, d_q, meaning="queries: what each position looks for")
k = data("k", m, d_k, meaning="keys: what each slot offers to be found by")
W = parameter("W", d_q, d_k, meaning="what each entry of a query has to do with each entry of a key")
u = tensor("u", n, d_k, meaning="queries as the keys see them: projected to their width")
s = tensor("s", n, m, meaning="scores: how well each key fits each query")

tokens = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]
product = [[1, 1, 0, 1], [0, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]]

general = Formula(
    "scores.general",
    "General score: an inner product through a matrix",
    why="What if query and key speak different languages? A dot product compares entry with entry of the same number, so both "
    "must have one width and mean the same by it. The general score learns in a matrix which entry of the query asks for "
    "which entry of the key. Self-attention learns such a matrix in two factors, one on each side.",
    sizes={n: "queries", m: "keys", d_q: "width of a query", d_k: "width of a key"},
    inputs=(q, k, W),
    lines=(define(u[i, l], Sum(q[i, c] * W[c, l], c)), define(s[i, j], Sum(u[i, l] * k[j, l], l))),
    outputs=(s,),
    stored=("u",),
    pitfalls=(
        pitfall("W transposed, as linear layers keep it: unnoticed if square", mutant="matrix_transposed"),
        pitfall("divided by √d_k besides, though W can hold any scale", mutant="general_scaled"),
        pitfall("tanh after the projection: no longer linear in the query", theorem="bilinear"),
    ),
    sources=(deck(2, "attention scoring: general"), paper("luong2015", "eq. 8")),
    worked=(
        Worked(
            "The three tokens themselves, with W the product W_q·W_kᵀ: the scores of their queries and keys",
            {"q": tokens, "k": tokens, "W": product},
            [["2", "4", "4"], ["4", "16", "12"], ["4", "12", "10"]],
            0,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

p, r, R, a = given("p", n, d_q), given("r", m, d_k), given("R", d_q, d_k), given("a")
square_q = each(q[i, e], i, e)  # where d_q is d_k

general.theorem(
    "identity",
    "With the identity for W it is the dot product",
    claim(general(square_q, k, each(delta(e, l), e, l))[i, j], "=", dot(square_q, k)[i, j])
    .step(Sum(Sum(q[i, e] * delta(e, l), e) * k[j, l], l), "the definition, W the identity")
    .because("the delta picks e = l"),
    sizes={d_q: d_k},
)

general.theorem(
    "projected",
    "It is the dot product of the projected query with the key, and of the query with the projected key",
    claim(s[i, j], "=", dot(u, k)[i, j]).by_definition("u is the projected query"),
    claim(s[i, j], "=", dot(q, each(Sum(W[c, l] * k[j, l], l), j, c))[i, j])
    .step(Sum(q[i, c] * W[c, l] * k[j, l], l, c), "the definition; kⱼₗ does not depend on c")
    .step(Sum(q[i, c] * Sum(W[c, l] * k[j, l], l), c), "the sums exchanged; q does not depend on l")
    .because("the definition of the dot product"),
)

general.theorem(
    "bilinear",
    "The score is linear in the query, in the key and in the matrix",
    claim(general(each(a * q[i, c] + p[i, c], i, c), k, W)[i, j], "=", a * s[i, j] + general(p, k, W)[i, j])
    .step(Sum((a * u[i, l] + Sum(p[i, c] * W[c, l], c)) * k[j, l], l), "the projection is linear in q")
    .because("the sum split; a does not depend on l"),
    claim(general(q, each(a * k[j, l] + r[j, l], j, l), W)[i, j], "=", a * s[i, j] + general(q, r, W)[i, j])
    .step(Sum(a * (u[i, l] * k[j, l]) + u[i, l] * r[j, l], l), "each product multiplied out")
    .because("the sum split; a does not depend on l"),
    claim(general(q, k, each(a * W[c, l] + R[c, l], c, l))[i, j], "=", a * s[i, j] + general(q, k, R)[i, j])
    .step(Sum((a * u[i, l] + Sum(q[i, c] * R[c, l], c)) * k[j, l], l), "the projection is linear in W")
    .because("the sum split; a does not depend on l"),
    given=(p, r, R, a),
)
