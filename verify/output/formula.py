"""A formula as text for the terminal: why it exists, statement, symbols, conventions, pitfalls, theorems, sources."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spec.language.convention import Convention, Pitfall
    from spec.language.formula import Formula
    from spec.language.procedure import Procedure
    from spec.language.proving.proof import Checked

WIDTH = 120
"""Of a line; what is longer goes on in the next, further in."""

ROLES = {
    "data": "data, leading batch dimensions allowed",
    "parameter": "parameter, no batch dimensions",
    "mask": "optional; left out, nothing is masked",
    "number": "a Python number",
    "constant": "fixed by the statement",
    "generator": "a random generator",
}


def lines(formula: Formula, done: dict[str, Checked]) -> Iterator[tuple[str, str]]:
    """(style, line) pairs; theorems that are ``done`` are not proved again."""
    yield "bold", f"{formula.id}: {formula.title}"
    yield "", ""
    if formula.why:
        yield from _wrap_line("", formula.why, 2, hanging=0)
        yield "", ""
    names = ", ".join(str(i) for i in formula.inputs)
    outputs = formula.law.returns if formula.law is not None else formula.outputs
    yield "", f"  ({names}) → {', '.join(str(o) for o in outputs)}"
    yield "", ""
    yield from _statement(formula)
    rows = _align_columns(symbols(formula, outputs))
    wrapped = (
        _wrap_line("", f"{name} {shape} {meaning}", 2, hanging=len(name) + len(shape) + 2)
        for name, shape, meaning in rows
    )
    yield from _section("Symbols", chain.from_iterable(wrapped))
    yield from _section("Conventions", _conventions(formula.conventions))
    yield from _section("What goes wrong", _pitfalls(formula.pitfalls))
    yield from _section("What every result satisfies", _requirements(formula))
    yield from _section("Theorems", _theorems(formula, done))
    yield from _section("Worked examples", _worked_examples(formula))
    if formula.notes:
        yield "", ""
        yield from _wrap_line("", formula.notes, 2)
    yield from _section("Sources", (("", f"  {source}") for source in formula.sources))


def _section(title: str, body: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The lines under their title; nothing where there are none."""
    for place, line in enumerate(body):
        if not place:
            yield "", ""
            yield "bold", title
        yield line


def _statement(formula: Formula) -> Iterator[tuple[str, str]]:
    """The numbered equations, and those of the auxiliary formulas that they apply."""
    from spec.language.render import statement, unicode

    shown = statement(formula)
    width = min(max((len(line.equation) for line in shown), default=0), 90)
    for line in shown:
        yield "cyan", f"  ({line.number})  {line.equation:<{width}}   {line.ranges}".rstrip()
    for callee in formula.applied:
        if callee.auxiliary:
            yield "", ""
            results = ", ".join(t.name for t in callee.outputs)
            yield "", f"  where {unicode(callee(*callee.inputs)[()])} gives {results}, with"
            shown = statement(callee)
            width = min(max(len(line.equation) for line in shown), 90)
            for line in shown:
                yield "cyan", f"       {line.equation:<{width}}   {line.ranges}".rstrip()


def _conventions(conventions: Iterable[Convention]) -> Iterator[tuple[str, str]]:
    """Write each option of the conventions with its sentence, ours marked."""
    for convention in conventions:
        for option, sentence in convention.options.items():
            mark = "ours: " if option == convention.default else "      "
            yield from _wrap_line("", f"{mark}{convention.name}={option}: {sentence}", 2, hanging=8)


def _pitfalls(pitfalls: Iterable[Pitfall]) -> Iterator[tuple[str, str]]:
    """Write each pitfall with the convention, theorem or mutant that shows it."""
    for pitfall in pitfalls:
        kinds = ("convention", "theorem", "mutant")
        by = next(f"{kind} {getattr(pitfall, kind)}" for kind in kinds if getattr(pitfall, kind))
        yield from _wrap_line("", f"{pitfall.text} [{by}]", 2)


def _requirements(formula: Formula) -> Iterator[tuple[str, str]]:
    """The conditions on every result of a law, in words and as formulas."""
    from spec.language.flatten import apply_conventions
    from spec.language.render import unicode

    for axiom in formula.law.requirements if formula.law is not None else ():
        condition = unicode(apply_conventions(axiom.condition, formula.choose()))
        yield from _wrap_line("", f"{axiom.sentence}: {condition}", 2)


def _theorems(formula: Formula, done: dict[str, Checked]) -> Iterator[tuple[str, str]]:
    """The abbreviations that theorems use, and the theorems as the checker of proofs judges them."""
    from spec.language.flatten import apply_conventions
    from spec.language.render import describe_abbreviations, number_lines

    if not formula.theorems:
        return
    ours = formula.choose()
    short_lines = (replace(x, right=apply_conventions(x.right, ours)) for x in formula.abbreviations.values())
    for short in number_lines(short_lines):
        yield from _wrap_line("", f"abbreviated: {short.equation}   {short.ranges}".rstrip(), 2)
    if under := describe_abbreviations(formula):
        yield from _wrap_line("", under, 2)
    for theorem in formula.theorems.values():
        yield from _theorem(formula, check_theorem(formula, theorem.name, done))


def _worked_examples(formula: Formula) -> Iterator[tuple[str, str]]:
    """Each worked example, and whether the statement agrees."""
    from spec.language.worked import difference

    for worked in formula.worked:
        word = "differs" if difference(formula, worked) else "agrees"
        yield from _wrap_line("", f"{worked.title} [{word}]", 2)


def check_theorem(formula: Formula, theorem: str, done: dict[str, Checked]) -> Checked:
    """A theorem of a formula as the checker of proofs judges it; what is ``done`` is not proved again."""
    from spec.language.proving.proof import check

    if theorem not in done:
        done[theorem] = check(formula.theorems[theorem], formula)
    return done[theorem]


