"""Long short-term memory over a sequence: in one layer, in several, and in both directions.

The weights of the four blocks are packed, one below the other; their order is a convention.
"""

from __future__ import annotations

import sympy

from spec.language import (
    Comprehension,
    Convention,
    Formula,
    Index,
    Node,
    Sum,
    Tensor,
    by_convention,
    data,
    deck,
    define,
    each,
    indices,
    paper,
    parameter,
    sizes,
    tanh,
    tensor,
)
from spec.language.calls import Applied
from spec.recurrent.cells import GATES, remembered, squashed

T, p, d, L = sizes("T p d L")
t, a, c, e, k, l = indices("t a c e k l")

GATE_ORDER = Convention(
    "gate_order",
    {
        "ifgo": "input gate, forget gate, input node, output gate, as in PyTorch and Keras",
        "iofg": "input gate, output gate, forget gate, input node, as in ONNX",
        "igfo": "input gate, input node, forget gate, output gate, as in early TensorFlow",
        "gifo": "input node, input gate, forget gate, output gate, as the equations are usually listed",
    },
    default="ifgo",
)


def block(gate: str, packed: Tensor, rest: tuple[Index, ...] = ()) -> Node:
    """An entry of a packed tensor in row ``c`` of a block: the convention says which rows are the block's."""
    return by_convention(
        GATE_ORDER.name,
        **{order: packed[(order.index(gate) * d + c, *rest)] for order in GATE_ORDER.options},
    )


element, before_h, before_s = data("x", p), data("h", d), data("s", d)
W_x, W_h, b = parameter("W_x", 4 * d, p), parameter("W_h", 4 * d, d), parameter("b", 4 * d)
z, new_h, new_s = tensor("z", 4 * d), tensor("h'", d), tensor("s'", d)
gates = {gate: tensor(gate, d) for gate in GATES}

lstm_step = Formula(
    "recurrent.lstm_step",
    "Long short-term memory, one step",
    inputs=(element, before_h, before_s, W_x, W_h, b),
    lines=(
        define(
            z[k],
            Sum(W_x[k, a] * element[a], (a, 0, p - 1)) + Sum(W_h[k, e] * before_h[e], (e, 0, d - 1)) + b[k],
        ),
        *(define(gates[gate][c], squashed(gate, block(gate, z))) for gate in GATES),
        define(new_s[c], remembered(gates, before_s[c], c)),
        define(new_h[c], tanh(new_s[c]) * gates["o"][c]),
    ),
    outputs=(new_h, new_s),
    conventions=(GATE_ORDER,),
    stored=("z", "g", "i", "f", "o", "s'", "h'"),
    auxiliary=True,
)
"""The cell with packed weights: what every long short-term memory over a sequence repeats."""

x, h, s = data("x", T, p), data("h", d), data("s", d)
H, S = tensor("H", T + 1, d), tensor("S", T + 1, d)
states = tensor("states", T, d)

stepped = lstm_step(
    each(x[t - 1, a], (a, p)), each(H[t - 1, e], (e, d)), each(S[t - 1, e], (e, d)), W_x, W_h, b
)

lstm = Formula(
    "recurrent.lstm",
    "Long short-term memory",
    inputs=(x, h, s, W_x, W_h, b),
    lines=(
        define(H[0, c], h[c]),
        define(S[0, c], s[c]),
        define(H[t, c], stepped[c], t=(1, T)),
        define(S[t, c], stepped.output("s'")[c], t=(1, T)),
        define(states[t, c], H[t + 1, c]),
        define(new_s[c], S[T, c]),
    ),
    outputs=(states, new_s),
    conventions=(GATE_ORDER,),
    sources=(
        deck(1, "LSTM"),
        deck(4, "recurrent nets for sequence classification"),
        paper("Hochreiter & Schmidhuber 1997", "section 4"),
        paper("Gers, Schmidhuber & Cummins 2000", "the forget gate"),
    ),
)

# Layers: each reads the states of the one below ------------------------------------------------------------------------------

