"""Pieces of HTML that pages are put together from: mathematics, numbered lines, tables, badges, folded blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from textwrap import indent

import sympy
from latex2mathml.converter import convert

from spec.language.render import latex as latex_of

__all__ = [
    "Line",
    "badge",
    "code",
    "escape",
    "folded",
    "inline",
    "letters",
    "matrix",
    "maths",
    "number",
    "prose",
    "sentence",
    "statement",
    "tab",
    "table",
    "within",
]

WORD = re.compile(r"[A-Za-z][a-z]+(?:[-'’][a-z]+)*[,:;.]?")
"""A word of the language, rather than a symbol: more than one letter, and none with an index, an exponent or a bracket."""
KEPT = re.compile(r"<(math|pre|code|svg|script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
"""Parts of HTML that are no text to be read, or are set already: elements with all that is in them, and tags."""
LETTER = re.compile(
    r"(?<![\w.])((?:[A-Za-zα-ωΑ-Ω]|alpha|beta|gamma|epsilon|omega|rho|sigma|tau|theta)_[A-Za-z0-9]+)(?![\w(])"
)
"""A letter of a statement with its index, as one types it."""
FUNCTIONS = {"cos", "exp", "ln", "log", "max", "min", "sin", "tanh"}
SAID_OF_SYMBOLS = {"and", "has", "is", "minus", "or", "plus", "times"}
"""What follows the letter "a" where it is not the article."""


@cache
def maths(latex: str, block: bool = False) -> str:
    """LaTeX as MathML, on one line. Names of formulas become text: they may hold an underscore, as words may."""
    latex = re.sub(
        r"\\(?:operatorname|text)\{([^}]*)\}", lambda m: rf"\text{{{m[1]}}}".replace(r"\_", "_"), latex
    )
    latex = latex.replace(r"\bar{", r"\overline{")
    return convert(latex, display="block" if block else "inline").replace("\n", " ")


def matrix(rows: Iterable[Iterable[str]]) -> str:
    """Entries as a matrix in LaTeX."""
    return r"\begin{bmatrix} " + r" \\ ".join(" & ".join(row) for row in rows) + r" \end{bmatrix}"


def inline(latex: str) -> str:
    """LaTeX as MathML in running text."""
    return maths(latex)


def letters(html: str) -> str:
    """HTML in which the letters with an index that stand in its text, such as W_o and d_k, are set as the statement sets them."""
    parts, place = list[str](), 0
    for kept in KEPT.finditer(html):
        parts += [_set(html[place : kept.start()]), kept[0]]
        place = kept.end()
    return "".join([*parts, _set(html[place:])])


def _set(text: str) -> str:
    return LETTER.sub(lambda found: inline(latex_of(sympy.Symbol(found[1]))), text) if "_" in text else text


def code(text: str) -> str:
    """Text in the letters of code."""
    return f"<code>{escape(text)}</code>"


def prose(text: str) -> str:
    """Text in HTML, what stands between backticks in the letters of code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def sentence(text: str) -> str:
    """Text that begins with a capital, unless it begins with a symbol: "a row is …" is "A row is …", "d times …" stays."""
    first, _, rest = text.partition(" ")
    article = (
        first == "a" and WORD.fullmatch(rest.split(" ")[0]) and rest.split(" ")[0] not in SAID_OF_SYMBOLS
    )
    if article or (WORD.fullmatch(first) and first not in FUNCTIONS):
        return text[0].upper() + text[1:]
    return text


def within(title: str) -> str:
    """A title as it stands in a sentence: "Add and norm" is "add and norm", "BERT's layer" and "Luong's step" stay."""
    first = title.split(" ")[0]
    return title[0].lower() + title[1:] if WORD.fullmatch(first) and "'" not in first else title


@dataclass(frozen=True)
class Line:
    """A numbered line: its equation and the range of its indices in LaTeX, and its mark (``changed``, …).

    ``rest`` continues the equation, on a line of its own where both do not fit beside each other.
    """

    number: str
    equation: str
    ranges: str = ""
    mark: str = ""
    rest: str = ""


def statement(lines: Iterable[Line], anchor: str = "") -> str:
    """Numbered lines, each a link target where ``anchor`` is given. Mathematics is left out of the search index."""
    rows = []
    for line in lines:
        target = f"{anchor}-{line.number}" if anchor else ""
        label = f"({line.number})" if line.number else ""
        number = (
            f'<a class="number" href="#{target}">{label}</a>'
            if anchor
            else f'<span class="number">{label}</span>'
        )
        equation = " ".join(maths(part, block=True) for part in (line.equation, line.rest) if part)
        ranges = f'<div class="range">{maths(line.ranges)}</div>' if line.ranges else ""
        rows.append(
            f'<div class="line {line.mark}"' + (f' id="{target}"' if anchor else "") + ">"
            f'<div class="body"><div class="equation">{equation}</div>{ranges}</div>'
            f"{number if label else ''}</div>"
        )
    return f'<section class="statement" data-search-exclude>{"".join(rows)}</section>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table of HTML cells, which scrolls by itself where the page is too narrow."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="md-typeset__scrollwrap"><div class="md-typeset__table {kind}"><table>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def badge(word: str, kind: str, title: str = "") -> str:
    """A word on a coloured ground."""
    hint = f' title="{escape(title)}"' if title else ""
    return f'<span class="badge badge--{re.sub("[^a-z]+", "-", kind.lower())}"{hint}>{escape(word)}</span>'


def folded(title: str, body: str, kind: str = "note", is_open: bool = False) -> str:
    """Markdown that opens on a click, or closes on one."""
    return f'???{"+" if is_open else ""} {kind} "{title}"\n\n{indent(body, "    ")}\n'


def tab(title: str, body: str) -> str:
    """One of several Markdown bodies, of which the reader sees one."""
    return f'=== "{title}"\n\n{indent(body, "    ")}\n'


def number(value: float, digits: int = 2) -> str:
    """A number in HTML with so many significant digits, in powers of ten where it is small or large."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text.replace("-", "−")
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa.replace('-', '−')}·10<sup>{str(int(exponent)).replace('-', '−')}</sup>"
