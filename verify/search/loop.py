"""The one loop of all checks: what failed last time first, then planned examples, then those that Hypothesis draws.

A failing example is made small by Hypothesis, and kept (:mod:`verify.search.drawing`): the next check of the same property tries
it first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic

from hypothesis import target

from verify.faults import NoGradient, Unsupported
from verify.report import CONFORMS, FALSIFIED, INCONCLUSIVE, CheckResult, Inconclusive
from verify.search.drawing import find, is_kept
from verify.search.property import Case, NotRunnable, Property
from verify.search.record import Budget, SearchRecord

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SIMPLER = 120
"""Draws among which a simple counterexample is sought, of each strategy."""
LEAST_SECONDS = 0.3
"""Seconds that every counterexample gets to be made small, even when the report's share is used up."""
PLAIN = 0.6
"""The share of these seconds after which all strategies but the last have to have found something."""
VACUOUS = "vacuous: the bound was never small against a value"
"""What is said of a check that no example had a bearing on."""
NAMED = 5
"""So many are named of those of which little was said."""
WRONG_EXAMPLE = (Unsupported, ValueError, IndexError, ArithmeticError, LookupError)
"""What judging a made-up example may raise: then it is none."""


class Search(Generic[Case]):
    """The search for a violation of one property."""

    def __init__(self, prop: Property[Case], budget: Budget) -> None:
        self.property, self.budget, self.found = prop, budget, SearchRecord()

    def run(self) -> list[CheckResult]:
        """Judge all examples up to the first violation, make that small, and conclude.

        Raises:
            NotRunnable: the property cannot be tried on the callable.
        """
        self.try_last_failures()
        for group in self.property.groups():
            self.judge(group)
            if self.found.over:
                break
        if not self.found.over:
            for turn, (count, drawn) in enumerate(self.property.sought()):
                self.hunt(drawn, count, f"drawn {turn}", self.budget.seed + turn)
        for group in () if self.found.over else self.property.last_groups(self.found):
            self.judge(group)
        return list(self.property.conclude(self.found, self.result()))

    def judge(self, cases: Sequence[Case]) -> None:
        """Judge examples in order, up to the first violation."""
        if self.found.over:
            return
        try:
            outcomes = iter(self.property.judge_group(cases))
            for case in cases:
                if self.budget.clock.over:
                    self.found.cut = True
                    return
                outcome = next(outcomes)
                self.found.see(case, outcome)
                if outcome.fails:
                    return
        except Unsupported as said:
            self.found.unsupported = str(said)
            self.found.reason = (
                Inconclusive.NO_GRADIENT if isinstance(said, NoGradient) else Inconclusive.UNSUPPORTED
            )

    def hunt(self, drawn: SearchStrategy[Any], count: int, name: str, seed: int) -> None:
        """Let Hypothesis draw groups of examples, towards large ratios, up to the first violation."""
        found = self.found

        first: list[Any] = []
        again: dict[Any, bool] = {}

        def fails(draw: Any) -> bool:
            if found.over and not first:
                return False
            if first and not self.property.shrinks_draws:
                return bool(draw == first[0])  # Hypothesis makes sure of a failure: it has failed
            if first:
                if draw not in again:  # one that has failed fails again, so that this comes to an end in time
                    again[draw] = time.monotonic() < until and self.still_fails(
                        self.property.make_cases(draw)[0]
                    )
                return again[draw]
            before, found.latest = found.examples, 0.0
            self.judge(self.property.make_cases(draw))
            if found.outcome is not None:
                first.append(draw)
                again.update({draw: True} if self.property.shrinks_draws else {})
            elif found.examples > before:
                target(min(found.latest, 1e6))
            return bool(first)

        until = time.monotonic() + self.property.seconds
        find(drawn, fails, count, seed, self.key(name), shrink=self.property.shrinks_draws)

    def try_last_failures(self) -> None:
        """Try the counterexamples of earlier checks of the same property."""

        def fails(case: Case) -> bool:
            if not self.found.over:
                with suppress(*WRONG_EXAMPLE):
                    self.judge([case])
            return self.found.case is case

        for turn, simple in enumerate(self.property.simpler(None)):
            key = self.key(f"simple {turn}")
            if is_kept(key):
                find(simple, fails, SIMPLER, self.budget.seed, key, shrink=False, generate=False)

    def still_fails(self, case: Case) -> bool:
        """Whether an example that is simpler than the failing one fails as well; then it takes its place."""
        try:
            (outcome,) = self.property.judge_group([case])
        except (NotRunnable, *WRONG_EXAMPLE):
            return False
        first = self.found.outcome
        if outcome.idle or first is None or not self.property.fails_alike(first, outcome):
            return False
        self.found.case, self.found.outcome = case, outcome
        return True

    def key(self, name: str) -> bytes | None:
        """Under which failing examples are kept; None where nothing tells the callable from others."""
        known = self.property.key()
        return repr((self.property.name, name, known)).encode() if known else None

    # What it comes to ----------------------------------------------------------------------------------------------------

    def result(self) -> CheckResult:
        """The result of the search: a violation made small, a vacuous check, an unsupported type; what was set aside."""
        found, prop = self.found, self.property
        result = CheckResult(prop.name, prop.kind, CONFORMS, found.examples, found.worst, found.share)
        result.dtype, result.ratios = prop.dtype, found.ratios
        if found.outcome is not None:
            self.budget.violated = self.budget.violated or found.violated
            first = found.case
            if self.budget.small:
                self.shrink()
            outcome = found.outcome
            result.verdict, result.message = FALSIFIED, outcome.message
            result.raised = outcome.fault.raised if outcome.fault is not None else ""
            result.worst_ratio = max(found.worst or 0.0, outcome.ratio)
            result.counterexample = shown = prop.counterexample(found.case, outcome)
            if shown is not None and shown.regime and found.case is not first:
                shown.regime = f"made small from {shown.regime}"  # how it was drawn is not how it is
        elif found.unsupported:
            result.verdict, result.message, result.reason = INCONCLUSIVE, found.unsupported, found.reason
        elif not found.examples:
            result.verdict = INCONCLUSIVE
            result.message = "no example was judged" + (" in the time given" if found.cut else "")
        elif not found.effective:
            result.verdict, result.message, result.reason = INCONCLUSIVE, VACUOUS, Inconclusive.VACUOUS
        elif found.cut:
            result.message = f"stopped after {found.examples} examples: the time was over"
        elif prop.kind in ("value", "gradient") and (mute := found.asked - found.answered):
            result.message = _mute(sorted(mute), len(found.asked), prop.kind)
        if found.set_aside:
            result.details["set_aside"] = found.set_aside
            if found.outcome is None:
                result.message = "; ".join(filter(None, (result.message, _aside(found))))
        return result

    def shrink(self) -> None:
        """Put the simplest example that Hypothesis finds to fail in the same way instead of the one found."""
        case, began = self.found.case, time.monotonic()
        seconds = max(LEAST_SECONDS, min(self.property.seconds, self.budget.shrinking))

        def fails(other: Case) -> bool:
            end = until if self.found.case is case else began + seconds
            return time.monotonic() < end and self.still_fails(other)

        ways = list(self.property.simpler(case))
        for turn, strategy in enumerate(ways):
            until = began + seconds * (1.0 if turn == len(ways) - 1 else PLAIN)
            if time.monotonic() < until:
                find(strategy, fails, SIMPLER, self.budget.seed, self.key(f"simple {turn}"))
            if self.found.case is not case:
                break
        self.budget.shrinking -= time.monotonic() - began


def _aside(found: SearchRecord) -> str:
    """How many examples were set aside, and why."""
    every = found.examples + sum(found.set_aside.values())
    return "; ".join(
        f"{count} of {every} examples set aside: {why}" for why, count in found.set_aside.items()
    )


def _mute(names: list[str], of: int, kind: str) -> str:
    """Describe the outputs of which no number was large against its bound."""
    these = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    what = "the gradients of" if kind == "gradient" else "the outputs"
    return f"of {what} {these} ({len(names)} of {of}) no number was large against its bound"


__all__ = ["VACUOUS", "Search"]
