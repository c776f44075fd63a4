"""Checking proofs: every step of a derivation is decided by the normal form, every obligation is discharged or the step refused.

:func:`check` is the one entry point. What it returns is what pages show: the chain of expressions is the proof, and its
assurance is never more than its weakest part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from spec.language.formula import Formula
from spec.language.proving.derivations import (
    CheckedClaim,
    CheckedInduction,
    CheckedStep,
    chain,
    conventions_of,
    derived,
)
from spec.language.proving.obligations import Obligation
from spec.language.proving.place import Goal, Place
from spec.language.proving.rules import Rule
from spec.language.proving.witness import Numeric
from spec.language.theorem import Assurance, Claim, Proof, Theorem
from spec.language.trees import free_symbols


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
        return tuple({r.name: r for c in self.claims for s in c.every_step for r in s.rules}.values())

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """All obligations met."""
        return tuple({str(o): o for c in self.claims for s in c.every_step for o in s.obligations}.values())


def check(theorem: Theorem, formula: Formula) -> Checked:
    """Check every claim of a theorem about a formula, under every choice of the conventions that the theorem leaves open."""
    names = [t.name for t in (*formula.tensors, *theorem.given, *formula.constants)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        note = f"{', '.join(twice)} names two things: choose another letter for what the theorem is given"
        refused = (CheckedClaim(claim, Assurance.REFUSED, (), note) for claim in theorem.claims)
        return Checked(theorem, formula, tuple(refused))
    claims = []
    checked: dict[Any, Any] = {}
    for claim in theorem.claims:
        proof = claim.proof
        if two := _two_of_a_name(theorem, formula, claim):
            note = f"{', '.join(two)} names two indices or sizes: choose another letter for one of them"
            claims.append(CheckedClaim(claim, Assurance.REFUSED, (), note))
        elif theorem.exists != (proof.method == "witness"):
            note = "an existential theorem is shown by a witness, and nothing else is"
            claims.append(CheckedClaim(claim, Assurance.REFUSED, (), note))
        elif proof.method == "derivation":
            claims.append(derived(Goal(theorem, formula, claim, checked=checked), proof))
        elif proof.method in ("witness", "enclosure"):
            claims.append(_numeric(theorem, formula, claim, proof))
        else:
            claims.append(
                CheckedClaim(claim, Assurance.REFUSED, (), f"{proof.method} is not a method of proof")
            )
    return Checked(theorem, formula, tuple(claims))


def _two_of_a_name(theorem: Theorem, formula: Formula, claim: Claim) -> list[str]:
    """Names that an index of a claim shares with another, or with a size: proofs tell indices and sizes apart by name."""
    shapes = [size for t in (*formula.tensors, *theorem.given) for size in t.shape]
    sizes = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    sizes = sizes.union(*(free_symbols(size) for size in (*shapes, *theorem.sizes.values())))
    waiting: list[tuple[Claim, set[sympy.Symbol]]] = [(claim, set())]
    twice: set[str] = set()
    while waiting:
        one, over = waiting.pop()
        sides = (free_symbols(tree) for tree in (one.left, one.right, one.where))
        names = [symbol.name for symbol in sizes.union(over, (s for s, _ in one.over), *sides)]
        twice |= {name for name in names if names.count(name) > 1}
        if (shown := one.proof.induction) is not None:
            parts = (replace(one, proof=part) for part in (*shown.base, *shown.step))
            waiting += [(inner, {shown.over}) for inner in (*shown.claims, *parts)]
    return sorted(twice)


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


__all__ = [
    "Checked",
    "CheckedClaim",
    "CheckedInduction",
    "CheckedStep",
    "Place",
    "chain",
    "check",
    "conventions_of",
]
