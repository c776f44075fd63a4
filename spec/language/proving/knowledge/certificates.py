"""Certificates of linear reasoning: what a search has found, in lines that are checked by adding them up.

Each line is a sum of two earlier ones with positive factors, divided by what its coefficients have in common and its constant
rounded down (integers only are meant); the last one says that a negative number is at least 0. How the lines were found does
not matter: :func:`refutes` alone decides that the inequalities contradict one another, and shares nothing with the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

Form: TypeAlias = tuple[tuple[tuple[str, int], ...], int]
"""Coefficients of unknowns, sorted, and a constant: the inequality Σ coefficient·unknown + constant ≥ 0."""


@dataclass(frozen=True)
class Certificate:
    """The inequalities that it starts from, and its lines: ``(a, i, b, j)`` is a times line i plus b times line j."""

    given: tuple[Form, ...]
    lines: tuple[tuple[int, int, int, int], ...] = ()


def refutes(certificate: Certificate, facts: Iterable[Form]) -> bool:
    """Whether a certificate shows that no integers satisfy the facts."""
    if not certificate.given or not set(certificate.given) <= set(facts):
        return False
    known = [(dict(terms), constant) for terms, constant in certificate.given]
    for a, i, b, j in certificate.lines:
        if a < 1 or b < 1 or not 0 <= i < len(known) or not 0 <= j < len(known):
            return False
        terms: Counter[str] = Counter()
        for factor, line in ((a, i), (b, j)):
            for unknown, coefficient in known[line][0].items():
                terms[unknown] += factor * coefficient
        left = {unknown: coefficient for unknown, coefficient in terms.items() if coefficient}
        constant, common = a * known[i][1] + b * known[j][1], gcd(*left.values()) or 1
        known.append(({unknown: c // common for unknown, c in left.items()}, constant // common))
    terms_left, constant = known[-1]
    return not terms_left and constant < 0
