"""The dot-product score: how far a key points where the query points."""

from spec.vocabulary import *

n, m, d_k = sizes("n m d_k")
i, j, c, l = indices(i=n, j=m, c=d_k, l=d_k)

q = data("q", n, d_k, meaning="queries: what each position looks for")
k = data("k", m, d_k, meaning="keys: what each slot offers to be found by")
s = tensor("s", n, m, meaning="scores: how well each key fits each query, before they become weights")

dot = Formula(
    "scores.dot",
    "Dot-product score",
    why="Where should a position look? It holds a query, and every slot holds a key; the slots whose keys fit best should "
    "count most. The inner product is the cheapest judge of that: it has nothing to learn of its own, and all pairs together "
    "are one product of matrices. The price is that query and key must have one width, and that scores grow with it.",
    sizes={n: "queries", m: "keys", d_k: "width of a query and of a key"},
    inputs=(q, k),
    lines=(define(s[i, j], Sum(q[i, c] * k[j, c], c)),),
    outputs=(s,),
    pitfalls=(
        pitfall(
            "keys reshaped instead of transposed: the shape is right, the entries not", mutant="keys_reshaped"
        ),
        pitfall("keys by queries instead of queries by keys: unnoticed where n = m", theorem="symmetric"),
        pitfall("divided by √d_k: that is the scaled score, of variance 1", theorem="variance"),
    ),
    sources=(deck(0, "self-attention, step 2"), deck(2, "attention scores"), paper("luong2015", "eq. 8")),
    worked=(
        Worked(
            "The three tokens: queries and keys as the article makes them, and their scores",
            {"q": [[1, 0, 2], [2, 2, 2], [2, 1, 3]], "k": [[0, 1, 1], [4, 4, 0], [2, 3, 1]]},
            [["2", "4", "4"], ["4", "16", "12"], ["4", "12", "10"]],
            0,
            paper("karim2019", "scores; its tokens are shown in S0"),
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

p, r, a = given("p", n, d_k), given("r", m, d_k), given("a")

dot.theorem(
    "bilinear",
    "The score is linear in the query and in the key",
    claim(dot(each(a * q[i, c] + p[i, c], i, c), k)[i, j], "=", a * s[i, j] + dot(p, k)[i, j])
    .step(Sum(a * (q[i, c] * k[j, c]) + p[i, c] * k[j, c], c), "each product multiplied out")
    .because("the sum split; a does not depend on c"),
    claim(dot(q, each(a * k[j, c] + r[j, c], j, c))[i, j], "=", a * s[i, j] + dot(q, r)[i, j])
    .step(Sum(a * (q[i, c] * k[j, c]) + q[i, c] * r[j, c], c), "each product multiplied out")
    .because("the sum split; a does not depend on c"),
    given=(p, r, a),
)

dot.theorem(
    "symmetric",
    "Exchanging queries and keys transposes the scores",
    claim(s[i, j], "=", dot(k, q)[j, i])
    .step(Sum(k[j, c] * q[i, c], c), "the factors of each product exchanged")
    .because("the definition, with the keys as queries"),
)

dot.theorem(
    "variance",
    "For independent entries of mean 0 and variance 1 a score has mean 0 and variance d_k",
    claim(expected(s[i, j], q, k), "=", 0)
    .step(Sum(expected(q[i, c] * k[j, c], q, k), c), "expectation is linear")
    .step(Sum(expected(q[i, c], q) * expected(k[j, c], k), c), "queries and keys are independent")
    .because("every entry has mean 0"),
    claim(expected(s[i, j] ** 2, q, k) - expected(s[i, j], q, k) ** 2, "=", d_k)
    .step(expected(s[i, j] ** 2, q, k), "the mean is 0")
    .step(expected(Sum(q[i, c] * k[j, c] * (q[i, l] * k[j, l]), c, l), q, k), "the square of a sum")
    .step(Sum(expected(q[i, c] * k[j, c] * (q[i, l] * k[j, l]), q, k), c, l), "expectation is linear")
    .step(
        Sum(expected(q[i, c] * q[i, l], q) * expected(k[j, c] * k[j, l], k), c, l),
        "queries and keys are independent",
    )
    .step(Sum(delta(c, l) * delta(c, l), c, l), "independent entries: E q_c·q_l is 1 for l = c, else 0")
    .step(Sum(1, c), "the deltas pick l = c")
    .because("d_k terms, each 1"),
    runs=False,
)
