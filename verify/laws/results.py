"""What the checks of a law have in common: their error probabilities, their results, and the use of the random generator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

from verify.laws.statistics import Tally
from verify.report import CheckResult

_T = TypeVar("_T")

ALPHA = 1e-9
"""The false-alarm probability of one check, all its tests together."""

POWER = 0.999
"""The probability with which each planned alternative is seen."""

RESULTS = "law: results"
"""The check that stands for all others where a call raises, or gives something of another form."""

TRIES = 40
"""Calls that must all give one result before a generator is said to be unused: one coin for a whole call does so in 2⁻⁴⁰."""


def judged(
    name: str, draws: int, tests: Iterable[Callable[[Tally], None]], headline: int = 4, against: float = 0.0
) -> CheckResult:
    """The result of a check made of tests that add p-values to a tally.

    ``against``: what is seen with the stated power, where less was drawn than planned.
    """
    tally = Tally(ALPHA, headline)
    for test in tests:
        test(tally)
    fine, p, level, said = tally.verdict()
    figure = abs(math.log(p) / math.log(level)) if p > 0 else math.inf
    seen_ = f"{POWER} against {against:g}" if against else POWER
    message = f"{said}; p = {p:.2g}, level {level:.1g} ({tally.count} tests, false alarm ≤ {ALPHA:g}, power ≥ {seen_})"
    return result(name, draws, fine, figure, message)


def exact(name: str, count: int, wrong: str | None, what: str = "positions") -> CheckResult:
    """The result of a check that allows no exception."""
    figure, said = (math.inf, wrong) if wrong else (0.0, f"exact in {count:,} {what}")
    return result(name, count, not wrong, figure, said)


def result(name: str, examples: int, fine: bool, figure: float, message: str) -> CheckResult:
    """The result of a check of a law."""
    return CheckResult(
        name=name,
        kind="law",
        verdict="conforms" if fine else "falsified",
        examples=examples,
        worst_ratio=figure,
        message=message,
    )


def seen(where: str, what: str, k: int, N: int, low: float, high: float | None = None) -> str:
    """A count and what was expected, in words."""
    share = f"{100 * k / N:.4g} %" if N else "none"
    ends = dict.fromkeys(f"{100 * p:.4g}" for p in (low, low if high is None else high))
    return f"{where}: {what}: {k:,} of {N:,} ({share}), expected {' to '.join(ends)} %"


def misused(
    arguments: Callable[[torch.Generator], list[Any]],
    call: Callable[[list[Any]], Sequence[Any]],
    names: Sequence[str],
    device: str,
) -> list[str]:
    """What is wrong with the use of the generator: equal seeds must give equal results, other states other results."""
    wrong: list[str] = []

    def once(generator: torch.Generator) -> Sequence[Any]:
        inputs = arguments(generator)
        before = [x.clone() if isinstance(x, torch.Tensor) else None for x in inputs]
        results = call(inputs)
        for item, old, new in zip(names, before, inputs, strict=False):
            if old is not None and not torch.equal(old, new):
                wrong.append(f"the input {item} was modified")
        return results

    def fresh(value: int) -> torch.Generator:
        return torch.Generator(device=device).manual_seed(value)

    def alike(results: Sequence[Any]) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(first, results, strict=True))

    used = fresh(11)
    first = once(used)
    if not alike(once(fresh(11))):
        wrong.append("the same seed gave another result")
    if all(alike(once(fresh(seed))) for seed in range(12, 12 + TRIES)):
        wrong.append("another seed gave the same result")
    if all(alike(once(used)) for _ in range(TRIES)):
        wrong.append("a second call with the same generator gave the same result: its state was not advanced")
    return list(dict.fromkeys(wrong))


def never() -> bool:
    """Time does not run out."""
    return False


def in_time(items: Iterable[_T], over: Callable[[], bool]) -> Iterator[_T]:
    """Items while there is time; the first in any case."""
    for place, item in enumerate(items):
        if place and over():
            return
        yield item


def cut(done: int, planned: int, what: str) -> list[CheckResult]:
    """What is said where time ran out before everything planned was drawn."""
    if done == planned:
        return []
    said = f"time ran out: {done} of {planned} {what} were drawn"
    return [CheckResult(f"law: other {what}", "law", "inconclusive", message=said)]


__all__ = ["ALPHA", "POWER", "RESULTS", "exact", "judged", "misused", "result", "seen"]
