"""The feed-forward network of BERT and GPT: two layers, and the Gaussian error linear unit between them."""

from sympy import pi

from spec.feedforward.parts import (
    JOINED,
    REACHED,
    SIZES,
    W_1,
    W_2,
    a,
    b_1,
    b_2,
    c,
    d,
    e,
    f,
    h,
    prove_sums,
    u,
    x,
    y,
)
from spec.vocabulary import *

APPROXIMATION = Convention(
    "approximation",
    {
        "none": "Φ(a) = (1 + erf(a/√2))/2, the normal distribution itself",
        "tanh": "Φ(a) ≈ (1 + tanh(√(2/π)·(a + 0.044715·a³)))/2",
    },
    default="none",
)


def odd_part(level: Node) -> Node:
    """2·Φ − 1 at a level, by the convention."""
    cubic = sqrt(2 / lift(pi)) * (level + Rational(44715, 1000000) * level**3)
    return by_convention("approximation", none=erf(level / sqrt(lift(2))), tanh=tanh(cubic))


def unit_at(level: Node) -> Node:
    """How active a unit is that is reached by so much: a·Φ(a)."""
    return level * ((1 + odd_part(level)) / 2)


odd, activity = odd_part(a[u]), unit_at(a[u])

gelu = Formula(
    "feedforward.gelu",
    "Feed-forward network with the Gaussian error linear unit",
    why="What if the answer of an inner unit is not plainly yes or no? max(0, ·) has a corner, and below 0 a unit is silent and "
    "learns nothing. The Gaussian error linear unit multiplies by the probability Φ(a) that a standard normal number is "
    "smaller than a: far above 0 it lets everything through, far below nothing, and between it bends smoothly, so that a "
    "unit a little below 0 still learns. BERT and the GPT models have it.",
    sizes=SIZES,
    inputs=(x, W_1, b_1, W_2, b_2),
    lines=(REACHED, define(h[u], activity), JOINED),
    outputs=(y,),
    conventions=(APPROXIMATION,),
    stored=("a", "h"),
    pitfalls=(
        pitfall(
            "the form with tanh, from times when erf was slow: up to 5·10⁻⁴ away", convention="approximation"
        ),
        pitfall("a·σ(1.702·a), a coarser form: up to 0.02 away", mutant="by_sigmoid"),
        pitfall("erf(a) where erf(a/√2) belongs", mutant="not_divided"),
        pitfall("taken for max(0, ·): small and negative values come out otherwise", mutant="corner"),
    ),
    sources=(
        deck(4, "BERT: feed-forward layers"),
        paper("hendrycks2016", "section 2"),
        paper("devlin2019", "appendix A.2"),
    ),
    worked=(
        Worked(
            "One unit, reached by 1: Φ(1) = 0.8413",
            {"x": [1], "W_1": [[1]], "b_1": [0], "W_2": [[1]], "b_2": [0]},
            ["0.8413"],
            4,
        ),
        Worked(
            "The same by tanh",
            {"x": [1], "W_1": [[1]], "b_1": [0], "W_2": [[1]], "b_2": [0]},
            ["0.8412"],
            4,
            conventions={"approximation": "tanh"},
        ),
    ),
    notes="A sequence is taken row by row: no position knows of another here.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g = given("g", d)
whole = gelu(x, W_1, b_1, W_2, b_2)
mirrored = gelu(x, each(-W_1[c, u], c, u), each(-b_1[u], u), W_2, b_2)
slope = tensor(
    "slope", f, meaning="how much more active a unit gets where it is reached by more: Φ(a) + a·φ(a)"
)
gelu.let(slope[u], (1 + erf(a[u] / sqrt(lift(2)))) / 2 + a[u] * exp(-(a[u] ** 2) / 2) / sqrt(2 * lift(pi)))

prove_sums(gelu, activity)

gelu.theorem(
    "mirrored",
    "A network minus its mirror image is linear: a·Φ(a) − (−a)·Φ(−a) = a",
    claim(whole[e] - mirrored[e], "=", Sum(a[u] * W_2[u, e], u))
    .step(
        Sum((a[u] * ((1 + odd) / 2) - (-a[u]) * ((1 - odd) / 2)) * W_2[u, e], u),
        "the mirror image is reached by −a, Φ(−a) = 1 − Φ(a), and the outer bias cancels",
    )
    .because("Φ(a) + Φ(−a) = 1"),
)

gelu.theorem(
    "between",
    "A unit is never more active than it is reached: |h| ≤ |a|",
    claim(absolute(h[u]), "<=", absolute(a[u]))
    .step(absolute(a[u]) * ((1 + odd) / 2), "Φ is positive")
    .because("Φ is less than 1", gap=absolute(a[u]) * ((1 - odd) / 2)),
    runs=False,
)

gelu.theorem(
    "backward",
    "With g the gradient of what comes out, unit u passes on Φ(a) + a·φ(a) times (W_2 g)ᵤ",
    claim(whole.pullback(g, b_1)[u], "=", slope[u] * Sum(W_2[u, e] * g[e], e)).by_definition(
        "the product rule; the derivative of Φ is the density φ"
    ),
    claim(
        whole.pullback(g, x)[c], "=", Sum(W_1[c, u] * slope[u] * Sum(W_2[u, e] * g[e], e), u)
    ).by_definition("the chain rule: unit u is reached by x through column u of W_1"),
    claim(whole.pullback(g, W_2)[u, e], "=", h[u] * g[e]).by_definition("what comes out is linear in W_2"),
    given=g,
    conventions={"approximation": "none"},
)

gelu.theorem(
    "parameters",
    "It has 2·d·f + f + d parameters",
    claim(parameters(gelu), "=", 2 * d * f + f + d).by_definition(
        "the sizes of the two matrices and the two biases"
    ),
    runs=False,
)
