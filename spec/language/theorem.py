"""Theorems: claims about formulas, written once; proved, guarded by the oracle, and run on every implementation.

A proof stands beside its claim: ``claim(lhs, "=", rhs).step(…, "reason").because("reason")``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Self

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.calls import Applied, Call, argument
from spec.language.expr import TRUE, Node, lift
from spec.language.known import Stated, get_formula
from spec.language.symbols import Letter, span
from spec.language.trees import free_symbols, walk


@dataclass(frozen=True)
class Cited:
    """A theorem of a formula, used where the formula is applied to arguments.

    ``given`` says by name what it is given there, and what the sizes are that it writes others by.
    """

    name: str
    call: Call
    given: tuple[tuple[str, Basic], ...] = ()

    @property
    def formula(self) -> Any:
        """The formula that it is a theorem of."""
        return get_formula(self.call.formula_id)

    @property
    def theorem(self) -> Any:
        """The theorem."""
        return self.formula.theorems[self.name]

    def __str__(self) -> str:
        return f"{self.call.formula_id}, {self.name}"


def cite(name: str, applied: Applied, given: Mapping[str, Any]) -> Cited:
    """The theorem of this name about a formula, at the arguments that the formula is applied to.

    Raises:
        LookupError: the formula has no theorem of this name so far, or it is given something else.
    """
    call = applied.entry(())
    theorems = get_formula(call.formula_id).theorems
    if name not in theorems:
        raise LookupError(f"{call.formula_id} has no theorem {name!r} that could be cited")
    sizes = set().union(*(free_symbols(size) for size in theorems[name].sizes.values()))
    wanted = [*(tensor.name for tensor in theorems[name].given), *sorted(size.name for size in sizes)]
    if sorted(wanted) != sorted(given):
        listed = ", ".join(wanted), ", ".join(given)
        raise LookupError(
            f"{call.formula_id}, {name} is given ({listed[0]}); it was cited with ({listed[1]})"
        )
    return Cited(name, call, tuple((one, argument(given[one])) for one in wanted))


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
class Step:
    """One step of a derivation: the next expression, and why the one before equals it (or is at most it).

    For ``<=``, ``gap`` is the next expression minus the one before, written so that it is visibly at least 0; for ``<`` above it.
    """

    to: Node
    why: str
    relation: str = "="
    gap: Node | None = None


class Argued:
    """What is argued for step by step: a proof, or a claim with the proof that it has so far."""

    def argument(self) -> Proof:
        """The proof so far."""
        raise NotImplementedError

    def proved(self, proof: Proof) -> Any:
        """The same with this proof."""
        raise NotImplementedError

    def _with(self, **changes: Any) -> Self:
        return self.proved(replace(self.argument(), **changes))

    def step(self, to: Any, why: str) -> Self:
        """The expression before equals ``to``."""
        return self._with(steps=(*self.argument().steps, Step(lift(to), why)))

    def at_most(self, to: Any, why: str, gap: Any = None) -> Self:
        """The expression before is at most ``to``, since ``to`` minus it is ``gap``, a sum of terms that are at least 0."""
        return self._with(steps=(*self.argument().steps, Step(lift(to), why, "<=", _lift_gap(gap))))

    def below(self, to: Any, why: str, gap: Any = None) -> Self:
        """The expression before is less than ``to``; as :meth:`at_most`, with a positive ``gap``."""
        return self._with(steps=(*self.argument().steps, Step(lift(to), why, "<", _lift_gap(gap))))

    def because(self, why: str, gap: Any = None) -> Self:
        """What the last step, to the claim's right side, rests on; ``gap`` as in :meth:`at_most`."""
        return self._with(why=why, gap=_lift_gap(gap))

    def by_definition(self, why: str, gap: Any = None) -> Self:
        """The claim follows from the definition alone: there is no line between its sides."""
        return self._with(why=why, gap=_lift_gap(gap), definition=True)

    def by_induction(
        self,
        over: sympy.Symbol,
        *claims: Claim,
        last: Any = 0,
        first: Any = 0,
        base: Proof | tuple[Proof, ...] = (),
        step: Proof | tuple[Proof, ...] = (),
    ) -> Self:
        """Claims shown first, by induction over an index from ``first`` to ``last``; without claims, the claim at hand.

        ``base`` and ``step`` prove them at the first value, and at the next (each begun with :func:`derive`).
        """
        base, step = ((part,) if isinstance(part, Proof) else part for part in (base, step))
        shown = Induction(over, sympy.sympify(first), sympy.sympify(last), claims, base, step)
        return self._with(induction=shown)

    def keeping(self, *formulas: Stated) -> Self:
        """These formulas are not looked into: of them it is used only that equal inputs give equal outputs."""
        for formula in formulas:
            if not hasattr(formula, "id"):
                raise ValueError(f"keeping takes formulas; {formula!r} is none")
        return self._with(kept=self.argument().kept | {formula.id for formula in formulas})

    def citing(self, name: str, applied: Applied, **given: Any) -> Self:
        """A theorem of the formula applied is used at these arguments, and at what it is ``given`` by name.

        Raises:
            LookupError: the formula has no theorem of this name so far, or it is given something else.
        """
        used = cite(name, applied, given)
        shown = self.argument()
        return self._with(cited=(*shown.cited, used), kept=shown.kept | {used.call.formula_id})

    def by_witness(self, **point: Any) -> Self:
        """The sides differ at this point: sizes and inputs by name."""
        return self._with(method="witness", point=point)

    def by_enclosure(self) -> Self:
        """Both sides are enclosed at random points; nothing more is shown."""
        return self._with(method="enclosure")

    def only_at(self, *sizes: Mapping[sympy.Symbol, int]) -> Self:
        """The derivation is checked at these sizes only."""
        return self._with(sizes=sizes)


