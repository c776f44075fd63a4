"""One step of a long short-term memory with packed weights: what each over a sequence repeats. It has no page of its own."""

from spec.recurrent.gates import GATE_ORDER, KEEP_AND_SHOW, block, f, g, h, h_new, i, o, s, s_new, x
from spec.vocabulary import *

p, d = sizes("p d")
a, c, e, k = indices(a=p, c=d, e=d, k=4 * d)

W_x = parameter("W_x", 4 * d, p, meaning="weights from the element to the four blocks, one below the other")
W_h = parameter("W_h", 4 * d, d, meaning="weights from the state to the four blocks")
b = parameter("b", 4 * d, meaning="bias of the four blocks")
z = tensor("z", 4 * d, meaning="what flows into the four blocks")

lstm_step = Formula(
    "recurrent.lstm_step",
    "Long short-term memory, one step",
    sizes={p: "width of an element", d: "width of the state"},
    inputs=(x, h, s, W_x, W_h, b),
    lines=(
        define(z[k], Sum(W_x[k, a] * x[a], a) + Sum(W_h[k, e] * h[e], e) + b[k]),
        define(g[c], tanh(block("g", z))),
        define(i[c], sigmoid(block("i", z))),
        define(f[c], sigmoid(block("f", z))),
        define(o[c], sigmoid(block("o", z))),
        *KEEP_AND_SHOW,
    ),
    outputs=(h_new, s_new),
    conventions=(GATE_ORDER,),
    stored=("z", "g", "i", "f", "o", "s'", "h'"),
    auxiliary=True,
)
