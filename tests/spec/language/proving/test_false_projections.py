"""False theorems about similarity, embedding, the further scores and projected attention are refused, with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from spec.attention import multi_head as heads
from spec.attention import self as alone
from spec.attention.cross import W_k, W_q, W_v, cross, d_k, d_model, d_v, e, i, j, l, m, mask, n, x, y, z
from spec.attention.multi_head import W_o, multi_head
from spec.attention.self import self_
from spec.embedding.token import E, V, d, ids, token
from spec.embedding.token import c as column
from spec.embedding.token import i as spot
from spec.embedding.token import l as other_spot
from spec.embedding.token import n as spots
from spec.embedding.token import t as row
from spec.embedding.token import x as found
from spec.language import (
    Applied,
    Some,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    delta,
    each,
    eq,
    given,
    lift,
    lt,
    tanh,
)
from spec.scores import additive as network
from spec.scores import cosine as angles
from spec.scores import general as bilinear
from spec.scores import location as places
from spec.scores.dot import dot as dot_score
from spec.similarity import cosine as similarity
from spec.similarity.cosine import cosine, xhat, yhat
from spec.similarity.dot import dot
from spec.similarity.dot import j as entry
from spec.similarity.dot import l as other_entry
from spec.vocabulary import Rational, floor
from tests.spec.language.proving.claims import Register, a, equal, refused, register_in

FALSE: Register = {}
false = register_in(FALSE)
OURS = {"polarity": "true_attends", "fully_masked": "zero"}
ZERO = {"zero_vector": "zero"}

# Similarity ---------------------------------------------------------------------------------------------------------------

one, other = similarity.x, similarity.y
angle = lift(cosine(one, other))
neither_zero = lt(0, similarity.x_norm) & lt(0, similarity.y_norm)
apart = Sum((xhat[entry] - yhat[entry]) ** 2, entry) / 2


@false("cosines are at most 0.9", cosine, "differs from the gap")
def _() -> Theorem:
    bound = claim(angle, "<=", Rational(9, 10), where=neither_zero)
    return Theorem("claimed", "", (bound.because("half the squared distance", gap=apart),))


@false("a gap too small by a factor", cosine, "differs from the gap")
def _() -> Theorem:
    bound = claim(angle, "<=", 1, where=neither_zero)
    return Theorem("claimed", "", (bound.because("half the squared distance", gap=apart / 2),))


@false("the cosine of every vector with itself is 1", cosine, "≠ 0|differ by")
def _() -> Theorem:
    return equal(cosine(one, one), 1, conventions=ZERO)


@false("the cosine with a zero vector is specified", cosine, "says nothing about its value")
def _() -> Theorem:
    return equal(angle, angle, conventions={"zero_vector": "unspecified"})


@false("any factor leaves the cosine as it is", cosine, "the two sides differ by")
def _() -> Theorem:
    scaled = cosine(each(a * one[entry], entry), other)
    return equal(scaled, angle, given=(a,), conventions=ZERO)


@false("a positive factor that depends on the entry", cosine, "the two sides differ by|≠ 0")
def _() -> Theorem:
    b = given("b", similarity.d, domain="positive")
    scaled = cosine(each(b[entry] * one[entry], entry), other)
    return equal(scaled, angle, given=(b,), conventions=ZERO)


@false("an inner product is at most the product of the squared lengths", dot, "differs from the gap")
def _() -> Theorem:
    crossed = one[entry] * other[other_entry] - one[other_entry] * other[entry]
    bound = claim(dot(one, other), "<=", dot(one, one) * dot(other, other))
    gap = Sum(crossed**2, entry, other_entry) / 2
    return Theorem("claimed", "", (bound.because("Lagrange's identity", gap=gap),))


# Embedding ----------------------------------------------------------------------------------------------------------------

g, E_other = given("g", spots, d), given("E_other", V, d)
looked_up = Some(eq(ids[other_spot], row), other_spot)
pulled = token(ids, E).pullback(g, E)


@false("every row gets a gradient from one place only", token, "the two sides differ by|≠ 0|stays in")
def _() -> Theorem:
    return equal(pulled[row, column], case(looked_up, g[0, column]), given=(g,))


@false("no row gets a gradient", token, "the two sides differ by")
def _() -> Theorem:
    return equal(pulled[row, column], 0, given=(g,))


@false("rows that are looked up have no influence", token, "the two sides differ by")
def _() -> Theorem:
    changed = each(case(looked_up, E_other[row, column], E[row, column]), row, column)
    return equal(token(ids, changed)[spot, column], found[spot, column], given=(E_other,))


@false("the table's column is looked up", token, "stays in|differ by")
def _() -> Theorem:
    picked = Sum(delta(row, ids[spot]) * E[column, row], (row, d))
    return equal(found[spot, column], picked)


# Scores -------------------------------------------------------------------------------------------------------------------

general, k = bilinear.general, bilinear.k
across, down = bilinear.l, bilinear.e
square_q = each(bilinear.q[i, down], i, down)
SQUARE = {bilinear.d_q: d_k}


@false("W transposed gives the same score", general, "the two sides differ by")
def _() -> Theorem:
    W = bilinear.W
    as_given = each(W[down, across], down, across)
    turned = each(W[across, down], down, across)
    return equal(general(square_q, k, as_given)[i, j], general(square_q, k, turned)[i, j], sizes=SQUARE)


@false("a diagonal of ones is not needed for the dot product", general, "the two sides differ by")
def _() -> Theorem:
    ones = each(1, down, across)
    return equal(general(square_q, k, ones)[i, j], dot_score(square_q, k)[i, j], sizes=SQUARE)


additive, score, unit = network.additive, network.s[i, j], network.l
v, W, d_q = network.v, network.W, network.d_q


@false("additive splits with the key's columns first", additive, "the two sides differ by")
def _() -> Theorem:
    of_key = Sum(W[unit, network.e] * network.k[j, network.e], network.e)
    of_query = Sum(W[unit, d_k + network.c] * network.q[i, network.c], network.c)
    return equal(score, Sum(v[unit] * tanh(of_query + of_key), unit))


@false("additive splits into two hyperbolic tangents", additive, "the two sides differ by")
def _() -> Theorem:
    of_query, of_key = network.from_q[i, unit], network.from_k[j, unit]
    return equal(score, Sum(v[unit] * (tanh(of_query) + tanh(of_key)), unit))


@false("additive scores are at most the sum of v", additive, "is not visible from its form")
def _() -> Theorem:
    bound = Sum(v[unit], unit)
    made = claim(score, "<=", bound).because("no hidden unit exceeds 1", gap=bound - score)
    return Theorem("claimed", "", (made,))


@false("additive scores are at most half the sum of |v|", additive, "is not visible from its form")
def _() -> Theorem:
    bound = Sum(absolute(v[unit]), unit) / 2
    made = claim(score, "<=", bound).because("no hidden unit exceeds 1", gap=bound - score)
    return Theorem("claimed", "", (made,))


@false("location-based weights sum to 1 over the queries", places.location, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(places.a[i, j], i), 1)


@false("a shift of one row changes no weight", places.location, "the two sides differ by|≠ 0")
def _() -> Theorem:
    shift, query = given("b", m, places.d_q), places.c
    moved = each(places.W[j, query] + shift[j, query], j, query)
    return equal(places.location(places.q, moved)[i, j], places.a[i, j], given=(shift,))


@false("cosine scores are dot products", angles.cosine, "the two sides differ by|≠ 0")
def _() -> Theorem:
    return equal(angles.s[i, j], dot_score(angles.q, angles.k)[i, j], conventions=ZERO)


# Projected attention ------------------------------------------------------------------------------------------------------

i_, j_ = alone.i, alone.j
pi, sigma = given("pi", n, domain="permutation"), given("sigma", heads.h, domain="permutation")
some_key = Some(mask[i, j], j)
permuted = each(x[pi[i_], l], i_, l)


@false("self-attention ignores the order of the mask", self_, "the two sides differ by")
def _() -> Theorem:
    moved = self_(permuted, W_q, W_k, W_v, alone.mask)
    return equal(moved[i_, e], alone.z[pi[i_], e], given=(pi,), conventions=OURS)


@false("self-attention is invariant under permutations", self_, "the two sides differ by")
def _() -> Theorem:
    turned = each(alone.mask[pi[i_], pi[j_]], i_, j_)
    moved = self_(permuted, W_q, W_k, W_v, turned)
    return equal(moved[i_, e], alone.z[i_, e], given=(pi,), conventions=OURS)


@false("queries and keys may be exchanged", cross, "the two sides differ by")
def _() -> Theorem:
    square = mask[:, :n]
    right, exchanged = cross(x, x, W_q, W_k, W_v, square), cross(x, x, W_k, W_q, W_v, square)
    return equal(right[i, e], exchanged[i, e], sizes={m: n}, conventions=OURS)


@false("a masked query has no influence on its own output", cross, "the two sides differ by")
def _() -> Theorem:
    r, y_other = given("r", domain="integer", below=m), given("y_other", d_model)
    moved = cross(x, each(case(eq(j, r), y_other[l], y[j, l]), j, l), W_q, W_k, W_v, mask)
    return equal(moved[i, e], z[i, e], given=(r, y_other), conventions=OURS)


def in_order(array: Any) -> Any:
    """The heads' projections in another order."""
    t, across = heads.t, heads.c if array.shape[-1] == d_k else heads.e
    return each(array[sigma[t], l, across], t, l, across)


