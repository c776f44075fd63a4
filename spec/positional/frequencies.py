"""Frequencies of rotary positions: from a turn in a few tokens down to one in a whole text, and slower where texts are longer."""

from spec.vocabulary import *

(h,) = sizes("h")
(i,) = indices(i=h)

base = number(
    "base",
    domain="positive",
    meaning="base: how far the slowest pair is stretched; 10000, or 500000 in Llama 3",
)
s = number(
    "s",
    domain="positive",
    meaning="scale: how many times longer texts are than in training; 1 where they are not",
)
theta = tensor("theta", h, meaning="frequency of each pair: the angle that one position adds")

SCALING = Convention(
    "scaling",
    {
        "linear": "every pair turns s times more slowly: positions are interpolated",
        "ntk": "the base grows by s^(h/(h − 1)): the first pair turns as before, the last one s times more slowly",
    },
    default="linear",
)

frequencies = Formula(
    "positional.frequencies",
    "Frequencies of rotary positions",
    why="How fast should each pair turn? Fast pairs tell neighbours apart, and come round again after a few tokens; slow ones "
    "tell what is far away, and must not come round within a text. So the frequencies fall from 1 by equal factors, as those of "
    "sinusoidal positions do. A text longer than any in training turns the slow pairs to angles never seen: then all of them are "
    "slowed down, or the slow ones the more, so that neighbours stay apart.",
    sizes={h: "pairs: half the width of a head"},
    inputs=(h, base, s),
    lines=(
        define(
            theta[i],
            by_convention(
                "scaling",
                linear=base ** (-i / h) / s,
                ntk=case(lt(0, i), base ** (-i / h) * s ** (-i / (h - 1)), 1),
            ),
        ),
    ),
    outputs=(theta,),
    conventions=(SCALING,),
    pitfalls=(
        pitfall(
            "base^(−2i/h), with h for the width: the slowest is 1/base², nearly", mutant="exponent_doubled"
        ),
        pitfall("held in a 16-bit type: far positions are off by whole turns", mutant="in_half"),
        pitfall("frequencies multiplied by the scale, not divided", mutant="multiplied"),
        pitfall(
            "a scale that grows with the length: keys kept in a cache were turned by others", theorem="length"
        ),
    ),
    sources=(
        paper("su2021", "section 3.2.2, equation 15"),
        paper("chen2023", "section 3: linear interpolation"),
        paper("peng2023", "section 3.1: the base changed, NTK-aware"),
    ),
    worked=(
        Worked(
            "Four pairs with base 10000: tenths",
            {"h": 4, "base": 10000, "s": 1},
            ["1.0000", "0.1000", "0.0100", "0.0010"],
            4,
        ),
        Worked(
            "Texts eight times longer, by the base: eight times slower at the last pair alone, half as fast at the second",
            {"h": 4, "base": 10000, "s": 8},
            ["1.000000", "0.050000", "0.002500", "0.000125"],
            6,
            conventions={"scaling": "ntk"},
        ),
    ),
    notes="positional.yarn slows pairs down by how often they turn within a text of training.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

LINEAR, NTK = {"scaling": "linear"}, {"scaling": "ntk"}
more = given("more", domain="positive")

frequencies.theorem(
    "unscaled",
    "A scale of 1 changes nothing: θᵢ = base^(−i/h)",
    claim(frequencies(h, base, 1)[i], "=", base ** (-i / h)).by_definition("what is divided by 1 stays"),
    conventions=LINEAR,
)

frequencies.theorem(
    "unscaled_ntk",
    "Nor does it change the base: θᵢ = base^(−i/h), the first of which is 1",
    claim(frequencies(h, base, 1)[i], "=", base ** (-i / h), where=lt(0, i)).by_definition(
        "1 to any power is 1"
    ),
    conventions=NTK,
)

frequencies.theorem(
    "first",
    "The first pair turns by 1/s for each position",
    claim(theta[0], "=", 1 / s).by_definition("base⁰ = 1"),
    conventions=LINEAR,
)

frequencies.theorem(
    "first_ntk",
    "Where the base grows, the first pair turns by 1 for each position, whatever the scale",
    claim(theta[0], "=", 1).by_definition("base⁰ = 1"),
    conventions=NTK,
)

(r,) = sizes("r")
frequencies.theorem(
    "last_ntk",
    "Where the base grows, the last pair turns as slowly as if all were slowed down alike",
    claim(theta[h - 1], "=", base ** (-(h - 1) / h) / s).by_definition("s^(−(h − 1)/(h − 1)) = 1/s"),
    sizes={h: r + 1},
    conventions=NTK,
)

frequencies.theorem(
    "length",
    "Another scale is another rotation: a scale that follows the length makes keys that are kept differ from those made anew",
    claim(frequencies(h, base, s)[i], "=", frequencies(h, base, more)[i]).by_witness(
        h=1, base=2.0, s=1.0, more=2.0
    ),
    given=more,
    exists=True,
    runs=False,
    conventions=LINEAR,
)
