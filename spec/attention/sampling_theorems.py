"""Theorems about hard attention: what it is on average, and how its gradient can be estimated from draws."""

from __future__ import annotations

from spec.attention.sampling import generator, hard, log_weights
from spec.attention.weights import c, d_v, i, j, k, l, m, mask, n, q, s, scaled_dot_product, softmax, v
from spec.language import Proof, Some, Sum, Theorem, claim, each, given

OURS = {"polarity": "true_attends", "fully_masked": "zero"}
some_key = Some(mask[i, l], (l, 0, m - 1))
r, b = given("r", n, m), given("b", n)

law = hard(q, k, v, generator, mask)

hard.prove(
    Theorem(
        "sums_to_one",
        "The probabilities of a query's permitted keys sum to 1, those of the others are 0",
        conventions=OURS,
        claims=(
            claim(Sum(law[i, j], (j, 0, m - 1), where=mask[i, j]), "=", 1, (i, n), where=some_key),
            claim(law[i, j], "=", 0, (i, n), (j, m), where=~mask[i, j]),
        ),
        proofs=(Proof(why="they are the attention weights"), Proof(why="the definition")),
    )
)

hard.prove(
    Theorem(
        "expectation",
        "On average hard attention is soft attention: the expected context is the weighted mean of the values",
        conventions=OURS,
        claims=(
            claim(
                Sum(law[i, j] * v[j, c], (j, 0, m - 1), where=mask[i, j]),
                "=",
                scaled_dot_product(q, k, v, mask)[i, c],
                (i, n),
                (c, d_v),
            ),
        ),
        proofs=(Proof(why="value j is drawn with probability a[i, j]"),),
    )
)

weights = softmax(s, mask)

hard.prove(
    Theorem(
        "score_function",
        "The gradient of an expected reward is the expectation of the reward times the gradient of the log weight drawn",
        given=(s, r),
        conventions=OURS,
        claims=(
            claim(
                log_weights(s, mask).pullback(each(weights[i, j] * r[i, j], (i, n), (j, m)), "s")[i, l],
                "=",
                weights.pullback(r, "s")[i, l],
                (i, n),
                (l, m),
            ),
        ),
        proofs=(Proof(why="a ∂ ln a = ∂a"),),
    )
)

hard.prove(
    Theorem(
        "baseline",
        "A baseline that does not depend on the key drawn adds nothing to the expected estimate: it only lowers its variance",
        given=(s, r, b),
        conventions=OURS,
        claims=(
            claim(
                log_weights(s, mask).pullback(each(weights[i, j] * (r[i, j] - b[i]), (i, n), (j, m)), "s")[
                    i, l
                ],
                "=",
                weights.pullback(r, "s")[i, l],
                (i, n),
                (l, m),
            ),
        ),
        proofs=(
            Proof(
                why="the weights of a query sum to 1 whatever the scores, so the gradient of that sum is 0"
            ),
        ),
    )
)
