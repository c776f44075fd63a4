"""The normal form: terms that are equal by the rules of :mod:`spec.language.rules` become the same polynomial.

Products are multiplied out, exponentials merged (eᵃeᵇ = eᵃ⁺ᵇ), reciprocals and roots spread over factors, angles added,
indicators pulled out of functions, sums split into irreducible ones (:mod:`spec.language.sums`). A cancellation ``x·(1/x) = 1``
happens only where ``x ≠ 0`` is known at that place, and is recorded; where it is not known the term simply stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

from spec.language import sums
from spec.language.expr import Tensor
from spec.language.facts import ANY_SIGN, NULL, POSITIVE, Facts
from spec.language.linear import Form, form
from spec.language.obligations import Ledger
from spec.language.signs import product_sign, sign
from spec.language.terms import ONE, UNIT, ZERO, Atom, Mono, Poly, number, of_mono, total, whole

ANGLE_LIMIT = 12
"""The largest integer multiple of an angle that the addition theorems take apart."""


@dataclass(frozen=True)
class TensorInfo:
    """What the prover knows of a tensor: its domain, its shape, and below which number its integers lie."""

    domain: str
    shape: tuple[Poly, ...]
    below: Poly


@dataclass
class Change:
    """A replacement: symbols by index terms, and entries of named tensors by functions of their indices."""

    symbols: Mapping[Atom, Poly] = field(default_factory=dict)
    entries: Mapping[str, Callable[[tuple[Poly, ...], Facts], Poly]] = field(default_factory=dict)
    atoms: Mapping[str, Poly] = field(default_factory=dict)
    again: bool = False

    def leaves(self, atom: Atom) -> bool:
        """Whether the atom cannot be affected."""
        return not (self.again or self.entries or self.atoms or any(s in atom.symbols for s in self.symbols))


class Normal:
    """One proof's workplace: what is declared, which rules were used, which obligations arose."""

    def __init__(self) -> None:
        self.ledger = Ledger(self)
        self.used: set[str] = set()
        self.tensors: dict[str, TensorInfo] = {}
        self.originals: dict[str, Tensor] = {}
        self.certificates: dict[str, list[tuple[int, tuple[Atom, ...]]]] = {}
        self.size_forms: tuple[Form, ...] = ()
        self.empty = Facts(self)
        self.counter_case: tuple[Atom, ...] = ()  # where a difference did not vanish
        self._count = 0
        self._contents: dict[str, tuple[Fraction, Mono, Poly]] = {}

    # Declarations ------------------------------------------------------------------------------------------------------

    def note(self, rule: str) -> None:
        """Record that a rule was used."""
        self.used.add(rule)

    def fresh(self, name: str, mark: str = "~") -> Atom:
        """A symbol that occurs nowhere yet: a bound one (``~``), or a witness (``!``)."""
        self._count += 1
        return Atom("symbol", f"{name.split('~')[0]}{mark}{self._count}")

    def size(self, name: str) -> Atom:
        """A size symbol: an integer of at least 1."""
        symbol = Atom("symbol", name)
        own = form(symbol.poly - 1)
        if own is not None and own not in self.size_forms:
            self.size_forms = (*self.size_forms, own)
        return symbol

    def declare(self, name: str, domain: str, shape: tuple[Poly, ...] = (), below: Poly = ZERO) -> None:
        """Declare a tensor that stands for itself."""
        self.tensors.setdefault(name, TensorInfo(domain, shape, shape[0] if domain == "permutation" else below))

    def domain(self, name: str) -> str:
        """The domain of a declared tensor."""
        return self.tensors[name].domain

    def bounds_of(self, atom: Atom) -> Iterator[Poly]:
        """Expressions known to be at least 0 for an integer entry or a rounded-down quotient."""
        if atom.kind == "look_up":
            yield atom.poly
            yield self.tensors[atom.name].below - atom.poly - 1
        elif atom.kind == "floor":
            over, under = _fraction(atom.args[0])
            yield over - atom.poly.scaled(Fraction(under))
            yield atom.poly.scaled(Fraction(under)) + (under - 1) - over

    # Atoms -------------------------------------------------------------------------------------------------------------

    def entry(self, name: str, index: tuple[Poly, ...]) -> Poly:
        """An entry of a declared tensor, as a value."""
        domain = self.domain(name)
        if domain == "boolean":
            return Atom("bool", name, index).poly
        return Atom("look_up" if domain in ("integer", "permutation") else "entry", name, index).poly

    def decided_entry(self, name: str, index: tuple[Poly, ...], facts: Facts) -> Poly:
        """An entry, a Boolean one decided by the facts."""
        out = self.entry(name, index)
        return self.decided(out.conditions[0], facts) if self.domain(name) == "boolean" else out

    def floor(self, poly: Poly) -> Poly:
        """The greatest integer not above an index quotient."""
        integral = Poly({m: c for m, c in poly.terms.items() if c.denominator == 1 and m != UNIT})
        rest = poly - integral
        constant = rest.constant
        if constant is not None:
            return integral + (constant.numerator // constant.denominator)
        return integral + Atom("floor", "", (rest,)).poly

    def at_least_zero(self, poly: Poly, facts: Facts) -> Poly:
        """The indicator of ``poly ≥ 0`` for an index expression."""
        constant = poly.constant
        if constant is not None:
            return ONE if constant >= 0 else ZERO
        divisor, slopes = whole(Poly({m: c for m, c in poly.terms.items() if m != UNIT}))
        rest = (poly.terms.get(UNIT) or Fraction(0)) / divisor
        return self.decided(Atom("ge", "", (slopes + rest.numerator // rest.denominator,)), facts)

    def equal(self, poly: Poly, facts: Facts) -> Poly:
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
            looked = [(m.atoms, c) for m, c in slopes.ordered]
            (a, x), (b, y) = looked
            if x == -y and len(a) == len(b) == 1 and a[0].kind == b[0].kind == "look_up" and a[0].name == b[0].name:
                if self.domain(a[0].name) == "permutation" and self._inside(a[0], facts) and self._inside(b[0], facts):
                    self.note("permuted")
                    return self.equal(a[0].args[0] - b[0].args[0], facts)
        return self.decided(Atom("eq", "", (slopes + rest,)), facts)

    def _inside(self, atom: Atom, facts: Facts) -> bool:
        """Whether the indices of a look-up are known to be in range."""
        spans = zip(atom.args, self.tensors[atom.name].shape, strict=True)
        return all(facts.nonnegative(at) and facts.nonnegative(size - at - 1) for at, size in spans)

    def above_zero(self, poly: Poly, facts: Facts) -> Poly:
        """The indicator of ``poly > 0`` for a real value."""
        if self.lifts(poly):
            return self.lifted(self.above_zero, poly, facts)
        mask = self.sign(poly, facts)
        if mask == POSITIVE or not mask & POSITIVE:
            return ONE if mask == POSITIVE else ZERO
        factor, prim = self.oriented(poly, facts)[-1]
        return self.decided(Atom("positive", "", (prim if factor > 0 else -prim,)), facts)

    def decided(self, lit: Atom, facts: Facts) -> Poly:
        """The indicator of a condition: 1 or 0 where it is decided."""
        held = facts.decide(lit)
        if held is None:
            return lit.poly
        self.note("decided")
        return ONE if held else ZERO

    # Products ----------------------------------------------------------------------------------------------------------

    def mul(self, p: Poly, q: Poly, facts: Facts) -> Poly:
        """The product, multiplied out and reduced."""
        if p.constant is not None or q.constant is not None:
            a, b = (p, q) if p.constant is not None else (q, p)
            return b.scaled(a.constant or Fraction(0))
        parts = []
        for m, c in p.terms.items():
            for o, e in q.terms.items():
                parts.append(self.settle(m.times(o), facts).scaled(c * e))
        return total(parts)

    def product(self, parts: list[Poly], facts: Facts) -> Poly:
        """The product of several."""
        out = ONE
        for part in parts:
            out = self.mul(out, part, facts)
        return out

    def power(self, p: Poly, k: int, facts: Facts) -> Poly:
        """A positive integer power."""
        return self.product([p] * k, facts)

    def settle(self, mono: Mono, facts: Facts) -> Poly:
        """A product of atoms, reduced: sin² = 1 - cos², √x√x = x, x·(1/x) = 1, conditions that others imply dropped."""
        pows = dict(mono.pows)

        def without(*changes: tuple[Atom, int]) -> Mono:
            rest = dict(pows)
            for atom, k in changes:
                rest[atom] = rest.get(atom, 0) - k
            return Mono(mono.lits, ((a, k) for a, k in rest.items() if k), mono.exponent)

        for atom, k in mono.pows:
            if atom.kind == "function" and atom.name == "sin" and k >= 2:
                self.note("pythagoras")
                cosine = Atom("function", "cos", atom.args)
                fewer = without((atom, 2))
                return self.settle(fewer, facts) - self.settle(fewer.times(Mono((), ((cosine, 2),))), facts)
            if atom.kind not in ("root", "inverse", "inverse_root"):
                continue
            inner = facts.assume_all(mono.lits)
            value = atom.args[0]
            if atom.kind in ("root", "inverse_root") and k >= 2 and not self.sign(value, inner) & ~(POSITIVE | NULL):
                self.note("roots")
                square = value if atom.kind == "root" else self.inverse(value, inner)
                return self.mul(of_mono(without((atom, 2))), square, facts)
            partner, result = self._partner(atom, pows)
            if partner is None:
                continue
            mask = self.sign(value, inner)
            if result is None:
                if not mask & NULL and (atom.kind != "inverse_root" or mask == POSITIVE):
                    self.note("cancel")
                    self.ledger.cancelled(value, inner)
                    return self.settle(without((atom, 1), (partner, 1)), facts)
            elif not mask & ~(POSITIVE | NULL):
                self.note("roots")
                rest = without((atom, 1), (partner, 1))
                return self.settle(rest.times(Mono((), ((result, 1),))), facts)
        return self._absorbed(mono, facts)

    def _partner(self, atom: Atom, pows: Mapping[Atom, int]) -> tuple[Atom | None, Atom | None]:
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

    def _absorbed(self, mono: Mono, facts: Facts) -> Poly:
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
                _, inner, _ = self.opened(atom)
                held = held or others.assume_all(inner).decide(lit)
            if held:
                self.note("decided")
                lits.remove(lit)
        return of_mono(mono if len(lits) == len(mono.lits) else Mono(lits, mono.pows, mono.exponent))

    # Functions ---------------------------------------------------------------------------------------------------------

    def lifts(self, poly: Poly) -> bool:
        """Whether a function of the polynomial is split by a condition in it."""
        return any(m.lits for m in poly.terms)

    def lifted(self, function: Callable[[Poly, Facts], Poly], poly: Poly, facts: Facts) -> Poly:
        """f(χa + b) = χ f(a+b) + (1-χ) f(b)."""
        self.note("cases")
        lit = poly.conditions[0]
        yes = function(poly.at(lit, True), facts.assume(lit))
        no = function(poly.at(lit, False), facts.assume(lit, False))
        return self.mul(lit.poly, yes - no, facts) + no

    def exp(self, poly: Poly, facts: Facts) -> Poly:
        """e to the power of a polynomial."""
        if self.lifts(poly):
            return self.lifted(self.exp, poly, facts)
        rest, factors = {}, [ONE]
        for m, c in poly.terms.items():
            atom = of_mono(m).atom
            if atom is not None and atom.kind == "function" and atom.name == "log" and (2 * c).denominator == 1:
                base = atom.args[0]
                base = base if (2 * c).numerator % 2 == 0 else self.root(base, facts)
                base = base if c > 0 else self.inverse(base, facts)
                factors += [base] * int(abs(c) if c.denominator == 1 else abs(2 * c))
            else:
                rest[m] = c
        self.note("exponents")
        return self.mul(of_mono(Mono((), (), Poly(rest))), self.product(factors, facts), facts)

    def inverse(self, poly: Poly, facts: Facts) -> Poly:
        """1/P, spread over the factors of P."""
        constant = poly.constant
        if constant is not None:
            return number(1 / constant) if constant else ZERO
        if self.lifts(poly):
            return self.lifted(self.inverse, poly, facts)
        coefficient, content, prim = self.content(poly)
        pows = [self._inverse_of(a, k) for a, k in content.pows]
        if prim != ONE:
            pows.append((Atom("inverse", "", (prim,)), 1))
        exponent = None if content.exponent is None else -content.exponent
        self.note("reciprocals")
        return self.settle(_merged(pows, exponent), facts).scaled(1 / coefficient)

    def _inverse_of(self, atom: Atom, k: int) -> tuple[Atom, int]:
        if atom.kind == "inverse":
            inner = atom.args[0].atom
            return (inner, k) if inner is not None else (Atom("inverse", "", (atom.poly,)), k)
        if atom.kind in ("root", "inverse_root"):
            return Atom("inverse_root" if atom.kind == "root" else "root", "", atom.args), k
        return Atom("inverse", "", (atom.poly,)), k

    def root(self, poly: Poly, facts: Facts) -> Poly:
        """√P, with what is known to be at least 0 taken out."""
        constant = poly.constant
        if constant is not None:
            return _surd(constant)
        if self.lifts(poly):
            return self.lifted(self.root, poly, facts)
        coefficient, content, prim = self.content(poly)
        out, kept = [_surd(abs(coefficient))], Mono()
        for a, k in content.pows:
            if k > 1:
                out.append(self.power(self.function("abs", a.poly, facts), k // 2, facts))
            if k % 2:
                if self.sign(a.poly, facts) & ~(POSITIVE | NULL):
                    kept = kept.times(Mono((), ((a, 1),)))
                else:
                    out.append(self._root_of(a).poly)
        if content.exponent is not None:
            out.append(of_mono(Mono((), (), content.exponent.scaled(Fraction(1, 2)))))
        left = (prim if coefficient > 0 else -prim) * of_mono(kept)
        if left.constant is None:
            out.append(Atom("root", "", (left,)).poly)
        else:
            out.append(_surd(left.constant))
        self.note("roots")
        return self.product(out, facts)

    def _root_of(self, atom: Atom) -> Atom:
        if atom.kind == "inverse":
            return Atom("inverse_root", "", atom.args)
        return Atom("root", "", (atom.poly,))

    def function(self, name: str, poly: Poly, facts: Facts) -> Poly:
        """An elementary function other than exp and √."""
        if self.lifts(poly):
            return self.lifted(lambda p, f: self.function(name, p, f), poly, facts)
        if name in ("sin", "cos"):
            return self._angle(name, poly, facts)
        if not poly and name in ("abs", "tanh", "round"):
            return ZERO
        if name == "abs":
            mask = self.sign(poly, facts)
            if not mask & ~(POSITIVE | NULL):
                return poly
            coefficient, prim = whole(poly)
            if poly.ordered[0][1] < 0:
                prim = -prim
            return Atom("function", name, (prim,)).poly.scaled(coefficient)
        if name == "log" and len(poly.terms) == 1:
            (mono, c), *_ = poly.terms.items()
            if mono.exponent is not None and self.sign(of_mono(Mono((), mono.pows), c), facts) == POSITIVE:
                self.note("exponents")
                return mono.exponent + self.function(name, of_mono(Mono((), mono.pows), c), facts)
            if mono == UNIT and c == 1:
                return ZERO
        return Atom("function", name, (poly,)).poly

    def _angle(self, name: str, poly: Poly, facts: Facts) -> Poly:
        if not poly:
            return ONE if name == "cos" else ZERO
        (mono, c), *rest = poly.ordered
        first, others = of_mono(mono, c), poly - of_mono(mono, c)
        if rest:
            self.note("angles")
        elif c < 0:
            flipped = self._angle(name, -poly, facts)
            return flipped if name == "cos" else -flipped
        elif 2 <= c.numerator <= ANGLE_LIMIT and mono != UNIT:
            self.note("angles")
            first = of_mono(mono, Fraction(1, c.denominator))
            others = poly - first
        else:
            return Atom("function", name, (poly,)).poly
        sin_a, cos_a = self._angle("sin", first, facts), self._angle("cos", first, facts)
        sin_b, cos_b = self._angle("sin", others, facts), self._angle("cos", others, facts)
        if name == "sin":
            return self.mul(sin_a, cos_b, facts) + self.mul(cos_a, sin_b, facts)
        return self.mul(cos_a, cos_b, facts) - self.mul(sin_a, sin_b, facts)

    # Content and signs ---------------------------------------------------------------------------------------------------

    def content(self, poly: Poly) -> tuple[Fraction, Mono, Poly]:
        """``(c, M, Q)`` with the polynomial equal to ``c·M·Q``: common factors taken out, Q's leading coefficient positive."""
        if poly.key not in self._contents:
            self._contents[poly.key] = _content(poly)
        return self._contents[poly.key]

    def oriented(self, poly: Poly, facts: Facts) -> list[tuple[int, Poly]]:
        """Pairs (±1, Q) such that the polynomial has ± the sign of Q, Q free of known positive factors."""
        if not poly.terms:
            return []
        _, prim = whole(poly)
        pairs = [(1, prim) if prim.ordered[0][1] > 0 else (-1, -prim)]
        if not self.lifts(poly):
            coefficient, content, inner = self.content(poly)
            if inner.constant is None and content != UNIT:
                mask = POSITIVE
                for a, k in content.pows:
                    mask = product_sign(mask, self.sign(a.poly, facts) if k % 2 else POSITIVE)
                    if k % 2 == 0 and self.sign(a.poly, facts) & NULL:
                        mask |= NULL
                if mask == POSITIVE:
                    pairs.append((1 if coefficient > 0 else -1, inner))
        return pairs

    def sign(self, poly: Poly, facts: Facts) -> int:
        """The signs the polynomial can have. A question that comes back to itself stays open."""
        key = poly.key
        found = facts.known_signs.get(key)
        if found is None:
            facts.known_signs[key] = ANY_SIGN
            found = sign(self, poly, facts)
            if found == ANY_SIGN:
                del facts.known_signs[key]  # a certificate may decide it later
            else:
                facts.known_signs[key] = found
        return found

    def certify(self, poly: Poly, mask: int, lits: tuple[Atom, ...], facts: Facts) -> None:
        """Remember that the polynomial has these signs wherever the conditions hold."""
        for factor, prim in self.oriented(poly, facts):
            held = mask if factor > 0 else product_sign(mask, 1)
            entry = (held, lits)
            known = self.certificates.setdefault(prim.key, [])
            if entry not in known:
                known.append(entry)

    # Binders and replacement: see sums.py --------------------------------------------------------------------------------

    def summed(self, bound: Iterable[Atom], lits: Iterable[Atom], body: Poly, facts: Facts) -> Poly:
        """The sum of a body over bound symbols at which conditions hold."""
        return sums.summed(self, bound, lits, body, facts)

    def opened(self, atom: Atom, mark: str = "~") -> tuple[tuple[Atom, ...], tuple[Atom, ...], Poly]:
        """The bound symbols (fresh), conditions and body of a binder."""
        return sums.opened(self, atom, mark)

    def replaced(self, poly: Poly, symbols: Mapping[Atom, Poly], facts: Facts) -> Poly:
        """The polynomial with index symbols replaced."""
        return sums.rebuild(self, poly, Change(symbols=symbols), facts)

    def condition_at(self, lit: Atom, symbols: Mapping[Atom, Poly], facts: Facts) -> Poly:
        """A condition with index symbols replaced, not decided by the facts."""
        return sums.rebuild_condition(self, lit, Change(symbols=symbols), self.empty)


def _fraction(poly: Poly) -> tuple[Poly, int]:
    factor, prim = whole(poly)
    return prim.scaled(Fraction(factor.numerator)), factor.denominator


def _merged(pows: list[tuple[Atom, int]], exponent: Poly | None) -> Mono:
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
    return number(factor) if inner == 1 else Atom("root", "", (number(inner),)).poly.scaled(factor)


def _content(poly: Poly) -> tuple[Fraction, Mono, Poly]:
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
