"""Recurrent cells: one step from a state and an input to the next state."""

from __future__ import annotations

from spec.language import (
    Formula,
    Index,
    Node,
    Sum,
    Tensor,
    data,
    deck,
    define,
    indices,
    paper,
    parameter,
    sigmoid,
    sizes,
    tanh,
    tensor,
)

p, d, r = sizes("p d r")
a, c, e, k = indices("a c e k")

x, h, s = data("x", p), data("h", d), data("s", d)
W_xh, W_hh, W_hy = parameter("W_xh", d, p), parameter("W_hh", d, d), parameter("W_hy", r, d)
new_h, new_s, o = tensor("h'", d), tensor("s'", d), tensor("o", r)

step = Formula(
    "recurrent.step",
    "Recurrent step",
    inputs=(x, h, W_xh, W_hh),
    lines=(
        define(
            new_h[c],
            tanh(Sum(W_hh[c, e] * h[e], (e, 0, d - 1)) + Sum(W_xh[c, a] * x[a], (a, 0, p - 1))),
        ),
    ),
    outputs=(new_h,),
    stored=("h'",),
    auxiliary=True,
)
"""The state after one element more: what every recurrent network here repeats."""

rnn_cell = Formula(
    "recurrent.rnn_cell",
    "Recurrent cell",
    inputs=(x, h, W_xh, W_hh, W_hy),
    lines=(
        define(new_h[c], step(x, h, W_xh, W_hh)[c]),
        define(o[k], Sum(W_hy[k, c] * new_h[c], (c, 0, d - 1))),
    ),
    outputs=(new_h, o),
    stored=("h'",),
    sources=(deck(1, "recurrent neural networks"), paper("Elman 1990", "simple recurrent network")),
)

GATES = {"g": "input node", "i": "input gate", "f": "forget gate", "o": "output gate"}
"""The four blocks of an LSTM, by their letter."""

W_x = {gate: parameter(f"W_{gate}x", d, p) for gate in GATES}
W_h = {gate: parameter(f"W_{gate}h", d, d) for gate in GATES}
b = {gate: parameter(f"b_{gate}", d) for gate in GATES}
gates = {gate: tensor(gate, d) for gate in GATES}


def squashed(gate: str, value: Node) -> Node:
    """The value of a block from what flows into it: tanh for the input node, σ for the gates."""
    return tanh(value) if gate == "g" else sigmoid(value)


def inflow(gate: str, row: Index) -> Node:
    """What flows into a block: Wx + Wh + b."""
    return (
        Sum(W_x[gate][row, a] * x[a], (a, 0, p - 1))
        + Sum(W_h[gate][row, e] * h[e], (e, 0, d - 1))
        + b[gate][row]
    )


def remembered(parts: dict[str, Tensor], before: Node, *at: Index) -> Node:
    """The internal state: what the input gate lets in, and what the forget gate keeps of the state before."""
    return parts["g"][at] * parts["i"][at] + before * parts["f"][at]


lstm_cell = Formula(
    "recurrent.lstm_cell",
    "Long short-term memory cell",
    inputs=(x, h, s, *(part[gate] for gate in GATES for part in (W_x, W_h, b))),
    lines=(
        *(define(gates[gate][c], squashed(gate, inflow(gate, c))) for gate in GATES),
        define(new_s[c], remembered(gates, s[c], c)),
        define(new_h[c], tanh(new_s[c]) * gates["o"][c]),
    ),
    outputs=(new_h, new_s),
    stored=("g", "i", "f", "o", "s'"),
    sources=(
        deck(1, "LSTM: ingredients"),
        paper("Hochreiter & Schmidhuber 1997", "section 4"),
        paper("Gers, Schmidhuber & Cummins 2000", "the forget gate"),
    ),
)
