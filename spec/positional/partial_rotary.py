"""Rotary positions in a part of the width: the first entries of a row are turned, the others stay."""

from spec.positional.rotary import LONGEST, pos, rotary, theta
from spec.positional.turned import PAIRS, h, n
from spec.vocabulary import *

(r,) = sizes("r")
t, j, c, e, u = indices(t=n, j=n, c=2 * h, e=2 * h + r, u=r)

x = data("x", n, 2 * h + r, meaning="one row for each token: of one head, its query or its key")
y = tensor("y", n, 2 * h + r, meaning="the rows, their first entries turned")

partial_rotary = Formula(
    "positional.partial_rotary",
    "Rotary position embedding of a part of the width",
    why="Must every entry of a query tell where it stands? What a word means does not depend on its place, and entries that are "
    "never turned compare meanings alone, however far apart two words are. So only the first 2h entries of a row are turned; a "
    "score is the sum of one that knows distances and one that does not.",
    sizes={n: "tokens", h: "pairs that are turned", r: "entries that stay"},
    inputs=(x, pos, theta),
    lines=(
        define(y[t, c], rotary(x[:, : 2 * h], pos, theta)[t, c]),
        define(y[t, 2 * h + u], x[t, 2 * h + u]),
    ),
    outputs=(y,),
    conventions=(PAIRS,),
    pitfalls=(
        pitfall("pairs in halves of the whole row, not of its part that is turned", mutant="halves_of_all"),
        pitfall("the last entries turned, not the first", mutant="last_turned"),
        pitfall("the entries that stay are lost", mutant="rest_dropped"),
    ),
    sources=(paper("black2022", "section 2.1: a quarter of the width"), paper("su2021", "section 3.2.2")),
    worked=(
        Worked(
            "A row of three at position 1, of which one pair is turned by 1",
            {"x": [[1, 0, 5]], "pos": [1], "theta": [1]},
            [["0.54030", "0.84147", "5.00000"]],
            5,
        ),
    ),
    notes="In transformers r is what partial_rotary_factor or rotary_dim leaves; where nothing stays this is positional.rotary.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

k = given("k", n, 2 * h + r)
pos_k = given("pos_k", n, domain="integer", below=LONGEST)
near, step, near_k = (
    given(name, n, domain="integer", below=LONGEST // 2) for name in ("near", "step", "near_k")
)
by = given("by", domain="integer", below=LONGEST // 2)
first, first_k = rotary(x[:, : 2 * h], pos, theta), rotary(k[:, : 2 * h], pos_k, theta)

partial_rotary.theorem(
    "scores",
    "A score is that of the part that is turned and the plain product of what stays, whatever the positions",
    claim(
        Sum(y[t, e] * partial_rotary(k, pos_k, theta)[j, e], e),
        "=",
        Sum(first[t, c] * first_k[j, c], c) + Sum(x[t, 2 * h + u] * k[j, 2 * h + u], u),
    )
    .keeping(rotary)
    .by_definition("the first 2h entries, then the others"),
    given=(k, pos_k),
)

partial_rotary.theorem(
    "shift",
    "All positions moved by the same number: no product of query and key changes",
    claim(
        Sum(
            partial_rotary(x, each(near[t] + by, t), theta)[t, e]
            * partial_rotary(k, each(near_k[t] + by, t), theta)[j, e],
            e,
        ),
        "=",
        Sum(partial_rotary(x, near, theta)[t, e] * partial_rotary(k, near_k, theta)[j, e], e),
    ).by_definition("the differences are the same, and what stays has no position"),
    given=(k, near, near_k, by),
)

partial_rotary.theorem(
    "norm",
    "The length of a row stays",
    claim(Sum(y[t, e] ** 2 - x[t, e] ** 2, e), "=", 0)
    .step(Sum(first[t, c] ** 2 - x[t, c] ** 2, c), "what stays cancels")
    .because("turning keeps lengths"),
)

partial_rotary.theorem(
    "composition",
    "Turned by one position, then by another, is turned by their sum",
    claim(
        partial_rotary(partial_rotary(x, near, theta), step, theta)[t, e],
        "=",
        partial_rotary(x, each(near[t] + step[t], t), theta)[t, e],
    ).by_definition("so it is of the part that is turned, and what stays has no position"),
    given=(near, step),
)
