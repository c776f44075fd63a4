"""Exact tests for counts: tail probabilities, rejection regions, and how large a sample a stated power needs.

Nothing here is simulated or approximated by a normal distribution. Tails are SciPy's, raised by :data:`SLACK` to cover rounding,
so that a returned p-value is never below the true one. Source: Clopper & Pearson 1934 for exact binomial
tests; Joag-Dev & Proschan 1983 for negative association, which makes Chernoff's bound valid without replacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]

ALPHA = 1e-9
"""The false-alarm probability of one check, all its tests together."""

POWER = 0.999
"""The probability with which each planned alternative is seen."""

LAGS = (1, 2, 3, 5)
"""Distances at which positions are compared."""

SLACK = 1e-6
"""Relative increase of every tail, far above the rounding of SciPy's at the sizes in use (about 1e-10)."""


def upper_tail(k: int, n: int, p: float) -> float:
    """P(X ≥ k) for X binomial(n, p), never too small; exactly 1 where k is at or below the mean."""
    if k <= 0 or k <= n * p:
        return 1.0
    if k > n or p <= 0:
        return 0.0
    return min(1.0, float(bdtrc(k - 1, n, p)) * (1 + SLACK))


def lower_tail(k: int, n: int, p: float) -> float:
    """P(X ≤ k) for X binomial(n, p), never too small; exactly 1 where k is at or above the mean."""
    return upper_tail(n - k, n, 1.0 - p)


def binomial_p(k: int, n: int, low: float, high: float | None = None) -> float:
    """The two-sided p-value of k successes in n independent trials whose probabilities all lie in [low, high].

    The count is stochastically between binomial(n, low) and binomial(n, high), so each tail is taken at its worse end.
    """
    high = low if high is None else high
    return min(1.0, 2 * min(upper_tail(k, n, min(high, 1.0)), lower_tail(k, n, max(low, 0.0))))


def chernoff_p(k: int, n: int, p: float) -> float:
    """A two-sided p-value valid for any sum of n negatively associated indicators of probability p each.

    2·exp(−n·KL(k/n ‖ p)): Chernoff's bound needs E Π e^{tX} ≤ Π E e^{tX}, which negative association gives for both signs
    of t. Draws without replacement are negatively associated; so are products over disjoint positions.
    """
    if n == 0:
        return 1.0
    if p <= 0 or p >= 1:
        return 1.0 if k == n * p else 0.0
    seen = k / n
    divergence = 0.0
    if seen > 0:
        divergence += seen * math.log(seen / p)
    if seen < 1:
        divergence += (1 - seen) * math.log((1 - seen) / (1 - p))
    return min(1.0, 2 * math.exp(-n * divergence) * (1 + SLACK))


def poisson_binomial(probabilities: Iterable[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The distribution of the number of successes in independent trials with these probabilities."""
    pmf = np.ones(1)
    for p in probabilities:
        pmf = np.convolve(pmf, (1 - p, p))
    return pmf


@dataclass(frozen=True)
class Region:
    """A two-sided exact test of size at most ``alpha``: it rejects counts below ``low`` and above ``high``."""

    n: int
    p: float
    alpha: float
    low: int
    high: int

    def power(self, p: float) -> float:
        """The probability of rejecting when the true probability is ``p``; never too large (0 where it is below 1/2)."""
        if p > self.p:
            return max(0.0, 1.0 - lower_tail(self.high, self.n, p))
        return max(0.0, 1.0 - upper_tail(self.low, self.n, p))


def region(n: int, p: float, alpha: float) -> Region:
    """The exact two-sided test with at most alpha/2 in each tail, consistent with :func:`binomial_p`."""
    return Region(n, p, alpha, n - _edge(n, 1 - p, alpha / 2) + 1, _edge(n, p, alpha / 2) - 1)


def _edge(n: int, p: float, alpha: float) -> int:
    """The least k whose upper tail is at most alpha (n + 1 if none is)."""
    low, high = math.ceil(n * p), n + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if upper_tail(middle, n, p) <= alpha else (middle + 1, high)
    return low


@lru_cache(maxsize=256)
def sample_size(p0: float, p1: float, alpha: float, power: float) -> int:
    """How many trials the exact two-sided test of p0 at level ``alpha`` needs to see p1 with probability ``power``.

    Power is not monotone in n (counts are whole), so the answer is such that it and the next sizes up to 1 % more all
    have the power; it is at most about 1 % above the least such size.

    Raises:
        ValueError: probabilities that coincide or lie outside [0, 1].
    """
    if p0 == p1 or not (0 <= p0 <= 1 and 0 <= p1 <= 1):
        raise ValueError(f"a sample size needs two different probabilities; {p0} and {p1} were given")

    def enough(n: int) -> bool:
        return all(
            region(m, p0, alpha).power(p1) >= power for m in {n, n + n // 300, n + n // 150, n + n // 100}
        )

    high = 8
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > max(1, high // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass
class Tally:
    """The p-values of one check: headline tests share half of its false-alarm probability, all others the other half."""

    alpha: float
    headline: int
    _found: list[tuple[float, bool, str]] = field(default_factory=list, init=False)

    def add(self, p: float, what: str, *, headline: bool = False) -> None:
        """Record a test; ``what`` says in words what was seen and what is expected."""
        self._found.append((p, headline, what))

    def judge(
        self,
        where: str,
        what: str,
        k: int,
        n: int,
        low: float,
        high: float | None = None,
        *,
        headline: bool = False,
        by: Callable[..., float] = binomial_p,
    ) -> None:
        """Test ``k`` of ``n`` against probabilities from ``low`` to ``high``; ``where`` and ``what`` say in words of what."""
        ends = (low,) if high is None else (low, high)
        share = f"{100 * k / n:.4g} %" if n else "none"
        stated = " to ".join(dict.fromkeys(f"{100 * p:.4g}" for p in ends))
        said = f"{where}: {what}: {k:,} of {n:,} ({share}), expected {stated} %"
        self.add(by(k, n, *ends), said, headline=headline)

    def threshold(self, headline: bool) -> float:
        """The level of one test."""
        others = sum(not h for _, h, _ in self._found)
        mains = max(self.headline, sum(h for _, h, _ in self._found))
        return self.alpha / 2 / max(1, mains if headline else others)

    def verdict(self) -> tuple[bool, float, float, str]:
        """Whether all tests pass; the worst test's p-value, its level, and what it saw."""
        if not self._found:
            return True, 1.0, self.alpha, "nothing to test"
        levels = {headline: self.threshold(headline) for headline in (True, False)}
        worst = min(self._found, key=lambda one: _log(one[0]) - math.log(levels[one[1]]))
        level = levels[worst[1]]
        return worst[0] > level, worst[0], level, worst[2]

    @property
    def count(self) -> int:
        """How many tests were made."""
        return len(self._found)


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def pairs(length: int, lag: int) -> Ints:
    """First places of disjoint pairs at a distance: 0, 2, 4, … for 1; 0, 1, 4, 5, … for 2."""
    places = np.arange(length - lag)
    first: Ints = places[places // lag % 2 == 0]
    return first


def percent(share: float) -> str:
    """A share in words."""
    return f"{100 * share:.1f} %"
