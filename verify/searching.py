"""Searching for a violation: planned examples first, then Hypothesis, driven towards a large error/bound."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st

from verify.calling import Unsupported
from verify.judging import Outcome
from verify.regimes import MASKS, POSITIVE_NUMBERS
from verify.sampling import Example, Recipe, Space
from verify.sizing import SIZE_KINDS

PLANNED = 0.7
"""The share of examples that are planned; Hypothesis searches with the others."""

Probe = Callable[[Example], Outcome]


@dataclass
class Found:
    """What a search saw."""

    examples: int = 0
    effective: int = 0
    worst: float | None = None
    ratios: dict[str, float] = field(default_factory=dict)
    example: Example | None = None
    outcome: Outcome | None = None
    latest: float = 0.0
    unsupported: str = ""
    cut: bool = False
    returned: str = ""

    def see(self, example: Example, outcome: Outcome) -> None:
        """Count one judged example."""
        self.examples += 1
        self.effective += outcome.effective
        self.worst = max(self.worst or 0.0, outcome.ratio)
        self.latest = outcome.ratio
        self.returned = outcome.returned or self.returned
        self.ratios[example.regime] = max(self.ratios.get(example.regime, 0.0), outcome.ratio)
        if outcome.fails:
            self.example, self.outcome = example, outcome

    @property
    def over(self) -> bool:
        """Whether there is nothing left to search for."""
        return self.outcome is not None or bool(self.unsupported) or self.cut

    @property
    def share(self) -> float:
        """The share of effective examples."""
        return self.effective / self.examples if self.examples else 0.0


class Clock:
    """A limit on the whole of a check."""

    def __init__(self, seconds: float | None) -> None:
        self.end = math.inf if seconds is None else time.monotonic() + seconds

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.end


def search(
    space: Space, make: Callable[[Recipe], Example], probe: Probe, count: int, seed: int, clock: Clock
) -> Found:
    """Judge up to ``count`` examples; stops at the first violation."""
    found = Found()

    def judge(recipe: Recipe) -> None:
        if found.over:
            return
        if clock.over:
            found.cut = True
            return
        example = make(recipe)
        try:
            outcome = probe(example)
        except Unsupported as said:
            found.unsupported = str(said)
            return
        if not outcome.idle:
            found.see(example, outcome)

    planned = count if count < 4 else max(1, int(PLANNED * count))
    for recipe in space.plan(planned, seed, large=True):
        judge(recipe)
    if not found.over and count > planned:
        _hunt(space, judge, found, count - planned, seed)
    return found


def _hunt(space: Space, judge: Callable[[Recipe], None], found: Found, count: int, seed: int) -> None:
    recipes = st.builds(
        Recipe,
        st.integers(0, SIZE_KINDS - 1),
        st.integers(0, len(space.pairs) - 1),
        st.integers(0, len(space.data_regimes) - 1),
        st.integers(0, len(MASKS) - 1),
        st.integers(0, len(POSITIVE_NUMBERS) - 1),
        st.integers(0, 2**31 - 1),
    )

    def property_(recipe: Recipe) -> None:
        before = found.examples
        judge(recipe)
        if found.examples > before and not found.over:
            latest = found.latest
            hypothesis.target(min(latest, 1e6))

    test = hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
    )(hypothesis.seed(seed)(hypothesis.given(recipes)(property_)))
    test()
