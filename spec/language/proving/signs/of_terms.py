"""Signs of terms: which of negative, null, positive a term can be, by its structure and by what is known.

exp is positive; a square is at least 0; a sum of positive terms is positive when some index is known to be permitted; a
reciprocal has the sign of its argument; a member is at most the maximum. A sign established where an expression was read
(a *certificate*: variance + ε > 0, say, before the square was multiplied out) is kept for the term and found again here.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.knowledge.schemes import sign_by
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.rules.normal import Normal
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
from spec.language.proving.terms.polynomials import (
    CONDITIONS,
    INTEGERS,
    ONE,
    UNIT,
    Atom,
    Mono,
    Poly,
    of_mono,
    parts_of,
    total,
)

DEPTH = 2
"""How deep inside other estimates these, which are costly, are tried."""


def triangle(n: Normal, poly: Poly, facts: Facts) -> int:
    """|x + y| is at most |x| + |y|: what is at least 0 with the larger in place is at least 0."""
    if not n.limits.allows("estimate", DEPTH):
        return ANY_SIGN
    for factor, side in ((1, poly), (-1, -poly)):
        for mono, c in side.ordered:
            for atom, k in mono.pows:
                if c > 0 or k != 1 or atom.kind != "function" or atom.name != "abs":
                    continue
                larger = _sum_of_magnitudes(n, atom.args[0], facts)
                if larger is None:
                    continue
                lower = _with(n, side, mono, c, atom, larger, facts)
                if lower is not None and not n.sign(lower, facts) & NEGATIVE:
                    n.note("triangle")
                    return NONNEGATIVE if factor > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN


def _sum_of_magnitudes(n: Normal, poly: Poly, facts: Facts) -> Poly | None:
    """The absolute values of the terms, those of sums included; None for what has a single term."""
    parts, split = [], len(poly.terms) > 1
    for mono, c in poly.terms.items():
        factors = [of_mono(Mono(mono.lits, (), mono.exponent), abs(c))]
        for atom, k in mono.pows:
            value = n.function("abs", atom.poly, facts)
            if atom.kind == "sum":
                split = True
                bound, lits, body = n.unbind(atom)
                inner = n.function("abs", body, facts.assume_all(lits))
                value = n.sum_over(bound, lits, inner, facts)
            factors.append(n.power(value, k, facts))
        parts.append(n.product(factors, facts))
    return total(parts) if split else None


def part(n: Normal, poly: Poly, facts: Facts) -> int:
    """A sum of terms that are at least 0 is at least each of them, and so is a maximum."""
    if not n.limits.allows("estimate", DEPTH):
        return ANY_SIGN
    for factor, side in ((1, poly), (-1, -poly)):
        for mono, c in side.ordered:
            for atom, k in mono.pows:
                if c < 0 or k != 1 or atom.kind not in ("sum", "maximum") or len(atom.bound) != 1:
                    continue
                for one in _terms(n, atom, side, facts):
                    lower = _with(n, side, mono, c, atom, one, facts)
                    if lower is not None and not n.sign(lower, facts) & NEGATIVE:
                        if atom.kind == "sum":
                            n.note("part")
                        else:
                            n.note("member")
                        return NONNEGATIVE if factor > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN


def _terms(n: Normal, atom: Atom, poly: Poly, facts: Facts) -> Iterator[Poly]:
    """The terms of a sum, all of them at least 0, or of a maximum, at indices that occur elsewhere and are permitted."""
    (symbol,), lits, body = n.unbind(atom)
    if atom.kind == "sum" and n.sign(body, facts.assume_all(lits)) & NEGATIVE:
        return
    tried: set[str] = set()
    for other in parts_of(poly):
        for at in other.args if other.kind in ("entry", "look_up", "state") else ():
            if not at.is_index or at.key in tried or any("‹" in s.name for s in at.symbols):
                continue
            tried.add(at.key)
            if all(facts.shows(n.condition_at(lit, {symbol: at}, facts)) for lit in lits):
                yield n.replace_symbols(body, {symbol: at}, facts)


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
    return poly - of_mono(mono, c) + n.mul(rest.scale(c), value, facts)


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
        rest = rest - atom.poly.scale(c)
        if c > 0:
            above = n.mul(above, atom.args[0], facts)
        else:
            below = n.mul(below, atom.args[0], facts)
    mask = n.sign(n.mul(above, n.exp(rest.scale(1 / size), facts), facts) - below, facts)
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


def against_maximum(n: Normal, poly: Poly, facts: Facts) -> int:
    """Maximum - member is at least 0: look for a term that is a maximum and an index at which the rest is its body."""
    for mono, c in poly.ordered:
        if len(mono.pows) != 1 or mono.lits or mono.exponent is not None or mono.pows[0][1] != 1:
            continue
        atom = mono.pows[0][0]
        if atom.kind != "maximum":
            continue
        member = (of_mono(mono, c) - poly).scale(1 / c)
        bound, lits, body = n.unbind(atom)
        for candidate in sorted(member.symbols, key=lambda s: s.key):
            values = {bound[0]: candidate.poly}
            if len(bound) > 1 or n.replace_symbols(body, values, facts) != member:
                continue
            if all(facts.shows(n.condition_at(lit, values, facts)) for lit in lits):
                n.note("member")
                return NONNEGATIVE if c > 0 else mirror(NONNEGATIVE)
    return ANY_SIGN


def at_largest(n: Normal, poly: Poly, facts: Facts) -> int:
    """A maximum is one of its members: the sign is one that whichever of them in its place gives."""
    if not n.limits.allows("estimate", DEPTH):
        return ANY_SIGN
    for atom in sorted({a for m in poly.terms for a in m.atoms if a.kind == "maximum"}, key=lambda a: a.key):
        bound, lits, body = n.unbind(atom)
        if facts.witness(bound, lits) is None:
            continue
        here = facts.assume_all(lits)
        mask = n.sign(_instead(n, poly, atom, body, here), here)
        if mask != ANY_SIGN:
            n.note("attained")
            return mask
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
    """The polynomial over eᶻ, for an eᶻ that it takes away, with Σ a·(1 + x + y) for every eʸ·Σ a·eˣ in which all a ≥ 0."""
    taken = {m.exponent.key: m.exponent for m, c in poly.terms.items() if c < 0 and m.exponent is not None}
    for _, z in sorted(taken.items()):
        lower, found = Poly(), False
        for mono, c in n.mul(poly, n.exp(-z, facts), facts).terms.items():
            lowered = None if mono.exponent is None or c < 0 else _within(n, mono, mono.exponent, facts)
            found |= lowered is not None
            lower += of_mono(mono, c) if lowered is None else lowered.scale(c)
        if found:
            yield lower


def _within(n: Normal, mono: Mono, exponent: Poly, facts: Facts) -> Poly | None:
    """What eʸ·Σ a·eˣ is at least, with its other factors; None if they, or any a, may be below 0."""
    for atom, power in mono.pows:
        rest = of_mono(Mono(mono.lits, ((a, k) for a, k in mono.pows if a != atom)))
        if atom.kind != "sum" or power != 1 or n.sign(rest, facts) & NEGATIVE:
            continue
        bound, lits, body = n.unbind(atom)
        inner = facts.assume_all(lits)
        plain = [(of_mono(Mono(m.lits, m.pows), c), m.exponent or Poly()) for m, c in body.terms.items()]
        if all(m.exponent is None for m in body.terms) or any(n.sign(a, inner) & NEGATIVE for a, _ in plain):
            continue
        terms = (n.mul(a, ONE + x + exponent, inner) for a, x in plain)
        return n.mul(rest, n.sum_over(bound, lits, total(list(terms)), facts), facts)
    return None


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
    mask = _known_sign(n, poly, facts)
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


def _known_sign(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign by an assumption or a certificate."""
    mask = ANY_SIGN
    for factor, prim in n.find_orientations(poly, facts):
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
    for mono, c in _complement_sums(poly):
        own = _mono_sign(n, mono, facts)
        mask = sum_sign(mask, own if c > 0 else mirror(own))
        if mask == ANY_SIGN:
            break
    return mask


