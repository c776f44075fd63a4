"""Theorems about causal attention: no query sees what comes after it, and so order matters."""

from __future__ import annotations

import sympy

from spec.attention.causality import causal
from spec.attention.weights import c, d_k, d_v, i, j, k, m, n, q, v
from spec.language import (
    Comprehension,
    Proof,
    Tensor,
    Theorem,
    case,
    claim,
    delta,
    each,
    given,
    indices,
    le,
    lt,
    sizes,
)

(r,) = indices("r")
rows, cols, extra, more = sizes("rows cols extra more")

later_k, later_v, pull = given("k_later", m, d_k), given("v_later", m, d_v), given("g", d_v)
seen = causal(q, k, v)
one_row = each(delta(i, r) * pull[c], (i, n), (c, d_v))

for alignment, last, suffix in (("lower_right", i + (m - n), ""), ("upper_left", i, "_upper_left")):
    causal.prove(
        Theorem(
            "no_future" + suffix,
            "Keys and values after a query's last permitted one have no influence on its output, and no gradient",
            given=(later_k, later_v, pull),
            conventions={"alignment": alignment, "fully_masked": "zero"},
            claims=(
                claim(
                    causal(
                        q,
                        each(case(le(j, r), k[j, c], later_k[j, c]), (j, m), (c, d_k)),
                        each(case(le(j, r), v[j, c], later_v[j, c]), (j, m), (c, d_v)),
                    )[i, c],
                    "=",
                    seen[i, c],
                    (i, n),
                    (r, m),
                    (c, d_v),
                    where=le(last, r),
                ),
                claim(
                    seen.pullback(one_row, "v")[j, c],
                    "=",
                    0,
                    (r, n),
                    (j, m),
                    (c, d_v),
                    where=lt(last + (r - i), j),
                ),
                claim(
                    seen.pullback(one_row, "k")[j, c],
                    "=",
                    0,
                    (r, n),
                    (j, m),
                    (c, d_k),
                    where=lt(last + (r - i), j),
                ),
            ),
            proofs=(
                Proof(why="every key in the sums of query i comes before the first that was replaced"),
                Proof(why="the derivative with respect to key j is a sum over keys that are not j"),
                Proof(why="the derivative with respect to key j is a sum over keys that are not j"),
            ),
        )
    )


def first(array: Tensor, count: sympy.Expr, width: sympy.Expr) -> Comprehension:
    """The first rows of an array."""
    return each(array[j, c], (j, count), (c, width))


causal.prove(
    Theorem(
        "prefix",
        "Dropping the last queries with as many keys leaves the outputs of the others as they were",
        sizes={n: rows + extra, m: cols + extra},
        conventions={"alignment": "lower_right", "fully_masked": "zero"},
        claims=(
            claim(
                causal(first(q, rows, d_k), first(k, cols, d_k), first(v, cols, d_v))[i, c],
                "=",
                seen[i, c],
                (i, rows),
                (c, d_v),
            ),
        ),
        proofs=(Proof(why="query i sees the keys up to i + m − n only, and m − n is the same for both"),),
    )
)

causal.prove(
    Theorem(
        "prefix_upper_left",
        "The outputs of the first queries are those of the first queries and as many keys alone",
        sizes={n: rows + extra, m: rows + more},
        conventions={"alignment": "upper_left", "fully_masked": "zero"},
        claims=(
            claim(
                causal(first(q, rows, d_k), first(k, rows, d_k), first(v, rows, d_v))[i, c],
                "=",
                seen[i, c],
                (i, rows),
                (c, d_v),
            ),
        ),
        proofs=(Proof(why="query i sees the keys up to i only"),),
    )
)

order = given("pi", n, domain="permutation")

causal.prove(
    Theorem(
        "order_matters",
        "Causal attention is not permutation equivariant: it can learn order without positions",
        given=(order,),
        sizes={m: n},
        exists=True,
        runs=False,
        conventions={"fully_masked": "zero"},
        claims=(
            claim(
                causal(
                    each(q[order[i], c], (i, n), (c, d_k)),
                    each(k[order[j], c], (j, n), (c, d_k)),
                    each(v[order[j], c], (j, n), (c, d_v)),
                )[i, c],
                "=",
                seen[order[i], c],
                (i, n),
                (c, d_v),
            ),
        ),
        proofs=(
            Proof(
                method="witness",
                point={
                    "n": 2,
                    "m": 2,
                    "d_k": 1,
                    "d_v": 1,
                    "q": [[0.0], [0.0]],
                    "k": [[0.0], [0.0]],
                    "v": [[0.0], [1.0]],
                    "pi": [1, 0],
                },
            ),
        ),
    )
)
