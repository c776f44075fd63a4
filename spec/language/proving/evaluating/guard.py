"""The guard: what is found proved is evaluated as well, by the interpreter of statements, which shares nothing with the rules.

Both sides of every claim are enclosed in balls at small and unequal sizes, past every constant, at inputs with ties, zeros and
both signs, under every choice of conventions. Where the balls contradict the claim, it is not proved, whatever the rules say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spec.language.evaluation.balls import precision
from spec.language.evaluation.dimensions import WrongSize
from spec.language.formula import Formula
from spec.language.proving.deciding.derivations import conventions_of
from spec.language.proving.evaluating.applying import Judging
from spec.language.proving.evaluating.draws import points
from spec.language.proving.evaluating.points import BITS, Point
from spec.language.theorem import Claim, Theorem

POINTS = 24
"""Points at which a theorem is evaluated, over all choices of conventions together; at least three for each."""
ENTRIES = 600
"""Entries that the inputs at these points may have, all together: what an evaluation costs."""
TURNS = 6
"""Draws of inputs at one choice of sizes, until one meets the hypotheses."""
LEAST = 3
"""Points at which a claim has to say something, so that having evaluated it means something."""


@dataclass(frozen=True)
class Guarded:
    """What evaluating a claim found: points at which it says something, what contradicts it, what could not be evaluated."""

    points: int = 0
    violation: str = ""
    missing: str = ""

    @property
    def evaluated(self) -> bool:
        """Whether it was evaluated often enough to mean something."""
        return self.points >= LEAST

    @property
    def note(self) -> str:
        """What to say of a claim that is proved and was not evaluated; empty if it was."""
        if self.evaluated:
            return ""
        return f"not evaluated: {self.missing or f'it says something at {self.points} points only'}"


def guarded(theorem: Theorem, formula: Formula) -> tuple[Guarded, ...]:
    """Every claim of a theorem evaluated."""
    found = [Guarded() for _ in theorem.claims]
    choices = list(conventions_of(theorem, formula))
    each, share = max(LEAST, POINTS // len(choices)), ENTRIES // len(choices)
    with precision(BITS):
        for conventions in choices:
            entries = 0
            for count, (point, evaluator) in enumerate(points(theorem, formula, conventions, TURNS, 1), 1):
                for place, claim in enumerate(theorem.claims):
                    if not found[place].violation:
                        found[place] = _seen(found[place], point, evaluator, claim)
                entries += sum(np.size(value) for value in point.given.values())
                if count == each or (count >= LEAST and entries > share):
                    break
    return tuple(found)


def _seen(before: Guarded, point: Point, evaluator: Judging, claim: Claim) -> Guarded:
    """What one point adds."""
    entries = 0
    try:
        for at, left, right in point.sides(claim, evaluator):
            gap = left - right
            if not gap.is_finite():  # undefined there, or not decided by the precision
                continue
            entries += 1
            if {"=": not gap.contains(0), "<=": gap > 0, "<": gap >= 0}[claim.relation]:
                sizes = ", ".join(f"{s} = {k}" for s, k in evaluator.sizes.items())
                said = f"evaluation contradicts it: {float(left.mid()):.9g} against {float(right.mid()):.9g} at {at}"
                return replace(before, violation=f"{said}, where {sizes}")
    except (
        ArithmeticError,
        KeyError,
        IndexError,
        NotImplementedError,
        RecursionError,
        StopIteration,
        TypeError,
        ValueError,
        WrongSize,
    ) as error:
        return replace(before, missing=" ".join(f"{type(error).__name__}: {error}".split()))
    return replace(before, points=before.points + bool(entries))