def one_head(t: Any) -> Applied:
    """Cross-attention with the matrices of one head."""
    return cross(x, y, heads.W_q[t], heads.W_k[t], heads.W_v[t], mask)


@false("heads are exchanged without their blocks of W_o", multi_head, "the two sides differ by")
def _() -> Theorem:
    moved = multi_head(x, y, *map(in_order, (heads.W_q, heads.W_k, heads.W_v)), W_o, mask)
    return equal(moved[i, l], heads.z[i, l], given=(sigma,), conventions=OURS)


@false("blocks of W_o are exchanged, but not the heads' values", multi_head, "the two sides differ by")
def _() -> Theorem:
    b, block = heads.b, floor(heads.b / d_v)
    turned = each(W_o[sigma[block] * d_v + (b - d_v * block), l], b, l)
    moved = multi_head(x, y, in_order(heads.W_q), in_order(heads.W_k), heads.W_v, turned, mask)
    return equal(moved[i, l], heads.z[i, l], given=(sigma,), conventions=OURS)


@false("columns of the concatenation belong to columns first", multi_head, "the two sides differ by|stays in")
def _() -> Theorem:
    t, h = heads.t, heads.h
    interleaved = Sum(one_head(t)[i, e] * W_o[e * h + t, l], t, e)
    return equal(heads.z[i, l], interleaved, where=some_key, conventions=OURS)


@false("the first head is all there is", multi_head, "the two sides differ by")
def _() -> Theorem:
    only = Sum(one_head(0)[i, e] * W_o[e, l], e)
    return equal(heads.z[i, l], only, where=some_key, conventions=OURS)


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused(name: str) -> None:
    """With one line that names the step and what is wrong with it."""
    refused(FALSE, name)
