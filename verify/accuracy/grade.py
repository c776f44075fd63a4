"""A grade: the errors of all entries beside those of careful arithmetic, and from where on they are none of its."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spec.language.evaluation.precision import FORMATS
from verify.accuracy.beyond import Beyond
from verify.accuracy.graded_examples import MANY
from verify.accuracy.lost_digits import DigitLoss
from verify.properties.judge import Reals

WORST = {"float32": 32.0, "bfloat16": 12.0, "float16": 12.0}
"""From how many sigma on an entry makes a callable imprecise. Values of careful ones stay below 15 in float32 and 7 in bfloat16.
A line held in a coarser type than float32 makes hundreds; a sum of a thousand terms held in a 16-bit type, term by term, 16 to
50 of that type's. One that is rounded to it every 16 terms or fewer times stays below 8, and is not told from a careful one.
"""
TYPICAL = 8.0
"""The same for the root mean square over all entries, where careful implementations stay below 3. All entries may share one error
(of a row's length), whose sigma a few samples tell: more than 8 is then as rare as 10⁻⁷.
"""
RARE = {"value": 0.0, "gradient": 0.02}
"""The share of entries beyond :data:`WORST` that is no matter. Where autograd goes through the maximum that a softmax subtracts,
the roundings of a whole row meet in that one entry of a gradient: 30 sigma in float32, and 60 where the sum is a plain loop.
"""
SEVERAL = 16
"""An output, or a gradient, of so many entries or more is held to :data:`WORST` by itself: among many others one that is held
in a coarser type would be rare. Of a running sum of thousands of terms a tenth of a gradient lies beyond :data:`TYPICAL`.
"""
COARSE = 2.0**-16
"""In types of a larger unit sums are held in them now and then, and a bias's gradient is such a sum."""
SHARE = 0.1
"""By how many of its entries: of a stack of layers one may be coarse."""
FAR = 3
"""How many times as large a limit is as what need not be known better."""
LEAST = 0.1
"""An entry whose error is expected to be less than this share of its output's typical one is measured by that share: which of
the roundings an implementation spares there, by chance or by cancellation, is its own affair."""


@dataclass
class Grade:
    """The largest error in sigma over all entries, and what is needed for the root mean squares of both.

    ``violates``: what shows that it is no matter of digits, if something does; ``beyond``: how many entries are beyond the limit,
    and ``rare``: up to what share of all they are no matter; ``coarse``: an output that is far off; ``place``: where digits are
    lost, once that was looked for.
    """

    dtype: str
    sigma: float = 0.0
    what: str = ""
    errors: float = 0.0
    sigmas: float = 0.0
    entries: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    place: DigitLoss | None = None
    violates: Beyond = field(default_factory=Beyond)
    rare: float = 0.0
    beyond: int = 0
    coarse: str = ""

    @property
    def typical(self) -> float:
        """The root mean square of the errors beside that of careful arithmetic."""
        return math.sqrt(self.errors / self.sigmas) if self.sigmas else 0.0

    @property
    def digits(self) -> float:
        """Decimal digits lost against careful arithmetic."""
        return max(0.0, math.log10(self.typical)) if self.typical else 0.0

    @property
    def imprecise(self) -> bool:
        """Whether careful arithmetic does not make such errors."""
        far = self.sigma > WORST[self.dtype] and self.beyond > self.rare * self.entries
        return far or self.several or bool(self.coarse)

    def is_settled(self, limit: float | None) -> bool:
        """Whether all is so far from every limit, and from this one if there is one, that more samples would change nothing."""
        least = min(WORST[self.dtype], math.inf if limit is None else limit)
        return FAR * self.sigma <= least and FAR * self.typical <= TYPICAL

    @property
    def several(self) -> bool:
        """Whether all entries together are further off than careful ones."""
        return self.typical > TYPICAL and self.entries >= MANY

    @property
    def rather_all(self) -> bool:
        """Whether it is all entries together that are too far off, and no single one."""
        return self.several and self.sigma <= WORST[self.dtype]

    def see(self, name: str, got: Any, value: Reals, sigma: Reals, judged: Any) -> None:
        """Count the entries of one output that are judged, and are no larger than the type holds.

        What comes of a batch may have an axis more, along which are its members, of all of which the same is expected: what is
        one entry of each counts once.
        """
        held = np.abs(value) <= FORMATS[self.dtype].largest
        judged = np.broadcast_to(judged & held & np.isfinite(sigma), value.shape)
        if got.shape[got.ndim - value.ndim :] != value.shape or not judged.any():
            return
        members = got.size // value.size
        with np.errstate(all="ignore"):
            error, spread = np.abs(got - value), sigma
            if not judged.all():
                error, spread = error[..., judged], spread[judged]
            if np.isnan(error.max()):
                error = np.where(np.isnan(error), np.inf, error)
            spread = np.maximum(spread, LEAST * math.sqrt(float(np.mean(spread**2))))
            ratios = error / spread
            if not spread.all():
                ratios = np.where(error == 0, 0.0, ratios)
            # Squares relative to the sigma of the output, so that outputs of all scales count alike.
            typical = float(np.mean(spread**2)) or 1.0
            self.errors += float(np.sum(error**2)) / typical / members
            self.sigmas += float(np.sum(spread**2)) / typical
        ratio, entries = float(ratios.max()), ratios.size // members
        beyond = np.count_nonzero(ratios > WORST[self.dtype]) if ratio > WORST[self.dtype] else 0
        fine = FORMATS[self.dtype].unit < COARSE
        if fine and entries >= SEVERAL and beyond > SHARE * ratios.size:
            self.coarse = self.coarse or name
        self.entries += entries
        self.beyond += math.ceil(beyond / members)
        if ratio > self.sigma:
            self.sigma, self.what = ratio, name

    def join(self, other: Grade) -> None:
        """Count another example's grade; what is kept of where is the worse one's."""
        if other.sigma >= self.sigma:
            self.sigma, self.what, self.sizes = other.sigma, other.what, other.sizes
        self.errors, self.sigmas = self.errors + other.errors, self.sigmas + other.sigmas
        self.entries, self.beyond = self.entries + other.entries, self.beyond + other.beyond
        self.coarse = self.coarse or other.coarse

    def to_dict(self) -> dict[str, Any]:
        """Return the grade as the report's document has it."""
        return {
            "sigma": self.sigma,
            "typical": self.typical,
            "digits": self.digits,
            "entries": self.entries,
            "sizes": self.sizes,
        }


__all__ = ["RARE", "TYPICAL", "WORST", "Grade"]
