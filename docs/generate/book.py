"""The book: its chapters, which of them a formula stands in, and what chapters show of statements."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from spec.language.formula import Formula
from spec.language.registry import find, formulas
from spec.language.render import claim_text, hypotheses, matrices, python
from spec.language.render.matrices.forms import equations, summarise
from spec.language.render.matrices.terms import Entry
from spec.language.theorem import Assurance

from . import examples, source, theorems, worked
from .derivations import anchor
from .markup import Line, code, inline, sentence, statement

DOCS = Path(__file__).parents[1]
FEW, SHORT = 6, 160
"""Lines of a matrix form, and signs of its LaTeX, that are read at a glance."""
NEXT = r",\quad "
"""What stands between an equation and the next one, or the range of its indices."""
TITLE = re.compile(r"^title: (.+)$", re.MULTILINE)


@cache
def chapters() -> dict[str, str]:
    """The title of every chapter by its file, in the order in which they are read."""
    found = {}
    for path in sorted(DOCS.glob("chapter_*.md")):
        title = TITLE.search(path.read_text(encoding="utf-8"))
        assert title, f"{path} has no title"
        found[path.name] = title[1].strip('"')
    return found


@cache
def _mentions() -> dict[str, list[str]]:
    """The chapters that show a formula or lead to its page, by its ID."""
    found: dict[str, list[str]] = {}
    for name in chapters():
        text = (DOCS / name).read_text(encoding="utf-8")
        for formula_id in formulas():
            if re.search(rf"\]\({re.escape(formula_id)}\.md|\{{\{{[^}}]* {re.escape(formula_id)}[ }}]", text):
                found.setdefault(formula_id, []).append(name)
    return found


def chapters_of(formula_id: str) -> list[str]:
    """The chapters that a formula stands in, as links."""
    return [f"[{chapters()[name]}]({name})" for name in _mentions().get(formula_id, [])]


@cache
def _users() -> dict[str, list[Formula]]:
    found: dict[str, list[Formula]] = {}
    for formula in formulas().values():
        for used in formula.applied:
            found.setdefault(used.id, []).append(formula)
    return found


def users_of(formula_id: str) -> list[str]:
    """The formulas that apply a formula, as links."""
    return [f"[{f.title}]({f.id}.md)" for f in _users().get(formula_id, [])]


def places(formula_id: str) -> str:
    """Where a formula is explained, and what applies it, in a line; nothing where neither is so."""
    read, used = chapters_of(formula_id), users_of(formula_id)
    parts = [f"In the book: {', '.join(read)}."] if read else []
    parts += [f"Used by {', '.join(used)}."] if used else []
    return f"{' '.join(parts)}\n{{: .places }}" if parts else ""


def matrix_form(formula_id: str) -> str:
    """A formula as matrices: in short, or line by line where that is short enough to be read at a glance; nothing where it has no
    such form.
    """
    formula = find(formula_id)
    every, short = matrices.matrix_form(formula), matrices.summary(formula)
    long = len(every) > FEW + 1 or max(map(len, every), default=0) > SHORT
    if short and (long or (len(short) <= SHORT and not _leaves_open(formula))):
        every = short.split(NEXT)
    elif long:
        return ""
    return statement(Line("", *each.split(NEXT, 1)) for each in every) if every else ""


def _leaves_open(formula: Formula) -> bool:
    """Whether the form in short reads an array that only the other lines define."""
    short = summarise(formula)
    defined = {one.left.tensor.name for one in short}
    others = {one.left.tensor.name for one in equations(formula)} - defined
    parts = (part for one in short for part in one.right.walk())
    return any(isinstance(part, Entry) and part.tensor.name in others for part in parts)


def written_as_code(formula_id: str, *conventions: str) -> str:
    """A formula as plain Python, line by line."""
    options = dict(pair.split("=") for pair in conventions)
    return f"```python\n{python.python(find(formula_id), options)}\n```"


def implementation(formula_id: str) -> str:
    """The source of our implementation."""
    return source.of_function(examples.implementation(find(formula_id)))


def worked_example(formula_id: str, which: str = "1") -> str:
    """One worked example of a formula; ``which`` counts from 1."""
    formula = find(formula_id)
    return worked.one(formula, formula.worked[int(which) - 1])


def theorem(formula_id: str, name: str) -> str:
    """A theorem: what it says, how sure it is, and where its derivation stands."""
    formula = find(formula_id)
    stated = formula.theorems[name]
    assurance = Assurance[theorems.made(f"{formula_id}.{name}")["assurance"]]
    said = ", ".join(hypotheses(stated, formula, inline, code, "latex"))
    claims = [
        Line("", claim_text(claim, "latex", formula.choose(stated.conventions), stated.exists))
        for claim in stated.claims
    ]
    place = f"[derivation]({formula_id}.md#{anchor(name)})"
    head = f"{theorems.mark(assurance)} {sentence(stated.title).rstrip('.')} ({place})."
    return "\n\n".join(part for part in (head, said, statement(claims)) if part)


__all__ = [
    "chapters",
    "chapters_of",
    "implementation",
    "matrix_form",
    "places",
    "theorem",
    "users_of",
    "worked_example",
    "written_as_code",
]
