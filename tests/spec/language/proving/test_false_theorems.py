"""False theorems about positions, normalization and masking are refused, each with a reason that a reader understands."""

from __future__ import annotations

from typing import Any

import pytest

from spec.language import Node, Sum, Theorem, claim, cos, each, given, lift, lt, sin, sizes, sqrt
from spec.masking.mlm import P, V, alpha, ids, mask_id, mlm, omega, rho, special
from spec.masking.mlm import i as position
from spec.masking.mlm import w as word
from spec.normalization.layer_norm import beta, d, eps, gamma, i, j, layer_norm, var, x, xhat
from spec.positional.layout import b
from spec.positional.rotary import pos, rotary, theta
from spec.positional.rotation import rotation
from spec.positional.sinusoidal import PE, c, e, phi, r, sinusoidal, t
from spec.positional.sinusoidal import i as pair
from spec.positional.sinusoidal import n as positions
from spec.positional.turned import c as entry
from spec.positional.turned import i as hand
from spec.positional.turned import t as token
from spec.positional.turned import x as rows
from spec.vocabulary import Rational
from tests.spec.language.proving.claims import Register, equal, refused, register_in

LN, BERNOULLI = {"eps": "inside", "divisor": "biased"}, {"selection": "bernoulli"}
UNBIASED, OUTSIDE = {**LN, "divisor": "unbiased"}, {**LN, "eps": "outside"}

FALSE: Register = {}
false = register_in(FALSE)

# Positions ----------------------------------------------------------------------------------------------------------------

back = given("g", rows.shape[0], rows.shape[1])
turned_rows = rotary(rows, pos, theta)


@false("a gradient through rotary positions is turned as the rows were", rotary, "the two sides differ by")
def _() -> Theorem:
    return equal(
        turned_rows.pullback(back, rows)[token, entry], rotary(back, pos, theta)[token, entry], given=(back,)
    )


@false("the odd entries of a gradient are turned as the rows were", rotary, "the two sides differ by")
def _() -> Theorem:
    at = token, 2 * hand + 1
    return equal(turned_rows.pullback(back, rows)[at], rotary(back, pos, theta)[at], given=(back,))


(h,) = sizes("h")
EVEN, ODD = {d: 2 * h}, {d: 2 * h + 1}
INTERLEAVED, inside = {"layout": "interleaved"}, lt(t + phi, positions)


def turned(step: Any) -> Node:
    """Entry c of a position's row, rotated by a step."""
    return Sum(rotation(lift(step), h, d)[c, e] * PE[t, e], e)


@false("the shift property with the angle reversed", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    return equal(PE[t + phi, c], turned(-phi), where=inside, sizes=EVEN)


@false("the shift property at odd d for all columns", sinusoidal, "stays in")
def _() -> Theorem:
    return equal(PE[t + phi, c], turned(phi), where=inside, sizes=ODD, conventions=INTERLEAVED)


@false("the last column of an odd table shifts linearly by itself", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    right = cos(phi / b ** (2 * h / d)) * PE[t, 2 * h]
    return equal(PE[t + phi, 2 * h], right, where=inside, sizes=ODD, conventions=INTERLEAVED)


@false("a position past the end of the table", sinusoidal, r"the index .* of PE stays in 0 … n-1")
def _() -> Theorem:
    return equal(PE[t + phi, c], turned(phi), sizes=EVEN)


@false("rotations compose by multiplying their angles", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    first, second = given("alpha"), given("beta")
    both = Sum(rotation(first, h, d)[c, e] * rotation(second, h, d)[e, r], e)
    product = rotation(first * second, h, d)[c, r]
    return equal(both, product, given=(first, second), sizes=EVEN, runs=False)


@false("a row has norm d/2 at odd d", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(PE[t, c] ** 2, c), lift(d) / 2, sizes=ODD, conventions=INTERLEAVED)


@false("the inner product depends on nothing", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(PE[t, c] * PE[t + phi, c], c), h, where=inside, sizes=EVEN)


@false("entries are at most one half", sinusoidal, "is not visible from its form")
def _() -> Theorem:
    return Theorem("claimed", "", (claim(PE[t, c], "<=", Rational(1, 2)),))


@false("the first cosine column holds sines", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    return equal(PE[t, 2 * pair + 1], sin(t / b ** (2 * pair / d)), conventions=INTERLEAVED)


# Layer norm ---------------------------------------------------------------------------------------------------------------

g, factor = given("g", d), given("c")
plain = layer_norm(x, each(1, i), each(0, i), eps)
whole = layer_norm(x, gamma, beta, eps)


@false("the normalised row has norm √d even when constant", layer_norm, "≠ 0")
def _() -> Theorem:
    return equal(Sum(plain[i] ** 2, i), d, conventions=LN, at={eps: 0}, runs=False)


@false("the normalised row has norm √d at every ε", layer_norm, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(plain[i] ** 2, i), d, conventions=LN)


@false("the unbiased variance is defined for every d", layer_norm, "d − 1|d-1")
def _() -> Theorem:
    return equal(Sum(plain[i], i), 0, conventions=UNBIASED)


@false(
    "zero mean with ε outside the root needs no more, but the variance does",
    layer_norm,
    "the two sides differ by",
)
def _() -> Theorem:
    return equal(Sum(plain[i] ** 2, i) / d, var / (var + eps), conventions=OUTSIDE)


@false("scaling by a number that may be 0", layer_norm, r"c\^2·ε > 0")
def _() -> Theorem:
    scaled = layer_norm(each(factor * x[i], i), gamma, gamma, factor**2 * eps)
    return equal(scaled[i], layer_norm(x, gamma, gamma, eps)[i], given=(factor,), conventions=LN)


@false("scaling by a negative number", layer_norm, "the two sides differ by")
def _() -> Theorem:
    scale = given("c", domain="positive")
    scaled = layer_norm(each(-(scale * x[i]), i), gamma, gamma, scale**2 * eps)
    return equal(scaled[i], layer_norm(x, gamma, gamma, eps)[i], given=(scale,), conventions=LN)


@false("backward through detached statistics", layer_norm, "the two sides differ by")
def _() -> Theorem:
    return equal(whole.pullback(g, x)[i], gamma[i] * g[i] / sqrt(var + eps), given=(g,), conventions=LN)


@false("backward with a wrong factor", layer_norm, "the two sides differ by")
def _() -> Theorem:
    inner = Sum(gamma[j] * g[j] * xhat[j], j)
    right = (gamma[i] * g[i] - Sum(gamma[j] * g[j], j) / d - xhat[i] * inner) / sqrt(var + eps)
    return equal(whole.pullback(g, x)[i], right, given=(g,), conventions=LN)


# Masking ------------------------------------------------------------------------------------------------------------------


@false("special tokens are selected too", mlm, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(P[position, word, 1], word), rho, conventions=BERNOULLI, runs=False)


@false("[MASK] has probability ρα even where it is the token itself", mlm, "the two sides differ by")
def _() -> Theorem:
    right = rho * alpha + rho * omega / V
    stays = ~special[position]
    return equal(P[position, mask_id, 1], right, where=stays, conventions=BERNOULLI, runs=False)


@false("a word past the vocabulary", mlm, r"the index .* of P stays in")
def _() -> Theorem:
    past = P[position, ids[position] + 1, 1]
    return equal(past, past, conventions=BERNOULLI, runs=False)


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused_with_a_reason(name: str) -> None:
    """Each is close to a true one: a sign, an index, an assumption, a factor."""
    refused(FALSE, name)
