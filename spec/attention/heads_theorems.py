"""Theorems about multi-head attention: a sum over heads, which can be exchanged with their blocks of ``W_o``."""

from __future__ import annotations

import sympy

from spec.attention.projections import H_k, H_q, H_v, W_o, cross, d_model, h, multi_head, t, x, y
from spec.attention.projections_theorems import (
    OURS,
    POLARITY,
    hidden,
    keys,
    order,
    other,
    place,
    replaced,
    rows,
)
from spec.attention.weights import c, d_k, d_v, has_key, i, j, l, m, mask, n
from spec.language import Comprehension, Proof, Sum, Tensor, Theorem, claim, each, given, indices

(r,) = indices("r")
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
