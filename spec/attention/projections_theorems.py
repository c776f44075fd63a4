"""Theorems about projected attention: self-attention keeps no order, heads can be exchanged, masked slots do not count."""

from __future__ import annotations

import sympy

from spec.attention.projections import (
    H_k,
    H_q,
    H_v,
    W_k,
    W_o,
    W_q,
    W_v,
    cross,
    d_model,
    h,
    multi_head,
    self_,
    square,
    t,
    x,
    y,
)
from spec.attention.weights import c, d_k, d_v, has_key, i, j, l, m, mask, n
from spec.language import (
    Comprehension,
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
)

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

# Multi-head attention -----------------------------------------------------------------------------------------------------

heads = multi_head(x, y, H_q, H_k, H_v, W_o, mask)
another = given("sigma", h, domain="permutation")


def of_head(array: Tensor, head: sympy.Expr, width: sympy.Expr) -> Comprehension:
    """One head's projection."""
    return each(array[head, l, c], (l, d_model), (c, width))


def exchanged(array: Tensor, width: sympy.Expr) -> Comprehension:
    """The projections with the heads in another order."""
    return each(array[another[t], l, c], (t, h), (l, d_model), (c, width))


block = sympy.floor(r / d_v)
FIRST = sympy.S.Zero

multi_head.prove(
    Theorem(
        "heads",
        "Each output has the width of the model: the sum over the heads of each one's attention times its block of W_o",
        conventions=POLARITY,
        claims=(
            claim(
                heads[i, r],
                "=",
                Sum(
                    Sum(
                        cross(x, y, of_head(H_q, t, d_k), of_head(H_k, t, d_k), of_head(H_v, t, d_v), mask)[
                            i, c
                        ]
                        * W_o[t * d_v + c, r],
                        (c, 0, d_v - 1),
                    ),
                    (t, 0, h - 1),
                ),
                (i, n),
                (r, d_model),
                where=has_key(i),
            ),
        ),
        proofs=(Proof(why="a column of the concatenation belongs to one head: block by block"),),
    )
)

multi_head.prove(
    Theorem(
        "one_head",
        "A single head is cross-attention, then W_o",
        sizes={h: sympy.S.One},
        conventions=POLARITY,
        claims=(
            claim(
                heads[i, r],
                "=",
                Sum(
                    cross(
                        x,
                        y,
                        of_head(H_q, FIRST, d_k),
                        of_head(H_k, FIRST, d_k),
                        of_head(H_v, FIRST, d_v),
                        mask,
                    )[i, c]
                    * W_o[c, r],
                    (c, 0, d_v - 1),
                ),
                (i, n),
                (r, d_model),
                where=has_key(i),
            ),
        ),
        proofs=(Proof(why="there is one block"),),
    )
)

multi_head.prove(
    Theorem(
        "head_permutation",
        "Permuting the heads, and the blocks of W_o with them, changes nothing",
        given=(another,),
        conventions=POLARITY,
        claims=(
            claim(
                multi_head(
                    x,
                    y,
                    exchanged(H_q, d_k),
                    exchanged(H_k, d_k),
                    exchanged(H_v, d_v),
                    each(W_o[another[block] * d_v + (r - d_v * block), c], (r, h * d_v), (c, d_model)),
                    mask,
                )[i, c],
                "=",
                heads[i, c],
                (i, n),
                (c, d_model),
                where=has_key(i),
            ),
        ),
        proofs=(Proof(why="a sum over all heads does not depend on their order"),),
    )
)

multi_head.prove(
    Theorem(
        "masked_for_all",
        "A token masked for every query has no influence through any head",
        given=(place, other),
        conventions=OURS,
        claims=(
            claim(
                multi_head(x, replaced(), H_q, H_k, H_v, W_o, hidden)[i, c],
                "=",
                multi_head(x, y, H_q, H_k, H_v, W_o, hidden)[i, c],
                (i, n),
                (c, d_model),
            ),
        ),
        proofs=(Proof(why="it has none in any head"),),
    )
)

multi_head.prove(
    Theorem(
        "permutation_equivariant",
        "Permuting the queries' tokens permutes the outputs; permuting the tokens attended to changes nothing",
        given=(order, keys),
        conventions=OURS,
        claims=(
            claim(
                multi_head(
                    rows(x, order, n),
                    rows(y, keys, m),
                    H_q,
                    H_k,
                    H_v,
                    W_o,
                    each(mask[order[i], keys[j]], (i, n), (j, m)),
                )[i, c],
                "=",
                heads[order[i], c],
                (i, n),
                (c, d_model),
            ),
        ),
        proofs=(Proof(why="so it is in each head"),),
    )
)
