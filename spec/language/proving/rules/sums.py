"""Sums in normal form.

A sum is kept as a set of bound symbols, the conditions on them (the range among them) and one monomial. Bringing it there
uses, in this order: nested sums that depend on a bound index are merged with it; Kronecker deltas collapse; conditions that
the others imply are dropped; a permuted index is replaced by the index itself; what does not depend on the bound indices is
taken out; factors that share no bound index become separate sums; Σ 1 becomes the number of terms. What is left is closed
(:mod:`spec.language.proving.terms.binders`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.polynomials import (
    UNIT,
    ZERO,
    Atom,
    Mono,
    Poly,
    inside,
    of_mono,
    parts_of,
    total,
)
from spec.language.proving.terms.replacing import Change, rebuild, rebuild_condition


def sum_over(n: Normal, bound: Iterable[Atom], lits: Iterable[Atom], body: Poly, facts: Facts) -> Poly:
    """Σ over the bound symbols at which the conditions hold, in normal form."""
    bound, lits = frozenset(bound), tuple(lits)
    if len(body.terms) > 1:
        n.note("linearity")
    parts = []
    for mono, c in body.ordered:
        inner = Mono((), mono.pows, mono.exponent)
        parts.append(_one(n, bound, frozenset((*lits, *mono.lits)), inner, facts).scale(c))
    return total(parts)


def _one(n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly:
    bound, lits, body = _merge_nested_sums(n, bound, lits, mono)
    if body is not None:
        return sum_over(n, bound, lits, body, facts)
    if not bound:
        return _apply_conditions(n, lits, mono, facts)
    for shorter in (_collapse_delta, _alone):
        fewer = shorter(n, bound, lits, mono, facts)
        if fewer is not None:
            return fewer
    inner = facts.assume_all(sorted(lits, key=lambda lit: lit.key))
    if inner.impossible:
        n.note("empty")
        return ZERO
    settled = n.settle(mono, inner)
    if settled != of_mono(mono):
        return sum_over(n, bound, lits, settled, facts)
    for step in (_cancel_inner_sum, _reindex_by_permutation):
        result = step(n, bound, lits, mono, inner, facts)
        if result is not None:
            return result
    return _split_factors(n, bound, _drop_implied(lits, facts), mono, facts)


def _apply_conditions(n: Normal, lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly:
    out = of_mono(mono)
    for lit in sorted(lits, key=lambda x: x.key):
        out = n.mul(n.decide_condition(lit, facts), out, facts)
    return out


def _merge_nested_sums(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono
) -> tuple[frozenset[Atom], frozenset[Atom], Poly | None]:
    """Merge sums that depend on a bound symbol into the sum around them; None when there is none."""
    nested = [(a, k) for a, k in mono.pows if a.kind == "sum" and a.symbols & bound]
    if not nested:
        return bound, lits, None
    n.note("swap")
    body = of_mono(Mono((), ((a, k) for a, k in mono.pows if (a, k) not in nested), mono.exponent))
    for atom, k in nested:
        for _ in range(k):
            new, conditions, inner = n.unbind(atom)
            bound, lits, body = bound | set(new), lits | set(conditions), body * inner
    return bound, lits, body


def _collapse_delta(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts
) -> Poly | None:
    """Σ_j δ(j, e) f(j) = f(e) where e is in range: the delta's index is replaced, the range stays as a condition on e."""
    for lit in sorted(lits, key=lambda x: x.key):
        if lit.kind != "eq":
            continue
        for symbol in sorted(bound & lit.symbols, key=lambda s: s.key):
            linear = lit.args[0].linear_in(symbol)
            if linear is None or abs(linear[0]) != 1:
                continue
            n.note("collapse")
            value = {symbol: linear[1].scale(-linear[0])}
            body = n.replace_symbols(of_mono(Mono(lits - {lit}, mono.pows, mono.exponent)), value, facts)
            return sum_over(n, bound - {symbol}, (), body, facts)
    return None


