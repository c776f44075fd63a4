"""The sigmoid linear unit, or swish: a number times its own sigmoid."""

from spec.activation.parts import SIZES, g, i, prove_bounds, x, y
from spec.vocabulary import *

silu = Formula(
    "activation.silu",
    "Sigmoid linear unit (SiLU, swish)",
    why="Can a unit decide by itself how much of what reaches it is let through? A gate is a sigmoid, between 0 and 1; here the "
    "number is its own gate. Far above 0 all is let through, far below nothing, and it bends smoothly in between, without the "
    "normal distribution of the Gaussian unit: one exponential suffices. A search among many functions of one number found it "
    "again as swish; most large language models since 2023 bend by it.",
    sizes=SIZES,
    inputs=(x,),
    lines=(define(y[i], x[i] * sigmoid(x[i])),),
    outputs=(y,),
    pitfalls=(
        pitfall("the sigmoid alone: what comes out lies between 0 and 1", mutant="silu_sigmoid_alone"),
        pitfall("a slope in the sigmoid, as swish may learn: it is 1 here", mutant="silu_slope"),
        pitfall(
            "x/(1 + e⁻ˣ) in half precision: e⁻ˣ overflows below −11, x·σ(x) does not", mutant="silu_half"
        ),
        pitfall("the gate taken for a constant: the gradient misses x·σ·(1 − σ)", theorem="backward"),
        pitfall(
            "thought to be monotone: it falls down to −0.28 at −1.28, then rises", theorem="not_monotone"
        ),
    ),
    sources=(
        paper("elfwing2018", "section 2, eq. 2"),
        paper("hendrycks2016", "section 2"),
        paper("ramachandran2017", "section 4"),
    ),
    worked=(Worked("0, 1 and −1: σ(1) = 0.7311", {"x": [0, 1, -1]}, ["0.0000", "0.7311", "-0.2689"], 4),),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

share = sigmoid(x[i])

prove_bounds(silu, share)

silu.theorem(
    "quotient",
    "It is x/(1 + e⁻ˣ)",
    claim(y[i], "=", x[i] / (1 + exp(-x[i]))).by_definition("σ(x) = 1/(1 + e⁻ˣ)"),
)

silu.theorem(
    "above",
    "It never falls below −1",
    claim(-1, "<=", y[i])
    .step(y[i] - (x[i] + 1 + exp(-x[i])) / (1 + exp(-x[i])), "the definition")
    .because("eᵗ is at least 1 + t, at t = −x", gap=(x[i] + 1 + exp(-x[i])) / (1 + exp(-x[i]))),
)

silu.theorem(
    "not_monotone",
    "Of a larger number may come less: −0.07 of −4, and −0.14 of −3",
    claim(case(lt(silu(each(x[i] + 1, i))[i], y[i]), 1, 0), "=", 0).by_witness(d=1, x=[-4]),
    exists=True,
)

silu.theorem(
    "backward",
    "A gradient is multiplied by σ(x)·(1 + x·(1 − σ(x)))",
    claim(silu(x).pullback(g, x)[i], "=", g[i] * share * (1 + x[i] * (1 - share))).by_definition(
        "the product rule; the derivative of σ is σ·(1 − σ)"
    ),
    given=g,
)
