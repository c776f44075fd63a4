"""Layer normalization: a row brought to mean 0 and variance 1, then scaled and shifted."""

from spec.vocabulary import *

(d,) = sizes("d")
i, j = indices(i=d, j=d)

x = data("x", d, meaning="one row: what a position holds before it is normalised")
gamma = parameter("gamma", d, meaning="gain: the scale that each entry gets back")
beta = parameter("beta", d, meaning="bias: the level that each entry gets back")
eps = number("eps", "positive", meaning="a small number that keeps the divisor away from 0")
mu = tensor("mu", meaning="mean of the row")
var = tensor("var", domain="nonnegative", meaning="variance of the row")
y = tensor("y", d, meaning="the normalised row")

EPS = Convention("eps", {"inside": "√(σ² + ε)", "outside": "√(σ²) + ε"}, default="inside")
DIVISOR = Convention(
    "divisor",
    {"biased": "the variance divides by d", "unbiased": "the variance divides by d − 1"},
    default="biased",
)
GAIN = Convention(
    "gain",
    {
        "gamma": "an entry is multiplied by γ, which begins as 1",
        "one_plus": "an entry is multiplied by 1 + γ: γ begins as 0, towards which weights decay",
    },
    default="gamma",
)
squares = Sum((x[j] - mu) ** 2, j)
spread = by_convention("eps", inside=sqrt(var + eps), outside=sqrt(var) + eps)


def gain(gamma: Tensor, at: Index) -> Node:
    """What an entry is multiplied by."""
    return by_convention("gain", gamma=gamma[at], one_plus=1 + gamma[at])


