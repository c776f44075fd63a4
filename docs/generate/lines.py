"""Statements on a page: numbered lines by convention, the symbols they use, and the primitive lines they stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import product

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import NO_LABEL, Tensor
from spec.language.convention import Convention
from spec.language.expr import Delta, Negative, Node, Ref, Times
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.lines import Definition
from spec.language.procedure import Procedure
from spec.language.render import Line as Numbered
from spec.language.render import latex, number_lines
from spec.language.render import statement as lines_of
from spec.language.trees import free_symbols, transform

from . import peers
from .markup import Line, badge, inline, matrix, prose, statement, tab, table, within

ROLES = {
    "data": "data may have leading batch dimensions",
    "parameter": "a parameter has none",
    "mask": "a mask that is left out masks nothing",
    "number": "a number is a Python number",
    "size": "a size that is an input is a Python integer",
    "constant": "a constant is fixed by the statement",
}
"""What has to be said of a role once for all inputs that have it."""
SETS = {
    "real": r"\mathbb{R}",
    "positive": r"\mathbb{R}_{>0}",
    "nonnegative": r"\mathbb{R}_{\ge 0}",
    "share": r"[0, 1]",
    "boolean": r"\mathbb{B}",
}


def pitfalls(formula: Formula | Procedure) -> str:
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
        rows.append((prose(pitfall.text), shown))
    return table(("Mistake", "Shown by"), rows, "pitfalls")


def as_lines(definitions: Iterable[Definition], first: int = 1) -> list[Line]:
    """Definitions as numbered lines."""
    return [Line(str(x.number), x.equation, x.ranges) for x in number_lines(definitions, "latex", first)]


def without_copies(definitions: Sequence[Definition]) -> list[Definition]:
    """The same lines less those that say of an array only that it is another one, which is written by its name instead."""
    lines = list(definitions)
    for copy in definitions:
        right, left = copy.right, copy.left
        if not isinstance(right, Ref) or right.index != left.index or copy.accumulate:
            continue
        ends = {symbol: (first, last + 1) for symbol, first, last in copy.ranges}
        every = all(
            ends.get(one) == (0, size) for one, size in zip(left.index, left.tensor.shape, strict=True)
        )
        named = right.tensor.shape == left.tensor.shape and any(
            line.left.tensor == right.tensor for line in lines
        )
        if not every or not named:
            continue
        renamed = partial(_renamed, old=right.tensor, new=left.tensor)
        lines = [
            replace(line, left=transform(line.left, renamed), right=transform(line.right, renamed))
            for line in lines
            if line.left != left
        ]
    return lines


def _renamed(part: Basic, old: Tensor, new: Tensor) -> Basic | None:
    return Ref(new, *part.index) if isinstance(part, Ref) and part.tensor == old else None


def by_convention(formula: Formula) -> str:
    """The statement under our conventions, and in further tabs under every other option of each of them."""
    ours = _sections(formula, {})
    shown = _written(ours)
    if not formula.conventions:
        return shown
    tabs = [tab("Ours", shown)]
    before = {(x.equation, x.ranges) for section in ours for x in section.lines}
    inside = dict[str, list[str]]()
    for convention in formula.conventions:
        for option, meaning in convention.options.items():
            if option == convention.default:
                continue
            there = _sections(formula, {convention.name: option})
            if all((x.equation, x.ranges) in before for section in there for x in section.lines):
                inside.setdefault(_appliers(formula, convention), []).append(f"`{convention.name}={option}`")
            else:
                said = f"{meaning[0].upper()}{meaning[1:]}.\n\n{_written(there, before)}"
                tabs.append(tab(f"{convention.name} = {option}", said))
    same = [
        f"The lines read the same under {', '.join(options)}: the difference is inside {links}."
        for links, options in inside.items()
    ]
    return "\n".join(tabs if len(tabs) > 1 else [shown]) + "".join(f"\n\n{each}" for each in same)


def _appliers(formula: Formula, convention: Convention) -> str:
    """The formulas that a formula applies and that have the convention, as links."""
    return " and ".join(
        f"[{within(f.title)}]({f.id}.md)"
        for f in formula.applied
        if not f.auxiliary and any(c.name == convention.name for c in f.conventions)
    )


@dataclass(frozen=True)
class Section:
    """Lines with the words before them and after them; those of the formula itself have none."""

    lines: list[Numbered]
    before: str = ""
    after: str = ""


def _sections(formula: Formula, options: Mapping[str, str]) -> list[Section]:
    """The lines of a formula, then those of each that it applies and that has no page of its own."""
    own = Section(lines_of(formula, options, "latex"))
    return [own, *(helper(callee, formula, options) for callee in formula.applied if callee.auxiliary)]


def helper(callee: Formula, formula: Formula, options: Mapping[str, str]) -> Section:
    """A statement without a page, where a formula applies it: what it gives, its lines, and what its own letters mean."""
    results = ", ".join(f"{inline(latex(t))} – {escape(t.meaning)}" for t in callee.outputs)
    call = inline(latex(callee(*callee.inputs)[()]))
    chosen = callee.choose({c.name: options[c.name] for c in callee.conventions if c.name in options})
    known = {t.name: t.meaning for t in (*formula.tensors, *(d.left.tensor for d in formula.definitions))}
    known |= {symbol.name: meaning for symbol, meaning in formula.sizes.items()}
    letters = [(t, t.meaning) for t in (*callee.tensors, *(d.left.tensor for d in callee.definitions))]
    letters += [(symbol, callee.sizes[symbol]) for symbol in callee.sizes]
    said = dict.fromkeys(
        f"{inline(latex(letter))} – {escape(meaning)}"
        for letter, meaning in letters
        if letter not in callee.outputs and known.get(str(letter)) != meaning
    )
    return Section(
        in_blocks(own_lines(callee, chosen)),
        f"Here {call} gives {results}:",
        f"Its letters: {'; '.join(said)}." if said else "",
    )


def in_blocks(lines: Iterable[Definition]) -> list[Numbered]:
    """Lines as text; those that define a matrix block by block, as one equation between blocks."""
    found = list(lines)
    places = [d.left.index for d in found]
    rows, columns = (list(dict.fromkeys(p[axis] for p in places if len(p) == 2)) for axis in (0, 1))
    if len(rows) < 2 or len(columns) < 2 or places != list(product(rows, columns)):
        return number_lines(found, "latex")
    factor, entries = _factored([d.right for d in found])
    left, right = (
        matrix(side[k : k + len(columns)] for k in range(0, len(side), len(columns)))
        for side in ([latex(d.left) for d in found], [latex(entry) for entry in entries])
    )
    return [Numbered(1, f"{left} = {factor} {right}", number_lines(found, "latex")[0].ranges)]


def _factored(entries: list[Node]) -> tuple[str, list[Node]]:
    """A Kronecker delta that every entry begins with, as LaTeX, and the entries without it."""
    first = entries[0].args[0]
    rest = [_without(first, entry) for entry in entries]
    if not isinstance(first, Delta) or None in rest:
        return "", entries
    return latex(first), [entry for entry in rest if entry is not None]


def _without(factor: Basic, entry: Node) -> Node | None:
    if isinstance(entry, Negative):
        inner = _without(factor, entry.args[0])
        return None if inner is None else -inner
    return entry.args[1] if isinstance(entry, Times) and entry.args[0] == factor else None


def _written(sections: list[Section], before: Collection[tuple[str, str]] | None = None) -> str:
    """Sections one below the other; lines that are not among those ``before`` are marked. The first of ours are link targets."""
    parts = []
    for section in sections:
        made = [
            Line(
                "" if section.before else str(x.number),
                x.equation,
                x.ranges,
                "" if before is None or (x.equation, x.ranges) in before else "changed",
            )
            for x in section.lines
        ]
        anchor = "" if section.before or before is not None else "line"
        parts += [section.before, statement(made, anchor), section.after]
    return "\n\n".join(part for part in parts if part)


def conventions_table(formula: Formula | Procedure) -> str:
    """Each convention's options, which of them is ours, and who follows which."""
    rows = []
    for convention in formula.conventions:
        for place, (option, meaning) in enumerate(convention.options.items()):
            mark = " " + badge("ours", "ours") if option == convention.default else ""
            rows.append(
                (
                    f"<code>{convention.name}</code>" if place == 0 else "",
                    f"<code>{option}</code>{mark}",
                    prose(meaning),
                    ", ".join(map(escape, peers.following(formula, convention, option))) or "–",
                )
            )
    return table(("Convention", "Option", "Meaning", "Followed by"), rows, "conventions")


