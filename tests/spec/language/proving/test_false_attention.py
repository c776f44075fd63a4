"""False theorems about scores and attention are refused, each with a reason that a reader understands."""

from __future__ import annotations

import pytest

from spec.attention.causal import causal
from spec.attention.scaled_dot_product import c, d_k, d_v, e, i, j, k, l, m, n, q, scaled_dot_product, v
from spec.attention.softmax import mask, s, softmax
from spec.language import (
    Max,
    Some,
    Sum,
    Theorem,
    case,
    claim,
    each,
    eq,
    exp,
    expected,
    given,
    indices,
    le,
    lift,
    sizes,
)
from spec.scores.dot import dot
from spec.scores.scaled_dot import scaled_dot
from spec.vocabulary import Rational
from tests.spec.language.proving.claims import Register, equal, refused, register_in

OURS = {"polarity": "true_attends", "fully_masked": "zero"}
CAUSAL = {"alignment": "lower_right", "fully_masked": "zero"}
UPPER_LEFT = {**CAUSAL, "alignment": "upper_left"}

FALSE: Register = {}
false = register_in(FALSE)

# Softmax ------------------------------------------------------------------------------------------------------------------

g = given("g", n, m)
weights, some_key = softmax(s, mask), Some(mask[i, l], l)
total = Sum(exp(s[i, l]), l, where=mask[i, l])
others = Sum(exp(s[i, l]), l, where=mask[i, l] & ~eq(l, j))


@false("masked softmax sums to 1 for every mask", softmax, r"exp\(s\[i,j\]\) ≠ 0")
def _() -> Theorem:
    return equal(Sum(weights[i, j], j), 1, conventions=OURS)


@false(
    "softmax without a mask argument sums to 1 only for a nonempty row: a wrong total",
    softmax,
    "the two sides differ by",
)
def _() -> Theorem:
    return equal(Sum(weights[i, j], j), 2, where=some_key, conventions=OURS)


@false("rows without a permitted key get equal weights", softmax, "differ by|≠ 0")
def _() -> Theorem:
    return equal(weights[i, j], 1 / m, where=~some_key, conventions=OURS)


@false("softmax is invariant under scaling", softmax, "the two sides differ by")
def _() -> Theorem:
    factor = given("factor")
    scaled = softmax(each(factor * s[i, j], i, j), mask)
    return equal(scaled[i, j], weights[i, j], given=(factor,), conventions=OURS)


@false("softmax is invariant under a shift that depends on the key", softmax, "the two sides differ by")
def _() -> Theorem:
    shift = given("t", m)
    moved = softmax(each(s[i, j] + shift[j], i, j), mask)
    return equal(moved[i, j], weights[i, j], given=(shift,), conventions=OURS)


@false("wrong sign in the Jacobian", softmax, "the two sides differ by")
def _() -> Theorem:
    wrong = weights[i, j] * (g[i, j] + Sum(g[i, l] * weights[i, l], l))
    return equal(weights.pullback(g, s)[i, j], wrong, given=(g,), conventions=OURS)


@false("a swapped index in the Jacobian", softmax, "the two sides differ by|stays in")
def _() -> Theorem:
    wrong = weights[i, j] * (g[i, j] - Sum(g[i, j] * weights[i, l], l))
    return equal(weights.pullback(g, s)[i, j], wrong, given=(g,), conventions=OURS)


@false("the Jacobian without its rank-one part", softmax, "the two sides differ by")
def _() -> Theorem:
    return equal(weights.pullback(g, s)[i, j], weights[i, j] * g[i, j], given=(g,), conventions=OURS)


@false("weights are at most one half", softmax, "≥ 0 is not visible|differs from the gap")
def _() -> Theorem:
    half = lift(Rational(1, 2))
    missing = case(mask[i, j], others / total, half)
    one = claim(weights[i, j], "<=", half).because("what is missing is not negative", gap=missing)
    return Theorem("claimed", "", (one,), conventions=OURS)


@false("a gap that is not visibly at least 0", softmax, "is not visible from its form")
def _() -> Theorem:
    one = claim(1, "<=", weights[i, j]).because("a weight is at least 1", gap=weights[i, j] - 1)
    return Theorem("claimed", "", (one,), conventions=OURS)


@false("a broken step in the middle of a right theorem", softmax, r"step 2 of 3 .*the two sides differ by")
def _() -> Theorem:
    one = (
        claim(Sum(weights[i, j], j), "=", 1, where=some_key)
        .step(Sum(exp(s[i, j]) / total, j, where=mask[i, j]), "right")
        .step(Sum(exp(s[i, j]), j) / total, "the mask forgotten")
    )
    return Theorem("claimed", "", (one,), conventions=OURS)


