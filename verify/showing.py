"""A formula as text for the terminal: statement, symbols with shapes, conventions, theorems, sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spec.language.formula import Formula

ROLES = {
    "data": "data, leading batch dimensions allowed",
    "parameter": "parameter, no batch dimensions",
    "mask": "optional; left out, nothing is masked",
    "number": "a Python number",
    "constant": "fixed by the statement",
    "generator": "a random generator",
}


def lines(formula: Formula) -> Iterator[tuple[str, str]]:
    """(style, line) pairs."""
    from spec.language.evaluation.dimensions import is_size
    from spec.language.expr import Tensor
    from spec.language.flatten import chosen
    from spec.language.render import claim_text, statement, unicode

    yield "bold", f"{formula.id}: {formula.title}"
    yield "", ""
    names = ", ".join(str(i) for i in formula.inputs)
    outputs = formula.law.returns if formula.law is not None else formula.outputs
    yield "", f"  ({names}) → {', '.join(str(o) for o in outputs)}"
    yield "", ""
    shown = statement(formula)
    width = max((len(line.equation) for line in shown), default=0)
    for line in shown:
        yield "cyan", f"  ({line.number})  {line.equation:<{min(width, 90)}}   {line.ranges}".rstrip()
    for callee in formula.applied:
        if callee.auxiliary:
            yield "", ""
            results = ", ".join(t.name for t in callee.outputs)
            yield "", f"  where {unicode(callee(*callee.inputs)[()])} gives {results}, with"
            shown = statement(callee)
            width = max(len(line.equation) for line in shown)
            for line in shown:
                yield "cyan", f"       {line.equation:<{min(width, 90)}}   {line.ranges}".rstrip()
    yield "", ""
    yield "bold", "Symbols"
    for item in formula.inputs:
        if is_size(item):
            yield "", f"  {item!s:<12} a size, at least 1"
            continue
        kind = item.domain + (f" below {item.below}" if item.below != 0 else "")
        shape = f"({', '.join(map(str, item.shape))})" if item.shape else "()"
        yield (
            "",
            f"  {item.name:<12} {shape:<12} {kind if item.role != 'generator' else ''}; {ROLES.get(item.role, item.role)}",
        )
    for item, value in formula.constants.items():
        yield "", f"  {item.name:<12} = {value}"
    for item in outputs:
        if isinstance(item, Tensor):
            shape = f"({', '.join(map(str, item.shape))})"
            yield "", f"  {item.name:<12} {shape:<12} returned"
    if formula.conventions:
        yield "", ""
        yield "bold", "Conventions"
        for convention in formula.conventions:
            for option, sentence in convention.options.items():
                mark = "ours: " if option == convention.default else "      "
                yield "", f"  {mark}{convention.name}={option}: {sentence}"
    if formula.law is not None:
        yield "", ""
        yield "bold", "What every result satisfies"
        for axiom in formula.law.axioms:
            yield "", f"  {axiom.sentence}: {unicode(chosen(axiom.condition, formula.choose()))}"
    if formula.theorems:
        yield "", ""
        yield "bold", "Theorems"
        for theorem in formula.theorems.values():
            yield "", f"  {theorem.name}: {theorem.title} [{_assurance(formula, theorem.name)}]"
            for claim in theorem.claims:
                yield (
                    "cyan",
                    f"      {claim_text(claim, conventions={**formula.choose(), **theorem.conventions})}",
                )
    if formula.notes:
        yield "", ""
        yield "", f"  {formula.notes}"
    yield "", ""
    yield "bold", "Sources"
    for source in formula.sources:
        yield "", f"  {source}"


def _assurance(formula: Formula, name: str) -> str:
    """How sure a theorem is, found by checking its proof."""
    from spec.language.proving.proof import check

    return str(check(formula.theorems[name], formula).assurance)
