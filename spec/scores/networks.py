"""Scores from a small network: additive (a hidden layer over query and key) and location-based (the query alone)."""

from __future__ import annotations

from spec.language import Formula, Sum, deck, define, exp, paper, parameter, sizes, tanh, tensor
from spec.scores.products import c, d_k, d_q, i, j, k, l, m, n, s, wide_q

q = wide_q
(a,) = sizes("a")

W, v = parameter("W", a, d_q + d_k), parameter("v", a)
pair = tensor("pair", n, m, d_q + d_k)
unit, hidden = tensor("u", n, m, a), tensor("hidden", n, m, a)

additive = Formula(
    "scores.additive",
    "Additive score: a hidden layer over query and key",
    inputs=(q, k, W, v),
    lines=(
        define(pair[i, j, c], q[i, c], c=(0, d_q - 1)),
        define(pair[i, j, d_q + c], k[j, c], c=(0, d_k - 1)),
        define(unit[i, j, l], Sum(W[l, c] * pair[i, j, c], (c, 0, d_q + d_k - 1))),
        define(hidden[i, j, l], tanh(unit[i, j, l])),
        define(s[i, j], Sum(v[l] * hidden[i, j, l], (l, 0, a - 1))),
    ),
    outputs=(s,),
    stored=("u", "hidden"),
    sources=(
        deck(2, "attention scoring: additive / concat"),
        deck(4, "parametrised scoring: s(q, k) = v tanh(W(k ⊕ q))"),
        paper("Bahdanau, Cho & Bengio 2015", "appendix A.1.2"),
        paper("Luong, Pham & Manning 2015", "eq. 8"),
    ),
    notes="The pair is [q; k]: the first d_q columns of W act on the query.",
)

W_l = parameter("W", m, d_q)
u, p = tensor("u", n, m), tensor("a", n, m)

location = Formula(
    "scores.location",
    "Location-based score: the query alone picks the place",
    inputs=(q, W_l),
    lines=(
        define(u[i, j], Sum(W_l[j, c] * q[i, c], (c, 0, d_q - 1))),
        define(p[i, j], exp(u[i, j]) / Sum(exp(u[i, l]), (l, 0, m - 1))),
    ),
    outputs=(p,),
    stored=("u",),
    sources=(
        deck(2, "attention scoring: location-based"),
        paper("Luong, Pham & Manning 2015", "eq. 8"),
    ),
    notes="There is a weight for each of m places, and no key: m is the number of rows of W.",
)
