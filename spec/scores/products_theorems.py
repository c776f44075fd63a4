"""Theorems about scores that are inner products: bilinear, symmetric, and why they are scaled."""

from __future__ import annotations

from spec.language import Proof, Sum, Theorem, claim, delta, each, expected, given, sqrt, step
from spec.scores.products import c, d_k, dot, i, j, k, l, m, n, q, scaled_dot

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
