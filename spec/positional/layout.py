"""What the encoding of positions and its rotation share: the base of the frequencies, and where sines and cosines stand."""

from spec.vocabulary import *

b = constant("b", meaning="base: how far the slowest wave is stretched")

LAYOUT = Convention(
    "layout",
    {
        "interleaved": "sines in the even columns, cosines in the odd ones, as the formula has it",
        "concatenated": "⌈d/2⌉ sines, then ⌊d/2⌋ cosines",
    },
    default="interleaved",
)
