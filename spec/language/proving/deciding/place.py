"""Where a step of a derivation is decided: what is assumed, known and in range there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Comprehension, Tensor, each
from spec.language.binders import AnyOf
from spec.language.calls import ABSENT, Call, shape_of
from spec.language.elaboration import elaborate
from spec.language.expr import TRUE, Compare, Node, Not, lift
from spec.language.formula import Formula
from spec.language.proving.deciding.vanishing import vanishes
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.knowledge.schemes import Lemma
from spec.language.proving.obligations import Obligation, Undischarged, Unprovable
from spec.language.proving.reading.defining import ParityNeeded
from spec.language.proving.reading.frames import Frame, Origin
from spec.language.proving.reading.reader import Reader
from spec.language.proving.reading.recurrences import MOST_STEPS
from spec.language.proving.rules.normal import Scheme
from spec.language.proving.signs.sets import NONNEGATIVE, POSITIVE
from spec.language.proving.terms.polynomials import (
    ZERO,
    Atom,
    Poly,
    number,
)
from spec.language.proving.terms.replacing import Change, rebuild
from spec.language.proving.terms.writing import condition_text, text
from spec.language.symbols import indices
from spec.language.theorem import Cited, Claim, Proof, Step, Theorem
from spec.language.trees import free_symbols
from spec.language.wellformed.letters import is_condition

Range = tuple[sympy.Symbol, sympy.Expr, sympy.Expr]
"""An index, its first and its last value."""


@dataclass(frozen=True)
class KnownFact:
    """What is known for all values of some indices in their ranges: a claim, or an assumption of the theorem."""

    claim: Claim
    ranges: tuple[Range, ...]
    assumed: bool = False


@dataclass(frozen=True)
class Goal:
    """A claim to be shown: the theorem it belongs to, the indices fixed around it with their ranges, what is known there.

    ``checked`` keeps the inductions that were checked for the same theorem: several claims may rest on one.
    """

    theorem: Theorem
    formula: Formula
    claim: Claim
    outer: tuple[Range, ...] = ()
    known: tuple[KnownFact, ...] = ()
    kept: frozenset[str] = frozenset()
    cited: tuple[Cited, ...] = ()
    checked: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Every index with its range, the outer ones first."""
        return (*self.outer, *((s, sympy.S.Zero, size - 1) for s, size in self.claim.over))

    def add_known(self, *more: KnownFact) -> Goal:
        """The same goal where more is known."""
        return replace(self, known=(*self.known, *more))

    def add_proof(self, proof: Proof) -> Goal:
        """The same goal, with what its proof keeps and cites."""
        return replace(self, kept=self.kept | proof.kept, cited=(*self.cited, *proof.cited))


def for_all(assumption: Node) -> KnownFact | None:
    """An assumption "for every index in a range, x ≤ y" (or <), as what it says of each; over several indices, too."""
    ranges, held = [], assumption
    while isinstance(held, Not) and isinstance(some := held.args[0], AnyOf) and some.where == TRUE:
        ranges.append((some.var, some.first, some.last))
        held = some.body.args[0] if isinstance(some.body, Not) else Not(some.body)
    if not ranges or not isinstance(held, Compare) or str(held.args[0]) == "==":
        return None
    relation, left, right = held.args
    claim = Claim(lift(left), lift(right), (), TRUE, str(relation))
    return KnownFact(claim, tuple(ranges), assumed=True)


def instance(reader: Reader, cited: Cited, formula: Formula, frame: Frame, facts: Facts) -> Frame:
    """The frame in which the claims of a cited theorem are read; arguments are in the letters of the ``formula`` that cites.

    Raises:
        Unprovable: the theorem speaks of other sizes, values, conventions or inputs than those at hand.
    """
    theorem = cited.theorem
    if theorem.at or theorem.assuming or theorem.exists:
        raise Unprovable(f"{cited} is a theorem under restrictions, and cannot be cited")
    call: Call = elaborate(cited.call, formula)
    plain = reader.unfolding.enter(call, frame, facts)
    for name, option in theorem.conventions.items():
        if plain.conventions[name] != option:
            raise Unprovable(
                f"{cited} is a theorem under {name}={option}, and is cited under {plain.conventions[name]}"
            )
    _within_its_domains(reader, cited, call, plain, frame, facts)
    plain = _bind_sizes(reader, cited, plain, frame, facts)
    tensors = dict(plain.tensors)
    for item in theorem.given:
        value: Basic = elaborate(dict(cited.given)[item.name], formula)
        _check(reader, cited, item, value, plain, frame, facts)
        tensors[item.name] = (value, frame)
    return replace(plain, tensors=tensors, lines={}, origin=Origin(plain.origin.facts))


