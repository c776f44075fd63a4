"""Who does what: the targets of ``attnspec verify`` and the deviations of peers that are known, both data of ``verify``."""

from __future__ import annotations

from html import escape

from spec.language.convention import Convention
from spec.language.formula import Formula
from spec.language.procedure import Procedure
from spec.language.registry import statement, statement_ids
from verify.deviations import deviations
from verify.targets import TARGETS, Target

from .markup import code, table


def targets_of(formula: Formula | Procedure) -> list[Target]:
    """The implementations held to a formula or a procedure."""
    return [t for t in TARGETS if t.formula_id == formula.id]


def following(formula: Formula | Procedure, convention: Convention, option: str) -> list[str]:
    """The targets that follow an option of a convention."""
    return list(
        dict.fromkeys(
            t.label
            for t in targets_of(formula)
            if t.conventions.get(convention.name, convention.default) == option
        )
    )


def every_convention() -> str:
    """All conventions, formula by formula, in Markdown."""
    from .lines import conventions_table

    parts = [
        f"### [{f.title}]({f.id}.md) {{#{f.id}}}\n\n{conventions_table(f)}"
        for f in map(statement, statement_ids())
        if f.conventions
    ]
    return "\n\n".join(parts)


def differences() -> str:
    """What each target does in its own way without being wrong, where its authors' interface differs from the statement's."""
    rows = [
        (escape(t.label), f'<a href="{t.formula_id}.html">{code(t.formula_id)}</a>', escape(t.differs))
        for t in TARGETS
        if t.differs
    ]
    return table(("Implementation", "Statement", "What differs"), rows)


def known_deviations() -> str:
    """The list of known deviations."""
    found = deviations()
    if not found:
        return "No deviation is listed at present."
    rows = []
    for each in found:
        report = (
            f'<a href="{escape(each.report)}">report</a>'
            if each.report.startswith("http")
            else escape(each.report)
        )
        rows.append(
            (
                escape(each.target),
                f'<a href="{each.formula}.html">{code(each.formula)}</a>',
                code(each.check),
                escape(each.reason),
                escape(f"{each.versions}, {each.device}" if each.device else each.versions),
                report or "–",
            )
        )
    return table(("Implementation", "Statement", "Check", "Reason", "Seen in", "Upstream"), rows)
