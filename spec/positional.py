"""Positions: where a token stands, as a vector."""

from __future__ import annotations

from collections.abc import Callable

import sympy

from spec.language import (
    Convention,
    Definition,
    Formula,
    Index,
    Tensor,
    cos,
    data,
    deck,
    define,
    delta,
    indices,
    lines_by_convention,
    number,
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

(h,) = sizes("h")
(l,) = indices("l")
angle = number("phi")
M = tensor("M", 2 * h, 2 * h)

turned = angle.value / b.value ** (2 * i / d)
blocks = {"i": (0, h - 1), "l": (0, h - 1)}


def rotations(sines: Callable[[Index], Index], cosines: Callable[[Index], Index]) -> tuple[Definition, ...]:
    """The four lines of the rotation matrix, given in which columns sines and cosines stand."""
    return (
        define(M[sines(i), sines(l)], delta(i, l) * cos(turned), **blocks),
        define(M[sines(i), cosines(l)], delta(i, l) * sin(turned), **blocks),
        define(M[cosines(i), sines(l)], -(delta(i, l) * sin(turned)), **blocks),
        define(M[cosines(i), cosines(l)], delta(i, l) * cos(turned), **blocks),
    )


rotation = Formula(
    "positional.rotation",
    "Rotation of h pairs by φ times their frequencies",
    inputs=(angle, h, d),
    lines=(
        lines_by_convention(
            "layout",
            interleaved=rotations(lambda at: 2 * at, lambda at: 2 * at + 1),
            concatenated=rotations(lambda at: at, lambda at: h + at),
        ),
    ),
    outputs=(M,),
    conventions=(LAYOUT,),
    constants={b: 10000},
    auxiliary=True,
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
