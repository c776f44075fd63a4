"""The Gaussian error linear unit: a number times the probability that a standard normal one is smaller."""

from sympy import pi

from spec.activation.parts import SIZES, g, i, prove_bounds, x, y
from spec.feedforward.gelu import APPROXIMATION, odd_part, unit_at
from spec.vocabulary import *

gelu = Formula(
    "activation.gelu",
    "Gaussian error linear unit",
    why="What if a unit is neither plainly on nor off? max(0, ·) has a corner, and below 0 a unit learns nothing. Here a number "
    "is multiplied by the probability Φ(x) that a standard normal one is smaller: far above 0 all is let through, far below "
    "nothing, and in between it bends smoothly. It is what is expected of a switch that is on with that probability.",
    sizes=SIZES,
    inputs=(x,),
    lines=(define(y[i], unit_at(x[i])),),
    outputs=(y,),
    conventions=(APPROXIMATION,),
    pitfalls=(
        pitfall(
            "the form with tanh, from times when erf was slow: up to 5·10⁻⁴ away", convention="approximation"
        ),
        pitfall("x·σ(1.702·x), a coarser form: up to 0.02 away", mutant="gelu_by_sigmoid"),
        pitfall("erf(x) where erf(x/√2) belongs", mutant="gelu_not_divided"),
        pitfall("Φ taken for a constant: the gradient misses x·φ(x)", theorem="backward"),
    ),
    sources=(
        deck(4, "BERT: feed-forward layers"),
        paper("hendrycks2016", "section 2"),
        paper("devlin2019", "appendix A.2"),
    ),
    worked=(
        Worked("1 and −1: Φ(1) = 0.8413", {"x": [1, -1]}, ["0.8413", "-0.1587"], 4),
        Worked(
            "The same by tanh",
            {"x": [1, -1]},
            ["0.8412", "-0.1588"],
            4,
            conventions={"approximation": "tanh"},
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

prove_bounds(gelu, (lift(1) + odd_part(x[i])) / 2)

gelu.theorem(
    "backward",
    "A gradient is multiplied by Φ(x) + x·φ(x), φ the density of the normal distribution",
    claim(
        gelu(x).pullback(g, x)[i],
        "=",
        g[i] * ((1 + erf(x[i] / sqrt(lift(2)))) / 2 + x[i] * exp(-(x[i] ** 2) / 2) / sqrt(2 * lift(pi))),
    ).by_definition("the product rule; the derivative of Φ is the density φ"),
    given=g,
    conventions={"approximation": "none"},
)
