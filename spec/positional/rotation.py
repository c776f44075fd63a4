"""A rotation of pairs: what a step of φ positions does to a sinusoidal encoding. It has no page of its own."""

from spec.positional.layout import LAYOUT, b
from spec.vocabulary import *

h, d = sizes("h d")
i, l = indices(i=h, l=h)

phi = number("phi", meaning="the step: how many positions on")
M = tensor("M", 2 * h, 2 * h, meaning="the rotation: a block of cosine and sine for each pair, 0 elsewhere")
turn = phi / b ** (2 * i / d)

rotation = Formula(
    "positional.rotation",
    "Rotation of h pairs by φ times their frequencies",
    sizes={h: "pairs that are turned", d: "width of the encoding"},
    inputs=(phi, h, d),
    lines=(
        lines_by_convention(
            "layout",
            interleaved=(
                define(M[2 * i, 2 * l], delta(i, l) * cos(turn)),
                define(M[2 * i, 2 * l + 1], delta(i, l) * sin(turn)),
                define(M[2 * i + 1, 2 * l], -(delta(i, l) * sin(turn))),
                define(M[2 * i + 1, 2 * l + 1], delta(i, l) * cos(turn)),
            ),
            concatenated=(
                define(M[i, l], delta(i, l) * cos(turn)),
                define(M[i, h + l], delta(i, l) * sin(turn)),
                define(M[h + i, l], -(delta(i, l) * sin(turn))),
                define(M[h + i, h + l], delta(i, l) * cos(turn)),
            ),
        ),
    ),
    outputs=(M,),
    conventions=(LAYOUT,),
    constants={b: 10000},
    auxiliary=True,
)
