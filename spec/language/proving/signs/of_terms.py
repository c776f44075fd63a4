"""Signs of terms: which of negative, null, positive a term can be, by its structure and by what is known.

exp is positive; a square is at least 0; a sum of positive terms is positive when some index is known to be permitted; a
reciprocal has the sign of its argument; a member is at most the maximum. A sign established where an expression was read
(a *certificate*: variance + ε > 0, say, before the square was multiplied out) is kept for the term and found again here.
"""

from __future__ import annotations

from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.knowledge.schemes import sign_by
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.bounds import a_step_earlier, by_factors, of_logarithm, part, triangle
from spec.language.proving.signs.estimates import above_tangent, absolute_cases, against_maximum, index_part
from spec.language.proving.signs.sets import (
    ANY_SIGN,
    NEGATIVE,
    NONNEGATIVE,
    NULL,
    POSITIVE,
    binder_sign,
    mirror,
    power_sign,
    product_sign,
    sum_sign,
)
from spec.language.proving.terms.polynomials import CONDITIONS, INTEGERS, Atom, Mono, Poly, of_mono, total

BOUNDED = ("sin", "cos", "tanh", "sigmoid", "erf")
"""Functions whose values lie between -1 and 1."""

SATURATING = ("tanh", "sigmoid", "erf")
"""Those of them that never reach the ends."""

MOST_ESTIMATES = 6
"""How many estimates are put into one another at most to find a sign."""

MOST_CASES = 6
"""Up to how many conditions are decided both ways to find a sign."""


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
        with n.limits.within("estimate", MOST_ESTIMATES) as allowed:
            for attempt in _ATTEMPTS if allowed else ():
                mask = attempt(n, poly, facts)
                if mask != ANY_SIGN:
                    break
    return mask


