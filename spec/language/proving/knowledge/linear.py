"""Linear reasoning over integers: does ``e ≥ 0`` follow from other inequalities?

Inequalities are polynomials with integer values; their monomials (``n``, ``i``, ``h·d_v``) are the unknowns. The negation
``-e - 1 ≥ 0`` is added and unknowns are eliminated one after the other: those that an equation gives first, then as Fourier and
Motzkin do; constants are rounded down to the next integer after dividing by the common factor of the coefficients. A
contradiction is written down as a certificate, and counts only if :mod:`spec.language.proving.knowledge.certificates` finds it
right; finding none proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from spec.language.proving.knowledge.certificates import Certificate, Form, refutes
from spec.language.proving.terms.polynomials import UNIT, Poly

LIMIT = 400
"""How many inequalities an elimination may produce before it is given up."""

Terms = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """An inequality: one that is given, or ``a`` times one plus ``b`` times another."""

    terms: Terms
    constant: int
    made: tuple[int, Line, int, Line] | None = None


@lru_cache(maxsize=1 << 14)
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
    """Whether no integers satisfy the inequalities, as far as elimination can tell and its certificate shows."""
    return _decide(tuple(forms))


@lru_cache(maxsize=1 << 14)
def _decide(forms: tuple[Form, ...]) -> bool:
    return _contradictory(_number_unknowns(forms))


@lru_cache(maxsize=1 << 14)
def _contradictory(forms: tuple[Form, ...]) -> bool:
    found = contradiction(forms)
    return found is not None and refutes(found, forms)


def _number_unknowns(forms: Iterable[Form]) -> tuple[Form, ...]:
    """The inequalities with their unknowns numbered as they are met, different ones differently.

    Most questions come again, in a later step or under another convention, about indices that have other names there.
    """
    names: dict[str, str] = {}
    return tuple(
        (tuple(sorted([(names.setdefault(k, str(len(names))), c) for k, c in terms])), constant)
        for terms, constant in forms
    )


def contradiction(forms: Iterable[Form]) -> Certificate | None:
    """A certificate that no integers satisfy the inequalities; None where elimination finds none."""
    current = _strongest(Line(terms, constant) for terms, constant in forms)
    while True:
        for line in current:
            if not line.terms and line.constant < 0:
                return _certificate(line)
        current = [line for line in current if line.terms]
        equation = _equation(current)
        if equation is not None:
            current = _strongest(_substituted(current, *equation))
            continue
        unknown = _cheapest(current)
        if unknown is None:
            return None
        below: list[Line] = []
        above: list[Line] = []
        rest: list[Line] = []
        for line in current:
            c = dict(line.terms).get(unknown, 0)
            (below if c > 0 else above if c < 0 else rest).append(line)
        if len(below) * len(above) + len(rest) > LIMIT:
            return None
        pairs = (_combine(low, high, unknown) for low in below for high in above)
        current = _strongest([*rest, *pairs])


def _equation(lines: Sequence[Line]) -> tuple[str, Line, Line] | None:
    """An unknown that two inequalities say is equal to whole multiples of others, where it stands by itself and negated."""
    found = {line.terms: line for line in lines}
    for line in lines:
        other = found.get(tuple((k, -c) for k, c in line.terms))
        if other is not None and other.constant == -line.constant:
            for k, c in line.terms:
                if abs(c) == 1:
                    return (k, line, other) if c > 0 else (k, other, line)
    return None


def _substituted(lines: Sequence[Line], unknown: str, low: Line, high: Line) -> Iterable[Line]:
    """The inequalities with the unknown replaced by what it is equal to; nothing is lost by that, for integers either."""
    for line in lines:
        c = dict(line.terms).get(unknown, 0)
        if c == 0:
            yield line
        elif line not in (low, high):
            yield _combine(line, high, unknown) if c > 0 else _combine(low, line, unknown)


def _combine(low: Line, high: Line, unknown: str) -> Line:
    a, b = dict(low.terms)[unknown], -dict(high.terms)[unknown]
    terms: dict[str, int] = {}
    for line, factor in ((low, b), (high, a)):
        for k, c in line.terms:
            terms[k] = terms.get(k, 0) + factor * c
    return Line(*_tight(terms, b * low.constant + a * high.constant), (b, low, a, high))


def _certificate(last: Line) -> Certificate:
    """The lines that one rests on, those given first."""
    given: dict[Line, int] = {}
    made: dict[Line, int] = {}

    def visit(line: Line) -> None:
        if line in given or line in made:
            return
        if line.made is None:
            given[line] = len(given)
            return
        visit(line.made[1])
        visit(line.made[3])
        made[line] = len(made)

    visit(last)
    place = given | {line: len(given) + k for line, k in made.items()}
    lines = tuple(
        (a, place[low], b, place[high]) for a, low, b, high in (line.made for line in made if line.made)
    )
    return Certificate(tuple((line.terms, line.constant) for line in given), lines)


def _strongest(lines: Iterable[Line]) -> list[Line]:
    least: dict[Terms, Line] = {}
    for line in lines:
        if line.terms not in least or line.constant < least[line.terms].constant:
            least[line.terms] = line
    return list(least.values())


def _cheapest(lines: Sequence[Line]) -> str | None:
    counts: dict[str, list[int]] = {}
    for line in lines:
        for k, c in line.terms:
            counts.setdefault(k, [0, 0])[0 if c > 0 else 1] += 1
    if not counts:
        return None
    return min(counts, key=lambda k: (counts[k][0] * counts[k][1] - sum(counts[k]), k))


def follows(facts: tuple[Form, ...], goal: Form) -> bool:
    """Whether the goal follows from the facts."""
    terms, constant = goal
    if not terms:
        return constant >= 0
    negated = (tuple((k, -c) for k, c in terms), -constant - 1)
    return contradictory([*_select_connected(facts, {k for k, _ in terms}), negated])


def _select_connected(facts: Iterable[Form], unknowns: set[str]) -> list[Form]:
    """The facts about these unknowns, and about those that come with them; in the order in which they are met."""
    pending, kept = [(_unknowns(f[0]), f) for f in facts], []
    grown = True
    while grown:
        grown, later = False, []
        for names, f in pending:
            if names and names.isdisjoint(unknowns):
                later.append((names, f))
                continue
            kept.append(f)
            if not names <= unknowns:
                grown = True
                unknowns |= names
        pending = later
    return kept


@lru_cache(maxsize=1 << 12)
def _unknowns(terms: Terms) -> frozenset[str]:
    return frozenset([k for k, _ in terms])
