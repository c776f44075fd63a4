"""False theorems about scores and attention are refused, each with a reason that a reader understands."""

from __future__ import annotations

import pytest
import sympy
from spec.attention.causality import causal
from spec.attention.causality_theorems import first
from spec.attention.weights import d_k, d_v, k, m, mask, n, q, s, scaled_dot_product, softmax, v
from spec.attention.weights_theorems import OURS, others, some_key, total, weights

from spec.language import (
    Max,
    Proof,
    Sum,
    Theorem,
    case,
    claim,
    derive,
    each,
    eq,
    exp,
    expected,
    given,
    le,
    lift,
    sizes,
    step,
)
from spec.scores import dot, scaled_dot
from tests.spec.language.proving.claims import (
    Register,
    a,
    c,
    equal,
    i,
    j,
    l,
    r,
    refused,
    register_in,
)

(h,) = sizes("h")
LN = {"eps": "inside", "divisor": "biased"}
CAUSAL = {"alignment": "lower_right", "fully_masked": "zero"}

FALSE: Register = {}
false = register_in(FALSE)

# Softmax ------------------------------------------------------------------------------------------------------------------


@false("masked softmax sums to 1 for every mask", softmax, r"exp\(s\[i,j\]\) ≠ 0")
def _() -> Theorem:
    return equal(Sum(weights[i, j], (j, 0, m - 1)), 1, (i, n), conventions=OURS)


@false(
    "softmax without a mask argument sums to 1 only for a nonempty row: a wrong total",
    softmax,
    "the two sides differ by",
)
def _() -> Theorem:
    return equal(Sum(weights[i, j], (j, 0, m - 1)), 2, (i, n), where=some_key, conventions=OURS)


@false("rows without a permitted key get equal weights", softmax, "differ by|≠ 0")
def _() -> Theorem:
    return equal(weights[i, j], 1 / m, (i, n), (j, m), where=~some_key, conventions=OURS)


@false("softmax is invariant under scaling", softmax, "the two sides differ by")
def _() -> Theorem:
    return equal(
        softmax(each(a * s[i, j], (i, n), (j, m)), mask)[i, j],
        weights[i, j],
        (i, n),
        (j, m),
        given=(a,),
        conventions=OURS,
    )


@false("softmax is invariant under a shift that depends on the key", softmax, "the two sides differ by")
def _() -> Theorem:
    shift = given("t", m)
    moved = each(s[i, j] + shift[j], (i, n), (j, m))
    return equal(softmax(moved, mask)[i, j], weights[i, j], (i, n), (j, m), given=(shift,), conventions=OURS)


seed = given("g", n, m)


@false("wrong sign in the Jacobian", softmax, "the two sides differ by")
def _() -> Theorem:
    wrong = weights[i, j] * (seed[i, j] + Sum(seed[i, l] * weights[i, l], (l, 0, m - 1)))
    return equal(weights.pullback(seed, "s")[i, j], wrong, (i, n), (j, m), given=(seed,), conventions=OURS)


@false("a swapped index in the Jacobian", softmax, "the two sides differ by|stays in")
def _() -> Theorem:
    wrong = weights[i, j] * (seed[i, j] - Sum(seed[i, j] * weights[i, l], (l, 0, m - 1)))
    return equal(weights.pullback(seed, "s")[i, j], wrong, (i, n), (j, m), given=(seed,), conventions=OURS)


@false("the Jacobian without its rank-one part", softmax, "the two sides differ by")
def _() -> Theorem:
    return equal(
        weights.pullback(seed, "s")[i, j],
        weights[i, j] * seed[i, j],
        (i, n),
        (j, m),
        given=(seed,),
        conventions=OURS,
    )


@false("weights are at most one half", softmax, "≥ 0 is not visible|differs from the gap")
def _() -> Theorem:
    half = lift(sympy.Rational(1, 2))
    proof = derive().because("so it is", gap=case(mask[i, j], others / total, half))
    return Theorem(
        "claimed", "", (claim(weights[i, j], "<=", half, (i, n), (j, m)).proved(proof),), conventions=OURS
    )


@false("a gap that is not visibly at least 0", softmax, "is not visible from its form")
def _() -> Theorem:
    proof = derive().because("so it is", gap=weights[i, j] - 1)
    return Theorem(
        "claimed", "", (claim(1, "<=", weights[i, j], (i, n), (j, m)).proved(proof),), conventions=OURS
    )


@false("a broken step in the middle of a right theorem", softmax, r"step 2 of 3 .*the two sides differ by")
def _() -> Theorem:
    steps = (
        step(Sum(exp(s[i, j]) / total, (j, 0, m - 1), where=mask[i, j]), "right"),
        step(Sum(exp(s[i, j]), (j, 0, m - 1)) / total, "the mask forgotten"),
    )
    one = claim(Sum(weights[i, j], (j, 0, m - 1)), "=", 1, (i, n), where=some_key)
    return Theorem("claimed", "", (one.proved(Proof(steps)),), conventions=OURS)


@false("an unspecified row has a value", softmax, "the statement says nothing about its value")
def _() -> Theorem:
    return equal(
        weights[i, j], weights[i, j], (i, n), (j, m), conventions={**OURS, "fully_masked": "unspecified"}
    )


# Attention ----------------------------------------------------------------------------------------------------------------


