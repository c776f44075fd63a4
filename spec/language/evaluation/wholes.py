"""Index arithmetic as a value where it grows large: implementations round what their type does not hold, and int64 overflows."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import sympy

from spec.language.expr import Literal, Node, Plus, Power, Times


def reach(expr: sympy.Expr) -> tuple[tuple[sympy.Symbol, ...], Callable[..., int]] | None:
    """How large products of letters, their sums, and the parts of these become at most, by the largest values of the letters.
    None for what is linear, rounded down or up, or looked up: it stays in the range of sizes.
    """
    letters = tuple(sorted(expr.free_symbols, key=str))
    if not letters or expr.has(sympy.floor, sympy.ceiling, Node) or sympy.total_degree(expr) < 2:
        return None
    largest = expr.replace(lambda part: part.is_Integer, abs)
    return letters, sympy.lambdify(letters, largest, modules=[])


def spelt_out(expr: sympy.Expr) -> Node:
    """The same as a value: each sum, product and power for itself."""
    if isinstance(expr, sympy.Add | sympy.Mul):
        return reduce(Plus if isinstance(expr, sympy.Add) else Times, map(spelt_out, expr.args))
    if isinstance(expr, sympy.Pow):
        return Power(spelt_out(expr.base), Literal(expr.exp))
    return Literal(expr)


__all__ = ["reach", "spelt_out"]