def _sign_by_bounds(n: Normal, poly: Poly, facts: Facts) -> int:
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
        plain = k % 2 == 0 or not n.sign(atom.poly, here) & NEGATIVE
        size = atom if plain else Atom("function", "abs", (atom.poly,))
        out = out.times(Mono((), ((size, k),)))
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
        powers = (n.function("log", a.poly, facts).scale(Fraction(k)) for a, k in mono.pows)
        logs.append(total([*powers, *([mono.exponent] if mono.exponent is not None else [])]))
    mask = ANY_SIGN
    for factor, inner in n.find_orientations(poly, facts):
        if inner == prim:
            own = n.sign(logs[0] - logs[1], facts)
            own = own if terms[0][1] > 0 else mirror(own)
            mask = own if factor > 0 else mirror(own)
    if mask != ANY_SIGN:
        n.note("monotone")
    return mask


def _sign_by_clearing(n: Normal, poly: Poly, facts: Facts) -> int:
    """The sign after positive factors are taken out and positive denominators multiplied out."""
    for factor, inner in n.find_orientations(poly, facts):
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


def _complement_sums(poly: Poly) -> list[tuple[Mono, Fraction]]:
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
    known = _known_sign(n, atom.poly, facts)
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
    bound, lits, body = n.unbind(atom)
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
    _sign_by_bounds,
    index_part,
    by_factors,
    triangle,
    absolute_cases,
    _monotone,
    above_tangent,
    of_logarithm,
    part,
    _sign_by_clearing,
    _case_by_case,
    at_largest,
    a_step_earlier,
)
"""Ways to find a sign that the form alone does not show, the cheaper ones first."""
