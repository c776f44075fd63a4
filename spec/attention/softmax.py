"""Softmax over the permitted keys: scores become weights."""

from spec.attention.masks import FULLY_MASKED, POLARITY, permitted
from spec.vocabulary import *

n, m = sizes("n m")
i, j, l = indices(i=n, j=m, l=m)

s = data("s", n, m)
mask = optional_mask("mask", n, m)
a = tensor("a", n, m)

has_key = Some(permitted(mask, i, l), l)
weight = exp(s[i, j]) / Sum(exp(s[i, l]), l, where=permitted(mask, i, l))

softmax = Formula(
    "attention.softmax",
    "Softmax over the permitted keys",
    inputs=(s, mask),
    lines=(
        define(
            a[i, j],
            by_convention(
                "fully_masked",
                zero=case(permitted(mask, i, j), weight),
                mean=case(has_key, case(permitted(mask, i, j), weight), 1 / m),
                unspecified=case(has_key, case(permitted(mask, i, j), weight), Undefined()),
            ),
        ),
    ),
    outputs=(a,),
    conventions=(POLARITY, FULLY_MASKED),
)