def refusals(
    formula: Formula, done: dict[str, Checked], tell: Callable[[str], None] = lambda _: None
) -> list[str]:
    """What a formula claims and is not so, a line each: theorems that are refused, worked examples that differ.

    What is ``done`` is not proved again; ``tell`` hears what is being proved.
    """
    from spec.language.worked import difference

    found = []
    for number, name in enumerate(formula.theorems, 1):
        tell(f"proving {formula.id}: {name} ({number} of {len(formula.theorems)}) …")
        if said := check_theorem(formula, name, done).refusal:
            found.append(said)
    found += [
        f"{formula.id}, worked example “{worked.title}”: {wrong}"
        for worked in formula.worked
        if (wrong := difference(formula, worked))
    ]
    return found


def procedure_lines(procedure: Procedure) -> Iterator[tuple[str, str]]:
    """(style, line) pairs of a procedure: why it exists, its steps, what it takes and returns, what every result satisfies."""
    from spec.language.procedure import ASSURANCE

    yield "bold", f"{procedure.id}: {procedure.title}"
    yield "", ""
    yield from _wrap_line("", procedure.why, 2, hanging=0)
    yield "", ""
    yield "", f"  ({', '.join(procedure.inputs)}) → {', '.join(procedure.returns)}"
    yield "", ""
    for number, step in enumerate(procedure.steps, 1):
        yield from _wrap_line("cyan", f"({number})  {step}", 2, hanging=5)
    if procedure.notes:
        yield from _wrap_line("", procedure.notes, 2)
    yield "", ""
    yield "bold", "Inputs and what is returned"
    rows = [
        (name, "", meaning)
        for part in (procedure.inputs, procedure.returns)
        for name, meaning in part.items()
    ]
    for name, _, meaning in _align_columns(rows):
        yield from _wrap_line("", f"{name} {meaning}", 2, hanging=len(name) + 1)
    yield from _section("Conventions", _conventions(procedure.conventions))
    yield from _section("What goes wrong", _pitfalls(procedure.pitfalls))
    yield "", ""
    yield "bold", "What every result satisfies"
    for requirement in procedure.requirements:
        yield from _wrap_line("", f"{requirement.name}: {requirement.sentence} [{ASSURANCE}]", 2)
        if requirement.line:
            yield from _wrap_line("cyan", requirement.line, 6)
    yield "", ""
    yield "bold", "Sources"
    for source in procedure.sources:
        yield "", f"  {source}"


def symbols(formula: Formula, outputs: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, shape and meaning of what goes in, then of what comes out."""
    from spec.language.arrays import NO_LABEL, Tensor
    from spec.language.evaluation.dimensions import is_size
    from spec.language.flatten import own_lines

    for item in formula.inputs:
        if is_size(item):
            yield str(item), "", f"{formula.sizes.get(item, '')} (a size, at least 1)".strip()
            continue
        limit = " below" if item.domain in ("integer", "label") else ", at most"
        kind = item.domain + (f"{limit} {item.below}" if item.below != 0 else "")
        kind += f", or {NO_LABEL} where there is none" if item.domain == "label" else ""
        role = ROLES.get(item.role, item.role)
        yield _describe_tensor(item, role if item.role == "generator" else f"{kind}; {role}")
    for item, value in formula.constants.items():
        yield _describe_tensor(item, f"= {value}")
    # A tensor may be defined by several lines: of its first entry, and of the others.
    for tensor in dict.fromkeys(line.left.tensor for line in own_lines(formula, formula.choose())):
        if tensor not in outputs:
            yield _describe_tensor(tensor, "a line")
    for item in outputs:
        if isinstance(item, Tensor):
            yield _describe_tensor(item, "returned")
    for size, meaning in formula.sizes.items():
        if size not in formula.inputs:
            yield str(size), "", f"{meaning} (a size)"


def _describe_tensor(tensor: Any, role: str) -> tuple[str, str, str]:
    """A tensor with what it means, and how it is passed."""
    return tensor.name, _shape(tensor), f"{tensor.meaning} ({role})" if tensor.meaning else role


def _shape(tensor: Any) -> str:
    from spec.language.render import unicode

    return f"({', '.join(unicode(size) for size in tensor.shape)})"


def _align_columns(rows: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """The rows with their first two columns as wide as they have to be."""
    rows = tuple(rows)
    first, second = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return ((f"{name:<{first}} ", f"{shape:<{second}} ", meaning) for name, shape, meaning in rows)


def _theorem(formula: Formula, found: Checked) -> Iterator[tuple[str, str]]:
    """The sentence with its assurance, what it is about, the claims, and what their proofs cite and keep."""
    from spec.language.render import claim_text, hypotheses

    theorem = found.theorem
    yield from _wrap_line("", f"{theorem.name}: {theorem.title} [{found.assurance}]", 2)
    if words := ", ".join(hypotheses(theorem, formula)):
        yield from _wrap_line("", f"{words}:", 6)
    conventions = formula.choose(theorem.conventions)
    for claim in theorem.claims:
        yield from _wrap_line("cyan", claim_text(claim, "unicode", conventions, theorem.exists), 6)
    if theorem.cited:
        yield from _wrap_line("", f"citing {'; '.join(map(str, theorem.cited))}", 6)
    if theorem.kept:
        yield from _wrap_line("", f"keeping whole {', '.join(theorem.kept)}", 6)


def _wrap_line(style: str, text: str, indent: int, hanging: int = 4) -> Iterator[tuple[str, str]]:
    """A line, or as many as it takes, the others further in."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=True,  # a count written without spaces
        break_on_hyphens=False,
    )
    return ((style, line) for line in lines)
