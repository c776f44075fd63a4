"""The polynomials that the prover calculates with agree with FLINT's, which share no code with them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.language.proving.rules.elementary import content
from spec.language.proving.terms.polynomials import Atom, Poly, number, of_mono, whole

NAMES = "xyz"
ATOMS = {name: Atom("symbol", name) for name in NAMES}
RING = flint.fmpq_mpoly_ctx.get(tuple(NAMES), "lex")
POWERS = st.tuples(*(st.integers(0, 3) for _ in NAMES))
COEFFICIENTS = st.fractions(-4, 4, max_denominator=6)
POLYNOMIALS = st.dictionaries(POWERS, COEFFICIENTS, max_size=5)


def ours(terms: dict[tuple[int, ...], Fraction]) -> Poly:
    """A polynomial of ours with these coefficients."""
    out = number(0)
    for powers, coefficient in terms.items():
        term = number(coefficient)
        for name, power in zip(NAMES, powers, strict=True):
            for _ in range(power):
                term = term * ATOMS[name].poly
        out = out + term
    return out


def theirs(poly: Poly) -> Any:
    """A polynomial of ours as one of FLINT's."""
    terms = {}
    for mono, c in poly.terms.items():
        powers = {atom.name: power for atom, power in mono.pows}
        terms[tuple(powers.get(name, 0) for name in NAMES)] = flint.fmpq(c.numerator, c.denominator)
    return RING.from_dict(terms)


@settings(max_examples=200, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS, COEFFICIENTS)
def test_sums_and_products_are_flints(p: Any, q: Any, factor: Fraction) -> None:
    """And so are differences and multiples."""
    a, b = ours(p), ours(q)
    assert theirs(a + b) == theirs(a) + theirs(b)
    assert theirs(a - b) == theirs(a) - theirs(b)
    assert theirs(a * b) == theirs(a) * theirs(b)
    assert theirs(a.scale(factor)) == theirs(a) * flint.fmpq(factor.numerator, factor.denominator)


@settings(max_examples=200, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS)
def test_equal_keys_are_equal_polynomials(p: Any, q: Any) -> None:
    """Two are the same object of comparison exactly when FLINT finds them equal."""
    a, b = ours(p), ours(q)
    assert (a == b) == (theirs(a) == theirs(b))
    assert (a - a).key == "0"


@settings(max_examples=200, deadline=None)
@given(POLYNOMIALS)
def test_what_is_taken_out_multiplies_back(p: Any) -> None:
    """A rational factor, common powers, and what is left."""
    a = ours(p)
    factor, rest = whole(a)
    assert factor > 0
    assert theirs(rest.scale(factor)) == theirs(a)
    if a:
        coefficient, mono, inner = content(a)
        assert theirs(of_mono(mono) * inner.scale(coefficient)) == theirs(a)


@settings(max_examples=200, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS)
def test_linear_in_a_symbol_means_what_it_says(slope: Any, rest: Any) -> None:
    """Where a polynomial is found to be a·x + b, it is."""
    a = ours(slope) * ATOMS["x"].poly + ours({(0, *powers[1:]): c for powers, c in rest.items()})
    found = a.linear_in(ATOMS["x"])
    if found is not None:
        assert ATOMS["x"] not in found[1].symbols
        assert theirs(ATOMS["x"].poly.scale(found[0]) + found[1]) == theirs(a)
