"""False theorems about similarity, embedding, the further scores and projected attention are refused, with a reason."""

from __future__ import annotations

import pytest
import sympy
from spec.attention.heads_theorems import another, exchanged, heads, of_head
from spec.attention.projections import (
    H_k,
    H_q,
    H_v,
    W_k,
    W_o,
    W_q,
    W_v,
    cross,
    d_model,
    h,
    multi_head,
    self_,
    square,
    x,
    y,
)
from spec.attention.projections_theorems import replaced
from spec.attention.weights import d_k, d_v, has_key, m, mask, n
from spec.scores.networks import W, W_l, additive, location, v
from spec.scores.networks import a as units
from spec.scores.products import cosine, d_q, dot, general, k, q, wide_q
from spec.similarity_theorems import apart, neither_zero

from spec import embedding, similarity
from spec.language import (
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    delta,
    derive,
    each,
    given,
    lift,
    tanh,
)
from spec.scores import products
from tests.spec.language.proving.claims import Register, a, c, equal, i, j, l, r, refused, register_in, t

FALSE: Register = {}
false = register_in(FALSE)
OURS = {"polarity": "true_attends", "fully_masked": "zero"}
ZERO = {"zero_vector": "zero"}

# Similarity ---------------------------------------------------------------------------------------------------------------

u, p, d = similarity.x, similarity.y, similarity.d
angle = similarity.cosine(u, p)[()]


@false("cosines are at most 0.9", similarity.cosine, "differs from the gap")
def _() -> Theorem:
    most = lift(sympy.Rational(9, 10))
    return Theorem(
        "claimed",
        "",
        (claim(angle, "<=", most, where=neither_zero).proved(derive().because("so it is", gap=apart)),),
    )


@false("a gap too small by a factor", similarity.cosine, "differs from the gap")
def _() -> Theorem:
    return Theorem(
        "claimed",
        "",
        (claim(angle, "<=", 1, where=neither_zero).proved(derive().because("so it is", gap=apart / 2)),),
    )


@false("the cosine of every vector with itself is 1", similarity.cosine, "≠ 0|differ by")
def _() -> Theorem:
    return equal(similarity.cosine(u, u)[()], 1, conventions=ZERO)


@false("the cosine with a zero vector is specified", similarity.cosine, "says nothing about its value")
def _() -> Theorem:
    return equal(angle, angle, conventions={"zero_vector": "unspecified"})


@false("any factor leaves the cosine as it is", similarity.cosine, "the two sides differ by")
def _() -> Theorem:
    scaled = similarity.cosine(each(a * u[j], (j, d)), p)[()]
    return equal(scaled, angle, given=(a,), conventions=ZERO)


@false("a positive factor that depends on the entry", similarity.cosine, "the two sides differ by|≠ 0")
def _() -> Theorem:
    b = given("b", d, domain="positive")
    scaled = similarity.cosine(each(b[j] * u[j], (j, d)), p)[()]
    return equal(scaled, angle, given=(b,), conventions=ZERO)


@false(
    "an inner product is at most the product of the squared lengths", similarity.dot, "differs from the gap"
)
def _() -> Theorem:
    gap = Sum(Sum((u[j] * p[l] - u[l] * p[j]) ** 2, (l, 0, d - 1)), (j, 0, d - 1)) / 2
    inner = similarity.dot(u, p)[()]
    bound = similarity.dot(u, u)[()] * similarity.dot(p, p)[()]
    return Theorem("claimed", "", (claim(inner, "<=", bound).proved(derive().because("so it is", gap=gap)),))


# Embedding ----------------------------------------------------------------------------------------------------------------

ids, E, words, places, width = embedding.ids, embedding.E, embedding.V, embedding.n, embedding.d
row = embedding.token(ids, E)
g = given("g", places, width)


@false(
    "every row gets a gradient from one place only", embedding.token, "the two sides differ by|≠ 0|stays in"
)
def _() -> Theorem:
    one = case(embedding.looked_up, g[0, c])
    return equal(row.pullback(g, "E")[t, c], one, (t, words), (c, width), given=(g,))


