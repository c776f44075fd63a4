"""Derivations: each step decided, what induction shows shown first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import sympy

from spec.language.arrays import Tensor
from spec.language.calls import Application
from spec.language.expr import Choice, Node
from spec.language.formula import Formula
from spec.language.proving.deciding.place import Goal, KnownFact, Place, Range
from spec.language.proving.obligations import Obligation
from spec.language.proving.rules.register import RULES, Rule
from spec.language.theorem import Assurance, Claim, Induction, Proof, Step, Theorem
from spec.language.trees import free_symbols, substitute, walk


@dataclass(frozen=True)
class CheckedStep:
    """A step of a derivation: what it leads to, the rules and obligations it took that no step before it did, and why it is
    refused, if it is.
    """

    left: Node
    relation: str
    right: Node
    why: str
    rules: tuple[Rule, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim with its checked steps, and what was shown by induction before them."""

    claim: Claim
    assurance: Assurance
    steps: tuple[CheckedStep, ...] = ()
    note: str = ""
    induction: CheckedInduction | None = None

    @property
    def refusal(self) -> str:
        """Why the claim is refused: the first refused step, by number; empty if it is not."""
        if self.induction is not None and self.induction.refusal:
            return self.induction.refusal
        for place, step in enumerate(self.steps, 1):
            if step.refusal:
                return f"step {place} of {len(self.steps)} ({step.why}): {step.refusal}"
        return self.note if self.assurance == Assurance.REFUSED else ""

    @property
    def every_step(self) -> Iterator[CheckedStep]:
        """All steps, those of inductions first."""
        if self.induction is not None:
            for part in (*self.induction.base, *self.induction.step):
                yield from part.every_step
        yield from self.steps


@dataclass(frozen=True)
class CheckedInduction:
    """An induction: its claims, each checked at the first value of the index, and from one value to the next."""

    over: Range
    claims: tuple[Claim, ...]
    base: tuple[CheckedClaim, ...] = ()
    step: tuple[CheckedClaim, ...] = ()
    note: str = ""

    @property
    def refusal(self) -> str:
        """Why it is refused; empty if it is not."""
        symbol, first, _ = self.over
        for where, parts in (
            (f"at {symbol} = {first}", self.base),
            (f"from {symbol} to {symbol} + 1", self.step),
        ):
            for place, part in enumerate(parts, 1):
                if part.refusal:
                    which = f"claim {place} " if len(parts) > 1 else ""
                    return f"induction, {which}{where}: {part.refusal}"
        return f"induction: {self.note}" if self.note else ""


def conventions_of(theorem: Theorem, formula: Formula) -> Iterator[dict[str, str]]:
    """Every choice of conventions under which a theorem is stated (rounding apart); one, where it speaks of sizes alone."""
    chosen = formula.choose(theorem.conventions)
    if all(_speaks_of_sizes(claim) for claim in theorem.claims):
        yield {c.name: chosen[c.name] for c in formula.conventions}
        return
    open_ = [c for c in formula.conventions if c.name not in theorem.conventions]
    for options in product(*(c.options for c in open_)):
        yield {**theorem.conventions, **{c.name: option for c, option in zip(open_, options, strict=True)}}


def _speaks_of_sizes(claim: Claim) -> bool:
    """Whether a claim, shown without a line between its sides, has no part that a convention could change."""
    sides = (claim.left, claim.right, claim.where)
    return claim.proof == Proof(why=claim.proof.why, definition=claim.proof.definition) and not any(
        isinstance(part, Tensor | Application | Choice) for side in sides for part in walk(side)
    )


def chain(claim: Claim, proof: Proof) -> list[tuple[Node, Step]]:
    """The steps from the left side to the right: each expression with the step that leaves it."""
    steps = list(proof.steps)
    if not steps or steps[-1].to != claim.right:
        relation = claim.relation if proof.gap is not None or all(s.relation == "=" for s in steps) else "="
        steps.append(Step(claim.right, proof.why or "by the rules", relation, proof.gap))
    return list(zip([claim.left, *(s.to for s in steps)], steps, strict=False))


def check_derivation(goal: Goal, proof: Proof) -> CheckedClaim:
    """A claim with its derivation checked."""
    if proof.method != "derivation":
        return CheckedClaim(
            goal.claim, Assurance.REFUSED, (), "a part of an induction is shown by derivation"
        )
    goal = goal.add_proof(proof)
    induction = None
    if proof.induction is not None:
        if proof.sizes:
            return CheckedClaim(goal.claim, Assurance.REFUSED, (), "an induction is not one at listed sizes")
        induction, shown = _check_induction(goal, proof.induction)
        if not proof.induction.claims:
            assurance = Assurance.REFUSED if induction.refusal else Assurance.PROVED
            return CheckedClaim(goal.claim, assurance, (), "", induction)
        if induction.refusal:
            return CheckedClaim(goal.claim, Assurance.REFUSED, (), "", induction)
        goal = goal.add_known(*shown)
    assurance = Assurance.PROVED_AT_SIZES if proof.sizes else Assurance.PROVED
    places = [
        Place(goal, conventions, sizes)
        for conventions in conventions_of(goal.theorem, goal.formula)
        for sizes in proof.sizes or ({},)
    ]
    checked = tuple(_check_step(places, left, step) for left, step in chain(goal.claim, proof))
    note = ""
    relations = {s.relation for s in checked}
    if any(s.refusal for s in checked):
        assurance = Assurance.REFUSED
    elif goal.claim.relation == "=" and relations != {"="}:
        assurance, note = Assurance.REFUSED, "steps ≤ do not prove an equality"
    elif goal.claim.relation == "<" and "<" not in relations:
        assurance, note = Assurance.REFUSED, "no step is strict, and the claim is"
    return CheckedClaim(goal.claim, assurance, checked, note, induction)


