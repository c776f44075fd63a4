"""The inner product of two vectors."""

from spec.vocabulary import *

(d,) = sizes("d")
(j,) = indices(j=d)

x, y = data("x", d, meaning="a vector"), data("y", d, meaning="another")
s = tensor("s", meaning="their inner product")

dot = Formula(
    "similarity.dot",
    "Inner product",
    inputs=(x, y),
    lines=(define(s, Sum(x[j] * y[j], j)),),
    outputs=(s,),
    sources=(
        deck(1, "word embeddings: inner product"),
        deck(1, "attention: the simplest notion of similarity"),
        deck(4, "dot-product attention"),
    ),
)
