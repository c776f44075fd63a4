"""Sums over parts of a range: below a bound and from there on, of even and of odd indices, block by block.

Each takes a sum in normal form and gives a term that is equal to it; whether that helps is for who asks to see.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.polynomials import ONE, Atom, Poly
from spec.language.proving.terms.replacing import Change, rebuild


def split_at(n: Normal, wide: Atom, narrow: Atom, facts: Facts) -> Poly | None:
    """Σ over a range as Σ over the part of it that another sum runs over, and Σ over the rest."""
    if wide == narrow or wide.body != narrow.body or wide.bound != narrow.bound:
        return None
    inner, outer = facts.assume_all(narrow.lits), facts.assume_all(wide.lits)
    extra = [lit for lit in narrow.lits if not outer.decide(lit)]
    if len(extra) != 1 or extra[0].kind != "ge" or not all(inner.decide(lit) for lit in wide.lits):
        return None
    n.note("split_range")
    opposite = n.at_least_zero(-extra[0].args[0] - 1, n.empty)
    fresh = {symbol: n.fresh("k") for symbol in wide.bound}
    change = Change(symbols={symbol: new.poly for symbol, new in fresh.items()})
    rest = rebuild(
        n, n.product([_indicator(n, wide.lits), opposite, wide.body or ONE], n.empty), change, n.empty
    )
    return narrow.poly + n.sum_over(fresh.values(), (), rest, facts)


def split_by_parity(n: Normal, atom: Atom, facts: Facts) -> Poly | None:
    """Σ over the even indices of a range as Σ over their halves."""
    bound, lits, body = n.unbind(atom)
    for symbol in bound:
        even = n.equal(symbol.poly - n.floor(symbol.poly.scale(Fraction(1, 2))).scale(Fraction(2)), n.empty)
        if set(even.conditions) & set(lits):
            n.note("parity")
            rest = n.mul(_indicator(n, (lit for lit in lits if lit not in even.conditions)), body, n.empty)
            halved = n.replace_symbols(rest, {symbol: symbol.poly.scale(Fraction(2))}, n.empty)
            return n.sum_over(bound, (), halved, facts)
    return None


def joined_blocks(n: Normal, atom: Atom, facts: Facts) -> Poly | None:
    """Σ over blocks of Σ over the places in each as Σ over all of them, where it does not matter in which block one lies."""
    bound, lits, body = n.unbind(atom)
    for block in bound:
        for place in bound:
            found = None if block == place else _all_places(n, block, place, lits, body, facts)
            if found is not None:
                n.note("blocks")
                return n.sum_over(set(bound) - {block}, (), found, facts)
    return None


def _all_places(
    n: Normal, block: Atom, place: Atom, lits: tuple[Atom, ...], body: Poly, facts: Facts
) -> Poly | None:
    """The term at a place counted over all blocks, within their range; None where they do not join, or do not join on."""
    own = [lit for lit in lits if place in lit.symbols]
    ends, blocks = _ends(place, own), _ends(block, [lit for lit in lits if lit not in own])
    if ends is None or blocks is None:
        return None
    (low, high), (first, last) = ends, blocks
    width = high - low + 1
    outside = [lit for lit in lits if block not in lit.symbols and place not in lit.symbols]
    if block in width.symbols or not facts.assume_all(outside).nonnegative(width):
        return None
    if block not in low.symbols:  # places counted within each block: count them on
        body = n.replace_symbols(body, {place: place.poly - n.mul(block.poly, width, n.empty)}, n.empty)
        low, high = (end + n.mul(block.poly, width, n.empty) for end in ends)
    elif n.replace_symbols(low, {block: block.poly + 1}, n.empty) - low != width:
        return None
    if block in body.symbols:
        return None
    begins, ends_at = (
        n.replace_symbols(low, {block: first}, n.empty),
        n.replace_symbols(high, {block: last}, n.empty),
    )
    within = [n.at_least_zero(gap, n.empty) for gap in (place.poly - begins, ends_at - place.poly)]
    return n.product([_indicator(n, outside), *within, body], n.empty)


def _ends(symbol: Atom, lits: list[Atom]) -> tuple[Poly, Poly] | None:
    """The first and the last value of an index of which two conditions speak; None where they say something else."""
    found: dict[int, Poly] = {}
    about = [lit for lit in lits if symbol in lit.symbols]
    for lit in about:
        linear = lit.args[0].linear_in(symbol) if lit.kind == "ge" else None
        if linear is not None and abs(linear[0]) == 1:
            found[int(linear[0])] = linear[1].scale(-linear[0])
    return (found[1], found[-1]) if len(about) == len(found) == 2 else None


def _indicator(n: Normal, lits: Iterable[Atom]) -> Poly:
    return n.product([lit.poly for lit in lits], n.empty)
