"""The cell of a recurrent network: one step from a state and an element to the next state, and an output."""

from spec.recurrent.over_sequences import within_one
from spec.recurrent.step import W_hh, W_xh, a, c, d, e, h, h_new, p, step, x
from spec.vocabulary import *

(r,) = sizes("r")
(k,) = indices(k=r)

W_hy = parameter("W_hy", r, d, meaning="what each output takes from the state")
o = tensor("o", r, meaning="output, such as a score for each word that may come next")

rnn_cell = Formula(
    "recurrent.rnn_cell",
    "Recurrent cell",
    why="How can a network remember? A layer of the usual kind sees its input and nothing else, so that “bank” means the same "
    "beside a river and in a town. The cell has a second input, its own state one step before: from that and the element it "
    "makes the next state, and reads its output off it. The tanh keeps the state between −1 and 1 however often it is applied.",
    sizes={p: "width of an element", d: "width of the state", r: "outputs"},
    inputs=(x, h, W_xh, W_hh, W_hy),
    lines=(define(h_new, step(x, h, W_xh, W_hh)), define(o[k], Sum(W_hy[k, c] * h_new[c], c))),
    outputs=(h_new, o),
    stored=("h'",),
    pitfalls=(
        pitfall("the output comes from the state before the update", mutant="output_of_the_old_state"),
        pitfall("W_hh is stored the other way round", mutant="state_weights_transposed"),
        pitfall("a rectifier for the tanh: nothing bounds the state any more", theorem="bounded"),
        pitfall("the state is detached: a gradient reaches one step back, no further", theorem="slope"),
    ),
    sources=(deck(1, "recurrent neural networks"), paper("elman1990", "simple recurrent network")),
    worked=(
        Worked(
            "Two units, of which each reads the other: they are squashed from 1 − 1 and 2 + 1",
            {"x": [1], "h": [1, -1], "W_xh": [[1], [2]], "W_hh": [[0, 1], [1, 0]], "W_hy": [[1, 1]]},
            ["0.0000", "0.9951"],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g_h = given("g_h", d)
inflow = Sum(W_hh[c, e] * h[e], e) + Sum(W_xh[c, a] * x[a], a)

rnn_cell.theorem(
    "bounded", "Every entry of the new state lies between −1 and 1", *within_one(h_new[c], "it is a tanh")
)

rnn_cell.theorem(
    "slope",
    "∂h′/∂h = diag(1 − h′²) W_hh: a saturated unit passes no gradient on",
    claim(
        rnn_cell(*rnn_cell.inputs).pullback(g_h, h)[e], "=", Sum(g_h[c] * (1 - h_new[c] ** 2) * W_hh[c, e], c)
    )
    .step(
        Sum(g_h[c] * ((1 - tanh(inflow) ** 2) * W_hh[c, e]), c),
        "the derivative of tanh is 1 − tanh²; the element does not depend on h",
    )
    .because("the tanh is h′"),
    given=g_h,
)

rnn_cell.theorem(
    "parameters",
    "The cell has d·(p + d + r) parameters",
    claim(parameters(rnn_cell), "=", d * (p + d + r)).by_definition("the sizes of W_xh, W_hh and W_hy"),
    runs=False,
)
