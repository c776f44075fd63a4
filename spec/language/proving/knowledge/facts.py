"""What is known at a place in an expression: ranges of indices, guards, and the assumptions of a theorem.

A condition is decided by what is known: inequalities of index expressions by linear reasoning, entries of a mask by comparing
indices, the sign of a value by its structure. A known "there is an index with …" is given a name (a witness); a known "there
is no index with …" refutes each instance. Undecided stays undecided (None).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import mul
from typing import Protocol

from spec.language.proving.knowledge.certificates import Form
from spec.language.proving.knowledge.limits import Limits
from spec.language.proving.knowledge.linear import contradictory, follows, form
from spec.language.proving.obligations import Unprovable
from spec.language.proving.signs.sets import ANY_SIGN, NEGATIVE, NULL, POSITIVE, mirror
from spec.language.proving.terms.polynomials import ONE, Atom, Mono, Poly, conjuncts, inside

MOST_SEARCHES = 3
"""How many searches for indices with a property are put into one another at most."""


class Terms(Protocol):
    """What facts ask of the terms that they are about; see :class:`~spec.language.proving.rules.normal.Normal`."""

    limits: Limits
    size_forms: tuple[Form, ...]

    def note(self, rule: str) -> None:
        """Record that a rule was used."""

    def unbind(self, atom: Atom, mark: str = "~") -> tuple[tuple[Atom, ...], tuple[Atom, ...], Poly]:
        """The bound symbols (fresh), conditions and body of a binder."""

    def find_orientations(self, poly: Poly, facts: Facts) -> list[tuple[int, Poly]]:
        """Pairs (±1, Q) such that the polynomial has ± the sign of Q."""

    def sign(self, poly: Poly, facts: Facts, estimated: bool = True) -> int:
        """The signs the polynomial can have."""

    def bounds_of(self, atom: Atom, facts: Facts) -> Iterator[Poly]:
        """Expressions known to be at least 0 for an integer entry or a rounded-down quotient."""

    def condition_at(self, lit: Atom, symbols: Mapping[Atom, Poly], facts: Facts) -> Poly:
        """A condition with index symbols replaced."""


class Facts:
    """An immutable collection of facts; :meth:`assume` gives a larger one."""

    def __init__(
        self,
        normal: Terms,
        forms: tuple[Form, ...] = (),
        true: tuple[Atom, ...] = (),
        false: tuple[Atom, ...] = (),
        signs: Mapping[str, int] | None = None,
        added: tuple[Atom, ...] = (),
        root: Facts | None = None,
    ) -> None:
        self.added, self.root = added, root or self
        self.normal, self.forms, self.true, self.false = normal, forms, true, false
        self.signs: dict[str, int] = dict(signs or {})
        self._orders: dict[str, bool] = {}
        self._assumed: dict[tuple[str, bool], Facts] = {}
        self._decided: dict[str, bool | None] = {}
        self._impossible: bool | None = None

    # Adding ------------------------------------------------------------------------------------------------------------

    def assume(self, lit: Atom, truth: bool = True) -> Facts:
        """These facts and one more."""
        slot = (lit.key, truth)
        if slot not in self._assumed:
            self._assumed[slot] = self._with(lit, truth)
        return self._assumed[slot]

    def as_root(self) -> Facts:
        """The same facts as the starting point of a proof: they hold throughout and are not recorded as added."""
        return Facts(self.normal, self.forms, self.true, self.false, self.signs)

    def assume_all(self, lits: Iterable[Atom]) -> Facts:
        """These facts and conditions that hold."""
        facts = self
        for lit in lits:
            facts = facts.assume(lit)
        return facts

    def assume_value(self, condition: Poly) -> Facts:
        """These facts and that an indicator is 1, as far as it is a product of conditions and their negations."""
        facts = self
        for lit in condition.conditions:
            if not condition.at(lit, False):
                facts = facts.assume(lit)
            elif not condition.at(lit, True):
                facts = facts.assume(lit, False)
        return facts

    def about(self, symbols: frozenset[Atom]) -> Facts:
        """Those of the facts that speak of no other bound index than these; all of them where one speaks of a witness."""
        kept = [lit for lit in self.added if all("~" not in s.name or s in symbols for s in lit.symbols)]
        if len(kept) == len(self.added) or any("!" in s.name for lit in kept for s in lit.symbols):
            return self
        return self.root.assume_all(kept)

    def _with(self, lit: Atom, truth: bool) -> Facts:
        if lit.kind == "not":
            return self.assume(lit.lits[0], not truth)
        forms, true, false, signs = self.forms, self.true, self.false, dict(self.signs)
        if truth:
            true = (*true, lit)
        else:
            false = (*false, lit)
        if lit.kind == "ge":
            poly = lit.args[0] if truth else -lit.args[0] - 1
            forms = (*forms, *self._forms(poly))
        elif lit.kind == "eq" and truth:
            forms = (*forms, *self._forms(lit.args[0]), *self._forms(-lit.args[0]))
        elif lit.kind == "eq":
            for side in (lit.args[0], -lit.args[0]):
                if self.nonnegative(side):
                    forms = (*forms, *self._forms(side - 1))
        elif lit.kind == "positive":
            for factor, prim in self.normal.find_orientations(lit.args[0], self):
                mask = POSITIVE if truth else NEGATIVE | NULL
                signs[prim.key] = signs.get(prim.key, ANY_SIGN) & (mask if factor > 0 else mirror(mask))
        added = (*self.added, lit if truth else Atom("not", lits=(lit,)))
        facts = Facts(self.normal, forms, true, false, signs, added, self.root)
        if lit.kind == "any" and truth:
            _, lits, _ = self.normal.unbind(lit, "!")
            facts = facts.assume_all(lits)
        return facts

    def _forms(self, poly: Poly) -> Iterator[Form]:
        own = form(poly)
        if own is not None:
            yield own
        yield from self._bounds(poly)

    def _bounds(self, poly: Poly) -> Iterator[Form]:
        for atom in poly.bounded_atoms:
            for bound in self.normal.bounds_of(atom, self):
                more = form(bound)
                if more is not None:
                    yield more

    # Deciding ----------------------------------------------------------------------------------------------------------

    def nonnegative(self, poly: Poly) -> bool:
        """Whether an index expression is known to be at least 0."""
        constant = poly.constant
        if constant is not None:
            return constant >= 0
        if poly.key not in self._orders:
            self._orders[poly.key] = self._follows(poly)
        return self._orders[poly.key]

    def _follows(self, poly: Poly) -> bool:
        goal = form(poly)
        if goal is None:
            return False
        return follows(
            (*self.normal.size_forms, *self.forms, *self._bounds(poly), *self._products(poly)), goal
        )

    def _products(self, poly: Poly) -> Iterator[Form]:
        """What is at least 0, times indices or sizes that are: for the products that occur in an expression, and shorter ones
        that this brings in.
        """
        products = sorted((m for m in poly.terms if _is_product(m)), key=str)
        for mono in products:  # it grows as shorter ones come in
            for other in mono.atoms:
                factors = [atom.poly for atom in mono.atoms if atom != other]
                if not all(self.nonnegative(factor) for factor in factors):
                    continue
                known = [lit.args[0] for lit in self.true if lit.kind == "ge"]
                known += self.normal.bounds_of(other, self)
                if self.nonnegative(other.poly - 1):
                    known.append(other.poly - 1)
                for side in known:
                    if any(other in m.atoms for m in side.terms):
                        product = reduce(mul, factors, side)
                        shorter = (
                            m for m in product.terms if _is_product(m) and len(m.pows) < len(mono.pows)
                        )
                        products += [m for m in sorted(shorter, key=str) if m not in products]
                        more = form(product)
                        if more is not None:
                            yield more

    def decide(self, lit: Atom) -> bool | None:
        """Whether a condition holds (True), fails (False), or is undecided (None)."""
        if lit.key not in self._decided:
            left_out = self.normal.limits.count_left_out("witness")
            self._decided[lit.key] = None  # a question that comes back to itself stays open
            held = self._decided[lit.key] = self._decide(lit)
            if held is None and self.normal.limits.count_left_out("witness") != left_out:
                del self._decided[lit.key]  # asked elsewhere, it may be searched for further
            return held
        return self._decided[lit.key]

    def shows(self, condition: Poly) -> bool:
        """Whether an indicator is known to be 1; one that is constantly 0 never is."""
        for lit in condition.conditions:
            held = self.decide(lit)
            condition = condition if held is None else condition.at(lit, held)
        return condition == ONE

    def _decide(self, lit: Atom) -> bool | None:
        if lit in self.true:
            return True
        if lit in self.false:
            return False
        if lit.kind == "not":
            inner = self.decide(lit.lits[0])
            return None if inner is None else not inner
        if lit.kind == "ge":
            return self._decide_order(lit.args[0])
        if lit.kind == "eq":
            return self._decide_equal(lit)
        if lit.kind == "positive":
            mask = self.normal.sign(lit.args[0], self)
            return True if mask == POSITIVE else False if not mask & POSITIVE else None
        if lit.kind == "bool":
            return self._decide_entry(lit)
        if lit.kind == "any":
            return self._decide_any(lit)
        return None

    def _decide_order(self, poly: Poly) -> bool | None:
        if self.nonnegative(poly):
            return True
        return False if self.nonnegative(-poly - 1) else None

    def _decide_equal(self, lit: Atom) -> bool | None:
        poly = lit.args[0]
        low, high = self.nonnegative(poly), self.nonnegative(-poly)
        if low and high:
            return True
        if self.nonnegative(poly - 1) or self.nonnegative(-poly - 1):
            return False
        return None

    def same_index(self, a: Poly, b: Poly) -> bool:
        """Whether two index expressions are known to agree."""
        difference = a - b
        if not difference:
            return True
        return self.nonnegative(difference) and self.nonnegative(-difference)

    def _decide_entry(self, lit: Atom) -> bool | None:
        for known, truth in ((self.true, True), (self.false, False)):
            for other in known:
                if other.kind != "bool" or other.name != lit.name:
                    continue
                if all(self.same_index(a, b) for a, b in zip(other.args, lit.args, strict=True)):
                    return truth
        if any(other.kind == "any" for other in self.false) and self.assume(lit).impossible:
            return False
        return None

    def _decide_any(self, lit: Atom) -> bool | None:
        bound, lits, _ = self.normal.unbind(lit)
        if self.witness(bound, lits) is not None:
            return True
        return False if self.assume_all(lits).impossible else None

    @property
    def impossible(self) -> bool:
        """Whether the facts are known to contradict one another."""
        if self._impossible is None:
            left_out = self.normal.limits.count_left_out("witness")
            self._impossible = False
            found = self._impossible = self._contradict()
            if not found and self.normal.limits.count_left_out("witness") != left_out:
                self._impossible = None
            return found
        return self._impossible

    def _contradict(self) -> bool:
        if any(mask == 0 for mask in self.signs.values()):
            return True
        if contradictory((*self.normal.size_forms, *self.forms)):
            return True
        for lit in self.false:
            if lit.kind == "any":
                bound, lits, _ = self.normal.unbind(lit)
                if self.witness(bound, lits) is not None:
                    return True
            elif lit.kind in ("bool", "eq"):
                without = Facts(self.normal, self.forms, self.true, (), {})
                if without.decide(lit):
                    return True
        return False

    # Witnesses ---------------------------------------------------------------------------------------------------------

    def witness(self, bound: tuple[Atom, ...], lits: tuple[Atom, ...]) -> dict[Atom, Poly] | None:
        """Values for bound symbols at which the conditions are known to hold, or None."""
        with self.normal.limits.within("witness", MOST_SEARCHES) as allowed:
            return self._witness(bound, lits) if allowed else None

    def _witness(self, bound: tuple[Atom, ...], lits: tuple[Atom, ...]) -> dict[Atom, Poly] | None:
        if not bound:
            return {} if all(self.decide(lit) for lit in lits) else None
        symbol, later = bound[0], bound[1:]
        tried: set[str] = set()
        for value in self._candidates(symbol, frozenset(bound), lits):
            if value.key in tried:
                continue
            tried.add(value.key)
            at = {symbol: value}
            try:
                rest = [x for lit in lits for x in conjuncts(self.normal.condition_at(lit, at, self))]
            except Unprovable:  # one of them fails there, or is no conjunction any more
                continue
            found = self._witness(later, tuple(rest))
            if found is not None:
                self.normal.note("witness")
                return {symbol: value, **found}
        return None

    def _candidates(self, symbol: Atom, bound: frozenset[Atom], lits: tuple[Atom, ...]) -> Iterator[Poly]:
        for lit in lits:
            entry, known = (lit.lits[0], self.false) if lit.kind == "not" else (lit, self.true)
            if entry.kind != "bool" or symbol not in entry.symbols:
                continue
            for other in known:
                if other.kind == "bool" and other.name == entry.name:
                    for part, given in zip(entry.args, other.args, strict=True):
                        yield from _solutions(part - given, symbol, bound)
        for kind in ("eq", "ge"):
            for lit in lits:
                if lit.kind == kind:
                    yield from _solutions(lit.args[0], symbol, bound)
        look_ups = {a for lit in (*lits, *self.true) for a in inside(lit) if a.kind == "look_up"}
        for wanted in sorted((a for a in look_ups if symbol in a.symbols), key=lambda a: a.key):
            for other in sorted((a for a in look_ups if a.name == wanted.name), key=lambda a: a.key):
                for part, given in zip(wanted.args, other.args, strict=True):
                    yield from _solutions(part - given, symbol, bound)
        yield from self._known_to_satisfy(symbol, bound, lits)

    def _known_to_satisfy(
        self, symbol: Atom, bound: frozenset[Atom], lits: tuple[Atom, ...]
    ) -> Iterator[Poly]:
        """Indices of which an inequality of the same form is known."""
        known = [lit.args[0] for lit in self.true if lit.kind == "ge"]
        for lit in lits:
            if lit.kind == "ge":
                for order in known:
                    for value in _solutions(lit.args[0] - order, symbol, bound):
                        if len(value.terms) == 1 and len(value.symbols) == 1:
                            yield value


def _is_product(mono: Mono) -> bool:
    return len(mono.pows) > 1 and all(k == 1 for _, k in mono.pows)


def _solutions(poly: Poly, symbol: Atom, bound: frozenset[Atom]) -> Iterator[Poly]:
    linear = poly.linear_in(symbol)
    if linear is not None and abs(linear[0]) == 1 and linear[1].is_index and not linear[1].symbols & bound:
        yield linear[1].scale(-linear[0])
