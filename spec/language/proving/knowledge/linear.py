"""Linear reasoning over integers: does ``e ≥ 0`` follow from other inequalities?

Inequalities are polynomials with integer values; their monomials (``n``, ``i``, ``h·d_v``) are the unknowns. The negation
``-e - 1 ≥ 0`` is added and unknowns are eliminated one after the other (Fourier and Motzkin), constants rounded down to the
next integer after dividing by the common factor of the coefficients. A contradiction proves the inequality; finding none
proves nothing. The method is sound and, for the few inequalities around an index, fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd

from spec.language.proving.terms.polynomials import UNIT, Poly

Form = tuple[tuple[tuple[str, int], ...], int]
"""Coefficients of unknowns, sorted, and a constant: the inequality Σ coefficient·unknown + constant ≥ 0."""

LIMIT = 400
"""How many inequalities an elimination may produce before it is given up."""


def form(poly: Poly) -> Form | None:
    """The inequality ``poly ≥ 0`` as a form; None when a coefficient is no integer."""
    terms: dict[str, int] = {}
    constant = 0
    for mono, c in poly.terms.items():
        if c.denominator != 1:
            return None
        if mono == UNIT:
            constant = int(c)
        else:
            terms[mono.key] = int(c)
    return _tight(terms, constant)


def _tight(terms: dict[str, int], constant: int) -> Form:
    kept = {k: c for k, c in terms.items() if c}
    divisor = gcd(*kept.values()) if kept else 1
    return tuple(sorted((k, c // divisor) for k, c in kept.items())), constant // divisor


def contradictory(forms: Iterable[Form]) -> bool:
    """Whether no integers satisfy the inequalities, as far as elimination can tell."""
    current = _strongest(forms)
    while True:
        if any(not terms and constant < 0 for terms, constant in current):
            return True
        current = [f for f in current if f[0]]
        unknown = _cheapest(current)
        if unknown is None:
            return False
        below: list[Form] = []
        above: list[Form] = []
        rest: list[Form] = []
        for f in current:
            c = dict(f[0]).get(unknown, 0)
            (below if c > 0 else above if c < 0 else rest).append(f)
        if len(below) * len(above) + len(rest) > LIMIT:
            return False
        pairs = (_combined(low, high, unknown) for low in below for high in above)
        current = _strongest([*rest, *pairs])


def _combined(low: Form, high: Form, unknown: str) -> Form:
    a, b = dict(low[0])[unknown], -dict(high[0])[unknown]
    terms: dict[str, int] = {}
    for (pairs, _), factor in ((low, b), (high, a)):
        for k, c in pairs:
            terms[k] = terms.get(k, 0) + factor * c
    return _tight(terms, b * low[1] + a * high[1])


def _strongest(forms: Iterable[Form]) -> list[Form]:
    least: dict[tuple[tuple[str, int], ...], int] = {}
    for terms, constant in forms:
        least[terms] = min(constant, least.get(terms, constant))
    return list(least.items())


def _cheapest(forms: Sequence[Form]) -> str | None:
    counts: dict[str, list[int]] = {}
    for terms, _ in forms:
        for k, c in terms:
            counts.setdefault(k, [0, 0])[0 if c > 0 else 1] += 1
    if not counts:
        return None
    return min(counts, key=lambda k: (counts[k][0] * counts[k][1] - sum(counts[k]), k))


@lru_cache(maxsize=1 << 16)
def follows(facts: tuple[Form, ...], goal: Form) -> bool:
    """Whether the goal follows from the facts. Most questions come again: in a later step, under another convention."""
    terms, constant = goal
    if not terms:
        return constant >= 0
    negated = (tuple((k, -c) for k, c in terms), -constant - 1)
    return contradictory([*_connected(facts, {k for k, _ in terms}), negated])


def _connected(facts: Iterable[Form], unknowns: set[str]) -> list[Form]:
    pending, kept = list(facts), []
    grown = True
    while grown:
        grown, later = False, []
        for f in pending:
            names = {k for k, _ in f[0]}
            if not names or names & unknowns:
                kept.append(f)
                grown |= not names <= unknowns
                unknowns |= names
            else:
                later.append(f)
        pending = later
    return kept
