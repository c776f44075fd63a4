"""One step of a decoder with attention: align with the annotations, read the context, move to the next state."""

from __future__ import annotations

from spec.attention.weights import j, l, m, softmax
from spec.language import (
    Comprehension,
    Convention,
    Formula,
    Index,
    Node,
    Some,
    Sum,
    Undefined,
    by_convention,
    case,
    data,
    deck,
    define,
    each,
    indices,
    optional_mask,
    paper,
    parameter,
    sizes,
    tanh,
    tensor,
)
from spec.scores import additive, dot

d, p, e, a, V = sizes("d p e a V")
b, i, w = indices("b i w")

s, y = data("s", d), data("y", p)
mask = optional_mask("mask", m)
v = parameter("v", a)
eta, alpha, s_next = tensor("eta", m), tensor("alpha", m), tensor("s_next", d)

POLARITY = Convention(
    "polarity",
    {
        "true_attends": "True marks the annotations that may be attended to",
        "true_drops": "True marks those that may not",
    },
    default="true_attends",
    absent={"true_drops": False},
)
FULLY_MASKED = Convention(
    "fully_masked",
    {
        "zero": "without a permitted annotation the weights and the context are 0",
        "unspecified": "nothing is said about that case (0/0 and NaN included)",
    },
    default="zero",
)


def permitted(at: Index) -> Node:
    """The condition that annotation ``at`` may be attended to."""
    return by_convention("polarity", true_attends=mask[at], true_drops=~mask[at])


some_permitted = Some(permitted(l), (l, 0, m - 1))


def row(entry: Node, size: Index, at: Index) -> Comprehension:
    """A vector as the only row of a matrix."""
    return each(entry, (i, 1), (at, size))


# Bahdanau -----------------------------------------------------------------------------------------------------------------

h = data("h", m, e)
W, W_s, W_y, W_c = (
    parameter("W", a, d + e),
    parameter("W_s", d, d),
    parameter("W_y", d, p),
    parameter("W_c", d, e),
)
context = tensor("c", e)
read = Sum(alpha[j] * h[j, b], (j, 0, m - 1), where=permitted(j))

bahdanau_step = Formula(
    "attention.bahdanau_step",
    "A decoder step with additive attention",
    inputs=(s, y, h, W, v, W_s, W_y, W_c, mask),
    lines=(
        define(eta[j], additive(row(s[b], d, b), h, W, v)[0, j]),
        define(alpha[j], softmax(row(eta[j], m, j), row(mask[j], m, j))[0, j]),
        define(
            context[b],
            by_convention("fully_masked", zero=read, unspecified=case(some_permitted, read, Undefined())),
        ),
        define(
            s_next[b],
            tanh(
                Sum(W_s[b, l] * s[l], (l, 0, d - 1))
                + Sum(W_y[b, l] * y[l], (l, 0, p - 1))
                + Sum(W_c[b, l] * context[l], (l, 0, e - 1))
            ),
        ),
    ),
    outputs=(s_next, context, alpha),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("c", "alpha"),
    sources=(
        deck(3, "recap: attention; s_i = f(s_{i−1}, y_{i−1}, c_i)"),
        deck(2, "attention scoring: additive"),
        deck(4, "additive attention"),
        paper(
            "Bahdanau, Cho & Bengio 2015",
            "section 3.1 and appendix A.1.2; f is a plain recurrent unit here, theirs is gated",
        ),
    ),
    notes="The previous state s aligns, before the step: η_j scores annotation j against s, not against the state returned.",
)

# Luong --------------------------------------------------------------------------------------------------------------------

encoded = data("h", m, d)
W_h, W_o = parameter("W_c", d, 2 * d), parameter("W_o", V, d)
luong_context, h_tilde, logits, P = tensor("c", d), tensor("h_tilde", d), tensor("o", V), tensor("P", V)
luong_read = Sum(alpha[j] * encoded[j, b], (j, 0, m - 1), where=permitted(j))

luong_step = Formula(
    "attention.luong_step",
    "A decoder step with dot-product attention: the recipe in seven steps",
    inputs=(s, y, encoded, W_s, W_y, W_h, W_o, mask),
    lines=(
        define(
            s_next[b],
            tanh(Sum(W_s[b, l] * s[l], (l, 0, d - 1)) + Sum(W_y[b, l] * y[l], (l, 0, p - 1))),
        ),
        define(eta[j], dot(row(s_next[b], d, b), encoded)[0, j]),
        define(alpha[j], softmax(row(eta[j], m, j), row(mask[j], m, j))[0, j]),
        define(
            luong_context[b],
            by_convention(
                "fully_masked", zero=luong_read, unspecified=case(some_permitted, luong_read, Undefined())
            ),
        ),
        define(
            h_tilde[b],
            tanh(
                Sum(W_h[b, l] * luong_context[l], (l, 0, d - 1))
                + Sum(W_h[b, d + l] * s_next[l], (l, 0, d - 1))
            ),
        ),
        define(logits[w], Sum(W_o[w, l] * h_tilde[l], (l, 0, d - 1))),
        define(P[w], softmax(row(logits[w], V, w))[0, w]),
    ),
    outputs=(s_next, h_tilde, P, alpha),
    conventions=(POLARITY, FULLY_MASKED),
    stored=("c", "alpha"),
    sources=(
        deck(
            0,
            "the attention decoder in seven steps: score, softmax, weigh, sum, concatenate, feed forward, word",
        ),
        paper("Luong, Pham & Manning 2015", "section 3, eq. 5 and 6; section 3.1, dot score"),
    ),
    notes="The new state s_next aligns, after the step; then [c; s_next] is fed forward. With input feeding, y holds h̃ of the "
    "step before, too.",
)
