"""What the forms of long short-term memory share: the four blocks, the order of their rows, and what they do to the state."""

from spec.vocabulary import *

p, d = sizes("p d")
a, c, e = indices(a=p, c=d, e=d)

BLOCKS = {"g": "input node", "i": "input gate", "f": "forget gate", "o": "output gate"}

GATE_ORDER = Convention(
    "gate_order",
    {
        "ifgo": "input gate, forget gate, input node, output gate, as in PyTorch and Keras",
        "iofg": "input gate, output gate, forget gate, input node, as in ONNX",
        "igfo": "input gate, input node, forget gate, output gate, as in early TensorFlow",
        "gifo": "input node, input gate, forget gate, output gate, in the order of the equations of the cell",
    },
    default="ifgo",
)

x = data("x", p, meaning="the element that arrives")
h = data("h", d, meaning="the state before: what was shown of the memory")
s = data("s", d, meaning="the internal state before: the memory itself")
g = tensor("g", d, meaning="input node: what could be stored, between −1 and 1")
i = tensor("i", d, meaning="input gate: how much of the input node is let in")
f = tensor("f", d, meaning="forget gate: how much of the old internal state stays")
o = tensor("o", d, meaning="output gate: how much of the internal state is shown")
s_new = tensor("s'", d, meaning="the internal state after")
h_new = tensor("h'", d, meaning="the state after: what is shown")

KEEP_AND_SHOW = (define(s_new[c], g[c] * i[c] + s[c] * f[c]), define(h_new[c], tanh(s_new[c]) * o[c]))
"""The last two lines of a step: what is let in and what is kept make up the internal state; a part of it is shown."""


def block(gate: str, packed: Tensor, *rest: Index) -> Node:
    """An entry of a packed tensor in row ``c`` of a block: the convention says which rows are the block's."""
    rows = {order: packed[(order.index(gate) * d + c, *rest)] for order in GATE_ORDER.options}
    return by_convention(GATE_ORDER.name, **rows)