def symbols(formula: Formula) -> dict[str, tuple[str, str, str, str]]:
    """Every symbol by its name in the statement: its letter, what it means, the set it is from, and its part: an input's role,
    or the line that defines it.
    """
    rows = {
        str(item): _size_row(formula, item, "size")
        if isinstance(item, sympy.Symbol)
        else _row(item, _role(item))
        for item in formula.inputs
    }
    rows |= {
        str(c): (inline(latex(c)), prose(c.meaning), inline(rf"= {_shown(v)}"), "constant")
        for c, v in formula.constants.items()
    }
    outputs = {t.name for t in formula.outputs}
    defined: dict[str, tuple[Tensor, list[str]]] = {}
    for place, line in enumerate(own_lines(formula, formula.choose()), start=1):
        defined.setdefault(line.name, (line.left.tensor, []))[1].append(str(place))
    for name, (tensor, places) in defined.items():
        where = f"line {', '.join(places)}"
        if name in outputs:
            where = f"{'result' if formula.law is None else 'law of the result'}, {where}"
        rows[name] = _row(tensor, where)
    for size in sorted((s for s in sizes_of(formula) if s.name not in rows), key=lambda s: s.name):
        rows[size.name] = _size_row(formula, size, "read off the shapes")
    return rows


def symbols_table(formula: Formula) -> str:
    """``symbols`` as a table."""
    return table(("Symbol", "Meaning", "In", "Part"), symbols(formula).values(), "symbols")


