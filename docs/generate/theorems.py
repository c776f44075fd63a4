"""Theorems on a page: the sentence, the claim, its assurance, and the derivation as the checker followed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path

from spec.language import proving
from spec.language.flatten import apply_conventions
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.proving.proof import Checked, check
from spec.language.registry import formulas
from spec.language.render import describe_abbreviations, hypotheses, number_lines
from spec.language.theorem import Assurance, Theorem

from .derivations import AT_ONCE, Derivations, anchor, applied, record, rests, row, spoken
from .lines import helper
from .markup import Line, badge, code, folded, inline, maths, sentence, statement, table

MEANING = {
    Assurance.PROVED: "proved for all sizes",
    Assurance.PROVED_AT_SIZES: "proved at the listed sizes only",
    Assurance.ENCLOSED: "both sides enclosed by balls, to 30 digits, at random points",
    Assurance.TESTED: "tested numerically, nothing more",
    Assurance.REFUSED: "refused by the checker",
}
PARAGRAPH = "\n\n"
SHORT = 4
"""Steps up to which a derivation is open when the page is opened."""
MADE: dict[str, dict[str, str]] = {}
"""What :func:`make` gave, by ``formula.theorem``: here or in a process of this build or of an earlier one."""


def section(formula: Formula) -> str:
    """All theorems of a formula as Markdown, before them what their letters stand for."""
    said = (made(f"{formula.id}.{name}")["text"] for name in formula.theorems)
    parts = [*_abbreviations(formula), *_helpers(formula), *said]
    return "\n\n".join(part for part in parts if part)


def _abbreviations(formula: Formula) -> list[str]:
    """What the theorems abbreviate, each letter with its meaning; nothing where they abbreviate nothing."""
    if not formula.abbreviations:
        return []
    words = "The letters of the statement keep their meaning; besides, the theorems abbreviate"
    said = " ".join(filter(None, (words, describe_abbreviations(formula, code)))) + ":"
    return [said, abbreviations(formula, formula.abbreviations)]


def abbreviations(formula: Formula, names: Collection[str]) -> str:
    """Lines that say what these letters of a formula's theorems stand for, each with its meaning."""
    ours = formula.choose()
    lines = [
        replace(line, right=apply_conventions(line.right, ours))
        for name, line in formula.abbreviations.items()
        if name in names
    ]
    rows = (
        row(maths(x.equation, True), escape(line.left.tensor.meaning), x.ranges)
        for line, x in zip(lines, number_lines(lines, "latex"), strict=True)
    )
    return f'<div class="derivation letters" data-search-exclude>{"".join(rows)}</div>'


def _helpers(formula: Formula) -> list[str]:
    """The statements without a page that only the theorems apply."""
    said = dict.fromkeys(
        get_formula(name)
        for theorem in formula.theorems.values()
        for claim in theorem.claims
        for name in applied((claim.left, claim.right))
    )
    parts = list[str]()
    for callee in said:
        if callee.auxiliary and callee not in formula.applied:
            found = helper(callee, formula, formula.choose())
            lines = statement(Line("", x.equation, x.ranges) for x in found.lines)
            parts += [f"{found.before}", lines, found.after]
    return parts


def make(name: str) -> dict[str, str]:
    """All that a page shows of a theorem, ``formula.theorem``: its text and its assurance, as the checker judges it now."""
    formula_id, _, theorem = name.rpartition(".")
    formula = formulas()[formula_id]
    return piece(check(formula.theorems[theorem], formula))


def piece(item: Checked) -> dict[str, str]:
    """The same of a theorem that was checked just now."""
    return {"text": written(item), "assurance": item.assurance.name}


def made(name: str) -> dict[str, str]:
    """The same, made once."""
    if name not in MADE:
        MADE[name] = make(name)
    return MADE[name]


@cache
def shown(formula_id: str) -> str:
    """The section of a formula's theorems."""
    return section(formulas()[formula_id])


def counts(formula_id: str) -> dict[Assurance, int]:
    """How many theorems a formula has at each assurance."""
    names = (made(f"{formula_id}.{name}")["assurance"] for name in formulas()[formula_id].theorems)
    return {Assurance[name]: count for name, count in Counter(names).items()}


