"""Blocks: an index over h·d entries is t·d + c with t < h and c < d, in exactly one way.

So stand the heads of multi-head attention side by side, and so a row of ``W_o`` is found from head and column.
"""

from __future__ import annotations

from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Unprovable
from spec.language.proving.terms.polynomials import UNIT, Atom, Mono, Poly


class BlocksNeeded(Unprovable):
    """Block and place in it of an index decide what an entry is: a sum over the index has to be one over both."""

    def __init__(self, symbol: Atom, width: Poly) -> None:
        self.symbol, self.width = symbol, width
        super().__init__(f"in which block of width {width} the index {symbol} lies is not known")


def quotient(poly: Poly, width: Poly) -> tuple[Poly, Poly] | None:
    """``(Q, R)`` with the polynomial equal to ``Q·width + R``, term by term; None for a width that is no single term."""
    if len(width.terms) != 1:
        return None
    (mono, size), *_ = width.terms.items()
    wanted = dict(mono.pows)
    over: dict[Mono, Fraction] = {}
    for m, c in poly.terms.items():
        pows = dict(m.pows)
        if c % size == 0 and all(pows.get(atom, 0) >= k for atom, k in wanted.items()):
            over[
                Mono(m.lits, ((a, k - wanted.get(a, 0)) for a, k in pows.items() if k > wanted.get(a, 0)))
            ] = c / size
        elif m == UNIT and mono == UNIT:
            over[UNIT] = Fraction(c // size)
    q = Poly(over)
    return q, poly - q * width


def divided(poly: Poly, width: Poly, facts: Facts) -> tuple[Poly, Poly]:
    """The block and the place in it of an index.

    Raises:
        BlocksNeeded: the index is a symbol by itself.
        Unprovable: the place is not known to lie within a block.
    """
    found = quotient(poly, width)
    if found is not None and facts.nonnegative(found[1]) and facts.nonnegative(width - found[1] - 1):
        return found
    if poly.atom is not None and poly.atom.kind == "symbol":
        raise BlocksNeeded(poly.atom, width)
    raise Unprovable(f"in which block of width {width} the index {poly} lies is not known")


def layout(reading: Poly, inner: Atom, outer: Atom) -> tuple[Poly, Poly] | None:
    """``(width, rest)`` with the polynomial equal to ``outer·width + inner + rest``; None if it is not of this form."""
    width: dict[Mono, Fraction] = {}
    rest: dict[Mono, Fraction] = {}
    for m, c in (reading - inner.poly).terms.items():
        pows = dict(m.pows)
        if inner in m.symbols or (outer in m.symbols and pows.get(outer) != 1):
            return None
        if outer in m.symbols:
            width[Mono(m.lits, ((a, k) for a, k in pows.items() if a != outer))] = c
        else:
            rest[m] = c
    if any(outer in m.symbols for m in width):
        return None
    return Poly(width), Poly(rest)
