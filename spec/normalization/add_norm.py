"""The sum around a sublayer, normalised: what every layer of the Transformer ends with."""

from spec.normalization.layer_norm import BIASED, OURS, layer_norm
from spec.vocabulary import *

(d,) = sizes("d")
i, j = indices(i=d, j=d)

x = data("x", d, meaning="one row: what the sublayer was given")
r = data("r", d, meaning="what the sublayer gave back")
gamma = parameter("gamma", d, meaning="gain: the scale that each entry gets back")
beta = parameter("beta", d, meaning="bias: the level that each entry gets back")
eps = number("eps", "positive", meaning="a small number that keeps the divisor away from 0")
s = tensor("s", d, meaning="the row, with what the sublayer adds to it")
y = tensor("y", d, meaning="the sum, normalised")

add_norm = Formula(
    "normalization.add_norm",
    "Add & norm: the sum around a sublayer, normalised",
    why="How can layers be stacked by the dozen and still learn? A sublayer that only has to say what should change leaves the "
    "row itself a straight way past it, on which nothing is lost and gradients return undiminished; the Transformer puts such "
    "a sum around each of its sublayers. But sums grow from layer to layer, so the sum is normalised, and every sublayer reads "
    "rows of one scale. Where the normalization stands, after the sum or before the sublayer, decides how easily deep stacks "
    "are trained; here it stands after it, as in the original: a gradient on the straight way passes the Jacobian of the "
    "normalization, too, at every layer, which is why deep stacks of this order need a learning rate that warms up.",
    sizes={d: "width: the entries of a row"},
    inputs=(x, r, gamma, beta, eps),
    lines=(define(s[i], x[i] + r[i]), define(y, layer_norm(s, gamma, beta, eps))),
    outputs=(y,),
    conventions=layer_norm.conventions,
    pitfalls=(
        pitfall("the row added after the normalization", mutant="added_after"),
        pitfall("the row forgotten: what the sublayer gave is normalised alone", mutant="row_left_out"),
        pitfall("both summands normalised, then added", mutant="each_normalised"),
        pitfall("the mean of both instead of the sum: only ε tells, at small rows", mutant="mean_of_both"),
    ),
    sources=(
        deck(2, "residuals and layer norm"),
        deck(4, "add & layer normalization"),
        paper("vaswani2017", "section 3.1: LayerNorm(x + Sublayer(x))"),
    ),
    worked=(
        Worked(
            "The sum is (1, 3, 5, 7): mean 4 and variance 5, so that with ε = 4 the divisor is 3",
            {"x": [1, 2, 2, 3], "r": [0, 1, 3, 4], "gamma": [1, 1, 1, 1], "beta": [0, 0, 0, 0], "eps": 4},
            ["-1.0000", "-0.3333", "0.3333", "1.0000"],
            4,
        ),
    ),
    notes="The other order, x + sublayer(layer_norm(x)), is not a formula of x and r: see the convention norm of "
    "transformer.encoder_layer.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g, k = given("g", d), given("k")
whole = add_norm(x, r, gamma, beta, eps)
normalised = layer_norm(each(x[j] + r[j], j), gamma, beta, eps)

add_norm.theorem(
    "symmetric",
    "Row and addition may change places",
    claim(add_norm(r, x, gamma, beta, eps)[i], "=", y[i]).by_definition("x + r = r + x"),
    conventions=BIASED,
)

add_norm.theorem(
    "nothing_added",
    "Where a sublayer adds nothing, the row is normalised",
    claim(
        add_norm(x, each(0, i), gamma, beta, eps)[i], "=", layer_norm(x, gamma, beta, eps)[i]
    ).by_definition("x + 0 = x"),
    conventions=BIASED,
)

add_norm.theorem(
    "cancelled",
    "Where a sublayer takes the row away, the bias is left",
    claim(add_norm(x, each(-x[j], j), gamma, beta, eps)[i], "=", beta[i])
    .step(layer_norm(each(0, j), gamma, beta, eps)[i], "x − x = 0")
    .because("the mean of a row of 0 is 0, and ε keeps the divisor positive"),
    conventions=BIASED,
)

add_norm.theorem(
    "level",
    "What a sublayer adds to all entries alike does not count",
    claim(add_norm(x, each(r[j] + k, j), gamma, beta, eps)[i], "=", y[i])
    .step(layer_norm(each(s[j] + k, j), gamma, beta, eps)[i], "the sum grows by k in every entry")
    .because("layer normalization does not see a shift"),
    given=k,
    conventions=BIASED,
)

add_norm.theorem(
    "backward",
    "Row and sublayer get the same gradient: that of the normalization at their sum",
    claim(whole.pullback(g, x)[i], "=", normalised.pullback(g, "x")[i])
    .keeping(layer_norm)
    .by_definition("∂s/∂x is the identity"),
    claim(whole.pullback(g, r)[i], "=", normalised.pullback(g, "x")[i])
    .keeping(layer_norm)
    .by_definition("∂s/∂r is the identity"),
    given=g,
    conventions=OURS,
)