def summary(formula: Formula) -> str:
    """How many theorems a formula has at each assurance, as badges."""
    return " ".join(
        badge(f"{n} {word}", str(word), MEANING[word])
        for word, n in sorted(counts(formula.id).items(), reverse=True)
    )


def index() -> str:
    """Every theorem by its formula: what it says, how sure it is, and where its derivation stands."""
    parts = []
    for formula in formulas().values():
        rows = [
            (
                f'<a href="{formula.id}.html#{anchor(name)}">{escape(sentence(spoken(name)))}</a>',
                escape(sentence(theorem.title).rstrip(".")),
                mark(Assurance[made(f"{formula.id}.{name}")["assurance"]]),
            )
            for name, theorem in formula.theorems.items()
        ]
        if rows:
            parts.append(
                f"## {formula.title}\n\n{table(('Theorem', 'What it says', 'Assurance'), rows, 'theorems')}"
            )
    return "\n\n".join(parts)


def mark(assurance: Assurance) -> str:
    """An assurance as a badge."""
    return badge(str(assurance), str(assurance), MEANING[assurance])


def written(item: Checked) -> str:
    """A theorem as Markdown, with its derivation."""
    theorem = item.theorem
    made = Derivations(item.formula.choose(theorem.conventions), theorem.exists)
    parts = [
        f"### {sentence(spoken(theorem.name))} {{#{anchor(theorem.name)}}}",
        f"{mark(item.assurance)} {sentence(theorem.title).rstrip('.')}.",
        _hypotheses(theorem, item.formula),
        statement(
            made.line(c.claim, "" if len(item.claims) == 1 else str(i)) for i, c in enumerate(item.claims, 1)
        ),
    ]
    if item.refusal:
        parts.append(f"``` {{ .text .said }}\n{item.refusal}\n```")
    parts += [*_derivation(item, made), rests(theorem)]
    parts.append(folded("The checker’s record", record(item), "record"))
    return "\n\n".join(part for part in parts if part)


def _derivation(item: Checked, made: Derivations) -> list[str]:
    """The proof of each claim; folded unless there is no more to it than reasons. What serves several claims stands once."""
    shown: dict[str, list[str]] = {}
    for i, c in enumerate(item.claims, 1):
        doubt = "" if c.assurance == item.assurance else f" {mark(c.assurance)}"
        if text := made.of(c):
            shown.setdefault(text, []).append(f"**({i})**{doubt}")
    parts = [
        (
            f"{', '.join(numbers)}{' ' if text.startswith(AT_ONCE) else PARAGRAPH}"
            if len(item.claims) > 1
            else ""
        )
        + text
        for text, numbers in shown.items()
    ]
    if all(text.startswith(AT_ONCE) for text in shown):
        return parts
    short = sum(1 for c in item.claims for _ in c.every_step) <= SHORT
    return [folded("Derivation", "\n\n".join(parts), "proof", short)]


def _hypotheses(theorem: Theorem, formula: Formula) -> str:
    """The theorem's own quantifiers and hypotheses, in a line."""
    text = ", ".join(
        hypotheses(theorem, formula, inline, lambda said: f"<code>{escape(said)}</code>", "latex")
    )
    return f"{text[0].upper()}{text[1:]}:" if text else ""


def trusted() -> str:
    """What has to be trusted of the checker, as its package says it, and the size of each of its rooms."""
    _, _, said = (proving.__doc__ or "").strip().partition("\n\n")
    rows = []
    for room in sorted(p for p in Path(*proving.__path__).iterdir() if (p / "__init__.py").exists()):
        modules = sorted(p for p in room.glob("*.py") if p.stem != "__init__")
        lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in modules)
        doc = import_module(f"{proving.__name__}.{room.name}").__doc__ or ""
        names = ", ".join(f"<code>{p.stem}</code>" for p in modules)
        rows.append((f"<code>{room.name}</code>", escape(doc), names, str(lines)))
    return f"{said}\n\n{table(('Room', 'What it does', 'Modules', 'Lines'), rows, 'rooms')}"


def assurances() -> str:
    """The assurance words and what each means."""
    return table(
        ("Word", "Meaning"), [(mark(a), escape(MEANING[a])) for a in sorted(Assurance, reverse=True)]
    )
