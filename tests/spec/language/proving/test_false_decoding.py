"""False theorems about hard and local attention, the decoder steps, sampling and distillation are refused, each with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from spec.attention import bahdanau_step as bahdanau
from spec.attention import local as near_by
from spec.attention import luong_step as luong
from spec.attention.hard import a as law
from spec.attention.hard import hard
from spec.attention.local import D, G, W_p, a_all, local, u, v_p, z
from spec.attention.log_weights import log_weights
from spec.attention.scaled_dot_product import c, d_k, d_v, e, i, j, k, l, m, mask, n, q, scaled_dot_product, v
from spec.attention.softmax import softmax
from spec.decoding import sample as sampling
from spec.language import (
    Applied,
    Formula,
    Some,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    each,
    eq,
    exp,
    given,
    le,
    lift,
    lt,
)
from spec.objectives import distillation as distilling
from tests.spec.language.proving.claims import Register, equal, refused, register_in

OURS = {"polarity": "true_attends", "fully_masked": "zero"}

FALSE: Register = {}
false = register_in(FALSE)

# Hard attention -----------------------------------------------------------------------------------------------------------

t, r = given("t", n, m), given("r", n, m)  # scores that a query draws by, and its reward for each key
p, estimate = softmax(t, mask), log_weights(t, mask)
gradient = p.pullback(r, "s")


@false("the probabilities of any query sum to 1", hard, "≠ 0|differ")
def _() -> Theorem:
    return equal(Sum(law[i, j], j), 1, conventions=OURS)


@false("the expected context is the plain mean of the values", hard, "differ|≠ 0")
def _() -> Theorem:
    expected = Sum(law[i, j] * v[j, e], j)
    return equal(expected, Sum(v[j, e], j) / m, conventions=OURS, where=Some(mask[i, l], l))


@false("the expected square is the square of soft attention", hard, "differ")
def _() -> Theorem:
    soft = scaled_dot_product(q, k, v, mask)[i, e]
    squares = Sum(law[i, j] * v[j, e] ** 2, j, where=mask[i, j])
    return equal(squares, soft**2, conventions=OURS)


@false("the score function without the weights", hard, "differ")
def _() -> Theorem:
    unweighted = estimate.pullback(each(r[i, j], i, j), "s")
    return equal(unweighted[i, l], gradient[i, l], given=(t, r), conventions=OURS)


@false("a baseline that depends on the draw adds nothing", hard, "differ")
def _() -> Theorem:
    b = given("b", n, m)
    estimated = estimate.pullback(each(p[i, j] * (r[i, j] - b[i, j]), i, j), "s")
    return equal(estimated[i, l], gradient[i, l], given=(t, r, b), conventions=OURS)


# Local attention ----------------------------------------------------------------------------------------------------------

CUT, WHOLE = {**OURS, "window": "cut"}, {**OURS, "window": "whole"}
position, alpha = near_by.p, near_by.alpha
others = spot, other_k, other_v = (
    given("r", domain="integer", below=m),
    given("k_other", d_k),
    given("v_other", d_v),
)
replaced = local(
    q,
    each(case(eq(j, spot), other_k[c], k[j, c]), j, c),
    each(case(eq(j, spot), other_v[e], v[j, e]), j, e),
    W_p,
    v_p,
    D,
    mask,
)
away = absolute(spot - position[i])


def with_window(half: Any) -> Applied:
    """The weights where the window is so wide to each side."""
    return local(q, k, v, W_p, v_p, half, mask).output("alpha")


@false("the position is at most the last key", local, "differ")
def _() -> Theorem:
    return equal(case(le(position[i], m - 1), 1), 1, conventions=OURS | {"window": "cut"})


@false("the weights sum to 1 in spite of the Gaussian", local, "differ|≠ 0")
def _() -> Theorem:
    near = Some(mask[i, u] & le(absolute(u - position[i]), D), u)
    return equal(Sum(alpha[i, j], j), 1, where=near, conventions=CUT)


@false("a key at the border of the window has no influence", local, "differ")
def _() -> Theorem:
    return equal(replaced[i, e], z[i, e], given=others, conventions=CUT, where=le(D, away))


@false("a key outside the window has no influence even where nothing is cut", local, "differ")
def _() -> Theorem:
    return equal(replaced[i, e], z[i, e], given=others, conventions=WHOLE, where=lt(D, away))


@false("a window of half the length cuts nothing", local, "differ|≠ 0")
def _() -> Theorem:
    more = given("x", domain="positive")
    gaussian = exp(-2 * ((j - position[i]) ** 2 / (m / 2 + more) ** 2))
    half = with_window(m / 2 + more)
    return equal(half[i, j], a_all[i, j] * gaussian, given=(more,), conventions=CUT)


@false("a wide window is global attention, Gaussian and all", local, "differ")
def _() -> Theorem:
    more = given("x", domain="nonnegative")
    return equal(with_window(m + more)[i, j], a_all[i, j], given=(more,), conventions=CUT)


@false("the approach to global attention, with half the constant", local, "not visible|differs from the gap")
def _() -> Theorem:
    near_one = claim((1 - m**2 / D**2) * a_all[i, j], "<=", alpha[i, j])
    shown = near_one.because("eˣ is at least 1 + x", gap=a_all[i, j] * (G[i, j] - 1 + m**2 / D**2))
    return Theorem("claimed", "", (shown,), conventions=WHOLE)


# Decoder steps ------------------------------------------------------------------------------------------------------------


def step(formula: Formula, annotations: Any, visible: Any) -> Applied:
    """A decoder step over these annotations."""
    put = {"h": annotations, "mask": visible}
    return formula(*(put.get(str(item), item) for item in formula.inputs))


@false("the weights sum to 1 without a permitted annotation", bahdanau.bahdanau_step, "≠ 0|differ")
def _() -> Theorem:
    return equal(Sum(bahdanau.alpha[bahdanau.j], bahdanau.j), 1, conventions=OURS)


@false("permuting the annotations leaves the weights in place", bahdanau.bahdanau_step, "differ")
def _() -> Theorem:
    order, h, f = given("pi", m, domain="permutation"), bahdanau.h, bahdanau.f
    moved = step(bahdanau.bahdanau_step, each(h[order[j], f], j, f), each(bahdanau.mask[order[j]], j))
    return equal(moved.output("alpha")[j], bahdanau.alpha[j], given=(order,), conventions=OURS)


@false("permuting the annotations under a fixed mask changes nothing", luong.luong_step, "differ")
def _() -> Theorem:
    order, b, w = given("pi", m, domain="permutation"), luong.b, luong.w
    moved = step(luong.luong_step, each(luong.h[order[j], b], j, b), luong.mask)
    return equal(moved.output("P")[w], luong.P[w], given=(order,), conventions=OURS)


@false("an annotation has no influence though nothing masks it", luong.luong_step, "differ")
def _() -> Theorem:
    other, b = given("h_other", luong.d), luong.b
    changed = each(case(eq(j, spot), other[b], luong.h[j, b]), j, b)
    moved = step(luong.luong_step, changed, luong.mask)
    return equal(moved.output("alpha")[j], luong.alpha[j], given=(spot, other), conventions=OURS)


@false("the new state exceeds one half in no entry", luong.luong_step, "differ")
def _() -> Theorem:
    return equal(case(lt(2 * luong.s_next[luong.b], 1), 1), 1, conventions=OURS)


@false("a broken step in a true derivation", hard, "step 1 of 2")
def _() -> Theorem:
    soft = scaled_dot_product(q, k, v, mask)[i, e]
    one = claim(Sum(law[i, j] * v[j, e], j, where=mask[i, j]), "=", soft)
    return Theorem("claimed", "", (one.step(Sum(law[i, j] * v[j, e], j) + 1, "a slip"),), conventions=OURS)


# Sampling -----------------------------------------------------------------------------------------------------------------

tokens = each(sampling.inside(sampling.j), sampling.i, sampling.j)
drawn = softmax(sampling.z, tokens)
logits, word, other_word, place = sampling.x, sampling.j, sampling.l, sampling.i
P = sampling.P


@false("logits may be scaled without the temperature", sampling.sample, "differ")
def _() -> Theorem:
    f = given("f", domain="positive")
    scaled = sampling.sample(
        each(f * logits[place, word], place, word), sampling.T, sampling.k, sampling.p, sampling.generator
    )
    one = claim(scaled[place, word], "=", P[place, word]).keeping(softmax).by_definition("a slip")
    return Theorem("claimed", "", (one,), given=(f,))


@false("a token that is left in is not drawn", sampling.sample, "differ")
def _() -> Theorem:
    one = claim(P[place, word], "=", 0, where=sampling.inside(word))
    return Theorem("claimed", "", (one.citing("masked", drawn).by_definition("a slip"),))


@false(
    "a token of a smaller logit is no likelier, though the larger is cut off", sampling.sample, "not visible"
)
def _() -> Theorem:
    smaller = lt(logits[place, other_word], logits[place, word])
    one = claim(P[place, other_word], "<=", P[place, word], where=smaller & ~sampling.top(word))
    return Theorem("claimed", "", (one.citing("ordered", drawn).by_definition("a slip"),))


@false("the probabilities sum to at most one half", sampling.sample, "not visible")
def _() -> Theorem:
    one = claim(2 * Sum(P[place, word], word), "<=", 1)
    return Theorem("claimed", "", (one.citing("sums_to_at_most_one", drawn).by_definition("a slip"),))


# Distillation at a growing temperature ------------------------------------------------------------------------------------

cool = distilling.tau
at, entry = distilling.t, distilling.w


@false("probabilities flatten twice as fast", distilling.distillation, "not visible")
def _() -> Theorem:
    half, many = distilling.D / (2 * cool), lift(distilling.V)
    one = claim(1 - half, "<=", many * distilling.near[at, entry], at, entry).by_definition("a slip")
    return Theorem("claimed", "", (one,), given=(distilling.D, distilling.y))


@false("the upper bound of what distillation matches taken for the lower", distilling.distillation, "differ")
def _() -> Theorem:
    bound = distilling.above(distilling.z, distilling.p)
    one = claim(bound, "<=", cool * (distilling.p[at, entry] - 1 / lift(distilling.V)), at, entry)
    gap = distilling.z_high
    return Theorem("claimed", "", (one.by_definition("a slip", gap=gap),))


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused(name: str) -> None:
    """It is refused, in one line that says what is wrong."""
    refused(FALSE, name)
