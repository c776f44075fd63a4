"""Scaled dot-product attention: weights mix values."""

from spec.attention.masks import FULLY_MASKED, POLARITY, permitted
from spec.attention.softmax import softmax
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import *

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, c, e = indices(i=n, j=m, l=m, c=d_k, e=d_v)

q, k, v = data("q", n, d_k), data("k", m, d_k), data("v", m, d_v)
mask = optional_mask("mask", n, m)
s, a, z = tensor("s", n, m), tensor("a", n, m), tensor("z", n, d_v)

has_key = Some(permitted(mask, i, l), l)
mixed = Sum(a[i, j] * v[j, e], j, where=permitted(mask, i, j))

scaled_dot_product = Formula(
    "attention.scaled_dot_product",
    "Scaled dot-product attention",
    inputs=(q, k, v, mask),
    lines=(
        define(s, scaled_dot(q, k)),
        define(a, softmax(s, mask)),
        define(
            z[i, e],
            by_convention(
                "fully_masked",
                zero=mixed,
                mean=case(has_key, mixed, Sum(v[j, e], j) / m),
                unspecified=case(has_key, mixed, Undefined()),
            ),
        ),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("a",),
)