h_layers, s_layers = data("h", L + 1, d), data("s", L + 1, d)
W_layers, b_layers = parameter("W_h", L + 1, 4 * d, d), parameter("b", L + 1, 4 * d)
U = parameter("U", L, 4 * d, d)
H_layers, S_layers = tensor("H", L + 1, T + 1, d), tensor("S", L + 1, T + 1, d)
last_h, last_s = tensor("h'", L + 1, d), tensor("s'", L + 1, d)


def layer(level: Index, read: Comprehension, weights: Tensor | Comprehension) -> Applied:
    """One step of a layer, on what it reads and its own states one step before."""
    return lstm_step(
        read,
        each(H_layers[level, t - 1, e], (e, d)),
        each(S_layers[level, t - 1, e], (e, d)),
        weights,
        each(W_layers[level, k, e], (k, 4 * d), (e, d)),
        each(b_layers[level, k], (k, 4 * d)),
    )


lowest = layer(sympy.S.Zero, each(x[t - 1, a], (a, p)), W_x)
higher = layer(l, each(H_layers[l - 1, t, a], (a, d)), each(U[l - 1, k, a], (k, 4 * d), (a, d)))

lstm_stacked = Formula(
    "recurrent.lstm_stacked",
    "Stacked long short-term memory",
    inputs=(x, h_layers, s_layers, W_x, W_layers, b_layers, U),
    lines=(
        define(H_layers[l, 0, c], h_layers[l, c]),
        define(S_layers[l, 0, c], s_layers[l, c]),
        define(H_layers[0, t, c], lowest[c], t=(1, T)),
        define(S_layers[0, t, c], lowest.output("s'")[c], t=(1, T)),
        define(H_layers[l, t, c], higher[c], l=(1, L), t=(1, T)),
        define(S_layers[l, t, c], higher.output("s'")[c], l=(1, L), t=(1, T)),
        define(states[t, c], H_layers[L, t + 1, c]),
        define(last_h[l, c], H_layers[l, T, c]),
        define(last_s[l, c], S_layers[l, T, c]),
    ),
    outputs=(states, last_h, last_s),
    conventions=(GATE_ORDER,),
    sources=(
        deck(1, "stacking multiple RNNs; ELMo: stacked LSTM"),
        paper("Graves, Mohamed & Hinton 2013", "deep long short-term memory"),
    ),
)

# Directions: one state has read what came before, the other what comes after --------------------------------------------------

h_both, s_both = data("h", 2, d), data("s", 2, d)
W_x_both, W_h_both = parameter("W_x", 2, 4 * d, p), parameter("W_h", 2, 4 * d, d)
b_both = parameter("b", 2, 4 * d)
F, B, both = tensor("F", T, d), tensor("B", T, d), tensor("states", T, 2 * d)
backwards = each(x[T - 1 - t, a], (t, T), (a, p))


def direction(sequence: object, way: int, at: Index) -> Node:
    """The state that one direction has after reading its sequence up to ``at``."""
    return lstm(
        sequence,
        each(h_both[way, c], (c, d)),
        each(s_both[way, c], (c, d)),
        each(W_x_both[way, k, a], (k, 4 * d), (a, p)),
        each(W_h_both[way, k, e], (k, 4 * d), (e, d)),
        each(b_both[way, k], (k, 4 * d)),
    )[at, c]


lstm_bidirectional = Formula(
    "recurrent.lstm_bidirectional",
    "Bidirectional long short-term memory",
    inputs=(x, h_both, s_both, W_x_both, W_h_both, b_both),
    lines=(
        define(F[t, c], direction(x, 0, t)),
        define(B[t, c], direction(backwards, 1, T - 1 - t)),
        define(both[t, c], F[t, c], c=(0, d - 1)),
        define(both[t, d + c], B[t, c], c=(0, d - 1)),
    ),
    outputs=(both,),
    conventions=(GATE_ORDER,),
    sources=(
        deck(1, "ELMo: concatenated hidden layers"),
        deck(3, "ELMo, step 1"),
        deck(4, "bidirectional LSTM"),
        paper("Graves & Schmidhuber 2005", "bidirectional LSTM"),
    ),
)
