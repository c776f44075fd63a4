"""The inner product of two vectors."""

from spec.vocabulary import *

(d,) = sizes("d")
j, l = indices(j=d, l=d)

x, y = data("x", d, meaning="one vector: a word, say"), data("y", d, meaning="the vector to compare it with")
s = tensor("s", meaning="their inner product: large where both are large with the same sign")

dot = Formula(
    "similarity.dot",
    "Inner product",
    why="When do two vectors mean something alike? If words are points in space, two are alike where their entries agree in "
    "sign and are large together, and the inner product adds up these agreements. It is the simplest measure of likeness "
    "that a network can learn through, for it is linear in each vector; but it grows with their lengths.",
    sizes={d: "width: the entries of a vector"},
    inputs=(x, y),
    lines=(define(s, Sum(x[j] * y[j], j)),),
    outputs=(s,),
    pitfalls=(
        pitfall(
            "the mean of the products instead of their sum: too small by the factor d", mutant="averaged"
        ),
        pitfall("the vectors brought to length 1 first: that is the cosine", theorem="bilinear"),
        pitfall("one sum over a whole batch instead of one for each pair", mutant="over_the_batch"),
    ),
    sources=(
        deck(1, "word embeddings: inner product"),
        deck(1, "attention: the simplest notion of similarity"),
        deck(4, "dot-product attention"),
    ),
    worked=(Worked("A query and a key of the three tokens", {"x": [1, 0, 2], "y": [4, 4, 0]}, "4", 0),),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

p, r, a = given("p", d), given("r", d), given("a")

dot.theorem(
    "bilinear",
    "The inner product is linear in each of its vectors",
    claim(dot(each(a * x[j] + p[j], j), y), "=", a * dot(x, y) + dot(p, y))
    .step(Sum(a * (x[j] * y[j]) + p[j] * y[j], j), "each product multiplied out")
    .because("the sum split; a does not depend on j"),
    claim(dot(x, each(a * y[j] + r[j], j)), "=", a * dot(x, y) + dot(x, r))
    .step(Sum(a * (x[j] * y[j]) + x[j] * r[j], j), "each product multiplied out")
    .because("the sum split; a does not depend on j"),
    given=(p, r, a),
)

dot.theorem(
    "symmetric",
    "The inner product does not depend on the order of its vectors",
    claim(dot(x, y), "=", dot(y, x))
    .step(Sum(y[j] * x[j], j), "the factors of each product exchanged")
    .because("the definition, with y first"),
)

dot.theorem(
    "cauchy_schwarz",
    "The square of an inner product is at most the product of the squared lengths",
    claim(dot(x, y) ** 2, "<=", dot(x, x) * dot(y, y))
    .step(Sum(x[j] * y[j] * (x[l] * y[l]), j, l), "the square of a sum is a double sum")
    .at_most(
        Sum(x[j] ** 2 * y[l] ** 2, j, l),
        "Lagrange's identity: what is missing is half the sum of all (xⱼ·yₗ − xₗ·yⱼ)²",
        gap=Sum((x[j] * y[l] - x[l] * y[j]) ** 2, j, l) / 2,
    )
    .because("a double sum of products is the product of the sums"),
)