def _within_its_domains(
    reader: Reader, cited: Cited, call: Call, plain: Frame, frame: Frame, facts: Facts
) -> None:
    """A theorem speaks of sizes from 1 on, of inputs within their domains, and of the constants as the statement has them.

    Whoever cites it may apply the formula to a part that is empty, or fix an input at the edge of its domain.
    """
    for size, value in plain.symbols.items():
        if not facts.nonnegative(value - 1):
            raise Unprovable(f"{cited} is cited where {size} is not known to be at least 1")
    if frame.constants:
        raise Unprovable(f"{cited} is cited where a constant is fixed to another value than its own")
    for item, value in zip(cited.formula.inputs, call.arguments, strict=True):
        if isinstance(item, Tensor) and value != ABSENT:
            reader.unfolding.fits(cited.formula, item, value, frame, facts, plain.symbols, edges=False)


def _bind_sizes(reader: Reader, cited: Cited, plain: Frame, frame: Frame, facts: Facts) -> Frame:
    """The frame with the sizes that the theorem writes others by, which are what it says."""
    sizes = cited.theorem.sizes
    for size in set().union(*(free_symbols(value) for value in sizes.values())):
        value = reader.index(dict(cited.given)[size.name], frame, facts)
        if not facts.nonnegative(value - 1):
            raise Unprovable(f"{cited} is cited with a {size} that is not known to be at least 1")
        if size in plain.symbols and not facts.same_index(plain.symbols[size], value):
            raise Unprovable(f"{cited} is cited with another {size} than it has there")
        plain = plain.bind({size: value})
    for size, value in sizes.items():
        if not facts.same_index(plain.symbols[size], reader.index(value, plain, facts)):
            raise Unprovable(f"{cited} is a theorem for {size} = {value}, and is cited for another {size}")
    return plain


def _check(
    reader: Reader, cited: Cited, item: Tensor, value: Basic, plain: Frame, frame: Frame, facts: Facts
) -> None:
    """What a theorem is given has the shape and the domain that it asks for."""
    shape = shape_of(value)
    wanted = tuple(reader.index(size, plain, facts) for size in item.shape)
    if len(shape) != len(wanted) or any(
        not facts.same_index(reader.index(size, frame, facts), own)
        for size, own in zip(shape, wanted, strict=True)
    ):
        raise Unprovable(f"{cited} is given {item.name} of another shape")
    body = value.body if isinstance(value, Comprehension) else value
    if (item.domain == "boolean") != is_condition(body):
        raise Unprovable(f"{cited} is given {item.name}, which has to be {item.domain}")
    if item.domain in ("real", "boolean"):
        return
    if not isinstance(value, Tensor) or value.domain != item.domain:
        raise Unprovable(f"{cited} is given {item.name}, which has to be a letter that is {item.domain}")
    below, own_below = reader.index(item.below, plain, facts), reader.index(value.below, frame, facts)
    if item.below != 0 and (value.below == 0 or not facts.nonnegative(below - own_below)):
        raise Unprovable(f"{cited} is given {item.name}, which may be as large as it must not be")


MOST_REWRITINGS = 3
"""How often what is known is put in, one thing after another."""

Setting = tuple[Reader, Frame, Facts]
"""What reads the trees of a step, what their letters stand for, and what is known of these."""


