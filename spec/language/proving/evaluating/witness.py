"""Claims judged in numbers: a claim refuted at one point, or both sides enclosed at many points, in FLINT's rigorous balls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint

from spec.language.evaluation.balls import precision
from spec.language.formula import Formula
from spec.language.proving.evaluating.points import BITS, FARTHEST, Point, constants_of, contradicts, points
from spec.language.theorem import Claim, Theorem

DIGITS = 30
"""Decimal digits to which an equality is enclosed; the balls have 77."""
TURNS = 8
"""Points that are drawn at each choice of sizes; those that meet the hypotheses are evaluated."""
LEAST = 5
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
            for point, evaluator in points(self.theorem, self.formula, conventions, TURNS):
                found = list(point.sides(self.claim, evaluator))
                seen += bool(found)
                for at, left, right in found:
                    gap = right - left
                    close = abs(gap) < flint.arb(10) ** -DIGITS * (1 + abs(left))
                    if not {"=": close, "<=": close or gap >= 0, "<": gap > 0}[self.claim.relation]:
                        return f"at a random point, index {at}: {_digits(left)} against {_digits(right)}"
        if seen < LEAST:
            return f"an enclosure needs points where something is claimed: there are {seen} of them"
        self.note = f"enclosed to {DIGITS} digits at {seen} random points"
        return ""


def _digits(ball: Any) -> str:
    return str(float(ball.mid()))[:12]