@dataclass(frozen=True)
class Proof(Argued):
    """How a claim is proved: ``steps`` lead from its left side to its right, which may be left out as the last step.

    Attributes:
        steps: the chain of expressions, each equal to (or at least) the one before.
        method: ``derivation`` (each step checked by rewriting), ``witness`` (an inequality exhibited by balls at one point),
            or ``enclosure`` (both sides enclosed by balls at random points, to 30 digits).
        why: what the last step to the right side rests on.
        gap: for a claim ``<=``, the right side minus the last step, visibly at least 0.
        sizes: restricts a derivation to listed sizes.
        induction: what is shown by induction first, and then known in every step; see :class:`Induction`.
        point: for a witness, sizes and inputs by name.
        definition: whether the claim follows from the definition alone, so that there is no line between its sides.
        kept: formulas, by ID, that are not looked into: of them it is used only that equal inputs give equal outputs. Where one
            is not known to be defined at all of its indices, those that no theorem is cited of are looked into after all.
        cited: theorems that are used; the formulas that they are about are kept.
    """

    steps: tuple[Step, ...] = ()
    method: str = "derivation"
    why: str = ""
    gap: Node | None = None
    sizes: tuple[Mapping[sympy.Symbol, int], ...] = field(default=(), hash=False)
    induction: Induction | None = None
    point: Mapping[str, Any] = field(default_factory=dict, hash=False)
    definition: bool = False
    kept: frozenset[str] = frozenset()
    cited: tuple[Cited, ...] = ()

    def argument(self) -> Proof:
        """This."""
        return self

    def proved(self, proof: Proof) -> Proof:
        """The proof that this has become."""
        return proof

    @property
    def parts(self) -> tuple[Proof, ...]:
        """The proof itself, then those in its inductions."""
        shown = self.induction
        inner = () if shown is None else (*shown.base, *shown.step, *(one.proof for one in shown.claims))
        return (self, *(part for proof in inner for part in proof.parts))

    @property
    def every_cited(self) -> tuple[Cited, ...]:
        """All theorems used, those in its inductions included."""
        return tuple(cited for part in self.parts for cited in part.cited)

    @property
    def every_kept(self) -> frozenset[str]:
        """All formulas, by ID, that are not looked into, those of its inductions included."""
        return frozenset().union(*(part.kept for part in self.parts))


def derive() -> Proof:
    """An empty derivation, to be continued: the base or the step of an induction."""
    return Proof()


def _lift_gap(gap: Any) -> Node | None:
    return None if gap is None else lift(gap)


