"""Bidirectional long short-term memory: one reads from the left, one from the right."""

from spec.recurrent.gates import GATE_ORDER
from spec.recurrent.lstm import lstm
from spec.recurrent.over_sequences import within_one
from spec.vocabulary import *

T, p, d = sizes("T p d")
t, a, c, k, u, way = indices(t=T, a=p, c=d, k=4 * d, u=2 * d, way=2)

x = data("x", T, p, meaning="the sequence")
h = data("h", 2, d, meaning="the state of each direction before its first element")
s = data("s", 2, d, meaning="the internal state of each direction before its first element")
W_x = parameter("W_x", 2, 4 * d, p, meaning="weights of each direction on the element, four blocks")
W_h = parameter("W_h", 2, 4 * d, d, meaning="weights of each direction on its own state")
b = parameter("b", 2, 4 * d, meaning="biases of each direction")
F = tensor("F", T, d, meaning="the state that has read from the left up to each element")
B = tensor("B", T, d, meaning="the state that has read from the right up to each element")
states = tensor("states", T, 2 * d, meaning="both, one beside the other")

forward = lstm(x, h[0], s[0], W_x[0], W_h[0], b[0])
backward = lstm(each(x[T - 1 - t, a], t, a), h[1], s[1], W_x[1], W_h[1], b[1])

lstm_bidirectional = Formula(
    "recurrent.lstm_bidirectional",
    "Bidirectional long short-term memory",
    why="How can a word be understood by what comes after it? In “walking along the river bank” the context stands before it, in "
    "“a bank accepts deposits” after it, and a network that reads from the left has not seen it yet. So two networks read "
    "the sequence, one from either end, and their states at an element are put side by side: together they have seen "
    "everything. The price is that they cannot predict the next word, having read it.",
    sizes={T: "elements of the sequence", p: "width of an element", d: "width of the state of one direction"},
    inputs=(x, h, s, W_x, W_h, b),
    lines=(
        define(F, forward),
        define(B[t], backward[T - 1 - t]),
        define(states[t, c], F[t, c]),
        define(states[t, d + c], B[t, c]),
    ),
    outputs=(states,),
    conventions=(GATE_ORDER,),
    pitfalls=(
        pitfall(
            "backward states left in the order of reading: row t belongs to element T − 1 − t",
            mutant="backward_not_turned_back",
        ),
        pitfall("a backward state that lacks the element itself", mutant="element_left_out"),
        pitfall("each direction begun with the other's initial state", mutant="initial_states_exchanged"),
    ),
    sources=(
        deck(1, "ELMo: concatenated hidden layers"),
        deck(3, "ELMo, step 1"),
        deck(4, "bidirectional LSTM"),
        paper("graves2005", "bidirectional LSTM"),
    ),
    worked=(
        Worked(
            "1, then 0, gates half open: from the left it is remembered at the second element, from the right not yet known",
            {
                "x": [[1], [0]],
                "h": [[0], [0]],
                "s": [[0], [0]],
                "W_x": [[[0], [0], [1], [0]]] * 2,
                "W_h": [[[0]] * 4] * 2,
                "b": [[0] * 4] * 2,
            },
            [["0.1817", "0.1817"], ["0.0941", "0.0000"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

parts = ((h, (c,)), (s, (c,)), (W_x, (k, a)), (W_h, (k, c)), (b, (k,)))
exchanged = (each(part[1 - way, *rest], way, *rest) for part, rest in parts)
swapped = lstm_bidirectional(each(x[T - 1 - t, a], t, a), *exchanged)

lstm_bidirectional.theorem(
    "bounded",
    "Every entry of every state lies between −1 and 1",
    *within_one(states[t, u], "each is a tanh times a σ"),
)

lstm_bidirectional.theorem(
    "halves",
    "The first half is an LSTM that reads from the left, the second one that reads from the right; neither knows the other",
    claim(states[t, c], "=", forward[t, c]).by_definition("so it is defined"),
    claim(states[t, d + c], "=", backward[T - 1 - t, c]).by_definition("so it is defined"),
)

lstm_bidirectional.theorem(
    "reversal",
    "Reversing the input and exchanging the directions reverses the states and exchanges their halves",
    claim(swapped[t, c], "=", states[T - 1 - t, d + c])
    .step(backward[t, c], "its first direction reads from the left what stands from the right")
    .because("in the other network that is the second half, counted from the end"),
    claim(swapped[t, d + c], "=", states[T - 1 - t, c])
    .step(forward[T - 1 - t, c], "its second direction reads the sequence turned twice, which is as it was")
    .because("in the other network that is the first half"),
)

lstm_bidirectional.theorem(
    "parameters",
    "The network has 8·d·(p + d + 1) parameters, however long the sequence",
    claim(parameters(lstm_bidirectional), "=", 8 * d * (p + d + 1)).by_definition(
        "two matrices and a bias for each of the four blocks, in each direction"
    ),
    runs=False,
)
