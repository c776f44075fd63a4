"""The sum around a layer: the row itself, and what the layer adds to it."""

from spec.feedforward.gelu import gelu
from spec.feedforward.parts import W_1, W_2, b_1, b_2, c, d, e, f, u, x
from spec.vocabulary import *

y = tensor("y", d, meaning="the row, with what the layer adds to it")

residual = Formula(
    "normalization.residual",
    "Residual connection",
    why="Why do deep networks train worse than shallow ones, though they could do all that these do? To leave a row as it is, a "
    "layer would have to learn the identity, and a gradient that passes fifty layers is multiplied fifty times. With the "
    "row added to what the layer makes of it, doing nothing is a layer of 0, and the gradient has a way on which nothing is "
    "multiplied at all. The layer may be any; here it is a smooth feed-forward network.",
    sizes={d: "width of a row", f: "inner units of the layer"},
    inputs=(x, W_1, b_1, W_2, b_2),
    lines=(define(y[e], x[e] + gelu(x, W_1, b_1, W_2, b_2)[e]),),
    outputs=(y,),
    pitfalls=(
        pitfall("the row forgotten: what comes out is the layer alone", mutant="row_forgotten"),
        pitfall(
            "the row detached: values are right, and the straight way for gradients is gone",
            mutant="row_detached",
        ),
        pitfall("the layer detached", mutant="layer_detached"),
        pitfall("the mean of both instead of the sum: halved at every layer", mutant="halved"),
    ),
    sources=(
        deck(0, "encoder: residual connections"),
        deck(2, "residuals and layer norm"),
        deck(4, "Transformer block: add"),
        paper("he2016", "eq. 1"),
    ),
    worked=(
        Worked(
            "A layer of 0 leaves the row as it is",
            {"x": [3, -1], "W_1": [[1], [2]], "b_1": [1], "W_2": [[0, 0]], "b_2": [0, 0]},
            ["3", "-1"],
            0,
        ),
        Worked(
            "One unit, reached by 1, adds Φ(1) = 0.8413 to the first entry",
            {"x": [1, 5], "W_1": [[1], [0]], "b_1": [0], "W_2": [[1, 0]], "b_2": [0, 0]},
            ["1.8413", "5.0000"],
            4,
        ),
    ),
    notes="Of the layer it is used in the theorems only that it has a derivative, or that its outer weights are 0.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g = given("g", d)
W = (W_1, b_1, W_2, b_2)
silent = (W_1, b_1, each(0, u, e), each(0, e))

residual.theorem(
    "jacobian",
    "The Jacobian is I + J, with J that of the layer: a gradient goes back as it is, and once more through the layer",
    claim(residual(x, *W).pullback(g, x)[c], "=", g[c] + gelu(x, *W).pullback(g, x)[c])
    .keeping(gelu)
    .by_definition("the derivative of a sum is the sum of the derivatives; ∂x/∂x is the identity"),
    given=g,
)

residual.theorem(
    "identity",
    "A layer of 0 leaves the row as it is, and its gradient too",
    claim(residual(x, *silent)[e], "=", x[e]).by_definition("the layer adds 0"),
    claim(residual(x, *silent).pullback(g, x)[c], "=", g[c]).by_definition("so does its Jacobian"),
    given=g,
)
