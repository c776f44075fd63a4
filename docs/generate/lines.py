"""Statements on a page: numbered lines by convention, the symbols they use, and the primitive lines they stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from html import escape

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.expr import Node
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.lines import Definition
from spec.language.render import Line as Numbered
from spec.language.render import latex, numbered
from spec.language.render import statement as lines_of
from spec.language.trees import free_symbols

from . import peers
from .markup import Line, badge, inline, statement, tab, table

ROLES = {
    "data": "data; leading batch dimensions allowed",
    "parameter": "parameter; no batch dimensions",
    "mask": "optional mask; left out, nothing is masked",
    "number": "a Python number",
    "constant": "fixed by the statement",
    "generator": "a random generator",
}
SETS = {"real": r"\mathbb{R}", "positive": r"\mathbb{R}_{>0}", "nonnegative": r"\mathbb{R}_{\ge 0}"}


def pitfalls(formula: Formula) -> str:
    """What implementations get wrong, each with what shows it."""
    rows = []
    for pitfall in formula.pitfalls:
        if pitfall.theorem:
            anchor = f"#theorem-{pitfall.theorem.replace('_', '-')}"
            shown = f'theorem <a href="{anchor}">{escape(pitfall.theorem.replace("_", " "))}</a>'
        elif pitfall.convention:
            shown = f'convention <a href="#conventions"><code>{escape(pitfall.convention)}</code></a>'
        else:
            shown = f"wrong variant <code>{escape(pitfall.mutant)}</code>"
        rows.append((escape(pitfall.text), shown))
    return table(("What goes wrong", "Shown by"), rows, "pitfalls")


def as_lines(definitions: Iterable[Definition], first: int = 1) -> list[Line]:
    """Definitions as numbered lines."""
    return [Line(str(x.number), x.equation, x.ranges) for x in numbered(definitions, "latex", first)]


def by_convention(formula: Formula) -> str:
    """The statement under our conventions, and in further tabs under every other option of each of them."""
    ours = _sections(formula, {})
    shown = _written(ours)
    if not formula.conventions:
        return shown
    tabs = [tab("Ours", shown)]
    before = {(x.equation, x.ranges) for _, lines in ours for x in lines}
    for convention in formula.conventions:
        for option, meaning in convention.options.items():
            if option == convention.default:
                continue
            there = _sections(formula, {convention.name: option})
            body = _written(there, before)
            if all((x.equation, x.ranges) in before for _, lines in there for x in lines):
                links = " and ".join(
                    f"[{f.title.lower()}]({f.id}.md)" for f in formula.applied if not f.auxiliary
                )
                body += f"\n\nThe lines read the same; the difference is inside {links}, which they apply."
            tabs.append(tab(f"{convention.name} = {option}", f"{meaning[0].upper()}{meaning[1:]}.\n\n{body}"))
    return "\n".join(tabs)


Sections = list[tuple[str, list[Numbered]]]
"""The lines of a formula, then those of each that it applies and that has no page of its own, with words before them."""


def _sections(formula: Formula, options: Mapping[str, str]) -> Sections:
    found: Sections = [("", lines_of(formula, options, "latex"))]
    for callee in formula.applied:
        if callee.auxiliary:
            results = ", ".join(inline(latex(t)) for t in callee.outputs)
            call = inline(latex(callee(*callee.inputs)[()]))
            own = {c.name: options[c.name] for c in callee.conventions if c.name in options}
            found.append((f"where {call} gives {results}, with", lines_of(callee, own, "latex")))
    return found


def _written(sections: Sections, before: Collection[tuple[str, str]] | None = None) -> str:
    """Sections one below the other; lines that are not among those ``before`` are marked. The first of ours are link targets."""
    parts = []
    for words, lines in sections:
        made = [
            Line(
                "" if words else str(x.number),
                x.equation,
                x.ranges,
                "" if before is None or (x.equation, x.ranges) in before else "changed",
            )
            for x in lines
        ]
        parts += [words] if words else []
        parts.append(statement(made, "" if words or before is not None else "line"))
    return "\n\n".join(parts)


def conventions_table(formula: Formula) -> str:
    """Each convention's options, which of them is ours, and who follows which."""
    rows = []
    for convention in formula.conventions:
        for place, (option, meaning) in enumerate(convention.options.items()):
            mark = " " + badge("ours", "ours") if option == convention.default else ""
            rows.append(
                (
                    f"<code>{convention.name}</code>" if place == 0 else "",
                    f"<code>{option}</code>{mark}",
                    escape(meaning),
                    ", ".join(map(escape, peers.following(formula, convention, option))) or "–",
                )
            )
    return table(("Convention", "Option", "Meaning", "Followed by"), rows)


def symbols_table(formula: Formula) -> str:
    """Every symbol with its meaning, shape, domain and role."""
    rows = [
        _size_row(formula, item) if isinstance(item, sympy.Symbol) else _row(item, ROLES[item.role])
        for item in formula.inputs
    ]
    rows += [
        (inline(latex(c)), escape(c.meaning), "–", inline(_shown(v)), ROLES["constant"])
        for c, v in formula.constants.items()
    ]
    options = formula.choose()
    outputs = {t.name for t in formula.outputs}
    defined: dict[str, tuple[Tensor, list[str]]] = {}
    for place, line in enumerate(own_lines(formula, options), start=1):
        defined.setdefault(line.name, (line.left.tensor, []))[1].append(f"({place})")
    for name, (tensor, places) in defined.items():
        where = "the result" if name in outputs else "an intermediate"
        if formula.law is not None and name in outputs:
            where = "the law of the result"
        rows.append(_row(tensor, f"{where}; line {', '.join(places)}"))
    listed = {str(i) for i in formula.inputs}
    names = sorted({s for s in sizes_of(formula) if s.name not in listed}, key=lambda s: s.name)
    rows += [(*_size_row(formula, s)[:-1], "a size, read off the shapes") for s in names]
    return table(("Symbol", "Meaning", "Shape", "Domain", "Role"), rows, "symbols")


def sizes_of(formula: Formula) -> set[sympy.Symbol]:
    """The size symbols that a formula's shapes are made of."""
    tensors = [*formula.tensors, *formula.outputs, *(line.left.tensor for line in formula.definitions)]
    return {s for t in tensors for size in t.shape if isinstance(size, Basic) for s in free_symbols(size)}


def _shown(value: object) -> str:
    return latex(value) if isinstance(value, Node) else sympy.latex(sympy.sympify(value))


def _size_row(formula: Formula, symbol: sympy.Symbol) -> tuple[str, str, str, str, str]:
    meaning = escape(formula.sizes.get(symbol, ""))
    return inline(latex(symbol)), meaning, "–", inline(r"\{1, 2, \ldots\}"), "a size; a Python integer"


def _row(tensor: Tensor, role: str) -> tuple[str, str, str, str, str]:
    sizes = (rf"({latex(n)})" if isinstance(n, sympy.Add) else latex(n) for n in tensor.shape)
    shape = inline(r" \times ".join(sizes)) if tensor.shape else "–"
    if tensor.domain == "integer" and tensor.below != 0:
        domain = inline(rf"\{{0, \ldots, {latex(tensor.below - 1)}\}}")
    elif tensor.domain == "generator":
        domain = "–"
    else:
        domain = inline(SETS[tensor.domain]) if tensor.domain in SETS else tensor.domain
    return inline(latex(tensor)), escape(tensor.meaning), shape, domain, role
