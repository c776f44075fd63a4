"""Bound symbols given fresh names: nothing else changes, and a name that is bound anew inside means what it did."""

from __future__ import annotations

import pytest

from spec.language.proving.knowledge.linear import contradictory
from spec.language.proving.terms.binders import rename_atom, rename_symbols
from spec.language.proving.terms.polynomials import Atom, Poly

I, J, FRESH, OTHER = (Atom("symbol", name) for name in ("i", "j", "k~1", "k~2"))


def entry(*index: Poly) -> Poly:
    """An entry of x."""
    return Atom("entry", "x", index).poly


def at_least(poly: Poly) -> Atom:
    """The condition that an index is at least 0."""
    return Atom("ge", "", (poly,))


@pytest.mark.parametrize(
    ("term", "found"),
    [
        (entry(I.poly, J.poly), entry(FRESH.poly, J.poly)),
        (entry(I.poly) * entry(I.poly) - I.poly, entry(FRESH.poly) * entry(FRESH.poly) - FRESH.poly),
        (at_least(I.poly - J.poly).poly, at_least(FRESH.poly - J.poly).poly),
        (entry(J.poly), entry(J.poly)),
    ],
)
def test_a_symbol_is_renamed_wherever_it_is_free(term: Poly, found: Poly) -> None:
    """And nothing else is."""
    assert rename_symbols(term, {I: FRESH}) == found


def test_a_name_bound_anew_inside_keeps_its_meaning() -> None:
    """Σ_i x[i, j] has no free i."""

    def over(second: Poly) -> Atom:
        return Atom("sum", "", (), (I,), (at_least(I.poly),), entry(I.poly, second))

    assert rename_atom(over(J.poly), {I: FRESH, J: OTHER}) == over(OTHER.poly)
    assert rename_atom(over(J.poly), {I: FRESH}) == over(J.poly)


def test_what_contradicts_does_so_whatever_the_unknowns_are_called() -> None:
    """And what merely looks alike does not: the second asks about two unknowns."""
    for name in ("i", "k~1", "k~2"):
        low, high = (((name, 1),), 0), (((name, -1),), -1)
        assert contradictory((low, high))
        assert not contradictory((low, ((("n", -1),), -1)))
