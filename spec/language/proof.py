"""Checking proofs: every step of a derivation is decided by the normal form, every obligation is discharged or the step refused.

:func:`check` is the one entry point. What it returns is what pages show: the chain of expressions is the proof, and its
assurance is never more than its weakest part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import sympy

from spec.language.equality import vanishes
from spec.language.expr import Node, Tensor
from spec.language.facts import NEGATIVE, Facts
from spec.language.formula import Formula
from spec.language.obligations import Obligation, Undischarged, Unprovable
from spec.language.reading import Reader
from spec.language.rules import RULES, Rule
from spec.language.terms import ZERO, Poly
from spec.language.theorem import Assurance, Claim, Proof, Step, Theorem
from spec.language.unfolding import Frame, ParityNeeded
from spec.language.witness import Numeric
from spec.language.writing import text


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
        for number, step in enumerate(self.steps, 1):
            if step.refusal:
                return f"step {number} of {len(self.steps)} ({step.why}): {step.refusal}"
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
        for number, checked in enumerate(self.claims, 1):
            if checked.refusal:
                return f"{self.formula.id}, {self.theorem.name}, claim {number}: {checked.refusal}"
        return ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules used."""
        return tuple({r.name: r for c in self.claims for s in c.steps for r in s.rules}.values())

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """All obligations met."""
        return tuple({o.sentence: o for c in self.claims for s in c.steps for o in s.obligations}.values())


def check(theorem: Theorem, formula: Formula) -> Checked:
    """Check every claim of a theorem about a formula, under every choice of the conventions that the theorem leaves open."""
    claims = []
    for number, claim in enumerate(theorem.claims):
        proof = theorem.proof(number)
        if theorem.exists != (proof.method == "witness"):
            note = "an existential theorem is shown by a witness, and nothing else is"
            claims.append(CheckedClaim(claim, Assurance.REFUSED, (), note))
        elif proof.method == "derivation":
            claims.append(_derived(theorem, formula, claim, proof))
        elif proof.method in ("witness", "enclosure"):
            claims.append(_numeric(theorem, formula, claim, proof))
        else:
            claims.append(CheckedClaim(claim, Assurance.REFUSED, (), f"{proof.method} is not a method of proof"))
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
            CheckedStep(left, step.relation, step.to, step.why, tuple(rules.values()), tuple(obligations.values()), refusal)
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
            for reader, frame, facts in self._settings({}):
                refusal = self._refuses_at(reader, frame, facts, left, step)
                self.used |= reader.n.used
                self.obligations |= reader.n.ledger.entries
                if refusal:
                    return refusal
        except (Undischarged, Unprovable) as error:
            return str(error)
        return ""

    def _refuses_at(self, reader: Reader, frame: Frame, facts: Facts, left: Node, step: Step) -> str:
        try:
            return self._holds(reader, frame, facts, left, step)
        except ParityNeeded as need:
            symbol = next((s for s, _ in self.claim.over if frame.symbols[s] == need.symbol.poly), None)
            if symbol is None:
                raise Unprovable(str(need)) from need
        for reader, frame, facts in self._settings({symbol: True}):
            reader.n.note("parity")
            refusal = self._holds(reader, frame, facts, left, step)
            self.used |= reader.n.used
            self.obligations |= reader.n.ledger.entries
            if refusal:
                return refusal
        return ""

    def _holds(self, reader: Reader, frame: Frame, facts: Facts, left: Node, step: Step) -> str:
        a, b = reader.value(left, frame, facts), reader.value(step.to, frame, facts)
        if step.relation == "=":
            remains = vanishes(reader.n, a - b, facts)
            return f"the two sides differ by {text(reader.n, remains)}" if remains else ""
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

    def _settings(self, split: Mapping[sympy.Symbol, bool]) -> Iterator[tuple[Reader, Frame, Facts]]:
        """Readers with frame and facts: one, or one for each parity of an index, or one for each value at listed sizes."""
        for parities in product((0, 1), repeat=len(split)):
            yield from self._at(dict(zip(split, parities, strict=True)))

    def _at(self, parities: Mapping[sympy.Symbol, int]) -> Iterator[tuple[Reader, Frame, Facts]]:
        reader = Reader(unroll=bool(self.sizes), fixed=frozenset(t.name for t in self.theorem.at))
        facts = reader.n.empty
        frame = Frame(conventions=self.formula.choose(self.conventions))
        frame = frame.bind({s: reader.index(sympy.Integer(v), frame, facts) for s, v in self.sizes.items()})
        frame = frame.bind({s: reader.index(e, frame, facts) for s, e in self.theorem.sizes.items()})
        fixed: dict[str, tuple[Any, Frame]] = {
            t.name: (_fixed(t, value), frame) for t, value in self.theorem.at.items()
        }
        frame = Frame(frame.symbols, fixed, {}, frame.conventions)
        for assumption in self.theorem.assuming:
            facts = self._assumed(reader, assumption, frame, facts)
        yield from self._ranged(reader, frame, facts, list(self.claim.over), parities)

    def _ranged(
        self,
        reader: Reader,
        frame: Frame,
        facts: Facts,
        over: list[tuple[sympy.Symbol, sympy.Expr]],
        parities: Mapping[sympy.Symbol, int],
    ) -> Iterator[tuple[Reader, Frame, Facts]]:
        if not over:
            facts = self._assumed(reader, self.claim.where, frame, facts)
            if not facts.impossible:
                yield reader, frame, facts.as_root()
            return
        (symbol, size), rest = over[0], over[1:]
        last = reader.index(size, frame, facts) - 1
        if self.sizes and last.constant is not None:
            for value in range(int(last.constant) + 1):
                here = frame.bind({symbol: reader.index(sympy.Integer(value), frame, facts)})
                yield from self._ranged(reader, here, facts, rest, parities)
            return
        place: Poly = reader.index(symbol, Frame(), facts)
        if symbol in parities:
            place = place.scaled(reader.index(sympy.Integer(2), frame, facts).constant or 0) + parities[symbol]
        inner = frame.bind({symbol: place})
        facts = reader.within(place, ZERO, last, facts)
        yield from self._ranged(reader, inner, facts, rest, parities)

    def _assumed(self, reader: Reader, assumption: Node, frame: Frame, facts: Facts) -> Facts:
        condition = reader.condition(assumption, frame, facts)
        if not condition:
            raise Unprovable(f"the assumption {reader.text(assumption, frame)} cannot hold")
        out = facts.assume_value(condition)
        for lit in condition.conditions:
            condition = condition.at(lit, out.decide(lit) is not False)
        if condition.constant != 1:
            raise Unprovable(f"the assumption {reader.text(assumption, frame)} is not a conjunction and cannot be used")
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
        refusal = numeric.witness(proof.point, conventions) if proof.method == "witness" else numeric.enclose(conventions)
        if refusal:
            return CheckedClaim(claim, Assurance.REFUSED, (), refusal)
    if proof.method == "witness":
        return CheckedClaim(claim, Assurance.PROVED, (), numeric.note)
    return CheckedClaim(claim, Assurance.ENCLOSED, (), numeric.note)


__all__ = ["Checked", "CheckedClaim", "CheckedStep", "Place", "chain", "check", "conventions_of"]
