"""Local attention: a query predicts a position and looks at the keys around it."""

from __future__ import annotations

from spec.attention.weights import POLARITY, c, d_k, i, j, k, l, m, mask, n, permitted, q, softmax, v, z
from spec.language import (
    TRUE,
    Convention,
    Formula,
    Index,
    Node,
    Some,
    Sum,
    Undefined,
    absolute,
    by_convention,
    case,
    deck,
    define,
    each,
    exp,
    indices,
    le,
    number,
    paper,
    parameter,
    sigmoid,
    sizes,
    tanh,
    tensor,
)
from spec.scores import dot

(a,) = sizes("a")
(b,) = indices("b")

W_p, v_p = parameter("W_p", a, d_k), parameter("v_p", a)
D = number("D", domain="positive")
p, sigma, s, alpha = tensor("p", n), tensor("sigma"), tensor("s", n, m), tensor("alpha", n, m)

WINDOW = Convention(
    "window",
    {
        "cut": "the softmax runs over the permitted keys at most D away from the predicted position",
        "whole": "the softmax runs over all permitted keys; only the Gaussian favours those nearby",
    },
    default="cut",
)
NOTHING_IN_REACH = Convention(
    "fully_masked",
    {
        "zero": "a query without a permitted key in its window gets weights 0",
        "unspecified": "nothing is said about such a query (0/0 and NaN included)",
    },
    default="zero",
)


def reach(at: Index) -> Node:
    """The condition that key ``at`` lies in the window of query i."""
    return by_convention("window", cut=le(absolute(at - p[i]), D.value), whole=TRUE)


def near(at: Index) -> Node:
    """The condition that query i looks at key ``at``."""
    return permitted(i, at) & reach(at)


narrowed = by_convention("polarity", true_attends=mask[i, j] & reach(j), true_drops=mask[i, j] | ~reach(j))
some_near = Some(near(l), (l, 0, m - 1))
context = Sum(alpha[i, j] * v[j, c], (j, 0, m - 1), where=near(j))

local = Formula(
    "attention.local",
    "Local attention with predicted positions",
    inputs=(q, k, v, W_p, v_p, D, mask),
    lines=(
        define(
            p[i],
            m
            * sigmoid(
                Sum(v_p[b] * tanh(Sum(W_p[b, c] * q[i, c], (c, 0, d_k - 1))), (b, 0, a - 1)),
            ),
        ),
        define(s[i, j], dot(q, k)[i, j]),
        define(sigma, D.value / 2),
        define(
            alpha[i, j],
            softmax(s, each(narrowed, (i, n), (j, m)))[i, j] * exp(-((j - p[i]) ** 2 / (2 * sigma.value**2))),
        ),
        define(
            z[i, c],
            by_convention("fully_masked", zero=context, unspecified=case(some_near, context, Undefined())),
        ),
    ),
    outputs=(z,),
    conventions=(POLARITY, NOTHING_IN_REACH, WINDOW),
    stored=("alpha",),
    sources=(
        deck(2, "global vs local attention: a predicted source position and a window around it"),
        paper("Luong, Pham & Manning 2015", "section 3.2, local-p; eq. 9 and 10"),
    ),
    notes="Keys stand at the positions 0 … m − 1. The weights of a query sum to at most 1: the Gaussian is applied "
    "after the softmax.",
)
