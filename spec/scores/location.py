"""The location-based score: the query alone picks the place."""

from spec.vocabulary import *

n, m, d_q = sizes("n m d_q")
i, j, l, c = indices(i=n, j=m, l=m, c=d_q)

q = data("q", n, d_q, meaning="queries: the state from which a place is picked")
W = parameter("W", m, d_q, meaning="one row for each place: which queries go there")
u = tensor("u", n, m, meaning="how much each query wants each place")
a = tensor("a", n, m, meaning="weights: the share of each place")

location = Formula(
    "scores.location",
    "Location-based score: the query alone picks the place",
    why="Can attention know where to look without looking? Where text is read in order, the next place follows from the "
    "reader's state. The location-based score asks no key: a linear layer gives each of m places a score, and softmax makes "
    "them weights. So it is fixed to m places, and cannot find a thing that may stand anywhere.",
    sizes={n: "queries", m: "places", d_q: "width of a query"},
    inputs=(q, W),
    lines=(define(u[i, j], Sum(W[j, c] * q[i, c], c)), define(a[i, j], exp(u[i, j]) / Sum(exp(u[i, l]), l))),
    outputs=(a,),
    stored=("u",),
    pitfalls=(
        pitfall("softmax over the queries instead of the places", theorem="sums_to_one"),
        pitfall("scores returned as they are: this score is already a weight", mutant="not_normalised"),
        pitfall("exponentials before the largest score is taken off: overflow", mutant="without_shift"),
    ),
    sources=(deck(2, "attention scoring: location-based"), paper("luong2015", "eq. 8")),
    worked=(
        Worked(
            "The first query of the three tokens, their keys as the rows of W: scores 2, 4 and 4",
            {"q": [[1, 0, 2]], "W": [[0, 1, 1], [4, 4, 0], [2, 3, 1]]},
            [["0.0634", "0.4683", "0.4683"]],
            4,
        ),
    ),
    notes="There is a weight for each of m places, and no key: m is the number of rows of W.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

pi, w = given("pi", n, domain="permutation"), given("w", d_q)
total = Sum(exp(u[i, l]), l)
quotient, gain = exp(u[i, j]) / total, Sum(w[c] * q[i, c], c)

location.theorem(
    "sums_to_one",
    "The weights of a query are positive and sum to 1",
    claim(Sum(a[i, j], j), "=", 1)
    .step(Sum(exp(u[i, j]), j) / total, "the denominator does not depend on j")
    .because("a sum of exponentials is positive, so it cancels"),
    claim(0, "<", a[i, j])
    .below(quotient, "an exponential is positive, and so is a sum of them", gap=quotient)
    .because("the definition"),
)

location.theorem(
    "no_keys",
    "A weight depends on the query and the place only: keys do not occur, and each query is weighed by itself",
    claim(location(each(q[pi[i], c], i, c), W)[i, j], "=", a[pi[i], j]).by_definition("row by row"),
    claim(
        a[i, j], "=", exp(Sum(W[j, c] * q[i, c], c)) / Sum(exp(Sum(W[l, c] * q[i, c], c)), l)
    ).by_definition("the second line, with the first put in"),
    given=pi,
)

location.theorem(
    "shift_invariant",
    "Adding one vector to every row of W changes nothing",
    claim(location(q, each(W[j, c] + w[c], j, c))[i, j], "=", a[i, j])
    .step(exp(u[i, j] + gain) / Sum(exp(u[i, l] + gain), l), "every place of a query gains the same")
    .step(exp(gain) * exp(u[i, j]) / (exp(gain) * total), "exp(x + y) = exp x·exp y")
    .because("an exponential is positive, so it cancels"),
    given=w,
)
