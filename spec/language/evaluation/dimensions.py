"""Sizes: the symbols that stand for them, and symbolic sizes as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import sympy

from spec.language.expr import substitute

Size: TypeAlias = sympy.Symbol
"""A size symbol."""


def is_size(item: Any) -> bool:
    """Whether an input, or an entry of a shape, is a size symbol by itself."""
    return isinstance(item, sympy.Symbol)


def whole(size: Any, sizes: Mapping[Size, int]) -> int:
    """A symbolic size as a number."""
    if size in sizes:
        return sizes[size]
    return int(substitute(sympy.sympify(size), {s: sympy.Integer(v) for s, v in sizes.items()}))


def symbols_in(size: Any) -> set[Size]:
    """The size symbols in an expression of sizes."""
    return {s for s in sympy.sympify(size).free_symbols if isinstance(s, sympy.Symbol)}


def fraction_of(constant: Any) -> Fraction:
    """An exact constant as a fraction."""
    number = sympy.Rational(constant)
    return Fraction(int(number.p), int(number.q))
