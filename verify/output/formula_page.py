"""The page of a formula in one file: for one of a user's, what the generated pages are for ours.

HTML stands by itself, with MathML where latex2mathml is installed and plain letters elsewhere; Markdown has LaTeX between
dollars, as GitHub and most builders of sites read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.evaluate import bound
from spec.language.expr import TRUE
from spec.language.flatten import apply_conventions
from spec.language.render import claim_text, hypotheses, latex, number_lines, statement, unicode
from spec.language.worked import agrees, difference, recompute
from verify.faults import Unusable
from verify.output.formula import check_theorem, symbols

if TYPE_CHECKING:
    from spec.language.formula import Formula, Worked
    from spec.language.proving.proof import Checked
    from spec.language.render import Line

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse }
th, td { text-align: left; padding: .25rem .7rem; border-bottom: 1px solid #ddd; vertical-align: top }
.line { display: flex; gap: 1rem; padding: .3rem 0; overflow-x: auto; align-items: baseline }
.line .of { margin-left: auto; color: #666 } .why { color: #555; margin: 0 0 .4rem 2rem }
code { background: #f3f3f3; padding: 0 .2em } details { margin: .6rem 0 } summary { cursor: pointer }
"""


class Markdown:
    """Markdown, with LaTeX between dollars."""

    style, between = "latex", "\n\n"

    def maths(self, text: str) -> str:
        """A formula in a line of text."""
        return f"${text}$"

    def code(self, text: str) -> str:
        """Text as code."""
        return f"`{text}`"

    def plain(self, text: str) -> str:
        """Words, in which nothing is markup."""
        return re.sub(r"([*_`<$\\])", r"\\\1", text)

    def heading(self, level: int, text: str) -> str:
        """A heading."""
        return f"{'#' * level} {text}"

    def line(self, number: str, text: str, of: str = "") -> str:
        """A numbered line of mathematics, and the ranges of its indices."""
        reach = rf" \qquad {of}" if of else ""
        tag = rf" \tag{{{number}}}" if number else ""
        return f"$${text}{reach}{tag}$$"

    def why(self, text: str) -> str:
        """The reason of a step."""
        return f"> {text}"

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
        """A table; its cells are set already."""
        made = [head, ["---"] * len(head), *rows]
        bars = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in made)
        return "\n".join(f"| {row} |" for row in bars)

    def fold(self, title: str, body: str) -> str:
        """A part that is opened on demand."""
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"

    def whole(self, title: str, body: str) -> str:
        """The page."""
        return f"{body}\n"


class Html(Markdown):
    """One HTML file that needs nothing else."""

    style, between = "latex" if find_spec("latex2mathml") else "unicode", ""

    def maths(self, text: str) -> str:
        """A formula: MathML, or its letters."""
        if self.style == "unicode":
            return f"<code>{escape(text)}</code>"
        from latex2mathml.converter import convert

        named = re.sub(r"\\operatorname\{([^}]*)\}", lambda m: rf"\text{{{m[1]}}}".replace(r"\_", "_"), text)
        return str(convert(named.replace(r"\bar{", r"\overline{"))).replace("\n", " ")

    def code(self, text: str) -> str:
        """Text as code."""
        return f"<code>{escape(text)}</code>"

    def plain(self, text: str) -> str:
        """Words, in which nothing is markup."""
        return escape(text)

    def heading(self, level: int, text: str) -> str:
        """A heading."""
        return f"<h{level}>{text}</h{level}>"

    def line(self, number: str, text: str, of: str = "") -> str:
        """A numbered line of mathematics, and the ranges of its indices."""
        label, reach = f"<span>({number})</span>" if number else "", self.maths(of) if of else ""
        return (
            f'<div class="line">{label}<span>{self.maths(text)}</span><span class="of">{reach}</span></div>'
        )

    def why(self, text: str) -> str:
        """The reason of a step."""
        return f'<p class="why">{text}</p>'

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
        """A table; its cells are set already."""
        cells = ["".join(f"<th>{cell}</th>" for cell in head)]
        cells += ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"

    def fold(self, title: str, body: str) -> str:
        """A part that is opened on demand."""
        return f"<details><summary>{title}</summary>{body}</details>"

    def whole(self, title: str, body: str) -> str:
        """The page; what is no block of its own becomes a paragraph."""
        parts = (part if part.startswith("<") else f"<p>{part}</p>" for part in body.split("\n\n"))
        head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
        text = "\n".join(parts)
        return f'<!doctype html><html lang="en"><head>{head}</head><body>\n{text}\n</body></html>\n'