@dataclass(frozen=True)
class Claim(Argued):
    """``left = right`` (or ``≤``, or ``<``) for all indices in ``over`` at which ``where`` holds, and how it is proved.

    ``inferred`` says that nobody named the indices: they are those that occur free, each over its own range.
    """

    left: Node
    right: Node
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...] = ()
    where: Node = TRUE
    relation: str = "="
    proof: Proof = field(default_factory=Proof, compare=False)
    inferred: bool = field(default=False, compare=False)

    def argument(self) -> Proof:
        """How it is proved so far."""
        return self.proof

    def proved(self, proof: Proof) -> Claim:
        """The same claim with this proof."""
        return replace(self, proof=proof)


def claim(left: Any, relation: str, right: Any, *over: Any, where: Any = TRUE) -> Claim:
    """``claim(lhs, "=", rhs, where=…)``: for every index that occurs free, each over its own range.

    Where indices are named, ``claim(lhs, "=", rhs, (t, T - 1), c)``, they are all that it is claimed for. The relation is
    ``=``, ``<=`` or ``<``.

    Raises:
        ValueError: another relation, or a range that does not begin at 0.
    """
    if relation not in ("=", "<=", "<"):
        raise ValueError(f"a claim relates its sides by =, <= or <; {relation!r} was given")
    left, right, where = lift(left), lift(right), lift(where)
    if not over:
        free = _free_letters((left, right, where))
        return Claim(left, right, tuple((s, s.size) for s in free), where, relation, inferred=True)
    pairs = []
    for symbol, first, last in map(span, over):
        if first != 0:
            raise ValueError(
                f"the indices of a claim begin at 0; {symbol} was given the range {first} … {last}"
            )
        pairs.append((symbol, last + 1))
    return Claim(left, right, tuple(pairs), where, relation)


def _free_letters(nodes: Iterable[Node]) -> list[Letter]:
    """The indices with a size that occur free, in order of appearance."""
    found: dict[Letter, None] = {}
    for node in nodes:
        free = free_symbols(node)
        for part in walk(node):
            if isinstance(part, Letter) and part.size is not None and part in free:
                found.setdefault(part)
    return list(found)


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


def drop_fixed_indices(claim: Claim, around: frozenset[sympy.Symbol] = frozenset()) -> Claim:
    """The claim, and those that its proof shows by induction, without the indices that are fixed ``around`` them."""
    over = tuple(pair for pair in claim.over if pair[0] not in around) if claim.inferred else claim.over
    return replace(
        claim, over=over, proof=_drop_in_proof(claim.proof, around | {symbol for symbol, _ in over})
    )


def _drop_in_proof(proof: Proof, around: frozenset[sympy.Symbol]) -> Proof:
    shown = proof.induction
    if shown is None:
        return proof
    around = around | {shown.over}
    claims = tuple(drop_fixed_indices(one, around) for one in shown.claims)
    base, step = (tuple(_drop_in_proof(one, around) for one in part) for part in (shown.base, shown.step))
    return replace(proof, induction=replace(shown, claims=claims, base=base, step=step))


@dataclass(frozen=True)
class Theorem:
    """A statement about a formula.

    It is stated for every choice of the formula's conventions that ``conventions`` leaves open.

    Attributes:
        name: the theorem's own name; the formula's ID and this name together identify it.
        title: the theorem as a sentence.
        claims: what is asserted, each claim with its proof.
        given: further universally quantified tensors (``domain`` may be ``permutation``; scalars have shape ()).
        sizes: sizes that the theorem replaces, such as ``{d: 2*half}`` for an even d.
        assuming: conditions on sizes, inputs and given tensors under which it holds.
        at: inputs fixed to a value, such as ``{eps: 0}``.
        conventions: the conventions under which it is stated; it is proved for every choice of the others.
        runs: whether it can be run on an implementation as a property (``at`` may make that impossible).
        exists: an existential claim: some inputs satisfy the negation of the equality (shown by a witness).
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

    @property
    def cited(self) -> tuple[Cited, ...]:
        """The theorems that its proofs use, each once, wherever it is used."""
        return tuple({str(one): one for claim in self.claims for one in claim.proof.every_cited}.values())

    @property
    def kept(self) -> tuple[str, ...]:
        """The formulas, by ID, that a proof of its keeps whole and of which none cites a theorem."""
        every = frozenset().union(*(claim.proof.every_kept for claim in self.claims))
        return tuple(sorted(every - {one.call.formula_id for one in self.cited}))


def given(name: str, *shape: Any, domain: str = "real", below: Any = 0) -> Tensor:
    """A further universally quantified tensor of a theorem."""
    return Tensor(name, shape, domain, "given", below)
