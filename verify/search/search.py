"""Searching for a violation: planned examples first, then random ones, which Hypothesis drives towards a large error/bound where
they are many.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

import numpy as np

from verify.faults import Unsupported
from verify.inputs.examples import Example, Recipe, Space
from verify.inputs.regimes import MASKS, POSITIVE_NUMBERS
from verify.inputs.sizes import SIZE_KINDS
from verify.properties.outcome import Outcome
from verify.search.drawn import draw

PLANNED = 0.7
"""The share of examples that are planned; the others are searched."""
GENERATION, LARGER_GENERATION = 6, 15
"""Examples of equal sizes that are drawn at a time; and of a statement that is dear to evaluate at any sizes."""
PLAIN = 4
"""So many more examples where the bound said nothing of something that is compared, or little, as it does of many lines: at those
sizes and parameters at which it is at its smallest.
"""
STEERED = 10
"""Generations after which Hypothesis begins to steer: fewer would be as random with it, and its import takes half a second."""

_T = TypeVar("_T")
Probe = Callable[[Example], Outcome]


@dataclass
class Found:
    """What a search saw; ``latest``: the worst ratio since it was last set to 0; ``violated``: when the violation was seen;
    ``asked`` and ``answered``: what was compared, and of which of it the bound was ever small against a value.
    """

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
    violated: float | None = None
    asked: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()

    def see(self, example: Example, outcome: Outcome) -> None:
        """Count one judged example."""
        self.examples += 1
        self.effective += outcome.effective
        self.asked |= outcome.asked
        if 1 not in example.sizes.values():  # where an axis has one entry, nothing is said about the axis
            self.answered |= outcome.answered
        self.worst = max(self.worst or 0.0, outcome.ratio)
        self.latest = max(self.latest, outcome.ratio)
        self.returned = outcome.returned or self.returned
        self.ratios[example.regime] = max(self.ratios.get(example.regime, 0.0), outcome.ratio)
        if outcome.fails:
            self.example, self.outcome, self.violated = example, outcome, time.monotonic()

    def see_all(self, judged: Iterable[tuple[Example, Outcome]]) -> None:
        """Count examples, up to the first violation."""
        for example, outcome in judged:
            self.see(example, outcome)
            if self.over:
                return

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
    def left(self) -> float | None:
        """The seconds until then; None where there is no limit."""
        return None if self.end == math.inf else max(self.end - time.monotonic(), 0.0)


def windows(items: Iterable[_T], at_once: bool = False) -> Iterator[list[_T]]:
    """Items in groups, in order: one, three, then all that are left. The first must not wait for the others to be drawn.

    ``at_once``: in one group, since a violation that no search before has seen is not likely to be in the first.
    """
    left = iter(items)
    for count in (None,) if at_once else (1, 3, None):
        part = list(islice(left, count))
        if part:
            yield part


def search(
    space: Space,
    make: Callable[[Recipe], Example],
    probe: Probe,
    count: int,
    seed: int,
    clock: Clock,
    announce: Callable[[list[Example]], None] = lambda examples: None,
    at_once: bool = False,
    far: int = 0,
) -> Found:
    """Judge up to ``count`` examples, and :data:`PLAIN` more where little was said; stops at the first violation. Examples are
    announced before they are judged.

    ``at_once``: all that are planned are announced together; see :func:`windows`. ``far``: so many more are about parameters far
    out, see :meth:`~verify.inputs.examples.Space.far_out`.
    """
    found = Found()

    def judge(recipes: list[Recipe]) -> None:
        if found.over:
            return
        examples = [make(recipe) for recipe in recipes]
        if len(examples) > 1:
            announce(examples)
        for example in examples:
            if not found.over:
                one(example)

    def one(example: Example) -> None:
        if clock.over:
            found.cut = True
            return
        try:
            outcome = probe(example)
        except Unsupported as said:
            found.unsupported = str(said)
            return
        if not outcome.idle:
            found.see(example, outcome)

    plain = min(PLAIN, count // 4)
    planned = count if count < 4 else max(1, int(PLANNED * count))
    for recipes in windows(space.plan(planned, seed, large=True), at_once):
        judge(recipes)
    real = [] if far else space.real_sizes(min(count // 10, count - planned), seed)
    judge(real)
    if not found.over and count > planned + len(real):
        _hunt(space, judge, found, count - planned - len(real), seed)
    if far:
        judge(space.far_out(far, seed))
    if space.sizing.extensive or found.asked - found.answered:
        judge(space.plain(plain, seed))
    return found


Traits = tuple[int, int, int, int, int]
"""What distinguishes an example from others of its generation: regime, other regime, mask, number and seed."""


def _hunt(space: Space, judge: Callable[[list[Recipe]], None], found: Found, count: int, seed: int) -> None:
    """Judge generations of recipes that share their sizes, so that they are evaluated together."""
    together = LARGER_GENERATION if space.sizing.dear else GENERATION
    left = count

    def generation(sizes: int, variant: int, every: Iterable[Traits]) -> None:
        nonlocal left
        found.latest = 0.0
        recipes = [Recipe(sizes, a, b, c, d, e, variant) for a, b, c, d, e in every][:left]
        left -= len(recipes)
        judge(recipes)

    traits = (len(space.leads), len(space.data_regimes), len(MASKS), len(POSITIVE_NUMBERS), 2**31)
    generations = -(-count // together)
    if generations > STEERED:
        _steered(generation, found, traits, together, generations, seed)
        return
    random = np.random.default_rng([seed, 13])
    for turn in range(generations):
        sizes, variant = map(int, random.integers((SIZE_KINDS, 2**31)))
        drawn = random.integers(traits, size=(together, len(traits)))
        if turn % 2 == 0:  # ordinary data, at which most can be said
            drawn[:, :2] = 0
        generation(sizes, variant, map(tuple, drawn.tolist()))


def _steered(
    generation: Callable[[int, int, Iterable[Traits]], None],
    found: Found,
    traits: Traits,
    together: int,
    generations: int,
    seed: int,
) -> None:
    """Hypothesis draws the generations."""
    import hypothesis
    from hypothesis import strategies as st

    one = st.tuples(*(st.integers(0, below - 1) for below in traits))
    drawn = st.tuples(
        st.integers(0, SIZE_KINDS - 1),
        st.integers(0, 2**31 - 1),
        st.lists(one, min_size=together, max_size=together),
    )

    def property_(drawn: tuple[int, int, list[Traits]]) -> None:
        before = found.examples
        generation(*drawn)
        if found.examples > before and not found.over:
            hypothesis.target(min(found.latest, 1e6))

    draw(property_, drawn, generations, seed, ("target",))
