"""Attention: scores become weights, weights mix values."""

from __future__ import annotations

from spec.language import (
    Convention,
    Formula,
    Index,
    Node,
    Some,
    Sum,
    Undefined,
    Worked,
    by_convention,
    case,
    data,
    deck,
    define,
    exp,
    indices,
    optional_mask,
    paper,
    sizes,
    tensor,
)
from spec.scores import scaled_dot

n, m, d_k, d_v = sizes("n m d_k d_v")
i, j, l, c = indices("i j l c")

q, k, v = data("q", n, d_k), data("k", m, d_k), data("v", m, d_v)
s = data("s", n, m)
mask = optional_mask("mask", n, m)
a, z = tensor("a", n, m), tensor("z", n, d_v)
scores = tensor("s", n, m)

POLARITY = Convention(
    "polarity",
    {
        "true_attends": "True marks the keys a query may attend to",
        "true_drops": "True marks the keys it may not",
    },
    default="true_attends",
    absent={"true_drops": False},
)
FULLY_MASKED = Convention(
    "fully_masked",
    {
        "zero": "a query without a permitted key gets weights 0",
        "mean": "such a query weighs all keys alike (the mask was filled with a large negative number)",
        "unspecified": "nothing is said about such a query (0/0 and NaN included)",
    },
    default="zero",
)


def permitted(row: Index, column: Index) -> Node:
    """The condition that query ``row`` may attend to key ``column``."""
    return by_convention("polarity", true_attends=mask[row, column], true_drops=~mask[row, column])


def has_key(row: Index) -> Node:
    """The condition that query ``row`` has some permitted key."""
    return Some(permitted(row, l), (l, 0, m - 1))


weight = exp(s[i, j]) / Sum(exp(s[i, l]), (l, 0, m - 1), where=permitted(i, l))

softmax = Formula(
    "attention.softmax",
    "Softmax over the permitted keys",
    inputs=(s, mask),
    lines=(
        define(
            a[i, j],
            by_convention(
                "fully_masked",
                zero=case(permitted(i, j), weight),
                mean=case(has_key(i), case(permitted(i, j), weight), 1 / m),
                unspecified=case(has_key(i), case(permitted(i, j), weight), Undefined()),
            ),
        ),
    ),
    outputs=(a,),
    conventions=(POLARITY, FULLY_MASKED),
    sources=(
        deck(0, "self-attention, step 4"),
        deck(1, "attention"),
        deck(2, "step 3b"),
        deck(4, "raw scores normalized with softmax"),
        paper("Bahdanau, Cho & Bengio 2015", "eq. 6"),
    ),
    worked=(
        Worked(
            "“Thinking Machines”: scores 14 and 12",
            {"s": [[14, 12]]},
            [["0.88", "0.12"]],
            2,
            deck(0, "step 4"),
        ),
        Worked(
            "Three scores 13, 9 and 9", {"s": [[13, 9, 9]]}, [["0.96", "0.02", "0.02"]], 2, deck(0, "step 3")
        ),
    ),
)

mixed = a[i, j] * v[j, c]

scaled_dot_product = Formula(
    "attention.scaled_dot_product",
    "Scaled dot-product attention",
    inputs=(q, k, v, mask),
    lines=(
        define(scores[i, j], scaled_dot(q, k)[i, j]),
        define(a[i, j], softmax(scores, mask)[i, j]),
        define(
            z[i, c],
            by_convention(
                "fully_masked",
                zero=Sum(mixed, (j, 0, m - 1), where=permitted(i, j)),
                mean=case(
                    has_key(i),
                    Sum(mixed, (j, 0, m - 1), where=permitted(i, j)),
                    Sum(v[j, c], (j, 0, m - 1)) / m,
                ),
                unspecified=case(has_key(i), Sum(mixed, (j, 0, m - 1), where=permitted(i, j)), Undefined()),
            ),
        ),
    ),
    outputs=(z,),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("a",),
    sources=(
        deck(0, "self-attention, steps 1 to 6"),
        deck(1, "attention"),
        deck(2, "scaled dot-product attention"),
        deck(3, "Шаг 1 – 6"),
        deck(4, "Z = softmax(QKᵀ/√k)V"),
        paper("Vaswani et al. 2017", "eq. 1"),
    ),
    worked=(
        Worked(
            "Three tokens, unscaled scores (2, 4, 4) for the first: the queries carry the factor √3 that the scale divides out",
            {
                "q": [["sqrt(3)", 0, "2*sqrt(3)"]],
                "k": [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
                "v": [[1, 2, 3], [2, 8, 0], [2, 6, 3]],
            },
            [["1.94", "6.68", "1.60"]],
            2,
            deck(0, "illustrated self-attention"),
        ),
    ),
)