@false("key permutation without permuting the mask", scaled_dot_product, "the two sides differ by|≠ 0")
def _() -> Theorem:
    order = given("pi", m, domain="permutation")
    permuted = scaled_dot_product(
        q, each(k[order[j], c], (j, m), (c, d_k)), each(v[order[j], c], (j, m), (c, d_v)), mask
    )
    return equal(
        permuted[i, c],
        scaled_dot_product(q, k, v, mask)[i, c],
        (i, n),
        (c, d_v),
        given=(order,),
        conventions=OURS,
    )


@false("key permutation by a map that is not one to one", scaled_dot_product, "the two sides differ by|≠ 0")
def _() -> Theorem:
    order = given("pi", m, domain="integer", below=m)
    permuted = scaled_dot_product(
        q,
        each(k[order[j], c], (j, m), (c, d_k)),
        each(v[order[j], c], (j, m), (c, d_v)),
        each(mask[i, order[j]], (i, n), (j, m)),
    )
    return equal(
        permuted[i, c],
        scaled_dot_product(q, k, v, mask)[i, c],
        (i, n),
        (c, d_v),
        given=(order,),
        conventions=OURS,
    )


@false("a masked key has no influence on other queries", scaled_dot_product, "the two sides differ by|≠ 0")
def _() -> Theorem:
    place, other = given("r", domain="integer", below=m), given("u", d_v)
    changed = each(case(eq(j, place), other[c], v[j, c]), (j, m), (c, d_v))
    return equal(
        scaled_dot_product(q, k, changed, mask)[i, c],
        scaled_dot_product(q, k, v, mask)[i, c],
        (i, n),
        (c, d_v),
        where=~mask[0, place],
        given=(place, other),
        conventions=OURS,
    )


@false(
    "outputs stay below the largest value even without a permitted key",
    scaled_dot_product,
    "at least one index",
)
def _() -> Theorem:
    direction = given("u", d_v)
    far = Max(Sum(direction[c] * v[j, c], (c, 0, d_v - 1)), (j, 0, m - 1), where=mask[i, j])
    left = Sum(direction[c] * scaled_dot_product(q, k, v, mask)[i, c], (c, 0, d_v - 1))
    return Theorem("claimed", "", (claim(left, "<=", far, (i, n)),), given=(direction,), conventions=OURS)


@false("a future key has no influence, shifted by one", causal, "the two sides differ by|≠ 0|stays in")
def _() -> Theorem:
    later = given("u", m, d_v)
    changed = each(case(le(j, r), v[j, c], later[j, c]), (j, m), (c, d_v))
    return equal(
        causal(q, k, changed)[i, c],
        causal(q, k, v)[i, c],
        (i, n),
        (r, m),
        (c, d_v),
        where=le(i + (m - n), r + 1),
        given=(later,),
        conventions=CAUSAL,
    )


@false("the prefix property under the other alignment", causal, "the two sides differ by|≠ 0|stays in")
def _() -> Theorem:
    rows, cols, extra = sizes("rows cols extra")
    return equal(
        causal(first(q, rows, d_k), first(k, cols, d_k), first(v, cols, d_v))[i, c],
        causal(q, k, v)[i, c],
        (i, rows),
        (c, d_v),
        sizes={n: rows + extra, m: cols + extra},
        conventions={"alignment": "upper_left", "fully_masked": "zero"},
    )


@false("an existential theorem by derivation", causal, "an existential theorem is shown by a witness")
def _() -> Theorem:
    return equal(
        causal(q, k, v)[i, c], causal(q, k, v)[i, c], (i, n), (c, d_v), exists=True, conventions=CAUSAL
    )


@false("a witness that shows nothing", causal, "the two sides agree")
def _() -> Theorem:
    point = {"n": 1, "m": 1, "d_k": 1, "d_v": 1, "q": [[0.0]], "k": [[0.0]], "v": [[0.0]]}
    one = claim(causal(q, k, v)[i, c], "=", 2 * causal(q, k, v)[i, c], (i, n), (c, d_v))
    return Theorem(
        "claimed", "", (one.proved(derive().by_witness(**point)),), exists=True, conventions=CAUSAL
    )


# Scores -------------------------------------------------------------------------------------------------------------------


@false("the scaled score has variance d_k", scaled_dot, "the two sides differ by")
def _() -> Theorem:
    return equal(expected(scaled_dot(q, k)[i, j] ** 2, q, k), d_k, (i, n), (j, m))


@false("the fourth moment from mean and variance", dot, "a moment of order 4")
def _() -> Theorem:
    return equal(expected(dot(q, k)[i, j] ** 4, q, k), 3 * d_k**2, (i, n), (j, m))


@false("the expectation of an exponential", dot, "something other than a polynomial")
def _() -> Theorem:
    return equal(expected(exp(dot(q, k)[i, j]), q, k), 1, (i, n), (j, m))


@false("scores of one query with itself are uncorrelated", dot, "the two sides differ by")
def _() -> Theorem:
    return equal(expected(dot(q, k)[i, j] * dot(q, k)[i, l], q, k), 0, (i, n), (j, m), (l, m))


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused_with_a_reason(name: str) -> None:
    """Each is close to a true one: a sign, an index, an assumption, a factor."""
    refused(FALSE, name)
