"""Attention with projections: queries, keys and values made from one sequence or two, in one head or several."""

from __future__ import annotations

from spec.attention.weights import (
    FULLY_MASKED,
    POLARITY,
    c,
    d_k,
    d_v,
    i,
    j,
    l,
    m,
    mask,
    n,
    scaled_dot_product,
)
from spec.language import (
    Formula,
    Sum,
    Worked,
    data,
    deck,
    define,
    each,
    indices,
    optional_mask,
    paper,
    parameter,
    sizes,
    tensor,
)

d_model, h = sizes("d_model h")
(t,) = indices("t")

x, y = data("x", n, d_model), data("y", m, d_model)
square = optional_mask("mask", n, n)
W_q, W_k, W_v = (
    parameter("W_q", d_model, d_k),
    parameter("W_k", d_model, d_k),
    parameter("W_v", d_model, d_v),
)
q, k, v, z = tensor("q", n, d_k), tensor("k", m, d_k), tensor("v", m, d_v), tensor("z", n, d_v)
own_k, own_v = tensor("k", n, d_k), tensor("v", n, d_v)

self_ = Formula(
    "attention.self",
    "Self-attention: queries, keys and values from one sequence",
    inputs=(x, W_q, W_k, W_v, square),
    lines=(
        define(q[i, c], Sum(x[i, l] * W_q[l, c], (l, 0, d_model - 1))),
        define(own_k[j, c], Sum(x[j, l] * W_k[l, c], (l, 0, d_model - 1))),
        define(own_v[j, c], Sum(x[j, l] * W_v[l, c], (l, 0, d_model - 1))),
        define(z[i, c], scaled_dot_product(q, own_k, own_v, square)[i, c]),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("q", "k", "v"),
    sources=(
        deck(0, "self-attention: query, key and value of each word"),
        deck(1, "multi-head self-attention"),
        deck(2, "self-attention, steps 1 to 4"),
        deck(3, "Шаг 1 – 6"),
        deck(4, "self-attention (attention head)"),
        paper("Vaswani et al. 2017", "section 3.2"),
    ),
    worked=(
        Worked(
            "Three tokens; the article does not divide by √d_k, so W_q carries the factor √3 that the scale divides out",
            {
                "x": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
                "W_q": [
                    ["sqrt(3)", 0, "sqrt(3)"],
                    ["sqrt(3)", 0, 0],
                    [0, 0, "sqrt(3)"],
                    [0, "sqrt(3)", "sqrt(3)"],
                ],
                "W_k": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
                "W_v": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
            },
            [
                ["1.9366", "6.6831", "1.5951"],
                ["2.0000", "7.9640", "0.0540"],
                ["1.9997", "7.7599", "0.3584"],
            ],
            4,
            paper("Karim 2019, Illustrated: Self-Attention", "shown in S0"),
        ),
    ),
)

cross = Formula(
    "attention.cross",
    "Cross-attention: queries from one sequence, keys and values from another",
    inputs=(x, y, W_q, W_k, W_v, mask),
    lines=(
        define(q[i, c], Sum(x[i, l] * W_q[l, c], (l, 0, d_model - 1))),
        define(k[j, c], Sum(y[j, l] * W_k[l, c], (l, 0, d_model - 1))),
        define(v[j, c], Sum(y[j, l] * W_v[l, c], (l, 0, d_model - 1))),
        define(z[i, c], scaled_dot_product(q, k, v, mask)[i, c]),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("q", "k", "v"),
    sources=(
        deck(2, "self-attention: works on different sequences; decoder: encoder-decoder attention"),
        deck(4, "two types of attention: cross-attention"),
        paper("Vaswani et al. 2017", "section 3.2.3"),
    ),
)

H_q, H_k, H_v = (
    parameter("W_q", h, d_model, d_k),
    parameter("W_k", h, d_model, d_k),
    parameter("W_v", h, d_model, d_v),
)
W_o = parameter("W_o", h * d_v, d_model)
head, concat, out = tensor("head", h, n, d_v), tensor("concat", n, h * d_v), tensor("z", n, d_model)

multi_head = Formula(
    "attention.multi_head",
    "Multi-head attention",
    inputs=(x, y, H_q, H_k, H_v, W_o, mask),
    lines=(
        define(
            head[t, i, c],
            cross(
                x,
                y,
                each(H_q[t, l, c], (l, d_model), (c, d_k)),
                each(H_k[t, l, c], (l, d_model), (c, d_k)),
                each(H_v[t, l, c], (l, d_model), (c, d_v)),
                mask,
            )[i, c],
        ),
        define(concat[i, t * d_v + c], head[t, i, c], t=(0, h - 1), c=(0, d_v - 1)),
        define(out[i, c], Sum(concat[i, l] * W_o[l, c], (l, 0, h * d_v - 1))),
    ),
    outputs=(out,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("head",),
    sources=(
        deck(0, "multi-head attention"),
        deck(1, "MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O"),
        deck(2, "condensing multi-head attention results"),
        deck(3, "multi-head self-attention"),
        deck(4, "mh-att(X) = (Z_1 ⊕ … ⊕ Z_H) W_o"),
        paper("Vaswani et al. 2017", "section 3.2.2"),
    ),
)
