"""Terms that fall on entries of an array, several on one: what an accumulating line adds where."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = tuple[npt.NDArray[np.int64], ...]
"""For each axis of the array the place at which each term falls."""


class Scatter:
    """Terms of one shape that fall on an array of another.

    Attributes:
        terms: how many fall on each entry.
    """

    def __init__(self, onto: tuple[int, ...], index: Places | None, shape: tuple[int, ...]) -> None:
        """Without an ``index`` each term falls at its own place, where the array has but one along an axis at that."""
        self.onto, self.shape = onto, shape
        self.flat: npt.NDArray[np.intp] | None = None
        if index is None:
            pairs = zip(onto, shape, strict=True)
            self.axes = tuple(axis for axis, (there, here) in enumerate(pairs) if there == 1 != here)
            self.terms: Any = float(math.prod(shape[axis] for axis in self.axes))
            return
        parts = tuple(np.broadcast_to(part, shape).ravel() for part in index)
        one = not onto or not math.prod(shape)  # one place, or no term
        self.flat = (
            np.zeros(math.prod(shape), np.intp)
            if one
            else np.asarray(np.ravel_multi_index(parts, onto, mode="wrap"))
        )
        self.terms = self.together(np.ones(()))

    def together(self, terms: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """For each entry the sum of the terms that fall on it."""
        if self.flat is None:
            found = np.broadcast_to(terms, self.shape).sum(self.axes, keepdims=True) if self.axes else terms
            return np.asarray(found)
        weights = np.broadcast_to(np.asarray(terms, np.float64), self.shape).ravel()
        return np.bincount(self.flat, weights, math.prod(self.onto)).reshape(self.onto)


__all__ = ["Scatter", "Places"]
