"""Index expressions and arrays of indices: what the interpreter and compiled lines both know of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sympy.core.basic import Basic

from spec.language.arrays import DISCRETE
from spec.language.evaluation.arithmetic import Arithmetic
from spec.language.evaluation.truth import Truth
from spec.language.exact import is_whole
from spec.language.expr import Literal, Node, Ref

Ints: TypeAlias = npt.NDArray[np.int64]


@lru_cache(maxsize=4096)
def constant(value: int, axes: int) -> Ints:
    """An integer without axes, in the shape of so many; not to be written to."""
    made = np.full((1,) * axes, value, np.int64)
    made.flags.writeable = False
    return made


def spread(part: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """An array in a shape; most have it already."""
    return part if part.shape == shape else np.broadcast_to(part, shape)


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
    return isinstance(part, Node)
