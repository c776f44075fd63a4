"""The book: its chapters, which of them a formula stands in, and what chapters show of statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from spec.language.formula import Formula
from spec.language.registry import find, formulas
from spec.language.render import claim_text, hypotheses, matrices, python
from spec.language.render.matrices.reading import Equation
from spec.language.render.matrices.terms import Entry
from spec.language.theorem import Assurance, Theorem
from spec.language.trees import refs

from . import examples, source, theorems, worked
from .derivations import anchor
from .markup import Line, code, inline, sentence, statement

DOCS = Path(__file__).parents[1]
LINES, NAMES, FEW = 7, 7, 2
"""What is read at a glance: so many equations, each of at most so many names and numbers; or in short so few, of so many names
together.
"""
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
    every, short = matrices.equations(formula), matrices.summarise(formula)
    lengths = [matrices.length(one.right) for one in short]
    is_long = len(every) > LINES or any(matrices.length(one.right) > NAMES for one in every)
    is_brief = 1 <= len(short) <= FEW and sum(lengths) <= NAMES
    if (is_brief and not _leaves_open(every, short)) or (short and is_long):
        shown = matrices.summary(formula)
    else:
        shown = [] if is_long else matrices.matrix_form(formula)
    return statement(Line("", *each) for each in shown) if shown else ""


def _leaves_open(every: Sequence[Equation], short: Sequence[Equation]) -> bool:
    """Whether the form in short reads an array that only the other lines define."""
    defined = {one.left.tensor.name for one in short}
    others = {one.left.tensor.name for one in every} - defined
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
    """A theorem: what it says, how sure it is, where its derivation stands, and what the letters abbreviate that are its own."""
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
    letters = _abbreviated(formula, stated)
    where = f"Here\n\n{theorems.abbreviations(formula, letters)}" if letters else ""
    return "\n\n".join(part for part in (head, said, statement(claims), where) if part)


def _abbreviated(formula: Formula, stated: Theorem) -> set[str]:
    """The abbreviations that a theorem's claims name, and those that these are made of."""
    waiting = [part for claim in stated.claims for part in (claim.left, claim.right, claim.where)]
    found = set[str]()
    while waiting:
        new = {ref.tensor.name for ref in refs(waiting.pop())} & formula.abbreviations.keys() - found
        found |= new
        waiting += [formula.abbreviations[name].right for name in new]
    return found


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
