"""Checking proofs: every step of a derivation is decided by the normal form, every obligation is discharged or the step refused.

:func:`check` is the one entry point. What it returns is what pages show: the chain of expressions is the proof, and its
assurance is never more than its weakest part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from spec.language.expr import Node, Tensor
from spec.language.formula import Formula
from spec.language.proving.equality import vanishes
from spec.language.proving.facts import NEGATIVE, Facts
from spec.language.proving.obligations import Obligation, Undischarged, Unprovable
from spec.language.proving.reading import Reader
from spec.language.proving.rules import RULES, Rule
from spec.language.proving.terms import ZERO, Atom, number
from spec.language.proving.unfolding import Frame, ParityNeeded
from spec.language.proving.witness import Numeric
from spec.language.proving.writing import condition_text, text
from spec.language.theorem import Assurance, Claim, Proof, Step, Theorem


@dataclass(frozen=True)
class CheckedStep:
    """A step of a derivation: what it leads to, the rules and obligations it took, and why it is refused, if it is."""

    left: Node
    relation: str
    right: Node
    why: str
    rules: tuple[Rule, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim with its checked steps."""

    claim: Claim
    assurance: Assurance
    steps: tuple[CheckedStep, ...] = ()
    note: str = ""

    @property
    def refusal(self) -> str:
        """Why the claim is refused: the first refused step, by number; empty if it is not."""
        for place, step in enumerate(self.steps, 1):
            if step.refusal:
                return f"step {place} of {len(self.steps)} ({step.why}): {step.refusal}"
        return self.note if self.assurance == Assurance.REFUSED else ""


