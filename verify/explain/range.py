"""Where a callable conforms that fails beyond a size of its inputs: found by bisection, believed after a search within.

Candidates are each input, each line of the statement, how far the rows of an input are from 0, and all data together. Of an
example that fails, what is limited is made smaller until it passes; the smallest such limit counts. It is believed if a search
within finds nothing, at the limit and with either sign of each input, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from verify.faults import Unsupported
from verify.inputs.examples import Example, Recipe, members
from verify.inputs.ranges import OFFSET, Ranges, describe_limit, list_limitable
from verify.properties.gradients import judge_gradient
from verify.properties.plain_calls import GradientProperty, SearchedProperty, ValueProperty
from verify.properties.setting import Setting
from verify.properties.slopes import with_cotangents
from verify.properties.values import judge_value
from verify.report import Range, Report
from verify.search.loop import Search
from verify.search.outcome import Outcome

EXAMPLES, FEWEST = 80, 8
"""Examples that are looked at, and how many of them have to pass."""
EXTREMES = 40
"""Examples of the largest data, each of them twice."""
LARGE = ("huge scale", "far below zero", "deep below zero", "large scale", "large mean", "scale 10³")
STEPS = 9
"""Bisections of a limit, each of the remaining powers of ten."""
ROUNDS, MORE = 5, 0.6
"""How often a limit is made smaller by what a search within it finds, and by how much more: others may need less still."""
LEAST, LEAST_OFFSET = 3.0, 1.0
"""No smaller limit is a range: ordinary inputs would be outside."""
BEST = 3
"""Candidates that are searched."""

Probe = Callable[[Example], Outcome]


@dataclass
class Candidate:
    """Limits, how many of the passing examples are within, and the failing ones with their sizes, the smallest first."""

    names: tuple[str, ...]
    limit: float = math.inf
    kept: int = 0


class RangeSearch:
    """The search for a range in which everything passes that was falsified."""

    def __init__(self, setting: Setting, kinds: list[str], gradients: bool) -> None:
        self.setting, self.judge, self.caller = setting, setting.judge, setting.caller
        self.kinds, self.gradients = kinds, gradients
        self.space = setting.space(moderate=gradients)
        self.passing: list[Example] = []
        self.failing: list[tuple[Example, Outcome]] = []

    def probe(self, example: Example) -> Outcome:
        """Call and judge one example in the way in which it was falsified."""
        return (judge_gradient if self.gradients else judge_value)(self.judge, self.caller, example)

    def sort(self) -> bool:
        """Judge examples of all regimes; whether some fail, many pass, and ordinary ones do."""
        plain = (
            self.make_example(recipe, turn)
            for turn, recipe in enumerate(self.space.plan(EXAMPLES, self.setting.seed))
        )
        for example in (*plain, *self.extremes()):
            outcome = self.probe(example)
            if outcome.fails:
                self.failing.append((example, outcome))
            elif not outcome.idle:
                self.passing.append(example)
            if len(self.failing) > len(self.passing) + EXAMPLES // 2 or self.setting.clock.over:
                return False
        return bool(self.failing) and len(self.passing) >= FEWEST

    def make_example(self, recipe: Recipe, turn: int) -> Example:
        """An example, in one type or the other."""
        example = self.space.example(recipe, self.kinds[turn % len(self.kinds)])
        return with_cotangents(self.judge, example, recipe.seed) if self.gradients else example

    def extremes(self) -> Iterator[Example]:
        """The largest data, each input with either sign: what is brought inside a limit stands at it."""
        data = [t.name for t in self.judge.formula.tensors if t.role == "data" and t.domain == "real"]
        large = [k for k, regime in enumerate(self.space.data_regimes) if regime.name in LARGE]
        for turn, recipe in enumerate(self.space.plan(EXTREMES, self.setting.seed + 5)):
            if not data or not large:
                return
            at = recipe._replace(regime=large[turn % len(large)], mask=turn // len(large))
            example = self.make_example(at, turn)
            yield example
            turned = data[turn % len(data)]
            yield example.replace_inputs(**{turned: -example.inputs[turned]})

    def ranges(self, candidate: Candidate, limit: float | None = None) -> Ranges:
        """The candidate's limits."""
        limit = candidate.limit if limit is None else limit
        chosen = tuple(self.judge.conventions.items())
        return Ranges(self.judge.formula, tuple((name, limit) for name in candidate.names), chosen)

    def size(self, candidate: Candidate, example: Example) -> float:
        """How large what is limited is in an example, whichever member of a batch has it."""
        measured, every = self.ranges(candidate, 1.0).measure, members(example.batch)
        singles = [example.single(self.judge.formula, place) for place in every]
        return max((measured(name, inputs) for name in candidate.names for inputs in singles), default=0.0)

    def narrow_limit(self, candidate: Candidate, example: Example) -> bool:
        """Lower a candidate's limit until an example passes; return whether it does."""
        high = min(candidate.limit, self.size(candidate, example))
        if not math.isfinite(high):
            high = 1e12
        least = LEAST_OFFSET if OFFSET.fullmatch(candidate.names[0]) else LEAST
        low = 0.9 * least
        if self.probe(self.ranges(candidate, low).bring_inside(example)).fails:
            return False
        for _ in range(STEPS):
            middle = math.sqrt(low * high)
            if self.probe(self.ranges(candidate, middle).bring_inside(example)).fails:
                high = middle
            else:
                low = middle
        candidate.limit = min(candidate.limit, _round_down(0.9 * low))
        return candidate.limit >= least

    def fits(self, candidate: Candidate) -> bool:
        """Find the limit at which every failing example passes; whether there is one."""
        try:
            order = sorted(self.failing, key=lambda pair: self.size(candidate, pair[0]))
            for example, _ in order:
                inside = (
                    example if candidate.limit is math.inf else self.ranges(candidate).bring_inside(example)
                )
                if self.probe(inside).fails and not self.narrow_limit(candidate, example):
                    return False
        except (Unsupported, ArithmeticError, ValueError):
            return False
        if candidate.limit is math.inf:
            return False
        candidate.kept = sum(self.size(candidate, example) <= candidate.limit for example in self.passing)
        return candidate.kept >= FEWEST

    def holds(self, candidate: Candidate) -> bool:
        """Whether searches within find nothing, the limit made smaller a few times if need be."""
        for _ in range(ROUNDS):
            counter = self.counterexample(candidate)
            if counter is None:
                return True
            if not self.narrow_limit(candidate, counter):
                return False
            candidate.limit = _round_down(candidate.limit * MORE)
        return False

    def counterexample(self, candidate: Candidate) -> Example | None:
        """Search within the limits for a counterexample."""
        caller = self.caller
        saved, caller.sizes = caller.sizes, replace(caller.sizes, within=self.ranges(candidate))
        try:
            inner = self.setting.aside()
            for kind in self.kinds:
                searched: list[SearchedProperty] = [ValueProperty(inner, kind, ())]
                searched += [GradientProperty(inner, kind)] if self.gradients else []
                for each in searched:
                    search = Search(each, inner.budget)
                    search.run()
                    case: Example | None = search.found.case
                    if case is not None:
                        return case
            for example in self.extremes():
                inside = self.ranges(candidate).bring_inside(example)
                if self.probe(inside).fails:
                    return inside
            return None
        finally:
            caller.sizes = saved


