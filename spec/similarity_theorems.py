"""Theorems about similarity: inner products are bilinear, cosines do not see lengths and stay between -1 and 1."""

from __future__ import annotations

from spec.language import Proof, Sum, Theorem, case, claim, each, given, lt, sqrt
from spec.similarity import cosine, d, dot, j, l, x, y

more_x, more_y, factor = given("p", d), given("r", d), given("a")

dot.prove(
    Theorem(
        "bilinear",
        "The inner product is linear in each of its vectors",
        given=(more_x, more_y, factor),
        claims=(
            claim(
                dot(each(factor.value * x[j] + more_x[j], (j, d)), y)[()],
                "=",
                factor.value * dot(x, y)[()] + dot(more_x, y)[()],
            ),
            claim(
                dot(x, each(factor.value * y[j] + more_y[j], (j, d)))[()],
                "=",
                factor.value * dot(x, y)[()] + dot(x, more_y)[()],
            ),
        ),
        proofs=(Proof(why="sums are linear"), Proof(why="sums are linear")),
    )
)

dot.prove(
    Theorem(
        "symmetric",
        "The inner product does not depend on the order of its vectors",
        claims=(claim(dot(x, y)[()], "=", dot(y, x)[()]),),
        proofs=(Proof(why="products commute"),),
    )
)

dot.prove(
    Theorem(
        "cauchy_schwarz",
        "The square of an inner product is at most the product of the squared lengths",
        claims=(claim(dot(x, y)[()] ** 2, "<=", dot(x, x)[()] * dot(y, y)[()]),),
        proofs=(
            Proof(
                why="Lagrange's identity: what is missing is half a sum of squares",
                gap=Sum(Sum((x[j] * y[l] - x[l] * y[j]) ** 2, (l, 0, d - 1)), (j, 0, d - 1)) / 2,
            ),
        ),
    )
)

# Cosine -------------------------------------------------------------------------------------------------------------------

x_length, y_length = (sqrt(Sum(v[l] ** 2, (l, 0, d - 1))) for v in (x, y))
neither_zero = lt(0, x_length) & lt(0, y_length)
apart = Sum((x[j] / x_length - y[j] / y_length) ** 2, (j, 0, d - 1)) / 2
together = Sum((x[j] / x_length + y[j] / y_length) ** 2, (j, 0, d - 1)) / 2
scale, stretch = given("a", domain="positive"), given("b", domain="positive")

cosine.prove(
    Theorem(
        "bounded",
        "The cosine of two vectors, neither of them zero, lies between -1 and 1",
        claims=(
            claim(cosine(x, y)[()], "<=", 1, where=neither_zero),
            claim(-1, "<=", cosine(x, y)[()], where=neither_zero),
        ),
        proofs=(
            Proof(
                why="what is missing to 1 is half the squared distance of the two vectors brought to length 1",
                gap=apart,
            ),
            Proof(
                why="what exceeds -1 is half the squared length of their sum, both brought to length 1",
                gap=together,
            ),
        ),
    )
)

cosine.prove(
    Theorem(
        "symmetric",
        "The cosine does not depend on the order of its vectors",
        conventions={"zero_vector": "zero"},
        claims=(claim(cosine(x, y)[()], "=", cosine(y, x)[()]),),
        proofs=(Proof(why="products commute"),),
    )
)

cosine.prove(
    Theorem(
        "scale_invariant",
        "Positive factors do not change the cosine; the opposite vector changes its sign",
        given=(scale, stretch),
        conventions={"zero_vector": "zero"},
        claims=(
            claim(
                cosine(each(scale.value * x[j], (j, d)), each(stretch.value * y[j], (j, d)))[()],
                "=",
                cosine(x, y)[()],
            ),
            claim(cosine(each(-x[j], (j, d)), y)[()], "=", -cosine(x, y)[()]),
        ),
        proofs=(
            Proof(why="lengths grow by the same factors, which are positive and cancel"),
            Proof(why="a vector is as long as its opposite"),
        ),
    )
)

cosine.prove(
    Theorem(
        "of_itself",
        "The cosine of a vector that is not zero with itself is 1; with a zero vector it is 0",
        conventions={"zero_vector": "zero"},
        claims=(
            claim(cosine(x, x)[()], "=", case(lt(0, x_length), 1)),
            claim(cosine(each(0, (j, d)), y)[()], "=", 0),
        ),
        proofs=(
            Proof(why="the inner product with itself is the squared length, which cancels"),
            Proof(why="a zero vector has length 0"),
        ),
    )
)