layer_norm = Formula(
    "normalization.layer_norm",
    "Layer normalization",
    why="How can a deep network keep its numbers in a range in which it learns well? Each layer's outputs feed the next, so "
    "that their size drifts as the weights below change. Layer normalization gives every position mean 0 and variance 1 "
    "over its own entries, then lets the network choose gain and bias. Unlike batch normalization it looks at no other "
    "example, so it works for sequences of any length and is the same in training and in use.",
    sizes={d: "width: the entries of a row"},
    inputs=(x, gamma, beta, eps),
    lines=(
        define(mu, Sum(x[j], j) / d),
        define(var, by_convention("divisor", biased=squares / d, unbiased=squares / (d - 1))),
        define(y[i], gain(gamma, i) * (x[i] - mu) / spread + beta[i]),
    ),
    outputs=(y,),
    conventions=(EPS, DIVISOR, GAIN),
    pitfalls=(
        pitfall(
            "ε is added to the root instead of under it: invisible on ordinary rows, plain at small variance",
            convention="eps",
        ),
        pitfall(
            "a standard deviation that divides by d − 1, the default of many libraries", convention="divisor"
        ),
        pitfall(
            "the variance as mean of squares minus square of the mean: it cancels where the mean is large",
            theorem="shift_invariant",
        ),
        pitfall(
            "weights trained with a gain of 1 + γ, read by a layer that multiplies by γ", convention="gain"
        ),
    ),
    sources=(deck(2, "residuals and layer norm"), deck(4, "layer normalization"), paper("ba2016", "eq. 4")),
    worked=(
        Worked(
            "A row of four: mean 4 and variance 5, so that with ε = 4 the divisor is 3",
            {"x": [1, 3, 5, 7], "gamma": [1, 1, 1, 1], "beta": [0, 0, 0, 0], "eps": 4},
            ["-1.0000", "-0.3333", "0.3333", "1.0000"],
            4,
        ),
        Worked(
            "The same where the gain is 1 + γ, with γ = 0",
            {"x": [1, 3, 5, 7], "gamma": [0, 0, 0, 0], "beta": [0, 0, 0, 0], "eps": 4},
            ["-1.0000", "-0.3333", "0.3333", "1.0000"],
            4,
            conventions={"gain": "one_plus"},
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"eps": "inside", "divisor": "biased"}
BIASED = {"divisor": "biased"}
"""The convention under which theorems speak of any row: by d − 1 a row of one entry has no variance."""
a, c, g = given("a"), given("c", domain="positive"), given("g", d)
ONE = by_convention("gain", gamma=1, one_plus=0)
plain = layer_norm(x, each(ONE, i), each(0, i), eps)
whole = layer_norm(x, gamma, beta, eps)
not_constant = lt(0, var)

xhat = tensor("xhat", d, meaning="the normalised row before gain and bias")
layer_norm.let(xhat[i], (x[i] - mu) / sqrt(var + eps))

layer_norm.theorem(
    "zero_mean",
    "Without gain and bias a normalised row has mean 0",
    claim(Sum(plain[i], i) / d, "=", 0)
    .step(
        Sum(x[i] - mu, i) / (d * spread),
        "the definition with a gain of 1 and β = 0; the divisor does not depend on i",
    )
    .because("Σᵢ (xᵢ − μ) = d·μ − d·μ = 0"),
    conventions=BIASED,
)

layer_norm.theorem(
    "variance",
    "Without gain and bias a normalised row has variance σ²/(σ² + ε)",
    claim(Sum(plain[i] ** 2, i) / d, "=", var / (var + eps))
    .step(Sum(xhat[i] ** 2, i) / d, "the definition with a gain of 1 and β = 0")
    .step(Sum((x[i] - mu) ** 2, i) / d / (var + eps), "the square of the root; it does not depend on i")
    .because("the numerator is σ²"),
    conventions=OURS,
)

layer_norm.theorem(
    "norm",
    "Without gain and bias a normalised row has squared length d·σ²/(σ² + ε)",
    claim(Sum(plain[i] ** 2, i), "=", d * var / (var + eps))
    .step(Sum((x[i] - mu) ** 2, i) / (var + eps), "the square of the root; it does not depend on i")
    .because("the sum of squares is d·σ²"),
    conventions=OURS,
)

layer_norm.theorem(
    "norm_without_eps",
    "At ε = 0 a normalised row that is not constant has length √d",
    claim(Sum(plain[i] ** 2, i), "=", d)
    .step(d * var / var, "the definition; ε = 0")
    .because("the variance of a row that is not constant is positive, so it cancels"),
    conventions=OURS,
    at={eps: 0},
    assuming=(not_constant,),
    runs=False,
)

layer_norm.theorem(
    "no_gain",
    "A gain of 1, which is a γ of 0 where it is 1 + γ, leaves the row as normalised but for the bias",
    claim(layer_norm(x, each(ONE, i), beta, eps)[i], "=", (x[i] - mu) / spread + beta[i]).by_definition(
        "the product with 1"
    ),
    conventions=BIASED,
)

layer_norm.theorem(
    "shift_invariant",
    "Adding a number to all entries changes nothing",
    claim(layer_norm(each(x[i] + a, i), gamma, beta, eps)[i], "=", whole[i])
    .step(
        gain(gamma, i) * ((x[i] + a) - (mu + a)) / spread + beta[i],
        "the mean grows by a, and no difference to it changes",
    )
    .because("a − a = 0"),
    given=a,
    conventions=BIASED,
)

layer_norm.theorem(
    "scale",
    "Scaling a row by c > 0 and ε by c² changes nothing",
    claim(layer_norm(each(c * x[i], i), gamma, beta, c**2 * eps)[i], "=", whole[i])
    .step(
        gain(gamma, i) * (c * (x[i] - mu)) / sqrt(c**2 * (var + eps)) + beta[i],
        "mean and spread scale with the row",
    )
    .because("√(c²·…) = c·√…, and c is positive"),
    given=c,
    conventions=OURS,
)

layer_norm.theorem(
    "scale_invariant",
    "At ε = 0, scaling a row that is not constant by c > 0 changes nothing",
    claim(layer_norm(each(c * x[i], i), gamma, beta, eps)[i], "=", whole[i])
    .step(gain(gamma, i) * (c * (x[i] - mu)) / (c * sqrt(var)) + beta[i], "√(c²σ²) = c·σ; ε = 0")
    .because("c and σ are positive, so c cancels"),
    given=c,
    conventions=OURS,
    at={eps: 0},
    assuming=(not_constant,),
    runs=False,
)

layer_norm.theorem(
    "backward",
    "∂x = (γg − mean(γg) − x̂·mean(γg·x̂)) / √(σ² + ε), ∂γ = g·x̂, ∂β = g, with x̂ the normalised row and γ the gain",
    claim(
        whole.pullback(g, x)[i],
        "=",
        (
            gain(gamma, i) * g[i]
            - Sum(gain(gamma, j) * g[j], j) / d
            - xhat[i] * (Sum(gain(gamma, j) * g[j] * xhat[j], j) / d)
        )
        / sqrt(var + eps),
    )
    .step(
        Sum(
            g[j]
            * gain(gamma, j)
            * (
                (delta(i, j) - 1 / d) / sqrt(var + eps)
                - (x[j] - mu) * (x[i] - mu) / (d * sqrt(var + eps) ** 3)
            ),
            j,
        ),
        "∂μ/∂xᵢ = 1/d and ∂σ²/∂xᵢ = 2(xᵢ − μ)/d: σ² does not change through μ, since Σ (xⱼ − μ) = 0",
    )
    .because("the sum split; the delta picks j = i"),
    claim(whole.pullback(g, gamma)[i], "=", g[i] * xhat[i]).by_definition("the row is linear in γ"),
    claim(whole.pullback(g, beta)[i], "=", g[i]).by_definition("the row is β plus something free of it"),
    given=g,
    conventions=OURS,
)
