"""The dot-product score: how far a key points where the query points."""

from spec.vocabulary import *

n, m, d_k = sizes("n m d_k")
i, j, c = indices(i=n, j=m, c=d_k)

q, k = data("q", n, d_k), data("k", m, d_k)
s = tensor("s", n, m)

dot = Formula(
    "scores.dot",
    "Dot-product score",
    inputs=(q, k),
    lines=(define(s[i, j], Sum(q[i, c] * k[j, c], c)),),
    outputs=(s,),
    sources=(
        deck(0, "self-attention, step 2"),
        deck(2, "attention scores"),
        paper("luong2015", "eq. 8"),
    ),
)
