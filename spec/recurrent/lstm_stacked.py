"""Stacked long short-term memory: each layer reads the states of the one below."""

from spec.recurrent.gates import GATE_ORDER
from spec.recurrent.lstm import lstm
from spec.recurrent.lstm_step import lstm_step
from spec.recurrent.over_sequences import another_layer, deep_prefix, within_one
from spec.vocabulary import *

T, p, d, L = sizes("T p d L")
t, l, c = indices(t=T, l=L + 1, c=d)

x = data("x", T, p, meaning="the sequence")
h = data("h", L + 1, d, meaning="the state of each layer before the first element")
s = data("s", L + 1, d, meaning="the internal state of each layer before the first element")
W_x = parameter("W_x", 4 * d, p, meaning="weights of the first layer on the element, four blocks")
W_h = parameter("W_h", L + 1, 4 * d, d, meaning="weights of each layer on its own state")
b = parameter("b", L + 1, 4 * d, meaning="biases of each layer")
U = parameter("U", L, 4 * d, d, meaning="weights of each further layer on the states of the one below")
H = tensor("H", L + 1, T + 1, d, meaning="the state of each layer after t elements")
S = tensor("S", L + 1, T + 1, d, meaning="the internal state of each layer after t elements")
states = tensor("states", T, d, meaning="the state of the top layer after each element: what is shown")
h_new = tensor("h'", L + 1, d, meaning="the state of each layer after the last element")
s_new = tensor("s'", L + 1, d, meaning="the internal state of each layer after the last element")

lowest = lstm_step(x[t - 1], H[0, t - 1], S[0, t - 1], W_x, W_h[0], b[0])
higher = lstm_step(H[l - 1, t], H[l, t - 1], S[l, t - 1], U[l - 1], W_h[l], b[l])

lstm_stacked = Formula(
    "recurrent.lstm_stacked",
    "Stacked long short-term memory",
    why="What does depth give a network that is already as deep as its sequence is long? Between one element and the next there "
    "is only one step, so little can be computed from each. Further layers read the states of the one below and form "
    "features of features; ELMo takes two such layers, and finds syntax in the lower one, sense in the upper.",
    sizes={
        T: "elements of the sequence",
        p: "width of an element",
        d: "width of each state",
        L: "layers above the first",
    },
    inputs=(x, h, s, W_x, W_h, b, U),
    lines=(
        define(H[l, 0], h[l]),
        define(S[l, 0], s[l]),
        define(H[0, t], lowest, (t, 1, T)),
        define(S[0, t], lowest.output("s'"), (t, 1, T)),
        define(H[l, t], higher, (l, 1, L), (t, 1, T)),
        define(S[l, t], higher.output("s'"), (l, 1, L), (t, 1, T)),
        define(states[t], H[L, t + 1]),
        define(h_new[l], H[l, T]),
        define(s_new[l], S[l, T]),
    ),
    outputs=(states, h_new, s_new),
    conventions=(GATE_ORDER,),
    pitfalls=(
        pitfall("a layer reads the internal states of the one below", mutant="inner_states_read"),
        pitfall("the top layer's last states returned for every layer's", mutant="last_of_the_top"),
        pitfall("one set of recurrent weights for all layers", mutant="one_recurrence"),
        pitfall("weights of another library, packed in another order", convention="gate_order"),
    ),
    sources=(
        deck(1, "stacking multiple RNNs; ELMo: stacked LSTM"),
        paper("graves2013", "deep long short-term memory"),
    ),
    worked=(
        Worked(
            "Two layers of one unit, gates half open: the upper reads 0.1817 and 0.0941 from the lower",
            {
                "x": [[1], [0]],
                "h": [[0], [0]],
                "s": [[0], [0]],
                "W_x": [[0], [0], [1], [0]],
                "W_h": [[[0]] * 4] * 2,
                "b": [[0] * 4] * 2,
                "U": [[[0], [0], [1], [0]]],
            },
            [["0.0448"], ["0.0458"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

lstm_stacked.theorem(
    "bounded",
    "Every entry of the states of the top layer lies between −1 and 1",
    *within_one(states[t, c], "each is a tanh times a σ"),
)

lstm_stacked.theorem(
    "parameters",
    "The network has 4·d·(p + (2·L + 1)·d + L + 1) parameters, however long the sequence",
    claim(parameters(lstm_stacked), "=", 4 * d * (p + (2 * L + 1) * d + L + 1)).by_definition(
        "the sizes of W_x, W_h, b and U, in none of which T occurs"
    ),
    runs=False,
)

another_layer(
    lstm_stacked,
    (H, S),
    lambda below, l: lstm(below, h[l], s[l], U[l - 1], W_h[l], b[l]),
    "The states of the top layer are those of a network that reads the states of the layers below",
)

deep_prefix(lstm_stacked, (H, S), "The states up to an element do not depend on the elements after it")
