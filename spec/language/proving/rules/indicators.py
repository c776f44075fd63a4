"""Indicators of comparisons: in lowest terms, decided where they can be."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import POSITIVE
from spec.language.proving.terms.polynomials import ONE, UNIT, ZERO, Atom, Poly, whole


def at_least_zero(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """The indicator of ``poly ≥ 0`` for an index expression."""
    constant = poly.constant
    if constant is not None:
        return ONE if constant >= 0 else ZERO
    return n.decided(_in_lowest_terms(poly), facts)


@lru_cache(maxsize=1 << 14)
def _in_lowest_terms(poly: Poly) -> Atom:
    divisor, slopes = whole(Poly({m: c for m, c in poly.terms.items() if m != UNIT}))
    rest = (poly.terms.get(UNIT) or Fraction(0)) / divisor
    return Atom("ge", "", (slopes + rest.numerator // rest.denominator,))


def equal(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """The indicator of ``poly = 0`` for an index expression."""
    constant = poly.constant
    if constant is not None:
        return ZERO if constant else ONE
    _, prim = whole(poly)
    slopes = Poly({m: c for m, c in prim.terms.items() if m != UNIT})
    divisor, slopes = whole(slopes)
    rest = (prim.terms.get(UNIT) or Fraction(0)) / divisor
    if rest.denominator != 1:
        return ZERO
    if slopes.ordered[0][1] < 0:
        slopes, rest = -slopes, -rest
    if rest == 0 and len(slopes.terms) == 2:
        (a, x), (b, y) = ((m.single, c) for m, c in slopes.ordered)
        if x == -y and a is not None and b is not None and _one_permutation(n, a, b, facts):
            n.note("permuted")
            return equal(n, a.args[0] - b.args[0], facts)
    return n.decided(Atom("eq", "", (slopes + rest,)), facts)


def above_zero(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """The indicator of ``poly > 0`` for a real value."""
    if n.lifts(poly):
        return n.lifted(n.above_zero, poly, facts)
    mask = n.sign(poly, facts)
    if mask == POSITIVE or not mask & POSITIVE:
        return ONE if mask == POSITIVE else ZERO
    essential = _essential(n, poly, facts)
    if essential is not None:
        return above_zero(n, essential, facts)
    factor, prim = n.oriented(poly, facts)[-1]
    return n.decided(Atom("positive", "", (prim if factor > 0 else -prim,)), facts)


def _essential(n: Normal, poly: Poly, facts: Facts) -> Poly | None:
    """What decides the sign of a product of which all factors but one are positive: the factor, or what it is the root of."""
    if len(poly.terms) != 1:
        return None
    (mono, c), *_ = poly.ordered
    open_ = [(a, k) for a, k in mono.pows if n.sign(a.poly, facts) != POSITIVE]
    if mono.lits or c < 0 or len(open_) != 1 or open_[0][1] != 1:
        return None
    ((atom, _),) = open_
    if atom.kind in ("root", "inverse", "inverse_root"):  # positive exactly where their argument is
        return atom.args[0]
    return atom.poly if atom.poly != poly else None


def _one_permutation(n: Normal, a: Atom, b: Atom, facts: Facts) -> bool:
    """Whether both atoms are look-ups in range of the same permutation."""
    same = a.kind == b.kind == "look_up" and a.name == b.name and n.domain(a.name) == "permutation"
    return same and n.in_range(a, facts) and n.in_range(b, facts)
