"""Sizes: the symbols that stand for them, symbolic sizes as numbers, and what a shape tells about its sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import sympy

from spec.language.trees import free_symbols, substitute

Size: TypeAlias = sympy.Symbol
"""A size symbol."""


def is_size(item: Any) -> bool:
    """Whether an input, or an entry of a shape, is a size symbol by itself."""
    return isinstance(item, sympy.Symbol)


def whole(size: Any, sizes: Mapping[Size, int]) -> int:
    """A symbolic size as a number."""
    if size in sizes:
        return sizes[size]
    return _at(size, *((s, sizes[s]) for s in symbols_in(size) if s in sizes))


@lru_cache(maxsize=4096)
def _at(size: Any, *sizes: tuple[Size, int]) -> int:
    return int(substitute(sympy.sympify(size), {s: sympy.Integer(v) for s, v in sizes}))


@lru_cache(maxsize=4096)
def symbols_in(size: Any) -> frozenset[Size]:
    """The size symbols in an expression of sizes."""
    return frozenset(s for s in sympy.sympify(size).free_symbols if isinstance(s, sympy.Symbol))


def fraction_of(constant: Any) -> Fraction:
    """An exact constant as a fraction."""
    number = sympy.Rational(constant)
    return Fraction(int(number.p), int(number.q))


class WrongSize(ValueError):  # noqa: N818  (what is found, not a fault)
    """A size that no choice of the symbols in it gives."""


def solve_size(size: Any, actual: Any, known: Mapping[Size, Any]) -> dict[Size, Any] | None:
    """What ``size = actual`` tells: the one symbol left open in an affine size, such as ``L + 1``, and its value.

    Numbers or symbolic sizes alike. None when more than one symbol is open, so that nothing follows yet.

    Raises:
        WrongSize: the two cannot agree.
    """
    if isinstance(size, sympy.Symbol) and size not in known:
        return {size: actual}
    size = sympy.sympify(size)
    within = symbols_in(size)
    return _solve_size(size, actual, frozenset((s, known[s]) for s in within if s in known))


# typed: Python's 3 and SymPy's are equal, and what follows from each is of its own type.
@lru_cache(maxsize=4096, typed=True)
def _solve_size(size: Any, actual: Any, knowing: frozenset[tuple[Size, Any]]) -> dict[Size, Any] | None:
    known = dict(knowing)
    unknown = [s for s in symbols_in(size) if s not in known]
    if len(unknown) > 1:
        return None
    inside = {s: sympy.Dummy(s.name, integer=True) for s in unknown}
    size = substitute(size, {**{s: sympy.sympify(v) for s, v in known.items()}, **inside})
    if not unknown:
        if sympy.expand(size - actual) != 0:
            raise WrongSize(f"{size} is not {actual}")
        return {}
    ((symbol, stand_in),) = inside.items()
    slope = sympy.expand(size).coeff(stand_in)
    rest = sympy.expand(size - slope * stand_in)
    value = None if slope == 0 or stand_in in free_symbols(rest) else sympy.cancel((actual - rest) / slope)
    if value is None or not value.is_integer or value.is_negative:
        raise WrongSize(f"no {symbol} makes {size} equal to {actual}")
    return {symbol: int(value) if isinstance(actual, int) else value}


def solve_sizes(pairs: Iterable[tuple[Any, Any]], known: Mapping[Size, Any]) -> dict[Size, Any]:
    """What several sizes tell together, those that say nothing yet last; ``known`` included.

    Raises:
        WrongSize: the first that cannot agree.
    """
    found, waiting = dict(known), list(pairs)
    while waiting:
        later = []
        for size, actual in waiting:
            more = solve_size(size, actual, found)
            if more is None:
                later.append((size, actual))
            else:
                found |= more
        if len(later) == len(waiting):
            break
        waiting = later
    return found
