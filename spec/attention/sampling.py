"""Hard attention: a query looks at one key, drawn from its attention weights."""

from __future__ import annotations

from spec.attention.weights import (
    POLARITY,
    a,
    c,
    d_v,
    has_key,
    i,
    j,
    k,
    l,
    m,
    mask,
    n,
    permitted,
    q,
    softmax,
    v,
)
from spec.language import (
    Axiom,
    Convention,
    Formula,
    Law,
    Sum,
    Tensor,
    Undefined,
    by_convention,
    case,
    data,
    deck,
    define,
    eq,
    exp,
    le,
    log,
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

# For gradients ------------------------------------------------------------------------------------------------------------

given_scores, drawn = data("s", n, m), data("index", n, domain="integer", below=m)
log_a, log_drawn = tensor("log_a", n, m), tensor("log_a_drawn", n)
log_weight_of = s[i, j] - log(Sum(exp(s[i, l]), (l, 0, m - 1), where=permitted(i, l)))

log_weights = Formula(
    "attention.log_weights",
    "Logarithms of the attention weights",
    inputs=(given_scores, mask),
    lines=(define(log_a[i, j], case(permitted(i, j), log_weight_of)),),
    outputs=(log_a,),
    conventions=(POLARITY,),
    sources=(paper("Williams 1992", "section 3: the characteristic eligibility"),),
    notes="0 stands where a key is not permitted.",
    auxiliary=True,
)

log_weight = Formula(
    "attention.log_weight",
    "Logarithm of the weight of the key that was drawn",
    inputs=(q, k, drawn, mask),
    lines=(
        define(s[i, j], scaled_dot(q, k)[i, j]),
        define(log_drawn[i], case(permitted(i, drawn[i]), log_weights(s, mask)[i, drawn[i]], Undefined())),
    ),
    outputs=(log_drawn,),
    conventions=(POLARITY,),
    sources=(paper("Xu et al. 2015", "section 4.1, eq. 12"),),
    notes="Its gradient times a reward is the score-function estimator of the gradient of the expected reward. Nothing is "
    "said about a key that is not permitted.",
    auxiliary=True,
)
