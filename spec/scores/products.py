"""Scores that are inner products: plain, scaled, through a matrix, and of normalised vectors."""

from __future__ import annotations

from spec.language import (
    Formula,
    Sum,
    Worked,
    data,
    deck,
    define,
    each,
    indices,
    paper,
    parameter,
    sizes,
    sqrt,
    tensor,
)
from spec.similarity import ZERO_VECTOR
from spec.similarity import cosine as cosine_of

n, m, d_q, d_k = sizes("n m d_q d_k")
i, j, c, l = indices("i j c l")

q, k = data("q", n, d_k), data("k", m, d_k)
s = tensor("s", n, m)

dot = Formula(
    "scores.dot",
    "Dot-product score",
    inputs=(q, k),
    lines=(define(s[i, j], Sum(q[i, c] * k[j, c], (c, 0, d_k - 1))),),
    outputs=(s,),
    sources=(
        deck(0, "self-attention, step 2"),
        deck(2, "attention scores"),
        paper("Luong, Pham & Manning 2015", "eq. 8"),
    ),
)

scaled_dot = Formula(
    "scores.scaled_dot",
    "Scaled dot-product score",
    inputs=(q, k),
    lines=(define(s[i, j], Sum(q[i, c] * k[j, c], (c, 0, d_k - 1)) / sqrt(d_k)),),
    outputs=(s,),
    sources=(
        deck(0, "self-attention, steps 2 and 3"),
        deck(2, "scaled dot product"),
        paper("Vaswani et al. 2017", "eq. 1"),
    ),
    worked=(
        Worked(
            "“Thinking Machines”: scores 112 and 96 at d_k = 64 become 14 and 12",
            inputs={"q": [[112] + [0] * 63], "k": [[1] + [0] * 63, ["6/7"] + [0] * 63]},
            expected=[[14, 12]],
            decimals=0,
            source=deck(0, "self-attention, step 3"),
        ),
    ),
)

wide_q = data("q", n, d_q)
W = parameter("W", d_q, d_k)
u = tensor("u", n, d_k)

general = Formula(
    "scores.general",
    "General score: an inner product through a matrix",
    inputs=(wide_q, k, W),
    lines=(
        define(u[i, l], Sum(wide_q[i, c] * W[c, l], (c, 0, d_q - 1))),
        define(s[i, j], Sum(u[i, l] * k[j, l], (l, 0, d_k - 1))),
    ),
    outputs=(s,),
    stored=("u",),
    sources=(
        deck(2, "attention scoring: general"),
        paper("Luong, Pham & Manning 2015", "eq. 8"),
    ),
)

cosine = Formula(
    "scores.cosine",
    "Cosine score",
    inputs=(q, k),
    lines=(define(s[i, j], cosine_of(each(q[i, c], (c, d_k)), each(k[j, c], (c, d_k)))[()]),),
    outputs=(s,),
    conventions=(ZERO_VECTOR,),
    sources=(
        deck(2, "attention scoring: cosine similarity"),
        paper("Graves, Wayne & Danihelka 2014", "eq. 6"),
    ),
)
