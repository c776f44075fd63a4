"""The cell of a gated recurrent unit: one step. The weights of the three blocks are packed; their order is a convention."""

from spec.recurrent.over_sequences import within_one
from spec.vocabulary import *

p, d = sizes("p d")
a, c, e, k = indices(a=p, c=d, e=d, k=3 * d)

GATE_ORDER = Convention(
    "gate_order",
    {
        "rzn": "reset gate, update gate, candidate, as in PyTorch",
        "zrn": "update gate, reset gate, candidate, as in Keras and ONNX",
    },
    default="rzn",
)
RESET = Convention(
    "reset",
    {
        "after": "the reset gate scales what the candidate takes from the state: r ⊙ (W h + b), as in PyTorch, cuDNN and Keras",
        "before": "it scales the state before the product: W (r ⊙ h) + b, as in the paper",
    },
    default="after",
)
UPDATE = Convention(
    "update",
    {
        "keeps": "the update gate is the share of the old state: h′ = (1 − z) ⊙ n + z ⊙ h, as in PyTorch and Keras",
        "renews": "it is the share of the candidate: h′ = z ⊙ n + (1 − z) ⊙ h, as in Chung et al.",
    },
    default="keeps",
)
CONVENTIONS = (GATE_ORDER, RESET, UPDATE)

x = data("x", p, meaning="the element that arrives")
h = data("h", d, meaning="the state before: what is remembered of the elements read so far")
W_x = parameter("W_x", 3 * d, p, meaning="weights from the element to the three blocks, one below the other")
W_h = parameter("W_h", 3 * d, d, meaning="weights from the state to the three blocks")
b_x = parameter("b_x", 3 * d, meaning="bias of what the element brings")
b_h = parameter("b_h", 3 * d, meaning="bias of what the state brings; the candidate's is reset with it")
u = tensor("u", 3 * d, meaning="what the element brings to the three blocks")
w = tensor("w", 3 * d, meaning="what the state brings to the three blocks")
r = tensor("r", d, meaning="reset gate: how much of the state the candidate is to know")
z = tensor("z", d, meaning="update gate: how much of the state stays")
v = tensor("v", d, meaning="what the candidate takes from the state")
n = tensor("n", d, meaning="candidate: what the state could become, between −1 and 1")
h_new = tensor("h'", d, meaning="the state after")


def block(gate: str, packed: Tensor, *rest: Index) -> Node:
    """An entry of a packed tensor in row ``c`` of a block: the convention says which rows are the block's."""
    rows = {order: packed[(order.index(gate) * d + c, *rest)] for order in GATE_ORDER.options}
    return by_convention(GATE_ORDER.name, **rows)


HALF = {
    "x": [1],
    "h": [2],
    "W_x": [[0], [0], [1]],
    "W_h": [[0], [0], [1]],
    "b_x": [0, 0, 0],
    "b_h": [0, 0, 0],
}