@false("no row gets a gradient", embedding.token, "the two sides differ by")
def _() -> Theorem:
    return equal(row.pullback(g, "E")[t, c], 0, (t, words), (c, width), given=(g,))


@false("rows that are looked up have no influence", embedding.token, "the two sides differ by")
def _() -> Theorem:
    other = given("E_other", words, width)
    changed = each(case(embedding.looked_up, other[t, c], E[t, c]), (t, words), (c, width))
    return equal(embedding.token(ids, changed)[i, c], row[i, c], (i, places), (c, width), given=(other,))


@false("the table's column is looked up", embedding.token, "stays in|differ by")
def _() -> Theorem:
    picked = Sum(delta(t, ids[i]) * E[c, t], (t, 0, width - 1))
    return equal(row[i, c], picked, (i, places), (c, width))


# Scores -------------------------------------------------------------------------------------------------------------------


@false("W transposed gives the same score", general, "the two sides differ by")
def _() -> Theorem:
    own = each(wide_q[i, c], (i, n), (c, d_k))
    given_ = each(products.W[c, l], (c, d_k), (l, d_k))
    turned = each(products.W[l, c], (c, d_k), (l, d_k))
    return equal(
        general(own, k, given_)[i, j], general(own, k, turned)[i, j], (i, n), (j, m), sizes={d_q: d_k}
    )


@false("a diagonal of ones is not needed for the dot product", general, "the two sides differ by")
def _() -> Theorem:
    own = each(wide_q[i, c], (i, n), (c, d_k))
    ones = each(1, (c, d_k), (l, d_k))
    return equal(general(own, k, ones)[i, j], dot(own, k)[i, j], (i, n), (j, m), sizes={d_q: d_k})


@false("additive splits with the key's columns first", additive, "the two sides differ by")
def _() -> Theorem:
    from_key = Sum(W[l, c] * k[j, c], (c, 0, d_k - 1))
    from_query = Sum(W[l, d_k + c] * wide_q[i, c], (c, 0, d_q - 1))
    split = Sum(v[l] * tanh(from_query + from_key), (l, 0, units - 1))
    return equal(additive(wide_q, k, W, v)[i, j], split, (i, n), (j, m))


@false("additive splits into two hyperbolic tangents", additive, "the two sides differ by")
def _() -> Theorem:
    from_query = Sum(W[l, c] * wide_q[i, c], (c, 0, d_q - 1))
    from_key = Sum(W[l, d_q + c] * k[j, c], (c, 0, d_k - 1))
    split = Sum(v[l] * (tanh(from_query) + tanh(from_key)), (l, 0, units - 1))
    return equal(additive(wide_q, k, W, v)[i, j], split, (i, n), (j, m))


@false("additive scores are at most the sum of v", additive, "is not visible from its form")
def _() -> Theorem:
    score = additive(wide_q, k, W, v)[i, j]
    bound = Sum(v[l], (l, 0, units - 1))
    return Theorem(
        "claimed",
        "",
        (claim(score, "<=", bound, (i, n), (j, m)).proved(derive().because("so it is", gap=bound - score)),),
    )


@false("additive scores are at most half the sum of |v|", additive, "is not visible from its form")
def _() -> Theorem:
    score = additive(wide_q, k, W, v)[i, j]
    bound = Sum(absolute(v[l]), (l, 0, units - 1)) / 2
    return Theorem(
        "claimed",
        "",
        (claim(score, "<=", bound, (i, n), (j, m)).proved(derive().because("so it is", gap=bound - score)),),
    )


@false("location-based weights sum to 1 over the queries", location, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(location(wide_q, W_l)[i, j], (i, 0, n - 1)), 1, (j, m))


@false("a shift of one row changes no weight", location, "the two sides differ by|≠ 0")
def _() -> Theorem:
    shift = given("b", m, d_q)
    moved = each(W_l[j, c] + shift[j, c], (j, m), (c, d_q))
    return equal(location(wide_q, moved)[i, j], location(wide_q, W_l)[i, j], (i, n), (j, m), given=(shift,))


