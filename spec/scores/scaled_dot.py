"""The scaled dot-product score: a dot product whose spread does not depend on the width."""

from spec.scores.dot import dot
from spec.vocabulary import *

n, m, d_k = sizes("n m d_k")
i, j, c = indices(i=n, j=m, c=d_k)

q = data("q", n, d_k, meaning="queries: what each position looks for")
k = data("k", m, d_k, meaning="keys: what each slot offers to be found by")
s = tensor("s", n, m, meaning="scores: how well each key fits each query, of one spread at every width")

scaled_dot = Formula(
    "scores.scaled_dot",
    "Scaled dot-product score",
    why="Why does attention with wide keys learn badly, and what does a root mend? A dot product sums d_k terms; if they "
    "are independent, each of variance 1, its variance is d_k: at d_k = 64 scores lie around ±8. Softmax turns these into "
    "weights near 0 and 1, with hardly any gradient. Divided by √d_k, scores have variance 1 at any width: softmax can learn.",
    sizes={n: "queries", m: "keys", d_k: "width of a query and of a key"},
    inputs=(q, k),
    lines=(define(s[i, j], Sum(q[i, c] * k[j, c], c) / sqrt(d_k)),),
    outputs=(s,),
    pitfalls=(
        pitfall("divided by d_k, not its root: at great width all scores are alike", theorem="unit_variance"),
        pitfall("the root of another size: the number of keys, the model's width", mutant="scaled_by_keys"),
        pitfall("scaled twice: q and k by 1/√d_k each, or again by the caller", mutant="scaled_twice"),
        pitfall("scores held in float16, which ends at 65504", mutant="half_scores"),
    ),
    sources=(deck(0, "self-attention, step 3"), deck(2, "scaled dot product"), paper("vaswani2017", "eq. 1")),
    worked=(
        Worked(
            "“Thinking Machines”: scores 112 and 96 at d_k = 64 become 14 and 12",
            {"q": [[2] * 64], "k": [["7/8"] * 64, ["3/4"] * 64]},
            [["14", "12"]],
            0,
            deck(0, "self-attention, step 3"),
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

p, r, a = given("p", n, d_k), given("r", m, d_k), given("a")

scaled_dot.theorem(
    "bilinear",
    "The score is linear in the query and in the key",
    claim(scaled_dot(each(a * q[i, c] + p[i, c], i, c), k)[i, j], "=", a * s[i, j] + scaled_dot(p, k)[i, j])
    .step((a * dot(q, k)[i, j] + dot(p, k)[i, j]) / sqrt(d_k), "the dot product is linear in the query")
    .because("the quotient split"),
    claim(scaled_dot(q, each(a * k[j, c] + r[j, c], j, c))[i, j], "=", a * s[i, j] + scaled_dot(q, r)[i, j])
    .step((a * dot(q, k)[i, j] + dot(q, r)[i, j]) / sqrt(d_k), "the dot product is linear in the key")
    .because("the quotient split"),
    given=(p, r, a),
)

scaled_dot.theorem(
    "symmetric",
    "Exchanging queries and keys transposes the scores",
    claim(s[i, j], "=", scaled_dot(k, q)[j, i])
    .step(Sum(k[j, c] * q[i, c], c) / sqrt(d_k), "the factors of each product exchanged")
    .because("the definition, with the keys as queries"),
)

scaled_dot.theorem(
    "unit_variance",
    "Divided by √d_k, a score of independent entries of mean 0 and variance 1 has mean 0 and variance 1 at every d_k",
    claim(expected(s[i, j], q, k), "=", 0)
    .step(expected(dot(q, k)[i, j], q, k) / sqrt(d_k), "1/√d_k is a constant")
    .because("the dot product has mean 0"),
    claim(expected(s[i, j] ** 2, q, k) - expected(s[i, j], q, k) ** 2, "=", 1)
    .step(expected(s[i, j] ** 2, q, k), "the mean is 0")
    .step(expected(dot(q, k)[i, j] ** 2, q, k) / d_k, "the square of the constant 1/√d_k is 1/d_k")
    .step(lift(d_k) / d_k, "the dot product has variance d_k")
    .because("d_k is at least 1"),
    runs=False,
)

scaled_dot.theorem(
    "scale",
    "It is the dot product divided by √d_k",
    claim(s[i, j], "=", dot(q, k)[i, j] / sqrt(d_k)).by_definition("the numerator is the dot product"),
)
