"""Index expressions, arrays of indices, and how large whole numbers may become."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sympy
from sympy.core.basic import Basic

from spec.language.arrays import DISCRETE
from spec.language.evaluation.arithmetic import Arithmetic, Truth
from spec.language.exact import is_whole
from spec.language.expr import Literal, Minus, Node, Plus, Ref, Times, spelt

Ints: TypeAlias = npt.NDArray[np.int64]


@lru_cache(maxsize=4096)
def constant(value: int, axes: int) -> Ints:
    """An integer without axes, in the shape of so many; not to be written to."""
    made = np.full((1,) * axes, value, np.int64)
    made.flags.writeable = False
    return made


def within_tensor(
    arithmetic: Arithmetic[Any], index: tuple[Ints, ...], shape: tuple[int, ...], value: Any
) -> tuple[Any, Any]:
    """Where an accumulating line adds, and what: nothing at indices outside, which a condition kept from being read."""
    outside: Any = False
    for at, size in zip(index, shape, strict=True):
        outside = outside | (at < 0) | (at >= size)
    if not np.any(outside):
        return index, value
    ones = (1,) * np.ndim(outside)
    nothing = arithmetic.view(arithmetic.zeros(()), lambda part: np.asarray(part).reshape(ones))
    clipped = tuple(np.clip(at, 0, max(size - 1, 0)) for at, size in zip(index, shape, strict=True))
    return clipped, arithmetic.select(Truth(~outside), value, nothing)


def is_inexact(part: Basic) -> bool:
    """Whether a side of a comparison is a number of the arithmetic, not an integer."""
    if isinstance(part, Ref):
        return part.tensor.domain not in DISCRETE
    if isinstance(part, Literal):
        return not is_whole(part.value)
    if isinstance(part, Plus | Minus | Times):
        return any(map(is_inexact, part.args))
    return isinstance(part, Node)


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
