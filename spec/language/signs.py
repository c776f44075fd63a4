"""Signs of terms: which of negative, null, positive a term can be, by its structure and by what is known.

exp is positive; a square is at least 0; a sum of positive terms is positive when some index is known to be permitted; a
reciprocal has the sign of its argument; a member is at most the maximum. A sign established where an expression was read
(a *certificate*: variance + ε > 0, say, before the square was multiplied out) is kept for the term and found again here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from spec.language.facts import ANY_SIGN, NEGATIVE, NONNEGATIVE, NULL, POSITIVE, Facts, mirror
from spec.language.terms import CONDITIONS, INTEGERS, Atom, Mono, Poly, of_mono

if TYPE_CHECKING:
    from spec.language.normal import Normal


def product_sign(a: int, b: int) -> int:
    """The signs that a product can have."""
    out = 0
    for x in (NEGATIVE, NULL, POSITIVE):
        for y in (NEGATIVE, NULL, POSITIVE):
            if a & x and b & y:
                out |= NULL if NULL in (x, y) else POSITIVE if x == y else NEGATIVE
    return out


def sum_sign(a: int, b: int) -> int:
    """The signs that a sum can have."""
    out = 0
    for x in (NEGATIVE, NULL, POSITIVE):
        for y in (NEGATIVE, NULL, POSITIVE):
            if a & x and b & y:
                out |= x if x == y else y if x == NULL else x if y == NULL else ANY_SIGN
    return out


def power_sign(mask: int, power: int) -> int:
    """The signs that a positive integer power can have."""
    if power % 2:
        return mask
    return (mask & NULL) | (POSITIVE if mask & (NEGATIVE | POSITIVE) else 0)


def sign(n: Normal, poly: Poly, facts: Facts) -> int:
    """The signs that a polynomial can have, given the facts."""
    constant = poly.constant
    if constant is not None:
        return POSITIVE if constant > 0 else NEGATIVE if constant < 0 else NULL
    mask = _known(n, poly, facts)
    if poly.is_index:
        mask &= _index_sign(poly, facts)
    if mask in (POSITIVE, NEGATIVE, NULL):
        return mask
    mask &= _structure(n, poly, facts)
    if mask == ANY_SIGN and len(poly.terms) > 1:
        mask = _case_by_case(n, poly, facts)
    return mask


def _known(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign by an assumption or a certificate."""
    mask = ANY_SIGN
    for factor, prim in n.oriented(poly, facts):
        found = facts.signs.get(prim.key, ANY_SIGN)
        for held, lits in n.certificates.get(prim.key, ()):
            if found & ~held and all(facts.decide(lit) for lit in lits):
                found &= held
        mask &= found if factor > 0 else mirror(found)
    return mask


def _index_sign(poly: Poly, facts: Facts) -> int:
    mask = ANY_SIGN
    if facts.nonnegative(poly):
        mask &= POSITIVE if facts.nonnegative(poly - 1) else NONNEGATIVE
    if facts.nonnegative(-poly):
        mask &= NEGATIVE if facts.nonnegative(-poly - 1) else NEGATIVE | NULL
    return mask


def _structure(n: Normal, poly: Poly, facts: Facts) -> int:
    mask = NULL
    pending = 0
    for mono, c in _complemented(poly):
        own = _mono_sign(n, mono, facts)
        mask = sum_sign(mask, own if c > 0 else mirror(own))
        pending += 1
        if mask == ANY_SIGN:
            break
    if mask == ANY_SIGN:
        return _against_maximum(n, poly, facts)
    return mask


