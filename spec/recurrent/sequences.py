"""Recurrent networks over a sequence: in one layer, in several, and in both directions."""

from __future__ import annotations

from spec.attention.weights import softmax
from spec.language import (
    Formula,
    Sum,
    data,
    deck,
    define,
    each,
    indices,
    paper,
    parameter,
    sizes,
    tensor,
)
from spec.recurrent.cells import step

T, p, d, r, L = sizes("T p d r L")
t, a, c, e, k, l = indices("t a c e k l")

x, h = data("x", T, p), data("h", d)
W_xh, W_hh, W_hy = parameter("W_xh", d, p), parameter("W_hh", d, d), parameter("W_hy", r, d)
H, o = tensor("H", T + 1, d), tensor("o", T, r)
element = each(x[t - 1, a], (a, p))
states, P = tensor("states", T, d), tensor("P", T, r)

rnn = Formula(
    "recurrent.rnn",
    "Recurrent neural network",
    inputs=(x, h, W_xh, W_hh, W_hy),
    lines=(
        define(H[0, c], h[c]),
        define(H[t, c], step(element, each(H[t - 1, e], (e, d)), W_xh, W_hh)[c], t=(1, T)),
        define(states[t, c], H[t + 1, c]),
        define(o[t, k], Sum(W_hy[k, c] * states[t, c], (c, 0, d - 1))),
        define(P[t, k], softmax(o)[t, k]),
    ),
    outputs=(states, P),
    stored=("o",),
    sources=(deck(1, "recurrent neural networks"), paper("Elman 1990", "simple recurrent network")),
)

# Layers: each reads the states of the one below ------------------------------------------------------------------------------

h_layers = data("h", L + 1, d)
W_layers, U = parameter("W_hh", L + 1, d, d), parameter("U", L, d, d)
H_layers, last = tensor("H", L + 1, T + 1, d), tensor("last", L + 1, d)

stacked = Formula(
    "recurrent.stacked",
    "Stacked recurrent network",
    inputs=(x, h_layers, W_xh, W_layers, U),
    lines=(
        define(H_layers[l, 0, c], h_layers[l, c]),
        define(
            H_layers[0, t, c],
            step(element, each(H_layers[0, t - 1, e], (e, d)), W_xh, each(W_layers[0, c, e], (c, d), (e, d)))[
                c
            ],
            t=(1, T),
        ),
        define(
            H_layers[l, t, c],
            step(
                each(H_layers[l - 1, t, a], (a, d)),
                each(H_layers[l, t - 1, e], (e, d)),
                each(U[l - 1, c, a], (c, d), (a, d)),
                each(W_layers[l, c, e], (c, d), (e, d)),
            )[c],
            l=(1, L),
            t=(1, T),
        ),
        define(states[t, c], H_layers[L, t + 1, c]),
        define(last[l, c], H_layers[l, T, c]),
    ),
    outputs=(states, last),
    sources=(
        deck(1, "stacking multiple RNNs"),
        paper("Graves, Mohamed & Hinton 2013", "deep recurrent networks"),
    ),
)

# Directions: one state has read what came before, the other what comes after --------------------------------------------------

h_both = data("h", 2, d)
W_xf, W_hf = parameter("W_xf", d, p), parameter("W_hf", d, d)
W_xb, W_hb = parameter("W_xb", d, p), parameter("W_hb", d, d)
F, B, both = tensor("F", T + 1, d), tensor("B", T + 1, d), tensor("states", T, 2 * d)

bidirectional = Formula(
    "recurrent.bidirectional",
    "Bidirectional recurrent network",
    inputs=(x, h_both, W_xf, W_hf, W_xb, W_hb),
    lines=(
        define(F[0, c], h_both[0, c]),
        define(F[t, c], step(element, each(F[t - 1, e], (e, d)), W_xf, W_hf)[c], t=(1, T)),
        define(B[T, c], h_both[1, c]),
        define(B[t, c], step(each(x[t, a], (a, p)), each(B[t + 1, e], (e, d)), W_xb, W_hb)[c], t=(0, T - 1)),
        define(both[t, c], F[t + 1, c], c=(0, d - 1)),
        define(both[t, d + c], B[t, c], c=(0, d - 1)),
    ),
    outputs=(both,),
    sources=(
        deck(1, "ELMo: concatenated hidden layers"),
        deck(3, "ELMo, step 1"),
        deck(4, "bidirectional LSTM"),
        paper("Schuster & Paliwal 1997", "bidirectional recurrent networks"),
        paper("Graves & Schmidhuber 2005"),
    ),
)
