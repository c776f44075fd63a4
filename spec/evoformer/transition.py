"""What is worked out at each place: a layer normalization, and a feed-forward network four times as wide."""

from spec.evoformer.parts import eps, transition_weights
from spec.feedforward.relu import relu
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import *

d, f = sizes("d f")
i, v = indices(i=d, v=f)

x = data("x", d, meaning="what is known at one place: of a residue in a sequence, or of a pair")
WEIGHTS = transition_weights(d, f)
NORM, NETWORK = WEIGHTS[:2], WEIGHTS[2:]
w = tensor("w", d, meaning="the row, normalised")
u = tensor("u", d, meaning="the update: what is added to the row")

transition = Formula(
    "evoformer.transition",
    "Transition of an alignment, or of pairs",
    why="What follows from what was gathered? Attention and triangles mix places and leave each entry a sum of what others hold. "
    "As in a Transformer's layer a small network then works at each place by itself, on the normalised row; what it finds is "
    "added to the row, not put in its place. The alignment and the pairs have one each.",
    sizes={d: "width: c_m or c_z", f: "inner units: 4·d in AlphaFold"},
    inputs=(x, *WEIGHTS, eps),
    lines=(
        define(w, layer_norm(x, *NORM, eps)),
        define(u, relu(w, *NETWORK)),
    ),
    outputs=(u,),
    stored=("w",),
    pitfalls=(
        pitfall("the row added here, and again by the block", mutant="transition_added"),
        pitfall("normalised after the network, not before", mutant="transition_normalised_after"),
        pitfall("GELU instead of max(0, ·)", mutant="transition_by_gelu"),
    ),
    sources=(
        paper("jumper2021", "supplement, algorithms 9 (MSATransition) and 15 (PairTransition)"),
        deck(0, "proteins: AlphaFold 2"),
    ),
    worked=(
        Worked(
            "A row of ±1 is ±4/5 with ε = 9/16; the first unit adds 10·4/5 to the bias, the second is silent",
            {
                "x": [1, -1],
                "gamma": [1, 1],
                "beta": [0, 0],
                "W_1": [[1, 0], [0, 1]],
                "b_1": [0, 0],
                "W_2": [[10, 0], [0, 10]],
                "b_2": [1, 1],
                "eps": "9/16",
            },
            ["9", "1"],
            0,
        ),
    ),
    notes="Alignment and pairs are taken row by row: no place knows of another here.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

a = given("a")

transition.theorem(
    "shift_invariant",
    "Adding a number to all entries of a row changes nothing",
    claim(transition(each(x[i] + a, i), *WEIGHTS, eps)[i], "=", u[i])
    .citing("shift_invariant", layer_norm(x, *NORM, eps), a=a)
    .keeping(relu)
    .by_definition("the normalised row is the same"),
    given=a,
)

transition.theorem(
    "parameters",
    "It has 2·d·f + f + 3·d parameters: 526,080 for AlphaFold's alignment, and 131,968 for its pairs",
    claim(parameters(transition), "=", 2 * d * f + f + 3 * d).by_definition(
        "gain and bias, two matrices and their biases"
    ),
    runs=False,
)
