"""Recurrent networks in layers: each reads the states of the one below."""

from spec.recurrent.over_sequences import agree, another_layer, deep_prefix, within_one
from spec.recurrent.rnn import rnn
from spec.recurrent.step import step
from spec.vocabulary import *

T, p, d, L = sizes("T p d L")
t, n, m, l, c, k = indices(t=T, n=T + 1, m=T + 1, l=L + 1, c=d, k=1)

x = data("x", T, p, meaning="the sequence, element by element")
h = data("h", L + 1, d, meaning="the state of each layer before the first element")
W_xh = parameter("W_xh", d, p, meaning="what the first layer takes from the element")
W_hh = parameter("W_hh", L + 1, d, d, meaning="what each layer takes from its own state before")
U = parameter("U", L, d, d, meaning="what each layer above the first takes from the state of the layer below")
H = tensor("H", L + 1, T + 1, d, meaning="the state of each layer after t elements")
states = tensor("states", T, d, meaning="the state of the top layer at each element")
last = tensor(
    "last", L + 1, d, meaning="the state of each layer after the last element: where the sequence may go on"
)

stacked = Formula(
    "recurrent.stacked",
    "Stacked recurrent network",
    why="What reads the states of a recurrent network? Another one may: to the layer above, the states below are a sequence "
    "like any other. One layer applies one tanh between an element and the state that first knows of it; more layers apply "
    "more, and each can work on what the one below has made of the text. ELMo's word vectors are mixed from such layers.",
    sizes={T: "elements", p: "width of an element", d: "width of a state", L: "layers above the first"},
    inputs=(x, h, W_xh, W_hh, U),
    lines=(
        define(H[l, 0], h[l]),
        define(H[0, t], step(x[t - 1], H[0, t - 1], W_xh, W_hh[0]), (t, 1, T)),
        define(H[l, t], step(H[l - 1, t], H[l, t - 1], U[l - 1], W_hh[l]), (l, 1, L), (t, 1, T)),
        define(states[t], H[L, t + 1]),
        define(last[l], H[l, T]),
    ),
    outputs=(states, last),
    pitfalls=(
        pitfall("each layer reads the state below of the element before: one step late", mutant="delayed"),
        pitfall("the top layer's last state is returned for every layer's", mutant="last_of_the_top"),
        pitfall("the layers above the first begin with 0", mutant="upper_layers_from_zero"),
        pitfall("one set of recurrent weights for all layers", mutant="one_recurrence"),
    ),
    sources=(deck(1, "stacking multiple RNNs"), paper("graves2013", "deep recurrent networks")),
    worked=(
        Worked(
            "Two layers of one unit with all weights 1, on 1 and then 0: tanh(tanh 1), then tanh(tanh(tanh 1) + tanh(tanh 1))",
            {"x": [[1], [0]], "h": [[0], [0]], "W_xh": [[1]], "W_hh": [[[1]], [[1]]], "U": [[[1]]]},
            [["0.6420"], ["0.8576"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

unread = each(0, k, c)
"""Output weights where only the states are asked for."""


def layer(below: Applied, l: Index) -> Applied:
    """A layer above the first, as a network of its own that reads these states."""
    return rnn(below, h[l], U[l - 1], W_hh[l], unread)


stacked.theorem(
    "bounded",
    "Every entry of the states of the top layer lies between −1 and 1",
    *within_one(states[t, c], "it is a tanh"),
)

stacked.theorem(
    "parameters",
    "The network has d·(p + (2·L + 1)·d) parameters, however long the sequence",
    claim(parameters(stacked), "=", d * (p + (2 * L + 1) * d)).by_definition("T is no size of a weight"),
    runs=False,
)

above = "The states of the top layer are those of a network that reads the states of the layers below"
another_layer(stacked, (H,), layer, above)

first = rnn(x, h[0], W_xh, W_hh[0], unread)
second = layer(first, 1)
deep = stacked(x, h, W_xh, W_hh, U)
lower = (
    derive()
    .by_induction(m, *agree(first, deep, (H,), (m,), (0, m)), last=T)
    .because("the lower layer does not know of the upper one")
)

stacked.theorem(
    "two_layers",
    "Two layers are a network that reads the states of a network",
    claim(deep[t, c], "=", second[t, c])
    .by_induction(n, *agree(second, deep, (H,), (n,), (1, n)), last=T, step=lower)
    .because("the states of each layer are those of its network"),
    sizes={L: Rational(1)},
)

deep_prefix(stacked, (H,), "The states up to an element do not depend on the elements after it")
