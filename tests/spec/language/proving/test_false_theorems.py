"""False theorems about positions, normalization and masking are refused, each with a reason that a reader understands."""

from __future__ import annotations

import pytest
import sympy
from spec.positional_theorems import EVEN, INTERLEAVED, ODD, by, row

from spec.language import (
    Sum,
    Theorem,
    claim,
    cos,
    each,
    given,
    lift,
    lt,
    sin,
    sizes,
)
from spec.masking import V, alpha, ids, law, mask_id, mlm, omega, rho, special
from spec.normalization import d, eps, gamma, layer_norm, mean, plain, pull, spread, variance, whole, x
from spec.positional import b, half_down, sinusoidal
from tests.spec.language.proving.claims import (
    Register,
    c,
    e,
    equal,
    i,
    j,
    n,
    phi,
    r,
    refused,
    register_in,
    t,
    w,
)

(h,) = sizes("h")
LN = {"eps": "inside", "divisor": "biased"}
CAUSAL = {"alignment": "lower_right", "fully_masked": "zero"}

FALSE: Register = {}
false = register_in(FALSE)

# Positions ----------------------------------------------------------------------------------------------------------------

near = lt(t + phi, n)


@false("the shift property with the angle reversed", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    turned = Sum(by(-phi)[c, e] * row[t, e], (e, 0, d - 1))
    return equal(row[t + phi, c], turned, (t, n), (phi, n), (c, d), where=near, sizes=EVEN)


@false("the shift property at odd d for all columns", sinusoidal, "stays in")
def _() -> Theorem:
    turned = Sum(by(phi)[c, e] * row[t, e], (e, 0, d - 1))
    return equal(
        row[t + phi, c], turned, (t, n), (phi, n), (c, d), where=near, sizes=ODD, conventions=INTERLEAVED
    )


@false("the last column of an odd table shifts linearly by itself", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    angle = phi / b ** (2 * h / d)
    return equal(
        row[t + phi, 2 * h],
        cos(angle) * row[t, 2 * h],
        (t, n),
        (phi, n),
        where=near,
        sizes=ODD,
        conventions=INTERLEAVED,
    )


@false("a position past the end of the table", sinusoidal, r"the index .* of PE stays in 0 … n-1")
def _() -> Theorem:
    turned = Sum(by(phi)[c, e] * row[t, e], (e, 0, d - 1))
    return equal(row[t + phi, c], turned, (t, n), (phi, n), (c, d), sizes=EVEN)


@false("rotations compose by multiplying their angles", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    x_, y_ = given("phi"), given("psi")
    both = Sum(by(x_)[c, e] * by(y_)[e, r], (e, 0, d - 1))
    return equal(both, by(x_ * y_)[c, r], (c, d), (r, d), given=(x_, y_), sizes=EVEN, runs=False)


@false("a row has norm d/2 at odd d", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(row[t, c] ** 2, (c, 0, d - 1)), lift(d) / 2, (t, n), sizes=ODD, conventions=INTERLEAVED)


@false("the inner product depends on nothing", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(row[t, c] * row[t + phi, c], (c, 0, d - 1)), h, (t, n), (phi, n), where=near, sizes=EVEN)


@false("entries are at most one half", sinusoidal, "is not visible from its form")
def _() -> Theorem:
    return Theorem("claimed", "", (claim(row[t, c], "<=", sympy.Rational(1, 2), (t, n), (c, d)),))


@false("the first cosine column holds sines", sinusoidal, "the two sides differ by")
def _() -> Theorem:
    return equal(
        row[t, 2 * i + 1], sin(t / b ** (2 * i / d)), (t, n), (i, half_down), conventions=INTERLEAVED
    )


# Layer norm ---------------------------------------------------------------------------------------------------------------


@false("the normalised row has norm √d even when constant", layer_norm, "≠ 0")
def _() -> Theorem:
    return equal(Sum(plain[i] ** 2, (i, 0, d - 1)), d, conventions=LN, at={eps: 0}, runs=False)


@false("the normalised row has norm √d at every ε", layer_norm, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(plain[i] ** 2, (i, 0, d - 1)), d, conventions=LN)


@false("the unbiased variance is defined for every d", layer_norm, "d − 1|d-1")
def _() -> Theorem:
    return equal(Sum(plain[i], (i, 0, d - 1)), 0, conventions={"eps": "inside", "divisor": "unbiased"})


@false(
    "zero mean with ε outside the root needs no more, but the variance does",
    layer_norm,
    "the two sides differ by",
)
def _() -> Theorem:
    right = variance / (variance + eps)
    return equal(
        Sum(plain[i] ** 2, (i, 0, d - 1)) / d, right, conventions={"eps": "outside", "divisor": "biased"}
    )


@false("scaling by a number that may be 0", layer_norm, r"c\^2·ε > 0")
def _() -> Theorem:
    number = given("c")
    scaled = layer_norm(each(number * x[i], (i, d)), gamma, gamma, number**2 * eps)
    return equal(scaled[i], layer_norm(x, gamma, gamma, eps)[i], (i, d), given=(number,), conventions=LN)


@false("scaling by a negative number", layer_norm, "the two sides differ by")
def _() -> Theorem:
    number = given("c", domain="positive")
    scaled = layer_norm(each(-(number * x[i]), (i, d)), gamma, gamma, number**2 * eps)
    return equal(scaled[i], layer_norm(x, gamma, gamma, eps)[i], (i, d), given=(number,), conventions=LN)


@false("backward through detached statistics", layer_norm, "the two sides differ by")
def _() -> Theorem:
    return equal(
        whole.pullback(pull, "x")[i], gamma[i] * pull[i] / spread, (i, d), given=(pull,), conventions=LN
    )


@false("backward with a wrong factor", layer_norm, "the two sides differ by")
def _() -> Theorem:
    hat = lambda at: (x[at] - mean) / spread  # noqa: E731
    inner = Sum(gamma[j] * pull[j] * hat(j), (j, 0, d - 1))
    right = (gamma[i] * pull[i] - Sum(gamma[j] * pull[j], (j, 0, d - 1)) / d - hat(i) * inner) / spread
    return equal(whole.pullback(pull, "x")[i], right, (i, d), given=(pull,), conventions=LN)


# Masking ------------------------------------------------------------------------------------------------------------------


@false("special tokens are selected too", mlm, "the two sides differ by")
def _() -> Theorem:
    return equal(
        Sum(law[i, w, 1], (w, 0, V - 1)), rho, (i, n), conventions={"selection": "bernoulli"}, runs=False
    )


@false("[MASK] has probability ρα even where it is the token itself", mlm, "the two sides differ by")
def _() -> Theorem:
    right = rho * alpha + rho * omega / V
    return equal(
        law[i, mask_id, 1],
        right,
        (i, n),
        where=~special[i],
        conventions={"selection": "bernoulli"},
        runs=False,
    )


@false("a word past the vocabulary", mlm, r"the index .* of P stays in")
def _() -> Theorem:
    return equal(
        law[i, ids[i] + 1, 1],
        law[i, ids[i] + 1, 1],
        (i, n),
        conventions={"selection": "bernoulli"},
        runs=False,
    )


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_refused_with_a_reason(name: str) -> None:
    """Each is close to a true one: a sign, an index, an assumption, a factor."""
    refused(FALSE, name)
