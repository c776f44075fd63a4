"""A sample of what a callable draws, judged against the law of a formula: one property for each thing that the law asks.

Every check is exact, or a conservative test on a sample whose size follows from the power stated, whatever ``max_examples`` is. A
check raises a false alarm with probability at most :data:`ALPHA` in all (its tests share that); :data:`POWER` is reached against
the alternatives planned. All expected probabilities are evaluated from the statement's lines. The ratio of a check is ln p / ln
level of its worst test: above 1 it is falsified.

Of a slow callable less is drawn than planned. The same exact tests judge it, so that false alarms are no likelier; only
deviations have to be larger to be seen. The share is settled before anything is judged, from calls whose results no check sees.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import torch

from spec.language.formula import Formula
from spec.language.law import Law
from verify.faults import Fault, Unsupported, complaint
from verify.laws.statistics import ALPHA, POWER, Tally, region
from verify.report import CONFORMS, FALSIFIED, INCONCLUSIVE, CheckResult, Reason
from verify.search.outcome import Outcome
from verify.search.property import Property
from verify.search.record import SearchRecord
from verify.subject.sandbox import GENERATORS, GlobalState
from verify.subject.timing import least_seconds

RESULTS = "law: results"
"""The check that stands for all others where a call raises, or gives something of another form."""
GENERATOR, POSSIBLE = "law: generator", "law: possible outcomes"
"""The use of the random generator; and that nothing is drawn to which the statement gives probability 0."""
SHIFT, CORRELATION = 0.01, 0.05
"""The alternatives: a probability that is off by 0.01 (14 or 16 for 15 %, 9 for 10 %), and a correlation of neighbours."""
HEADLINE = 4
"""Tests of a check that share half of its false-alarm probability, at least."""
TRIES, CALLS = 40, 4
"""Calls that must all give one result before a generator is said to be unused: one coin for a whole call does so in 2⁻⁴⁰; and how
many tell seeds apart.
"""
SECONDS = 30.0
"""Processor time that the calls of a check may take; a callable that works on whole tensors needs a few seconds."""
MORE = 8
"""So many times the repetitions of the first call that is timed has another, where that was slow: what a call costs beside its
positions is then told apart."""


def law_of(formula: Formula) -> Law:
    """The law that a formula states."""
    assert formula.law is not None, f"{formula.id} states no law"
    return formula.law


def never() -> bool:
    """Time does not run out."""
    return False


@dataclass
class Finding(Outcome):
    """What one check of a law finds; ``count``: in how many positions, draws or calls."""

    count: int = 0

    @classmethod
    def exact(cls, count: int, wrong: str, what: str = "positions") -> Finding:
        """Make the finding of a check that allows no exception; ``wrong`` is empty where there is none."""
        message = wrong or f"exact in {count:,} {what}"
        return cls(math.inf if wrong else 0.0, effective=True, message=message, count=count)

    @classmethod
    def undecided(cls, why: str) -> Finding:
        """Make the finding of a check that cannot be made."""
        return cls(idle=True, message=why)


class Plan(Protocol):
    """What is drawn in calls of one kind."""

    def take_share(self: _P, part: float) -> _P:
        """The plan with a share of its draws."""


class Drawn(Protocol):
    """The sample of a plan."""

    @property
    def total(self) -> int:
        """How much was drawn."""

    def impossible(self) -> str:
        """The first outcome to which the statement gives probability 0, in words; empty if there is none."""


_P = TypeVar("_P", bound=Plan)
_S = TypeVar("_S", bound=Drawn)


@dataclass(eq=False)
class Trial(ABC, Generic[_P, _S]):
    """Everything that is drawn of a callable to judge it, and what is found of it.

    The callable takes the formula's inputs in declared order, in batches, and returns the tensors the law names. Once ``over``
    says so, nothing more is drawn, and what is drawn is judged. Of what is planned a share ``asked`` is drawn, and less where
    calls are slow: both lessen the power alone. What is said of the latter is put into ``notes``.
    """

    caller: Callable[..., Any]
    formula: Formula
    conventions: Mapping[str, str] | None = None
    seed: int = 0
    device: str = "cpu"
    over: Callable[[], bool] = never
    asked: float = 1.0
    notes: list[str] = field(default_factory=list)

    plans: ClassVar[str]
    """What the plans are called."""
    unit: ClassVar[str] = "positions"
    """What is counted of a sample."""
    tests: ClassVar[Mapping[str, Callable[[Any, Tally], None]]]
    """The tests of a sample's frequencies, by the name of their check."""

    def __post_init__(self) -> None:
        self.law = law_of(self.formula)
        self.axiom_counts = {axiom.name: 0 for axiom in self.law.axioms}
        self.violations: dict[str, str] = {}
        self.samples: list[_S] = []
        self.planned: tuple[_P, ...] = ()
        self.part, self.varies = 1.0, True
        self.misuse: list[str] = []
        self._found: dict[str, Finding | None] = {}

    # What differs from one kind of law to another --------------------------------------------------------------------------

    @abstractmethod
    def plan(self) -> tuple[_P, ...]:
        """What is to be drawn, the main plan first: large enough for the stated power."""

    @abstractmethod
    def pace(self) -> float:
        """Which share of what is planned is drawn; see :func:`share`."""

    @abstractmethod
    def draw(self, plan: _P) -> _S:
        """The sample of a plan; every result is held to the axioms."""

    @abstractmethod
    def misuses(self, samples: Sequence[_S]) -> list[str] | None:
        """What is wrong with the use of the generator; None where nothing that was drawn leaves enough to chance."""

    @abstractmethod
    def main_test(self) -> tuple[int, float, int]:
        """How many draws the main test has, of which probability, and how many such tests there are."""

    @abstractmethod
    def explain(self, failed: Mapping[str, str]) -> tuple[str, Reason]:
        """What is wrong with what was drawn, given what the falsified checks say by name."""

    # What all have in common -----------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """How much was drawn in all."""
        return sum(sample.total for sample in self.samples)

    def generator(self) -> torch.Generator:
        """The random generator as it is when a plan is begun."""
        return torch.Generator(device=self.device).manual_seed(self.seed)

    @cached_property
    def failure(self) -> Exception | None:
        """What kept the samples from being drawn, if anything did; they are drawn when this is first asked."""
        self.planned, state = self.plan(), GlobalState(self.device)
        try:
            self.part = self.pace()
            self.planned = tuple(each.take_share(self.part * self.asked) for each in self.planned)
            for place, each in enumerate(self.planned):
                if place and self.over():
                    break
                self.samples.append(self.draw(each))
            if not GENERATORS.isdisjoint(state.restore()):
                self.misuse.append("the global random state was used: draw from the generator that is passed")
            misuses = self.misuses(self.samples)
            self.varies = misuses is not None
            self.misuse += misuses or []
        except Exception as error:
            return error
        if self.part < 1:
            said = f"calls are slow: {100 * self.part:.2g} % of the draws planned were made, among which a probability "
            said += f"that is off by {self.least_seen:g} is seen with power {POWER} (no false alarm is likelier for it)"
            self.notes.append(said)
        return None

    @cached_property
    def least_seen(self) -> float:
        """How far off a probability is that is seen with the stated power, where less was drawn than planned; else 0."""
        if self.part >= 1:
            return 0.0
        count, p, tests = self.main_test()
        return max(SHIFT, least_seen(count, p, ALPHA / 2 / tests))

    def questions(self) -> dict[str, Callable[[], Finding | None]]:
        """What is asked of the samples, by the name of its check."""
        return {
            RESULTS: self.find_results,
            **{f"law: {axiom.name}": partial(self.find_axiom, axiom.name) for axiom in self.law.axioms},
            GENERATOR: self.find_generator,
            POSSIBLE: self.find_impossible,
            **{name: partial(self.if_possible, ask) for name, ask in self.further_questions().items()},
        }

    def further_questions(self) -> dict[str, Callable[[], Finding | None]]:
        """What is asked where nothing impossible was drawn: its frequencies, and whether all was drawn that was planned."""
        tests = {name: partial(self.find_frequencies, name) for name in self.tests}
        return {**tests, f"law: other {self.plans}": self.find_missing}

    def get_finding(self, name: str) -> Finding | None:
        """Return a check's finding, worked out once; None where there is nothing to report."""
        if name not in self._found:
            asked = name == RESULTS or self.failure is None
            self._found[name] = self.questions()[name]() if asked else None
        return self._found[name]

    @cached_property
    def cause(self) -> tuple[str, Reason]:
        """What is wrong with what was drawn, in a sentence, and whether that is a cause; empty where nothing is."""
        found = {name: self.get_finding(name) for name in self.questions()}
        failed = {name: each.message for name, each in found.items() if each is not None and each.fails}
        if not failed or self.failure is not None:
            return find_first_message(failed), Reason.CHECK
        return self.explain(failed)

    def find_results(self) -> Finding | None:
        """Whether every call gave something that can be judged: only said where one did not."""
        error = self.failure
        if error is None:
            return None
        if isinstance(error, Unsupported):
            return Finding.undecided(str(error))
        ours = isinstance(error, Fault)
        return Finding.exact(0, str(error) if ours else f"{self.formula.id} raised {complaint(error)}")

    def find_axiom(self, name: str) -> Finding:
        """Whether an axiom held of every result."""
        return Finding.exact(self.axiom_counts[name], self.violations.get(name, ""))

    def find_generator(self) -> Finding:
        """Whether the generator is used as it should be, and nothing else."""
        if not self.varies and not self.misuse:
            return Finding.undecided("nothing that was drawn leaves enough to chance to tell seeds apart")
        return Finding.exact(CALLS if self.varies else 1, "; ".join(self.misuse), "calls")

    def find_impossible(self) -> Finding:
        """Whether the statement lets everything be that was drawn."""
        wrong = next((said for sample in self.samples if (said := sample.impossible())), "")
        return Finding.exact(self.total, wrong, self.unit)

    def if_possible(self, ask: Callable[[], Finding | None]) -> Finding | None:
        """Ask for a finding only if nothing impossible was drawn."""
        possible = self.get_finding(POSSIBLE)
        return None if possible is not None and possible.fails else ask()

    def test(self, name: str, tally: Tally) -> None:
        """Add the tests of a check of frequencies to a tally."""
        for sample in self.samples:
            self.tests[name](sample, tally)

    def find_frequencies(self, name: str) -> Finding:
        """What a check of frequencies finds."""
        tally = Tally(ALPHA, HEADLINE)
        self.test(name, tally)
        _, p, level, said = tally.verdict()
        ratio = abs(math.log(p) / math.log(level)) if p > 0 else math.inf
        power = f"{POWER} against {self.least_seen:g}" if self.least_seen else f"{POWER}"
        message = f"{said}; p = {p:.2g}, level {level:.1g} ({tally.count} tests, false alarm ≤ {ALPHA:g}, power ≥ {power})"
        return Finding(ratio, effective=True, message=message, count=self.total)

    def find_missing(self) -> Finding | None:
        """Report what was not drawn because time ran out."""
        done, planned = len(self.samples), len(self.planned)
        said = f"time ran out: {done} of {planned} {self.plans} were drawn"
        return None if done == planned else Finding.undecided(said)

    def misuses_in(
        self, arguments: Callable[[torch.Generator], list[Any]], call: Callable[[list[Any]], Sequence[Any]]
    ) -> list[str]:
        """What is wrong with the use of the generator: equal seeds must give equal results, other states other results."""
        wrong: list[str] = []

        def once(generator: torch.Generator) -> Sequence[Any]:
            inputs = arguments(generator)
            before = [x.clone() if isinstance(x, torch.Tensor) else None for x in inputs]
            results = call(inputs)
            for item, old, new in zip(self.formula.inputs, before, inputs, strict=False):
                if old is not None and not torch.equal(old, new):
                    wrong.append(f"the input {item} was modified")
            return results

        def fresh(value: int) -> torch.Generator:
            return torch.Generator(device=self.device).manual_seed(value)

        def alike(results: Sequence[Any]) -> bool:
            return all(np.array_equal(a, b) for a, b in zip(first, results, strict=True))

        used = fresh(11)
        first = once(used)
        if not alike(once(fresh(11))):
            wrong.append("the same seed gave another result")
        if all(alike(once(fresh(seed))) for seed in range(12, 12 + TRIES)):
            wrong.append("another seed gave the same result")
        if all(alike(once(used)) for _ in range(TRIES)):
            wrong.append(
                "a second call with the same generator gave the same result: its state was not advanced"
            )
        return list(dict.fromkeys(wrong))


