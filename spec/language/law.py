"""Probability laws: a formula whose lines give the distribution of what an implementation draws."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from spec.language.expr import Node, Tensor


@dataclass(frozen=True)
class Axiom:
    """A condition that every result satisfies, for every index of ``over`` (a law's own ``over`` where it is empty)."""

    name: str
    sentence: str
    condition: Node
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...] = ()


@dataclass(frozen=True)
class Law:
    """The distribution of an implementation's results.

    An implementation returns ``returns``; at each index of ``over`` its ``outcome`` (a tuple of values) has the
    probability ``probability[index, outcome]``. Under the options ``independent`` of ``convention`` the positions are
    independent; under the others ``count`` positions are selected (the last component of the outcome is 1).
    """

    probability: Tensor
    returns: tuple[Tensor, ...]
    outcome: tuple[Node, ...]
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...]
    count: Tensor
    independent: frozenset[str] | set[str]
    convention: str
    axioms: tuple[Axiom, ...] = ()
