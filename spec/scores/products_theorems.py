"""Theorems about scores that are inner products: bilinear, symmetric, and why they are scaled."""

from __future__ import annotations

from spec.language import Proof, Sum, Theorem, claim, delta, each, expected, given, lt, sqrt, step
from spec.scores.products import W, c, cosine, d_k, d_q, dot, general, i, j, k, l, m, n, q, scaled_dot, wide_q
from spec.similarity import cosine as cosine_of

more_q, more_k, factor = given("p", n, d_k), given("r", m, d_k), given("a")

for score in (dot, scaled_dot):
    score.prove(
        Theorem(
            "bilinear",
            "The score is linear in the query and in the key",
            given=(more_q, more_k, factor),
            claims=(
                claim(
                    score(each(factor.value * q[i, c] + more_q[i, c], (i, n), (c, d_k)), k)[i, j],
                    "=",
                    factor.value * score(q, k)[i, j] + score(more_q, k)[i, j],
                    (i, n),
                    (j, m),
                ),
                claim(
                    score(q, each(factor.value * k[j, c] + more_k[j, c], (j, m), (c, d_k)))[i, j],
                    "=",
                    factor.value * score(q, k)[i, j] + score(q, more_k)[i, j],
                    (i, n),
                    (j, m),
                ),
            ),
            proofs=(Proof(why="sums are linear"), Proof(why="sums are linear")),
        )
    )
    score.prove(
        Theorem(
            "symmetric",
            "Exchanging queries and keys transposes the scores",
            claims=(claim(score(q, k)[i, j], "=", score(k, q)[j, i], (i, n), (j, m)),),
            proofs=(Proof(why="products commute"),),
        )
    )

pairs = q[i, c] * q[i, l] * k[j, c] * k[j, l]

dot.prove(
    Theorem(
        "variance",
        "For independent entries of mean 0 and variance 1 a score has mean 0 and variance d_k",
        runs=False,
        claims=(
            claim(expected(dot(q, k)[i, j], q, k), "=", 0, (i, n), (j, m)),
            claim(expected(dot(q, k)[i, j] ** 2, q, k), "=", d_k, (i, n), (j, m)),
        ),
        proofs=(
            Proof(
                (step(Sum(expected(q[i, c] * k[j, c], q, k), (c, 0, d_k - 1)), "expectation is linear"),),
                why="independent entries of mean 0",
            ),
            Proof(
                (
                    step(
                        Sum(Sum(expected(pairs, q, k), (l, 0, d_k - 1)), (c, 0, d_k - 1)),
                        "the square multiplied out; expectation is linear",
                    ),
                    step(
                        Sum(Sum(delta(c, l) * delta(c, l), (l, 0, d_k - 1)), (c, 0, d_k - 1)),
                        "queries and keys are independent, and so are their entries",
                    ),
                ),
                why="the deltas pick l = c; d_k terms 1 remain",
            ),
        ),
    )
)

scaled_dot.prove(
    Theorem(
        "unit_variance",
        "Divided by √d_k, a score of independent entries of mean 0 and variance 1 has variance 1 at every d_k",
        runs=False,
        claims=(claim(expected(scaled_dot(q, k)[i, j] ** 2, q, k), "=", 1, (i, n), (j, m)),),
        proofs=(
            Proof(
                (
                    step(
                        expected(dot(q, k)[i, j] ** 2, q, k) / d_k,
                        "the factor 1/√d_k, squared, is a constant",
                    ),
                ),
                why="the variance of the dot product is d_k",
            ),
        ),
    )
)

scaled_dot.prove(
    Theorem(
        "scale",
        "It is the dot product divided by √d_k",
        claims=(claim(scaled_dot(q, k)[i, j], "=", dot(q, k)[i, j] / sqrt(d_k), (i, n), (j, m)),),
        proofs=(Proof(why="the definitions"),),
    )
)

# General ------------------------------------------------------------------------------------------------------------------

through = general(wide_q, k, W)
own_q = each(wide_q[i, c], (i, n), (c, d_k))
own_q = each(wide_q[i, c], (i, n), (c, d_k))
more_wide, more_W = given("p", n, d_q), given("R", d_q, d_k)

general.prove(
    Theorem(
        "identity",
        "With the identity for W it is the dot product",
        sizes={d_q: d_k},
        claims=(
            claim(
                general(own_q, k, each(delta(c, l), (c, d_k), (l, d_k)))[i, j],
                "=",
                dot(own_q, k)[i, j],
                (i, n),
                (j, m),
            ),
        ),
        proofs=(Proof(why="the delta picks l = c"),),
    )
)

