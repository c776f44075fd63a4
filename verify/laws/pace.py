"""How much is drawn of a callable that is slow: as much as planned where time allows, else a share, whose power is said.

What is drawn less often is judged by the same exact tests, so that false alarms are no likelier; only deviations have to be
larger to be seen. The share is settled before anything is judged, from calls whose results are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verify.laws.results import ALPHA, POWER
from verify.laws.statistics import region
from verify.subject.timing import least_seconds

SECONDS = 30.0
"""Processor time that the calls of a check may take; a callable that works on whole tensors needs a few seconds."""

MORE = 8
"""So many times the repetitions of the first call that is timed has another, where that was slow: what a call costs beside its
positions is then told apart."""

NOTE = "note"
"""Under what name a check's details hold that sentence."""

LEAST = 64
"""So often everything is drawn at least."""


@dataclass(frozen=True)
class Planned:
    """Calls as they are planned: how many of them, and how many positions each has."""

    calls: int
    positions: int


def share(once: Callable[[int], int], planned: Sequence[Planned], copies: int) -> float:
    """Which share of the calls may be made; 1 where all fit into :data:`SECONDS`.

    ``once`` makes a call with so many repetitions, first ``copies``, and says how many positions that were.
    """
    few, cost = _timed(once, copies)
    calls, positions = sum(p.calls for p in planned), sum(p.calls * p.positions for p in planned)
    if cost / few * positions <= SECONDS:
        return 1.0
    more, dearer = _timed(once, MORE * copies)
    each = max(0.0, dearer - cost) / (more - few)
    whole = max(0.0, cost - each * few) * calls + each * positions
    return min(1.0, SECONDS / whole) if whole > 0 else 1.0


def _timed(once: Callable[[int], int], copies: int) -> tuple[int, float]:
    """Positions and seconds of a call; the first of a shape, which may compile, does not count."""
    positions: list[int] = []
    seconds = least_seconds(lambda: positions.append(once(copies)))
    return positions[-1], seconds


def said(off: float, part: float) -> str:
    """What is told of checks for which a share of the draws planned was made; nothing where that is all of them."""
    if part >= 1:
        return ""
    return (
        f"calls are slow: {100 * part:.2g} % of the draws planned were made, among which a probability that is off by {off:g} "
        f"is seen with power {POWER} (no false alarm is likelier for it)"
    )


def least_seen(count: int, p: float, level: float) -> float:
    """How far off a probability ``p`` is, in hundredths, that is seen among ``count`` with the stated power on either side."""
    test = region(count, p, level)
    for off in (hundredth / 100 for hundredth in range(1, 100)):
        others = [other for other in (p - off, p + off) if 0 < other < 1]
        if others and all(test.power(other) >= POWER for other in others):
            return off
    return 1.0


def against(part: float, planned: float, count: int, p: float, tests: int) -> float:
    """How far off a probability ``p`` is that is seen with the stated power, where a share of the draws planned was made; else 0.

    ``planned`` is what is seen among all of them, ``tests`` how many share half of the false-alarm probability.
    """
    return max(planned, least_seen(count, p, ALPHA / 2 / tests)) if part < 1 else 0.0


__all__ = ["LEAST", "NOTE", "Planned", "against", "least_seen", "said", "share"]
