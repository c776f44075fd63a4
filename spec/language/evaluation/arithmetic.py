"""What a number system is to the evaluation, and conditions, which numbers may leave open.

Floats with a running error, random roundings and balls are each one. A condition has three values: it holds, it fails, or the
precision at hand does not decide it. A comparison of integers is always decided. A comparison of inexact numbers is open where
they come closer than their errors: there the exact condition, or an implementation's, may go either way, and whatever depends on
it has to cover both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.precision import Format

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
    def from_bounds(cls, surely: Bools, possibly: Bools, holds: Bools) -> Truth:
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

    def require_decided(self, what: Any) -> Bools:
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
        parts = (self.surely, self.possibly, self.holds)
        return Truth.from_bounds(*(np.asarray(part.any(-1)) for part in parts))

    def where(self, condition: Truth, otherwise: Truth) -> Truth:
        """These conditions where another holds, else ``otherwise``."""
        return (condition & self) | (~condition & otherwise)

    def __and__(self, other: Truth) -> Truth:
        both = self.holds & other.holds
        if self.open is None and other.open is None:
            return Truth(both)
        return Truth.from_bounds(self.surely & other.surely, self.possibly & other.possibly, both)

    def __or__(self, other: Truth) -> Truth:
        return ~(~self & ~other)

    def __invert__(self) -> Truth:
        return Truth(~self.holds, self.open)


Number = TypeVar("Number")
Change = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""A rearrangement of arrays."""


class Arithmetic(Protocol[Number]):
    """Arithmetic of arrays of numbers, each with as many axes as there are indices around; length 1 stands for any length.

    Attributes:
        tracks: it wants to know the largest exponent of a softmax.
        certain: the same operation on the same numbers gives the same.
        held: up to here its numbers hold every whole one.
        precision_name: under which constants are kept from run to run; None where they are not.
    """

    tracks: bool
    certain: bool
    held: float
    precision_name: str | None

    def exact(self, values: Any, positive: bool = False) -> Number:
        """Numbers that an implementation receives exactly; ``positive`` ones are known not to be negative."""

    def rational(self, p: int, q: int) -> Number:
        """The rational number p/q."""

    def pi(self) -> Number:
        """The number π."""

    def zeros(self, shape: tuple[int, ...]) -> Number:
        """Zeros."""

    def undefined(self) -> Number:
        """A value about which nothing is said."""

    def shape(self, a: Number) -> tuple[int, ...]:
        """The shape of an array of numbers."""

    def view(self, a: Number, change: Change) -> Number:
        """The same numbers rearranged."""

    def negative(self, a: Number) -> Number:
        """-a."""

    def plus(self, a: Number, b: Number) -> Number:
        """a + b."""

    def minus(self, a: Number, b: Number) -> Number:
        """a - b."""

    def times(self, a: Number, b: Number) -> Number:
        """a * b."""

    def over(self, a: Number, b: Number) -> Number:
        """a / b."""

    def power(self, a: Number, y: Number | None, whole: int | None = None, integral: bool = False) -> Number:
        """a**y: by products for an integer ``whole``; of ``integral`` y for every a."""

    def function(self, name: str, a: Number) -> Number:
        """An elementary function."""

    def exp_of_log(self, a: Number) -> Number:
        """exp(ln a): a where that is positive, else undefined."""

    def exponential(self, a: Number, top: Number | None, family: Any) -> Number:
        """exp(a), of a softmax whose largest exponent is ``top``."""

    def compare(self, relation: str, a: Number, b: Number) -> Truth:
        """``a <= b``, ``a < b`` or ``a == b``; open where the precision does not decide it."""

    def select(self, where: Truth, a: Number, b: Number) -> Number:
        """``a`` where the condition holds, else ``b``."""

    def sum(self, a: Number, where: Truth | None) -> Number:
        """The sum over the last axis of the entries permitted by ``where``."""

    def maximum(self, a: Number, where: Truth | None) -> Number:
        """The largest permitted entry along the last axis."""

    def contract(self, factors: list[Number], terms: int, where: Truth | None) -> Number | None:
        """The sum of products over the last axis, which has so many terms; None where it has to be formed as it stands."""

    def write_at(
        self, target: Number, index: tuple[npt.NDArray[np.int64], ...], a: Number, accumulate: bool
    ) -> Number:
        """``target`` with ``a`` written (or added) at ``index``."""

    def write(self, target: Number, window: Change, a: Number) -> bool:
        """Write ``a`` into the part of ``target`` that ``window`` shows, in place; False where that cannot be."""

    def add(self, target: Number, window: Change, a: Number, shape: tuple[int, ...]) -> bool:
        """Add ``a`` to the part of ``target`` that ``window`` shows, in place; False where that cannot be."""

    def round_to_storage(self, a: Number, storage: Format) -> Number:
        """Numbers rounded to the type in which they are stored."""
