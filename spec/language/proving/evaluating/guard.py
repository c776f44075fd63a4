"""The guard: what is found proved is evaluated as well, by compiled programs, which share nothing with the rules.

Both sides of every claim, and every line between them, are enclosed in balls at small and unequal sizes, past every constant,
at inputs with ties, zeros and both signs, under every choice of conventions. Where the balls contradict the claim, or a line of
its derivation, it is not proved, whatever the rules say.

Without a derivation, a claim is refuted at one point (:class:`Numeric`), or both sides are enclosed at many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

from spec.language.evaluation.balls import precision
from spec.language.evaluation.dimensions import WrongSize
from spec.language.evaluation.evaluator import Evaluator
from spec.language.formula import Formula
from spec.language.proving.deciding.derivations import CheckedClaim, conventions_of
from spec.language.proving.evaluating.points import BITS, FARTHEST, Point, constants_of, contradicts, points
from spec.language.theorem import Assurance, Claim, Theorem

DIGITS = 30
"""Decimal digits to which an equality is enclosed; the balls have 77."""
DRAWS = 8
"""Points that are drawn at each choice of sizes; those that meet the hypotheses are evaluated."""
FEWEST = 5
"""Points at which a claim has to say something, for an enclosure to mean anything."""


class Numeric:
    """Judges a claim in balls."""

    def __init__(self, theorem: Theorem, formula: Formula, claim: Claim) -> None:
        self.theorem, self.formula, self.claim = theorem, formula, claim
        self.note = ""

    def witness(self, given: Mapping[str, Any], conventions: Mapping[str, str]) -> str:
        """Why the point given does not refute the claim; empty if it does.

        An equality is refuted where its sides differ, ``≤`` where the left side is larger, ``<`` where it is not smaller.

        Raises:
            ValueError: the point is none of the theorem's.
        """
        with precision(BITS):
            point = Point(self.theorem, self.formula, conventions, given)
            for at, left, right in point.sides(self.claim, point.judging()):
                if (left - right).is_finite() and contradicts(self.claim.relation, left, right):
                    place = ", ".join(f"{s} = {k}" for (s, _), k in zip(self.claim.over, at, strict=True))
                    self.note = f"{f'at {place}: ' if place else ''}{_digits(left)} against {_digits(right)}"
                    return ""
        asked = {
            "=": "the two sides agree",
            "<=": "the left side is not larger",
            "<": "the left side is smaller",
        }
        return f"at the point given {asked[self.claim.relation]}, as far as the enclosures tell"

    def enclose(self, conventions: Mapping[str, str]) -> str:
        """Why random points speak against the claim, or too few speak of it; empty if neither."""
        beyond = [k for k in constants_of(self.theorem) if k > FARTHEST]
        if beyond:
            return f"an enclosure draws no sizes past {beyond[0]}, which the theorem speaks of"
        seen = 0
        with precision(BITS):
            for point, evaluator in points(self.theorem, self.formula, conventions, DRAWS):
                found = list(point.sides(self.claim, evaluator))
                seen += bool(found)
                for at, left, right in found:
                    gap = right - left
                    close = abs(gap) < flint.arb(10) ** -DIGITS * (1 + abs(left))
                    if not {"=": close, "<=": close or gap >= 0, "<": gap > 0}[self.claim.relation]:
                        return f"at a random point, index {at}: {_digits(left)} against {_digits(right)}"
        if seen < FEWEST:
            return f"an enclosure needs points where something is claimed: there are {seen} of them"
        self.note = f"enclosed to {DIGITS} digits at {seen} random points"
        return ""


def _digits(ball: Any) -> str:
    return str(float(ball.mid()))[:12]


POINTS = 24
"""Points at which a theorem is evaluated, over all choices of conventions together; at least three for each."""
ENTRIES = 800
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


def guarded(
    theorem: Theorem, formula: Formula, checked: tuple[CheckedClaim, ...] = ()
) -> tuple[Guarded, ...]:
    """Every claim of a theorem evaluated, and the lines of its derivation where they are given."""
    checked = checked or tuple(CheckedClaim(claim, Assurance.TESTED) for claim in theorem.claims)
    found = [Guarded() for _ in theorem.claims]
    choices = list(conventions_of(theorem, formula))
    each, share = max(LEAST, POINTS // len(choices)), ENTRIES // len(choices)
    with precision(BITS):
        for conventions in choices:
            entries = 0
            for count, (point, evaluator) in enumerate(points(theorem, formula, conventions, TURNS, 1), 1):
                for place, claim in enumerate(checked):
                    if not found[place].violation:
                        found[place] = _seen(found[place], point, evaluator, claim)
                entries += sum(np.size(value) for value in point.given.values())
                if count == each or (count >= LEAST and entries > share):
                    break
    return tuple(found)


def _seen(before: Guarded, point: Point, evaluator: Evaluator, checked: CheckedClaim) -> Guarded:
    """What one point adds."""
    claim = checked.claim
    entries, violation, missing = _compared(
        point, evaluator, checked, (claim.left, claim.right), (claim.relation,)
    )
    if missing or violation:
        return replace(before, violation=violation, missing=missing)
    steps = checked.steps
    if len(steps) > 1:
        lines = (claim.left, *(step.right for step in steps))
        _, violation, _ = _compared(point, evaluator, checked, lines, tuple(step.relation for step in steps))
    return replace(before, points=before.points + bool(entries), violation=violation)


def _compared(
    point: Point,
    evaluator: Evaluator,
    checked: CheckedClaim,
    lines: tuple[Any, ...],
    relations: tuple[str, ...],
) -> tuple[int, str, str]:
    """Entries at which lines, each against the next, say something; what contradicts them; what could not be evaluated."""
    entries = 0
    try:
        for at, values in point.along(checked.claim, lines, evaluator):
            for place, relation in enumerate(relations):
                left, right = values[place : place + 2]
                if not (left - right).is_finite():  # undefined there, or not decided by the precision
                    continue
                entries += 1
                if contradicts(relation, left, right):
                    sizes = ", ".join(f"{s} = {k}" for s, k in evaluator.sizes.items())
                    which = f" in step {place + 1}" if len(relations) > 1 else ""
                    numbers = f"{float(left.mid()):.9g} against {float(right.mid()):.9g}"
                    return entries, f"evaluation contradicts it{which}: {numbers} at {at}, where {sizes}", ""
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
        return entries, "", " ".join(f"{type(error).__name__}: {error}".split())
    return entries, "", ""
