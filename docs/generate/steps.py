"""A statement at work: what each of its lines gives at the numbers of a worked example, or of three tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy

from spec.attention.self import THREE_TOKENS
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.registry import find
from spec.language.render import latex, number_lines
from spec.language.worked import inputs_of

from .markup import Line, inline, matrix, statement
from .worked import beside

DECIMALS = 3
MOST = 7
"""Rows and columns of a matrix that are shown; of a larger one the first ones."""

Numbers = dict[str, np.ndarray]


def values(
    formula: Formula, inputs: Mapping[str, Any], conventions: Mapping[str, str] | None = None
) -> Numbers:
    """Every array of a formula's lines at these inputs, by name."""
    flat = formula.flat(conventions)
    done = run(flat, RunningError(), bind(flat, inputs))
    names = {line.name for line in own_lines(formula, formula.choose(conventions))}
    return {name: done.tensors[name].floats() for name in names if name in done.tensors}


def shown(formula_id: str, which: str = "1") -> str:
    """The lines of a formula, each with what it gives at a worked example (``which`` counts from 1)."""
    formula = find(formula_id)
    worked = formula.worked[int(which) - 1]
    inputs = {
        name: np.vectorize(float, otypes=[float])(value)
        if getattr(value, "dtype", None) == np.dtype(object)
        else value
        for name, value in inputs_of(formula, worked).items()
    }
    found = values(formula, inputs, worked.conventions)
    lines = own_lines(formula, formula.choose(worked.conventions))
    last = {line.name: place for place, line in enumerate(lines)}
    made = [
        Line(
            str(x.number),
            x.equation,
            x.ranges,
            rest=rf"\quad\Longrightarrow\quad {equals(latex(line.left.tensor), found[line.name])}"
            if last[line.name] == place and line.name in found
            else "",
        )
        for place, (line, x) in enumerate(zip(lines, number_lines(lines, "latex"), strict=True))
    ]
    given = (equals(latex(item), inputs[str(item)]) for item in formula.inputs if str(item) in inputs)
    return f"{beside(given)}\n\n{statement(made)}"


def equals(letter: str, value: Any) -> str:
    """``letter = numbers`` in LaTeX."""
    return f"{letter} = {numbers(value)}"


def numbers(value: Any) -> str:
    """Numbers as LaTeX: alone, as a row, as a matrix, or as several matrices."""
    array = np.asarray(value)
    if array.ndim == 0:
        return entry(array.item())
    if array.ndim > 2:
        return rf"\left( {', '.join(map(numbers, array))} \right)"
    rows = [array] if array.ndim == 1 else list(array[:MOST])
    cells = [[*map(entry, row[:MOST]), *([r"\cdots"] if len(row) > MOST else [])] for row in rows]
    if array.ndim == 2 and len(array) > MOST:
        cells.append([r"\vdots"] * len(cells[0]))
    return matrix(cells)


def entry(value: Any) -> str:
    """A number to three decimals, without zeros at its end."""
    if isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    text = f"{float(value):.{DECIMALS}f}"
    return (
        text.rstrip("0").rstrip(".").replace("-0", "0") if float(text) == 0 else text.rstrip("0").rstrip(".")
    )


# Three tokens through a layer --------------------------------------------------------------------------------------------

