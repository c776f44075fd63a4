"""Checking proofs: every step of a derivation is decided by the normal form, every obligation is discharged or the step refused.

:func:`check` is the one entry point. What it returns is what pages show: the chain of expressions is the proof, and its
assurance is never more than its weakest part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from spec.language.formula import Formula
from spec.language.known import is_known
from spec.language.proving.deciding.derivations import (
    CheckedClaim,
    CheckedInduction,
    CheckedStep,
    check_derivation,
    conventions_of,
)
from spec.language.proving.deciding.place import Goal
from spec.language.proving.evaluating.points import Numeric, evaluate_claims
from spec.language.proving.obligations import Obligation
from spec.language.proving.rules.register import Rule
from spec.language.theorem import Assurance, Claim, Proof, Theorem
from spec.language.wellformed.letters import IllFormed
from spec.language.wellformed.theorems import check_theorem


@dataclass(frozen=True)
class Checked:
    """A theorem with its checked claims. ``assurance`` is that of the weakest claim; ``note`` says why none was looked at."""

    theorem: Theorem
    formula: Formula
    claims: tuple[CheckedClaim, ...] = field(default=())
    note: str = ""

    @property
    def assurance(self) -> Assurance:
        """How sure the theorem is: as its least sure claim."""
        return min((c.assurance for c in self.claims), default=Assurance.REFUSED)

    @property
    def refusal(self) -> str:
        """One line that says which claim and step is refused and why; empty if none is."""
        if self.note:
            return self.note
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


def check(theorem: Theorem, formula: Formula, guard: bool = True) -> Checked:
    """Check every claim of a theorem about a formula, under every choice of the conventions that the theorem leaves open.

    What cannot be decided is refused, whatever stands in the way; nothing is raised. Every claim that is found proved is
    evaluated, too, unless ``guard`` is switched off (:mod:`spec.language.proving.evaluating.points`): what the balls contradict,
    or cannot evaluate, is refused.
    """
    try:
        if not is_known(formula):
            raise IllFormed(f"{formula.id}, {theorem.name}: {formula.id} is no longer the formula of this ID")
        check_theorem(formula, theorem)
    except Exception as error:
        note = _describe_error(error)
        none = tuple(CheckedClaim(claim, Assurance.REFUSED, (), note) for claim in theorem.claims)
        return Checked(theorem, formula, none, note)
    checked: dict[Any, Any] = {}
    claims = []
    for claim in theorem.claims:
        try:
            missing = _not_established(claim.proof)
            claims.append(
                CheckedClaim(claim, Assurance.REFUSED, (), missing)
                if missing
                else _claim(theorem, formula, claim, checked)
            )
        except Exception as error:
            claims.append(CheckedClaim(claim, Assurance.REFUSED, (), _describe_error(error)))
    found = Checked(theorem, formula, tuple(claims))
    return (
        _evaluate_theorem(found)
        if guard and found.assurance > Assurance.REFUSED and not theorem.exists
        else found
    )


_ESTABLISHED: dict[tuple[str, str], tuple[Theorem, Assurance]] = {}
"""Theorems that were cited, as far as they were checked."""


def _not_established(proof: Proof) -> str:
    """Which of the theorems that a proof cites is not proved; empty if all are. A theorem cites earlier ones, so this ends."""
    for cited in proof.every_cited:
        key = (cited.formula.id, cited.name)
        if key not in _ESTABLISHED or _ESTABLISHED[key][0] is not cited.theorem:
            _ESTABLISHED[key] = cited.theorem, check(cited.theorem, cited.formula).assurance
        if _ESTABLISHED[key][1] is not Assurance.PROVED:
            return f"it cites {cited}, which is {_ESTABLISHED[key][1]}"
    return ""


def _evaluate_theorem(checked: Checked) -> Checked:
    """The theorem, evaluated: refused where the balls contradict it, or do not see enough of it."""
    try:
        refusals = [
            seen.refusal for seen in evaluate_claims(checked.theorem, checked.formula, checked.claims)
        ]
    except Exception as error:
        refusals = [f"evaluation cannot confirm it: {_describe_error(error)}"] * len(checked.claims)
    claims = (
        replace(claim, assurance=Assurance.REFUSED, note=refusal) if refusal else claim
        for claim, refusal in zip(checked.claims, refusals, strict=True)
    )
    return replace(checked, claims=tuple(claims))


def _claim(theorem: Theorem, formula: Formula, claim: Claim, checked: dict[Any, Any]) -> CheckedClaim:
    if theorem.exists != (claim.proof.method == "witness"):
        note = "an existential theorem is shown by a witness, and nothing else is"
        return CheckedClaim(claim, Assurance.REFUSED, (), note)
    if claim.proof.method == "derivation":
        return check_derivation(Goal(theorem, formula, claim, checked=checked), claim.proof)
    return _numeric(theorem, formula, claim, claim.proof)


def _describe_error(error: Exception) -> str:
    """What stands in the way, in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) else f"it cannot be read: {type(error).__name__}: {text}"


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


__all__ = ["Checked", "CheckedClaim", "CheckedInduction", "CheckedStep", "check", "conventions_of"]
