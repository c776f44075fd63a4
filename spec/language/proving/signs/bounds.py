"""Estimates by sums: the triangle inequality, a sum against one of its terms; logarithms, and states one step earlier."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import ANY_SIGN, NEGATIVE, NONNEGATIVE, POSITIVE, mirror, product_sign
from spec.language.proving.terms.polynomials import ONE, UNIT, Atom, Mono, Poly, of_mono, parts_of, total

DEPTH = 2
"""How deep inside other estimates these, which are dear, are tried."""


def triangle(n: Normal, poly: Poly, facts: Facts) -> int:
    """|x + y| is at most |x| + |y|: what is at least 0 with the larger in place is at least 0."""
    if not n.limits.allows("estimate", DEPTH):
        return ANY_SIGN
    for factor, side in ((1, poly), (-1, -poly)):
        for mono, c in side.ordered:
            for atom, k in mono.pows:
                if c > 0 or k != 1 or atom.kind != "function" or atom.name != "abs":
                    continue
                larger = _spread(n, atom.args[0], facts)
                if larger is None:
                    continue
                lower = _with(n, side, mono, c, atom, larger, facts)
                if lower is not None and not n.sign(lower, facts) & NEGATIVE:
                    n.note("triangle")
                    return NONNEGATIVE if factor > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN


def _spread(n: Normal, poly: Poly, facts: Facts) -> Poly | None:
    """The absolute values of the terms, those of sums included; None for what has a single term."""
    parts, split = [], len(poly.terms) > 1
    for mono, c in poly.terms.items():
        factors = [of_mono(Mono(mono.lits, (), mono.exponent), abs(c))]
        for atom, k in mono.pows:
            value = n.function("abs", atom.poly, facts)
            if atom.kind == "sum":
                split = True
                bound, lits, body = n.opened(atom)
                inner = n.function("abs", body, facts.assume_all(lits))
                value = n.summed(bound, lits, inner, facts)
            factors.append(n.power(value, k, facts))
        parts.append(n.product(factors, facts))
    return total(parts) if split else None


def part(n: Normal, poly: Poly, facts: Facts) -> int:
    """A sum of terms that are at least 0 is at least each of them."""
    if not n.limits.allows("estimate", DEPTH):
        return ANY_SIGN
    for factor, side in ((1, poly), (-1, -poly)):
        for mono, c in side.ordered:
            for atom, k in mono.pows:
                if c < 0 or k != 1 or atom.kind != "sum" or len(atom.bound) != 1:
                    continue
                for one in _terms(n, atom, side, facts):
                    lower = _with(n, side, mono, c, atom, one, facts)
                    if lower is not None and not n.sign(lower, facts) & NEGATIVE:
                        n.note("part")
                        return NONNEGATIVE if factor > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN


def _terms(n: Normal, atom: Atom, poly: Poly, facts: Facts) -> Iterator[Poly]:
    """The terms of a sum, all of them at least 0, at indices that occur elsewhere and are known to be permitted."""
    (symbol,), lits, body = n.opened(atom)
    if n.sign(body, facts.assume_all(lits)) & NEGATIVE:
        return
    tried: set[str] = set()
    for other in parts_of(poly):
        for at in other.args if other.kind in ("entry", "look_up", "state") else ():
            if not at.is_index or at.key in tried or any("‹" in s.name for s in at.symbols):
                continue
            tried.add(at.key)
            if all(facts.shows(n.condition_at(lit, {symbol: at}, facts)) for lit in lits):
                yield n.replaced(body, {symbol: at}, facts)


def by_factors(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign of the common factor times that of the rest."""
    if n.lifts(poly):
        return ANY_SIGN
    coefficient, content, inner = n.content(poly)
    if content == UNIT or inner.constant is not None:
        return ANY_SIGN
    mask = product_sign(n.sign(of_mono(content), facts), n.sign(inner, facts))
    if mask != ANY_SIGN:
        n.note("factor")
    return mask if coefficient > 0 else mirror(mask)


def _with(
    n: Normal, poly: Poly, mono: Mono, c: Fraction, atom: Atom, value: Poly, facts: Facts
) -> Poly | None:
    """The polynomial with a factor of one term replaced, if the other factors are at least 0."""
    rest = of_mono(Mono(mono.lits, ((a, k) for a, k in mono.pows if a != atom), mono.exponent))
    if n.sign(rest, facts) & NEGATIVE:
        return None
    return poly - of_mono(mono, c) + n.mul(rest.scaled(c), value, facts)


def of_logarithm(n: Normal, poly: Poly, facts: Facts) -> int:
    """c·ln x - c·ln y + z has the sign of x·eᶻ⁄ᶜ - y for c > 0, and so have more logarithms that count alike."""
    if not n.limits.allows("estimate", DEPTH):
        return ANY_SIGN
    found = [
        (mono.single, c)
        for mono, c in poly.terms.items()
        if mono.single is not None and mono.single.kind == "function" and mono.single.name == "log"
    ]
    sizes = {abs(c) for _, c in found}
    if len(sizes) != 1 or any(atom is None or n.sign(atom.args[0], facts) != POSITIVE for atom, _ in found):
        return ANY_SIGN
    (size,) = sizes
    above, below, rest = ONE, ONE, poly
    for atom, c in found:
        rest = rest - atom.poly.scaled(c)
        if c > 0:
            above = n.mul(above, atom.args[0], facts)
        else:
            below = n.mul(below, atom.args[0], facts)
    mask = n.sign(n.mul(above, n.exp(rest.scaled(1 / size), facts), facts) - below, facts)
    if mask != ANY_SIGN:
        n.note("monotone")
    return mask


def a_step_earlier(n: Normal, poly: Poly, facts: Facts) -> int:
    """What the latest states of a recurrence are may show the sign."""
    if n.stepped is None or not n.limits.allows("estimate", 1):
        return ANY_SIGN
    with n.limits.within("step", 1) as allowed:
        if not allowed:
            return ANY_SIGN
        try:
            further = n.stepped(poly, facts)
            return ANY_SIGN if further == poly else n.sign(further, facts)
        except (Undischarged, Unprovable):
            return ANY_SIGN


__all__ = ["a_step_earlier", "by_factors", "of_logarithm", "part", "triangle"]
