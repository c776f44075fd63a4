"""Causal attention weights with linear biases (ALiBi), stated in one file; the softmax in it is attnspec's own.

``attnspec show examples/formulas/alibi.py:alibi`` shows it and proves its theorems; ``attnspec check
examples/formulas/biased.py:weights --formula examples/formulas/alibi.py:alibi`` holds an implementation to it.
"""

from spec.attention.softmax import softmax
from spec.vocabulary import *

H, n = sizes("H n")
t, i, j, phi = indices(t=H, i=n, j=n, phi=n)

s = data("s", H, n, n, meaning="score of each query and key, head by head")
m = tensor("m", H, meaning="slope: what one step of distance costs in this head")
B = tensor("B", H, n, n, meaning="bias: what the distance of query and key costs")
a = tensor("a", H, n, n, meaning="attention weight; 0 for a key after the query")
seen = each(le(j, i), i, j)

alibi = Formula(
    "biased.alibi",
    "Attention with linear biases",
    why="How can a model read texts longer than those that it was trained on? Vectors of positions that it never saw mean "
    "nothing to it. Here positions are in no vector: each step of distance between a query and a key takes a fixed cost from "
    "their score, large in some heads, small in others. A key is the less attended to the further back it is.",
    sizes={H: "heads", n: "positions"},
    inputs=(s,),
    lines=(
        define(m[t], lift(2) ** (-8 * (t + 1) / H)),
        define(B[t, i, j], -m[t] * (i - j)),
        define(a[t, i, j], softmax(each(s[t, i, j] + B[t, i, j], i, j), seen)[i, j]),
    ),
    outputs=(a,),
    pitfalls=(
        pitfall("the distance is added, not taken away: what is far counts most", theorem="further_is_less"),
        pitfall(
            "the bias of positions j alone, and then no softmax over all of them", theorem="of_keys_alone"
        ),
    ),
    worked=(
        Worked(
            "One head, equal scores: a step of distance costs 2⁻⁸, so the keys share almost alike",
            {"s": [[[0, 0], [0, 0]]]},
            [[["1.0000", "0.0000"], ["0.4990", "0.5010"]]],
            4,
        ),
    ),
    sources=(
        publication(
            "Press, Smith & Lewis",
            "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation",
            2022,
            "arXiv:2108.12409",
            "section 3",
        ),
    ),
)

# Theorems -----------------------------------------------------------------------------------------------------------------

plain, level = alibi(s), alibi(each(lift(0), t, i, j))
inside = lt(i + phi, n) & lt(j + phi, n)

alibi.theorem(
    "shift",
    "Moving query and key by the same distance changes no bias",
    claim(B[t, i + phi, j + phi], "=", B[t, i, j], where=inside).by_definition("φ cancels in the difference"),
)

alibi.theorem(
    "sums_to_one",
    "The weights of every query sum to 1",
    claim(Sum(plain[t, i, j], j), "=", 1)
    .step(
        Sum(exp(s[t, i, j] + B[t, i, j]), j, where=le(j, i))
        / Sum(exp(s[t, i, j] + B[t, i, j]), j, where=le(j, i)),
        "keys after the query add nothing",
    )
    .because("the query sees itself at least, so the sum is positive and cancels"),
)

alibi.theorem(
    "of_keys_alone",
    "The bias may be counted from the first key, whatever the query: m·j in place of −m(i − j)",
    claim(plain[t, i, j], "=", softmax(each(s[t, i, j] + m[t] * j, i, j), seen)[i, j])
    .step(
        case(
            le(j, i),
            exp(-m[t] * i)
            * exp(s[t, i, j] + m[t] * j)
            / (exp(-m[t] * i) * Sum(exp(s[t, i, j] + m[t] * j), j, where=le(j, i))),
        ),
        "exp(−m(i − j)) = exp(−m·i)·exp(m·j), and the first factor is that of the query",
    )
    .because("it is positive and cancels"),
)

alibi.theorem(
    "further_is_less",
    "At equal scores a key further back has no larger weight",
    claim(level[t, i, j], "<=", level[t, i, j + 1], where=lt(j, i)).by_definition(
        "the bias is no larger, and so is its exponential; the sum below is the same"
    ),
)
