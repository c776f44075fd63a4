"""Hard attention: a query looks at one key, drawn from its attention weights."""

from __future__ import annotations

from spec.attention.weights import POLARITY, a, c, d_v, has_key, i, j, k, m, mask, n, permitted, q, softmax, v
from spec.language import (
    Axiom,
    Convention,
    Formula,
    Law,
    Tensor,
    by_convention,
    case,
    deck,
    define,
    eq,
    le,
    lt,
    paper,
    tensor,
)
from spec.scores import scaled_dot

NOTHING_PERMITTED = Convention(
    "fully_masked",
    {
        "zero": "a query without a permitted key draws no key: its index is −1 and its context 0",
        "unspecified": "nothing is said about such a query",
    },
    default="zero",
)

generator = Tensor("generator", (), "generator", "generator")
s, z, index = tensor("s", n, m), tensor("z", n, d_v), tensor("index", n, domain="integer")

hard = Formula(
    "attention.hard",
    "Hard attention",
    inputs=(q, k, v, generator, mask),
    lines=(
        define(s[i, j], scaled_dot(q, k)[i, j]),
        define(a[i, j], softmax(s, mask)[i, j]),
    ),
    outputs=(a,),
    conventions=(POLARITY, NOTHING_PERMITTED),
    law=Law(
        probability=a,
        returns=(z, index),
        outcome=(index[i],),
        over=((i, n),),
        axioms=(
            Axiom(
                "the key is a permitted one",
                "the index is that of a permitted key, or −1 where there is none",
                by_convention(
                    "fully_masked",
                    zero=case(
                        has_key(i),
                        le(0, index[i]) & lt(index[i], m) & permitted(i, index[i]),
                        eq(index[i], -1),
                    ),
                    unspecified=~has_key(i) | (le(0, index[i]) & lt(index[i], m) & permitted(i, index[i])),
                ),
            ),
            Axiom(
                "the context is that key's value",
                "the context is the value at the index, bit for bit, or 0 where there is none",
                by_convention(
                    "fully_masked",
                    zero=case(
                        has_key(i),
                        le(0, index[i]) & lt(index[i], m) & eq(z[i, c], v[index[i], c]),
                        eq(z[i, c], 0),
                    ),
                    unspecified=~has_key(i)
                    | (le(0, index[i]) & lt(index[i], m) & eq(z[i, c], v[index[i], c])),
                ),
                over=((i, n), (c, d_v)),
            ),
        ),
    ),
    sources=(
        deck(2, "soft vs hard attention: features randomly sampled with respect to the attention map"),
        paper("Xu et al. 2015", "section 4.1, stochastic “hard” attention"),
    ),
    notes="a[i, j] is the probability that query i draws key j; queries, and calls, draw independently of each other.",
)