PAGES = {".html": Html, ".htm": Html, ".md": Markdown, ".markdown": Markdown}


def page(formula: Formula, suffix: str, done: dict[str, Checked] | None = None) -> str:
    """The page of a formula, as the suffix of its file says; theorems that are ``done`` are not proved again.

    Raises:
        Unusable: a suffix of neither HTML nor Markdown.
    """
    if suffix.lower() not in PAGES:
        raise Unusable(f"a page is written as .html or .md; got {suffix or 'a name without a suffix'}")
    made = _Page(formula, PAGES[suffix.lower()](), {} if done is None else done)
    return made.to.whole(formula.title, "\n\n".join(made.parts()))


class _Page:
    """What a page says of a formula, block by block."""

    def __init__(self, formula: Formula, to: Markdown, done: dict[str, Checked]) -> None:
        self.formula, self.to, self.done = formula, to, done
        self.set = latex if to.style == "latex" else unicode

    def parts(self) -> Iterator[str]:
        """The blocks in reading order."""
        formula, to = self.formula, self.to
        yield to.heading(1, to.plain(formula.title))
        yield to.code(formula.id)
        yield from (to.plain(text) for text in (formula.why, formula.notes) if text)
        yield to.heading(2, "Statement")
        yield from self._lines(statement(formula, None, to.style))
        for convention in formula.conventions:
            for option in convention.options:
                if option != convention.default:
                    lines = statement(formula, {convention.name: option}, to.style)
                    yield to.fold(
                        f"Under {to.code(f'{convention.name} = {option}')}",
                        to.between.join(self._lines(lines)),
                    )
        yield to.heading(2, "Symbols")
        outputs = formula.law.returns if formula.law is not None else formula.outputs
        rows = ((to.code(a), to.code(b) if b else "", to.plain(c)) for a, b, c in symbols(formula, outputs))
        yield to.table(("Symbol", "Shape", "Meaning"), rows)
        yield from self._conventions()
        yield from self._pitfalls()
        if formula.worked:
            yield to.heading(2, "Worked examples")
            for worked in formula.worked:
                yield from self._worked_example(worked)
        yield from self._theorems()
        yield from self._gradient()
        if formula.sources:
            yield to.heading(2, "Sources")
            for source in formula.sources:
                work = source.reference
                said = ", ".join(part for part in (str(source), work.title, work.link) if part)
                yield to.plain(said)

    def _lines(self, lines: Iterable[Line], first: bool = True) -> Iterator[str]:
        return (self.to.line(str(x.number) if first else "", x.equation, x.ranges) for x in lines)

    def _conventions(self) -> Iterator[str]:
        if self.formula.conventions:
            yield self.to.heading(2, "Conventions")
            rows = (
                (
                    self.to.code(f"{c.name}={o}") + (" (default)" if o == c.default else ""),
                    self.to.plain(text),
                )
                for c in self.formula.conventions
                for o, text in c.options.items()
            )
            yield self.to.table(("Option", "Meaning"), rows)

    def _pitfalls(self) -> Iterator[str]:
        if self.formula.pitfalls:
            yield self.to.heading(2, "What goes wrong")
            kinds = ("convention", "theorem", "mutant")
            rows = (
                (
                    self.to.plain(p.text),
                    ", ".join(f"{k} {self.to.code(getattr(p, k))}" for k in kinds if getattr(p, k)),
                )
                for p in self.formula.pitfalls
            )
            yield self.to.table(("Mistake", "Shown by"), rows)

    def _worked_example(self, worked: Worked) -> Iterator[str]:
        to = self.to
        yield to.plain(worked.title)
        given = [f"{name} = {str(value).replace(chr(39), '')}" for name, value in worked.inputs.items()]
        given += [f"{name}={option}" for name, option in worked.conventions.items()]
        yield to.code("; ".join(given))
        rows = []
        if wrong := difference(self.formula, worked):
            yield to.why(to.plain(wrong))
            return
        for found, printed in recompute(self.formula, worked):
            same = "agrees" if agrees(found, printed, worked.decimals) else "differs"
            rows.append((to.code(str(printed)), to.code(f"{float(found.mid()):.12g}"), same))
        yield to.table(("Worked out", "From the statement", f"To {worked.decimals} decimals"), rows)
        yield from self._bound(worked)

    def _bound(self, worked: Worked) -> Iterator[str]:
        """How far a right implementation may be from the statement, at these inputs."""
        try:
            given = {name: _numbers(value) for name, value in worked.inputs.items()}
            found = [
                bound(self.formula, given, worked.conventions, kind)[0][1].max()
                for kind in ("float64", "float32")
            ]
        except (ValueError, KeyError, TypeError):  # numbers such as "log(4)", which no float is
            return
        yield f"A right implementation is within {found[0]:.2g} of this in float64, {found[1]:.2g} in float32."

    def _theorems(self) -> Iterator[str]:
        formula, to = self.formula, self.to
        if not formula.theorems:
            return
        yield to.heading(2, "Theorems")
        if formula.abbreviations:
            ours = formula.choose()
            short = (
                replace(x, right=apply_conventions(x.right, ours)) for x in formula.abbreviations.values()
            )
            yield "The theorems abbreviate:"
            yield from self._lines(number_lines(short, to.style), first=False)
        for name in formula.theorems:
            yield from self._theorem(name)

    def _theorem(self, name: str) -> Iterator[str]:
        to, found = self.to, check_theorem(self.formula, name, self.done)
        theorem, ours = found.theorem, self.formula.choose(found.theorem.conventions)
        yield to.heading(3, to.plain(name.replace("_", " ")))
        yield f"{to.plain(theorem.title)}. ({found.assurance})"
        if words := ", ".join(hypotheses(theorem, self.formula, to.maths, to.code, to.style)):
            yield f"{words[0].upper()}{words[1:]}:"
        for item in found.claims:
            where = "" if item.claim.where == TRUE else self.set(apply_conventions(item.claim.where, ours))
            whole = replace(item.claim, where=TRUE)
            yield to.line("", claim_text(whole, to.style, ours, theorem.exists), where)
            steps = [part for step in item.steps for part in self._step(step, ours)]
            if len(item.steps) == 1:
                yield to.why(f"At once: {to.plain(item.steps[0].why)}.")
            elif steps:
                yield to.fold("Derivation", to.between.join(steps))
            if item.refusal:
                yield to.why(to.plain(item.refusal))

    def _step(self, step: Any, ours: dict[str, str]) -> Iterator[str]:
        sign = {"=": "=", "<": "<", "<=": r"\le" if self.to.style == "latex" else "≤"}[step.relation]
        yield self.to.line("", f"{sign} {self.set(apply_conventions(step.right, ours))}")
        yield self.to.why(self.to.plain(step.why))

    def _gradient(self) -> Iterator[str]:
        if self.formula.law is not None or not (found := vjp(self.formula)).gradients:
            return
        yield self.to.heading(2, "Gradient")
        yield "The vector–Jacobian product, derived from the lines; a bar marks the derivative of the loss by what is under it."
        lines = list(self._lines(number_lines(found.flat.lines, self.to.style)))
        yield self.to.fold(f"Its {len(lines)} lines", self.to.between.join(lines))


def _numbers(value: Any) -> Any:
    """A worked example's input as floats; masks and integers as they are."""
    if isinstance(value, list | tuple):
        return [_numbers(part) for part in value]
    return float(value) if isinstance(value, str) else value


__all__ = ["page"]