def _case_by_case(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign when a condition that occurs holds and when it fails, if both give the same."""
    for lit in poly.conditions:
        if facts.decide(lit) is None:
            out = 0
            for truth in (True, False):
                case = facts.assume(lit, truth)
                if not case.impossible:
                    out |= sign(n, poly.at(lit, truth), case)
            return out
    return ANY_SIGN


def _complemented(poly: Poly) -> list[tuple[Mono, Fraction]]:
    """The terms, with Σ f - Σ over the indices with a condition written as Σ over those without it."""
    terms = dict(poly.terms)
    for mono, c in poly.ordered:
        if c >= 0 or mono not in terms or len(mono.pows) != 1 or mono.lits or mono.exponent is not None:
            continue
        atom, power = mono.pows[0]
        if atom.kind != "sum" or power != 1:
            continue
        for lit in atom.lits:
            if lit.kind not in ("bool", "eq"):
                continue
            fewer = Atom("sum", "", (), atom.bound, tuple(x for x in atom.lits if x != lit), atom.body)
            whole = Mono((), ((fewer, 1),))
            if terms.get(whole, Fraction(0)) >= -c:
                opposite = Atom("not", lits=(lit,))
                rest = Atom("sum", "", (), atom.bound, (*fewer.lits, opposite), atom.body)
                terms[whole] += terms.pop(mono)
                terms[Mono((), ((rest, 1),))] = -c
                break
    return [(m, c) for m, c in terms.items() if c]


def _mono_sign(n: Normal, mono: Mono, facts: Facts) -> int:
    mask = POSITIVE
    for lit in mono.lits:
        held = facts.decide(lit)
        if held is False:
            return NULL
        if held is None:
            mask = product_sign(mask, NONNEGATIVE)
    inner = facts.assume_all(mono.lits)
    for atom, power in mono.pows:
        mask = product_sign(mask, power_sign(atom_sign(n, atom, inner), power))
    return mask


def atom_sign(n: Normal, atom: Atom, facts: Facts) -> int:
    """The signs that an atom can have."""
    known = _known(n, atom.poly, facts)
    return known & _atom_structure(n, atom, facts)


def _atom_structure(n: Normal, atom: Atom, facts: Facts) -> int:
    kind = atom.kind
    if kind in INTEGERS:
        return _index_sign(atom.poly, facts)
    if kind in CONDITIONS:
        return NONNEGATIVE
    if kind == "entry":
        domain = n.domain(atom.name)
        return POSITIVE if domain == "positive" else NONNEGATIVE if domain in ("nonnegative", "boolean") else ANY_SIGN
    if kind == "inverse":
        return sign(n, atom.args[0], facts)
    if kind in ("root", "inverse_root"):
        return POSITIVE if sign(n, atom.args[0], facts) == POSITIVE else NONNEGATIVE
    if kind == "function":
        return _function_sign(n, atom, facts)
    if kind in ("sum", "maximum"):
        return _binder_sign(n, atom, facts)
    return ANY_SIGN


def _function_sign(n: Normal, atom: Atom, facts: Facts) -> int:
    if atom.name in ("pi", "sigmoid"):
        return POSITIVE
    inner = sign(n, atom.args[0], facts)
    if atom.name == "abs":
        return power_sign(inner, 2)
    if atom.name == "tanh":
        return inner
    if atom.name == "round" and not inner & NEGATIVE:
        return NONNEGATIVE
    return ANY_SIGN


def _binder_sign(n: Normal, atom: Atom, facts: Facts) -> int:
    bound, lits, body = n.opened(atom)
    inner = facts.assume_all(lits)
    mask = sign(n, body, inner)
    if mask == ANY_SIGN:
        return ANY_SIGN
    if facts.witness(bound, lits) is not None:
        return mask
    return mask | NULL if atom.kind == "sum" else ANY_SIGN


def _against_maximum(n: Normal, poly: Poly, facts: Facts) -> int:
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
            if len(bound) == 1 and n.replaced(body, values, facts) == member:
                held = (n.condition_at(lit, values, facts) for lit in lits)
                if all(c.constant == 1 or all(facts.decide(x) for x in c.conditions) for c in held):
                    n.note("member")
                    return NONNEGATIVE if c > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN
