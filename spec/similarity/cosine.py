"""The cosine of the angle between two vectors."""

from spec.similarity.dot import dot
from spec.vocabulary import *

(d,) = sizes("d")
(j,) = indices(j=d)

x, y = data("x", d), data("y", d)
x_norm, y_norm = tensor("x_norm", domain="nonnegative"), tensor("y_norm", domain="nonnegative")
s = tensor("s")

ZERO_VECTOR = Convention(
    "zero_vector",
    {
        "zero": "the cosine with a zero vector is 0, and so is its gradient",
        "unspecified": "nothing is said about the cosine with a zero vector (0/0 and NaN included)",
    },
    default="zero",
)
neither_zero = lt(0, x_norm) & lt(0, y_norm)
quotient = dot(x, y) / (x_norm * y_norm)

cosine = Formula(
    "similarity.cosine",
    "Cosine similarity",
    inputs=(x, y),
    lines=(
        define(x_norm, sqrt(Sum(x[j] ** 2, j))),
        define(y_norm, sqrt(Sum(y[j] ** 2, j))),
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
        paper("graves2014", "eq. 6"),
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
