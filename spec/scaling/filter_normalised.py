"""Directions in which the loss around a trained network is drawn, brought to the scale of its filters."""

from spec.feedforward.relu import relu
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import *

n, m = sizes("n m")
i, j = indices(i=n, j=m)

W = parameter("W", n, m, meaning="the weights of a layer, a filter in each row")
U = data("U", n, m, meaning="a random direction: what would be added to the weights")
W_norm = tensor("W_norm", n, domain="nonnegative", meaning="length of each filter")
U_norm = tensor("U_norm", n, domain="nonnegative", meaning="length of its part of the direction")
V = tensor("V", n, m, meaning="the direction, with as long a part for each filter as the filter is")

ZERO_DIRECTION = Convention(
    "zero_direction",
    {
        "zero": "where a filter's part of the direction is 0 it stays 0",
        "unspecified": "nothing is said about it (0/0 and NaN included)",
    },
    default="zero",
)
LENGTH = Convention(
    "length",
    {
        "plain": "the direction's part over its length as it is",
        "plus_1e10": "10⁻¹⁰ is added to the length of the direction's part, as in the code published with the paper",
    },
    default="plain",
)
epsilon = constant("epsilon", meaning="ε: what keeps the length of the direction's part away from 0")
points = lt(0, U_norm[i])
scaled = U[i, j] * W_norm[i] / U_norm[i]