def roles(formula: Formula) -> str:
    """What is to be known of the roles that occur among a formula's inputs, as a sentence."""
    found = {"size" if isinstance(item, sympy.Symbol) else _role(item) for item in formula.inputs}
    found |= {"constant"} if formula.constants else set()
    said = [words for role, words in ROLES.items() if role in found]
    said += ["𝔹 is {False, True}"] if any(t.domain == "boolean" for t in formula.tensors) else []
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _role(item: Tensor) -> str:
    return "random generator" if item.role == "generator" else item.role


def sizes_of(formula: Formula) -> set[sympy.Symbol]:
    """The size symbols that a formula's shapes are made of."""
    tensors = [*formula.tensors, *formula.outputs, *(line.left.tensor for line in formula.definitions)]
    return {s for t in tensors for size in t.shape if isinstance(size, Basic) for s in free_symbols(size)}


def _shown(value: object) -> str:
    return latex(value) if isinstance(value, Node) else sympy.latex(sympy.sympify(value))


def _size_row(formula: Formula, symbol: sympy.Symbol, part: str) -> tuple[str, str, str, str]:
    return (
        inline(latex(symbol)),
        prose(formula.sizes.get(symbol, "")),
        inline(r"\{1, 2, \ldots\}"),
        part,
    )


def _row(tensor: Tensor, part: str) -> tuple[str, str, str, str]:
    return inline(latex(tensor)), prose(tensor.meaning), _space(tensor), part


def _space(tensor: Tensor) -> str:
    """The set that a tensor is from, such as ℝⁿˣᵈ."""
    if tensor.domain == "generator":
        return "–"
    if tensor.domain in ("integer", "label"):
        none = rf"{NO_LABEL}, " if tensor.domain == "label" else ""
        range_ = rf"\{{{none}0, \ldots, {latex(tensor.below - 1)}\}}"
        entries = range_ if tensor.below != 0 else r"\mathbb{Z}"
    elif tensor.below != 0:
        entries = rf"(0, {latex(tensor.below)}]"
    else:
        entries = SETS[tensor.domain]
    sizes = (rf"({latex(n)})" if isinstance(n, sympy.Add) else latex(n) for n in tensor.shape)
    shape = r" \times ".join(sizes)
    if not shape:
        return inline(entries)
    return inline(rf"{{{entries}}}^{{{shape}}}")