def conforming_range(setting: Setting, report: Report) -> Range | None:
    """The range in which everything conforms that was falsified; None if there is none, or one was declared."""
    wrong = [c for c in report.falsified if c.kind in ("value", "gradient")]
    if setting.judge.formula.law is not None:
        return None
    if not wrong or not setting.judge.real or setting.caller.hung or setting.caller.sizes.within is not None:
        return None
    if any(c.counterexample is not None and c.counterexample.got is None for c in wrong):
        return None
    gradients = not any(c.kind == "value" for c in wrong)
    kinds = list(
        dict.fromkeys(c.dtype for c in report.checks if c.kind == "value" and c.dtype and not c.reported)
    )
    try:
        search = RangeSearch(setting, kinds, gradients)
        if not search.sort():
            return None
        names = list_limitable(setting.judge.formula, setting.judge.conventions)
        data = [t.name for t in setting.judge.formula.tensors if t.role == "data" and t.name in names]
        candidates = [Candidate((name,)) for name in names]
        candidates += [Candidate(tuple(data))] if len(data) > 1 else []
        found = sorted((c for c in candidates if search.fits(c)), key=lambda c: -c.kept)
        best = next((c for c in found[:BEST] if not setting.clock.over and search.holds(c)), None)
    except Unsupported:
        return None
    if best is None:
        return None
    limits = dict.fromkeys(best.names, best.limit)
    says = ", ".join(describe_limit(name, limit) for name, limit in limits.items())
    return Range(limits, says, _beyond(search, best))


def _beyond(search: RangeSearch, candidate: Candidate) -> str:
    """What the failing example does that is the nearest to the limit."""
    example, outcome = min(search.failing, key=lambda pair: search.size(candidate, pair[0]))
    size = search.size(candidate, example)
    where = (
        describe_limit(candidate.names[0], size).replace("≤", "=") if math.isfinite(size) else "constant rows"
    )
    what = f"the gradient of {outcome.what}" if search.gradients else outcome.what
    if outcome.got is None or outcome.expected is None:
        return f"{outcome.message} at {where}"
    if not math.isfinite(outcome.got):
        return f"{what} is {outcome.got} at {where}"
    return f"{what} is off by {abs(outcome.got - outcome.expected):.2g} at {where} (expected {outcome.expected:.3g})"


def _round_down(value: float) -> float:
    """A number rounded down to one digit, or to two below 3."""
    if not value > 0:
        return 0.0
    scale = 10.0 ** math.floor(math.log10(value))
    digits = 1 if value / scale >= 3 else 10
    return float(np.floor(value / scale * digits) / digits * scale)


__all__ = ["conforming_range"]