class Place:
    """A goal under a choice of conventions, at symbolic or listed sizes.

    The steps of one derivation are decided at one place: what was read for a step is there for the next, which begins with the
    expression that the one before led to. What a step is said to use is what it used first.
    """

    def __init__(self, goal: Goal, conventions: Mapping[str, str], sizes: Mapping[sympy.Symbol, int]) -> None:
        self.goal, self.theorem, self.formula = goal, goal.theorem, goal.formula
        self.conventions, self.sizes = conventions, sizes
        self.used: set[str] = set()
        self.obligations: dict[str, Obligation] = {}
        self.lemmas: tuple[Lemma, ...] = ()
        self._ready: dict[tuple[sympy.Symbol, ...], list[tuple[Setting, tuple[Lemma, ...]]]] = {}
        self._looking: Place | None = None  # the same place, with kept formulas looked into

    def refuses(self, left: Node, step: Step) -> str:
        """Why the step is refused; empty if it holds.

        A formula that is kept has to be defined at all of its indices. Where that is not known (a convention may leave an entry
        open that the claim does not speak of), the step is decided once more, with those looked into that no theorem is cited of.
        """
        self.used, self.obligations = set(), {}
        said = ""
        if self._looking is None:
            try:
                return self._refuses(left, step, ())
            except Unprovable as error:
                return str(error)
            except Undischarged as error:
                said = str(error)
            needed = frozenset(one.call.formula_id for one in self.goal.cited)
            if self.goal.kept <= needed:
                return said
            self._looking = Place(replace(self.goal, kept=needed), self.conventions, self.sizes)
        refusal = self._looking.refuses(left, step)
        self.used, self.obligations = self._looking.used, self._looking.obligations
        return refusal and (said or refusal)

    def _refuses(self, left: Node, step: Step, split: tuple[sympy.Symbol, ...]) -> str:
        """Check with some of the claim's indices split by parity; split a further one where a definition asks for it."""
        try:
            for reader, frame, facts in self._prepare_settings(split):
                refusal = self._holds(reader, frame, facts, left, step)
                self.used |= reader.n.used | ({"parity"} if split else set())
                self.obligations |= reader.n.ledger.entries
                if refusal:
                    return refusal
        except ParityNeeded as need:
            more = tuple(s for s, _, _ in self.goal.ranges if s.name == need.symbol.name and s not in split)
            if not more:
                raise Unprovable(str(need)) from need
            return self._refuses(left, step, split + more)
        return ""

    # A step --------------------------------------------------------------------------------------------------------------

    def _holds(self, reader: Reader, frame: Frame, facts: Facts, left: Node, step: Step) -> str:
        left, to = self._expand(left), self._expand(step.to)
        a, b = reader.value(left, frame, facts), reader.value(to, frame, facts)
        if step.relation == "=":
            remains = self._remains(reader, a - b, facts)
            where = ", ".join(condition_text(reader.n, lit) for lit in reader.n.counter_case if remains)
            found = f"the two sides differ by {text(reader.n, remains)}" + (
                f" where {where}" if where else ""
            )
            return found if remains else ""
        reader.n.note("signs")
        allowed, sign = (POSITIVE, ">") if step.relation == "<" else (NONNEGATIVE, "≥")
        if step.gap is None:
            if self._has_sign(reader, to - left, b - a, allowed, frame, facts):
                return ""
            return f"{text(reader.n, b - a)} {sign} 0 is not visible from its form"
        written = self._expand(step.gap)
        gap = reader.value(written, frame, facts)
        remains = self._remains(reader, b - a - gap, facts)
        if remains:
            return f"the right side minus the left differs from the gap by {text(reader.n, remains)}"
        if not self._has_sign(reader, written, gap, allowed, frame, facts):
            return f"the gap {reader.text(step.gap, frame)} {sign} 0 is not visible from its form"
        return ""

    def _expand(self, node: Node) -> Node:
        """A tree in the inputs of the formula alone."""
        found: Node = elaborate(node, self.formula)
        return found

    def _remains(self, reader: Reader, difference: Poly, facts: Facts) -> Poly:
        """What remains of a difference, once what is known is used and recurrences are unfolded as far as that helps."""
        remains = ZERO
        for steps, form in enumerate(self._forms(reader, difference, facts)):
            found = vanishes(reader.n, form, facts)
            if not found:
                return ZERO
            remains = remains if steps else found
        return remains

    def _has_sign(
        self, reader: Reader, node: Node, value: Poly, allowed: int, frame: Frame, facts: Facts
    ) -> bool:
        if not reader.sign(node, frame, facts) & ~allowed:
            return True
        return any(not reader.n.sign(form, facts) & ~allowed for form in self._forms(reader, value, facts))

    def _forms(self, reader: Reader, value: Poly, facts: Facts) -> Iterator[Poly]:
        """A term with what is known put in, then with its latest states unfolded once, twice, …"""
        value = self._apply_lemmas(reader, value, facts)
        yield value
        for _ in range(MOST_STEPS):
            try:
                further = reader.unfolding.recurrences.unfold_latest(value, facts)
            except (Undischarged, Unprovable):
                return
            if further == value:
                return
            value = self._apply_lemmas(reader, further, facts)
            yield value

    def _inside(self, reader: Reader, lemma: Lemma, facts: Facts) -> Lemma:
        """The lemma as it reads once what else is known has been put into the inputs of its state."""
        here = facts.assume_all(lemma.lits)
        args = tuple(self._apply_lemmas(reader, part, here) for part in lemma.state.args)
        return replace(lemma, state=Atom("state", lemma.state.name, args))

    def _apply_lemmas(self, reader: Reader, value: Poly, facts: Facts) -> Poly:
        if not self.lemmas:
            return value

        def apply(atom: Atom, known: Facts) -> Poly | None:
            found = (lemma.apply(reader.n, atom, known) for lemma in self.lemmas)
            return next((value for value in found if value is not None), None)

        for _ in range(MOST_REWRITINGS):
            before, value = value, rebuild(reader.n, value, Change(states=apply), facts)
            if value == before:
                break
        return value

    # Settings ------------------------------------------------------------------------------------------------------------

    def _prepare_settings(self, split: tuple[sympy.Symbol, ...]) -> Iterator[Setting]:
        """The settings, those of the step before where it was decided in all of them; each with its own budget for the step."""
        ready = self._ready.pop(split, None)
        found: list[tuple[Setting, tuple[Lemma, ...]]] = []
        if ready is None:
            for setting in self._settings(split):
                yield setting
                found.append((setting, self.lemmas))
        else:
            for setting, self.lemmas in ready:
                setting[0].n.begin()
                yield setting
            found = ready
        if not self.sizes:  # there are too many of listed sizes and indices
            self._ready[split] = found

    def _settings(self, split: tuple[sympy.Symbol, ...]) -> Iterator[Setting]:
        """A reader with frame and facts, anew for each parity of split indices, or for each value at listed sizes."""
        found = False
        for values in self._values():
            for parities in product((0, 1), repeat=len(split)):
                reader, frame, facts = self._at(values, dict(zip(split, parities, strict=True)))
                if not facts.impossible:
                    found = True
                    yield reader, frame, facts
        if not found:
            raise Unprovable("the assumptions contradict one another, so nothing is claimed")

    def _reader(self) -> tuple[Reader, Frame]:
        fixed = frozenset(t.name for t in self.theorem.at)
        reader = Reader(unroll=bool(self.sizes), fixed=fixed, kept=self.goal.kept)
        facts = reader.n.empty
        frame = Frame(conventions=self.formula.choose(self.conventions))
        frame = frame.bind({s: reader.index(sympy.Integer(v), frame, facts) for s, v in self.sizes.items()})
        return reader, frame.bind({s: reader.index(e, frame, facts) for s, e in self.theorem.sizes.items()})

    def _values(self) -> Iterator[dict[sympy.Symbol, int]]:
        """At listed sizes, every value of the claim's indices; else nothing is fixed."""
        if not self.sizes:
            yield {}
            return
        reader, frame = self._reader()
        counts = [reader.index(size, frame, reader.n.empty).constant for _, size in self.goal.claim.over]
        if any(count is None for count in counts):
            raise Unprovable("the sizes listed leave the range of an index open")
        for values in product(*(range(int(count or 0)) for count in counts)):
            yield dict(zip((s for s, _ in self.goal.claim.over), values, strict=True))

    def _at(self, values: Mapping[sympy.Symbol, int], parities: Mapping[sympy.Symbol, int]) -> Setting:
        reader, frame = self._reader()
        facts = reader.n.empty
        fixed: dict[str, tuple[Any, Frame]] = {
            t.name: (_make_constant(t, value), frame) for t, value in self.theorem.at.items()
        }
        constants = {t: fixed[t.name] for t in self.theorem.at if t.role == "constant"}
        frame = Frame(frame.symbols, fixed, {}, frame.conventions, constants=constants)
        for constant, value in self.formula.constants.items():
            reader.n.constant(constant, value)
        universal = []
        for assumption in map(self._expand, self.theorem.assuming):
            found = for_all(assumption)
            if found is None:
                facts = self._assume(reader, assumption, frame, facts)
            else:
                universal.append(found)
        for size, value in self.theorem.sizes.items():
            if not facts.nonnegative(frame.symbols[size] - 1):
                raise Undischarged(f"{size} = {value} is at least 1")
        for symbol, first, last in self.goal.ranges:
            at = number(values[symbol]) if symbol in values else Atom("symbol", symbol.name).poly
            if symbol in parities:
                at = at.scale(Fraction(2)) + parities[symbol]
            low, high = (reader.index(end, frame, facts) for end in (first, last))
            facts = reader.within(at, low, high, facts)
            frame = frame.bind({symbol: at})
        facts = self._assume(reader, self.goal.claim.where, frame, facts).as_root()
        self.lemmas = self.lemmas[:0]
        for known in (*universal, *self.goal.known):
            self._use(reader, known, frame, facts)
        for cited in self.goal.cited:
            self._cite(reader, cited, frame, facts)
        inside = [self._inside(reader, lemma, facts) for lemma in self.lemmas]
        self.lemmas = (*self.lemmas, *(new for new in inside if new not in self.lemmas))
        return reader, frame, facts

    def _assume(self, reader: Reader, assumption: Node, frame: Frame, facts: Facts) -> Facts:
        condition = reader.condition(self._expand(assumption), frame, facts)
        if not condition:
            return facts.assume(Atom("ge", "", (number(-1),)))
        out = facts.assume_value(condition)
        if not out.shows(condition):
            why = "is not a conjunction and cannot be used"
            if isinstance(assumption, Compare) and str(assumption.args[0]) == "==":
                why = "equates values and cannot be used: state the claim with the one in place of the other"
            raise Unprovable(f"the assumption {reader.text(assumption, frame)} {why}")
        return out

    def _cite(self, reader: Reader, cited: Cited, frame: Frame, facts: Facts) -> None:
        """Make the claims of a theorem usable at the arguments at which it is cited."""
        there = instance(reader, cited, self.formula, frame, facts)
        for claim in cited.theorem.claims:
            ranges = tuple((s, sympy.S.Zero, size - 1) for s, size in claim.over)
            self._use(reader, KnownFact(claim, ranges), there, facts, cited.formula)

    def _use(
        self, reader: Reader, known: KnownFact, frame: Frame, facts: Facts, formula: Formula | None = None
    ) -> None:
        """Make something known usable: an equation about a state as a rewriting, an inequality as a sign.

        It is written in the letters of the formula at hand, or of another one.
        """
        formula = formula or self.formula
        variables, here = [], facts
        for symbol, first, last in known.ranges:
            variable = reader.n.fresh(symbol.name)
            low, high = (reader.index(end, frame, here) for end in (first, last))
            here = reader.within(variable.poly, low, high, here)
            frame = frame.bind({symbol: variable.poly})
            variables.append(variable)
        here = self._assume(reader, elaborate(known.claim.where, formula), frame, here)
        if here.impossible:
            return
        lits = here.added[len(facts.added) :]
        left, right = (
            reader.value(elaborate(side, formula), frame, here)
            for side in (known.claim.left, known.claim.right)
        )
        if known.claim.relation != "=":
            mask = POSITIVE if known.claim.relation == "<" else NONNEGATIVE
            scheme = Scheme(right - left, mask, tuple(variables), lits, known.assumed)
            reader.n.learn(scheme)
            return
        state = left.atom
        if state is None or state.kind != "state":
            raise Unprovable(
                f"what is known of {reader.text(known.claim.left, frame)} cannot be used: "
                "its left side is neither a state of a recurrence nor a formula that is kept"
            )
        self.lemmas = (*self.lemmas, Lemma(state, right, tuple(variables), lits))


def _make_constant(tensor: Tensor, value: Any) -> Any:
    if not tensor.shape:
        return lift(value)
    names = indices(" ".join(f"fixed_{k}" for k in range(len(tensor.shape))))
    return each(lift(value), *zip(names, tensor.shape, strict=True))
