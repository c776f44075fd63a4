"""Statements as text: numbered lines, and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sympy.core.basic import Basic

from spec.language.arrays import each
from spec.language.expr import Always, Choice, Node
from spec.language.flatten import apply_conventions, own_lines
from spec.language.formula import Formula
from spec.language.lines import Definition
from spec.language.render.printer import Latex, Printer, Unicode
from spec.language.theorem import Claim, Theorem

_LATEX, _UNICODE = Latex(), Unicode()
KINDS = {"permutation": "a permutation", "real": "any", "positive": "a positive", "boolean": "a Boolean"}
"""How what a theorem is given is announced, by its domain."""


def latex(node: Basic) -> str:
    """A tree as LaTeX (without dollars)."""
    return _LATEX.text(node)


def unicode(node: Basic) -> str:
    """A tree as plain Unicode text."""
    return _UNICODE.text(node)


@dataclass(frozen=True)
class Line:
    """A numbered line of a statement as text: the equation, and the range of its indices."""

    number: int
    equation: str
    ranges: str


def statement(
    formula: Formula, conventions: Mapping[str, str] | None = None, style: str = "unicode"
) -> list[Line]:
    """The numbered lines of a formula as written, under a choice of conventions; ``style`` is ``latex`` or ``unicode``."""
    return number_lines(own_lines(formula, formula.choose(conventions)), style)


def number_lines(lines: Iterable[Definition], style: str = "unicode", first: int = 1) -> list[Line]:
    """Definitions as numbered lines."""
    p: Printer = _LATEX if style == "latex" else _UNICODE
    return [Line(number, _equation(p, d), _ranges(p, d)) for number, d in enumerate(lines, first)]


def _equation(p: Printer, line: Definition) -> str:
    left, right = (p.text(_array(side, line)) for side in (line.left, line.right))
    return f"{left} {'+' if line.accumulate else ''}= {right}"


def _array(side: Node, line: Definition) -> Node:
    """A side of a line that was written between arrays, as the array it is an entry of."""
    open_ = line.ranges[len(line.ranges) - line.rows :]
    return each(side, *((symbol, last + 1) for symbol, _, last in open_)) if open_ else side


def _ranges(p: Printer, line: Definition) -> str:
    less = r"\le" if isinstance(p, Latex) else "≤"
    parts = []
    for symbol, first, last in line.ranges[: len(line.ranges) - line.rows]:
        if first == 0:
            parts.append(f"{p.index(symbol)} < {p.index(last + 1)}")
        else:
            parts.append(f"{p.index(first)} {less} {p.index(symbol)} {less} {p.index(last)}")
    return (r",\ " if isinstance(p, Latex) else ", ").join(parts)


def claim_text(
    claim: Claim,
    style: str = "unicode",
    conventions: Mapping[str, str] | None = None,
    exists: bool = False,
) -> str:
    """A claim as text, where conventions are given with their choices made.

    ``exists`` says that it is part of an existential theorem: its sides are not equal, for some inputs.
    """
    p: Printer = _LATEX if style == "latex" else _UNICODE
    sign = {"=": "=", "<": "<", "<=": r"\le" if style == "latex" else "≤"}[claim.relation]
    if exists:
        sign = r"\ne" if style == "latex" else "≠"
    left, right, where = (
        p.text(part if conventions is None else apply_conventions(part, conventions))
        for part in (claim.left, claim.right, claim.where)
    )
    joint = r"\quad\text{where } " if style == "latex" else "   where "
    return f"{left} {sign} {right}" + ("" if isinstance(claim.where, Always) else joint + where)


def _find_open_conventions(theorem: Theorem, formula: Formula) -> dict[str, str]:
    """The conventions that a theorem leaves open and its claims depend on, each at our option: how they are written out.

    It holds under every other option as well.
    """
    parts = [part for claim in theorem.claims for part in (claim.left, claim.right, claim.where)]
    named = {str(choice.args[0]) for part in (*parts, *theorem.assuming) for choice in part.find(Choice)}
    return {
        name: option
        for name, option in formula.choose().items()
        if name in named and name not in theorem.conventions
    }


def describe_abbreviations(formula: Formula, code: Callable[[str], str] = str) -> str:
    """Under which of our options the abbreviations of the theorems are written out; empty where they depend on none."""
    choices = {str(c.args[0]) for line in formula.abbreviations.values() for c in line.right.find(Choice)}
    ours = ", ".join(code(f"{name}={option}") for name, option in formula.choose().items() if name in choices)
    return (
        f"(written for {ours}; a theorem under another option means the same letters under that)"
        if ours
        else ""
    )


def hypotheses(
    theorem: Theorem,
    formula: Formula,
    maths: Callable[[str], str] = str,
    code: Callable[[str], str] = str,
    style: str = "unicode",
) -> Iterator[str]:
    """What a theorem is stated for, and how its claims are written out, phrase by phrase.

    ``maths`` and ``code`` set a formula and a convention in the text around them.
    """
    p: Printer = _LATEX if style == "latex" else _UNICODE
    conventions = formula.choose(theorem.conventions)
    times = r" \times " if style == "latex" else "×"
    for tensor in theorem.given:
        kind = KINDS.get(tensor.domain, f"any {tensor.domain}")
        shape = times.join(p.text(size) for size in tensor.shape)
        yield f"for {kind} {maths(p.text(tensor))}" + (f" of shape {maths(shape)}" if shape else "")
    for size, value in theorem.sizes.items():
        yield f"for {maths(p.text(size))} = {maths(p.text(value))}"
    for condition in theorem.assuming:
        yield f"assuming {maths(p.text(apply_conventions(condition, conventions)))}"
    for tensor, value in theorem.at.items():
        edge = ", the edge of its domain" if tensor.domain == "positive" and value == 0 else ""
        yield f"at {maths(p.text(tensor))} = {maths(str(value))}{edge}"
    if theorem.exists:
        yield "for some inputs"
    for name, option in theorem.conventions.items():
        yield f"under {code(f'{name}={option}')}"
    for name, option in _find_open_conventions(theorem, formula).items():
        yield f"written for {code(f'{name}={option}')}, as for every other option"