def _check_step(places: list[Place], left: Node, step: Step) -> CheckedStep:
    rules: dict[str, Rule] = {}
    obligations: dict[str, Obligation] = {}
    refusal = ""
    for place in places:
        refusal = refusal or place.refuses(left, step)
        rules |= {name: RULES[name] for name in sorted(place.used)}
        obligations |= place.obligations
    return CheckedStep(
        left, step.relation, step.to, step.why, tuple(rules.values()), tuple(obligations.values()), refusal
    )


# Induction ------------------------------------------------------------------------------------------------------------------


def _check_induction(goal: Goal, induction: Induction) -> tuple[CheckedInduction, tuple[KnownFact, ...]]:
    """An induction, checked, and what it shows."""
    symbol, first, last = induction.over, induction.first, induction.last
    claims = induction.claims
    if not claims:  # the claim at hand, over one of its own indices
        sizes = dict(goal.claim.over)
        if symbol not in sizes:
            return CheckedInduction((symbol, first, last), (), note=f"{symbol} is no index of the claim"), ()
        first, last = sympy.S.Zero, sizes[symbol] - 1
        over = tuple((s, size) for s, size in goal.claim.over if s != symbol)
        claims = (replace(goal.claim, over=over),)
        outer = goal.outer
    else:
        outer = _select_ranges(goal.ranges, (*claims, *(known.claim for known in goal.known)), (first, last))
    around_it = {s.name for s, _, _ in outer}
    inside = {s.name for c in claims for s, _ in c.over}
    ends = {s.name for s in free_symbols(first) | free_symbols(last)}
    if symbol.name in around_it | inside | ends or symbol.is_positive:
        return CheckedInduction(
            (symbol, first, last), claims, note=f"{symbol} already stands for something"
        ), ()
    if around_it & inside:
        return CheckedInduction((symbol, first, last), claims, note="an index stands for two things"), ()
    around = replace(goal, outer=outer)
    if any(part.sizes for part in (*induction.base, *induction.step)):
        return CheckedInduction(
            (symbol, first, last), claims, note="a part of an induction is not shown at listed sizes"
        ), ()
    key = (outer, goal.known, goal.kept, goal.cited, claims, symbol, first, last, induction)
    if key not in goal.checked:
        goal.checked[key] = induction, _check_base_and_step(around, induction, (symbol, first, last), claims)
    return goal.checked[key][1]


def _check_base_and_step(
    around: Goal, induction: Induction, over: Range, claims: tuple[Claim, ...]
) -> tuple[CheckedInduction, tuple[KnownFact, ...]]:
    """Claims at the first value of an index, and at the next one wherever they hold at a value."""
    symbol, first, last = over
    base = tuple(
        check_derivation(replace(around, claim=_at(claim, symbol, first)), proof)
        for claim, proof in zip(claims, _pad_proofs(induction.base, claims, "so it begins"), strict=True)
    )
    inside = replace(around, outer=(*around.outer, (symbol, first, last - 1)))
    assumed = tuple(KnownFact(c, _ranges(c)) for c in claims)
    step = tuple(
        check_derivation(replace(inside.add_known(*assumed), claim=_at(claim, symbol, symbol + 1)), proof)
        for claim, proof in zip(
            claims,
            _pad_proofs(induction.step, claims, "one step of the recurrence, and the hypothesis"),
            strict=True,
        )
    )
    shown = tuple(KnownFact(c, (*_ranges(c, (symbol, first, last)),)) for c in claims)
    return CheckedInduction((symbol, first, last), claims, base, step), shown


def _select_ranges(
    ranges: tuple[Range, ...], claims: tuple[Claim, ...], ends: tuple[sympy.Expr, ...]
) -> tuple[Range, ...]:
    """The ranges of the indices that occur free in claims or ends: an induction says nothing of the others."""
    free = set().union(*(free_symbols(end) for end in ends))
    for claim in claims:
        inside = set().union(*(free_symbols(part) for part in (claim.left, claim.right, claim.where)))
        free |= (inside - {s for s, _ in claim.over}).union(*(free_symbols(size) for _, size in claim.over))
    kept: list[Range] = []
    for symbol, first, last in reversed(ranges):
        if symbol in free:
            kept.insert(0, (symbol, first, last))
            free |= free_symbols(first) | free_symbols(last)
    return tuple(kept)


def _at(claim: Claim, symbol: sympy.Symbol, value: sympy.Expr) -> Claim:
    """The claim at a value of an index."""
    change = {symbol: value}
    return replace(
        claim,
        left=substitute(claim.left, change),
        right=substitute(claim.right, change),
        over=tuple((s, substitute(size, change)) for s, size in claim.over),
        where=substitute(claim.where, change),
    )


def _ranges(claim: Claim, *before: Range) -> tuple[Range, ...]:
    return (*before, *((s, sympy.S.Zero, size - 1) for s, size in claim.over))


def _pad_proofs(proofs: tuple[Proof, ...], claims: tuple[Claim, ...], why: str) -> tuple[Proof, ...]:
    return (*proofs, *(Proof(why=why) for _ in claims[len(proofs) :]))
