"""What a theorem and an abbreviation read: entries in their range, and only what is given or defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.lines import Definition
from spec.language.theorem import Claim, Theorem
from spec.language.trees import free_symbols, walk
from spec.language.wellformed.formulas import check_calls, check_kinds
from spec.language.wellformed.letters import IllFormed, Parts
from spec.language.wellformed.ranges import Scope, check_places


def check_abbreviation(formula: Any, line: Definition) -> None:
    """Refuse an abbreviation that means nothing, or that has the name of something else.

    Raises:
        IllFormed: naming formula, abbreviation and symbol.
    """
    where = f"{formula.id}, abbreviation {line.left}"
    defined = {other.left.tensor for other in formula.definitions}
    if line.name in {t.name for t in (*formula.tensors, *defined)}:
        raise IllFormed(f"{where}: {line.name} is an input or a line of the formula already")
    others = {other.left.tensor for other in formula.abbreviations.values()} | {*formula.constants}
    for part in walk(line.right):
        if (
            isinstance(part, Tensor)
            and part.role in ("internal", "constant")
            and part not in defined | others
        ):
            raise IllFormed(f"{where}: nothing defines {part.name} of shape {part.shape}")
    Parts(where).check(line.right, frozenset(line.spans))
    check_calls(line.right, where)
    check_kinds(line.right, where)
    for side in (line.left, line.right):
        check_places(side, Scope(line.spans), where)


def check_claims(formula: Any, theorem: Theorem) -> None:
    """Refuse a claim or a step that reads outside a tensor, a witness of unknown names, and what is given for nothing.

    Raises:
        IllFormed: naming formula, theorem, claim and symbol.
    """
    where = f"{formula.id}, {theorem.name}"
    for number, claim in enumerate(theorem.claims, 1):
        _check_claim(claim, theorem, f"{where}, claim {number}")
        if theorem.exists and claim.proof.method != "witness":
            raise IllFormed(f"{where}, claim {number}: that it exists is shown by a witness: by_witness(…)")
        _check_witness(formula, theorem, claim, f"{where}, claim {number}")
    read = _read(formula, theorem)
    for tensor in theorem.given:
        if tensor not in read:
            raise IllFormed(f"{where}: {tensor} is given, but no claim or assumption reads it")
    known = {
        s
        for tensor in read
        if isinstance(tensor, Tensor)
        for size in tensor.shape
        for s in free_symbols(size)
    }
    known |= {part for part in read if isinstance(part, sympy.Symbol)} | _sizes(formula, theorem)
    for size in theorem.sizes:
        if size not in known:
            raise IllFormed(f"{where}: {size} is replaced, but is no size of the formula")


def _check_claim(claim: Claim, theorem: Theorem, where: str) -> None:
    spans = {symbol: (sympy.S.Zero, size - 1) for symbol, size in claim.over}
    scope = Scope(spans, (claim.where,), theorem.sizes)
    for tree in (claim.left, claim.right, *(step.to for step in claim.proof.steps)):
        check_kinds(tree, where)
        check_places(tree, scope, where)


def _check_witness(formula: Any, theorem: Theorem, claim: Claim, where: str) -> None:
    sizes = {size.name for size in _sizes(formula, theorem)}
    names = {str(item) for item in (*formula.inputs, *theorem.given)} | sizes
    for name, value in claim.proof.point.items():
        if name not in names:
            raise IllFormed(
                f"{where}: the witness gives {name}, which is no input and no size of the theorem"
            )
        if name in sizes and not (isinstance(value, int) and value > 0):
            raise IllFormed(f"{where}: the witness gives the size {name} as {value!r}: a size is at least 1")


def _sizes(formula: Any, theorem: Theorem) -> set[sympy.Symbol]:
    tensors = (
        *formula.tensors,
        *theorem.given,
        *formula.outputs,
        *(line.left.tensor for line in formula.definitions),
    )
    shapes = [size for tensor in tensors for size in (*tensor.shape, tensor.below)]
    found = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    return found.union(*(free_symbols(size) for size in (*shapes, *theorem.sizes.values())))


def _read(formula: Any, theorem: Theorem) -> set[Basic]:
    """Everything that the claims read, by way of abbreviations too."""
    found: set[Basic] = set()
    waiting = list(_trees(theorem))
    while waiting:
        for part in walk(waiting.pop()):
            if part in found:
                continue
            found.add(part)
            if isinstance(part, Tensor) and part.name in formula.abbreviations:
                waiting.append(formula.abbreviations[part.name].right)
    return found


def _trees(theorem: Theorem) -> Iterator[Basic]:
    for claim in theorem.claims:
        yield from (claim.left, claim.right, claim.where, *(size for _, size in claim.over))
    yield from theorem.assuming
