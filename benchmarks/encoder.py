"""A Transformer's encoder, composed of the formulas that are stated: what an evaluation at real sizes is tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.attention.multi_head import multi_head
from spec.normalization.layer_norm import layer_norm
from spec.vocabulary import (
    Formula,
    Sum,
    case,
    data,
    define,
    each,
    indices,
    lt,
    number,
    optional_mask,
    parameter,
    sizes,
    tensor,
)

n, d, d_k, d_v, h, f, L = sizes("n d d_k d_v h f L")
i, c, u, t = indices(i=n, c=d, u=f, t=L)
a = indices("a")[0]

x = data("x", n, d, meaning="the embedded tokens")
projections = [parameter(f"W_{name}", L, h, d, width) for name, width in (("q", d_k), ("k", d_k), ("v", d_v))]
W_o = parameter("W_o", L, h * d_v, d)
g_1, g_2, s_1, s_2, b_2 = (parameter(name, L, d) for name in ("g_1", "g_2", "s_1", "s_2", "b_2"))
W_1, b_1, W_2 = parameter("W_1", L, d, f), parameter("b_1", L, f), parameter("W_2", L, f, d)
eps = number("eps", "positive")
mask = optional_mask("mask", n, n)

H, Y, A, R = (
    tensor("H", L + 1, n, d),
    tensor("Y", L + 1, n, d),
    tensor("A", L + 1, n, d),
    tensor("R", L + 1, n, f),
)
P = tensor("P", L + 1, n, f)
z = tensor("z", n, d)
own = [
    each(W[a - 1, p, q, r], (p, h), (q, d), (r, W.shape[3]))
    for W in projections
    for p, q, r in [indices("p q r")]
]

encoder = Formula(
    "test.encoder",
    "An encoder",
    inputs=(x, *projections, W_o, g_1, s_1, g_2, s_2, W_1, b_1, W_2, b_2, eps, mask),
    lines=(
        define(H[0], x),
        define(A[a], multi_head(H[a - 1], H[a - 1], *own, W_o[a - 1], mask), (a, 1, L)),
        define(
            Y[a, i],
            layer_norm(each(H[a - 1, i, c] + A[a, i, c], c), g_1[a - 1], s_1[a - 1], eps),
            (a, 1, L),
        ),
        define(P[a, i, u], Sum(Y[a, i, c] * W_1[a - 1, c, u], c) + b_1[a - 1, u], (a, 1, L)),
        define(R[a, i, u], case(lt(0, P[a, i, u]), P[a, i, u], 0), (a, 1, L)),
        define(
            H[a, i],
            layer_norm(
                each(Y[a, i, c] + Sum(R[a, i, u] * W_2[a - 1, u, c], u) + b_2[a - 1, c], c),
                g_2[a - 1],
                s_2[a - 1],
                eps,
            ),
            (a, 1, L),
        ),
        define(z, H[L]),
    ),
    outputs=(z,),
)


def drawn(tokens: int, width: int, heads: int, inside: int, layers: int, seed: int = 0) -> dict[str, Any]:
    """Inputs of the encoder: unit normal tokens, weights that keep their size."""
    rng = np.random.default_rng(seed)
    shapes = {
        "x": (tokens, width),
        **dict.fromkeys(("W_q", "W_k", "W_v"), (layers, heads, width, width // heads)),
        "W_o": (layers, width, width),
        "W_1": (layers, width, inside),
        "W_2": (layers, inside, width),
    }
    made: dict[str, Any] = {
        name: rng.standard_normal(shape) / (shape[-2] ** 0.5 if name != "x" else 1)
        for name, shape in shapes.items()
    }
    for name in ("g_1", "g_2"):
        made[name] = 1 + 0.1 * rng.standard_normal((layers, width))
    for name, size in (("s_1", width), ("s_2", width), ("b_1", inside), ("b_2", width)):
        made[name] = 0.1 * rng.standard_normal((layers, size))
    return {**made, "eps": 1e-12, "mask": None}
