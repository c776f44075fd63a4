"""Root mean square normalization: a row divided by its own size, its mean left where it is."""

from spec.normalization.layer_norm import GAIN, ONE, gain
from spec.vocabulary import *

(d,) = sizes("d")
i, j = indices(i=d, j=d)

x = data("x", d, meaning="one row: what a position holds before it is normalised")
gamma = parameter("gamma", d, meaning="gain: the scale that each entry gets back")
eps = number("eps", "positive", meaning="a small number that keeps the divisor away from 0")
ms = tensor("ms", domain="nonnegative", meaning="mean of the squares of the row")
y = tensor("y", d, meaning="the normalised row")

EPS = Convention("eps", {"inside": "√(ms + ε)", "outside": "√ms + ε"}, default="inside")
size = by_convention("eps", inside=sqrt(ms + eps), outside=sqrt(ms) + eps)

rms_norm = Formula(
    "normalization.rms_norm",
    "Root mean square normalization",
    why="Which half of layer normalization does the work? It both recentres a row and rescales it, and the mean costs a second "
    "pass over the row. Root mean square normalization keeps the rescaling alone: it divides by the root of the mean square, "
    "with a gain and no bias. In practice that trains as well, for less; most large language models since 2023 use it.",
    sizes={d: "width: the entries of a row"},
    inputs=(x, gamma, eps),
    lines=(define(ms, Sum(x[j] ** 2, j) / d), define(y[i], gain(gamma, i) * x[i] / size)),
    outputs=(y,),
    conventions=(EPS, GAIN),
    pitfalls=(
        pitfall("ε outside the root: invisible on ordinary rows, plain at small ones", convention="eps"),
        pitfall(
            "weights trained with a gain of 1 + γ, read by a layer that multiplies by γ", convention="gain"
        ),
        pitfall(
            "the mean is subtracted first, out of habit: that is layer normalization",
            theorem="no_shift_invariance",
        ),
    ),
    sources=(
        paper("zhang2019", "eq. 4"),
        paper("gemma2024", "section 2, and the code published with it: the gain is 1 + γ"),
    ),
    worked=(
        Worked(
            "A row of mean square 5 at ε = 4: the divisor is 3",
            {"x": [1, 3, 1, 3], "gamma": [3, 1, 1, 2], "eps": 4},
            ["1.0000", "1.0000", "0.3333", "2.0000"],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

INSIDE = {"eps": "inside"}
c, g = given("c", domain="positive"), given("g", d)
whole = rms_norm(x, gamma, eps)
plain = rms_norm(x, each(ONE, i), eps)

xhat = tensor("xhat", d, meaning="the normalised row before the gain")
rms_norm.let(xhat[i], x[i] / sqrt(ms + eps))

rms_norm.theorem(
    "mean_square",
    "Without gain a normalised row has mean square ms/(ms + ε)",
    claim(Sum(plain[i] ** 2, i) / d, "=", ms / (ms + eps))
    .step(Sum(xhat[i] ** 2, i) / d, "the definition with a gain of 1")
    .step(Sum(x[i] ** 2, i) / d / (ms + eps), "the square of the root; it does not depend on i")
    .because("the numerator is ms"),
    conventions=INSIDE,
)

rms_norm.theorem(
    "no_gain",
    "A gain of 1, which is a γ of 0 where it is 1 + γ, leaves the row as normalised",
    claim(plain[i], "=", x[i] / size).by_definition("the product with 1"),
)

rms_norm.theorem(
    "scale",
    "Scaling a row by c > 0 and ε by c² changes nothing",
    claim(rms_norm(each(c * x[i], i), gamma, c**2 * eps)[i], "=", whole[i])
    .step(gain(gamma, i) * (c * x[i]) / sqrt(c**2 * (ms + eps)), "the mean of the squares scales with c²")
    .because("√(c²·…) = c·√…, and c is positive"),
    given=c,
    conventions=INSIDE,
)

rms_norm.theorem(
    "scale_invariant",
    "At ε = 0, scaling a row that is not zero by c > 0 changes nothing",
    claim(rms_norm(each(c * x[i], i), gamma, eps)[i], "=", whole[i])
    .step(gain(gamma, i) * (c * x[i]) / (c * sqrt(ms)), "√(c²·ms) = c·√ms; ε = 0")
    .because("c and the root are positive, so c cancels"),
    given=c,
    at={eps: 0},
    assuming=(lt(0, ms),),
    runs=False,
)

rms_norm.theorem(
    "no_shift_invariance",
    "Adding a number to all entries changes the result: unlike layer normalization it keeps the mean",
    claim(rms_norm(each(x[i] + 1, i), gamma, eps)[i], "=", whole[i]).by_witness(d=1, x=[0], gamma=[1], eps=1),
    exists=True,
)

rms_norm.theorem(
    "backward",
    "∂x = (γg − x̂·mean(γg·x̂)) / √(ms + ε) and ∂γ = g·x̂, with x̂ the normalised row and γ the gain",
    claim(
        whole.pullback(g, x)[i],
        "=",
        (gain(gamma, i) * g[i] - xhat[i] * (Sum(gain(gamma, j) * g[j] * xhat[j], j) / d)) / sqrt(ms + eps),
    )
    .step(
        Sum(
            g[j] * gain(gamma, j) * (delta(i, j) / sqrt(ms + eps) - x[j] * x[i] / (d * sqrt(ms + eps) ** 3)),
            j,
        ),
        "∂ms/∂xᵢ = 2xᵢ/d",
    )
    .because("the sum split; the delta picks j = i"),
    claim(whole.pullback(g, gamma)[i], "=", g[i] * xhat[i]).by_definition("the row is linear in γ"),
    given=g,
    conventions=INSIDE,
)
