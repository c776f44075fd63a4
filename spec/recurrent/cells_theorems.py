"""Theorems about recurrent cells: what bounds their states, and how the gates of an LSTM carry its internal state."""

from __future__ import annotations

from spec.language import (
    Formula,
    Node,
    Proof,
    Sum,
    Theorem,
    absolute,
    claim,
    given,
    lift,
    sigmoid,
    tanh,
)
from spec.recurrent.cells import (
    GATES,
    W_h,
    W_hh,
    W_hy,
    W_x,
    W_xh,
    b,
    c,
    d,
    e,
    h,
    inflow,
    lstm_cell,
    p,
    r,
    rnn_cell,
    s,
    x,
)

stepped = rnn_cell(x, h, W_xh, W_hh, W_hy)
pull = given("g_h", d)

rnn_cell.prove(
    Theorem(
        "bounded",
        "Every entry of the new state lies between −1 and 1",
        claims=(claim(-1, "<", stepped[c], (c, d)), claim(stepped[c], "<", 1, (c, d))),
        proofs=(Proof(why="it is a tanh"), Proof(why="it is a tanh")),
    )
)

rnn_cell.prove(
    Theorem(
        "slope",
        "∂h′/∂h = diag(1 − h′²) W_hh: a saturated unit passes no gradient on",
        given=(pull,),
        claims=(
            claim(
                stepped.pullback(pull, "h")[e],
                "=",
                Sum(pull[c] * (1 - stepped[c] ** 2) * W_hh[c, e], (c, 0, d - 1)),
                (e, d),
            ),
        ),
        proofs=(Proof(why="the derivative of tanh is 1 − tanh²"),),
    )
)


def parameters(formula: Formula) -> Node:
    """How many numbers the parameters of a formula hold: the sum of their declared sizes, as they stand."""
    counts: list[Node] = []
    for tensor in formula.tensors:
        if tensor.role == "parameter":
            counts.append(lift(tensor.shape[0]))
            for size in tensor.shape[1:]:
                counts[-1] = counts[-1] * size
    total = counts[0]
    for count in counts[1:]:
        total = total + count
    return total


rnn_cell.prove(
    Theorem(
        "parameters",
        "The cell has d·(p + d + r) parameters",
        runs=False,
        claims=(claim(parameters(rnn_cell), "=", d * (p + d + r)),),
        proofs=(Proof(why="the sizes of W_xh, W_hh and W_hy"),),
    )
)

# LSTM ---------------------------------------------------------------------------------------------------------------------

cell = lstm_cell(x, h, s, *(part[gate] for gate in GATES for part in (W_x, W_h, b)))
state = cell.output("s'")
flow = {gate: sigmoid(inflow(gate, c)) for gate in "ifo"} | {"g": tanh(inflow("g", c))}
pull_s = given("g_s", d)

lstm_cell.prove(
    Theorem(
        "gates",
        "Every gate lies between 0 and 1, the input node between −1 and 1",
        runs=False,
        claims=(
            *(claim(0, "<", cell.output(gate)[c], (c, d)) for gate in "ifo"),
            *(claim(cell.output(gate)[c], "<", 1, (c, d)) for gate in "ifo"),
            claim(-1, "<", cell.output("g")[c], (c, d)),
            claim(cell.output("g")[c], "<", 1, (c, d)),
        ),
        proofs=(Proof(why="σ lies between 0 and 1"),) * 6 + (Proof(why="tanh lies between −1 and 1"),) * 2,
    )
)

lstm_cell.prove(
    Theorem(
        "bounded",
        "Every entry of the new state lies between −1 and 1, however large the internal state",
        claims=(claim(-1, "<", cell[c], (c, d)), claim(cell[c], "<", 1, (c, d))),
        proofs=(Proof(why="a tanh times a σ"), Proof(why="a tanh times a σ")),
    )
)

lstm_cell.prove(
    Theorem(
        "carousel",
        "∂s′/∂s is the forget gate alone: the error passes an open cell unchanged",
        given=(pull_s,),
        claims=(claim(state.pullback(pull_s, "s")[c], "=", pull_s[c] * flow["f"], (c, d)),),
        proofs=(Proof(why="the gates and the input node do not depend on s"),),
    )
)

lstm_cell.prove(
    Theorem(
        "carries",
        "The internal state moves by no more than i + (1 − f)·|s|: with the forget gate at 1 and the input gate at 0 it stays",
        claims=(
            claim(state[c] - s[c], "<=", flow["i"] + (1 - flow["f"]) * absolute(s[c]), (c, d)),
            claim(s[c] - state[c], "<=", flow["i"] + (1 - flow["f"]) * absolute(s[c]), (c, d)),
        ),
        proofs=(
            Proof(
                why="s′ − s = g·i − (1 − f)·s, |g| is below 1, and the gates lie between 0 and 1",
                gap=(lift(1) - flow["g"]) * flow["i"] + (1 - flow["f"]) * (absolute(s[c]) + s[c]),
            ),
            Proof(
                why="likewise",
                gap=(lift(1) + flow["g"]) * flow["i"] + (1 - flow["f"]) * (absolute(s[c]) - s[c]),
            ),
        ),
    )
)

lstm_cell.prove(
    Theorem(
        "parameters",
        "The cell has 4·d·(p + d + 1) parameters",
        runs=False,
        claims=(claim(parameters(lstm_cell), "=", 4 * d * (p + d + 1)),),
        proofs=(Proof(why="two matrices and a bias for each of the four blocks"),),
    )
)
