"""Our own theorems, changed in one place: a sign, an index, a bound, a relation, a hypothesis, a factor, a convention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from sympy.core.symbol import Str

from spec.language.arrays import Tensor
from spec.language.binders import MaxOf, SumOf
from spec.language.expr import (
    TRUE,
    Both,
    Case,
    Compare,
    Delta,
    Either,
    Func,
    Literal,
    Minus,
    Negative,
    Node,
    Not,
    Over,
    Plus,
    Power,
    Ref,
    Times,
    lift,
)
from spec.language.formula import Formula
from spec.language.registry import formulas
from spec.language.theorem import Claim, Proof, Theorem
from spec.language.trees import transform


@dataclass(frozen=True)
class Mutant:
    """A theorem changed in one place, and what was changed."""

    formula: Formula
    theorem: Theorem
    what: str

    def __str__(self) -> str:
        return f"{self.formula.id}.{self.theorem.name} with {self.what}"


# One node ---------------------------------------------------------------------------------------------------------------


def _turned(node: Node) -> Iterator[tuple[str, Node]]:
    """Ways to change one node, its parts as they are."""
    if isinstance(node, Plus):
        yield "+ turned to −", Minus(*node.args)
        yield "a term dropped", node.args[0]
    elif isinstance(node, Minus):
        yield "− turned to +", Plus(*node.args)
        yield "the sides of a difference swapped", Minus(*reversed(node.args))
    elif isinstance(node, Times):
        yield "a factor dropped", node.args[0]
        yield "a product doubled", Times(lift(2), node)
    elif isinstance(node, Over):
        yield "a division turned to a product", Times(*node.args)
        yield "a divisor dropped", node.args[0]
    elif isinstance(node, Negative):
        yield "a sign dropped", node.args[0]
    elif isinstance(node, Power):
        yield "a power dropped", node.args[0]
        yield "an exponent raised by 1", Power(node.args[0], Plus(node.args[1], lift(1)))
    elif isinstance(node, Func):
        partner = {
            "sin": "cos",
            "cos": "sin",
            "exp": "tanh",
            "tanh": "sigmoid",
            "sigmoid": "tanh",
            "sqrt": "abs",
        }
        if node.name in partner:
            yield f"{node.name} turned to {partner[node.name]}", Func(Str(partner[node.name]), node.args[1])
        yield f"the argument of {node.name} negated", Func(node.args[0], Negative(node.args[1]))
    elif isinstance(node, Case):
        yield "the branches of a case swapped", Case(node.args[0], node.args[2], node.args[1])
        yield "the condition of a case dropped", node.args[1]
    elif isinstance(node, SumOf | MaxOf):
        body, var, first, last, where = node.args
        yield "a range ending one sooner", node.func(body, var, first, last - 1, where)
        yield "a range beginning one later", node.func(body, var, first + 1, last, where)
        if where != TRUE:
            yield "the condition of a binder dropped", node.func(body, var, first, last, TRUE)
            yield "the condition of a binder negated", node.func(body, var, first, last, Not(where))
        if isinstance(node, SumOf):
            yield "a sum turned to a maximum", MaxOf(*node.args)
    elif isinstance(node, Compare):
        relation, left, right = node.args
        yield (
            "< and ≤ exchanged",
            Compare(Str({"<": "<=", "<=": "<", "==": "<="}[str(relation)]), left, right),
        )
        yield "a comparison turned round", Compare(relation, right, left)
    elif isinstance(node, Not):
        yield "a negation dropped", node.args[0]
    elif isinstance(node, Both):
        yield "a condition dropped", node.args[0]
        yield "and turned to or", Either(*node.args)
    elif isinstance(node, Either):
        yield "or turned to and", Both(*node.args)
    elif isinstance(node, Delta):
        yield "a delta turned to 1", lift(1)
    elif isinstance(node, Literal) and node.value.is_Rational:
        yield "a number raised by 1", Literal(node.value + 1)
    elif isinstance(node, Ref) and node.index:
        first, *rest = node.index
        if not isinstance(first, Node) and node.tensor.domain != "permutation":
            yield "an index put to 0", Ref(node.tensor, sympy.S.Zero, *rest)
        if len(node.index) == 2 and node.tensor.shape[0] == node.tensor.shape[1]:
            yield "two indices swapped", Ref(node.tensor, *reversed(node.index))


def changed(node: Node) -> list[tuple[str, Node]]:
    """Every way to change a tree in one place."""
    found = list(_turned(node))
    for place, child in enumerate(node.args):
        if isinstance(child, Node):
            for what, new in changed(child):
                args = list(node.args)
                args[place] = new
                found.append((what, node.func(*args)))
    return found


# Theorems ---------------------------------------------------------------------------------------------------------------


def mutants(formula: Formula, theorem: Theorem, random: np.random.Generator) -> Iterator[Mutant]:
    """A random mutant of a theorem after another, without end where there are any."""
    kinds: list[Callable[[], tuple[str, Theorem] | None]] = [
        lambda: _side(theorem, random),
        lambda: _side(theorem, random),
        lambda: _side(theorem, random),
        lambda: _relation(theorem, random),
        lambda: _hypothesis(theorem, random),
        lambda: _domain(theorem, random),
        lambda: _convention(formula, theorem, random),
        lambda: _restriction(theorem, random),
        lambda: _proof(theorem, random),
        lambda: _fixed(theorem, random),
    ]
    while True:
        made = kinds[int(random.integers(len(kinds)))]()
        if made is not None:
            yield Mutant(formula, replace(made[1], name=theorem.name), made[0])


def _pick(random: np.random.Generator, items: Any) -> Any:
    items = list(items)
    return items[int(random.integers(len(items)))] if items else None


def _put(theorem: Theorem, claim: Claim, new: Claim) -> Theorem:
    """The theorem with that one claim alone, as it is new."""
    return replace(theorem, claims=(new,))


def _bare(claim: Claim, random: np.random.Generator) -> Claim:
    """Sometimes without the lines between its sides."""
    return (
        claim.proved(Proof(why="so"))
        if random.random() < 0.5 and claim.proof.method == "derivation"
        else claim
    )


def _side(theorem: Theorem, random: np.random.Generator) -> tuple[str, Theorem] | None:
    claim = _pick(random, theorem.claims)
    side = _pick(random, ("left", "right", "right"))
    picked = _pick(random, changed(getattr(claim, side)))
    if picked is None:
        return None
    what, tree = picked
    return f"{what} on the {side}", _put(theorem, claim, _bare(replace(claim, **{side: tree}), random))


def _relation(theorem: Theorem, random: np.random.Generator) -> tuple[str, Theorem] | None:
    claim = _pick(random, theorem.claims)
    new = _pick(random, [r for r in ("=", "<=", "<") if r != claim.relation])
    swapped = random.random() < 0.3
    left, right = (claim.right, claim.left) if swapped else (claim.left, claim.right)
    turned = replace(claim, left=left, right=right, relation=new)
    return f"{claim.relation} turned to {new}{', swapped' if swapped else ''}", _put(
        theorem, claim, _bare(turned, random)
    )


def _hypothesis(theorem: Theorem, random: np.random.Generator) -> tuple[str, Theorem] | None:
    if not theorem.assuming:
        return None
    place = int(random.integers(len(theorem.assuming)))
    rest = [*theorem.assuming]
    if random.random() < 0.5:
        del rest[place]
        return f"assumption {place + 1} dropped", replace(theorem, assuming=tuple(rest))
    picked = _pick(random, changed(rest[place]))
    if picked is None:
        return None
    rest[place] = picked[1]
    return f"{picked[0]} in assumption {place + 1}", replace(theorem, assuming=tuple(rest))


def _domain(theorem: Theorem, random: np.random.Generator) -> tuple[str, Theorem] | None:
    tensors = [t for t in theorem.given if t.domain in ("positive", "nonnegative")]
    tensor = _pick(random, tensors)
    if tensor is None:
        return None
    loose = Tensor(
        tensor.name, tensor.shape, "real" if tensor.domain == "nonnegative" else "nonnegative", "given"
    )
    swap = lambda part: loose if part == tensor else None  # noqa: E731
    put = lambda tree: transform(tree, swap)  # noqa: E731
    claims = tuple(
        replace(c, left=put(c.left), right=put(c.right), where=put(c.where), proof=_moved(c.proof, put))
        for c in theorem.claims
    )
    given = tuple(loose if t == tensor else t for t in theorem.given)
    made = replace(theorem, claims=claims, given=given, assuming=tuple(map(put, theorem.assuming)))
    return f"{tensor.name} {loose.domain}", made


def _moved(proof: Proof, put: Callable[[Any], Any]) -> Proof:
    steps = tuple(replace(s, to=put(s.to), gap=None if s.gap is None else put(s.gap)) for s in proof.steps)
    return replace(proof, steps=steps, gap=None if proof.gap is None else put(proof.gap))


def _convention(
    formula: Formula, theorem: Theorem, random: np.random.Generator
) -> tuple[str, Theorem] | None:
    convention = _pick(random, [c for c in formula.conventions if c.name in theorem.conventions])
    if convention is None:
        return None
    left = {k: v for k, v in theorem.conventions.items() if k != convention.name}
    other = _pick(
        random, [None, *(o for o in convention.options if o != theorem.conventions[convention.name])]
    )
    if other is None:
        return f"convention {convention.name} left open", replace(theorem, conventions=left)
    return f"convention {convention.name} = {other}", replace(
        theorem, conventions={**left, convention.name: other}
    )


def _restriction(theorem: Theorem, random: np.random.Generator) -> tuple[str, Theorem] | None:
    claim = _pick(random, [c for c in theorem.claims if c.where != TRUE])
    if claim is None:
        return None
    if random.random() < 0.5:
        return "its condition dropped", _put(theorem, claim, replace(claim, where=TRUE))
    picked = _pick(random, changed(claim.where))
    return (
        None
        if picked is None
        else (f"{picked[0]} in its condition", _put(theorem, claim, replace(claim, where=picked[1])))
    )


def _proof(theorem: Theorem, random: np.random.Generator) -> tuple[str, Theorem] | None:
    """The same change in the right side and in the last line before it."""
    claim = _pick(random, [c for c in theorem.claims if c.proof.steps])
    if claim is None:
        return None
    factor = lift(_pick(random, (2, -1, 3)))
    steps = tuple(replace(s, to=Times(factor, s.to)) for s in claim.proof.steps)
    new = replace(claim, right=Times(factor, claim.right), proof=replace(claim.proof, steps=steps))
    return f"{factor} times every line after the first", _put(theorem, claim, new)


def _fixed(theorem: Theorem, random: np.random.Generator) -> tuple[str, Theorem] | None:
    if not theorem.sizes and not theorem.at:
        return None
    if theorem.at and random.random() < 0.6:
        tensor = _pick(random, theorem.at)
        value = theorem.at[tensor]
        return f"{tensor.name} at {value} + 1", replace(theorem, at={**theorem.at, tensor: value + 1})
    if not theorem.sizes:
        return None
    size = _pick(random, theorem.sizes)
    return f"{size} = {theorem.sizes[size]} + 1", replace(
        theorem, sizes={**theorem.sizes, size: theorem.sizes[size] + 1}
    )


def theorems() -> list[tuple[Formula, Theorem]]:
    """Every registered theorem with its formula, witnesses and enclosures apart."""
    return [
        (formula, theorem)
        for formula in formulas().values()
        for theorem in formula.theorems.values()
        if not theorem.exists and all(c.proof.method == "derivation" for c in theorem.claims)
    ]


__all__ = ["Mutant", "changed", "mutants", "theorems"]
