"""Arrays of numbers with a running error bound: float64 values, and how far an implementation may be from them.

Each operation adds the rounding error of the modelled implementation and carries on the error of its operands (Higham,
*Accuracy and Stability of Numerical Algorithms*, sections 3.1 and 3.3), second-order terms included. The float64 arithmetic
used here rounds too; its unit is added to the implementation's, so the bound covers the distance between the two.

Values and errors share an exponent, ``(value, error)·2**exponent``, so exponentials of ±10⁴ neither overflow nor vanish.
Without a precision the same class is plain float64 arithmetic with that extended range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
HUGE = 1e280
"""An error so large says nothing; whoever cuts one off marks the number as lost, or a small factor would make it small."""
FOLDED = 929
"""Numbers and errors below two to this power need no exponents of their own: errors stay below HUGE."""
UNIT64 = 2.0**-53
HIDDEN = 2.0**-60
"""What is this much smaller than a float64 number leaves no trace when it is added."""
NONE = -(10**17)
"""The exponent of a zero: below that of every other number."""
LARGEST_EXACT = 1 / UNIT64
"""Up to here float64 holds every whole number."""


@dataclass(slots=True)
class Rearranged:
    """An array rearranged by a change that is made when it is asked for: most are not."""

    of: Floats | Rearranged
    change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]

    def make_array(self) -> Floats:
        """The array."""
        return self.change(self.of.make_array() if isinstance(self.of, Rearranged) else self.of)


@dataclass(slots=True)
class Num:
    """An array of numbers.

    Attributes:
        value: float64 values, to be multiplied by ``2**scale``.
        error: bound on the distance of an implementation's result from the exact one, same scale; None when not tracked.
        scale: integer exponents, or None for 0.
        low: for numbers that cannot be negative: a lower bound that the exact and the computed number both respect.
        lost: where nothing can be said (the implementation's type may overflow, or a divisor may vanish).
        softmax: tag of the exponential family this belongs to, and whether it is the family's total.
        reach: of a sum, as long as nothing else was done with it, how large a partial sum can be, in whatever order its terms
            are added; and how that is to be rearranged, once it is asked for.
        terms: of how many terms that sum is; 1 for everything else.
        exact: every error is 0, and nobody has to look.
        top: no value, its error added, is larger in size, and none is NaN; infinite where that is not known.
    """

    value: Floats
    error: Floats | None = None
    scale: npt.NDArray[np.int64] | None = None
    low: Floats | None = None
    lost: Flags | None = None
    softmax: tuple[Any, bool] | None = None
    reach: Floats | Rearranged | None = None
    exact: bool = False
    terms: int = 1
    top: float = math.inf

    @property
    def bare(self) -> bool:
        """Whether it has values and nothing beside them."""
        return self.error is None and self.scale is None and self.lost is None

    def view(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Num:
        """The same numbers rearranged by ``change``, which acts on every array alike."""
        value, error, scale, low, lost = self.value, self.error, self.scale, self.low, self.lost
        changed = change(value)
        if self.bare:
            return Num(changed, softmax=self.softmax, exact=self.exact, terms=self.terms, top=self.top)
        return Num(
            changed,
            None if error is None else change(error),
            None if scale is None else change(scale),
            None if low is None else changed if low is value else change(low),
            None if lost is None else change(lost),
            self.softmax,
            None if self.reach is None else Rearranged(self.reach, change),
            self.exact,
            self.terms,
            self.top,
        )

    def fills(self, shape: tuple[int, ...]) -> bool:
        """Whether each of its arrays has this shape already; 1 stands for any length."""
        own, error, low = self.value.shape, self.error, self.low
        return (
            (own == shape or has(own, shape))
            and (error is None or error.shape == own)
            and (low is None or low is self.value or low.shape == own)
            and (self.lost is None or self.lost.shape == own)
            and (self.scale is None or self.scale.shape == own)
            and self.reach is None
        )

    def by_itself(self, part: bool) -> Num:
        """The same numbers as a line gives them: of no softmax, and no sum but where the line is ``part`` of another."""
        if self.softmax is None and (part or self.reach is None):
            return self
        reach, terms = (self.reach, self.terms) if part else (None, 1)
        return Num(
            self.value, self.error, self.scale, self.low, self.lost, None, reach, self.exact, terms, self.top
        )

    def get_reach(self) -> Floats | None:
        """How far the partial sums reach."""
        return self.reach.make_array() if isinstance(self.reach, Rearranged) else self.reach

    @property
    def nonzero(self) -> Flags:
        """Where it is not exactly 0, for the implementation too: the product with an exact 0 neither rounds nor underflows."""
        found = self.value != 0
        return found if self.error is None or self.exact else found | (self.error != 0)

    @property
    def somewhere(self) -> bool | Flags:
        """As :attr:`nonzero`; True where no value is 0, which is soon seen."""
        return self.nonzero if self.vanishes else True

    @property
    def vanishes(self) -> bool:
        """Whether some value is 0; if none is, none of the numbers is exactly 0."""
        return bool(np.count_nonzero(self.value) < self.value.size)

    def floats(self) -> Floats:
        """The values as float64; what does not fit becomes 0 or infinite."""
        if self.scale is None:
            return self.value
        with np.errstate(over="ignore", under="ignore"):
            return np.ldexp(self.value, clip(self.scale, -2400, 2400))

    def bounds(self) -> Floats:
        """The error bounds as float64, infinite where nothing can be said."""
        if self.error is None:
            raise TypeError("these numbers carry no error bound")
        error = self.error
        if self.scale is not None:
            with np.errstate(over="ignore"):
                error = np.ldexp(error, clip(self.scale, -2400, 2400))
        error = np.where(error < HUGE, error, np.inf)
        return error if self.lost is None else np.where(self.lost, np.inf, error)


def has(own: tuple[int, ...], asked: tuple[int, ...]) -> bool:
    """Whether an array has the lengths that are asked for along its axes; 1 asks for none."""
    fitting = zip(own, asked, strict=False)
    return len(own) == len(asked) and not [1 for length, wanted in fitting if length != wanted != 1]


def either(a: Flags | None, b: Flags | None) -> Flags | None:
    """Where either is lost."""
    if a is None or b is None:
        return b if a is None else a
    return a | b


def clip(values: Any, low: float, high: float) -> Any:
    """Values, none of them beyond either end: ``numpy.clip`` without its checks of types, which take longer than it does."""
    return np.minimum(np.maximum(values, low), high)


def largest(sizes: Floats) -> float:
    """The largest of some sizes; NaN if one is, 0 if there are none."""
    return float(np.maximum.reduce(sizes, axis=None, initial=0.0))


def hides(sizes: Floats, least: float) -> bool:
    """Whether no size changes when this much is added to it, or less: it is far below the last bit of each."""
    return bool(np.minimum.reduce(sizes, axis=None, initial=np.inf) * HIDDEN > least)


def above(a: Any, b: Any) -> Any:
    """``a + b`` in the memory of ``a``, which nobody else holds: fresh memory costs more than the sum."""
    if isinstance(a, np.ndarray) and a.shape and (isinstance(b, float) or b.shape == a.shape):
        return np.add(a, b, out=a)
    return a + b


def times(a: Any, factor: float) -> Any:
    """``a * factor`` in the memory of ``a``, which nobody else holds."""
    return np.multiply(a, factor, out=a) if isinstance(a, np.ndarray) and a.shape else a * factor


def growth(share: float) -> float:
    """How much of a number its relative errors, which add up to ``share``, may come to once each is taken of the result."""
    return share / (1 - share) if share < 1 else HUGE


def sizes(a: Num) -> Floats:
    """How large each number's value or error is, whichever is larger, but for the exponents."""
    return np.abs(a.value) if a.error is None else np.maximum(np.abs(a.value), a.error)


def exponents(a: Num) -> npt.NDArray[np.int64]:
    """The exponents of ``a``, 0 where it has none."""
    return np.zeros((), np.int64) if a.scale is None else a.scale
