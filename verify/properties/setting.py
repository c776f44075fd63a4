"""What the properties of one report share: the statement, the callable, the seed and the time, and what was seen so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Example, Space, realistic
from verify.properties.judge import Judge
from verify.properties.substitutions import CallCache
from verify.report import Report
from verify.search.record import Budget, Clock
from verify.subject.caller import Caller
from verify.subject.timing import least_seconds


@dataclass
class Setting:
    """What the properties of one report share.

    Attributes:
        judge: the formula under its conventions.
        caller: the callable.
        report: what is found is put there.
        max_examples: examples for each value check.
        budget: the seed, the time for all, and for making counterexamples small.
        edges: the conventions of the check that were chosen (:mod:`verify.edges`).
        named: the formula's conventions that stay where others are sought.
        searched: whether a search has ended.
        valued: whether values were tried at all examples in some type, and nothing was wrong.
        sloped: the same of gradients.
        scenes: examples of the scenes of use that are to come.
        drawn: inputs at which theorems were tried.
        kept: what the callable returned to theorems.
        paces: the seconds that a call takes, by type and sizes.
    """

    judge: Judge
    caller: Caller
    report: Report
    max_examples: int
    budget: Budget
    edges: Mapping[str, str] = field(default_factory=dict)
    named: Collection[str] = ()
    searched: bool = False
    valued: bool = False
    sloped: bool = False
    scenes: dict[str, list[Example]] = field(default_factory=dict)
    drawn: dict[Any, Example] = field(default_factory=dict)
    kept: CallCache = field(default_factory=CallCache)
    paces: dict[Any, float] = field(default_factory=dict)

    @classmethod
    def of(cls, judge: Judge, caller: Caller, *, max_examples: int = 100, seed: int = 0) -> Setting:
        """A setting of its own, without a limit of time, and a report in which nothing is found yet."""
        report = Report(judge.formula.id, caller.name, judge.conventions)
        return cls(judge, caller, report, max_examples, Budget(Clock(None), seed))

    @property
    def seed(self) -> int:
        """What determines every example."""
        return self.budget.seed

    @property
    def clock(self) -> Clock:
        """The limit on the whole."""
        return self.budget.clock

    def space(self, moderate: bool = False) -> Space:
        """The examples to draw from; ``moderate``: those at which derivatives are judged."""
        return Space(self.judge.formula, self.caller.takes_mask, moderate, self.caller.sizes)

    def pace(self, dtype: str, sizes: Mapping[Size, int]) -> float:
        """The seconds that a call at these sizes takes; found out once."""
        caller, key = self.caller, (dtype, *sizes.items())
        if key not in self.paces:
            trial = realistic(self.judge.formula, sizes, dtype, self.seed, False, caller.sizes)
            arguments = caller.arguments(trial.inputs, dtype, generator_seed=trial.generator_seed)
            self.paces[key] = least_seconds(partial(caller, *arguments))
        return self.paces[key]

    def aside(self, **changes: Any) -> Setting:
        """A setting whose findings are not reported and not made small: to look at something beside the check."""
        given = {
            "judge": self.judge,
            "caller": self.caller,
            "report": Report(self.judge.formula.id, self.caller.name, {}),
            "max_examples": self.max_examples,
            "budget": Budget(self.clock, self.seed, small=False),
            "edges": self.edges,
            "named": self.named,
        }
        return Setting(**{**given, **changes})


__all__ = ["Setting"]