class LawProperty(Property[Trial[Any, Any]]):
    """One thing that a law asks; the whole sample is its only example."""

    kind = "law"

    def __init__(self, trial: Trial[Any, Any], name: str) -> None:
        self.trial, self.name = trial, name

    def groups(self) -> Iterator[Sequence[Trial[Any, Any]]]:
        """The sample."""
        yield [self.trial]

    def judge(self, case: Trial[Any, Any]) -> Outcome:
        """Judge the sample."""
        return case.get_finding(self.name) or Outcome(idle=True)

    def counterexample(self, case: Trial[Any, Any], outcome: Outcome) -> None:
        """None: no inputs show it alone."""

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """What was found, also where time was over before it was judged; nothing where there is nothing to report."""
        finding = self.trial.get_finding(self.name)
        if finding is None:
            return []
        verdict = INCONCLUSIVE if finding.idle else FALSIFIED if finding.fails else CONFORMS
        ratio = None if finding.idle else finding.ratio
        made = CheckResult(self.name, "law", verdict, finding.count, ratio, message=finding.message)
        if verdict == FALSIFIED:
            made.details["cause"], made.details["reason"] = self.trial.cause
        return [made]


def law_properties(trial: Trial[Any, Any]) -> list[Property[Any]]:
    """Everything that a law asks of a callable."""
    return [LawProperty(trial, name) for name in trial.questions()]


