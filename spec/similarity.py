"""Similarity: how alike two vectors are."""

from __future__ import annotations

from spec.language import (
    Convention,
    Formula,
    Sum,
    Undefined,
    Worked,
    by_convention,
    case,
    data,
    deck,
    define,
    indices,
    lt,
    paper,
    sizes,
    sqrt,
    tensor,
)

(d,) = sizes("d")
j, l = indices("j l")

x, y = data("x", d), data("y", d)
s = tensor("s")

dot = Formula(
    "similarity.dot",
    "Inner product",
    inputs=(x, y),
    lines=(define(s, Sum(x[j] * y[j], (j, 0, d - 1))),),
    outputs=(s,),
    sources=(
        deck(1, "word embeddings: inner product"),
        deck(1, "attention: the simplest notion of similarity"),
        deck(4, "dot-product attention"),
    ),
)

ZERO_VECTOR = Convention(
    "zero_vector",
    {
        "zero": "the cosine with a zero vector is 0, and so is its gradient",
        "unspecified": "nothing is said about the cosine with a zero vector (0/0 and NaN included)",
    },
    default="zero",
)

x_norm, y_norm = tensor("x_norm", domain="nonnegative"), tensor("y_norm", domain="nonnegative")
neither_zero = lt(0, x_norm.value) & lt(0, y_norm.value)
quotient = dot(x, y)[()] / (x_norm.value * y_norm.value)

cosine = Formula(
    "similarity.cosine",
    "Cosine similarity",
    inputs=(x, y),
    lines=(
        define(x_norm, sqrt(Sum(x[j] ** 2, (j, 0, d - 1)))),
        define(y_norm, sqrt(Sum(y[j] ** 2, (j, 0, d - 1)))),
        define(
            s,
            by_convention(
                "zero_vector",
                zero=case(neither_zero, quotient),
                unspecified=case(neither_zero, quotient, Undefined()),
            ),
        ),
    ),
    outputs=(s,),
    conventions=(ZERO_VECTOR,),
    sources=(
        deck(1, "word embeddings: inner product, possibly scaled"),
        deck(2, "attention scoring: cosine similarity"),
        paper("Graves, Wayne & Danihelka 2014", "eq. 6"),
    ),
    worked=(
        Worked(
            "At 60°: lengths 1 and 2, inner product 1",
            {"x": [1, 0], "y": [1, "sqrt(3)"]},
            "0.5",
            1,
            deck(2, "attention scoring: cosine similarity"),
        ),
    ),
)

# Theorems follow the formulas they are about.
from spec import similarity_theorems as similarity_theorems  # noqa: E402
