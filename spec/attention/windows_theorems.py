"""Theorems about local attention: where its window lies, what it cannot see, and how it becomes global attention."""

from __future__ import annotations

from spec.attention.weights import c, d_k, d_v, i, j, k, l, m, mask, n, q, softmax, v
from spec.attention.windows import D, W_p, local, v_p
from spec.language import (
    Proof,
    Some,
    Sum,
    Theorem,
    absolute,
    at_most,
    case,
    claim,
    delta,
    each,
    eq,
    exp,
    given,
    indices,
    le,
    lt,
)
from spec.scores import dot

OURS = {"polarity": "true_attends", "fully_masked": "zero"}
CUT, WHOLE = {**OURS, "window": "cut"}, {**OURS, "window": "whole"}

seen = local(q, k, v, W_p, v_p, D, mask)
p, alpha = seen.output("p"), seen.output("alpha")
scores = dot(q, k)
shares = softmax(each(scores[i, j], (i, n), (j, m)), mask)
near = mask[i, j] & le(absolute(j - p[i]), D.value)
some_in_window = Some(mask[i, l] & le(absolute(l - p[i]), D.value), (l, 0, m - 1))
in_window = softmax(each(scores[i, j], (i, n), (j, m)), each(near, (i, n), (j, m)))
gaussian = exp(-2 * ((j - p[i]) ** 2 / D.value**2))
(row,) = indices("row")

local.prove(
    Theorem(
        "position",
        "The predicted position lies strictly between 0 and the number of keys",
        conventions=OURS,
        claims=(
            claim(0, "<", p[i], (i, n)),
            claim(p[i], "<", m, (i, n)),
        ),
        proofs=(Proof(why="a sigmoid is above 0"), Proof(why="a sigmoid is below 1")),
    )
)

local.prove(
    Theorem(
        "gaussian",
        "The Gaussian only takes away: a weight lies between 0 and what the softmax gave it",
        conventions=CUT,
        claims=(
            claim(0, "<=", alpha[i, j], (i, n), (j, m)),
            claim(alpha[i, j], "<=", in_window[i, j], (i, n), (j, m)),
        ),
        proofs=(
            Proof(why="both factors are at least 0", gap=alpha[i, j]),
            Proof(why="the exponent is at most 0", gap=in_window[i, j] * (1 - gaussian)),
        ),
    )
)
local.prove(
    Theorem(
        "sums_to_at_most_one",
        "The weights of a query sum to at most 1",
        conventions=CUT,
        claims=(
            claim(Sum(alpha[i, j], (j, 0, m - 1)), "<=", 1, (i, n), where=some_in_window),
            claim(Sum(alpha[i, j], (j, 0, m - 1)), "=", 0, (i, n), where=~some_in_window),
        ),
        proofs=(
            Proof(
                (
                    at_most(
                        Sum(in_window[i, j], (j, 0, m - 1)),
                        "the Gaussian is at most 1",
                        Sum(in_window[i, j] * (1 - gaussian), (j, 0, m - 1)),
                    ),
                ),
                why="the shares of a softmax sum to 1",
            ),
            Proof(why="without a permitted key in the window every weight is 0"),
        ),
    )
)

# What it cannot see -------------------------------------------------------------------------------------------------------

place = given("r", domain="integer", below=m)
other_k, other_v = given("k_other", d_k), given("v_other", d_v)
w = given("w", d_v)

replaced = (
    each(case(eq(j, place.value), other_k[c], k[j, c]), (j, m), (c, d_k)),
    each(case(eq(j, place.value), other_v[c], v[j, c]), (j, m), (c, d_v)),
)
one_row = each(delta(i, row) * w[c], (i, n), (c, d_v))

local.prove(
    Theorem(
        "outside_the_window",
        "A key farther than D from the predicted position has no influence on the output, and gets no gradient",
        given=(place, other_k, other_v, w),
        conventions=CUT,
        claims=(
            claim(
                local(q, *replaced, W_p, v_p, D, mask)[i, c],
                "=",
                seen[i, c],
                (i, n),
                (c, d_v),
                where=lt(D.value, absolute(place.value - p[i])),
            ),
            claim(
                seen.pullback(one_row, "v")[place.value, c],
                "=",
                0,
                (row, n),
                (c, d_v),
                where=lt(D.value, absolute(place.value - p[row])),
            ),
            claim(
                seen.pullback(one_row, "k")[place.value, c],
                "=",
                0,
                (row, n),
                (c, d_k),
                where=lt(D.value, absolute(place.value - p[row])),
            ),
        ),
        proofs=(
            Proof(why="no key in the window is the replaced one; the position does not depend on keys"),
            Proof(why="the slot occurs in no sum"),
            Proof(why="the slot occurs in no sum"),
        ),
    )
)

local.prove(
    Theorem(
        "masked_key",
        "A masked key has no influence on the output",
        given=(place, other_k, other_v),
        conventions=OURS,
        claims=(
            claim(
                local(q, *replaced, W_p, v_p, D, mask)[i, c],
                "=",
                seen[i, c],
                (i, n),
                (c, d_v),
                where=~mask[i, place.value],
            ),
        ),
        proofs=(Proof(why="no permitted key is the replaced one"),),
    )
)

# Global attention ---------------------------------------------------------------------------------------------------------

beyond = given("t", domain="nonnegative")
wide = local(q, k, v, W_p, v_p, m + beyond.value, mask).output("alpha")
spread = 2 * ((j - p[i]) ** 2 / (m + beyond.value) ** 2)

local.prove(
    Theorem(
        "nothing_cut",
        "A window of half width at least m cuts nothing off: only the Gaussian is left",
        given=(beyond,),
        conventions=CUT,
        claims=(claim(wide[i, j], "=", shares[i, j] * exp(-spread), (i, n), (j, m)),),
        proofs=(Proof(why="positions and keys lie between 0 and m, so less than m apart"),),
    )
)

local.prove(
    Theorem(
        "global",
        "As the window grows, local attention becomes global: a weight is between (1 - 2m²/D²) of the global one and all of it",
        conventions=WHOLE,
        claims=(
            claim((1 - 2 * m**2 / D.value**2) * shares[i, j], "<=", alpha[i, j], (i, n), (j, m)),
            claim(alpha[i, j], "<=", shares[i, j], (i, n), (j, m)),
        ),
        proofs=(
            Proof(
                (
                    at_most(
                        (1 - 2 * ((j - p[i]) ** 2 / D.value**2)) * shares[i, j],
                        "a key is at most m away from the position",
                        shares[i, j] * (2 / D.value**2 * ((m - j + p[i]) * (m + j - p[i]))),
                    ),
                ),
                why="eˣ is at least 1 + x",
                gap=shares[i, j] * (gaussian - 1 + 2 * ((j - p[i]) ** 2 / D.value**2)),
            ),
            Proof(why="the exponent is at most 0", gap=shares[i, j] * (1 - gaussian)),
        ),
    )
)
