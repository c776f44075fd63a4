"""Long short-term memory over a sequence. The weights of the four blocks are packed; their order is a convention."""

from spec.recurrent.gates import BLOCKS, GATE_ORDER, a, block, c, d, e, p
from spec.recurrent.lstm_cell import lstm_cell
from spec.recurrent.lstm_step import W_h, W_x, b, lstm_step
from spec.recurrent.over_sequences import agree, prefix, resumes, rows, within_one
from spec.vocabulary import *

(T,) = sizes("T")
t, n = indices(t=T, n=T + 1)

x = data("x", T, p, meaning="the sequence")
h = data("h", d, meaning="the state before the first element")
s = data("s", d, meaning="the internal state before the first element")
H = tensor("H", T + 1, d, meaning="the state after t elements")
S = tensor("S", T + 1, d, meaning="the internal state after t elements")
states = tensor("states", T, d, meaning="the state after each element: what the network shows")
s_new = tensor("s'", d, meaning="the internal state after the last element: what a later part goes on from")
stepped = lstm_step(x[t - 1], H[t - 1], S[t - 1], W_x, W_h, b)
READ = {"x": [[1], [0]], "h": [0], "s": [0], "W_x": [[0], [0], [1], [0]], "W_h": [[0]] * 4, "b": [0] * 4}

lstm = Formula(
    "recurrent.lstm",
    "Long short-term memory",
    why="How can what stood at the beginning of a long sequence still be told at its end? The cell is repeated with the same "
    "weights from element to element, and hands on two states: one that is shown, and an internal one that its gates "
    "protect. Along the internal one a gradient on its way back is multiplied by the forget gates, which may stay near 1, "
    "and by no matrix. Each state needs the one before, so the steps cannot run side by side, and a state knows nothing of "
    "what comes after it.",
    sizes={T: "elements of the sequence", p: "width of an element", d: "width of the state"},
    inputs=(x, h, s, W_x, W_h, b),
    lines=(
        define(H[0], h),
        define(S[0], s),
        define(H[t], stepped, (t, 1, T)),
        define(S[t], stepped.output(s_new), (t, 1, T)),
        define(states[t], H[t + 1]),
        define(s_new, S[T]),
    ),
    outputs=(states, s_new),
    conventions=(GATE_ORDER,),
    pitfalls=(
        pitfall("weights packed in another order: all runs, nothing is right", convention="gate_order"),
        pitfall("the internal state not handed on from part to part of a text", theorem="resumes"),
        pitfall("the last state returned for the last internal state", mutant="ends_with_the_state"),
        pitfall("the internal state detached: the gradient loses its way", mutant="inner_state_detached"),
    ),
    sources=(
        deck(1, "LSTM"),
        deck(4, "recurrent nets for sequence classification"),
        paper("hochreiter1997", "section 4"),
        paper("gers2000", "the forget gate"),
    ),
    worked=(
        Worked(
            "1 is read, then 0, gates half open: the memory tanh(1)/2 becomes tanh(1)/4; shown is half of the tanh of each",
            READ,
            [["0.1817"], ["0.0941"]],
            4,
        ),
        Worked(
            "Input and forget gate open by biases of 20: what came in stays, tanh(tanh(1))/2 is shown twice",
            READ | {"b": [20, 20, 0, 0]},
            [["0.3210"], ["0.3210"]],
            4,
        ),
        Worked(
            "The same weights taken for another order: the third row is the forget gate's, and nothing comes in",
            READ,
            [["0.0000"], ["0.0000"]],
            4,
            conventions={"gate_order": "gifo"},
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

CARRIED = (H, S)
run = lstm(x, h, s, W_x, W_h, b)
before = lstm(x[:rows], h, s, W_x, W_h, b)
packed = ((each(block(g, W_x, a), c, a), each(block(g, W_h, e), c, e), each(block(g, b), c)) for g in BLOCKS)
one = lstm_cell(x[0], h, s, *(part for gate in packed for part in gate))
last = lstm_step(x[rows], before[rows - 1], before.output(s_new), W_x, W_h, b)

lstm.theorem(
    "bounded",
    "Every entry of every state that is shown lies between −1 and 1",
    *within_one(states[t, c], "each is a tanh times a σ"),
)

lstm.theorem(
    "parameters",
    "The network has 4·d·(p + d + 1) parameters, however long the sequence",
    claim(parameters(lstm), "=", 4 * d * (p + d + 1)).by_definition(
        "two matrices and a bias for each of the four blocks, in none of which T occurs"
    ),
    runs=False,
)

prefix(lstm, CARRIED, "The states up to an element do not depend on the elements after it")

lstm.theorem(
    "one_step",
    "On one element it is the cell, with the blocks that the gate order names",
    claim(run[0, c], "=", one[c])
    .step(lstm_step(x[0], h, s, W_x, W_h, b)[c], "the sequence begins with h and s")
    .because("a step reads the four blocks of the packed weights"),
    claim(run.output(s_new)[c], "=", one.output(s_new)[c])
    .step(lstm_step(x[0], h, s, W_x, W_h, b).output(s_new)[c], "the sequence begins with h and s")
    .because("a step reads the four blocks of the packed weights"),
    sizes={T: Rational(1)},
)

lstm.theorem(
    "iterates",
    "One element more is one step more",
    *(
        claim(whole, "=", last.output(part)[c])
        .by_induction(n, *agree(before, run, CARRIED, (n,)), last=rows)
        .because("up to then the states are those of the shorter sequence")
        for whole, part in ((run[rows, c], "h'"), (run.output(s_new)[c], s_new))
    ),
    sizes={T: rows + 1},
)

resumes(
    lstm,
    CARRIED,
    "A sequence may be cut: the second part, begun with the last states of the first, gives the states of the whole",
    s_new,
)
