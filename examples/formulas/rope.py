"""Rotary position embedding, stated in one file: no package of attnspec is changed for it.

``attnspec show examples/formulas/rope.py:rope`` shows it and proves its theorems; ``attnspec check
examples/formulas/rotary.py:turned --formula examples/formulas/rope.py:rope`` holds an implementation to it.
"""

from spec.vocabulary import *

n, h = sizes("n h")
t, s, i, c = indices(t=n, s=n, i=h, c=2 * h)

x = data("x", n, 2 * h, meaning="queries or keys, one row for each position")
p = data("p", n, meaning="the position of each row")
b = constant("b", meaning="base: how far the slowest turn is stretched")
omega = tensor("omega", h, meaning="frequency of a pair: the angle that one position adds")
y = tensor("y", n, 2 * h, meaning="the rows, each pair of entries turned by its position times its frequency")

LAYOUT = Convention(
    "layout",
    {
        "interleaved": "neighbours are a pair: entries 2i and 2i + 1",
        "halves": "entry i of the first half and entry i of the second are a pair",
    },
    default="interleaved",
)
angle = p[t] * omega[i]

rope = Formula(
    "rotary.rope",
    "Rotary position embedding",
    why="How can the score of a query and a key depend on how far apart they are, and on nothing else about where they stand? "
    "Each row is taken as pairs of numbers, and each pair is turned by an angle that grows with the position. The scalar "
    "product of two turned pairs depends on the difference of their angles alone, so that every score is one of distances.",
    sizes={n: "positions", h: "pairs: half the width of a row"},
    inputs=(x, p),
    lines=(
        define(omega[i], b ** (-i / h)),
        lines_by_convention(
            "layout",
            interleaved=(
                define(y[t, 2 * i], x[t, 2 * i] * cos(angle) - x[t, 2 * i + 1] * sin(angle)),
                define(y[t, 2 * i + 1], x[t, 2 * i] * sin(angle) + x[t, 2 * i + 1] * cos(angle)),
            ),
            halves=(
                define(y[t, i], x[t, i] * cos(angle) - x[t, h + i] * sin(angle)),
                define(y[t, h + i], x[t, i] * sin(angle) + x[t, h + i] * cos(angle)),
            ),
        ),
    ),
    outputs=(y,),
    conventions=(LAYOUT,),
    constants={b: 10000},
    pitfalls=(
        pitfall("weights trained with one layout, read with the other", convention="layout"),
        pitfall("turned the other way for keys than for queries", theorem="relative"),
    ),
    worked=(
        Worked(
            "A quarter turn of the first pair, by π/2 ≈ 355/226; the second pair has the frequency 1/100",
            {"x": [[1, 0, 1, 0]], "p": ["355/226"]},
            [["0.0000", "1.0000", "0.9999", "0.0157"]],
            4,
        ),
    ),
    sources=(
        publication(
            "Su et al.",
            "RoFormer: Enhanced Transformer with Rotary Position Embedding",
            2021,
            "arXiv:2104.09864",
            "eq. 34",
        ),
    ),
)

(N,) = sizes("N")
at = data("at", n, domain="integer", below=N, meaning="the position of each row: 0, 1, 2, …")

rope_at = Formula(
    "rotary.rope_at",
    "Rotary position embedding at whole positions",
    why="What do models hand to their rotary embedding? Not any numbers, but the places where tokens stand, which look up rows "
    "of cosines and sines that were computed once. It is the same formula at whole positions: what takes no others is held to "
    "this.",
    sizes={n: "rows", h: "pairs: half the width of a row", N: "positions there are"},
    inputs=(x, at, N),
    lines=(define(y[t], rope(x, each(at[t], t))[t]),),
    outputs=(y,),
    conventions=rope.conventions,
    pitfalls=(
        pitfall("positions of keys counted from another place than those of queries", theorem="level"),
    ),
    sources=rope.sources,
    worked=(
        Worked(
            "Position 0 turns nothing, position 1 the only pair by 1",
            {"x": [[1, 0], [1, 0]], "at": [0, 1], "N": 2},
            [["1.0000", "0.0000"], ["0.5403", "0.8415"]],
            4,
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

k, a, r = given("k", n, 2 * h), given("a"), given("r", n)
moved, origin = each(p[t] + a, t), each(lift(0), t)


def first(rows, row):
    """The first entry of pair i of a row."""
    return by_convention("layout", interleaved=rows[row, 2 * i], halves=rows[row, i])


def second(rows, row):
    """The second entry of pair i of a row."""
    return by_convention("layout", interleaved=rows[row, 2 * i + 1], halves=rows[row, h + i])


along = first(x, t) * first(k, s) + second(x, t) * second(k, s)
across = second(x, t) * first(k, s) - first(x, t) * second(k, s)
between = (p[t] - p[s]) * omega[i]

rope.theorem(
    "relative",
    "A score depends on the difference of the two positions only: moving both by a changes nothing",
    claim(
        Sum(rope(x, moved)[t, c] * rope(k, moved)[s, c], c), "=", Sum(rope(x, p)[t, c] * rope(k, p)[s, c], c)
    )
    .step(
        Sum(along * cos(between) - across * sin(between), i),
        "pair by pair; cos α cos β + sin α sin β = cos(α − β), and alike for the sine; a is in both angles and cancels",
    )
    .because("the same sums for a = 0"),
    given=(k, a),
)

rope.theorem(
    "norm_kept",
    "A turned row is as long as it was: as long as at position 0, where nothing is turned",
    claim(Sum(rope(x, p)[t, c] ** 2, c), "=", Sum(rope(x, origin)[t, c] ** 2, c))
    .step(
        Sum((first(x, t) ** 2 + second(x, t) ** 2) * (cos(angle) ** 2 + sin(angle) ** 2), i),
        "pair by pair; what is mixed cancels",
    )
    .step(Sum(first(x, t) ** 2 + second(x, t) ** 2, i), "sin² + cos² = 1")
    .because("the same at position 0"),
    claim(rope(x, origin)[t, c], "=", x[t, c]).by_definition("cos 0 = 1 and sin 0 = 0"),
)

rope.theorem(
    "turns_compose",
    "Turning by p and then by r turns by p + r",
    claim(rope(rope(x, p), r)[t, c], "=", rope(x, each(p[t] + r[t], t))[t, c]).by_definition(
        "the sine and the cosine of a sum"
    ),
    given=r,
)

rope_at.theorem(
    "level",
    "Whole positions are numbers: what holds of rope holds here, so that a score depends on distances only",
    claim(
        Sum(rope_at(x, at, N)[t, c] * rope_at(k, at, N)[s, c], c),
        "=",
        Sum(rope(x, each(at[t], t))[t, c] * rope(k, each(at[t], t))[s, c], c),
    )
    .keeping(rope)
    .by_definition("each is rope at these positions"),
    given=k,
)
