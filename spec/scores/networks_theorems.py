"""Theorems about scores from a small network: the fast form of the additive score, and what a location-based one sees."""

from __future__ import annotations

from spec.language import Proof, Sum, Theorem, absolute, claim, each, exp, given, step, tanh
from spec.scores.networks import W, W_l, a, additive, location, q, v
from spec.scores.products import c, d_k, d_q, i, j, k, l, m, n

queries, keys = given("pi", n, domain="permutation"), given("rho", m, domain="permutation")

# Additive -----------------------------------------------------------------------------------------------------------------

from_query = Sum(W[l, c] * q[i, c], (c, 0, d_q - 1))
from_key = Sum(W[l, d_q + c] * k[j, c], (c, 0, d_k - 1))
score = additive(q, k, W, v)
unit = tanh(from_query + from_key)

additive.prove(
    Theorem(
        "splits",
        "The first columns of W act on the query and the others on the key, so each is projected once: the fast form",
        claims=(claim(score[i, j], "=", Sum(v[l] * unit, (l, 0, a - 1)), (i, n), (j, m)),),
        proofs=(
            Proof(why="the sum over the entries of [q; k] is one over those of q and one over those of k"),
        ),
    )
)

additive.prove(
    Theorem(
        "bounded",
        "No score exceeds the sum of the absolute entries of v",
        claims=(
            claim(score[i, j], "<=", Sum(absolute(v[l]), (l, 0, a - 1)), (i, n), (j, m)),
            claim(-Sum(absolute(v[l]), (l, 0, a - 1)), "<=", score[i, j], (i, n), (j, m)),
        ),
        proofs=(
            Proof(
                why="the hyperbolic tangent lies between -1 and 1",
                gap=Sum(absolute(v[l]) - v[l] * unit, (l, 0, a - 1)),
            ),
            Proof(
                why="the hyperbolic tangent lies between -1 and 1",
                gap=Sum(absolute(v[l]) + v[l] * unit, (l, 0, a - 1)),
            ),
        ),
    )
)

additive.prove(
    Theorem(
        "pairs",
        "A score depends on its own query and key only: permuting queries and keys permutes the scores",
        given=(queries, keys),
        claims=(
            claim(
                additive(
                    each(q[queries[i], c], (i, n), (c, d_q)), each(k[keys[j], c], (j, m), (c, d_k)), W, v
                )[i, j],
                "=",
                score[queries[i], keys[j]],
                (i, n),
                (j, m),
            ),
        ),
        proofs=(Proof(why="the definition"),),
    )
)

# Location -----------------------------------------------------------------------------------------------------------------

places = location(q, W_l)
shift = given("w", d_q)
at_place = Sum(W_l[j, c] * q[i, c], (c, 0, d_q - 1))
at_other = Sum(W_l[l, c] * q[i, c], (c, 0, d_q - 1))
total = Sum(exp(at_other), (l, 0, m - 1))

location.prove(
    Theorem(
        "sums_to_one",
        "The weights of a query are positive and sum to 1",
        claims=(
            claim(Sum(places[i, j], (j, 0, m - 1)), "=", 1, (i, n)),
            claim(0, "<", places[i, j], (i, n), (j, m)),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(exp(at_place), (j, 0, m - 1)) / total,
                        "the definition; the denominator does not depend on j",
                    ),
                ),
                why="a sum of exponentials is positive, so it cancels",
            ),
            Proof(why="a quotient of exponentials is positive", gap=exp(at_place) / total),
        ),
    )
)

location.prove(
    Theorem(
        "no_keys",
        "A weight depends on the query and the place only: keys do not occur, and each query is weighed by itself",
        given=(queries,),
        claims=(
            claim(
                location(each(q[queries[i], c], (i, n), (c, d_q)), W_l)[i, j],
                "=",
                places[queries[i], j],
                (i, n),
                (j, m),
            ),
            claim(places[i, j], "=", exp(at_place) / total, (i, n), (j, m)),
        ),
        proofs=(Proof(why="each row is made from its own query"), Proof(why="the definition")),
    )
)

location.prove(
    Theorem(
        "shift_invariant",
        "Adding one vector to every row of W changes nothing",
        given=(shift,),
        claims=(
            claim(
                location(q, each(W_l[j, c] + shift[c], (j, m), (c, d_q)))[i, j],
                "=",
                places[i, j],
                (i, n),
                (j, m),
            ),
        ),
        proofs=(Proof(why="all places of a query gain the same, and its exponential cancels"),),
    )
)
