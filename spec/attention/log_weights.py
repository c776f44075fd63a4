"""Logarithms of the attention weights, whose gradients train hard attention."""

from spec.attention.masks import POLARITY, permitted
from spec.vocabulary import *

n, m = sizes("n m")
i, j, l = indices(i=n, j=m, l=m)

s = data("s", n, m, meaning="score: how well each key fits each query")
mask = optional_mask("mask", n, m, meaning="which keys a query may attend to")
log_a = tensor("log_a", n, m, meaning="logarithm of the attention weight; 0 where a key is not permitted")

log_weights = Formula(
    "attention.log_weights",
    "Logarithms of the attention weights",
    sizes={n: "queries", m: "keys"},
    inputs=(s, mask),
    lines=(
        define(
            log_a[i, j],
            case(permitted(mask, i, j), s[i, j] - log(Sum(exp(s[i, l]), l, where=permitted(mask, i, l)))),
        ),
    ),
    outputs=(log_a,),
    conventions=(POLARITY,),
    sources=(paper("williams1992", "section 3: the characteristic eligibility"),),
    notes="0 stands where a key is not permitted.",
    auxiliary=True,
)
