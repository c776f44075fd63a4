"""The rules of products, functions and conditions: each takes terms in normal form and gives one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import sympy

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import NEGATIVE, NULL, POSITIVE
from spec.language.proving.terms.polynomials import (
    ONE,
    UNIT,
    ZERO,
    Atom,
    Mono,
    Poly,
    number,
    of_mono,
    total,
    whole,
)


def at_least_zero(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """The indicator of ``poly ≥ 0`` for an index expression."""
    constant = poly.constant
    if constant is not None:
        return ONE if constant >= 0 else ZERO
    return n.decide_condition(_in_lowest_terms(poly), facts)


@lru_cache(maxsize=1 << 14)
def _in_lowest_terms(poly: Poly) -> Atom:
    divisor, slopes = whole(Poly({m: c for m, c in poly.terms.items() if m != UNIT}))
    rest = (poly.terms.get(UNIT) or Fraction(0)) / divisor
    return Atom("ge", "", (slopes + rest.numerator // rest.denominator,))


def equal(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """The indicator of ``poly = 0`` for an index expression."""
    constant = poly.constant
    if constant is not None:
        return ZERO if constant else ONE
    _, prim = whole(poly)
    slopes = Poly({m: c for m, c in prim.terms.items() if m != UNIT})
    divisor, slopes = whole(slopes)
    rest = (prim.terms.get(UNIT) or Fraction(0)) / divisor
    if rest.denominator != 1:
        return ZERO
    if slopes.ordered[0][1] < 0:
        slopes, rest = -slopes, -rest
    if rest == 0 and len(slopes.terms) == 2:
        (a, x), (b, y) = ((m.single, c) for m, c in slopes.ordered)
        if x == -y and a is not None and b is not None and _one_permutation(n, a, b, facts):
            n.note("permuted")
            return equal(n, a.args[0] - b.args[0], facts)
    return n.decide_condition(Atom("eq", "", (slopes + rest,)), facts)


def above_zero(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """The indicator of ``poly > 0`` for a real value."""
    if n.lifts(poly):
        return n.split_cases(n.above_zero, poly, facts)
    mask = n.sign(poly, facts)
    if mask == POSITIVE or not mask & POSITIVE:
        return ONE if mask == POSITIVE else ZERO
    essential = _essential(n, poly, facts)
    if essential is not None:
        return above_zero(n, essential, facts)
    factor, prim = n.find_orientations(poly, facts)[-1]
    return n.decide_condition(Atom("positive", "", (prim if factor > 0 else -prim,)), facts)


def _essential(n: Normal, poly: Poly, facts: Facts) -> Poly | None:
    """What decides the sign of a product of which all factors but one are positive: the factor, or what it is the root of."""
    if len(poly.terms) != 1:
        return None
    (mono, c), *_ = poly.ordered
    open_ = [(a, k) for a, k in mono.pows if n.sign(a.poly, facts) != POSITIVE]
    if mono.lits or c < 0 or len(open_) != 1 or open_[0][1] != 1:
        return None
    ((atom, _),) = open_
    if atom.kind in ("root", "inverse", "inverse_root"):  # positive exactly where their argument is
        return atom.args[0]
    return atom.poly if atom.poly != poly else None


def _one_permutation(n: Normal, a: Atom, b: Atom, facts: Facts) -> bool:
    """Whether both atoms are look-ups in range of the same permutation."""
    same = a.kind == b.kind == "look_up" and a.name == b.name and n.domain(a.name) == "permutation"
    return same and n.in_range(a, facts) and n.in_range(b, facts)


def settle(n: Normal, mono: Mono, facts: Facts) -> Poly:
    """A product of atoms, reduced: sin² = 1 - cos², √x√x = x, x·(1/x) = 1, conditions that others imply dropped."""
    pows = dict(mono.pows)

    def without(*changes: tuple[Atom, int]) -> Mono:
        rest = dict(pows)
        for atom, k in changes:
            rest[atom] = rest.get(atom, 0) - k
        return Mono(mono.lits, ((a, k) for a, k in rest.items() if k), mono.exponent)

    for atom, k in mono.pows:
        if atom.kind == "function" and atom.name == "sin" and k >= 2:
            n.note("pythagoras")
            cosine = Atom("function", "cos", atom.args)
            fewer = without((atom, 2))
            return settle(n, fewer, facts) - settle(n, fewer.times(Mono((), ((cosine, 2),))), facts)
        if atom.kind not in ("root", "inverse", "inverse_root"):
            continue
        inner = facts.assume_all(mono.lits)
        value = atom.args[0]
        if atom.kind in ("root", "inverse_root") and k >= 2 and not n.sign(value, inner) & ~(POSITIVE | NULL):
            n.note("roots")
            square = value if atom.kind == "root" else n.inverse(value, inner)
            return n.mul(of_mono(without((atom, 2))), square, facts)
        partner, result = _partner(atom, pows)
        if partner is None:
            continue
        mask = n.sign(value, inner)
        if result is None:
            if not mask & NULL and (atom.kind != "inverse_root" or mask == POSITIVE):
                n.note("cancel")
                n.record_cancellation(value)
                return settle(n, without((atom, 1), (partner, 1)), facts)
        elif not mask & ~(POSITIVE | NULL):
            n.note("roots")
            rest = without((atom, 1), (partner, 1))
            return settle(n, rest.times(Mono((), ((result, 1),))), facts)
    return _absorb_conditions(n, mono, facts)


def _partner(atom: Atom, pows: Mapping[Atom, int]) -> tuple[Atom | None, Atom | None]:
    """A factor that reduces against a root or reciprocal, and what the two become (None: they cancel)."""
    base = atom.args[0].atom
    if atom.kind == "inverse":
        if base is not None and base in pows:
            return base, None
        root = Atom("root", "", atom.args)
        return (root, Atom("inverse_root", "", atom.args)) if root in pows else (None, None)
    if atom.kind == "inverse_root":
        root = Atom("root", "", atom.args)
        if root in pows:
            return root, None
        if base is not None and base in pows:
            return base, root
    return None, None


def _absorb_conditions(n: Normal, mono: Mono, facts: Facts) -> Poly:
    """Drop conditions that others, or the indices of a sum that is a factor, imply; 0 where they contradict."""
    if not mono.lits:
        return of_mono(mono)
    lits = list(mono.lits)
    sums_ = [a for a in mono.atoms if a.kind == "sum"]
    if len(lits) == 1 and not sums_:
        return of_mono(mono)
    for lit in sorted(mono.lits, key=lambda x: (x.kind != "any", -len(x.key), x.key)):
        others = facts.assume_all(x for x in lits if x != lit)
        held = others.decide(lit)
        if held is False:
            return ZERO
        for atom in sums_ if held is None else ():
            _, inner, _ = n.unbind(atom)
            held = held or others.assume_all(inner).decide(lit)
        if held:
            n.note("decided")
            lits.remove(lit)
    return of_mono(mono if len(lits) == len(mono.lits) else Mono(lits, mono.pows, mono.exponent))


ANGLE_LIMIT = 12
"""The largest integer multiple of an angle that the addition theorems take apart."""


def exponential(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """e to the power of a polynomial."""
    if n.lifts(poly):
        return n.split_cases(n.exp, poly, facts)
    rest, factors = {}, [ONE]
    for m, c in poly.terms.items():
        atom = of_mono(m).atom
        if atom is not None and atom.kind == "function" and atom.name == "log" and (2 * c).denominator == 1:
            base = atom.args[0]
            base = base if (2 * c).numerator % 2 == 0 else n.root(base, facts)
            base = base if c > 0 else n.inverse(base, facts)
            factors += [base] * int(abs(c) if c.denominator == 1 else abs(2 * c))
        else:
            rest[m] = c
    n.note("exponents")
    return n.mul(of_mono(Mono((), (), Poly(rest))), n.product(factors, facts), facts)


def inverse(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """1/P, spread over the factors of P."""
    constant = poly.constant
    if constant is not None:
        return number(1 / constant) if constant else ZERO
    if n.lifts(poly):
        return n.split_cases(n.inverse, poly, facts)
    coefficient, content, prim = n.content(poly)
    pows = [_inverse_of(a, k) for a, k in content.pows]
    if prim != ONE:
        pows.append((Atom("inverse", "", (prim,)), 1))
    exponent = None if content.exponent is None else -content.exponent
    n.note("reciprocals")
    return n.settle(_merge_powers(pows, exponent), facts).scale(1 / coefficient)


def _inverse_of(atom: Atom, k: int) -> tuple[Atom, int]:
    if atom.kind == "inverse":
        inner = atom.args[0].atom
        return (inner, k) if inner is not None else (Atom("inverse", "", (atom.poly,)), k)
    if atom.kind in ("root", "inverse_root"):
        return Atom("inverse_root" if atom.kind == "root" else "root", "", atom.args), k
    return Atom("inverse", "", (atom.poly,)), k


def root(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """√P, with what is known to be at least 0 taken out."""
    constant = poly.constant
    if constant is not None:
        return _surd(constant)
    if n.lifts(poly):
        return n.split_cases(n.root, poly, facts)
    coefficient, content, prim = n.content(poly)
    out, kept = [_surd(abs(coefficient))], Mono()
    for a, k in content.pows:
        if k > 1:
            out.append(n.power(n.function("abs", a.poly, facts), k // 2, facts))
        if k % 2:
            if n.sign(a.poly, facts) & ~(POSITIVE | NULL):
                kept = kept.times(Mono((), ((a, 1),)))
            else:
                out.append(_root_of(a).poly)
    if content.exponent is not None:
        out.append(of_mono(Mono((), (), content.exponent.scale(Fraction(1, 2)))))
    left = (prim if coefficient > 0 else -prim) * of_mono(kept)
    if left.constant is None:
        out.append(Atom("root", "", (left,)).poly)
    else:
        out.append(_surd(left.constant))
    n.note("roots")
    return n.product(out, facts)


def _root_of(atom: Atom) -> Atom:
    if atom.kind == "inverse":
        return Atom("inverse_root", "", atom.args)
    return Atom("root", "", (atom.poly,))


def function(n: Normal, name: str, poly: Poly, facts: Facts) -> Poly:
    """An elementary function other than exp and √."""
    if n.lifts(poly):
        return n.split_cases(lambda p, f: n.function(name, p, f), poly, facts)
    if name in ("sin", "cos"):
        return _angle(n, name, poly, facts)
    if not poly and name in ("abs", "tanh", "erf", "round"):
        return ZERO
    if name in ("tanh", "erf") and poly.ordered[0][1] < 0:
        n.note("odd")
        return -Atom("function", name, (-poly,)).poly
    if name == "abs":
        mask = n.sign(poly, facts)
        if not mask & NEGATIVE or not mask & POSITIVE:
            return poly if not mask & NEGATIVE else -poly
        return _absolute(n, poly, facts)
    if name == "log":
        return _logarithm(n, poly, facts)
    return Atom("function", name, (poly,)).poly


def _logarithm(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """ln P, with exponentials and positive factors taken out."""
    if len(poly.terms) > 1:
        exponent = n.content(poly)[1].exponent
        if exponent is not None and n.sign(poly, facts) == POSITIVE:
            n.note("exponents")
            return exponent + n.function("log", n.mul(poly, n.exp(-exponent, facts), facts), facts)
    if len(poly.terms) == 1:
        (mono, c), *_ = poly.terms.items()
        if mono.exponent is not None and n.sign(of_mono(Mono((), mono.pows), c), facts) == POSITIVE:
            n.note("exponents")
            return mono.exponent + n.function("log", of_mono(Mono((), mono.pows), c), facts)
        if mono == UNIT and c == 1:
            return ZERO
        apart = len(mono.pows) > 1 or c != 1 or any(k > 1 or a.kind in _INVERSES for a, k in mono.pows)
        if (
            apart
            and mono.pows
            and not mono.lits
            and c > 0
            and all(n.sign(a.poly, facts) == POSITIVE for a in mono.atoms)
        ):
            n.note("logarithms")
            parts = [_log_of(n, a, facts).scale(Fraction(k)) for a, k in mono.pows]
            return total([*parts, *([Atom("function", "log", (number(c),)).poly] if c != 1 else [])])
    return Atom("function", "log", (poly,)).poly


_INVERSES = {"inverse": Fraction(-1), "root": Fraction(1, 2), "inverse_root": Fraction(-1, 2)}
"""What power of their argument reciprocals and roots are."""


def _log_of(n: Normal, atom: Atom, facts: Facts) -> Poly:
    """The logarithm of a positive factor."""
    if atom.kind in _INVERSES:
        return n.function("log", atom.args[0], facts).scale(_INVERSES[atom.kind])
    return Atom("function", "log", (atom.poly,)).poly


def _absolute(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """|P|, spread over the factors of a product."""
    coefficient, prim = whole(poly)
    (mono, c), *others = prim.ordered
    factors = _factors(n, prim) if others else []
    if len(factors) > 1:
        n.note("absolute")
        return n.product([n.function("abs", f, facts) for f in factors], facts).scale(coefficient)
    if others or mono.single is not None:
        return Atom("function", "abs", (prim if c > 0 else -prim,)).poly.scale(coefficient)
    n.note("absolute")
    even = of_mono(Mono((), ((a, k - k % 2) for a, k in mono.pows if k > 1), mono.exponent), coefficient)
    return n.product([even, *(n.function("abs", a.poly, facts) for a, k in mono.pows if k % 2)], facts)


def _factors(n: Normal, poly: Poly) -> list[Poly]:
    """Polynomials whose product a polynomial is, constants left out; itself where conditions or exponentials are in it."""
    if any(m.lits or m.exponent is not None for m in poly.terms):
        return [poly]
    atoms = sorted({a for m in poly.terms for a in m.atoms}, key=lambda a: a.key)
    symbols = [sympy.Symbol(f"x{place}") for place in range(len(atoms))]
    names = dict(zip(atoms, symbols, strict=True))
    tree = sympy.Add(
        *(
            sympy.Rational(c.numerator, c.denominator) * sympy.Mul(*(names[a] ** k for a, k in m.pows))
            for m, c in poly.terms.items()
        )
    )
    found, product = [], ONE
    for factor, k in sympy.factor_list(tree)[1]:
        terms = {
            Mono((), ((a, e) for a, e in zip(atoms, powers, strict=True) if e)): Fraction(int(c.p), int(c.q))
            for powers, c in sympy.Poly(factor, *symbols).terms()
        }
        found += [Poly(terms)] * k
    for part in found:
        product = product * part
    ratio = next((c / product.terms[m] for m, c in poly.terms.items() if m in product.terms), None)
    if ratio is None or product.scale(ratio) != poly or abs(ratio) != 1:
        return [poly]
    return found


def _angle(n: Normal, name: str, poly: Poly, facts: Facts) -> Poly:
    if not poly:
        return ONE if name == "cos" else ZERO
    (mono, c), *rest = poly.ordered
    first, others = of_mono(mono, c), poly - of_mono(mono, c)
    if rest:
        n.note("angles")
    elif c < 0:
        flipped = _angle(n, name, -poly, facts)
        return flipped if name == "cos" else -flipped
    elif 2 <= c.numerator <= ANGLE_LIMIT and mono != UNIT:
        n.note("angles")
        first = of_mono(mono, Fraction(1, c.denominator))
        others = poly - first
    else:
        return Atom("function", name, (poly,)).poly
    sin_a, cos_a = _angle(n, "sin", first, facts), _angle(n, "cos", first, facts)
    sin_b, cos_b = _angle(n, "sin", others, facts), _angle(n, "cos", others, facts)
    if name == "sin":
        return n.mul(sin_a, cos_b, facts) + n.mul(cos_a, sin_b, facts)
    return n.mul(cos_a, cos_b, facts) - n.mul(sin_a, sin_b, facts)


def _merge_powers(pows: list[tuple[Atom, int]], exponent: Poly | None) -> Mono:
    merged: dict[Atom, int] = {}
    for atom, k in pows:
        merged[atom] = merged.get(atom, 0) + k
    return Mono((), merged.items(), exponent)


def _surd(value: Fraction) -> Poly:
    """√value for a rational: a rational times the root of a square-free integer; 0 below 0."""
    if value <= 0:
        return ZERO
    inner = value.numerator * value.denominator
    outside, k = 1, 2
    while k * k <= inner and k < 10_000:
        while inner % (k * k) == 0:
            inner //= k * k
            outside *= k
        k += 1
    if isqrt(inner) ** 2 == inner:
        outside, inner = outside * isqrt(inner), 1
    factor = Fraction(outside, value.denominator)
    return number(factor) if inner == 1 else Atom("root", "", (number(inner),)).poly.scale(factor)


def content(poly: Poly) -> tuple[Fraction, Mono, Poly]:
    """``(c, M, Q)`` with the polynomial equal to ``c·M·Q``: common factors taken out, Q's leading coefficient positive."""
    terms = poly.ordered
    least: dict[Atom, int] = dict(terms[0][0].pows)
    for mono, _ in terms[1:]:
        powers = dict(mono.pows)
        least = {a: min(k, powers[a]) for a, k in least.items() if a in powers}
    stripped = [
        (Mono(m.lits, ((a, k - least.get(a, 0)) for a, k in m.pows if k != least.get(a, 0)), m.exponent), c)
        for m, c in terms
    ]
    exponents = {m.exponent.key: m.exponent for m, _ in stripped if m.exponent is not None}
    choices: list[tuple[Poly, Poly | None]] = []
    shifts: list[Poly | None] = list(exponents.values())
    if any(m.exponent is None for m, _ in stripped):
        shifts.append(None)
    for shift in shifts:
        shifted = total(
            of_mono(m if shift is None else m.times(Mono((), (), -shift)), c) for m, c in stripped
        )
        choices.append((shifted, shift))
    prim, exponent = min(choices, key=lambda choice: (len(choice[0].key), choice[0].key))
    factor, prim = whole(prim)
    if prim.ordered[0][1] < 0:
        factor, prim = -factor, -prim
    return factor, Mono((), least.items(), exponent), prim
