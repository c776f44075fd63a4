"""Numbers, sizes and index arithmetic as statements take them: exact, and nothing else."""

from __future__ import annotations

from functools import lru_cache
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
    # A part of a statement, inside SymPy's.
    if any(hasattr(part, "as_node") for part in sympy.preorder_traversal(value)):
        raise TypeError(f"{value} is made by SymPy: write the vocabulary's own exp, sqrt, absolute, …")
    if value.has(sympy.Mod):  # what is left of a division, by what index arithmetic has
        value = value.replace(sympy.Mod, lambda a, b: a - b * sympy.floor(a / b))
    if value.is_real is False or value.is_finite is False or value is sympy.nan:
        raise TypeError(f"{value} is no real number")
    return value


@lru_cache(maxsize=4096)
def fraction(expr: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator of an index expression, both with integer coefficients."""
    over, under = sympy.fraction(sympy.together(expr))
    return over, under


def is_ratio(value: sympy.Expr) -> bool:
    """Whether it is index arithmetic over index arithmetic: whole numbers added, multiplied, rounded down or up once divided."""
    return bool(value.is_Rational) or all(map(is_whole, fraction(value)))


def is_whole(value: sympy.Expr) -> bool:
    """Whether it is index arithmetic without a division that is not rounded."""
    if value.is_Integer or isinstance(value, sympy.Symbol):
        return True
    if isinstance(value, sympy.Add | sympy.Mul):
        return all(map(is_whole, value.args))
    if isinstance(value, sympy.Pow):
        return bool(value.exp.is_Integer and value.exp >= 0) and is_whole(value.base)
    return isinstance(value, sympy.floor | sympy.ceiling) and is_ratio(value.args[0])


def _number(value: Any) -> sympy.Expr | None:
    """A number of another kind than SymPy's, such as a fraction or a NumPy integer; None if it is none."""
    try:
        found = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        return None
    return found if isinstance(found, sympy.Expr) else None