def find_first_message(failed: Mapping[str, str]) -> str:
    """Return the first clause of the first falsified check's message; empty where there is none."""
    return next(iter(failed.values()), "").partition(";")[0]


def share(once: Callable[[int], int], planned: Sequence[tuple[int, int]], copies: int) -> float:
    """Which share of the calls may be made; 1 where all fit into :data:`SECONDS`.

    ``once`` makes a call with so many repetitions, first ``copies``, and says how many positions that were. ``planned`` are how
    many calls of how many positions each.
    """
    few, cost = _time_call(once, copies)
    calls, positions = sum(calls for calls, _ in planned), sum(calls * each for calls, each in planned)
    if cost / few * positions <= SECONDS:
        return 1.0
    more, dearer = _time_call(once, MORE * copies)
    each = max(0.0, dearer - cost) / (more - few)
    whole = max(0.0, cost - each * few) * calls + each * positions
    return min(1.0, SECONDS / whole) if whole > 0 else 1.0


def _time_call(once: Callable[[int], int], copies: int) -> tuple[int, float]:
    """Positions and seconds of a call; the first of a shape, which may compile, does not count."""
    positions: list[int] = []
    seconds = least_seconds(lambda: positions.append(once(copies)))
    return positions[-1], seconds


def least_seen(count: int, p: float, level: float) -> float:
    """How far off a probability ``p`` is, in hundredths, that is seen among ``count`` with the stated power on either side."""
    test = region(count, p, level)
    for off in (hundredth / 100 for hundredth in range(1, 100)):
        others = [other for other in (p - off, p + off) if 0 < other < 1]
        if others and all(test.power(other) >= POWER for other in others):
            return off
    return 1.0