filter_normalised = Formula(
    "scaling.filter_normalised",
    "Filter-normalised direction",
    why="What does the loss look like around a trained network: a bowl, or a cliff? One draws it along random directions, and "
    "then the picture depends on how far a step goes. Weights a hundred times as large that a normalization makes small again do "
    "the same, but a step of one length changes them a hundred times less, and the bowl looks flat; layers joined by max(0, ·) "
    "can be rescaled against each other so that nothing changes but the picture. So each filter's part of a random direction is "
    "made as long as the filter itself. A step of 1 then means the same to every filter, and two networks can be compared.",
    sizes={
        n: "filters: the rows of a matrix, or the channels that a convolution gives",
        m: "entries of a filter",
    },
    inputs=(W, U),
    lines=(
        define(W_norm[i], sqrt(Sum(W[i, j] ** 2, j))),
        define(U_norm[i], sqrt(Sum(U[i, j] ** 2, j))),
        define(
            V[i, j],
            by_convention(
                "length",
                plain=by_convention(
                    "zero_direction", zero=case(points, scaled), unspecified=case(points, scaled, Undefined())
                ),
                plus_1e10=U[i, j] * W_norm[i] / (U_norm[i] + epsilon),
            ),
        ),
    ),
    outputs=(V,),
    conventions=(ZERO_DIRECTION, LENGTH),
    constants={epsilon: Rational(1, 10**10)},
    pitfalls=(
        pitfall(
            "0/0 where a filter's part of the direction is 0, as it is of biases that are left out",
            convention="zero_direction",
        ),
        pitfall(
            "biases and gains taken for filters of one entry: such a part is ± the entry, and random no more",
            theorem="one_entry",
        ),
        pitfall(
            "one length for the whole layer: small filters are shaken, large ones hardly moved",
            mutant="by_layer",
        ),
        pitfall("columns taken for filters, where weights lie the other way round", mutant="by_columns"),
        pitfall(
            "a filter rescaled that the next layer's weights undo: the picture changes",
            theorem="not_one_filter",
        ),
    ),
    sources=(
        deck(0, "residual connections: the loss around a network with and without them"),
        paper("li2018", "section 4"),
        paper("li2018", "the code published with it: biases and normalizations are left out, 10⁻¹⁰ is added"),
    ),
    worked=(
        Worked(
            "Filters of lengths 5 and 1, directions of lengths 2 and 10",
            {"W": [[3, 4], [0, 1]], "U": [[0, 2], [6, -8]]},
            [["0", "5"], ["0.6", "-0.8"]],
            1,
        ),
    ),
    notes="The filters of a convolution are its output channels: a row holds all entries of one. What is no matrix, a bias or "
    "the gain of a normalization, is left out and keeps its value in the picture. A direction is drawn once, of independent "
    "normal entries, and then normalised.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"length": "plain"}
PLAIN = {"length": "plain", "zero_direction": "zero"}
(p,) = sizes("p")
e, q = indices(e=m, q=p)
k, r, t = given("k", domain="positive"), given("r", n, domain="positive"), given("t")

filter_normalised.theorem(
    "as_long",
    "Each filter's part of the direction is as long as the filter, unless it is 0",
    claim(Sum(V[i, j] ** 2, j), "=", Sum(W[i, j] ** 2, j), where=points)
    .step(Sum(U[i, j] ** 2, j) * W_norm[i] ** 2 / U_norm[i] ** 2, "neither length depends on j")
    .because("the sum of squares is the square of the length, and cancels"),
    conventions=OURS,
)

filter_normalised.theorem(
    "scale_of_direction",
    "How long the parts of the direction were does not matter",
    claim(filter_normalised(W, each(r[i] * U[i, j], i, j))[i, j], "=", V[i, j])
    .step(case(points, r[i] * U[i, j] * W_norm[i] / (r[i] * U_norm[i])), "√(r²·‖U‖²) = r·‖U‖")
    .because("r is positive, so it cancels"),
    given=r,
    conventions=PLAIN,
)

filter_normalised.theorem(
    "follows_filters",
    "A filter r times as large has a part r times as large, in the same direction, and others keep theirs",
    claim(filter_normalised(each(r[i] * W[i, j], i, j), U)[i, j], "=", r[i] * V[i, j])
    .step(case(points, U[i, j] * (r[i] * W_norm[i]) / U_norm[i]), "√(r²·‖W‖²) = r·‖W‖")
    .because("the factor r taken out"),
    given=r,
    conventions=PLAIN,
)

filter_normalised.theorem(
    "one_entry",
    "Of a filter of one entry the part is ± the entry: a bias so treated only grows or shrinks, and one of 0 keeps still",
    claim(absolute(V[i, 0]), "=", absolute(W[i, 0]), where=points)
    .step(
        absolute(U[i, 0]) * absolute(W[i, 0]) / absolute(U[i, 0]),
        "the root of a square is the absolute value",
    )
    .because("it is not 0, and cancels"),
    sizes={m: 1},
    conventions=OURS,
)

x, a = given("x", m), given("a", n)
Z, Q, b = given("Z", m, n), given("Q", m, n), given("b", m)
r_all = each(r[i] * W[i, j], i, j)


def network(W: Tensor | Comprehension, a: Tensor | Comprehension, Z: Tensor | Comprehension) -> Applied:
    """Two layers with max(0, ·) between them, filters in their rows, each t steps along its direction; biases stay."""
    V, next_V = filter_normalised(W, U), filter_normalised(Z, Q)
    inner = each(W[i, j] + t * V[i, j], j, i)
    return relu(x, inner, a, each(Z[e, i] + t * next_V[e, i], i, e), b)


reached = Sum(x[j] * (W[i, j] + t * filter_normalised(W, U)[i, j]), j) + a[i]
onward = Z[e, i] + t * filter_normalised(Z, Q)[e, i]

filter_normalised.theorem(
    "rescaled_layer",
    "A layer and its biases times k > 0, and the next one over k, as max(0, ·) between them lets one do: the network is the same "
    "at every step along its directions, and so is its loss",
    claim(
        network(each(k * W[i, j], i, j), each(k * a[i], i), each(Z[e, i] / k, e, i))[e],
        "=",
        network(W, a, Z)[e],
    )
    .step(
        Sum(case(lt(0, k * reached), k * reached, 0) * (onward / k), i) + b[e],
        "the directions are scaled with their layers",
    )
    .because("max(0, k·z) = k·max(0, z), and k cancels"),
    given=(x, a, Z, Q, b, k, t),
    conventions=PLAIN,
)

filter_normalised.theorem(
    "not_one_filter",
    "Filters times factors of their own, undone by what the next layer multiplies them by: the network is the same, but not "
    "along its directions, for entries of the next layer's filters have changed unevenly",
    claim(
        network(r_all, each(r[i] * a[i], i), each(Z[e, i] / r[i], e, i))[e], "=", network(W, a, Z)[e]
    ).by_witness(
        n=2, m=1, W=[[1], [1]], U=[[1], [1]], x=[1], a=[0, 0], Z=[[1, 1]], Q=[[1, 1]], b=[0], r=[2, 1], t=1
    ),
    given=(x, a, Z, Q, b, r, t),
    exists=True,
    runs=False,
    conventions=PLAIN,
)

X, gamma, beta, eps = given("X", p, m), given("gamma"), given("beta"), given("eps", domain="positive")


def normalised(W: Tensor | Comprehension, eps: Node) -> Applied:
    """What filter i gives for p examples, t steps along its direction, normalised over the examples."""
    V = filter_normalised(W, U)
    answers = each(Sum((W[i, j] + t * V[i, j]) * X[q, j], j), q)
    return layer_norm(answers, each(gamma, q), each(beta, q), eps)


own = Sum((W[i, j] + t * V[i, j]) * X[q, j], j)
mean, variance = normalised(W, eps).output("mu"), normalised(W, eps).output("var")

filter_normalised.theorem(
    "before_normalization",
    "A filter before a normalization over examples may be scaled by itself: with ε scaled alike the outputs are the same at "
    "every step along the direction",
    claim(normalised(r_all, r[i] ** 2 * eps)[q], "=", normalised(W, eps)[q])
    .citing("follows_filters", filter_normalised(W, U), r=r)
    .step(
        gamma * (r[i] * (own - mean)) / sqrt(r[i] ** 2 * (variance + eps)) + beta,
        "what it gives is r times as large, and so are its mean and its spread",
    )
    .because("√(r²·…) = r·√…, and r is positive"),
    given=(X, gamma, beta, eps, r, t),
    conventions=PLAIN,
)
