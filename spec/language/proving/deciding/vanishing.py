"""Whether a difference vanishes: once its normal form is not 0, cases, denominators, ranges and what is 0 are tried in turn.

Each try is an equation of terms that holds where the facts do; which one is tried, and how deep, decides only what stays open.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged
from spec.language.proving.rules.normal import Normal
from spec.language.proving.rules.ranges import joined_blocks, split_at, split_by_parity
from spec.language.proving.signs.of_terms import times_power
from spec.language.proving.signs.sets import NULL, POSITIVE
from spec.language.proving.terms.polynomials import (
    INTEGERS,
    ONE,
    ZERO,
    Atom,
    Mono,
    Poly,
    of_mono,
    parts_of,
    total,
)
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
    for rewrite in (_term_by_term, _rearranged, _equated, _spelled_out) if depth < CASES else ():
        result = rewrite(n, difference, facts, depth)
        if result is not None:
            return result
    return difference


def _by_cases(n: Normal, difference: Poly, lit: Atom, facts: Facts, depth: int) -> Poly:
    n.note("cases")
    n.remember_case(())
    for truth in (True, False):
        case = facts.assume(lit, truth)
        part = difference.at(lit, truth)
        if truth and lit.kind == "eq":
            part = _identified(n, part, lit, case)
        remains = vanishes(n, part, case, depth + 1)
        if remains:
            if not n.counter_case:
                n.remember_case(case.added[len(facts.root.added) :])
            return remains
    return ZERO


def _identified(n: Normal, poly: Poly, lit: Atom, facts: Facts) -> Poly:
    """Where two indices agree, one name for both."""
    for symbol in sorted(lit.symbols, key=lambda s: s.key, reverse=True):
        linear = lit.args[0].linear_in(symbol)
        if linear is not None and abs(linear[0]) == 1:
            return rebuild(n, poly, Change(symbols={symbol: linear[1].scale(-linear[0])}), facts)
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
            n.record_cancellation(value)
        n.note("clear")
        difference = times_power(n, difference, value, facts)
    return difference, missing


def _term_by_term(n: Normal, difference: Poly, facts: Facts, depth: int) -> Poly | None:
    """Sums over the same range agree when their terms do, those that other conditions leave out being 0."""
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[Mono, Fraction, Atom]]] = {}
    for alike in (True, False):
        for mono, c in difference.ordered:
            for atom, k in mono.pows:
                if atom.kind == "sum" and k == 1 and len(atom.bound) == 1:
                    rest = Mono(mono.lits, (p for p in mono.pows if p[0] != atom), mono.exponent)
                    key = (rest.key, tuple(lit.key for lit in atom.lits if alike or lit.kind == "ge"))
                    found = groups.setdefault(key, [])
                    found += [] if (mono, c, atom) in found else [(mono, c, atom)]
                    break
    for members in groups.values():
        if len(members) < 2:
            continue
        first = members[0][2]
        bound, lits, _ = n.unbind(first)
        here = facts.assume_all(lit for lit in lits if lit.kind == "ge")
        bodies = []
        for _, c, atom in members:
            body = of_mono(Mono(lit for lit in atom.lits if lit.kind != "ge"), c) * (atom.body or ONE)
            bodies.append(n.replace_symbols(body, {atom.bound[0]: bound[0].poly}, n.empty))
        if not vanishes(n, total(bodies), here, depth + 1):
            n.note("linearity")
            gone = total(of_mono(mono, c) for mono, c, _ in members)
            return vanishes(n, difference - gone, facts, depth + 1)
    return None


def _rearranged(n: Normal, difference: Poly, facts: Facts, depth: int) -> Poly | None:
    """A sum over a range as those over its parts, wherever it stands in the difference."""
    found = {
        atom.key: atom
        for atom in parts_of(difference)
        if atom.kind == "sum" and not any("‹" in s.name for s in atom.symbols)
    }
    sums = [found[key] for key in sorted(found)]
    for wide in sums:
        for parts in _parts_of_range(n, wide, sums, facts):
            split = rebuild(n, difference, Change(atoms={wide.key: parts}), facts)
            return vanishes(n, split, facts, depth + 1)
    return None


def _parts_of_range(n: Normal, wide: Atom, sums: list[Atom], facts: Facts) -> Iterator[Poly]:
    for found in (joined_blocks(n, wide, facts), split_by_parity(n, wide, facts)):
        if found is not None:
            yield found
    for narrow in sums:
        found = split_at(n, wide, narrow, facts)
        if found is not None:
            yield found


def _equated(n: Normal, difference: Poly, facts: Facts, depth: int) -> Poly | None:
    """What is known to be at most 0 and at least 0 is 0: one of its terms is replaced by the others, everywhere."""
    for lit in facts.false:
        if lit.kind != "positive" or n.sign(lit.args[0], facts) != NULL:
            continue
        for mono, c in lit.args[0].ordered:
            rest = lit.args[0] - of_mono(mono, c)
            atom = mono.single
            if atom is None or atom.kind in INTEGERS or atom in parts_of(rest):
                continue
            change = Change(atoms={atom.key: rest.scale(-1 / c)})
            replaced = rebuild(n, difference, change, facts)
            if replaced != difference:
                n.note("squeezed")
                return vanishes(n, replaced, facts, depth + 1)
    return None


def _spelled_out(n: Normal, difference: Poly, facts: Facts, depth: int) -> Poly | None:
    """Sigmoids and hyperbolic tangents as quotients of exponentials, logarithms of fractions as differences."""

    def sigmoid(value: Poly, here: Facts) -> Poly:
        return n.inverse(ONE + n.exp(-value, here), here)

    def tanh(value: Poly, here: Facts) -> Poly:
        return sigmoid(value.scale(Fraction(2)), here).scale(Fraction(2)) - 1

    def log(value: Poly, here: Facts) -> Poly:
        under = [a.args[0] for m in value.ordered for a in m[0].atoms if a.kind == "inverse"]
        if len(value.terms) > 1 and under and n.sign(value, here) == n.sign(under[0], here) == POSITIVE:
            n.note("logarithms")
            over = times_power(n, value, under[0], here)
            return log(over, here) - n.function("log", under[0], here)
        return n.function("log", value, here)

    names = {atom.name for atom in parts_of(difference) if atom.kind == "function"}
    spelled = rebuild(n, difference, Change(functions={"sigmoid": sigmoid, "tanh": tanh, "log": log}), facts)
    if spelled == difference:
        return None
    if names & {"sigmoid", "tanh"}:
        n.note("logistic")
    return vanishes(n, spelled, facts, depth + 1)