@false("an unspecified row has a value", softmax, "the statement says nothing about its value")
def _() -> Theorem:
    return equal(weights[i, j], weights[i, j], conventions={**OURS, "fully_masked": "unspecified"})


# Attention ----------------------------------------------------------------------------------------------------------------

pi, r = given("pi", m, domain="permutation"), given("r", domain="integer", below=m)
attended = scaled_dot_product(q, k, v, mask)


@false("key permutation without permuting the mask", scaled_dot_product, "the two sides differ by|≠ 0")
def _() -> Theorem:
    permuted = scaled_dot_product(q, each(k[pi[j], c], j, c), each(v[pi[j], e], j, e), mask)
    return equal(permuted[i, e], attended[i, e], given=(pi,), conventions=OURS)


@false("key permutation by a map that is not one to one", scaled_dot_product, "the two sides differ by|≠ 0")
def _() -> Theorem:
    order = given("pi", m, domain="integer", below=m)
    permuted = scaled_dot_product(
        q, each(k[order[j], c], j, c), each(v[order[j], e], j, e), each(mask[i, order[j]], i, j)
    )
    return equal(permuted[i, e], attended[i, e], given=(order,), conventions=OURS)


@false("a masked key has no influence on other queries", scaled_dot_product, "the two sides differ by|≠ 0")
def _() -> Theorem:
    other = given("u", d_v)
    changed = scaled_dot_product(q, k, each(case(eq(j, r), other[e], v[j, e]), j, e), mask)
    return equal(changed[i, e], attended[i, e], where=~mask[0, r], given=(r, other), conventions=OURS)


@false(
    "outputs stay below the largest value even without a permitted key",
    scaled_dot_product,
    "at least one index",
)
def _() -> Theorem:
    direction = given("u", d_v)
    far = Max(Sum(direction[e] * v[j, e], e), j, where=mask[i, j])
    one = claim(Sum(direction[e] * attended[i, e], e), "<=", far)
    return Theorem("claimed", "", (one,), given=(direction,), conventions=OURS)


@false("a future key has no influence, shifted by one", causal, "the two sides differ by|≠ 0|stays in")
def _() -> Theorem:
    later, (last,) = given("u", m, d_v), indices(r=m)
    changed = causal(q, k, each(case(le(j, last), v[j, e], later[j, e]), j, e))
    seen = le(i + (m - n), last + 1)
    return equal(changed[i, e], causal(q, k, v)[i, e], where=seen, given=(later,), conventions=CAUSAL)


@false("the prefix property under the other alignment", causal, "the two sides differ by|≠ 0|stays in")
def _() -> Theorem:
    rows, cols, extra = sizes("rows cols extra")
    return equal(
        causal(q[:rows], k[:cols], v[:cols])[i, e],
        causal(q, k, v)[i, e],
        (i, rows),
        e,
        sizes={n: rows + extra, m: cols + extra},
        conventions=UPPER_LEFT,
    )


@false("an existential theorem by derivation", causal, "an existential theorem is shown by a witness")
def _() -> Theorem:
    return equal(causal(q, k, v)[i, e], causal(q, k, v)[i, e], exists=True, conventions=CAUSAL)


@false("a witness that shows nothing", causal, "the two sides agree")
def _() -> Theorem:
    one = claim(causal(q, k, v)[i, e], "=", 2 * causal(q, k, v)[i, e])
    shown = one.by_witness(n=1, m=1, d_k=1, d_v=1, q=[[0.0]], k=[[0.0]], v=[[0.0]])
    return Theorem("claimed", "", (shown,), exists=True, conventions=CAUSAL)


# Scores -------------------------------------------------------------------------------------------------------------------


@false("the scaled score has variance d_k", scaled_dot, "the two sides differ by")
def _() -> Theorem:
    return equal(expected(scaled_dot(q, k)[i, j] ** 2, q, k), d_k)


@false("the fourth moment from mean and variance", dot, "a moment of order 4")
def _() -> Theorem:
    return equal(expected(dot(q, k)[i, j] ** 4, q, k), 3 * d_k**2)


@false("the expectation of an exponential", dot, "something other than a polynomial")
def _() -> Theorem:
    return equal(expected(exp(dot(q, k)[i, j]), q, k), 1)


@false("scores of one query with itself are uncorrelated", dot, "the two sides differ by")
def _() -> Theorem:
    return equal(expected(dot(q, k)[i, j] * dot(q, k)[i, l], q, k), 0)


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused_with_a_reason(name: str) -> None:
    """Each is close to a true one: a sign, an index, an assumption, a factor."""
    refused(FALSE, name)
