"""Deciding that a difference of terms vanishes.

Most differences vanish in normal form. For the others: conditions left in the difference are decided both ways (a case
distinction); denominators are multiplied out, each with the obligation that it is nonzero in the case at hand; sums over the
same range are compared term by term; a range is split at a condition, in an exponent too. Each is sound, none is guesswork:
what remains is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.of_terms import times_power
from spec.language.proving.signs.sets import NULL, POSITIVE
from spec.language.proving.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, conjuncts, of_mono, total
from spec.language.proving.terms.replacing import Change, rebuild
from spec.language.proving.terms.writing import text

CASES = 10
"""How many nested case distinctions are tried."""


def vanishes(n: Normal, difference: Poly, facts: Facts, depth: int = 0) -> Poly:
    """What remains of a difference: zero when it vanishes wherever the facts hold.

    Raises:
        Undischarged: it would vanish if something were known to be nonzero.
    """
    if facts.impossible:
        return ZERO
    difference = rebuild(n, difference, Change(again=True), facts)
    if not difference:
        return ZERO
    undecided = [lit for lit in difference.conditions if facts.decide(lit) is None]
    if undecided and depth < CASES:
        return _by_cases(n, difference, undecided[0], facts, depth)
    cleared, missing = _cleared(n, difference, facts)
    if cleared != difference or missing:
        left = vanishes(n, cleared, facts, depth + 1) if depth < CASES else cleared
        if left:
            return difference
        if missing:
            raise Undischarged(" and ".join(f"{text(n, value)} ≠ 0" for value in missing))
        return ZERO
    for rewrite in (_term_by_term, _range_split, _exponents):
        result = rewrite(n, difference, facts, depth)
        if result is not None:
            return result
    return difference


def _by_cases(n: Normal, difference: Poly, lit: Atom, facts: Facts, depth: int) -> Poly:
    n.note("cases")
    n.missed(())
    for truth in (True, False):
        case = facts.assume(lit, truth)
        part = difference.at(lit, truth)
        if truth and lit.kind == "eq":
            part = _identified(n, part, lit, case)
        remains = vanishes(n, part, case, depth + 1)
        if remains:
            if not n.counter_case:
                n.missed(case.added[len(facts.root.added) :])
            return remains
    return ZERO


def _identified(n: Normal, poly: Poly, lit: Atom, facts: Facts) -> Poly:
    """Where two indices agree, one name for both."""
    for symbol in sorted(lit.symbols, key=lambda s: s.key, reverse=True):
        linear = lit.args[0].linear_in(symbol)
        if linear is not None and abs(linear[0]) == 1:
            return rebuild(n, poly, Change(symbols={symbol: linear[1].scaled(-linear[0])}), facts)
    return poly


def _cleared(n: Normal, difference: Poly, facts: Facts) -> tuple[Poly, list[Poly]]:
    """The difference times its denominators, and the denominators not known to be nonzero."""
    missing: list[Poly] = []
    inverses = {
        a.args[0].key: a.args[0] for m in difference.terms for a in m.atoms if a.kind.startswith("inverse")
    }
    for value in inverses.values():
        rooted = any(
            a.kind.endswith("root") and a.args[0] == value for m in difference.terms for a in m.atoms
        )
        mask = n.sign(value, facts)
        if (mask != POSITIVE) if rooted else mask & NULL:
            missing.append(value)
        else:
            n.cancelled(value)
        n.note("clear")
        difference = times_power(n, difference, value, facts)
    return difference, missing


def _sums(difference: Poly) -> Iterator[tuple[Mono, Fraction, Mono, Atom]]:
    """Terms with one sum over one index: the term, its coefficient, the other factors, the sum."""
    for mono, c in difference.ordered:
        for atom, k in mono.pows:
            if atom.kind == "sum" and k == 1 and len(atom.bound) == 1:
                rest = Mono(mono.lits, (p for p in mono.pows if p[0] != atom), mono.exponent)
                yield mono, c, rest, atom
                break


def _term_by_term(n: Normal, difference: Poly, facts: Facts, depth: int) -> Poly | None:
    """Sums over the same range agree when their terms do."""
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[Mono, Fraction, Atom]]] = {}
    for mono, c, rest, atom in _sums(difference):
        key = (rest.key, tuple(lit.key for lit in atom.lits))
        groups.setdefault(key, []).append((mono, c, atom))
    for members in groups.values():
        if len(members) < 2 or depth >= CASES:
            continue
        first = members[0][2]
        bound, lits, _ = n.opened(first)
        name = {first.bound[0]: bound[0].poly}
        bodies = [n.replaced(atom.body or ONE, name, n.empty).scaled(c) for _, c, atom in members]
        if not vanishes(n, total(bodies), facts.assume_all(lits), depth + 1):
            n.note("linearity")
            gone = total(of_mono(mono, c) for mono, c, _ in members)
            return vanishes(n, difference - gone, facts, depth + 1)
    return None


def _range_split(n: Normal, difference: Poly, facts: Facts, depth: int) -> Poly | None:
    """Σ over a range is Σ over a part of it plus Σ over the rest."""
    if depth >= CASES:
        return None
    split = _split(n, difference, (atom for _, _, _, atom in _sums(difference)), facts)
    return None if split is None else vanishes(n, split, facts, depth + 1)


def _split(n: Normal, poly: Poly, parts: Iterable[Atom], facts: Facts) -> Poly | None:
    """A polynomial with one of its sums as that over the range of one of these parts, and that over the rest."""
    narrower = list(parts)
    for mono, c, rest, wide in _sums(poly):
        for narrow in narrower:
            if wide == narrow or wide.body != narrow.body or wide.bound != narrow.bound:
                continue
            inner = facts.assume_all(narrow.lits)
            if not all(inner.decide(lit) for lit in wide.lits):
                continue
            outer = facts.assume_all(wide.lits)
            extra = [lit for lit in narrow.lits if not outer.decide(lit)]
            if len(extra) != 1 or extra[0].kind != "ge":
                continue
            n.note("split_range")
            opposite = n.at_least_zero(-extra[0].args[0] - 1, n.empty)
            (symbol,) = wide.bound
            fresh = n.fresh("k")
            change = Change(symbols={symbol: fresh.poly})
            body = rebuild(n, n.mul(opposite, wide.body or ONE, n.empty), change, n.empty)
            lits = [x for lit in wide.lits for x in conjuncts(rebuild(n, lit.poly, change, n.empty))]
            others = n.summed((fresh,), lits, body, facts)
            return poly - of_mono(mono, c) + n.mul(of_mono(rest, c), narrow.poly + others, facts)
    return None


def _exponents(n: Normal, difference: Poly, facts: Facts, depth: int) -> Poly | None:
    """A range is split within an exponent, at a part of it that is in one, too."""
    exponents = [m.exponent for m, _ in difference.ordered if m.exponent is not None]
    parts = [atom for exponent in exponents for _, _, _, atom in _sums(exponent)]
    for mono, c in difference.ordered if depth < CASES else ():
        split = None if mono.exponent is None else _split(n, mono.exponent, parts, facts)
        if split is not None:
            moved = n.mul(of_mono(Mono(mono.lits, mono.pows), c), n.exp(split, facts), facts)
            return vanishes(n, difference - of_mono(mono, c) + moved, facts, depth + 1)
    return None
