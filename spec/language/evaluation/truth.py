"""Conditions in three values: they hold, they fail, or the precision at hand does not decide them.

A comparison of integers is always decided. A comparison of inexact numbers is open where they come closer than their errors:
there the exact condition, or an implementation's, may go either way, and whatever depends on it has to cover both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]


class Undecided(ArithmeticError):  # noqa: N818  (what is found, not a fault)
    """An integer, or an index, depends on a comparison that the precision does not decide."""


@dataclass(frozen=True)
class Truth:
    """An array of conditions.

    Attributes:
        holds: what the values at hand say.
        open: where that is not decided; None where everything is.
    """

    holds: Bools
    open: Bools | None = None

    @classmethod
    def between(cls, surely: Bools, possibly: Bools, holds: Bools) -> Truth:
        """Conditions that hold at least at ``surely`` and at most at ``possibly``."""
        undecided = possibly & ~surely
        return cls(holds, undecided if undecided.any() else None)

    @property
    def surely(self) -> Bools:
        """Where they hold for certain."""
        return self.holds if self.open is None else self.holds & ~self.open

    @property
    def possibly(self) -> Bools:
        """Where they may hold."""
        return self.holds if self.open is None else self.holds | self.open

    @property
    def everywhere(self) -> bool:
        """Whether it is one condition for all, that holds."""
        return self.open is None and self.holds.size == 1 and bool(self.holds.all())

    def decided(self, what: Any) -> Bools:
        """The conditions, where nothing may be open.

        Raises:
            Undecided: something is.
        """
        if self.open is not None:
            raise Undecided(f"{what} depends on a comparison that this precision does not decide")
        return self.holds

    def view(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Truth:
        """The same conditions rearranged."""
        return Truth(change(self.holds), None if self.open is None else change(self.open))

    def any(self) -> Truth:
        """Whether one of them holds, along the last axis."""
        surely, possibly, holds = (
            np.asarray(part.any(-1)) for part in (self.surely, self.possibly, self.holds)
        )
        return Truth.between(surely, possibly, holds)

    def where(self, condition: Truth, otherwise: Truth) -> Truth:
        """These conditions where another holds, else ``otherwise``."""
        return (condition & self) | (~condition & otherwise)

    def __and__(self, other: Truth) -> Truth:
        both = self.holds & other.holds
        if self.open is None and other.open is None:
            return Truth(both)
        return Truth.between(self.surely & other.surely, self.possibly & other.possibly, both)

    def __or__(self, other: Truth) -> Truth:
        return ~(~self & ~other)

    def __invert__(self) -> Truth:
        return Truth(~self.holds, self.open)
