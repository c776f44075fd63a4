"""The fuzzer: random claims and mutated theorems, each proved or refused, and what is called proved evaluated."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from spec.language.formula import Formula
from spec.language.theorem import Theorem
from tests.attack.board import anything
from tests.attack.checking import OutOfTime, budget, said
from tests.attack.mutations import mutants
from tests.attack.mutations import theorems as ours
from tests.attack.random_claims import theorems as random_theorems
from tests.attack.refute import judged
from tests.attack.source import stated

BATCH = 50
"""Random claims that Hypothesis draws from one seed."""


@dataclass
class Tally:
    """What became of the claims of one kind."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    hits: list[str] = field(default_factory=list)
    crashes: Counter[str] = field(default_factory=Counter)

    def row(self) -> list[str]:
        """For the table: tried, refused, proved and true, hits, not evaluated, timeouts, crashes."""
        keys = ("tried", "refused", "true", "hits", "not evaluated", "timeout", "crashed")
        return [self.name, *(str(self.counts[key]) for key in keys)]


def attempt(
    theorem: Theorem, formula: Formula, tally: Tally, what: str, seconds: float = 10.0, tries: int = 120
) -> bool:
    """Prove a theorem; where it is proved, evaluate it. Whether that is a hit."""
    tally.counts["tried"] += 1
    found = said(theorem, formula, seconds)
    if found.verdict == "crashed":
        tally.crashes[found.words[:90]] += 1
    if found.verdict != "accepted":
        tally.counts[found.verdict] += 1
        return False
    try:
        with budget(2 * seconds):
            verdict = judged(theorem, formula, tries=tries)
    except OutOfTime:
        tally.counts["not evaluated"] += 1
        return False
    except Exception as error:  # the evaluation of what was accepted failed: to be looked at like a hit
        tally.counts["not evaluated"] += 1
        tally.crashes[f"evaluating {what}: {stated(theorem)}: {type(error).__name__}: {error}"] += 1
        return False
    if verdict.violated:
        tally.counts["hits"] += 1
        tally.hits.append(f"{what}: {stated(theorem)}\n    refuted: {verdict.violated}")
        return True
    tally.counts["true" if verdict.met else "not evaluated"] += 1
    return False


def random_round(number: int, tally: Tally, until: float, examples: int = BATCH) -> None:
    """A batch of random claims from one seed; it ends early when the time is over."""

    @seed(number)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(random_theorems())
    def run(theorem: Theorem) -> None:
        if time.monotonic() < until:
            attempt(theorem, anything, tally, f"random, seed {number}")

    run()


def mutated_round(number: int, tally: Tally, until: float, count: int = BATCH, seconds: float = 10.0) -> None:
    """Mutants of theorems drawn at random from one seed."""
    random = np.random.default_rng(number)
    every = ours()
    for _ in range(count):
        if time.monotonic() >= until:
            return
        formula, theorem = every[int(random.integers(len(every)))]
        mutant = next(mutants(formula, theorem, random))
        attempt(mutant.theorem, formula, tally, f"{mutant}, seed {number}", seconds, tries=40)


ROUNDS: dict[str, Callable[..., None]] = {"random": random_round, "mutated": mutated_round}


def rounds(first: int, until: float, kinds: tuple[str, ...] = tuple(ROUNDS)) -> Iterator[dict[str, Tally]]:
    """Rounds of every kind by turns, from consecutive seeds, until the time is over."""
    tallies = {kind: Tally(kind) for kind in kinds}
    number: Any = first
    while time.monotonic() < until:
        for kind in kinds:
            ROUNDS[kind](number, tallies[kind], until)
        number += 1
        yield tallies
