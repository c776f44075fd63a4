"""How long the ranges of a statement's indices are, those that other indices bound at their longest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import sympy

from spec.language.binders import Bound
from spec.language.lines import Definition
from spec.language.trees import walk

Ends: TypeAlias = Mapping[sympy.Symbol, tuple[Any, Any]]


def ends_of(line: Definition) -> Ends:
    """The first and last value of each index of a line: of its left side, and of what runs inside."""
    inner = {part.var: (part.first, part.last) for part in walk(line.right) if isinstance(part, Bound)}
    return {symbol: (first, last) for symbol, first, last in line.ranges} | inner


def longest(first: Any, last: Any, ends: Ends) -> sympy.Expr:
    """last − first + 1 in sizes alone: an index in it is where that is largest, in ``i + 1`` the last, in ``n − i`` the first."""
    length = sympy.expand(sympy.sympify(last) - first + 1)
    for _ in ends:  # an index may be bounded by one that is bounded by another
        found = next((s for s in length.free_symbols if s in ends), None)
        if found is None:
            break
        low, high = ends[found]
        length = sympy.expand(length.subs(found, low if length.coeff(found).is_negative else high))
    return length
