"""The numbered lines of a formula: definitions, groups of which a convention picks one, and what depends on what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Comprehension, Tensor
from spec.language.expr import Node, Ref, lift
from spec.language.symbols import Letter, span
from spec.language.trees import free_symbols, refs

Span = tuple[sympy.Expr, sympy.Expr]
"""First and last value of an index, both included."""


@dataclass(frozen=True)
class Definition:
    """One numbered line: ``left[indices] = right`` for the indices' ranges.

    A left index is a symbol, or any expression of symbols (``2*i``): then the line defines the entries it reaches. With
    ``accumulate`` the line adds to its entries instead (derivatives are written so); entries no line reaches are 0.
    ``rows`` counts the last indices, which nobody wrote where the line was written between arrays. A ``part`` is no line of the
    statement, but a sum that stands inside of one.
    """

    left: Ref
    right: Node
    ranges: tuple[tuple[sympy.Symbol, sympy.Expr, sympy.Expr], ...]
    accumulate: bool = False
    rows: int = 0
    part: bool = False

    @property
    def name(self) -> str:
        """The tensor it defines."""
        return self.left.tensor.name

    @property
    def spans(self) -> dict[sympy.Symbol, Span]:
        """The range of each index."""
        return {symbol: (first, last) for symbol, first, last in self.ranges}


def define(left: Ref | Tensor, right: Any, *spans: Any) -> Definition:
    """The line ``left = right``; each index on the left runs over its own range where ``spans`` give no other.

    ``define(y[i], x[i] + 1)``, ``define(H[t], step(x[t - 1], H[t - 1]), (t, 1, T))``. A left side with fewer indices than axes
    defines the entries they leave open, as its right side gives them.

    Raises:
        ValueError: a range for something that is no index of the left side, or an index without a range.
    """
    entry, right, rows = entrywise(left, right)
    given = {symbol: (first, last) for symbol, first, last in map(span, spans)}
    ranges: dict[sympy.Symbol, Span] = {}
    for part, size in zip(entry.index, entry.tensor.shape, strict=True):
        for symbol in sorted(free_symbols(part), key=lambda s: s.name):
            if symbol.is_positive or symbol in ranges:  # a size is one place: B[T, c]
                continue
            if symbol in given:
                ranges[symbol] = given.pop(symbol)
            elif isinstance(symbol, Letter) and symbol.size is not None:
                ranges[symbol] = (sympy.S.Zero, symbol.size - 1)
            elif part == symbol:
                ranges[symbol] = (sympy.S.Zero, size - 1)
            else:
                raise ValueError(f"{entry}: the index {symbol} has no size of its own: write its range")
    if given:
        name = next(iter(given))
        raise ValueError(f"{entry}: the range of {name} was given, but {name} is no index of the left side")
    return Definition(entry, lift(right), tuple((s, *ends) for s, ends in ranges.items()), rows=rows)


def entrywise(left: Any, right: Any) -> tuple[Ref, Any, int]:
    """Both sides of an equation between arrays, entry by entry, and how many axes that takes; between values, as they are.

    Raises:
        ValueError: sides of different shape.
    """
    if isinstance(left, Tensor):
        left = left[()]
    if isinstance(left, Ref):
        return left, right, 0
    if not (isinstance(left, Comprehension) and isinstance(left.body, Ref)):
        raise TypeError(
            f"a line defines a tensor or entries of one, as in define(y[i], …); {left!r} is neither"
        )
    right = right if isinstance(right, Comprehension) else getattr(right, "whole", lambda: right)()
    if isinstance(right, Tensor) and right.shape:
        right = right[()]
    shape = getattr(right, "shape", ())
    if len(shape) != len(left.shape) or any(
        sympy.expand(a - b) != 0 for a, b in zip(shape, left.shape, strict=True)
    ):
        raise ValueError(f"{left} has shape {left.shape}, but its right side has shape {tuple(shape)}")
    return left.body, right.at(left.vars), len(shape)


@dataclass(frozen=True)
class LineChoice:
    """Alternative groups of lines, picked by a convention."""

    convention: str
    options: Mapping[str, tuple[Definition, ...]]


def lines_by_convention(name: str, /, **options: tuple[Definition, ...]) -> LineChoice:
    """Groups of lines of which a convention picks one."""
    return LineChoice(name, options)


def collect_dependencies(lines: Iterable[Definition], names: Iterable[str]) -> set[str]:
    """All tensors from which some are defined, one after the other; themselves among them."""
    return reached(dependencies(lines), names)


def reached(graph: Mapping[str, set[str]], start: Iterable[str]) -> set[str]:
    """All to which a graph leads from some of its names; themselves among them."""
    found = set(start)
    open_ = list(found)
    while open_:
        more = graph.get(open_.pop(), set()) - found
        found |= more
        open_ += more
    return found


def dependencies(lines: Iterable[Definition]) -> dict[str, set[str]]:
    """For each tensor that lines define, the tensors it is defined from."""
    graph: dict[str, set[str]] = {}
    for line in lines:
        used: set[str] = {r.tensor.name for r in refs(line.right)}
        for part in line.left.index:
            used |= {r.tensor.name for r in refs(part)} if isinstance(part, Basic) else set()
        graph.setdefault(line.name, set()).update(used)
    return graph
