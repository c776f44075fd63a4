"""The normal form: terms that are equal by the rules of :mod:`spec.language.proving.rules.register` become the same polynomial.

Products are multiplied out, exponentials merged (eᵃeᵇ = eᵃ⁺ᵇ), reciprocals and roots spread over factors, angles added,
indicators pulled out of functions, sums split into irreducible ones (:mod:`spec.language.proving.rules.sums`). A cancellation
``x·(1/x) = 1`` happens only where ``x ≠ 0`` is known at that place, and is recorded; where it is not known the term simply stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import lcm
from typing import Any

from spec.language.arrays import NO_LABEL, WHOLE, Tensor
from spec.language.proving.knowledge.certificates import Form
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.knowledge.limits import Limits
from spec.language.proving.knowledge.linear import form
from spec.language.proving.obligations import Ledger, Unprovable
from spec.language.proving.reading.states import Recurring
from spec.language.proving.signs.sets import ANY_SIGN, NULL, POSITIVE, mirror, product_sign
from spec.language.proving.terms.polynomials import (
    ONE,
    UNIT,
    ZERO,
    Atom,
    Mono,
    Poly,
    parts_of,
    times,
    total,
    whole,
)


@dataclass(frozen=True)
class Scheme:
    """The sign of a term, for all values of the variables at which the conditions hold.

    ``assumed``: an assumption of the theorem, which need not hold near the point where it is used.
    """

    poly: Poly
    mask: int
    variables: tuple[Atom, ...]
    lits: tuple[Atom, ...]
    assumed: bool = False

    @cached_property
    def names(self) -> frozenset[str]:
        """The tensors and states that the term mentions."""
        return frozenset(a.name for a in parts_of(self.poly) if a.kind in ("entry", "look_up", "state"))


@dataclass(frozen=True)
class TensorInfo:
    """What the prover knows of a tensor: its domain, its shape, and below which number its integers lie."""

    domain: str
    shape: tuple[Poly, ...]
    below: Poly


class Normal:
    """One proof's workplace: what is declared, which rules were used, which obligations arose.

    The rules by which terms are rewritten stand in modules of their own, and any of them may ask for all others: here they are
    at hand as functions, put in place by :mod:`~spec.language.proving.rules.workplace`.
    """

    at_least_zero: Callable[[Poly, Facts], Poly]
    """The indicator of ``poly ≥ 0`` for an index expression."""
    equal: Callable[[Poly, Facts], Poly]
    """The indicator of ``poly = 0`` for an index expression."""
    above_zero: Callable[[Poly, Facts], Poly]
    """The indicator of ``poly > 0`` for a real value."""
    settle: Callable[[Mono, Facts], Poly]
    """A product of atoms, reduced."""
    exp: Callable[[Poly, Facts], Poly]
    """e to the power of a polynomial."""
    inverse: Callable[[Poly, Facts], Poly]
    """1/P, spread over the factors of P."""
    root: Callable[[Poly, Facts], Poly]
    """√P, with what is known to be at least 0 taken out."""
    function: Callable[[str, Poly, Facts], Poly]
    """An elementary function other than exp and √."""
    sum_over: Callable[[Iterable[Atom], Iterable[Atom], Poly, Facts], Poly]
    """The sum of a body over bound symbols at which conditions hold."""
    largest: Callable[[Iterable[Atom], Iterable[Atom], Poly, Facts], Poly]
    """The largest value of a body over bound symbols at which conditions hold."""
    close_binder: Callable[[str, frozenset[Atom], Iterable[Atom], Poly], Poly]
    """A binder with canonical names."""
    bind_array: Callable[[tuple[Atom, ...], Iterable[Atom], Poly], Poly]
    """An array by its entry at symbols in a range."""
    exists: Callable[[Iterable[Atom], list[Poly], Facts], Poly]
    """The indicator that conditions hold for some values of bound symbols."""
    replace_symbols: Callable[[Poly, Mapping[Atom, Poly], Facts], Poly]
    """The polynomial with index symbols replaced."""
    condition_at: Callable[[Atom, Mapping[Atom, Poly], Facts], Poly]
    """A condition with index symbols replaced, not decided by the facts."""
    open_binder: Callable[[Atom, str], tuple[tuple[Atom, ...], tuple[Atom, ...], Poly]]
    """The bound symbols (fresh, with a mark), conditions and body of a binder."""
    own_content: Callable[[Poly], tuple[Fraction, Mono, Poly]]
    """See :meth:`content`, which asks once for each polynomial."""
    own_sign: Callable[[Poly, Facts], int]
    """See :class:`Signs`, which asks once for each polynomial and place."""
    write: Callable[[Poly], Any]
    """A tree that says the same, for messages."""

    def __init__(self, rules: Mapping[str, Callable[..., Any]]) -> None:
        for name, rule in rules.items():
            setattr(self, name, partial(rule, self))
        self.ledger = Ledger()
        self.used: set[str] = set()
        self.tensors: dict[str, TensorInfo] = {}
        self.originals: dict[str, Tensor] = {}
        self.constants: dict[Tensor, Any] = {}  # the values of constants, which one of them has one of
        self.states: dict[str, Recurring] = {}
        self.held: dict[str, Poly] = {}  # arrays and values given as terms, by their keys
        self.schemes: tuple[Scheme, ...] = ()
        self.stepped: Callable[[Poly, Facts], Poly] | None = None  # unfolds the latest states of recurrences
        self.smooth: Callable[[Recurring, Tensor, str], bool] | None = None  # which states have a derivative
        # The arrays that derivatives are taken by, and what each stands for; None where that is not known.
        self.varied: dict[str, Callable[[tuple[Poly, ...], Facts], Poly] | None] = {}
        self.limits = Limits()
        self.signs = Signs(self)
        self.size_forms: tuple[Form, ...] = ()
        self.empty = Facts(self)
        self.counter_case: tuple[Atom, ...] = ()  # where a difference did not vanish
        self._count = 0
        self._contents: dict[str, tuple[Fraction, Mono, Poly]] = {}

    # Declarations ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A further step is decided here: it has a budget, and a record of what it uses, of its own."""
        self.limits.begin()
        self.ledger, self.used, self.counter_case = Ledger(), set(), ()

    def note(self, rule: str) -> None:
        """Record that a rule was used."""
        self.used.add(rule)

    def unfolds_by(
        self, stepped: Callable[[Poly, Facts], Poly], smooth: Callable[[Recurring, Tensor, str], bool]
    ) -> None:
        """How the latest states of recurrences are unfolded, and which have a derivative, by input and its domain."""
        self.stepped, self.smooth = stepped, smooth

    def remember_state(self, state: Recurring) -> None:
        """Remember what states of this name are."""
        self.states[state.name] = state

    def remember(self, tensor: Tensor) -> None:
        """Keep a tensor by its name, for messages."""
        self.originals[tensor.name] = tensor

    def constant(self, tensor: Tensor, value: Any) -> None:
        """Keep the value of a constant.

        Raises:
            Unprovable: there is another constant of this name and kind, or it has another value.
        """
        if self.constants.setdefault(tensor, value) != value:
            raise Unprovable(f"{tensor.name} names two different constants")

    def hold(self, poly: Poly) -> str:
        """Keep an array or a value that is given as a term; the key by which a tree speaks of it."""
        self.held[poly.key] = poly
        return poly.key

    def learn(self, scheme: Scheme) -> None:
        """Use an inequality that holds for all values of some indices."""
        self.schemes = (*self.schemes, scheme)

    def remember_case(self, case: tuple[Atom, ...]) -> None:
        """Remember the case in which a difference did not vanish."""
        self.counter_case = case

    def record_cancellation(self, value: Poly) -> None:
        """Record that something nonzero was cancelled."""
        self.ledger.record(self.write(value), "≠ 0", "cancelled; its sign follows from its form")

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

    def is_size(self, symbol: Atom) -> bool:
        """Whether a symbol stands for a size."""
        return form(symbol.poly - 1) in self.size_forms

    def declare(self, name: str, domain: str, shape: tuple[Poly, ...] = (), below: Poly = ZERO) -> None:
        """Declare a tensor that stands for itself."""
        self.tensors.setdefault(
            name, TensorInfo(domain, shape, shape[0] if domain == "permutation" else below)
        )

    def domain(self, name: str) -> str:
        """The domain of a declared tensor."""
        return self.tensors[name].domain

    def bounds_of(self, atom: Atom, facts: Facts) -> Iterator[Poly]:
        """Expressions known to be at least 0 for an integer entry or a rounded-down quotient.

        A tensor whose integers lie below n - 1 has no entry at n = 1: its bounds tell nothing until one is in range.
        """
        if atom.kind == "look_up":
            below = self.tensors[atom.name].below
            if below and (self.empty.nonnegative(below - 1) or self.in_range(atom, facts)):
                # Integers that a line defines have no range; a label is perhaps none.
                yield atom.poly - NO_LABEL if self.domain(atom.name) == "label" else atom.poly
                yield below - atom.poly - 1
        elif atom.kind == "floor":
            over, under = _fraction(atom.args[0])
            yield over - atom.poly.scale(Fraction(under))
            yield atom.poly.scale(Fraction(under)) + (under - 1) - over

    def in_range(self, atom: Atom, facts: Facts) -> bool:
        """Whether the indices of an entry are known to be in range."""
        spans = zip(atom.args, self.tensors[atom.name].shape, strict=True)
        return all(facts.nonnegative(at) and facts.nonnegative(size - at - 1) for at, size in spans)

    def entry(self, name: str, index: tuple[Poly, ...]) -> Poly:
        """An entry of a declared tensor, as a value."""
        domain = self.domain(name)
        if domain == "boolean":
            return Atom("bool", name, index).poly
        return Atom("look_up" if domain in WHOLE else "entry", name, index).poly

    def decide_entry(self, name: str, index: tuple[Poly, ...], facts: Facts) -> Poly:
        """An entry, a Boolean one decided by the facts."""
        out = self.entry(name, index)
        return self.decide_condition(out.conditions[0], facts) if self.domain(name) == "boolean" else out

    def floor(self, poly: Poly) -> Poly:
        """The greatest integer not above an index quotient: ⌊x + k⌋ = ⌊x⌋ + k, ⌊(⌊x⌋ + k)/n⌋ = ⌊(x + k)/n⌋."""
        integral = Poly({m: Fraction(c // 1) for m, c in poly.terms.items() if m != UNIT})
        rest = poly - integral
        width = lcm(*(c.denominator for m, c in rest.terms.items() if m != UNIT))
        constant = rest.terms.get(UNIT, Fraction(0))
        rest += Fraction(constant * width // 1, width) - constant  # of 1/n, what is less does not count
        integral += constant // 1
        rest -= constant // 1
        if rest.constant is not None:
            return integral
        for mono, c in rest.terms.items():
            atom = mono.single
            if atom is not None and atom.kind == "floor" and c == Fraction(1, width):
                return integral + self.floor(rest + (atom.args[0] - atom.poly).scale(c))
        return integral + Atom("floor", "", (rest,)).poly

    def decide_condition(self, lit: Atom, facts: Facts) -> Poly:
        """The indicator of a condition: 1 or 0 where it is decided."""
        held = facts.decide(lit)
        if held is None:
            return lit.poly
        self.note("decided")
        return ONE if held else ZERO

    def mul(self, p: Poly, q: Poly, facts: Facts) -> Poly:
        """The product, multiplied out and reduced."""
        if (value := p.constant) is not None:
            return q.scale(value)
        if (value := q.constant) is not None:
            return p.scale(value)
        self.limits.rewrites(len(p.terms) * len(q.terms))
        parts = []
        for m, c in p.terms.items():
            for o, e in q.terms.items():
                parts.append(self.settle(m.times(o), facts).scale(times(c, e)))
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

    def lifts(self, poly: Poly) -> bool:
        """Whether a function of the polynomial is split by a condition in it."""
        return any(m.lits for m in poly.terms)

    def split_cases(self, function: Callable[[Poly, Facts], Poly], poly: Poly, facts: Facts) -> Poly:
        """f(χa + b) = χ f(a+b) + (1-χ) f(b)."""
        self.note("cases")
        lit = poly.conditions[0]
        yes = function(poly.at(lit, True), facts.assume(lit))
        no = function(poly.at(lit, False), facts.assume(lit, False))
        return self.mul(lit.poly, yes - no, facts) + no

    # Content and signs ---------------------------------------------------------------------------------------------------

    def content(self, poly: Poly) -> tuple[Fraction, Mono, Poly]:
        """``(c, M, Q)`` with the polynomial equal to ``c·M·Q``: common factors taken out, Q's leading coefficient positive."""
        if poly.key not in self._contents:
            self._contents[poly.key] = self.own_content(poly)
        return self._contents[poly.key]

    def find_orientations(self, poly: Poly, facts: Facts) -> list[tuple[int, Poly]]:
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

    def sign(self, poly: Poly, facts: Facts, estimated: bool = True) -> int:
        """The signs the polynomial can have, by its form alone unless ``estimated``."""
        if estimated:
            return self.signs.of(poly, facts)
        with self.limits.without("estimate"):
            return self.signs.of(poly, facts)

    def certify(self, poly: Poly, mask: int, facts: Facts, lits: tuple[Atom, ...] = ()) -> None:
        """Remember that the polynomial has these signs wherever the facts and the conditions hold: all that was used."""
        self.signs.certify(poly, mask, (*lits, *facts.added), facts)

    def unbind(self, atom: Atom, mark: str = "~") -> tuple[tuple[Atom, ...], tuple[Atom, ...], Poly]:
        """The bound symbols (fresh), conditions and body of a binder."""
        return self.open_binder(atom, mark)


MOST_CERTIFICATES = 12
"""How many certificates are kept for a term: it may have been read in several places."""

Certificate = tuple[int, tuple[Atom, ...]]
"""Signs, and the conditions under which a term has them: all that were known where it was found out."""


class Signs:
    """Signs of terms, each asked once under the same facts."""

    def __init__(self, normal: Normal) -> None:
        self.n = normal
        self._found: dict[tuple[Facts, str], int] = {}
        self._open: dict[
            tuple[Facts, str], int
        ] = {}  # what could not be told, and how many certificates there were
        self._certificates: dict[str, list[Certificate]] = {}
        self._certified = self._circles = 0  # certificates so far; questions that came back to themselves

    def of(self, poly: Poly, facts: Facts) -> int:
        """The signs that a polynomial can have.

        A question that comes back to itself stays open, and so does one that estimates are not allowed to go deeper for.
        """
        place, limits = (facts, poly.key), self.n.limits
        found = self._found.get(place)
        if found is not None:
            self._circles += found == ANY_SIGN
            return found
        if self._open.get(place) == self._certified:
            return ANY_SIGN
        left_out = limits.count_left_out("estimate", "step")
        self._found[place], circles = ANY_SIGN, self._circles
        found = self._found[place] = self.n.own_sign(poly, facts)
        if found == ANY_SIGN:
            del self._found[place]  # a certificate may decide it later
            if self._circles == circles and limits.count_left_out("estimate", "step") == left_out:
                self._open[place] = self._certified
        return found

    def certify(self, poly: Poly, mask: int, lits: tuple[Atom, ...], facts: Facts) -> None:
        """Remember that a polynomial has these signs wherever the conditions hold."""
        for factor, prim in self.n.find_orientations(poly, facts):
            held = mask if factor > 0 else mirror(mask)
            known = self._certificates.setdefault(prim.key, [])
            says_as_much = (not signs & ~held and set(fewer) <= set(lits) for signs, fewer in known)
            if len(known) < MOST_CERTIFICATES and not any(says_as_much):
                known.append((held, lits))
                self._certified += 1

    def certificates(self, key: str) -> tuple[Certificate, ...]:
        """The certificates of a term."""
        return tuple(self._certificates.get(key, ()))


def _fraction(poly: Poly) -> tuple[Poly, int]:
    factor, prim = whole(poly)
    return prim.scale(Fraction(factor.numerator)), factor.denominator
