"""Theorems: claims about formulas, written once; proved, guarded by the oracle, and run on every implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import sympy

from spec.language.expr import TRUE, Node, Tensor, lift


class Expectation(Node):
    """The expectation of a body; ``args``: body, then the random tensors (independent entries, mean 0, variance 1)."""

    @property
    def body(self) -> Node:
        """What the expectation is of."""
        return self.args[0]

    @property
    def random(self) -> tuple[Tensor, ...]:
        """The random tensors."""
        return tuple(self.args[1:])


def expected(body: Any, *random: Tensor) -> Expectation:
    """``expected(f, q, k)``: E f when all entries of q and k are independent with mean 0 and variance 1."""
    return Expectation(lift(body), *random)


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
    """``left = right`` (or ``≤``, or ``<``) for all indices in ``over`` at which ``where`` holds."""

    left: Node
    right: Node
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...] = ()
    where: Node = TRUE
    relation: str = "="


def claim(left: Any, relation: str, right: Any, *over: tuple[sympy.Symbol, Any], where: Node = TRUE) -> Claim:
    """``claim(lhs, "=", rhs, (i, n), where=…)``; the relation is ``=``, ``<=`` or ``<``."""
    if relation not in ("=", "<=", "<"):
        raise ValueError(f"a claim relates its sides by =, <= or <; {relation!r} was given")
    return Claim(lift(left), lift(right), tuple((s, sympy.sympify(n)) for s, n in over), where, relation)


@dataclass(frozen=True)
class Step:
    """One step of a derivation: the next expression, and why the one before equals it (or is at most it).

    For ``<=``, ``gap`` is the next expression minus the one before, written so that it is visibly at least 0; for ``<`` above it.
    """

    to: Node
    why: str
    relation: str = "="
    gap: Node | None = None


def step(to: Any, why: str) -> Step:
    """The expression before equals ``to``."""
    return Step(lift(to), why)


def at_most(to: Any, why: str, gap: Any = None) -> Step:
    """The expression before is at most ``to``, since ``to`` minus it is ``gap``, a sum of terms that are at least 0."""
    return Step(lift(to), why, "<=", None if gap is None else lift(gap))


def below(to: Any, why: str, gap: Any = None) -> Step:
    """The expression before is less than ``to``; as :func:`at_most`, with a positive ``gap``."""
    return Step(lift(to), why, "<", None if gap is None else lift(gap))


@dataclass(frozen=True)
class Induction:
    """Claims shown together, by induction over an index that runs from ``first`` to ``last``.

    Each is shown at ``first``; then, for any value before the last at which all of them hold, each at the next. Without
    claims it is the claim at hand that is shown, over one of its own indices. ``base`` and ``step`` hold a proof for each
    claim; one without is proved in a single step.
    """

    over: sympy.Symbol
    first: sympy.Expr = sympy.S.Zero
    last: sympy.Expr = sympy.S.Zero
    claims: tuple[Claim, ...] = ()
    base: tuple[Proof, ...] = ()
    step: tuple[Proof, ...] = ()


def induction(
    over: sympy.Symbol,
    *claims: Claim,
    last: Any = 0,
    first: Any = 0,
    base: tuple[Proof, ...] = (),
    step: tuple[Proof, ...] = (),
) -> Induction:
    """Claims shown by induction over an index from ``first`` to ``last``; without claims, the claim at hand."""
    return Induction(over, sympy.sympify(first), sympy.sympify(last), claims, base, step)


@dataclass(frozen=True)
class Proof:
    """How a claim is proved: ``steps`` lead from its left side to its right, which may be left out as the last step.

    Attributes:
        steps: the chain of expressions, each equal to (or at least) the one before.
        method: ``derivation`` (each step checked by rewriting), ``witness`` (an inequality exhibited by balls at one point),
            or ``enclosure`` (both sides enclosed by balls at random points, to 30 digits).
        why: what the last step to the right side rests on.
        gap: for a claim ``<=``, the right side minus the last step, visibly at least 0.
        at_sizes: restricts a derivation to listed sizes.
        induction: what is shown by induction first, and then known in every step; see :class:`Induction`.
        point: for a witness, sizes and inputs by name.
    """

    steps: tuple[Step, ...] = ()
    method: str = "derivation"
    why: str = ""
    gap: Node | None = None
    at_sizes: tuple[Mapping[sympy.Symbol, int], ...] = ()
    induction: Induction | None = None
    point: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Theorem:
    """A statement about a formula.

    It is stated for every choice of the formula's conventions that ``conventions`` leaves open.

    Attributes:
        name: the theorem's own name; the formula's ID and this name together identify it.
        title: the theorem as a sentence.
        claims: what is asserted.
        given: further universally quantified tensors (``domain`` may be ``permutation``; scalars have shape ()).
        sizes: sizes that the theorem replaces, such as ``{d: 2*half}`` for an even d.
        assuming: conditions on sizes, inputs and given tensors under which it holds.
        at: inputs fixed to a value, such as ``{eps: 0}``.
        conventions: the conventions under which it is stated; it is proved for every choice of the others.
        runs: whether it can be run on an implementation as a property (``at`` may make that impossible).
        exists: an existential claim: some inputs satisfy the negation of the equality (shown by a witness).
        proofs: one proof for each claim; a claim without one is proved in a single step.
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

    def proof(self, number: int) -> Proof:
        """The proof of the claim with this number."""
        return self.proofs[number] if number < len(self.proofs) else Proof()


def given(name: str, *shape: Any, domain: str = "real", below: Any = 0) -> Tensor:
    """A further universally quantified tensor of a theorem."""
    return Tensor(name, shape, domain, "given", below)
