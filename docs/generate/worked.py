"""Worked examples: numbers worked out by hand or printed in a source, beside what the statement says, enclosed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import sympy

from spec.language.expr import Ref
from spec.language.formula import Formula, Worked
from spec.language.render import latex
from spec.language.worked import agrees, recompute

from .bibliography import cited
from .markup import badge, code, inline, maths, matrix, table

DIGITS = 12
"""Digits of the exact value that are shown."""
WIDE = 6
"""Columns of a matrix that are shown; of a wider one, the first two and the last."""


def beside(given: Iterable[str]) -> str:
    """What is given, formula beside formula in LaTeX, where there is room: a comma stays with what stands before it."""
    drawn = [maths(each, block=True) for each in given]
    parts = [f"<span>{each}{',' if place < len(drawn) else ''}</span>" for place, each in enumerate(drawn, 1)]
    return f'<section class="given" data-search-exclude>{" ".join(parts)}</section>'


def section(formula: Formula) -> str:
    """Every worked example as Markdown."""
    return "\n\n".join(one(formula, worked) for worked in formula.worked)


def one(formula: Formula, worked: Worked) -> str:
    """One worked example: what is given, and what follows beside what was worked out."""
    given = [
        f"{latex(item)} = {_matrix(worked.inputs[str(item)])}"
        for item in formula.inputs
        if str(item) in worked.inputs
    ]
    shape = np.array(worked.expected, dtype=object).shape
    tensor = formula.line(worked.output) if worked.output else formula.outputs[0]
    rows = []
    for index, (found, printed) in zip(product(*map(range, shape)), recompute(formula, worked), strict=True):
        same = agrees(found, printed, worked.decimals)
        rows.append(
            (
                inline(latex(Ref(tensor, *map(sympy.Integer, index)))),
                code(str(printed)),
                code(_digits(found)),
                badge("agrees" if same else "differs", "conforms" if same else "falsified"),
            )
        )
    head = (
        "Entry",
        "By hand" if worked.source is None else "Printed in the source",
        "From the statement",
        f"To {worked.decimals} decimal{'s' if worked.decimals != 1 else ''}",
    )
    chosen = ", ".join(f"<code>{name}={option}</code>" for name, option in worked.conventions.items())
    notes = [*([f"under {chosen}"] if chosen else []), *([cited(worked.source)] if worked.source else [])]
    where = f" ({', '.join(notes)})" if notes else ""
    return f"**{worked.title}**{where}\n\n{beside(given)}\n\n{table(head, rows, 'worked')}"


def _digits(ball: Any) -> str:
    """The exact value to so many digits, which the enclosure fixes; a number that has fewer in full."""
    return f"{float(ball.mid()):.{DIGITS}g}" if ball.is_exact() else str(ball.str(DIGITS, radius=False))


def _matrix(value: Any) -> str:
    array = np.array(value, dtype=object)
    if array.ndim == 0:
        return _entry(array.item())
    if array.ndim > 2 and (array == array.flat[0]).all():
        # A 0 and a shape say more than brackets within brackets.
        shape = r" \times ".join(map(str, array.shape))
        return f"{_entry(array.flat[0])}_{{{shape}}}"
    if array.ndim > 2:
        return rf"\left( {', '.join(map(_matrix, array))} \right)"
    rows = [array] if array.ndim == 1 else list(array)
    lines = []
    for row in rows:
        cells = [_entry(x) for x in row]
        lines.append(cells if len(cells) <= WIDE else [*cells[:2], r"\cdots", cells[-1]])
    note = (
        rf"_{{{array.shape[0]} \times {array.shape[-1]}}}"
        if array.shape[-1] > WIDE and array.ndim > 1
        else ""
    )
    return matrix(lines) + note


def _entry(value: Any) -> str:
    return str(sympy.latex(sympy.sympify(value), fold_short_frac=True, ln_notation=True))


__all__ = ["one", "section"]
