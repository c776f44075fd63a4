"""What is to be shown, and what is known meanwhile: claims with the indices that are fixed around them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from spec.language.binders import AnyOf
from spec.language.cited import Cited
from spec.language.expr import TRUE, Compare, Node, Not, lift
from spec.language.formula import Formula
from spec.language.theorem import Claim, Proof, Theorem

Range = tuple[sympy.Symbol, sympy.Expr, sympy.Expr]
"""An index, its first and its last value."""


@dataclass(frozen=True)
class Given:
    """What is known for all values of some indices in their ranges: a claim, or an assumption of the theorem."""

    claim: Claim
    ranges: tuple[Range, ...]
    assumed: bool = False


@dataclass(frozen=True)
class Goal:
    """A claim to be shown: the theorem it belongs to, the indices fixed around it with their ranges, what is known there.

    ``checked`` keeps the inductions that were checked for the same theorem: several claims may rest on one.
    """

    theorem: Theorem
    formula: Formula
    claim: Claim
    outer: tuple[Range, ...] = ()
    known: tuple[Given, ...] = ()
    kept: frozenset[str] = frozenset()
    cited: tuple[Cited, ...] = ()
    checked: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Every index with its range, the outer ones first."""
        return (*self.outer, *((s, sympy.S.Zero, size - 1) for s, size in self.claim.over))

    def knowing(self, *more: Given) -> Goal:
        """The same goal where more is known."""
        return replace(self, known=(*self.known, *more))

    def proved_by(self, proof: Proof) -> Goal:
        """The same goal, with what its proof keeps and cites."""
        return replace(self, kept=self.kept | proof.kept, cited=(*self.cited, *proof.cited))


def for_all(assumption: Node) -> Given | None:
    """An assumption "for every index in a range, x ≤ y" (or <), as what it says of each; over several indices, too."""
    ranges, held = [], assumption
    while isinstance(held, Not) and isinstance(some := held.args[0], AnyOf) and some.where == TRUE:
        ranges.append((some.var, some.first, some.last))
        held = some.body.args[0] if isinstance(some.body, Not) else Not(some.body)
    if not ranges or not isinstance(held, Compare) or str(held.args[0]) == "==":
        return None
    relation, left, right = held.args
    claim = Claim(lift(left), lift(right), (), TRUE, str(relation))
    return Given(claim, tuple(ranges), assumed=True)
