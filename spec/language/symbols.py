"""The letters of index arithmetic: sizes, and indices that carry theirs."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import sympy

Index: TypeAlias = sympy.Expr
"""An integer expression over index and size symbols, or an integer-valued :class:`Ref` (a look-up)."""
Span: TypeAlias = "sympy.Symbol | tuple[sympy.Symbol, Any] | tuple[sympy.Symbol, Any, Any]"
"""How a binder names its index: ``j`` (0 to its size − 1), ``(j, m)`` (0 to m − 1) or ``(j, 1, m)`` (1 to m)."""


class Letter(sympy.Symbol):
    """An index that carries its size: it runs from 0 to ``size`` − 1 where nothing else is said.

    Two letters of one name and different sizes are different symbols; a size of None leaves every range to be written.
    """

    __slots__ = ("size",)
    size: sympy.Expr | None

    def __new__(cls, name: str, size: Any = None) -> Letter:  # noqa: D102  (the class says it)
        return _letter(name, None if size is None else sympy.sympify(size))

    def __getnewargs_ex__(self) -> tuple[tuple[str, sympy.Expr | None], dict[str, Any]]:
        return (self.name, self.size), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        return self.name, self.size  # every letter is an integer, and nothing else is assumed of any


@cache
def _letter(name: str, size: sympy.Expr | None) -> Letter:
    """The letter of this name and size: one object, which is compared with itself at no cost."""
    made: Letter = sympy.Symbol.__xnew__(Letter, name, integer=True)
    made.size = size
    return made


def sizes(names: str) -> tuple[sympy.Symbol, ...]:
    """Size symbols, each an integer of at least 1: ``n, m = sizes("n m")``."""
    return tuple(sympy.Symbol(name, integer=True, positive=True) for name in names.split())


def indices(names: str = "", /, **ranges: Any) -> tuple[Letter, ...]:
    """Indices with their sizes: ``i, j, l = indices(i=n, j=m, l=m)``; by name alone, ``indices("i j")``, without."""
    return (*(Letter(name) for name in names.split()), *(Letter(name, size) for name, size in ranges.items()))


def make_unnamed_index(name: str) -> sympy.Symbol:
    """An index that is no other, whatever names a statement has."""
    return sympy.Dummy(name, integer=True)


def span(given: Any) -> tuple[sympy.Symbol, sympy.Expr, sympy.Expr]:
    """An index with its first and last value, from any way to write it (:data:`Span`).

    Raises:
        ValueError: an index without a size of its own, and no range.
    """
    if isinstance(given, sympy.Symbol):
        given = (given, getattr(given, "size", None))
    if not (isinstance(given, tuple) and len(given) in (2, 3) and isinstance(given[0], sympy.Symbol)):
        raise TypeError(f"{given!r} names no index: write j, (j, m) for 0 to m - 1, or (j, 1, m) for 1 to m")
    symbol, *ends = given
    if None in ends:
        raise ValueError(f"the index {symbol} has no size of its own: write its range, as in ({symbol}, n)")
    first, last = (0, sympy.sympify(ends[0]) - 1) if len(ends) == 1 else ends
    return symbol, sympy.sympify(first), sympy.sympify(last)
