"""The sum around a sublayer and its root mean square normalization in one step: both are returned."""

from spec.normalization.layer_norm import ONE, gain
from spec.normalization.rms_norm import INSIDE, rms_norm
from spec.vocabulary import *

(d,) = sizes("d")
i, j = indices(i=d, j=d)

x = data("x", d, meaning="one row: what the sublayer was given")
r = data("r", d, meaning="what the sublayer gave back")
gamma = parameter("gamma", d, meaning="gain: the scale that each entry gets back")
eps = number("eps", "positive", meaning="a small number that keeps the divisor away from 0")
s = tensor("s", d, meaning="the row, with what the sublayer adds to it: it goes on past the next sublayer")
y = tensor("y", d, meaning="the sum, normalised: what the next sublayer reads")

add_rms_norm = Formula(
    "normalization.add_rms_norm",
    "Residual sum and root mean square normalization in one",
    why="Between two sublayers of a decoder stand a sum and a normalization, and both are limited by memory: each reads and "
    "writes all rows, and computes next to nothing. In one kernel the sum is normalised while it is at hand. Two results are "
    "needed: the next sublayer reads the normalised row, and what it gives is added to the sum itself, so that the way past all "
    "sublayers stays free of normalizations. Kernels that hand back one of the two, or keep a sum that was rounded on the way, "
    "are the usual mistake.",
    sizes={d: "width: the entries of a row"},
    inputs=(x, r, gamma, eps),
    lines=(define(s[i], x[i] + r[i]), define(y, rms_norm(s, gamma, eps))),
    outputs=(y, s),
    conventions=rms_norm.conventions,
    pitfalls=(
        pitfall("the normalised row handed on in the sum's place", mutant="add_rms_normalised_twice"),
        pitfall("the mean square taken of the row before the sum", mutant="add_rms_of_the_row"),
        pitfall(
            "no gradient from the sum that goes on: the way past the sublayers is cut",
            mutant="add_rms_sum_detached",
        ),
        pitfall("ε outside the root: invisible on ordinary rows, plain at small ones", convention="eps"),
        pitfall(
            "weights trained with a gain of 1 + γ, read by a layer that multiplies by γ", convention="gain"
        ),
    ),
    sources=(
        paper("zhang2019", "eq. 4"),
        paper("xiong2020", "figure 1: normalised before the sublayers"),
        paper("touvron2023", "section 2.2: pre-normalization"),
    ),
    worked=(
        Worked(
            "The sum is (1, 3, 1, 3), of mean square 5; at ε = 4 the divisor is 3",
            {"x": [0, 1, 2, 3], "r": [1, 2, -1, 0], "gamma": [3, 1, 1, 2], "eps": 4},
            ["1.0000", "1.0000", "0.3333", "2.0000"],
            4,
        ),
        Worked(
            "and goes on as it is",
            {"x": [0, 1, 2, 3], "r": [1, 2, -1, 0], "gamma": [3, 1, 1, 2], "eps": 4},
            ["1", "3", "1", "3"],
            0,
            output="s",
        ),
    ),
    notes="In normalization.add_norm the normalised sum itself goes on; here the sum does, so that the order is that of "
    "norm=pre in transformer.encoder_layer.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

c, g, more = given("c", domain="positive"), given("g", d), given("more", d)
whole = add_rms_norm(x, r, gamma, eps)
scaled = add_rms_norm(each(c * x[j], j), each(c * r[j], j), gamma, c**2 * eps)
normalised = rms_norm(each(x[j] + r[j], j), gamma, eps)

add_rms_norm.theorem(
    "in_two_steps",
    "It is the sum, then the normalization of the sum",
    claim(y[i], "=", normalised[i]).by_definition("the lines one after the other"),
    claim(whole.output(s)[i], "=", x[i] + r[i]).by_definition("the first of them"),
)

add_rms_norm.theorem(
    "symmetric",
    "Row and addition may change places",
    claim(add_rms_norm(r, x, gamma, eps)[i], "=", y[i]).by_definition("x + r = r + x"),
    claim(add_rms_norm(r, x, gamma, eps).output(s)[i], "=", s[i]).by_definition("x + r = r + x"),
)

add_rms_norm.theorem(
    "nothing_added",
    "Where a sublayer adds nothing, the row is normalised, and goes on as it was",
    claim(add_rms_norm(x, each(0, j), gamma, eps)[i], "=", rms_norm(x, gamma, eps)[i]).by_definition(
        "x + 0 = x"
    ),
    claim(add_rms_norm(x, each(0, j), gamma, eps).output(s)[i], "=", x[i]).by_definition("x + 0 = x"),
)

add_rms_norm.theorem(
    "cancelled",
    "Where a sublayer takes the row away, nothing is left: no bias",
    claim(add_rms_norm(x, each(-x[j], j), gamma, eps)[i], "=", 0)
    .step(rms_norm(each(0, j), gamma, eps)[i], "x − x = 0")
    .because("a row of 0 stays 0, and ε keeps the divisor positive"),
)

add_rms_norm.theorem(
    "way_past",
    "Two sublayers in a row add to the same row: the normalization between them is not on its way",
    claim(add_rms_norm(s, more, gamma, eps).output(s)[i], "=", x[i] + r[i] + more[i]).by_definition(
        "the sum goes on, not what was made of it"
    ),
    given=more,
)

add_rms_norm.theorem(
    "scale",
    "Scaling both by c > 0 and ε by c² scales the sum, and leaves the normalised row as it is",
    claim(scaled[i], "=", y[i])
    .step(
        gain(gamma, i) * (c * s[i]) / sqrt(c**2 * (Sum(s[j] ** 2, j) / d + eps)),
        "the mean of the squares scales with c²",
    )
    .because("√(c²·…) = c·√…, and c is positive"),
    claim(scaled.output(s)[i], "=", c * s[i]).by_definition("a sum is linear"),
    given=c,
    conventions=INSIDE,
)

add_rms_norm.theorem(
    "mean_square",
    "Without gain a normalised sum has a mean square of at most 1",
    claim(Sum(add_rms_norm(x, r, each(ONE, j), eps)[i] ** 2, i) / d, "<=", 1)
    .step(
        Sum(s[j] ** 2, j) / d / (Sum(s[j] ** 2, j) / d + eps),
        "the square of the root; it does not depend on i",
    )
    .because("ε is positive", gap=eps / (Sum(s[j] ** 2, j) / d + eps)),
    conventions=INSIDE,
)

add_rms_norm.theorem(
    "backward",
    "Row and addition get the same gradient: from the normalised row that of the normalization at their sum, and from the sum "
    "its own as it is",
    claim(whole.pullback(g, x)[i], "=", normalised.pullback(g, "x")[i])
    .keeping(rms_norm)
    .by_definition("∂s/∂x is the identity"),
    claim(whole.pullback(g, r)[i], "=", normalised.pullback(g, "x")[i])
    .keeping(rms_norm)
    .by_definition("∂s/∂r is the identity"),
    claim(whole.output(s).pullback(g, x)[i], "=", g[i]).by_definition("∂s/∂x is the identity"),
    claim(whole.output(s).pullback(g, r)[i], "=", g[i]).by_definition("∂s/∂r is the identity"),
    given=g,
    conventions=INSIDE,
)
