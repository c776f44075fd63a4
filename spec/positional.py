"""Positions: where a token stands, as a vector."""

from __future__ import annotations

import sympy

from spec.language import (
    Convention,
    Formula,
    Tensor,
    cos,
    data,
    deck,
    define,
    indices,
    lines_by_convention,
    paper,
    parameter,
    sin,
    sizes,
    tensor,
)

n, d, N = sizes("n d N")
p, i, c = indices("p i c")

b = Tensor("b", (), "positive", "constant")
PE = tensor("PE", n, d)
half_up, half_down = sympy.ceiling(d / 2), sympy.floor(d / 2)

LAYOUT = Convention(
    "layout",
    {
        "interleaved": "sines in the even columns, cosines in the odd ones, as the formula has it",
        "concatenated": "⌈d/2⌉ sines, then ⌊d/2⌋ cosines",
    },
    default="interleaved",
)

sine = sin(p / b.value ** (2 * i / d))
cosine = cos(p / b.value ** (2 * i / d))

sinusoidal = Formula(
    "positional.sinusoidal",
    "Sinusoidal position encoding",
    inputs=(n, d),
    lines=(
        lines_by_convention(
            "layout",
            interleaved=(
                define(PE[p, 2 * i], sine, i=(0, half_up - 1)),
                define(PE[p, 2 * i + 1], cosine, i=(0, half_down - 1)),
            ),
            concatenated=(
                define(PE[p, i], sine, i=(0, half_up - 1)),
                define(PE[p, half_up + i], cosine, i=(0, half_down - 1)),
            ),
        ),
    ),
    outputs=(PE,),
    conventions=(LAYOUT,),
    constants={b: 10000},
    sources=(
        deck(0, "positional encoding"),
        deck(1, "PE"),
        deck(2, "256 (sine) + 256 (cosine)"),
        deck(3, "M_φ"),
        deck(4, "PE(pos, 2i)"),
        paper("Vaswani et al. 2017", "section 3.5"),
    ),
)

pos = data("pos", n, domain="integer", below=N)
W_PE = parameter("W_PE", N, d)

learned = Formula(
    "positional.learned",
    "Learned position embedding",
    inputs=(pos, W_PE),
    lines=(define(PE[p, c], W_PE[pos[p], c]),),
    outputs=(PE,),
    sources=(deck(4, "learned positional embeddings"), paper("Gehring et al. 2017", "section 3.1")),
)


# Theorems follow the formulas they are about.
from spec import positional_theorems as positional_theorems  # noqa: E402
