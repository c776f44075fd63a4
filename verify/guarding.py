"""Guarding theorems: each evaluated with the statement itself in the formula's place, in balls, degenerate regimes included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spec.language.evaluation.balls import BallArithmetic, precision
from spec.language.evaluation.interpreter import Evaluator
from spec.language.formula import Formula
from spec.language.proving.evaluating.applying import BallApplications
from spec.language.theorem import Theorem
from verify.judging import Judge
from verify.properties import theorem_examples
from verify.sampling import Example
from verify.theorems import bound_inputs, settled, sides, vacuous


@dataclass(frozen=True)
class Guarded:
    """What guarding a theorem saw: examples, entries compared (those left out were undefined), and the first violation."""

    examples: int
    entries: int
    undefined: int
    violation: str = ""
    example: Example | None = None

    @property
    def holds(self) -> bool:
        """Whether the theorem held wherever it says something, and it said something."""
        return not self.violation and self.entries > 0


def guard_theorem(
    theorem: Theorem, formula: Formula, examples: int = 60, seed: int = 0, bits: int = 192
) -> Guarded:
    """Evaluate a theorem with the oracle in the formula's place, in balls, degenerate regimes included.

    A claim fails where the balls of its sides are disjoint (for ``≤``: where left is certainly larger).
    """
    found = Guarded(0, 0, 0)
    for conventions in _choices(formula, theorem):
        found = _guard(theorem, Judge(formula, conventions), found, examples, seed, bits)
        if found.violation:
            break
    return found


def _choices(formula: Formula, theorem: Theorem) -> list[dict[str, str]]:
    """Every choice of conventions under which the theorem is stated."""
    choices: list[dict[str, str]] = [{}]
    for convention in formula.conventions:
        fixed = theorem.conventions.get(convention.name)
        options = [fixed] if fixed is not None else list(convention.options)
        choices = [{**choice, convention.name: option} for choice in choices for option in options]
    return choices


def _guard(theorem: Theorem, judge: Judge, before: Guarded, examples: int, seed: int, bits: int) -> Guarded:
    formula = judge.formula
    count, entries, undefined = before.examples, before.entries, before.undefined
    with precision(bits):
        for example in theorem_examples(judge, theorem, "float64", examples, seed):
            count += 1
            for claim in theorem.claims:
                bindings = bound_inputs(formula, theorem, example, judge.flat.absent)
                evaluator = Evaluator(BallArithmetic(), bindings, None, BallApplications(judge.conventions))
                if vacuous(claim, evaluator):
                    continue
                left, right, where = sides(settled(claim, judge), evaluator)
                left, right, where = np.broadcast_arrays(left, right, where)
                for place in np.ndindex(*where.shape):
                    if not where[place]:
                        continue
                    gap = left[place] - right[place]
                    if not gap.is_finite():
                        undefined += 1
                        continue
                    entries += 1
                    wrong = {"=": not gap.contains(0), "<=": gap > 0, "<": gap >= 0}[claim.relation]
                    if wrong:
                        said = f"{claim.left} = {left[place]} but {claim.right} = {right[place]} at {place} ({example.regime})"
                        return Guarded(count, entries, undefined, said, example)
    return Guarded(count, entries, undefined)