general.prove(
    Theorem(
        "projected",
        "It is the dot product of the projected query with the key, and of the query with the projected key",
        claims=(
            claim(
                through[i, j],
                "=",
                dot(each(Sum(wide_q[i, c] * W[c, l], (c, 0, d_q - 1)), (i, n), (l, d_k)), k)[i, j],
                (i, n),
                (j, m),
            ),
            claim(
                through[i, j],
                "=",
                dot(wide_q, each(Sum(W[c, l] * k[j, l], (l, 0, d_k - 1)), (j, m), (c, d_q)))[i, j],
                (i, n),
                (j, m),
            ),
        ),
        proofs=(Proof(why="the definition"), Proof(why="the sums are exchanged")),
    )
)

general.prove(
    Theorem(
        "bilinear",
        "The score is linear in the query, in the key and in the matrix",
        given=(more_wide, more_k, more_W, factor),
        claims=(
            claim(
                general(
                    each(factor.value * wide_q[i, c] + more_wide[i, c], (i, n), (c, d_q)),
                    k,
                    W,
                )[i, j],
                "=",
                factor.value * through[i, j] + general(more_wide, k, W)[i, j],
                (i, n),
                (j, m),
            ),
            claim(
                general(wide_q, each(factor.value * k[j, c] + more_k[j, c], (j, m), (c, d_k)), W)[i, j],
                "=",
                factor.value * through[i, j] + general(wide_q, more_k, W)[i, j],
                (i, n),
                (j, m),
            ),
            claim(
                general(
                    wide_q,
                    k,
                    each(factor.value * W[c, l] + more_W[c, l], (c, d_q), (l, d_k)),
                )[i, j],
                "=",
                factor.value * through[i, j] + general(wide_q, k, more_W)[i, j],
                (i, n),
                (j, m),
            ),
        ),
        proofs=(Proof(why="sums are linear"), Proof(why="sums are linear"), Proof(why="sums are linear")),
    )
)

# Cosine -------------------------------------------------------------------------------------------------------------------

q_length = sqrt(Sum(q[i, l] ** 2, (l, 0, d_k - 1)))
k_length = sqrt(Sum(k[j, l] ** 2, (l, 0, d_k - 1)))
neither_zero = lt(0, q_length) & lt(0, k_length)
apart = Sum((q[i, c] / q_length - k[j, c] / k_length) ** 2, (c, 0, d_k - 1)) / 2
together = Sum((q[i, c] / q_length + k[j, c] / k_length) ** 2, (c, 0, d_k - 1)) / 2
scales, stretches = given("a", n, domain="positive"), given("b", m, domain="positive")

cosine.prove(
    Theorem(
        "pairwise",
        "Each score is the cosine of its query and its key",
        claims=(
            claim(
                cosine(q, k)[i, j],
                "=",
                cosine_of(each(q[i, c], (c, d_k)), each(k[j, c], (c, d_k)))[()],
                (i, n),
                (j, m),
                where=neither_zero,
            ),
        ),
        proofs=(Proof(why="the definition"),),
    )
)

cosine.prove(
    Theorem(
        "bounded",
        "The score of a query and a key, neither of them zero, lies between -1 and 1",
        claims=(
            claim(cosine(q, k)[i, j], "<=", 1, (i, n), (j, m), where=neither_zero),
            claim(-1, "<=", cosine(q, k)[i, j], (i, n), (j, m), where=neither_zero),
        ),
        proofs=(
            Proof(
                why="what is missing to 1 is half the squared distance of query and key brought to length 1",
                gap=apart,
            ),
            Proof(
                why="what exceeds -1 is half the squared length of their sum, both brought to length 1",
                gap=together,
            ),
        ),
    )
)

cosine.prove(
    Theorem(
        "scale_invariant",
        "Positive factors, one for each query and each key, change nothing",
        given=(scales, stretches),
        conventions={"zero_vector": "zero"},
        claims=(
            claim(
                cosine(
                    each(scales[i] * q[i, c], (i, n), (c, d_k)),
                    each(stretches[j] * k[j, c], (j, m), (c, d_k)),
                )[i, j],
                "=",
                cosine(q, k)[i, j],
                (i, n),
                (j, m),
            ),
        ),
        proofs=(Proof(why="lengths grow by the same factors, which are positive and cancel"),),
    )
)

cosine.prove(
    Theorem(
        "symmetric",
        "Exchanging queries and keys transposes the scores",
        conventions={"zero_vector": "zero"},
        claims=(claim(cosine(q, k)[i, j], "=", cosine(k, q)[j, i], (i, n), (j, m)),),
        proofs=(Proof(why="products commute"),),
    )
)
