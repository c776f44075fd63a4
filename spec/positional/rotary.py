"""Rotary position embedding: queries and keys are turned by their positions, so that their scores tell the distance."""

from spec.positional.turned import PAIRS, PLACES, c, h, i, j, n, t, turned, x
from spec.vocabulary import *

LONGEST = 4096
"""Positions are below this; what is said of them holds for any."""

pos = data("pos", n, domain="integer", below=LONGEST, meaning="where each token stands, counted from 0")
theta = parameter("theta", h, meaning="frequency of each pair: the angle that one position adds")
phi = tensor("phi", n, h, meaning="the angle by which each pair of each token is turned")
y = tensor("y", n, 2 * h, meaning="the rows, turned")

TURNED = {"x": [[1, 0, 1, 0], [1, 0, 1, 0]], "pos": [0, 1], "theta": [1, "1/100"]}

rotary = Formula(
    "positional.rotary",
    "Rotary position embedding",
    why="How can a score tell how far apart query and key stand? A position that is added to a token says where it stands in its "
    "text, and whether a network reads distances off that it has to learn. Here nothing is added: entries of queries and keys "
    "are taken in pairs, and each pair is turned like the hand of a clock, by its position times a frequency of its own. The "
    "product of two hands depends on the angle between them alone, so that a score depends on i − j. Lengths stay, nothing is "
    "learned, and a key that is kept need never be turned again.",
    sizes={n: "tokens", h: "pairs: half the width of a head"},
    inputs=(x, pos, theta),
    lines=(
        define(phi[t, i], pos[t] * theta[i]),
        define(y[t, c], turned(x, phi)[t, c]),
    ),
    outputs=(y,),
    conventions=(PAIRS,),
    pitfalls=(
        pitfall("pairs of neighbours where the weights were trained with halves", convention="pairs"),
        pitfall(
            "turned the other way: unnoticed until a cache or weights of others are read", mutant="backwards"
        ),
        pitfall("positions that begin anew with each piece that is read", mutant="arange_instead"),
        pitfall(
            "angles held in a 16-bit type: beyond position 256 neighbours fall together", mutant="half_angles"
        ),
        pitfall("queries turned and keys not", theorem="one_side"),
    ),
    sources=(paper("su2021", "section 3.2.2, equations 14, 15 and 34"),),
    worked=(
        Worked(
            "Two tokens alike at positions 0 and 1, frequencies 1 and 1/100: the first stays, the second's pairs are turned by 1 "
            "and by 1/100",
            TURNED,
            [["1.00000", "0.00000", "1.00000", "0.00000"], ["0.54030", "0.84147", "0.99995", "0.01000"]],
            5,
        ),
        Worked(
            "The same with pairs in halves, (1, 1) and (0, 0): cos 1 − sin 1 and cos 1 + sin 1",
            TURNED,
            [["1.00000", "0.00000", "1.00000", "0.00000"], ["-0.30117", "0.00000", "1.38177", "0.00000"]],
            5,
            conventions={"pairs": "halves"},
        ),
    ),
    notes="θᵢ may be any numbers; positional.frequencies says which are usual. Both orders of entries are the same up to a "
    "permutation of the columns of what makes queries and keys.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

k, g = given("k", n, 2 * h), given("g", n, 2 * h)
pos_k = given("pos_k", n, domain="integer", below=LONGEST)
by = given("by", domain="integer", below=LONGEST // 2)
near, near_k, step = (
    given(name, n, domain="integer", below=LONGEST // 2) for name in ("near", "near_k", "step")
)
rows, keys = rotary(x, pos, theta), rotary(k, pos_k, theta)
angle, angle_k = pos[t] * theta[i], pos_k[j] * theta[i]
apart = (pos_k[j] - pos[t]) * theta[i]

first, second = PLACES["interleaved"]
along = x[t, first] * k[j, first] + x[t, second] * k[j, second]
across = x[t, second] * k[j, first] - x[t, first] * k[j, second]

rotary.theorem(
    "relative",
    "The product of a turned query with a turned key depends on their positions by the difference alone: pair by pair it is "
    "(q·k) cos δθ + (q×k) sin δθ",
    claim(Sum(rows[t, c] * keys[j, c], c), "=", Sum(along * cos(apart) + across * sin(apart), i))
    .step(
        Sum(along * cos(angle_k - angle) + across * sin(angle_k - angle), i),
        "so it is for any angles, pair by pair: positional.turned",
    )
    .because("the difference of the angles is δθ"),
    given=(k, pos_k),
    conventions={"pairs": "interleaved"},
)

rotary.theorem(
    "norm",
    "The length of a row stays",
    claim(Sum(rows[t, c] ** 2 - x[t, c] ** 2, c), "=", 0).by_definition(
        "turned by any angles, each pair keeps its length"
    ),
)

rotary.theorem(
    "gradient",
    "A gradient goes back turned the other way",
    claim(rows.pullback(g, x)[t, c], "=", rotary(g, pos, each(-theta[i], i))[t, c]).by_definition(
        "a rotation is linear, and its transpose turns back: the cosine is even, the sine odd"
    ),
    given=g,
)

rotary.theorem(
    "shift",
    "All positions moved by the same number: no product of query and key changes",
    claim(
        Sum(
            rotary(x, each(near[t] + by, t), theta)[t, c] * rotary(k, each(near_k[t] + by, t), theta)[j, c], c
        ),
        "=",
        Sum(rotary(x, near, theta)[t, c] * rotary(k, near_k, theta)[j, c], c),
    ).by_definition("the differences are the same"),
    given=(k, near, near_k, by),
)

rotary.theorem(
    "composition",
    "Turned by one position, then by another, is turned by their sum",
    claim(
        rotary(rotary(x, near, theta), step, theta)[t, c],
        "=",
        rotary(x, each(near[t] + step[t], t), theta)[t, c],
    ).by_definition("the sine and the cosine of a sum"),
    given=(near, step),
)

rotary.theorem(
    "origin",
    "At position 0 nothing is turned",
    claim(rotary(x, each(0, t), theta)[t, c], "=", x[t, c]).by_definition("cos 0 = 1 and sin 0 = 0"),
)

rotary.theorem(
    "one_side",
    "Where keys are not turned, products depend on where the text begins",
    claim(
        Sum(rows[t, c] * k[j, c], c), "=", Sum(rotary(x, each(pos[t] + by, t), theta)[t, c] * k[j, c], c)
    ).by_witness(n=1, h=1, x=[[1, 0]], pos=[0], theta=[1], k=[[1, 0]], by=1),
    given=(k, by),
    exists=True,
    runs=False,
)
