"""Theorems: claims about formulas, written once; proved, guarded by the oracle, and run on every implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import sympy

from spec.language.expr import TRUE, Node, Tensor, lift


class Assurance(IntEnum):
    """How sure a claim is; never rounded up."""

    REFUSED = 0
    TESTED = 1
    ENCLOSED = 2
    PROVED_AT_SIZES = 3
    PROVED = 4

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Claim:
    """``left = right`` (or ``≤``) for all indices in ``over`` at which ``where`` holds."""

    left: Node
    right: Node
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...] = ()
    where: Node = TRUE
    relation: str = "="


def claim(left: Any, relation: str, right: Any, *over: tuple[sympy.Symbol, Any], where: Node = TRUE) -> Claim:
    """``claim(lhs, "=", rhs, (i, n), where=…)``; the relation is ``=`` or ``<=``."""
    if relation not in ("=", "<="):
        raise ValueError(f"a claim relates its sides by = or <=; {relation!r} was given")
    return Claim(lift(left), lift(right), tuple((s, sympy.sympify(n)) for s, n in over), where, relation)


@dataclass(frozen=True)
class Step:
    """One step of a derivation: the next expression, and why it equals (or bounds) the one before."""

    to: Node
    why: str


@dataclass(frozen=True)
class Proof:
    """How a claim is proved: ``steps`` lead from its left side to its right.

    ``at_sizes`` restricts the proof to listed sizes; ``method`` is ``derivation`` (the steps, each checked by rewriting),
    ``witness`` (an inequality exhibited by balls at one point), or ``enclosure`` (balls at random points).
    """

    steps: tuple[Step, ...] = ()
    method: str = "derivation"
    at_sizes: tuple[Mapping[sympy.Symbol, int], ...] = ()


@dataclass(frozen=True)
class Theorem:
    """A statement about a formula.

    Attributes:
        name: the theorem's own name; the formula's ID and this name together identify it.
        title: the theorem as a sentence.
        claims: what is asserted.
        given: further universally quantified tensors (``domain`` may be ``permutation``; scalars have shape ()).
        sizes: sizes that the theorem replaces, such as ``{d: 2*half}`` for an even d.
        assuming: conditions on sizes and given tensors under which it holds.
        at: inputs fixed to a value, such as ``{eps: 0}``.
        conventions: the conventions under which it is stated (defaults otherwise).
        runs: whether it can be run on an implementation as a property (``at`` may make that impossible).
        exists: an existential claim: some inputs satisfy the negation of the equality (shown by a witness).
        proof: one proof for each claim.
    """

    name: str
    title: str
    claims: tuple[Claim, ...]
    given: tuple[Tensor, ...] = ()
    sizes: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)
    assuming: tuple[Node, ...] = ()
    at: Mapping[Tensor, Any] = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=dict)
    runs: bool = True
    exists: bool = False
    proofs: tuple[Proof, ...] = ()


def given(name: str, *shape: Any, domain: str = "real", below: Any = 0) -> Tensor:
    """A further universally quantified tensor of a theorem."""
    return Tensor(name, shape, domain, "given", below)