def _known(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign by an assumption or a certificate."""
    mask = ANY_SIGN
    for factor, prim in n.oriented(poly, facts):
        found = facts.signs.get(prim.key, ANY_SIGN)
        for held, lits in n.signs.certificates(prim.key):
            if found & ~held and all(facts.decide(lit) for lit in lits):
                found &= held
        mask &= found if factor > 0 else mirror(found)
    for scheme in n.schemes:
        mask &= sign_by(scheme, n, poly, facts)
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
    for mono, c in _complemented(poly):
        own = _mono_sign(n, mono, facts)
        mask = sum_sign(mask, own if c > 0 else mirror(own))
        if mask == ANY_SIGN:
            break
    return mask


def _bounded(n: Normal, poly: Poly, facts: Facts) -> int:
    """Terms against what they cannot exceed: |x·sin y| ≤ |x|, so for cos and shares; |x·tanh y| < |x| for x ≠ 0."""
    for factor, side in ((1, poly), (-1, -poly)):
        balance: dict[Mono, Fraction] = {}
        strict = False
        for mono, c in side.terms.items():
            size = _size(n, mono, facts)
            balance[size] = balance.get(size, Fraction(0)) + (c if size == mono else -abs(c))
            less = any(a.kind == "function" and a.name in SATURATING for a in mono.atoms)
            strict |= less and _mono_sign(n, size, facts) == POSITIVE
        if all(c >= 0 for c in balance.values()):
            n.note("bounded")
            strict |= any(c and _mono_sign(n, mono, facts) == POSITIVE for mono, c in balance.items())
            mask = POSITIVE if strict else NONNEGATIVE
            return mask if factor > 0 else mirror(mask)
    return ANY_SIGN


def _size(n: Normal, mono: Mono, facts: Facts) -> Mono:
    """A monomial that is at least 0 and that the absolute value of this one does not exceed."""
    here = facts.assume_all(mono.lits)
    out = Mono(mono.lits, (), mono.exponent)
    for atom, k in mono.pows:
        if atom.kind == "function" and atom.name in BOUNDED:
            continue
        if atom.kind == "entry" and n.domain(atom.name) == "share":
            continue
        value = atom.poly if k % 2 == 0 else n.function("abs", atom.poly, here)
        (part, _), *_ = value.ordered
        for _ in range(k):
            out = out.times(part)
    return out


def _monotone(n: Normal, poly: Poly, facts: Facts) -> int:
    """x - y has the sign of ln x - ln y for positive x and y."""
    _, _, prim = n.content(poly)
    terms = prim.ordered
    if len(terms) != 2 or n.lifts(poly) or terms[0][1] != -terms[1][1]:
        return ANY_SIGN
    logs = []
    for mono, _ in terms:
        if any(n.sign(a.poly, facts) != POSITIVE for a in mono.atoms):
            return ANY_SIGN
        powers = (n.function("log", a.poly, facts).scaled(Fraction(k)) for a, k in mono.pows)
        logs.append(total([*powers, *([mono.exponent] if mono.exponent is not None else [])]))
    mask = ANY_SIGN
    for factor, inner in n.oriented(poly, facts):
        if inner == prim:
            own = n.sign(logs[0] - logs[1], facts)
            own = own if terms[0][1] > 0 else mirror(own)
            mask = own if factor > 0 else mirror(own)
    if mask != ANY_SIGN:
        n.note("monotone")
    return mask


def _cleared(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign after positive factors are taken out and positive denominators multiplied out."""
    for factor, inner in n.oriented(poly, facts):
        kinds = ("inverse", "inverse_root")
        for atom in sorted({a for m in inner.terms for a in m.atoms if a.kind in kinds}, key=lambda a: a.key):
            if n.sign(atom.args[0], facts) == POSITIVE:
                own = n.sign(times_power(n, inner, atom.args[0], facts), facts)
                return own if factor > 0 else mirror(own)
        if inner not in (poly, -poly):
            own = n.sign(inner, facts)
            if own != ANY_SIGN:
                return own if factor > 0 else mirror(own)
    return ANY_SIGN


def _case_by_case(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign when a condition that occurs holds and when it fails, if both give the same."""
    for lit in poly.conditions:
        held = facts.decide(lit)
        if held is not None:
            return n.sign(poly.at(lit, held), facts)
    for lit in poly.conditions[:1]:
        if len(poly.conditions) <= MOST_CASES:
            out = 0
            for truth in (True, False):
                case = facts.assume(lit, truth)
                if not case.impossible:
                    out |= n.sign(poly.at(lit, truth), case)
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
            if lit.kind not in ("bool", "eq", "positive"):
                continue
            fewer = Atom("sum", "", (), atom.bound, tuple(x for x in atom.lits if x != lit), atom.body)
            whole = Mono((), ((fewer, 1),))
            if terms.get(whole, Fraction(0)) >= -c:
                opposite = Atom("not", lits=(lit,))
                rest = Atom("sum", "", (), atom.bound, (*fewer.lits, opposite), atom.body)
                terms[whole] += terms.pop(mono)
                others = Mono((), ((rest, 1),))
                terms[others] = terms.get(others, Fraction(0)) - c
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
        return (
            POSITIVE
            if domain == "positive"
            else NONNEGATIVE
            if domain in ("nonnegative", "share", "boolean")
            else ANY_SIGN
        )
    if kind == "inverse":
        return n.sign(atom.args[0], facts)
    if kind in ("root", "inverse_root"):
        return POSITIVE if n.sign(atom.args[0], facts) == POSITIVE else NONNEGATIVE
    if kind == "function":
        return _function_sign(n, atom, facts)
    if kind in ("sum", "maximum"):
        return _binder_sign(n, atom, facts)
    return ANY_SIGN


def _function_sign(n: Normal, atom: Atom, facts: Facts) -> int:
    if atom.name in ("pi", "sigmoid"):
        return POSITIVE
    inner = n.sign(atom.args[0], facts)
    if atom.name == "abs":
        return power_sign(inner, 2)
    if atom.name in ("tanh", "erf"):
        return inner
    if atom.name == "log":
        return n.sign(atom.args[0] - 1, facts)
    if atom.name == "round" and not inner & NEGATIVE:
        return NONNEGATIVE
    return ANY_SIGN


def _binder_sign(n: Normal, atom: Atom, facts: Facts) -> int:
    bound, lits, body = n.opened(atom)
    inner = facts.assume_all(lits)
    return binder_sign(atom.kind, n.sign(body, inner), lambda: facts.witness(bound, lits) is not None)


def times_power(n: Normal, poly: Poly, value: Poly, facts: Facts) -> Poly:
    """The polynomial times the power of √value that leaves no reciprocal of it."""
    weights = {"inverse": -2, "inverse_root": -1, "root": 1}
    terms: list[tuple[Mono, Fraction, int]] = []
    base = value.atom
    for mono, c in poly.terms.items():
        degree = 0
        rest = []
        for atom, k in mono.pows:
            if atom.kind in weights and atom.args[0] == value:
                degree += weights[atom.kind] * k
            elif atom == base:
                degree += 2 * k
            else:
                rest.append((atom, k))
        terms.append((Mono(mono.lits, rest, mono.exponent), c, degree))
    least = min(
        (degree for _, _, degree in terms), default=0
    )  # nothing is left where an earlier denominator cleared all
    parts = []
    for mono, c, degree in terms:
        whole, half = divmod(degree - min(least, 0), 2)
        out = n.mul(of_mono(mono, c), n.power(value, whole, facts), facts)
        parts.append(n.mul(out, Atom("root", "", (value,)).poly, facts) if half else out)
    return total(parts)


_ATTEMPTS = (
    against_maximum,
    _bounded,
    index_part,
    by_factors,
    triangle,
    absolute_cases,
    _monotone,
    above_tangent,
    of_logarithm,
    part,
    _cleared,
    _case_by_case,
    a_step_earlier,
)
"""Ways to find a sign that the form alone does not show, the cheaper ones first."""
