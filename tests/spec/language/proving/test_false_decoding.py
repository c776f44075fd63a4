"""False theorems about hard and local attention and the decoder steps are refused, each with a reason."""

from __future__ import annotations

import pytest
from spec.attention.sampling import hard, log_weights
from spec.attention.sampling_theorems import OURS, law, some_key
from spec.attention.sampling_theorems import weights as shares_of_s
from spec.attention.steps import V, bahdanau_step, d, e, h, luong_step
from spec.attention.steps_theorems import bahdanau, luong
from spec.attention.steps_theorems import encoded as states
from spec.attention.weights import d_v, j, k, l, m, mask, n, q, s, scaled_dot_product, v
from spec.attention.windows import D, W_p, local, v_p
from spec.attention.windows_theorems import (
    CUT,
    WHOLE,
    alpha,
    other_k,
    other_v,
    p,
    place,
    replaced,
    seen,
    shares,
    wide,
)

from spec.language import (
    Some,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    derive,
    each,
    eq,
    exp,
    given,
    le,
    lt,
)
from tests.spec.language.proving.claims import Register, c, equal, i, refused, register_in

FALSE: Register = {}
false = register_in(FALSE)
seen_mask = luong_step.tensors[-1]
r = given("r", n, m)

# Hard attention -----------------------------------------------------------------------------------------------------------


@false("the probabilities of any query sum to 1", hard, "≠ 0|differ")
def _() -> Theorem:
    return equal(Sum(law[i, j], (j, 0, m - 1)), 1, (i, n), conventions=OURS)


@false("the expected context is the plain mean of the values", hard, "differ|≠ 0")
def _() -> Theorem:
    mean = Sum(v[j, c], (j, 0, m - 1)) / m
    return equal(
        Sum(law[i, j] * v[j, c], (j, 0, m - 1)), mean, (i, n), (c, d_v), conventions=OURS, where=some_key
    )


@false("the expected square is the square of soft attention", hard, "differ")
def _() -> Theorem:
    soft = scaled_dot_product(q, k, v, mask)[i, c]
    squares = Sum(law[i, j] * v[j, c] ** 2, (j, 0, m - 1), where=mask[i, j])
    return equal(squares, soft**2, (i, n), (c, d_v), conventions=OURS)


@false("the score function without the weights", hard, "differ")
def _() -> Theorem:
    return equal(
        log_weights(s, mask).pullback(each(r[i, j], (i, n), (j, m)), "s")[i, l],
        shares_of_s.pullback(r, "s")[i, l],
        (i, n),
        (l, m),
        given=(s, r),
        conventions=OURS,
    )


@false("a baseline that depends on the draw adds nothing", hard, "differ")
def _() -> Theorem:
    b = given("b", n, m)
    return equal(
        log_weights(s, mask).pullback(each(shares_of_s[i, j] * (r[i, j] - b[i, j]), (i, n), (j, m)), "s")[
            i, l
        ],
        shares_of_s.pullback(r, "s")[i, l],
        (i, n),
        (l, m),
        given=(s, r, b),
        conventions=OURS,
    )


# Local attention ----------------------------------------------------------------------------------------------------------


@false("the position is at most the last key", local, "differ")
def _() -> Theorem:
    return equal(case(le(p[i], m - 1), 1), 1, (i, n), conventions=OURS | {"window": "cut"})


@false("the weights sum to 1 in spite of the Gaussian", local, "differ|≠ 0")
def _() -> Theorem:
    near = Some(mask[i, l] & le(absolute(l - p[i]), D), (l, 0, m - 1))
    return equal(Sum(alpha[i, j], (j, 0, m - 1)), 1, (i, n), where=near, conventions=CUT)


@false("a key at the border of the window has no influence", local, "differ")
def _() -> Theorem:
    return equal(
        local(q, *replaced, W_p, v_p, D, mask)[i, c],
        seen[i, c],
        (i, n),
        (c, d_v),
        given=(place, other_k, other_v),
        conventions=CUT,
        where=le(D, absolute(place - p[i])),
    )


@false("a key outside the window has no influence even where nothing is cut", local, "differ")
def _() -> Theorem:
    return equal(
        local(q, *replaced, W_p, v_p, D, mask)[i, c],
        seen[i, c],
        (i, n),
        (c, d_v),
        given=(place, other_k, other_v),
        conventions=WHOLE,
        where=lt(D, absolute(place - p[i])),
    )


@false("a window of half the length cuts nothing", local, "differ|≠ 0")
def _() -> Theorem:
    t = given("t", domain="positive")
    half = local(q, k, v, W_p, v_p, m / 2 + t, mask).output("alpha")
    spread = 2 * ((j - p[i]) ** 2 / (m / 2 + t) ** 2)
    return equal(half[i, j], shares[i, j] * exp(-spread), (i, n), (j, m), given=(t,), conventions=CUT)


@false("a wide window is global attention, Gaussian and all", local, "differ")
def _() -> Theorem:
    t = given("t", domain="nonnegative")
    return equal(wide[i, j], shares[i, j], (i, n), (j, m), given=(t,), conventions=CUT)


@false("the approach to global attention, with half the constant", local, "not visible|differs from the gap")
def _() -> Theorem:
    near_one = claim((1 - m**2 / D**2) * shares[i, j], "<=", alpha[i, j], (i, n), (j, m))
    gap = shares[i, j] * (exp(-2 * ((j - p[i]) ** 2 / D**2)) - 1 + m**2 / D**2)
    return Theorem(
        "claimed", "", (near_one.proved(derive().because("so it is", gap=gap)),), conventions=WHOLE
    )


# Decoder steps ------------------------------------------------------------------------------------------------------------


@false("the weights sum to 1 without a permitted annotation", bahdanau_step, "≠ 0|differ")
def _() -> Theorem:
    weights = bahdanau(h, seen_mask).output("alpha")
    return equal(Sum(weights[j], (j, 0, m - 1)), 1, conventions=OURS)


@false("permuting the annotations leaves the weights in place", bahdanau_step, "differ")
def _() -> Theorem:
    order = given("pi", m, domain="permutation")
    moved = bahdanau(each(h[order[j], c], (j, m), (c, e)), each(seen_mask[order[j]], (j, m)))
    return equal(
        moved.output("alpha")[j],
        bahdanau(h, seen_mask).output("alpha")[j],
        (j, m),
        given=(order,),
        conventions=OURS,
    )


@false("permuting the annotations under a fixed mask changes nothing", luong_step, "differ")
def _() -> Theorem:
    order = given("pi", m, domain="permutation")
    moved = luong(each(states[order[j], c], (j, m), (c, d)), seen_mask)
    return equal(
        moved.output("P")[i],
        luong(states, seen_mask).output("P")[i],
        (i, V),
        given=(order,),
        conventions=OURS,
    )


@false("an annotation has no influence though nothing masks it", luong_step, "differ")
def _() -> Theorem:
    spot, other = given("r", domain="integer", below=m), given("h_other", d)
    changed = each(case(eq(j, spot), other[c], states[j, c]), (j, m), (c, d))
    return equal(
        luong(changed, seen_mask).output("alpha")[j],
        luong(states, seen_mask).output("alpha")[j],
        (j, m),
        given=(spot, other),
        conventions=OURS,
    )


@false("the new state exceeds one half in no entry", luong_step, "differ")
def _() -> Theorem:
    return equal(case(lt(2 * luong(states, seen_mask)[i], 1), 1), 1, (i, d), conventions=OURS)


@false("a broken step in a true derivation", hard, "step 1 of 2")
def _() -> Theorem:
    soft = scaled_dot_product(q, k, v, mask)[i, c]
    wrong_turn = derive().step(Sum(law[i, j] * v[j, c], (j, 0, m - 1)) + 1, "a slip")
    left = Sum(law[i, j] * v[j, c], (j, 0, m - 1), where=mask[i, j])
    return Theorem(
        "claimed", "", (claim(left, "=", soft, (i, n), (c, d_v)).proved(wrong_turn),), conventions=OURS
    )


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused(name: str) -> None:
    """It is refused, in one line that says what is wrong."""
    refused(FALSE, name)
