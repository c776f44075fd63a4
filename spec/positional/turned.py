"""Rows turned by given angles, pair by pair: what rotary positions do, whatever the angles are made of."""

from typing import Any

from spec.vocabulary import *

n, h = sizes("n h")
t, i, c, j = indices(t=n, i=h, c=2 * h, j=n)

x = data("x", n, 2 * h, meaning="one row for each token: of one head, its query or its key")
phi = data("phi", n, h, meaning="the angle by which each pair of each token is turned, in radians")
y = tensor("y", n, 2 * h, meaning="the rows, turned")

PAIRS = Convention(
    "pairs",
    {
        "interleaved": "entries 2i and 2i + 1 are a pair, as in the paper and in GPT-J",
        "halves": "entries i and h + i are a pair, as in GPT-NeoX and in Llama as transformers has it",
    },
    default="interleaved",
)
PLACES: dict[str, tuple[Any, Any]] = {"interleaved": (2 * i, 2 * i + 1), "halves": (i, h + i)}
"""Where the two entries of pair i stand."""


def turn(first: Any, second: Any) -> tuple[Definition, Definition]:
    """The lines of the two entries of a pair."""
    return (
        define(y[t, first], x[t, first] * cos(phi[t, i]) - x[t, second] * sin(phi[t, i]), (i, h)),
        define(y[t, second], x[t, second] * cos(phi[t, i]) + x[t, first] * sin(phi[t, i]), (i, h)),
    )


turned = Formula(
    "positional.turned",
    "Pairs turned by given angles",
    why="What if a place has more than one number? A word has a position in its text, a patch of an image a row and a column, "
    "and one of a film a time as well. Its angles can be made of all of them, each times frequencies of its own. What is done "
    "with the angles stays the same: entries are taken in pairs, and each pair is turned like the hand of a clock. So libraries "
    "make a table of sines and cosines once, from whatever places are, and turn queries and keys by it.",
    sizes={n: "tokens", h: "pairs: half the width of a head"},
    inputs=(x, phi),
    lines=(lines_by_convention("pairs", **{pairs: turn(*places) for pairs, places in PLACES.items()}),),
    outputs=(y,),
    conventions=(PAIRS,),
    pitfalls=(
        pitfall("pairs of neighbours where the weights were trained with halves", convention="pairs"),
        pitfall("turned the other way", mutant="turned_backwards"),
        pitfall("angles rounded to 16 bits: far positions fall together", mutant="angles_rounded"),
    ),
    sources=(paper("su2021", "section 3.4.2, equation 34"),),
    worked=(
        Worked(
            "Two pairs: (1, 0) turned by 1, (2, 0) by 1/2: twice as long, and half as far",
            {"x": [[1, 0, 2, 0]], "phi": [[1, "1/2"]]},
            [["0.54030", "0.84147", "1.75517", "0.95885"]],
            5,
        ),
    ),
    notes="Where the angles are a position times frequencies this is positional.rotary.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

k, g = given("k", n, 2 * h), given("g", n, 2 * h)
psi, more = given("psi", n, h), given("more", n, h)
back = each(-phi[t, i], t, i)
apart = psi[j, i] - phi[t, i]
product = Sum(turned(x, phi)[t, c] * turned(k, psi)[j, c], c)

for pairs, (first, second) in PLACES.items():
    suffix, option = ("" if pairs == "interleaved" else "_halves"), {"pairs": pairs}
    along = x[t, first] * k[j, first] + x[t, second] * k[j, second]
    across = x[t, second] * k[j, first] - x[t, first] * k[j, second]

    turned.theorem(
        "relative" + suffix,
        "The product of two rows that are turned depends on the differences of their angles alone: pair by pair it is "
        "(q·k) cos δ + (q×k) sin δ",
        claim(product, "=", Sum(along * cos(apart) + across * sin(apart), i))
        .step(
            Sum(
                along * (cos(phi[t, i]) * cos(psi[j, i]) + sin(phi[t, i]) * sin(psi[j, i]))
                + across * (sin(psi[j, i]) * cos(phi[t, i]) - cos(psi[j, i]) * sin(phi[t, i])),
                i,
            ),
            "pair by pair, the definition multiplied out",
        )
        .because("the cosine and the sine of a difference"),
        given=(k, psi),
        conventions=option,
    )

    turned.theorem(
        "angle_gradient" + suffix,
        "The gradient of an angle is the gradient's part across the turned pair",
        claim(
            turned(x, phi).pullback(g, phi)[t, i],
            "=",
            g[t, second] * y[t, first] - g[t, first] * y[t, second],
        ).by_definition("the derivative of a turned pair is that pair turned by a quarter more"),
        given=g,
        conventions=option,
    )

turned.theorem(
    "norm",
    "The length of a row stays",
    claim(Sum(y[t, c] ** 2 - x[t, c] ** 2, c), "=", 0).by_definition(
        "each pair keeps its length, for sin² + cos² = 1"
    ),
)

turned.theorem(
    "gradient",
    "A gradient goes back to the rows turned the other way",
    claim(turned(x, phi).pullback(g, x)[t, c], "=", turned(g, back)[t, c]).by_definition(
        "a rotation is linear, and its transpose turns back: the cosine is even, the sine odd"
    ),
    given=g,
)

turned.theorem(
    "composition",
    "Turned by one angle, then by another, is turned by their sum",
    claim(
        turned(turned(x, phi), more)[t, c], "=", turned(x, each(phi[t, i] + more[t, i], t, i))[t, c]
    ).by_definition("the sine and the cosine of a sum"),
    given=more,
)

turned.theorem(
    "inverse",
    "Turned back by the same angles, a row is what it was",
    claim(turned(turned(x, phi), back)[t, c], "=", x[t, c]).by_definition("sin² + cos² = 1"),
)

turned.theorem(
    "still",
    "What has the angle 0 is not turned",
    claim(turned(x, each(0, t, i))[t, c], "=", x[t, c]).by_definition("cos 0 = 1 and sin 0 = 0"),
)
