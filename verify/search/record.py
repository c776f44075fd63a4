"""What the search for a violation has seen, and the time that it has."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from verify.report import Inconclusive
from verify.search.outcome import Outcome


class Clock:
    """A limit on the whole of a check."""

    def __init__(self, seconds: float | None) -> None:
        self.began = time.monotonic()
        self.end = math.inf if seconds is None else self.began + seconds

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.end

    @property
    def seconds_left(self) -> float | None:
        """The seconds until then; None where there is no limit."""
        return None if self.end == math.inf else max(self.end - time.monotonic(), 0.0)


@dataclass
class Budget:
    """What the properties of one report share: the time for all, and for making counterexamples small; the seed.

    Attributes:
        clock: the limit on the whole.
        seed: determines every example.
        small: whether counterexamples are made small.
        shrinking: the seconds left for that.
        violated: when the first violation of all was seen.
    """

    clock: Clock
    seed: int = 0
    small: bool = True
    shrinking: float = 4.0
    violated: float | None = None


@dataclass
class SearchRecord:
    """What was seen of a property.

    Attributes:
        examples: how many were judged.
        set_aside: how many were not, though something was wrong there, by the reason.
        effective: of how many of them the bound was small against a value.
        worst: the largest ratio.
        ratios: the same by regime.
        case: the example that fails, and its outcome.
        latest: the largest ratio since it was last set to 0.
        unsupported: why the property cannot be judged, in words.
        reason: the same.
        cut: whether the time was over.
        returned: the type of what came back.
        violated: when the violation was seen.
        asked: what was compared.
        answered: of which of it the bound was ever small against a value.
    """

    examples: int = 0
    set_aside: dict[str, int] = field(default_factory=dict)
    effective: int = 0
    worst: float | None = None
    ratios: dict[str, float] = field(default_factory=dict)
    case: Any = None
    outcome: Outcome | None = None
    latest: float = 0.0
    unsupported: str = ""
    reason: Inconclusive | None = None
    cut: bool = False
    returned: str = ""
    violated: float | None = None
    asked: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()

    def see(self, case: Any, outcome: Outcome) -> None:
        """Count one example."""
        if outcome.aside:
            self.set_aside[outcome.aside] = self.set_aside.get(outcome.aside, 0) + 1
        if outcome.idle:
            return
        self.examples += 1
        self.effective += outcome.effective
        self.asked |= outcome.asked
        if (
            1 not in getattr(case, "sizes", {}).values()
        ):  # where an axis has one entry, nothing is said about the axis
            self.answered |= outcome.answered
        self.worst = max(self.worst or 0.0, outcome.ratio)
        self.latest = max(self.latest, outcome.ratio)
        self.returned = outcome.returned or self.returned
        regime = getattr(case, "regime", "")
        self.ratios[regime] = max(self.ratios.get(regime, 0.0), outcome.ratio)
        if outcome.fails:
            self.case, self.outcome, self.violated = case, outcome, time.monotonic()

    @property
    def over(self) -> bool:
        """Whether there is nothing left to search for."""
        return self.outcome is not None or bool(self.unsupported) or self.cut

    @property
    def through(self) -> bool:
        """Whether examples were judged, all that there were, and nothing was wrong."""
        return self.examples > 0 and not self.over

    @property
    def share(self) -> float:
        """The share of effective examples."""
        return self.effective / self.examples if self.examples else 0.0


__all__ = ["Budget", "Clock", "SearchRecord"]
