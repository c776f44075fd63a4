"""Numbers, sizes and index arithmetic as statements take them: exact, and nothing else."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.logic.boolalg import Boolean


def exact(value: Any) -> Any:
    """A number, a size or index arithmetic as SymPy has it.

    Raises:
        TypeError: something else; it says what to write.
    """
    if type(value) is int:
        return sympy.Integer(value)
    if isinstance(value, sympy.Symbol):
        return value
    if isinstance(value, float) or (isinstance(value, sympy.Expr) and value.has(sympy.Float)):
        raise TypeError(f"{value} is a float; statements are exact, so write it as a Rational")
    if isinstance(value, bool | Boolean):
        raise TypeError(f"{value} is no part of a statement: compare by eq(a, b), le(a, b) or lt(a, b)")
    given, value = value, value if isinstance(value, sympy.Expr) else _number(value)
    if value is None:
        raise TypeError(
            f"{given!r} is no value of a statement: numbers, sizes, and what is made of entries are"
        )
    if any(
        hasattr(part, "as_node") for part in sympy.preorder_traversal(value)
    ):  # of a statement, inside SymPy's
        raise TypeError(f"{value} is made by SymPy: write the vocabulary's own exp, sqrt, absolute, …")
    if value.is_real is False or value.is_finite is False or value is sympy.nan:
        raise TypeError(f"{value} is no real number")
    return value


def _number(value: Any) -> sympy.Expr | None:
    """A number of another kind than SymPy's, such as a fraction or a NumPy integer; None if it is none."""
    try:
        found = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        return None
    return found if isinstance(found, sympy.Expr) else None
