"""Causal attention: a query sees no key that comes after it."""

from spec.attention.masks import FULLY_MASKED
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, c, e = indices(i=n, j=m, c=d_k, e=d_v)

q, k, v = data("q", n, d_k), data("k", m, d_k), data("v", m, d_v)
z = tensor("z", n, d_v)

ALIGNMENT = Convention(
    "alignment",
    {
        "lower_right": "the last query sees the last key: j ≤ i + (m − n)",
        "upper_left": "the first query sees the first key: j ≤ i",
    },
    default="lower_right",
)
seen = by_convention("alignment", lower_right=le(j, i + (m - n)), upper_left=le(j, i))

causal = Formula(
    "attention.causal",
    "Causal attention",
    inputs=(q, k, v),
    lines=(define(z, scaled_dot_product(q, k, v, each(seen, i, j))),),
    outputs=(z,),
    conventions=(ALIGNMENT, FULLY_MASKED),
    stored=("a",),
)