@false("cosine scores are dot products", cosine, "the two sides differ by|≠ 0")
def _() -> Theorem:
    return equal(cosine(q, k)[i, j], dot(q, k)[i, j], (i, n), (j, m), conventions=ZERO)


# Projected attention ------------------------------------------------------------------------------------------------------

order = given("pi", n, domain="permutation")


@false("self-attention ignores the order of the mask", self_, "the two sides differ by")
def _() -> Theorem:
    moved = each(x[order[i], l], (i, n), (l, d_model))
    return equal(
        self_(moved, W_q, W_k, W_v, square)[i, c],
        self_(x, W_q, W_k, W_v, square)[order[i], c],
        (i, n),
        (c, d_v),
        given=(order,),
        conventions=OURS,
    )


@false("self-attention is invariant under permutations", self_, "the two sides differ by")
def _() -> Theorem:
    moved = each(x[order[i], l], (i, n), (l, d_model))
    turned = each(square[order[i], order[j]], (i, n), (j, n))
    return equal(
        self_(moved, W_q, W_k, W_v, turned)[i, c],
        self_(x, W_q, W_k, W_v, square)[i, c],
        (i, n),
        (c, d_v),
        given=(order,),
        conventions=OURS,
    )


@false("queries and keys may be exchanged", cross, "the two sides differ by")
def _() -> Theorem:
    turned = each(mask[i, j], (i, n), (j, n))
    return equal(
        cross(x, x, W_q, W_k, W_v, turned)[i, c],
        cross(x, x, W_k, W_q, W_v, turned)[i, c],
        (i, n),
        (c, d_v),
        sizes={m: n},
        conventions=OURS,
    )


@false("a masked query has no influence on its own output", cross, "the two sides differ by")
def _() -> Theorem:
    return equal(
        cross(x, replaced(), W_q, W_k, W_v, mask)[i, c],
        cross(x, y, W_q, W_k, W_v, mask)[i, c],
        (i, n),
        (c, d_v),
        given=(given("s", domain="integer", below=m), given("y_other", d_model)),
        conventions=OURS,
    )


@false("heads are exchanged without their blocks of W_o", multi_head, "the two sides differ by")
def _() -> Theorem:
    moved = multi_head(x, y, exchanged(H_q, d_k), exchanged(H_k, d_k), exchanged(H_v, d_v), W_o, mask)
    return equal(moved[i, c], heads[i, c], (i, n), (c, d_model), given=(another,), conventions=OURS)


@false("blocks of W_o are exchanged, but not the heads' values", multi_head, "the two sides differ by")
def _() -> Theorem:
    block = sympy.floor(r / d_v)
    turned = each(W_o[another[block] * d_v + (r - d_v * block), c], (r, h * d_v), (c, d_model))
    moved = multi_head(x, y, exchanged(H_q, d_k), exchanged(H_k, d_k), H_v, turned, mask)
    return equal(moved[i, c], heads[i, c], (i, n), (c, d_model), given=(another,), conventions=OURS)


@false("columns of the concatenation belong to columns first", multi_head, "the two sides differ by|stays in")
def _() -> Theorem:
    one = cross(x, y, of_head(H_q, t, d_k), of_head(H_k, t, d_k), of_head(H_v, t, d_v), mask)[i, c]
    interleaved = Sum(Sum(one * W_o[c * h + t, r], (c, 0, d_v - 1)), (t, 0, h - 1))
    return equal(heads[i, r], interleaved, (i, n), (r, d_model), where=has_key(i), conventions=OURS)


@false("the first head is all there is", multi_head, "the two sides differ by")
def _() -> Theorem:
    first = (of_head(array, sympy.S.Zero, size) for array, size in ((H_q, d_k), (H_k, d_k), (H_v, d_v)))
    only = Sum(cross(x, y, *first, mask)[i, c] * W_o[c, r], (c, 0, d_v - 1))
    return equal(heads[i, r], only, (i, n), (r, d_model), where=has_key(i), conventions=OURS)


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused(name: str) -> None:
    """With one line that names the step and what is wrong with it."""
    refused(FALSE, name)
