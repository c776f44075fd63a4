"""The page of a formula: everything that is derived from its statement, in the order in which one reads it."""

from __future__ import annotations

import json

from spec.language.differentiation.gradients import ADJOINT, vjp
from spec.language.formula import Formula
from spec.language.render import latex
from verify.targets.ours import is_implemented

from . import bibliography, dataflow, errors, evidence, examples, figures, lines, peers, source, worked
from .markup import Line, folded, inline, prose, statement


def page(formula: Formula) -> str:
    """The page in Markdown."""
    parts = [
        "---",
        f"title: {json.dumps(formula.title, ensure_ascii=False)}",
        f"description: {json.dumps(_description(formula), ensure_ascii=False)}",
        "---",
        f"# {formula.title}",
        f"`{formula.id}`",
        f"{{{{ matrix {formula.id} }}}}",
        _result(formula),
        f"{{{{ places {formula.id} }}}}",
        f"{formula.why}\n{{: .lead }}" if formula.why else "",
        _statement(formula),
        _worked(formula),
        figures.of(formula),
        _symbols(formula),
        _conventions(formula),
        _pitfalls(formula),
        _theorems(formula),
        _gradient(formula),
        _errors(formula),
        _implementation(formula),
        f"## Evidence\n\n{evidence.section(formula)}",
        "## Sources\n\n" + "\n".join(f"- {bibliography.cited(s)}" for s in formula.sources),
    ]
    front = "\n".join(parts[:4])
    return "\n\n".join([front, *(part for part in parts[4:] if part)])


def _description(formula: Formula) -> str:
    """What a search engine shows of the page."""
    return f"{formula.title}: the formula, why it is so, worked by hand, proved, in code. {formula.why.split('?')[0]}?"


def _result(formula: Formula) -> str:
    """What the formula gives, in a line."""
    if formula.law is not None:
        return ""
    return "; ".join(f"{inline(latex(t))} is {prose(t.meaning)}" for t in formula.outputs) + "."


def _statement(formula: Formula) -> str:
    parts = ["## Statement", formula.notes, lines.by_convention(formula)]
    parts.append(folded("The same, line by line, in Python", f"{{{{ code {formula.id} }}}}", "abstract"))
    if dataflow.is_worth_drawing(formula):
        parts.append(folded("Its data flow", dataflow.drawn(formula.id), "abstract"))
    if formula.applied:
        if links := ", ".join(f"[`{f.id}`]({f.id}.md)" for f in formula.applied if not f.auxiliary):
            parts.append(f"It applies {links}.")
        flat = lines.without_copies(formula.flat().lines)
        title = f"All of it in {len(flat)} primitive lines"
        parts.append(folded(title, statement(lines.as_lines(flat)), "abstract"))
    if formula.law is not None:
        parts.append(_axioms(formula))
    return "\n\n".join(part for part in parts if part)


def _axioms(formula: Formula) -> str:
    from spec.language.flatten import apply_conventions

    assert formula.law is not None
    ours = formula.choose()
    listed = "\n".join(f"- {a.sentence[0].upper()}{a.sentence[1:]}." for a in formula.law.requirements)
    shown = statement(
        Line(
            "",
            latex(apply_conventions(a.condition, ours)),
            r",\ ".join(f"{latex(index)} < {latex(size)}" for index, size in a.over or formula.law.over),
        )
        for a in formula.law.requirements
    )
    return f"Besides, every single draw satisfies:\n\n{listed}\n\n{shown}"


def _symbols(formula: Formula) -> str:
    said = "Inputs in the order in which an implementation takes them, then what the lines define."
    return f"## Symbols\n\n{said} {lines.roles(formula)}\n\n{lines.symbols_table(formula)}"


def _conventions(formula: Formula) -> str:
    if not formula.conventions:
        return ""
    return (
        "## Conventions\n\nWhere implementations legitimately differ, the statement has an option for each; a verdict names "
        f"those it holds under ([all conventions](conventions.md)).\n\n{lines.conventions_table(formula)}"
    )


def _pitfalls(formula: Formula) -> str:
    if not formula.pitfalls:
        return ""
    return f"## What goes wrong\n\n{lines.pitfalls(formula)}"


def _theorems(formula: Formula) -> str:
    if not formula.theorems:
        return ""
    return (
        "## Theorems\n\nEach with its [assurance](proofs.md#the-assurance-words), as the checker gave it when this page was "
        f"built.\n\n{{{{ theorems {formula.id} }}}}"
    )


def _worked(formula: Formula) -> str:
    if not formula.worked:
        return ""
    said = "Numbers to redo by hand, beside what follows from the statement, rigorously enclosed and shown to 12 digits."
    return f"## Worked examples\n\n{said}\n\n{worked.section(formula)}"


def _gradient(formula: Formula) -> str:
    if formula.law is not None:
        return ""
    gradient = vjp(formula)
    if not gradient.gradients:
        return ""
    backward = [d for d in gradient.flat.lines if d.name.startswith(ADJOINT)]
    forward = [d for d in gradient.flat.lines if not d.name.startswith(ADJOINT)]
    said = (
        "The vector–Jacobian product, derived symbolically from the lines above. A bar marks the derivative of the (scalar) loss "
        "with respect to what stands under it; *seed* is the one that arrives from outside."
    )
    down, up = statement(lines.as_lines(forward)), statement(lines.as_lines(backward, len(forward) + 1))
    title = f"The {len(gradient.flat.lines)} lines of the gradient"
    body = f"Forward, with every sum named:\n\n{down}\n\nBackward:\n\n{up}"
    return f"## Gradient\n\n{said}\n\n{folded(title, body, 'abstract')}"


def _errors(formula: Formula) -> str:
    if not errors.has_one(formula) or not is_implemented(formula.id):
        return ""
    head = "## Error model"
    if errors.is_exact(formula):
        said = "Nothing is rounded: the bound is 0 in every type; a right implementation returns exactly the statement’s values."
        return f"{head}\n\n{said}"
    where = f"{errors.example_words(formula)}: the entry with the largest error/bound."
    parts = [
        head,
        "How far a right implementation may be from the statement is derived from the lines, at the inputs at hand "
        f"([how](tolerance.md)). {where}",
        errors.model_table(formula),
    ]
    if formula.tensors:
        parts.append(figures.regimes(formula))
    return "\n\n".join(parts)


def _implementation(formula: Formula) -> str:
    if not is_implemented(formula.id):
        return (
            "## Implementation\n\nNone of ours: the formula is stated, and "
            f"`attnspec check module:function --formula {formula.id}` holds any function to it."
        )
    function = examples.implementation(formula)
    name = f"impl.{formula.id}"
    parts = [f"## Implementation\n\n[`{name}`](reference/impl.md#{name}):\n\n{source.of_function(function)}"]
    if helpers := source.helpers(function):
        parts.append(folded("The helpers it calls", helpers, "abstract"))
    others = [t for t in peers.targets_of(formula) if t.peer != "impl"]
    if others:
        names = ", ".join(f"`{t.label}`" for t in others)
        parts.append(f"Other implementations held to this statement: {names}.")
    return "\n\n".join(parts)
