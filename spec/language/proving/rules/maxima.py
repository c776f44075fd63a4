"""Maxima in normal form: what does not depend on the bound index is taken out, and a permutation of all indices undone.

A maximum over no index has no value, so this is done only where some index is known to be permitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Unprovable
from spec.language.proving.rules.normal import Normal
from spec.language.proving.rules.sums import unpermuted
from spec.language.proving.signs.sets import NEGATIVE, power_sign
from spec.language.proving.terms.polynomials import ONE, Atom, Mono, Poly, conjuncts, of_mono


def largest(n: Normal, bound: Iterable[Atom], lits: Iterable[Atom], body: Poly, facts: Facts) -> Poly:
    """The largest value of the body over bound symbols at which conditions hold, in normal form."""
    symbols, lits = frozenset(bound), tuple(lits)
    free = Poly({m: c for m, c in body.terms.items() if not m.symbols & symbols})
    factor, inner = _factor(n, symbols, body - free, facts)
    found = unpermuted(n, symbols, frozenset(lits), inner)
    if (free or factor != ONE or found is not None) and facts.witness(tuple(symbols), lits) is not None:
        n.note("largest")
        if not inner:
            return free
        if found is None:
            return free + n.mul(factor, n.close_binder("maximum", symbols, lits, inner), facts)
        try:
            again = largest(n, found[0], conjuncts(found[1]), found[2], facts)
        except Unprovable:  # its conditions are no conjunction any more
            again = n.close_binder("maximum", symbols, lits, inner)
        return free + n.mul(factor, again, facts)
    return n.close_binder("maximum", symbols, lits, body)


def _factor(n: Normal, symbols: frozenset[Atom], body: Poly, facts: Facts) -> tuple[Poly, Poly]:
    """A factor of all terms that is at least 0 and free of the symbols, and what it leaves."""
    if not body:
        return ONE, body
    coefficient, content, _ = n.content(body)
    common = {
        a: k
        for a, k in content.pows
        if not a.symbols & symbols and not power_sign(n.sign(a.poly, facts), k) & NEGATIVE
    }
    exponents = {_free_part(m, symbols) for m in body.terms}
    exponent = exponents.pop() if len(exponents) == 1 else Poly()
    scale = abs(coefficient)
    left: dict[Mono, Fraction] = {}
    for m, c in body.terms.items():
        pows = ((a, k - common.get(a, 0)) for a, k in m.pows if k != common.get(a, 0))
        rest = exponent if m.exponent is None else m.exponent - exponent
        left[Mono(m.lits, pows, rest)] = c / scale
    return of_mono(Mono((), common.items(), exponent), scale), Poly(left)


def _free_part(mono: Mono, symbols: frozenset[Atom]) -> Poly:
    terms = {} if mono.exponent is None else mono.exponent.terms
    return Poly({m: c for m, c in terms.items() if not m.symbols & symbols})
