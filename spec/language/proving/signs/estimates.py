"""Estimates that settle a sign where the form alone does not, by putting in for a term what bounds it."""

from __future__ import annotations

from collections.abc import Iterator

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import ANY_SIGN, NEGATIVE, NONNEGATIVE, mirror, sum_sign
from spec.language.proving.terms.polynomials import INTEGERS, ONE, Atom, Mono, Poly, of_mono, total


def against_maximum(n: Normal, poly: Poly, facts: Facts) -> int:
    """Maximum - member is at least 0: look for a term that is a maximum and an index at which the rest is its body."""
    for mono, c in poly.ordered:
        if len(mono.pows) != 1 or mono.lits or mono.exponent is not None or mono.pows[0][1] != 1:
            continue
        atom = mono.pows[0][0]
        if atom.kind != "maximum":
            continue
        member = (of_mono(mono, c) - poly).scaled(1 / c)
        bound, lits, body = n.opened(atom)
        for candidate in sorted(member.symbols, key=lambda s: s.key):
            values = {bound[0]: candidate.poly}
            if len(bound) > 1 or n.replaced(body, values, facts) != member:
                continue
            if all(facts.shows(n.condition_at(lit, values, facts)) for lit in lits):
                n.note("member")
                return NONNEGATIVE if c > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN


def absolute_cases(n: Normal, poly: Poly, facts: Facts) -> int:
    """|x| is x where x ≥ 0, else -x: the sign is one of those that the two give."""
    for mono, _ in poly.ordered:
        for atom, _ in mono.pows:
            if atom.kind == "function" and atom.name == "abs":
                mask = 0
                for value in (atom.args[0], -atom.args[0]):
                    here = facts.assume_value(ONE - n.above_zero(-value, facts))
                    mask |= n.sign(_instead(n, poly, atom, value, here), here)
                if mask != ANY_SIGN:
                    n.note("absolute_cases")
                return mask
    return ANY_SIGN


def _instead(n: Normal, poly: Poly, atom: Atom, value: Poly, facts: Facts) -> Poly:
    """The polynomial with the powers of an atom replaced by those of a value."""
    out = Poly()
    for mono, c in poly.terms.items():
        power = dict(mono.pows).get(atom, 0)
        rest = Mono(mono.lits, ((a, k) for a, k in mono.pows if a != atom), mono.exponent)
        out += n.mul(of_mono(rest, c), n.power(value, power, facts), facts)
    return out


def index_part(n: Normal, poly: Poly, facts: Facts) -> int:
    """Index arithmetic taken together, the rest by itself: m - j + x is positive for j < m and x ≥ 0."""
    whole = {m: c for m, c in poly.terms.items() if _is_index(m) and c.denominator == 1}
    rest = Poly({m: c for m, c in poly.terms.items() if m not in whole})
    if len(whole) < 2 or not rest:
        return ANY_SIGN
    own = n.sign(Poly(whole), facts)
    return ANY_SIGN if own == ANY_SIGN else sum_sign(own, n.sign(rest, facts))


def _is_index(mono: Mono) -> bool:
    return not mono.lits and mono.exponent is None and all(a.kind in INTEGERS for a in mono.atoms)


def above_tangent(n: Normal, poly: Poly, facts: Facts) -> int:
    """eˣ is at least 1 + x: what is at least 0 with 1 + x in its place is at least 0; so within a sum, Σ a·eˣ·eʸ."""
    for factor, side in ((1, poly), (-1, -poly)):
        for lower in (_tangents(n, side, facts), *_tangents_within(n, side, facts)):
            if lower is not None and not n.sign(lower, facts) & NEGATIVE:
                n.note("tangent")
                return NONNEGATIVE if factor > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN


def _tangents(n: Normal, poly: Poly, facts: Facts) -> Poly | None:
    """The polynomial with 1 + x for every eˣ that has a factor of at least 0; None if there is none."""
    lower, found = Poly(), False
    for mono, c in poly.terms.items():
        plain = Mono(mono.lits, mono.pows)
        if mono.exponent is None or c < 0 or n.sign(of_mono(plain), facts) & NEGATIVE:
            lower += of_mono(mono, c)
        else:
            found = True
            lower += n.mul(of_mono(plain, c), ONE + mono.exponent, facts)
    return lower if found else None


def _tangents_within(n: Normal, poly: Poly, facts: Facts) -> Iterator[Poly]:
    """The polynomial over eᶻ, for an eᶻ that it takes away, with Σ a·(1 + x + y) for every eʸ·Σ a·eˣ in which all a are at
    least 0.
    """
    taken = {m.exponent.key: m.exponent for m, c in poly.terms.items() if c < 0 and m.exponent is not None}
    for _, z in sorted(taken.items()):
        lower, found = Poly(), False
        for mono, c in n.mul(poly, n.exp(-z, facts), facts).terms.items():
            lowered = None if mono.exponent is None or c < 0 else _within(n, mono, mono.exponent, facts)
            found |= lowered is not None
            lower += of_mono(mono, c) if lowered is None else lowered.scaled(c)
        if found:
            yield lower


def _within(n: Normal, mono: Mono, exponent: Poly, facts: Facts) -> Poly | None:
    """What eʸ·Σ a·eˣ is at least, with its other factors; None if they, or any a, may be below 0."""
    for atom, power in mono.pows:
        rest = of_mono(Mono(mono.lits, ((a, k) for a, k in mono.pows if a != atom)))
        if atom.kind != "sum" or power != 1 or n.sign(rest, facts) & NEGATIVE:
            continue
        bound, lits, body = n.opened(atom)
        inner = facts.assume_all(lits)
        plain = [(of_mono(Mono(m.lits, m.pows), c), m.exponent or Poly()) for m, c in body.terms.items()]
        if all(m.exponent is None for m in body.terms) or any(n.sign(a, inner) & NEGATIVE for a, _ in plain):
            continue
        terms = (n.mul(a, ONE + x + exponent, inner) for a, x in plain)
        return n.mul(rest, n.summed(bound, lits, total(list(terms)), facts), facts)
    return None


__all__ = ["above_tangent", "absolute_cases", "against_maximum", "index_part"]
