"""Theorems about projected attention: self-attention keeps no order, and masked tokens do not count."""

from __future__ import annotations

import sympy

from spec.attention.projections import (
    W_k,
    W_q,
    W_v,
    cross,
    d_model,
    self_,
    square,
    x,
    y,
)
from spec.attention.weights import c, d_k, d_v, has_key, i, j, l, m, mask, n, scaled_dot_product, softmax
from spec.language import (
    Comprehension,
    Max,
    Proof,
    Sum,
    Tensor,
    Theorem,
    case,
    claim,
    each,
    eq,
    given,
    indices,
    step,
)
from spec.scores import scaled_dot

OURS = {"polarity": "true_attends", "fully_masked": "zero"}
POLARITY = {"polarity": "true_attends"}
(r,) = indices("r")
order = given("pi", n, domain="permutation")
keys = given("rho", m, domain="permutation")
place = given("s", domain="integer", below=m)
other = given("y_other", d_model)


def rows(array: Tensor, by: Tensor, count: sympy.Expr) -> Comprehension:
    """The rows of an array in another order."""
    return each(array[by[i], l], (i, count), (l, d_model))


# Self-attention -----------------------------------------------------------------------------------------------------------

alone = self_(x, W_q, W_k, W_v, square)

self_.prove(
    Theorem(
        "permutation_equivariant",
        "Permuting the tokens, and the mask with them, permutes the outputs: without positions no order information is kept",
        given=(order,),
        conventions=OURS,
        claims=(
            claim(
                self_(rows(x, order, n), W_q, W_k, W_v, each(square[order[i], order[j]], (i, n), (j, n)))[
                    i, c
                ],
                "=",
                alone[order[i], c],
                (i, n),
                (c, d_v),
            ),
        ),
        proofs=(
            Proof(
                why="query, key and value of a token are its own; a sum over all keys does not depend on their order"
            ),
        ),
    )
)

# Cross-attention ----------------------------------------------------------------------------------------------------------

both = cross(x, y, W_q, W_k, W_v, mask)


def replaced() -> Comprehension:
    """The second sequence with one token replaced by another."""
    return each(case(eq(j, place.value), other[l], y[j, l]), (j, m), (l, d_model))


hidden = each(mask[i, j] & ~eq(j, place.value), (i, n), (j, m))

cross.prove(
    Theorem(
        "self",
        "With one sequence in both places it is self-attention",
        sizes={m: n},
        conventions=POLARITY,
        claims=(
            claim(
                cross(x, x, W_q, W_k, W_v, each(mask[i, j], (i, n), (j, n)))[i, c],
                "=",
                self_(x, W_q, W_k, W_v, each(mask[i, j], (i, n), (j, n)))[i, c],
                (i, n),
                (c, d_v),
                where=has_key(i),
            ),
        ),
        proofs=(Proof(why="the definitions"),),
    )
)

cross.prove(
    Theorem(
        "key_permutation",
        "Permuting the tokens attended to, and the mask with them, changes nothing",
        given=(keys,),
        conventions=OURS,
        claims=(
            claim(
                cross(x, rows(y, keys, m), W_q, W_k, W_v, each(mask[i, keys[j]], (i, n), (j, m)))[i, c],
                "=",
                both[i, c],
                (i, n),
                (c, d_v),
            ),
        ),
        proofs=(Proof(why="a sum over all keys does not depend on their order"),),
    )
)

cross.prove(
    Theorem(
        "masked_for_all",
        "A token masked for every query has no influence",
        given=(place, other),
        conventions=OURS,
        claims=(
            claim(
                cross(x, replaced(), W_q, W_k, W_v, hidden)[i, c],
                "=",
                cross(x, y, W_q, W_k, W_v, hidden)[i, c],
                (i, n),
                (c, d_v),
            ),
        ),
        proofs=(Proof(why="key and value of a token are its own, and no permitted key is the replaced one"),),
    )
)

w = given("w", d_v)
queries = each(Sum(x[i, l] * W_q[l, c], (l, 0, d_model - 1)), (i, n), (c, d_k))
projected = each(Sum(y[j, l] * W_k[l, c], (l, 0, d_model - 1)), (j, m), (c, d_k))
values = each(Sum(y[j, l] * W_v[l, c], (l, 0, d_model - 1)), (j, m), (c, d_v))
dots = each(scaled_dot(queries, projected)[i, j], (i, n), (j, m))
shares = softmax(dots, mask)
reach = Sum(w[c] * Sum(y[j, l] * W_v[l, c], (l, 0, d_model - 1)), (c, 0, d_v - 1))
farthest = Max(reach, (j, 0, m - 1), where=mask[i, j])

cross.prove(
    Theorem(
        "projected",
        "It is scaled dot-product attention of the projections",
        conventions=OURS,
        claims=(
            claim(
                both[i, c], "=", scaled_dot_product(queries, projected, values, mask)[i, c], (i, n), (c, d_v)
            ),
        ),
        proofs=(Proof(why="the definition"),),
    )
)

cross.prove(
    Theorem(
        "convex_hull",
        "Every output lies in the convex hull of the permitted values: in no direction w does it exceed them all",
        given=(w,),
        conventions=OURS,
        claims=(
            claim(
                Sum(w[c] * both[i, c], (c, 0, d_v - 1)),
                "<=",
                farthest,
                (i, n),
                where=has_key(i),
            ),
        ),
        proofs=(
            Proof(
                (
                    step(
                        Sum(shares[i, j] * reach, (j, 0, m - 1), where=mask[i, j]),
                        "the definition, the sums exchanged",
                    ),
                ),
                why="the weights sum to 1, none is negative, and no value exceeds the largest",
                gap=Sum(shares[i, j] * (farthest - reach), (j, 0, m - 1), where=mask[i, j]),
            ),
        ),
    )
)

seed = given("g", n, d_v)

cross.prove(
    Theorem(
        "no_gradient",
        "A token masked for every query gets no gradient",
        given=(place, seed),
        conventions=OURS,
        claims=(
            claim(
                cross(x, y, W_q, W_k, W_v, hidden).pullback(seed, "y")[place.value, l],
                "=",
                0,
                (l, d_model),
            ),
        ),
        proofs=(Proof(why="it occurs in no sum over permitted keys"),),
    )
)
