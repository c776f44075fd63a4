"""The cell of a long short-term memory: one step from a state and an element to the next state."""

from spec.recurrent.gates import BLOCKS, KEEP_AND_SHOW, f, g, h, h_new, i, o, s, s_new, x
from spec.recurrent.over_sequences import within_one
from spec.vocabulary import *

p, d = sizes("p d")
a, c, e = indices(a=p, c=d, e=d)


def weights(gate: str) -> tuple[Tensor, Tensor, Tensor]:
    """What a block reads the element and the state with, and its bias."""
    return (
        parameter(f"W_{gate}x", d, p, meaning=f"weights from the element to the {BLOCKS[gate]}"),
        parameter(f"W_{gate}h", d, d, meaning=f"weights from the state to the {BLOCKS[gate]}"),
        parameter(f"b_{gate}", d, meaning=f"bias of the {BLOCKS[gate]}"),
    )


def inflow(W_x: Tensor, W_h: Tensor, b: Tensor) -> Node:
    """What flows into a block: Wx + Wh + b."""
    return Sum(W_x[c, a] * x[a], a) + Sum(W_h[c, e] * h[e], e) + b[c]


W_gx, W_gh, b_g = weights("g")
W_ix, W_ih, b_i = weights("i")
W_fx, W_fh, b_f = weights("f")
W_ox, W_oh, b_o = weights("o")
WEIGHTS = (W_gx, W_gh, b_g, W_ix, W_ih, b_i, W_fx, W_fh, b_f, W_ox, W_oh, b_o)
ZEROS = {str(part): [[0]] if len(part.shape) == 2 else [0] for part in WEIGHTS}
BEGUN = {"x": [1], "h": [0], "s": [2], **ZEROS}

lstm_cell = Formula(
    "recurrent.lstm_cell",
    "Long short-term memory cell",
    why="How can a recurrent network keep something for hundreds of steps? In a plain one every step squashes the state anew, "
    "so that what is remembered fades, and gradients with it. Here an internal state is only scaled and added to: an input "
    "gate decides what comes in, a forget gate what stays, an output gate what is shown. Where the forget gate is open, "
    "gradients pass unchanged; where the input gate is shut as well, so does the internal state.",
    sizes={p: "width of an element", d: "width of the state"},
    inputs=(x, h, s, *WEIGHTS),
    lines=(
        define(g[c], tanh(inflow(W_gx, W_gh, b_g))),
        define(i[c], sigmoid(inflow(W_ix, W_ih, b_i))),
        define(f[c], sigmoid(inflow(W_fx, W_fh, b_f))),
        define(o[c], sigmoid(inflow(W_ox, W_oh, b_o))),
        *KEEP_AND_SHOW,
    ),
    outputs=(h_new, s_new),
    stored=("g", "i", "f", "o", "s'"),
    pitfalls=(
        pitfall("the output gate inside the second tanh", mutant="output_gate_inside"),
        pitfall(
            "a library has two biases, and both are filled with this one: it counts twice",
            mutant="bias_twice",
        ),
        pitfall("1 added to the forget gate's bias at every call", mutant="forget_bias"),
        pitfall("the two states returned in the other order", mutant="states_exchanged"),
    ),
    sources=(
        deck(1, "LSTM: ingredients"),
        paper("hochreiter1997", "section 4"),
        paper("gers2000", "the forget gate"),
    ),
    worked=(
        Worked("All weights 0: every gate is half open, s′ = 2/2, h′ = tanh(1)/2", BEGUN, ["0.3808"], 4),
        Worked(
            "With W_gx = 1 the element comes in: s′ = tanh(1)/2 + 2/2",
            BEGUN | {"W_gx": [[1]]},
            ["1.3808"],
            4,
            output="s'",
        ),
        Worked(
            "The forget gate open, the input gate shut, by biases of ±20: the internal state stays",
            BEGUN | {"W_gx": [[1]], "b_f": [20], "b_i": [-20]},
            ["2.0000"],
            4,
            output="s'",
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

g_s = given("g_s", d)
cell = lstm_cell(*lstm_cell.inputs)

lstm_cell.theorem(
    "gates",
    "Every gate lies between 0 and 1, the input node between −1 and 1",
    *(claim(0, "<", gate[c]).by_definition("σ is positive") for gate in (i, f, o)),
    *(claim(gate[c], "<", 1).by_definition("σ is below 1") for gate in (i, f, o)),
    claim(-1, "<", g[c]).by_definition("a tanh lies above −1"),
    claim(g[c], "<", 1).by_definition("a tanh lies below 1"),
    runs=False,
)

lstm_cell.theorem(
    "bounded",
    "Every entry of the new state lies between −1 and 1, however large the internal state",
    *within_one(h_new[c], "a tanh times a σ"),
)

lstm_cell.theorem(
    "carousel",
    "∂s′/∂s is the forget gate alone: the error passes an open cell unchanged",
    claim(cell.output(s_new).pullback(g_s, s)[c], "=", g_s[c] * f[c])
    .step(
        Sum(g_s[e] * (0 * i[e] + g[e] * 0 + delta(e, c) * f[e] + s[e] * 0), e),
        "the product rule on s′ₑ = gₑ·iₑ + sₑ·fₑ: input node and gates do not depend on s",
    )
    .step(Sum(g_s[e] * delta(e, c) * f[e], e), "the other terms are 0")
    .because("the delta picks e = c"),
    given=g_s,
)

lstm_cell.theorem(
    "carries",
    "The internal state moves by no more than i + (1 − f)·|s|: with the forget gate at 1 and the input gate at 0 it stays",
    claim(s_new[c] - s[c], "<=", i[c] + (1 - f[c]) * absolute(s[c]))
    .step(g[c] * i[c] - (1 - f[c]) * s[c], "the definition")
    .at_most(i[c] - (1 - f[c]) * s[c], "the input node is below 1", gap=(1 - g[c]) * i[c])
    .because("−s ≤ |s|, and the forget gate is below 1", gap=(1 - f[c]) * (absolute(s[c]) + s[c])),
    claim(s[c] - s_new[c], "<=", i[c] + (1 - f[c]) * absolute(s[c]))
    .step((1 - f[c]) * s[c] - g[c] * i[c], "the definition")
    .at_most((1 - f[c]) * s[c] + i[c], "the input node is above −1", gap=(1 + g[c]) * i[c])
    .because("s ≤ |s|, and the forget gate is below 1", gap=(1 - f[c]) * (absolute(s[c]) - s[c])),
)

lstm_cell.theorem(
    "parameters",
    "The cell has 4·d·(p + d + 1) parameters",
    claim(parameters(lstm_cell), "=", 4 * d * (p + d + 1)).by_definition(
        "two matrices and a bias for each of the four blocks"
    ),
    runs=False,
)
