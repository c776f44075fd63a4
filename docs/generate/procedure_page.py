"""The page of a procedure: why it exists, its steps and its reference, what every result satisfies, and who is held to it."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from typing import Any

from spec.language.procedure import ASSURANCE, Procedure
from spec.language.registry import procedures
from verify.targets.ours import is_implemented

from . import bibliography, evidence, lines, peers, source
from .markup import badge, code, folded, prose, sentence, table


def all_pages() -> dict[str, str]:
    """Every procedure's page by ID, in Markdown."""
    return {procedure_id: page(procedure) for procedure_id, procedure in procedures().items()}


def page(procedure: Procedure) -> str:
    """The page in Markdown."""
    stated: Any = procedure  # evidence is asked of it as of a formula
    parts = [
        f"---\ntitle: {json.dumps(procedure.title, ensure_ascii=False)}\n---",
        f"# {procedure.title}",
        f"`{procedure.id}`",
        f"{procedure.why}\n{{: .lead }}",
        "## Statement",
        "\n".join(f"{number}. {step}" for number, step in enumerate(procedure.steps, 1)),
        procedure.notes,
        folded(
            "The reference, which carries them out", _code(inspect.getsource(_module(procedure))), "abstract"
        ),
        f"## Inputs and what is returned\n\n{_names(procedure)}",
        f"## Conventions\n\n{lines.conventions_table(procedure)}" if procedure.conventions else "",
        f"## What goes wrong\n\n{lines.pitfalls(procedure)}",
        f"## What every result satisfies\n\n{_requirements(procedure)}",
        _implementation(procedure),
        f"## Evidence\n\n{evidence.section(stated)}",
        "## Sources\n\n" + "\n".join(f"- {bibliography.cited(s)}" for s in procedure.sources),
    ]
    return "\n\n".join(part for part in parts if part)


def _module(procedure: Procedure) -> Any:
    return import_module(f"spec.{procedure.id}")


def _code(text: str) -> str:
    return f"```python\n{text.rstrip()}\n```"


def _names(procedure: Procedure) -> str:
    rows = [(code(name), prose(meaning), "taken") for name, meaning in procedure.inputs.items()]
    rows += [(code(name), prose(meaning), "returned") for name, meaning in procedure.returns.items()]
    return table(("Name", "Meaning", "Part"), rows)


def _requirements(procedure: Procedure) -> str:
    said = (
        "Each is a sentence and a predicate over any implementation's results. That the reference satisfies it was tried on "
        "every small problem; an implementation is tried on drawn ones, which are made small where it fails."
    )
    rows = [
        (
            f'<span id="theorem-{one.name.replace("_", "-")}"></span>{code(one.name)}',
            prose(sentence(one.sentence)) + (f"<br>{code(one.line)}" if one.line else ""),
            badge(
                ASSURANCE,
                "tested",
                "the reference satisfies it in all small problems (tests/spec/test_procedures.py)",
            ),
        )
        for one in procedure.requirements
    ]
    return f"{said}\n\n{table(('Requirement', 'What it says', 'Assurance'), rows)}"


def _implementation(procedure: Procedure) -> str:
    others = [t.label for t in peers.targets_of(procedure) if t.peer != "impl"]
    said = (
        f"Other implementations held to this: {', '.join(f'`{label}`' for label in others)}."
        if others
        else ""
    )
    if not is_implemented(procedure.id):
        return said
    subject, name = procedure.id.split(".")
    function = getattr(import_module(f"impl.{subject}"), name)
    full = f"impl.{procedure.id}"
    return f"## Implementation\n\n[`{full}`](reference/impl.md#{full}):\n\n{source.of_function(function)}\n\n{said}"
