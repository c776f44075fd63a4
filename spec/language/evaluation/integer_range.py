"""Index arithmetic as a value where it grows large: implementations round what their type does not hold, and int64 overflows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import sympy

from spec.language.exact import is_whole
from spec.language.expr import Literal, Node, spelt

PRODUCTS = 8
"""Powers up to so many are worked out by products."""


@lru_cache(maxsize=1024)
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
    return spelt(expr, lambda part: bool(part.is_Atom))


def by_products(exponent: Node) -> int | None:
    """A number that is the exponent of a power which is worked out by products."""
    whole = exponent.value if isinstance(exponent, Literal) else None
    return int(whole) if whole is not None and whole.is_Integer and abs(whole) <= PRODUCTS else None


def is_integral(exponent: Node) -> bool:
    """Whether an exponent is a whole number at all indices and sizes."""
    return isinstance(exponent, Literal) and is_whole(exponent.value)