def _alone(n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly | None:
    """Σ_{j=e}^{e} f(j) = f(e): a range of one value, its ends compared as they stand."""
    for symbol in sorted(bound, key=lambda s: s.key):
        ends: dict[int, dict[Poly, Atom]] = {1: {}, -1: {}}
        for lit in lits:
            linear = lit.args[0].linear_in(symbol) if lit.kind == "ge" else None
            if linear is not None and abs(linear[0]) == 1:
                sign = int(linear[0])
                ends[sign][linear[1].scale(Fraction(-sign))] = lit
        for value in sorted(ends[1].keys() & ends[-1].keys(), key=lambda p: p.key):
            n.note("alone")
            rest = lits - {ends[1][value], ends[-1][value]}
            body = n.replace_symbols(of_mono(Mono(rest, mono.pows, mono.exponent)), {symbol: value}, facts)
            return sum_over(n, bound - {symbol}, (), body, facts)
    return None


def _drop_implied(lits: frozenset[Atom], facts: Facts) -> frozenset[Atom]:
    """The conditions without those that the others imply."""
    kept = set(lits)
    for lit in sorted(lits, key=lambda x: (-len(x.key), x.key)):
        others = kept - {lit}
        if lit.kind == "ge" and not _looks_up(
            lit
        ):  # a range stays visible even where an equation or a look-up implies it
            others = {x for x in others if x.kind == "ge" and not _looks_up(x)}
        rest = facts.assume_all(sorted(others, key=lambda x: x.key))
        if rest.decide(lit):
            kept.discard(lit)
    return frozenset(kept)


def _looks_up(lit: Atom) -> bool:
    return any(a.kind == "look_up" for a in inside(lit))


def _cancel_inner_sum(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, inner: Facts, facts: Facts
) -> Poly | None:
    """Σ_i Σ_j f(i,j) · 1/Σ_j f(i,j): an inner sum against its own reciprocal."""
    for atom, _ in mono.pows:
        whole = atom.args[0].atom if atom.kind == "inverse" else None
        if whole is None or whole.kind != "sum" or not whole.symbols & bound:
            continue
        for symbol in sorted(bound, key=lambda s: s.key):
            if symbol in whole.symbols:
                continue
            part_lits = frozenset(lit for lit in lits if symbol in lit.symbols)
            part, rest = _factors_with(mono, frozenset((symbol,)))
            if (part.symbols | frozenset().union(*(x.symbols for x in part_lits))) & bound - whole.symbols - {
                symbol
            }:
                continue
            here = facts.assume_all(sorted(lits - part_lits, key=lambda x: x.key))
            if sum_over(n, (symbol,), part_lits, of_mono(part), here) != whole.poly:
                continue
            remaining = rest.times(Mono((), ((whole, 1),)))
            return (
                sum_over(n, bound - {symbol}, lits - part_lits, n.settle(remaining, here), facts)
                if (n.settle(remaining, here) != of_mono(remaining))
                else None
            )
    return None


def _reindex_by_permutation(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, inner: Facts, facts: Facts
) -> Poly | None:
    """Σ_j f(π[±j + e]) = Σ_j f(j) for a permutation π, when ±j + e runs over its whole range."""
    found = unpermuted(n, bound, lits, of_mono(mono))
    return None if found is None else sum_over(n, found[0], (), n.mul(found[1], found[2], n.empty), facts)


def unpermuted(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], body: Poly
) -> tuple[frozenset[Atom], Poly, Poly] | None:
    """Bound symbols, conditions and body with j instead of π[±j + e], when that runs over the whole range of π."""
    every = (*(part for lit in lits for part in inside(lit)), *parts_of(body))
    for atom in sorted({a for a in every if a.kind == "look_up"}, key=lambda a: a.key):
        if n.domain(atom.name) != "permutation" or len(atom.args[0].symbols & bound) != 1:
            continue
        (symbol,), place, size = atom.args[0].symbols & bound, atom.args[0], n.tensors[atom.name].shape[0]
        linear = place.linear_in(symbol)
        span = {x for p in (place, size - place - 1) for x in n.at_least_zero(p, n.empty).conditions}
        if linear is None or abs(linear[0]) != 1 or not span <= lits:
            continue
        new = n.fresh(symbol.name)
        change = Change(atoms={atom.key: new.poly})
        rest = [
            rebuild_condition(n, lit, change, n.empty) for lit in sorted(lits - span, key=lambda x: x.key)
        ]
        changed = rebuild(n, body, change, n.empty)
        if any(symbol in part.symbols for part in (*rest, changed)):
            continue
        n.note("reindex")
        over = [n.at_least_zero(p, n.empty) for p in (new.poly, size - new.poly - 1)]
        return (bound - {symbol}) | {new}, n.product([*over, *rest], n.empty), changed
    return None


def _factors_with(mono: Mono, symbols: frozenset[Atom]) -> tuple[Mono, Mono]:
    """The factors that contain one of the symbols, and the others."""
    exponents: list[dict[Mono, Fraction]] = [{}, {}]
    if mono.exponent is not None:
        for m, c in mono.exponent.terms.items():
            exponents[0 if m.symbols & symbols else 1][m] = c
    inside = [(a, k) for a, k in mono.pows if a.symbols & symbols]
    outside = [(a, k) for a, k in mono.pows if not a.symbols & symbols]
    return Mono((), inside, Poly(exponents[0])), Mono((), outside, Poly(exponents[1]))


def _split_factors(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts
) -> Poly:
    """Take out what is free of the bound symbols and separate factors that share none of them."""
    inside, outside = _factors_with(mono, bound)
    if outside != UNIT:
        n.note("constants")
    groups = list(_components(bound, lits, inside))
    if len(groups) > 1 or any(a.kind == "sum" for a in outside.atoms):
        n.note("independent")
    parts = [_apply_conditions(n, frozenset(lit for lit in lits if not lit.symbols & bound), outside, facts)]
    for symbols in groups:
        own = frozenset(lit for lit in lits if lit.symbols & symbols)
        parts.append(_close_sum(n, symbols, own, _factors_with(inside, symbols)[0], facts))
    return n.product(parts, facts)


def _components(bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono) -> Iterator[frozenset[Atom]]:
    links = [lit.symbols & bound for lit in lits] + [a.symbols & bound for a in mono.atoms]
    if mono.exponent is not None:
        links += [m.symbols & bound for m in mono.exponent.terms]
    left = set(bound)
    while left:
        group = {min(left, key=lambda s: s.key)}
        grown = True
        while grown:
            more = {s for link in links if link & group for s in link} - group
            group |= more
            grown = bool(more)
        left -= group
        yield frozenset(group)


def _close_sum(n: Normal, symbols: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly:
    if mono == UNIT and len(symbols) == 1 and all(lit.kind == "ge" for lit in lits):
        (symbol,) = symbols
        count = _count(symbol, lits)
        if count is not None and facts.nonnegative(count):
            n.note("count")
            return count
    return n.close_binder("sum", symbols, lits, of_mono(mono))


def _count(symbol: Atom, lits: frozenset[Atom]) -> Poly | None:
    """The number of integers in a range given by one lower and one upper bound."""
    low = high = None
    for lit in lits:
        linear = lit.args[0].linear_in(symbol)
        if linear is None or abs(linear[0]) != 1:
            return None
        if linear[0] > 0:
            low, seen = -linear[1], low
        else:
            high, seen = linear[1], high
        if seen is not None:
            return None
    return None if low is None or high is None else high - low + 1
