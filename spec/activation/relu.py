"""max(0, ·): what is negative is not let through."""

from spec.activation.parts import SIZES, i, x, y
from spec.vocabulary import *

relu = Formula(
    "activation.relu",
    "Rectified linear unit",
    why="What is the least bend that makes layers more than one matrix? A corner at 0: a unit answers with what reaches it, or "
    "with nothing. It costs a comparison, and where a unit is active its gradient is 1, however many layers there are, while "
    "those of tanh and the sigmoid fade as soon as a unit is sure.",
    sizes=SIZES,
    inputs=(x,),
    lines=(define(y[i], case(lt(0, x[i]), x[i], 0)),),
    outputs=(y,),
    pitfalls=(
        pitfall("a hundredth of what is negative is let through: a leaky unit", mutant="relu_leaky"),
        pitfall("no more than 6 is let through, as networks for phones do", mutant="relu_capped"),
        pitfall("a gradient for silent units: they have none", mutant="relu_straight_through"),
        pitfall("taken twice, or behind another one, and thought to add something", theorem="once"),
    ),
    sources=(
        deck(0, "encoder: feed-forward network after self-attention"),
        deck(2, "position-wise feed-forward networks"),
        paper("nair2010", "section 2"),
    ),
    worked=(Worked("3 and −2: one is let through", {"x": [3, -2]}, ["3", "0"], 0),),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

k = given("k", domain="positive")

relu.theorem(
    "homogeneous",
    "Scaling by k > 0 scales what comes out",
    claim(relu(each(k * x[i], i))[i], "=", k * y[i])
    .step(case(lt(0, k * x[i]), k * x[i], 0), "the definition")
    .because("k is positive, so the same entries are"),
    given=k,
)

relu.theorem(
    "mirrored",
    "What it makes of a number less what it makes of the opposite one is the number itself",
    claim(y[i] - relu(each(-x[i], i))[i], "=", x[i]).by_definition("one of the two is 0, and 0 has none"),
)

relu.theorem(
    "magnitude",
    "What it makes of a number and of the opposite one are together its magnitude",
    claim(y[i] + relu(each(-x[i], i))[i], "=", absolute(x[i])).by_definition("one of the two is 0"),
)

relu.theorem(
    "once",
    "Applied once more it changes nothing",
    claim(relu(y)[i], "=", y[i]).by_definition("what it lets through is positive"),
)

relu.theorem(
    "largest",
    "It is the larger one of the number and 0: at least both, and one of them",
    claim(0, "<=", y[i]).by_definition("it is 0, or positive", gap=y[i]),
    claim(x[i], "<=", y[i]).by_definition(
        "it is the number, or that is not positive", gap=case(lt(0, x[i]), 0, 0 - x[i])
    ),
    claim(y[i] * (y[i] - x[i]), "=", 0).by_definition("it is 0, or the number"),
)
