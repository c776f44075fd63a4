"""Probability laws: a formula whose lines give the distribution of what an implementation draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from spec.language.arrays import Tensor
from spec.language.expr import Node, eq
from spec.language.trees import substitute


@dataclass(frozen=True)
class Axiom:
    """A condition that every result satisfies, for every index of ``over`` (a law's own ``over`` where it is empty)."""

    name: str
    sentence: str
    condition: Node
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...] = ()


@dataclass(frozen=True)
class Together:
    """Positions that are selected just where the one before them is, as the pieces of a word are.

    ``joins`` is a tensor of conditions that a line defines from the inputs: True where a position goes with the one before it,
    so False at the first. ``group`` and ``member`` are words for what they make up: a word, a piece.
    """

    joins: Tensor
    group: str
    member: str


@dataclass(frozen=True)
class Law:
    """The distribution of an implementation's results.

    An implementation returns ``returns``; at each index of ``over`` its ``outcome`` (a tuple of values) has the
    probability ``probability[index, outcome]``; where these probabilities sum to 0, only the axioms say what is returned.

    The positions are independent. A law that *selects* positions (the last component of the outcome is 1 where it did)
    may have other options: it names a ``count``, and a ``convention`` under whose options ``independent`` the positions
    are independent, while under the others exactly ``count`` of them are selected. Or some are selected ``together`` with the
    one before: the others are independent, and so is what becomes of each selected one.
    """

    probability: Tensor
    returns: tuple[Tensor, ...]
    outcome: tuple[Node, ...]
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...]
    count: Tensor | None = None
    independent: frozenset[str] | set[str] = frozenset()
    convention: str | None = None
    axioms: tuple[Axiom, ...] = ()
    together: Together | None = None

    @property
    def requirements(self) -> tuple[Axiom, ...]:
        """What every single draw satisfies: the axioms, and that what goes together is selected together."""
        if self.together is None:
            return self.axioms
        ((index, _),), chosen = self.over, self.outcome[-1]
        name, group, member = self.together.joins.name, self.together.group, self.together.member
        whole = Axiom(
            f"{group}s are selected whole",
            f"the {member}s of a {group} are selected together: where {name} holds, as the position before",
            ~self.together.joins[index] | eq(chosen, substitute(chosen, {index: index - 1})),
        )
        return (*self.axioms, whole)

    @property
    def selects(self) -> bool:
        """Whether the law selects some of the positions; otherwise every position has an outcome of its own."""
        return self.count is not None or self.together is not None

    def selects_freely(self, conventions: Mapping[str, str]) -> bool:
        """Whether what is selected is not counted, under the conventions chosen."""
        return self.count is None or conventions[self.convention or ""] in self.independent
