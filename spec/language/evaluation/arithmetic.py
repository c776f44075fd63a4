"""What a number system is to the evaluation: floats with a running error, random roundings and balls are each one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.precision import Format
from spec.language.evaluation.truth import Truth

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

    def recovered(self, a: Number) -> Number:
        """exp(ln a): a where that is positive, else undefined."""

    def exponential(self, a: Number, top: Number | None, family: Any) -> Number:
        """exp(a), of a softmax whose largest exponent is ``top``."""

    def compared(self, relation: str, a: Number, b: Number) -> Truth:
        """``a <= b``, ``a < b`` or ``a == b``; open where the precision does not decide it."""

    def select(self, where: Truth, a: Number, b: Number) -> Number:
        """``a`` where the condition holds, else ``b``."""

    def sum(self, a: Number, where: Truth | None) -> Number:
        """The sum over the last axis of the entries permitted by ``where``."""

    def maximum(self, a: Number, where: Truth | None) -> Number:
        """The largest permitted entry along the last axis."""

    def contract(self, factors: list[Number], terms: int, where: Truth | None) -> Number | None:
        """The sum of products over the last axis, which has so many terms; None where it has to be formed as it stands."""

    def put(
        self, target: Number, index: tuple[npt.NDArray[np.int64], ...], a: Number, accumulate: bool
    ) -> Number:
        """``target`` with ``a`` written (or added) at ``index``."""

    def write(self, target: Number, window: Change, a: Number) -> bool:
        """Write ``a`` into the part of ``target`` that ``window`` shows, in place; False where that cannot be."""

    def add(self, target: Number, window: Change, a: Number, shape: tuple[int, ...]) -> bool:
        """Add ``a`` to the part of ``target`` that ``window`` shows, in place; False where that cannot be."""

    def stored(self, a: Number, storage: Format) -> Number:
        """Numbers rounded to the type in which they are stored."""