@dataclass(frozen=True)
class Checked:
    """A theorem with its checked claims. ``assurance`` is that of the weakest claim."""

    theorem: Theorem
    formula: Formula
    claims: tuple[CheckedClaim, ...] = field(default=())

    @property
    def assurance(self) -> Assurance:
        """How sure the theorem is: as its least sure claim."""
        return min((c.assurance for c in self.claims), default=Assurance.REFUSED)

    @property
    def refusal(self) -> str:
        """One line that says which claim and step is refused and why; empty if none is."""
        for place, checked in enumerate(self.claims, 1):
            if checked.refusal:
                return f"{self.formula.id}, {self.theorem.name}, claim {place}: {checked.refusal}"
        return ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules used."""
        return tuple({r.name: r for c in self.claims for s in c.steps for r in s.rules}.values())

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """All obligations met."""
        return tuple({str(o): o for c in self.claims for s in c.steps for o in s.obligations}.values())


def check(theorem: Theorem, formula: Formula) -> Checked:
    """Check every claim of a theorem about a formula, under every choice of the conventions that the theorem leaves open."""
    names = [t.name for t in (*formula.tensors, *theorem.given, *formula.constants)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        note = f"{', '.join(twice)} names two things: choose another letter for what the theorem is given"
        refused = (CheckedClaim(claim, Assurance.REFUSED, (), note) for claim in theorem.claims)
        return Checked(theorem, formula, tuple(refused))
    claims = []
    for place, claim in enumerate(theorem.claims):
        proof = theorem.proof(place)
        if theorem.exists != (proof.method == "witness"):
            note = "an existential theorem is shown by a witness, and nothing else is"
            claims.append(CheckedClaim(claim, Assurance.REFUSED, (), note))
        elif proof.method == "derivation":
            claims.append(_derived(theorem, formula, claim, proof))
        elif proof.method in ("witness", "enclosure"):
            claims.append(_numeric(theorem, formula, claim, proof))
        else:
            claims.append(
                CheckedClaim(claim, Assurance.REFUSED, (), f"{proof.method} is not a method of proof")
            )
    return Checked(theorem, formula, tuple(claims))


def conventions_of(theorem: Theorem, formula: Formula) -> Iterator[dict[str, str]]:
    """Every choice of conventions under which a theorem is stated (rounding apart)."""
    formula.choose(theorem.conventions)
    open_ = [c for c in formula.conventions if c.name not in theorem.conventions]
    for options in product(*(c.options for c in open_)):
        yield {**theorem.conventions, **{c.name: option for c, option in zip(open_, options, strict=True)}}


# Derivations --------------------------------------------------------------------------------------------------------------


def chain(claim: Claim, proof: Proof) -> list[tuple[Node, Step]]:
    """The steps from the left side to the right: each expression with the step that leaves it."""
    steps = list(proof.steps)
    if not steps or steps[-1].to != claim.right:
        relation = claim.relation if proof.gap is not None or all(s.relation == "=" for s in steps) else "="
        steps.append(Step(claim.right, proof.why or "by the rules", relation, proof.gap))
    return list(zip([claim.left, *(s.to for s in steps)], steps, strict=False))


def _derived(theorem: Theorem, formula: Formula, claim: Claim, proof: Proof) -> CheckedClaim:
    assurance = Assurance.PROVED_AT_SIZES if proof.at_sizes else Assurance.PROVED
    checked: list[CheckedStep] = []
    for left, step in chain(claim, proof):
        rules: dict[str, Rule] = {}
        obligations: dict[str, Obligation] = {}
        refusal = ""
        for conventions in conventions_of(theorem, formula):
            for sizes in proof.at_sizes or ({},):
                place = Place(theorem, formula, conventions, claim, sizes)
                refusal = refusal or place.refuses(left, step)
                rules |= {name: RULES[name] for name in sorted(place.used)}
                obligations |= place.obligations
        checked.append(
            CheckedStep(
                left,
                step.relation,
                step.to,
                step.why,
                tuple(rules.values()),
                tuple(obligations.values()),
                refusal,
            )
        )
    if any(s.refusal for s in checked):
        assurance = Assurance.REFUSED
    elif claim.relation == "=" and any(s.relation != "=" for s in checked):
        return CheckedClaim(claim, Assurance.REFUSED, tuple(checked), "steps ≤ do not prove an equality")
    return CheckedClaim(claim, assurance, tuple(checked))


class Place:
    """Where a claim is checked: a theorem's assumptions, under a choice of conventions, at symbolic or listed sizes."""

    def __init__(
        self,
        theorem: Theorem,
        formula: Formula,
        conventions: Mapping[str, str],
        claim: Claim,
        sizes: Mapping[sympy.Symbol, int],
    ) -> None:
        self.theorem, self.formula, self.conventions = theorem, formula, conventions
        self.claim, self.sizes = claim, sizes
        self.used: set[str] = set()
        self.obligations: dict[str, Obligation] = {}

    def refuses(self, left: Node, step: Step) -> str:
        """Why the step is refused; empty if it holds."""
        try:
            return self._refuses(left, step, ())
        except (Undischarged, Unprovable) as error:
            return str(error)

    def _refuses(self, left: Node, step: Step, split: tuple[sympy.Symbol, ...]) -> str:
        """Check with some of the claim's indices split by parity; split a further one where a definition asks for it."""
        try:
            for reader, frame, facts in self._settings(split):
                refusal = self._holds(reader, frame, facts, left, step)
                self.used |= reader.n.used | ({"parity"} if split else set())
                self.obligations |= reader.n.ledger.entries
                if refusal:
                    return refusal
        except ParityNeeded as need:
            more = tuple(s for s, _ in self.claim.over if s.name == need.symbol.name and s not in split)
            if not more:
                raise Unprovable(str(need)) from need
            return self._refuses(left, step, split + more)
        return ""

    def _holds(self, reader: Reader, frame: Frame, facts: Facts, left: Node, step: Step) -> str:
        a, b = reader.value(left, frame, facts), reader.value(step.to, frame, facts)
        if step.relation == "=":
            remains = vanishes(reader.n, a - b, facts)
            where = ", ".join(condition_text(reader.n, lit) for lit in reader.n.counter_case if remains)
            found = f"the two sides differ by {text(reader.n, remains)}" + (
                f" where {where}" if where else ""
            )
            return found if remains else ""
        reader.n.note("signs")
        if step.gap is None:
            if not reader.sign(step.to - left, frame, facts) & NEGATIVE:
                return ""
            return f"{text(reader.n, b - a)} ≥ 0 is not visible from its form"
        gap = reader.value(step.gap, frame, facts)
        remains = vanishes(reader.n, b - a - gap, facts)
        if remains:
            return f"the right side minus the left differs from the gap by {text(reader.n, remains)}"
        if reader.sign(step.gap, frame, facts) & NEGATIVE:
            return f"the gap {reader.text(step.gap, frame)} ≥ 0 is not visible from its form"
        return ""

    # Settings ----------------------------------------------------------------------------------------------------------

    def _settings(self, split: tuple[sympy.Symbol, ...]) -> Iterator[tuple[Reader, Frame, Facts]]:
        """A reader with frame and facts, anew for each parity of split indices, or for each value at listed sizes."""
        found = False
        for values in self._values():
            for parities in product((0, 1), repeat=len(split)):
                reader, frame, facts = self._at(values, dict(zip(split, parities, strict=True)))
                if not facts.impossible:
                    found = True
                    yield reader, frame, facts.as_root()
        if not found:
            raise Unprovable("the assumptions contradict one another, so nothing is claimed")

    def _reader(self) -> tuple[Reader, Frame]:
        reader = Reader(unroll=bool(self.sizes), fixed=frozenset(t.name for t in self.theorem.at))
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
        counts = [reader.index(size, frame, reader.n.empty).constant for _, size in self.claim.over]
        if any(count is None for count in counts):
            raise Unprovable("the sizes listed leave the range of an index open")
        for values in product(*(range(int(count or 0)) for count in counts)):
            yield dict(zip((s for s, _ in self.claim.over), values, strict=True))

    def _at(
        self, values: Mapping[sympy.Symbol, int], parities: Mapping[sympy.Symbol, int]
    ) -> tuple[Reader, Frame, Facts]:
        reader, frame = self._reader()
        facts = reader.n.empty
        fixed: dict[str, tuple[Any, Frame]] = {
            t.name: (_fixed(t, value), frame) for t, value in self.theorem.at.items()
        }
        frame = Frame(frame.symbols, fixed, {}, frame.conventions)
        for assumption in self.theorem.assuming:
            facts = self._assumed(reader, assumption, frame, facts)
        for symbol, size in self.claim.over:
            place = number(values[symbol]) if symbol in values else Atom("symbol", symbol.name).poly
            if symbol in parities:
                place = place.scaled(Fraction(2)) + parities[symbol]
            facts = reader.within(place, ZERO, reader.index(size, frame, facts) - 1, facts)
            frame = frame.bind({symbol: place})
        return reader, frame, self._assumed(reader, self.claim.where, frame, facts)

    def _assumed(self, reader: Reader, assumption: Node, frame: Frame, facts: Facts) -> Facts:
        condition = reader.condition(assumption, frame, facts)
        if not condition:
            return facts.assume(Atom("ge", "", (number(-1),)))
        out = facts.assume_value(condition)
        for lit in condition.conditions:
            held = out.decide(lit)
            condition = condition if held is None else condition.at(lit, held)
        if condition.constant != 1:
            raise Unprovable(
                f"the assumption {reader.text(assumption, frame)} is not a conjunction and cannot be used"
            )
        return out


def _fixed(tensor: Tensor, value: Any) -> Any:
    from spec.language.calls import each
    from spec.language.expr import indices, lift

    if not tensor.shape:
        return lift(value)
    names = indices(" ".join(f"fixed_{k}" for k in range(len(tensor.shape))))
    return each(lift(value), *zip(names, tensor.shape, strict=True))


def _numeric(theorem: Theorem, formula: Formula, claim: Claim, proof: Proof) -> CheckedClaim:
    numeric = Numeric(theorem, formula, claim)
    for conventions in conventions_of(theorem, formula):
        refusal = (
            numeric.witness(proof.point, conventions)
            if proof.method == "witness"
            else numeric.enclose(conventions)
        )
        if refusal:
            return CheckedClaim(claim, Assurance.REFUSED, (), refusal)
    if proof.method == "witness":
        return CheckedClaim(claim, Assurance.PROVED, (), numeric.note)
    return CheckedClaim(claim, Assurance.ENCLOSED, (), numeric.note)


__all__ = ["Checked", "CheckedClaim", "CheckedStep", "Place", "chain", "check", "conventions_of"]
