"""Terms: what the prover calculates with. Polynomials with rational coefficients over atoms, all immutable.

A value is a sum of monomials; a monomial is

    coefficient · [conditions] · product of powers of atoms · exp(exponent)

Conditions are 0/1 indicators, so their product is idempotent; the exponential of a polynomial is kept apart, so that products
of exponentials add exponents. Atoms are entries of tensors, index symbols, and opaque nodes with canonical arguments: a sum or
maximum over bound indices, ``1/P``, ``√P``, ``1/√P``, a function of P.

Semantics is *total*: ``1/0`` is 0 and ``√x`` is 0 below 0, so that every term denotes a number and every rewriting is an
equality of numbers. Whether a statement is *defined* is a separate question, asked where a statement is read
(:mod:`spec.language.proving.reading.reader`), and every cancellation is an obligation of its own.

This module only merges equal monomials. Everything that needs knowledge lives in :mod:`spec.language.proving.rules.normal`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any, Generic, TypeVar

from spec.language.proving.obligations import Unprovable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

NULL, UNITY = Fraction(0), Fraction(1)


def times(a: Fraction, b: Fraction) -> Fraction:
    """The product of two coefficients."""
    return b if a is UNITY else a if b is UNITY else a * b


def add(terms: dict[K, Fraction], term: K, c: Fraction) -> None:
    """Add to a coefficient; most terms are met once, and sums of fractions are what costs most here."""
    old = terms.get(term)
    terms[term] = c if old is None else old + c


class Once(Generic[V]):
    """A property found once and kept in the object; ``cached_property`` locks on Python 3.11, which costs as much again."""

    def __init__(self, find: Callable[[Any], V]) -> None:
        self.find, self.__doc__ = find, find.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> V:
        """The value, which from now on is found in the object before this is asked."""
        value = instance.__dict__[self.find.__name__] = self.find(instance)
        return value


CONDITIONS = frozenset({"ge", "eq", "bool", "positive", "any", "not"})
"""Kinds of atoms that are 0 or 1: e ≥ 0, e = 0 (integers), a Boolean entry, P > 0 (real), ∃ index, and a negation."""

INTEGERS = frozenset({"symbol", "look_up", "floor"})
"""Kinds of atoms that are integers."""


class Atom:
    """An atom: its kind, a name, polynomial arguments, and for binders the bound symbols with conditions and body.

    Kinds: ``symbol``; ``entry`` and ``look_up`` (an integer entry) of a tensor; ``floor``; ``inverse``, ``root``,
    ``inverse_root``, ``function``; ``sum``, ``maximum``; ``state``, an entry of a recurrence, and ``array``, a whole input of
    one (:mod:`spec.language.proving.reading.recurrences`); and the kinds in :data:`CONDITIONS`. Two atoms are equal when their
    keys are; bound symbols have canonical names, so equal means equal up to renaming of bound indices.
    """

    __slots__ = ("_poly", "args", "body", "bound", "key", "kind", "lits", "name", "symbols")

    def __init__(
        self,
        kind: str,
        name: str = "",
        args: tuple[Poly, ...] = (),
        bound: tuple[Atom, ...] = (),
        lits: tuple[Atom, ...] = (),
        body: Poly | None = None,
    ) -> None:
        self.kind, self.name, self.args = kind, name, args
        self.bound, self.lits, self.body = bound, lits, body
        self.symbols: frozenset[Atom]
        self._poly: Poly | None = None
        if kind == "symbol":
            self.key = name
            self.symbols = frozenset((self,))
            return
        if kind == "not":
            self.key, self.symbols = f"¬{lits[0].key}", lits[0].symbols
            return
        if bound:
            inside = ",".join(lit.key for lit in lits)
            names = " ".join(v.key for v in bound)
            self.key = f"{kind}⟨{names}|{inside}|{body.key if body is not None else ''}⟩"
            parts = frozenset().union(
                *(lit.symbols for lit in lits), body.symbols if body is not None else ()
            )
            self.symbols = parts - frozenset(bound)
            return
        tag = f"{kind}:" if kind not in ("entry", "look_up") else ""  # no tensor has a name with a colon
        self.key = f"{tag}{name}[{','.join(a.key for a in args)}]"
        self.symbols = frozenset().union(*(a.symbols for a in args))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key

    @property
    def poly(self) -> Poly:
        """The atom as a polynomial (a condition as its indicator)."""
        if self._poly is None:
            mono = Mono((self,)) if self.kind in CONDITIONS else Mono((), ((self, 1),))
            self._poly = Poly.of({mono: UNITY})
        return self._poly


def _key(atom: Atom) -> str:
    return atom.key


class Mono:
    """A monomial without its coefficient: conditions, powers of atoms (positive integers), and an exponent."""

    __slots__ = ("atoms", "exponent", "key", "lits", "pows", "symbols")

    def __init__(
        self, lits: Iterable[Atom] = (), pows: Iterable[tuple[Atom, int]] = (), exponent: Poly | None = None
    ) -> None:
        found = tuple(lits)
        self.lits = tuple(sorted(set(found), key=_key)) if len(found) > 1 else found
        self.pows = tuple(sorted(pows, key=lambda pair: pair[0].key))
        self.atoms = tuple(a for a, _ in self.pows)  # those that occur as factors
        self.exponent = exponent if exponent else None
        parts = [f"[{lit.key}]" for lit in self.lits]
        parts += [a.key if k == 1 else f"{a.key}^{k}" for a, k in self.pows]
        if self.exponent is not None:
            parts.append(f"e^({self.exponent.key})")
        self.key = "·".join(parts)
        symbols: frozenset[Atom] = frozenset()
        for lit in self.lits:
            symbols |= lit.symbols
        for a, _ in self.pows:
            symbols |= a.symbols
        if self.exponent is not None:
            symbols |= self.exponent.symbols
        self.symbols = symbols

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mono) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key or "1"

    def times(self, other: Mono) -> Mono:
        """The product, powers added and exponents added; nothing is cancelled."""
        pows = dict(self.pows)
        for a, k in other.pows:
            pows[a] = pows.get(a, 0) + k
        exponent = self.exponent
        if other.exponent is not None:
            exponent = other.exponent if exponent is None else exponent + other.exponent
        return Mono((*self.lits, *other.lits), pows.items(), exponent)

    @property
    def single(self) -> Atom | None:
        """The atom when the monomial is one atom, else None."""
        plain = not self.lits and self.exponent is None and len(self.pows) == 1 and self.pows[0][1] == 1
        return self.pows[0][0] if plain else None

    def without_conditions(self) -> Mono:
        """The monomial with its conditions dropped."""
        return Mono((), self.pows, self.exponent) if self.lits else self


UNIT = Mono()


class Poly:
    """A polynomial: monomials with rational coefficients. ``+``, ``-``, ``*`` merge and never cancel ``x·(1/x)``."""

    __slots__ = ("__dict__", "terms")

    def __init__(self, terms: Mapping[Mono, Fraction] | None = None) -> None:
        self.terms: dict[Mono, Fraction] = {m: c for m, c in (terms or {}).items() if c}

    @classmethod
    def of(cls, terms: dict[Mono, Fraction]) -> Poly:
        """The polynomial with these terms, none of which is 0; they become its own."""
        made = cls.__new__(cls)
        made.terms = terms
        return made

    @Once
    def key(self) -> str:
        """A string that identifies the polynomial."""
        return "+".join(sorted(f"{c}*{m.key}" if m.key else str(c) for m, c in self.terms.items())) or "0"

    @Once
    def symbols(self) -> frozenset[Atom]:
        """The symbols free in it."""
        return frozenset().union(*(m.symbols for m in self.terms))

    @Once
    def ordered(self) -> tuple[tuple[Mono, Fraction], ...]:
        """Monomials and coefficients in a fixed order."""
        return tuple(sorted(self.terms.items(), key=lambda term: term[0].key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return self.key

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Poly | int | Fraction) -> Poly:
        other = other if isinstance(other, Poly) else number(other)
        return total((self, other)) if other.terms else self

    def __neg__(self) -> Poly:
        return Poly.of({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Poly | int | Fraction) -> Poly:
        return self + (-other if isinstance(other, Poly) else number(-other))

    def __mul__(self, other: Poly | int | Fraction) -> Poly:
        if not isinstance(other, Poly):
            return self.scale(Fraction(other))
        terms: dict[Mono, Fraction] = {}
        for m, c in self.terms.items():
            for o, e in other.terms.items():
                add(terms, m.times(o), times(c, e))
        return Poly(terms)

    def scale(self, factor: Fraction) -> Poly:
        """The polynomial times a rational."""
        if factor is UNITY or factor == 1:
            return self
        return Poly.of({m: times(c, factor) for m, c in self.terms.items()}) if factor else ZERO

    @property
    def constant(self) -> Fraction | None:
        """Its value when it is a rational number, else None."""
        if len(self.terms) > 1:
            return None
        return self.terms.get(UNIT) if self.terms else NULL

    @property
    def atom(self) -> Atom | None:
        """The atom when it is a single atom with coefficient 1, else None."""
        if len(self.terms) != 1:
            return None
        (mono, c), *_ = self.terms.items()
        return mono.single if c == 1 else None

    @Once
    def is_index(self) -> bool:
        """Whether it is integer arithmetic over index symbols, sizes and look-ups."""
        return all(
            c.denominator == 1
            and not m.lits
            and m.exponent is None
            and all(a.kind in INTEGERS for a in m.atoms)
            for m, c in self.terms.items()
        )

    @Once
    def bounded_atoms(self) -> tuple[Atom, ...]:
        """Look-ups and floors inside, at any depth, whose bounds are known."""
        return tuple(dict.fromkeys(atom for atom in parts_of(self) if atom.kind in ("look_up", "floor")))

    @property
    def conditions(self) -> tuple[Atom, ...]:
        """The conditions that occur in its monomials."""
        return tuple(sorted({lit for m in self.terms for lit in m.lits}, key=_key))

    def at(self, lit: Atom, truth: bool) -> Poly:
        """The polynomial where a condition holds (or fails): its indicator replaced by 1 (or 0)."""
        terms: dict[Mono, Fraction] = {}
        for m, c in self.terms.items():
            if lit in m.lits:
                if not truth:
                    continue
                m = Mono((x for x in m.lits if x != lit), m.pows, m.exponent)
            add(terms, m, c)
        return Poly(terms)

    def linear_in(self, symbol: Atom) -> tuple[Fraction, Poly] | None:
        """``(a, b)`` with the polynomial equal to ``a·symbol + b``, ``a`` a number and ``b`` free of it; else None."""
        if symbol not in self.symbols:
            return Fraction(0), self
        rest = {m: c for m, c in self.terms.items() if symbol not in m.symbols}
        slopes = [c for m, c in self.terms.items() if m.single == symbol]
        if len(rest) + len(slopes) < len(self.terms):
            return None
        return (slopes[0] if slopes else Fraction(0)), Poly(rest)


@lru_cache(maxsize=1 << 12)
def number(value: int | Fraction) -> Poly:
    """A rational number as a polynomial."""
    return Poly({UNIT: Fraction(value)})


ZERO, ONE = number(0), number(1)


def of_mono(mono: Mono, coefficient: Fraction | int = UNITY) -> Poly:
    """A single monomial as a polynomial."""
    if coefficient is UNITY:
        return Poly.of({mono: UNITY})
    return Poly({mono: coefficient if isinstance(coefficient, Fraction) else Fraction(coefficient)})


def total(parts: Iterable[Poly]) -> Poly:
    """The sum of polynomials."""
    found = [part for part in parts if part.terms]
    if len(found) == 1:
        return found[0]
    terms = dict(found[0].terms) if found else {}
    for part in found[1:]:
        for m, c in part.terms.items():
            add(terms, m, c)
    return Poly(terms)


def whole(poly: Poly) -> tuple[Fraction, Poly]:
    """``(r, Q)`` with the polynomial equal to ``r·Q``, ``r > 0``, Q's coefficients integers without common factor."""
    if not poly.terms:
        return Fraction(1), poly
    denominator = lcm(*(c.denominator for c in poly.terms.values()))
    divisor = gcd(*(int(c * denominator) for c in poly.terms.values()))
    factor = Fraction(divisor, denominator)
    return factor, poly.scale(1 / factor)


def parts_of(poly: Poly) -> Iterable[Atom]:
    """Every atom inside, at any depth, binders' insides included."""
    for mono in poly.terms:
        for atom in (*mono.lits, *mono.atoms):
            yield from inside(atom)
        if mono.exponent is not None:
            yield from parts_of(mono.exponent)


def inside(atom: Atom) -> Iterable[Atom]:
    """The atom and every atom inside it."""
    yield atom
    for arg in atom.args:
        yield from parts_of(arg)
    for lit in atom.lits:
        yield from inside(lit)
    if atom.body is not None:
        yield from parts_of(atom.body)


def mentions(poly: Poly, names: frozenset[str]) -> bool:
    """Whether an entry of a tensor with one of these names occurs inside."""
    return any(a.kind in ("entry", "look_up", "bool") and a.name in names for a in parts_of(poly))


def conjuncts(condition: Poly) -> tuple[Atom, ...]:
    """The conditions whose product an indicator is."""
    for mono, c in condition.terms.items():
        if len(condition.terms) == 1 and c == 1 and not mono.pows and mono.exponent is None:
            return mono.lits
    raise Unprovable(f"{condition} is not a conjunction of conditions")