gru_cell = Formula(
    "recurrent.gru_cell",
    "Gated recurrent unit: the cell",
    why="Can a recurrent network remember for long with less than a long short-term memory has? Here there is one state and "
    "there are two gates. The update gate mixes the old state with a candidate: where it is open for the old, the state "
    "stays, and gradients pass unchanged. The reset gate says how much of the state the candidate may know, so that what is no "
    "longer of use is dropped at once. There is no inner state and no output gate: a quarter of the weights is saved.",
    sizes={p: "width of an element", d: "width of the state"},
    inputs=(x, h, W_x, W_h, b_x, b_h),
    lines=(
        define(u[k], Sum(W_x[k, a] * x[a], a) + b_x[k]),
        define(w[k], Sum(W_h[k, e] * h[e], e) + b_h[k]),
        define(r[c], sigmoid(block("r", u) + block("r", w))),
        define(z[c], sigmoid(block("z", u) + block("z", w))),
        define(
            v[c],
            by_convention(
                "reset",
                after=r[c] * block("n", w),
                before=Sum(block("n", W_h, e) * r[e] * h[e], e) + block("n", b_h),
            ),
        ),
        define(n[c], tanh(block("n", u) + v[c])),
        define(
            h_new[c],
            by_convention(
                "update", keeps=(1 - z[c]) * n[c] + z[c] * h[c], renews=z[c] * n[c] + (1 - z[c]) * h[c]
            ),
        ),
    ),
    outputs=(h_new,),
    conventions=CONVENTIONS,
    stored=("u", "w", "r", "z", "v", "n", "h'"),
    pitfalls=(
        pitfall(
            "the reset gate on the other side of the product: other results from the same weights",
            convention="reset",
        ),
        pitfall("the update gate taken for the share of what is new", convention="update"),
        pitfall("weights packed in another order", convention="gate_order"),
        pitfall(
            "the two biases of the candidate added up: the reset gate must not touch one of them",
            mutant="biases_together",
        ),
    ),
    sources=(
        paper("cho2014", "eqs. 5 to 8"),
        paper("chung2014", "section 3.2"),
    ),
    worked=(
        Worked(
            "Gates half open: the candidate is tanh(1 + 2/2) = tanh(2), the new state (tanh(2) + 2)/2",
            HALF,
            ["1.4820"],
            4,
        ),
        Worked(
            "A bias of 20 keeps the state as it was",
            HALF | {"b_x": [0, 20, 0]},
            ["2.0000"],
            4,
        ),
        Worked(
            "The reset gate shut by a bias of −20: the candidate is tanh(1), it knows the element alone",
            HALF | {"b_x": [-20, 0, 0]},
            ["1.3808"],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

OURS = {"update": "keeps"}
cell = gru_cell(x, h, W_x, W_h, b_x, b_h)

gru_cell.theorem(
    "gates",
    "Both gates lie between 0 and 1, the candidate between −1 and 1",
    *(claim(0, "<", gate[c]).by_definition("σ is positive") for gate in (r, z)),
    *(claim(gate[c], "<", 1).by_definition("σ is below 1") for gate in (r, z)),
    *within_one(n[c], "it is a tanh"),
    runs=False,
)

gru_cell.theorem(
    "between",
    "Every entry of the new state lies between the old state and the candidate",
    claim(0, "<=", (h_new[c] - n[c]) * (h[c] - h_new[c]))
    .at_most(
        z[c] * (1 - z[c]) * (h[c] - n[c]) ** 2,
        "a square, and a share with what it lacks of 1",
        gap=z[c] * (1 - z[c]) * (h[c] - n[c]) ** 2,
    )
    .because("h′ − n is the one share of h − n, and h − h′ the other"),
)

gru_cell.theorem(
    "carries",
    "A state moves by less than (1 − z)·(1 + |h|): where the update gate is at 1 it stays",
    claim(cell[c] - h[c], "<=", (1 - z[c]) * (1 + absolute(h[c])))
    .step((1 - z[c]) * (n[c] - h[c]), "the definition")
    .at_most((1 - z[c]) * (1 - h[c]), "the candidate is below 1", gap=(1 - z[c]) * (1 - n[c]))
    .because("−h ≤ |h|", gap=(1 - z[c]) * (absolute(h[c]) + h[c])),
    claim(h[c] - cell[c], "<=", (1 - z[c]) * (1 + absolute(h[c])))
    .step((1 - z[c]) * (h[c] - n[c]), "the definition")
    .at_most((1 - z[c]) * (h[c] + 1), "the candidate is above −1", gap=(1 - z[c]) * (1 + n[c]))
    .because("h ≤ |h|", gap=(1 - z[c]) * (absolute(h[c]) - h[c])),
    conventions=OURS,
)

gru_cell.theorem(
    "parameters",
    "The cell has 3·d·(p + d + 2) parameters",
    claim(parameters(gru_cell), "=", 3 * d * (p + d + 2)).by_definition(
        "two matrices and two biases for each of the three blocks"
    ),
    runs=False,
)