HEADS = 2
SECOND = {
    "W_q": [[0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]],
    "W_k": [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]],
    "W_v": [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]],
}
"""The second head's matrices; the first head's are those of the decks."""
REST: dict[str, Any] = {
    "W_o": [[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1], [0.5, 0, 0, 1], [0, 0.5, 0, 0]],
    "gamma": [1, 1, 1, 1],
    "beta": [0, 0, 0, 0],
    "eps": 1e-5,
    "W_1": [[1, 0, -1, 0, 1], [0, 1, 0, -1, 0], [1, 0, 0, 1, -1], [0, -1, 1, 0, 0]],
    "b_1": [0, 0.5, 0, 0, -0.5],
    "W_2": [[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.5], [0.5, 0, 0, 0.5]],
    "b_2": [0, 0, 0, 0],
    "W_vocab": [[1, 0, 0, 0, -1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 1]],
}
"""What else a layer has: small numbers, so that all of it can be redone by hand."""
LETTERS = {
    "x": "x", "W_q": r"W_{\mathrm{q}}", "W_k": r"W_{\mathrm{k}}", "W_v": r"W_{\mathrm{v}}", "q": "q", "k": "k", "v": "v",
    "s": "s", "a": "a", "z": "z", "concat": r"\mathrm{concat}", "W_o": r"W_{\mathrm{o}}", "out": r"\mathrm{joined}",
    "normed": r"\mathrm{normed}", "sum": r"x + \mathrm{joined}", "W_1": "W_1", "b_1": "b_1", "W_2": "W_2", "b_2": "b_2",
    "before": r"\mathrm{before}", "hidden": "h", "f": "f", "y": "y", "W_vocab": r"W_{\mathrm{vocab}}", "p": "p",
    "logits": r"\mathrm{logits}",
}  # fmt: skip


@cache
def layer() -> Numbers:
    """Every array on the way of the three tokens through an encoder layer of two heads, and out; ``q_2`` is the second head's."""
    found = {name: np.array(value, dtype=float) for name, value in REST.items()}
    found["x"] = np.array(THREE_TOKENS["x"], dtype=float)
    # The article does not scale: √3 undoes the scale there, and is taken out again.
    first = {**THREE_TOKENS, "W_q": np.vectorize(sympy.sympify)(THREE_TOKENS["W_q"]) / sympy.sqrt(3)}
    heads = {name: np.array([first[name], SECOND[name]], dtype=float) for name in SECOND}
    for place, mark in enumerate(("", "_2")):
        own = {name: value[place] for name, value in heads.items()}
        found |= {f"{name}{mark}": value for name, value in own.items()}
        made = values(find("attention.self"), {"x": found["x"], **own})
        attended = values(find("attention.scaled_dot_product"), {name: made[name] for name in "qkv"})
        found |= {f"{name}{mark}": value for name, value in (made | attended).items()}
    several = {"x": found["x"], "y": found["x"], **heads, "W_o": found["W_o"]}
    made = values(find("attention.multi_head"), several)
    found |= {"concat": made["concat"], "out": made["z"], "sum": found["x"] + made["z"]}
    norm = {name: found[name] for name in ("gamma", "beta", "eps")}
    found["normed"] = _by_row("normalization.add_norm", "y", norm, x=found["x"], r=found["out"])
    network = {name: found[name] for name in ("W_1", "b_1", "W_2", "b_2")}
    for name, line in (("before", "a"), ("hidden", "h"), ("f", "y")):
        found[name] = _by_row("feedforward.relu", line, network, x=found["normed"])
    found["y"] = _by_row("normalization.add_norm", "y", norm, x=found["normed"], r=found["f"])
    found |= values(find("transformer.output"), {"x": found["y"], "W_vocab": found["W_vocab"]})
    return found


def _by_row(formula_id: str, line: str, shared: Mapping[str, Any], **rows: np.ndarray) -> np.ndarray:
    """A line of a formula of one row, for every row."""
    formula = find(formula_id)
    each = (dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True))
    return np.stack([values(formula, {**row, **shared})[line] for row in each])


def tokens(*names: str) -> str:
    """Arrays on the way of the three tokens, beside each other: ``q``, ``a_2`` (the second head's), ``normed``, …"""
    parts = []
    for name in names:
        head, second, _ = name.partition("_2")
        plain = name if name in LETTERS else head
        letter = LETTERS[plain] + ("^{(2)}" if second and name not in LETTERS else "")
        parts.append(equals(letter, layer()[name]))
    return beside(parts)


def token(name: str, *place: str) -> str:
    """One number on that way, in the text: ``a 0 1``."""
    return inline(entry(layer()[name][tuple(map(int, place))]))
