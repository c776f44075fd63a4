"""Causal attention: a query sees no key that comes after it."""

from __future__ import annotations

from spec.attention.weights import FULLY_MASKED, c, i, j, k, m, n, q, scaled_dot_product, v, z
from spec.language import Convention, Formula, by_convention, deck, define, each, le, paper

ALIGNMENT = Convention(
    "alignment",
    {
        "lower_right": "the last query sees the last key: j ≤ i + (m − n)",
        "upper_left": "the first query sees the first key: j ≤ i",
    },
    default="lower_right",
)

causal = Formula(
    "attention.causal",
    "Causal attention",
    inputs=(q, k, v),
    lines=(
        define(
            z[i, c],
            scaled_dot_product(
                q,
                k,
                v,
                each(
                    by_convention("alignment", lower_right=le(j, i + (m - n)), upper_left=le(j, i)),
                    (i, n),
                    (j, m),
                ),
            )[i, c],
        ),
    ),
    outputs=(z,),
    conventions=(ALIGNMENT, FULLY_MASKED),
    stored=("a",),
    sources=(
        deck(0, "decoder, masked self-attention"),
        deck(1, "masked attention"),
        deck(2, "masked multi-head self-attention"),
        paper("Vaswani et al. 2017", "section 3.2.3"),
    ),
)
