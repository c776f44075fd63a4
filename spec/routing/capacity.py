"""Routing with a capacity: an expert takes so many tokens and no more, and those that find it full are dropped."""

from spec.routing.top_k import WEIGHTS, E, asked, i, j, k, n, r, rank, s, top_k
from spec.vocabulary import *

(C,) = sizes("C")
t, u = indices(t=n, u=n)

b = tensor("b", n, E, meaning="how many tokens come before this one at each expert, of those that ask it")
w = tensor("w", n, E, meaning="weight of each expert's answer: 0 where it is not asked, or full")
HALF = Rational(1, 2)  # counts are integers: with it each comparison has room for the rounding of a sum

ORDER = Convention(
    "order",
    {
        "tokens": "an expert takes tokens in their order (Switch Transformers)",
        "choices": "first those whose first choice it is, then those whose second choice it is, …, each in their order (GShard)",
    },
    default="tokens",
)


def within(token: Index) -> Node:
    """The condition that an expert is not full when its turn comes to a token: b < C."""
    return lt(b[token, j] + HALF, C)


earlier_choice = lt(r[t, j] + HALF, r[i, j]) | lt(r[t, j], r[i, j] + HALF) & lt(t, i)

capacity = Formula(
    "routing.capacity",
    "Routing with a capacity",
    why="What if all tokens ask the same expert? On many devices each expert has memory and time for a fixed number of tokens, "
    "and the others would wait for the busiest. So it takes C of them and no more: C is what it would get if all were asked "
    "alike, n·k/E, times a factor such as 1.25. A token that finds it full gets nothing from it, and passes on as it came.",
    sizes={
        n: "tokens",
        E: "experts",
        k: "experts that a token asks: 1 in Switch Transformers, 2 in GShard",
        C: "capacity: tokens that an expert takes",
    },
    inputs=(s, k, C),
    lines=(
        define(r[i, j], rank),
        define(
            b[i, j],
            by_convention(
                "order",
                tokens=Sum(case(asked(j, t), 1), (t, 0, i - 1)),
                choices=Sum(case(asked(j, t) & earlier_choice, 1), t),
            ),
        ),
        define(w[i, j], case(within(i), top_k(s, k)[i, j])),
    ),
    outputs=(w,),
    conventions=(WEIGHTS, ORDER),
    pitfalls=(
        pitfall("C + 1 tokens taken, or C − 1: the first place has the number 0", mutant="one_token_more"),
        pitfall(
            "the weights of those that are left are renormalised: what a token loses is not made up for",
            mutant="renormalised_behind",
        ),
        pitfall(
            "first choices before second ones: what a token gets then depends on tokens behind it",
            convention="order",
        ),
        pitfall("places counted over the experts, not over the tokens", mutant="counted_over_experts"),
        pitfall("a batch counted as one text, so that its members compete", mutant="members_compete"),
    ),
    sources=(paper("fedus2021", "section 2.2, eq. 3"), paper("lepikhin2020", "section 2.2 and algorithm 1")),
    worked=(
        Worked(
            "Three tokens, two experts of which the first suits all, and a capacity of 2: the third token is dropped",
            {"s": [[0, -30], [0, -30], [0, -30]], "k": 1, "C": 2},
            [["1.0000", "0.0000"], ["1.0000", "0.0000"], ["0.0000", "0.0000"]],
            4,
        ),
        Worked(
            "Both experts asked, each with one place: the second token finds both full",
            {"s": [[0, 1], [1, 0]], "k": 2, "C": 1},
            [["0.2689", "0.7311"], ["0.0000", "0.0000"]],
            4,
        ),
        Worked(
            "The same with first choices before second ones: each token keeps its first",
            {"s": [[0, 1], [1, 0]], "k": 2, "C": 1},
            [["0.0000", "0.7311"], ["0.7311", "0.0000"]],
            4,
            conventions={"order": "choices"},
        ),
    ),
    notes="Of experts that suit alike those with the smaller number are asked. Counts are integers: b + ½ < C says b < C, "
    "whatever the rounding of a sum.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

rows, extra = sizes("rows extra")
IN_ORDER = {"order": "tokens"}

capacity.theorem(
    "dropped",
    "A token that comes when an expert has as many as it takes gets nothing from it",
    claim(w[i, j], "=", 0, where=~within(i)).by_definition("only what is within the capacity counts"),
)

capacity.theorem(
    "kept",
    "Every other weight is what it is without a capacity",
    claim(w[i, j], "=", top_k(s, k)[i, j], where=within(i)).by_definition("nothing is renormalised"),
)

capacity.theorem(
    "room_for_all",
    "Where each expert has a place for every token, C ≥ n, none finds it full",
    claim(b[i, j] + HALF, "<=", C - HALF)
    .step(i + HALF - Sum(case(asked(j, t), 0, 1), (t, 0, i - 1)), "all before it, but those that do not ask")
    .because("i ≤ n − 1 and n ≤ C", gap=C - n + (n - 1 - i) + Sum(case(asked(j, t), 0, 1), (t, 0, i - 1))),
    assuming=le(n, C),
    conventions=IN_ORDER,
)

capacity.theorem(
    "prefix",
    "In the order of tokens, what a token gets does not depend on those behind it: a prefix alone is routed alike",
    claim(w[i, j], "=", capacity(s[:rows], k, C)[i, j], (i, rows), j).by_definition(
        "only tokens before it are counted"
    ),
    sizes={n: rows + extra},
    conventions=IN_ORDER,
)

capacity.theorem(
    "own_place",
    "In the order of tokens all that ask an expert have places of their own there: each that comes behind one has a later one",
    claim(b[i, j] + 1, "<=", b[t, j], where=asked(j, i) & lt(i, t))
    .step(b[t, j] - Sum(case(asked(j, u), 1), (u, i + 1, t - 1)), "all but those between them")
    .because("no count is negative", gap=Sum(case(asked(j, u), 1), (u, i + 1, t - 1))),
    conventions=IN_ORDER,
)

capacity.theorem(
    "at_most",
    "An expert takes at most C tokens, as it has C places: their number, an integer, is below C + ½",
    claim(Sum(case(asked(j, i) & within(i), 1), i), "<=", C + HALF)
    .by_enclosure()
    .because("no two tokens that ask it have the same place, and it takes those whose place is below C"),
)
