"""What a reader of a page would expect to be provable is proved: parts of ranges, blocks, floors, maxima, what is 0, sigmoids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sympy import ceiling, floor

from spec.attention.masks import OURS
from spec.attention.scaled_dot_product import scaled_dot_product
from spec.language import (
    Assurance,
    Claim,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    exp,
    given,
    indices,
    le,
    lift,
    log,
    lt,
    sigmoid,
    sizes,
    sqrt,
    tanh,
)
from spec.language.binders import Max
from spec.language.expr import Node
from spec.language.proving.proof import check
from spec.scores.scaled_dot import scaled_dot
from tests.attack.board import mentioned
from tests.spec.language.proving.claims import anything, proved

n, m_1, m_2, d_v, g, p = sizes("n m_1 m_2 d_v g p")
i, k, u, w, j = indices(i=n, k=n, u=m_1, w=m_2, j=m_1 + m_2)
e, t, r, c, all_ = indices(e=d_v, t=g, r=p, c=g * p, all_=g * p * d_v)
s, s_1, s_2 = given("s", m_1 + m_2), given("s_1", m_1), given("s_2", m_2)
v, B = given("v", m_1 + m_2), given("B", g * p * d_v)
z, pi, a, b = given("z", n), given("pi", n, domain="permutation"), given("a"), given("b")
positive = given("c_0", domain="positive")

Z, Z_1, Z_2 = Sum(exp(s[j]), j), Sum(exp(s[u]), u), Sum(exp(s[m_1 + w]), w)
whole = Sum(exp(s[j]) * v[j], j) / Z
first, second = Sum(exp(s[u]) * v[u], u) / Z_1, Sum(exp(s[m_1 + w]) * v[m_1 + w], w) / Z_2
L_1, L_2 = log(Z_1), log(Z_2)
L = log(exp(L_1) + exp(L_2))
joined = case(lt(j, m_1), s_1[j], s_2[j - m_1])
minus = lift(-1)


def relu(value: Node) -> Node:
    """The value where it is positive, else 0."""
    return case(lt(0, value), value)


TRUE: dict[str, Callable[[], Claim]] = {
    "a denominator in two parts": lambda: claim(exp(s[u]) / Z, "=", exp(s[u]) / (Z_1 + Z_2)),
    "attention over two blocks by their log-sum-exps": lambda: claim(
        whole, "=", exp(L_1 - L) * first + exp(L_2 - L) * second
    ),
    "attention over two blocks by a gate": lambda: claim(
        whole, "=", sigmoid(L_1 - L_2) * first + sigmoid(L_2 - L_1) * second
    ),
    "a logarithm of two parts": lambda: claim(log(Z), "=", L),
    "a root of two parts": lambda: claim(sqrt(Z), "=", sqrt(Z_1 + Z_2)),
    "a hyperbolic tangent of two parts": lambda: claim(
        tanh(Sum(s[j], j)), "=", tanh(Sum(s[u], u) + Sum(s[m_1 + w], w))
    ),
    "a concatenation summed": lambda: claim(
        Sum(joined * v[j], j), "=", Sum(s_1[u] * v[u], u) + Sum(s_2[w] * v[m_1 + w], w)
    ),
    "the length of a concatenation": lambda: claim(
        sqrt(Sum(joined**2, j)), "=", sqrt(Sum(s_1[u] ** 2, u) + Sum(s_2[w] ** 2, w))
    ),
    "blocks in blocks": lambda: claim(Sum(B[all_], all_), "=", Sum(B[t * p * d_v + r * d_v + e], t, r, e)),
    "blocks of blocks, some joined": lambda: claim(
        Sum(B[c * d_v + e], e, c), "=", Sum(B[(t * p + r) * d_v + e], t, r, e)
    ),
    "blocks in a denominator": lambda: claim(
        1 / Sum(exp(B[all_]), all_), "=", 1 / Sum(exp(B[c * d_v + e]), c, e)
    ),
    "halves up and down": lambda: claim(lift(floor(i / 2) + ceiling(i / 2)), "=", lift(i)),
    "a quarter is a half of a half": lambda: claim(lift(floor(floor(i / 2) / 2)), "=", lift(floor(i / 4))),
    "a half, moved by a whole": lambda: claim(lift(floor((i + n) / 2)), "=", lift(floor((i - n) / 2) + n)),
    "signs multiplied": lambda: claim(minus**n * minus**m_1, "=", minus ** (n + m_1)),
    "the next sign": lambda: claim(minus ** (i + 1), "=", -(minus**i)),
    "a difference and a sum are even together": lambda: claim(minus ** (i - k), "=", minus ** (i + k)),
    "signs in turn": lambda: claim(Sum(minus**i, (i, 0, 2 * n - 1)), "=", 0),
    "a maximum permuted": lambda: claim(Max(z[pi[i]], i), "=", Max(z[i], i)),
    "a maximum scaled and shifted": lambda: claim(
        Max(positive * z[pi[i]] / n - a, i), "=", positive * Max(z[i], i) / n - a
    ),
    "a maximum of what is one": lambda: claim(Max(a + 0 * z[i], i), "=", a),
    "a maximum of absolute values": lambda: claim(Max(z[i], i), "<=", Max(absolute(z[i]), i)),
    "a maximum below a bound": lambda: claim(Max(sigmoid(z[i]), i), "<", 1),
    "a rectified linear unit and its mirror image": lambda: claim(relu(a) - relu(-a), "=", a),
    "their sum": lambda: claim(relu(a) + relu(-a), "=", absolute(a)),
    "with and without the edge": lambda: claim(case(le(0, a), a), "=", relu(a)),
    "the larger of two": lambda: claim(case(lt(a, b), b, a), "=", case(lt(b, a), a, b)),
    "a row of them": lambda: claim(Sum(relu(z[i]) - relu(-z[i]), i), "=", Sum(z[i], i)),
    "a sigmoid": lambda: claim(sigmoid(a), "=", 1 / (1 + exp(-a))),
    "its mirror image": lambda: claim(sigmoid(-a), "=", 1 - sigmoid(a)),
    "its logarithm": lambda: claim(log(sigmoid(a)), "=", -log(1 + exp(-a))),
    "a binary cross-entropy": lambda: claim(
        -b * log(sigmoid(a)) - (1 - b) * log(1 - sigmoid(a)), "=", log(1 + exp(a)) - a * b
    ),
    "of a difference": lambda: claim(sigmoid(a - b), "=", exp(a) / (exp(a) + exp(b))),
    "a hyperbolic tangent": lambda: claim(tanh(a), "=", 2 * sigmoid(2 * a) - 1),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_a_reader_expects_is_proved(name: str) -> None:
    """In one step, without a line between."""
    made = TRUE[name]()
    found = check(Theorem("t", "T", (made,), given=mentioned((made,), (), anything)), anything)
    assert found.assurance == Assurance.PROVED, found.refusal


def test_attention_over_two_blocks_of_keys_is_merged_by_their_log_sum_exps() -> None:
    """The formula behind every streamed attention, about the statement itself: each part in itself, weighed by its e^L."""
    attention = scaled_dot_product
    query, keys, values, _ = attention.inputs
    m, x, y = sizes("m")[0], *indices(x=n, y=d_v)
    scores = (scaled_dot(query, keys[:m_1]), scaled_dot(query, keys[m_1:]))
    parts = (attention(query, keys[:m_1], values[:m_1]), attention(query, keys[m_1:], values[m_1:]))
    lengths = [log(Sum(exp(score[x, at]), at)) for score, at in zip(scores, (u, w), strict=True)]
    both = log(exp(lengths[0]) + exp(lengths[1]))
    merged, other = (
        exp(lengths[0] - both) * parts[one][x, y] + exp(lengths[1] - both) * parts[1 - one][x, y]
        for one in (0, 1)
    )
    rest: dict[str, Any] = {"sizes": {m: m_1 + m_2}, "conventions": OURS}
    right, wrong = (
        Theorem("t", "T", (claim(attention(query, keys, values)[x, y], "=", side),), **rest)
        for side in (merged, other)
    )
    proved(right, attention)
    assert check(wrong, attention, guard=False).assurance == Assurance.REFUSED
