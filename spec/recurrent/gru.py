"""Gated recurrent unit over a sequence. The weights of the three blocks are packed, as in the cell."""

from spec.recurrent.gru_cell import CONVENTIONS, W_h, W_x, b_h, b_x, c, d, gru_cell, p
from spec.recurrent.over_sequences import agree, prefix, resumes, rows
from spec.vocabulary import *

(T,) = sizes("T")
t, n = indices(t=T, n=T + 1)

x = data("x", T, p, meaning="the sequence")
h = data("h", d, meaning="the state before the first element")
H = tensor("H", T + 1, d, meaning="the state after t elements")
states = tensor("states", T, d, meaning="the state after each element; a later part goes on from the last")
WEIGHTS = (W_x, W_h, b_x, b_h)
READ = {
    "x": [[1], [0]],
    "h": [0],
    "W_x": [[0], [0], [1]],
    "W_h": [[0], [0], [1]],
    "b_x": [0, 0, 0],
    "b_h": [0, 0, 0],
}

gru = Formula(
    "recurrent.gru",
    "Gated recurrent unit",
    why="What does a network need to read a long sequence, if it is to be small? The cell is repeated with the same weights from "
    "element to element and hands on its one state, which its gates keep or renew entry by entry. What is to be remembered "
    "fades far less than in a plain network. Each state needs the one before, so the steps cannot run side by side.",
    sizes={T: "elements of the sequence", p: "width of an element", d: "width of the state"},
    inputs=(x, h, *WEIGHTS),
    lines=(
        define(H[0], h),
        define(H[t], gru_cell(x[t - 1], H[t - 1], *WEIGHTS), (t, 1, T)),
        define(states[t], H[t + 1]),
    ),
    outputs=(states,),
    conventions=CONVENTIONS,
    stored=("H",),
    pitfalls=(
        pitfall("weights of another library, packed in another order", convention="gate_order"),
        pitfall("weights of a library that resets before the product", convention="reset"),
        pitfall("the state that a caller passes is ignored: a text cannot be cut", theorem="resumes"),
        pitfall("the state detached between elements: nothing is learned over time", mutant="state_detached"),
    ),
    sources=(paper("cho2014", "section 2.3"), paper("chung2014", "section 3.2")),
    worked=(
        Worked(
            "1 is read, then 0, gates half open: tanh(1)/2, then (tanh of half of it + it)/2",
            READ,
            [["0.3808"], ["0.2845"]],
            4,
        ),
        Worked(
            "The update gate shut by a bias of −20: the state is the candidate, tanh(1), then tanh(tanh(1)/2)",
            READ | {"b_x": [0, -20, 0]},
            [["0.7616"], ["0.3634"]],
            4,
        ),
        Worked(
            "The same for a network whose update gate renews: it keeps its first state, 0",
            READ | {"b_x": [0, -20, 0]},
            [["0.0000"], ["0.0000"]],
            4,
            conventions={"update": "renews"},
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

run = gru(x, h, *WEIGHTS)
before = gru(x[:rows], h, *WEIGHTS)

gru.theorem(
    "parameters",
    "The network has 3·d·(p + d + 2) parameters, however long the sequence",
    claim(parameters(gru), "=", 3 * d * (p + d + 2)).by_definition("T is no size of a weight"),
    runs=False,
)

prefix(gru, (H,), "The states up to an element do not depend on the elements after it")

gru.theorem(
    "one_step",
    "On one element it is the cell",
    claim(run[0, c], "=", gru_cell(x[0], h, *WEIGHTS)[c]).by_definition("the sequence begins with h"),
    sizes={T: Rational(1)},
)

gru.theorem(
    "iterates",
    "One element more is one step more",
    claim(run[rows, c], "=", gru_cell(x[rows], before[rows - 1], *WEIGHTS)[c])
    .by_induction(n, *agree(before, run, (H,), (n,)), last=rows)
    .because("up to then the states are those of the shorter sequence"),
    sizes={T: rows + 1},
)

resumes(
    gru,
    (H,),
    "A sequence may be cut: the second part, begun with the last state of the first, gives the states of the whole",
)
