"""Holding what generates text, or makes tokens, to a procedure: its reference, and each of its requirements, is a property."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from spec.language.procedure import Procedure
from verify.decoding.case_result import ALONE
from verify.decoding.judges import REPEATS, VALUE, CaseResult, Judge, judge_of
from verify.decoding.judging import CaseJudge
from verify.decoding.ties import report_ties
from verify.edges import GENERATOR
from verify.explain.conventions import combinations
from verify.faults import Unsupported, Unusable
from verify.report import CONFORMS, FALSIFIED, CheckResult, Counterexample, Reason, Report, versions
from verify.request import Request
from verify.search.loop import Search
from verify.search.outcome import Outcome
from verify.search.property import Property
from verify.search.record import Budget, Clock, SearchRecord
from verify.subject.callables import importable
from verify.subject.ending import watch_interrupts
from verify.subject.sandbox import one_thread, use_cpu_by_default

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SHARE = 0.3
"""The share of the examples that each requirement gets; the comparison with the reference gets all."""
SECONDS = 4.0
"""How long a counterexample is made smaller."""


class CaseProperty(Property[Any]):
    """The comparison with the reference, one requirement, or whether the same call gives the same result."""

    shrinks_draws = True
    seconds = SECONDS

    def __init__(self, judge: Judge, check: str, max_examples: int) -> None:
        self.asked, self.check = judge, check
        self.count = max_examples if check == VALUE else max(1, int(SHARE * max_examples))
        self.kind = "value" if check == VALUE else "robustness" if check == REPEATS else "theorem"
        self.name = {VALUE: VALUE, REPEATS: f"robustness: {REPEATS}"}.get(check, f"requirement {check}")
        self.idle = 0
        self.seen: CaseResult | None = None
        self.case: Any = None
        self.ratios: list[float] = []
        self.unsupported = ""

    def groups(self) -> Iterator[Sequence[Any]]:
        """No groups are planned: Hypothesis draws every case."""
        return iter(())

    def sought(self) -> Iterable[tuple[int, SearchStrategy[Any]]]:
        """Cases of each sort, its share of them."""
        for share, drawn in self.asked.cases(self.check):
            yield max(1, round(share * self.count)), drawn

    def make_cases(self, drawn: Any) -> Sequence[Any]:
        """The case that was drawn."""
        return [drawn]

    def judge(self, case: Any) -> Outcome:
        """Judge one case by this check."""
        try:
            seen = self.asked.judge(self.check, case)
        except Unsupported as said:  # of this problem: it is passed over
            self.unsupported = str(said)
            return Outcome.set_aside("declared unsupported")
        self.idle += seen.idle
        if seen.ratio is not None:
            self.ratios.append(seen.ratio)
        if seen.wrong:
            self.seen, self.case = seen, case
        ratio = max(seen.ratio or 0.0, 2.0) if seen.wrong else min(seen.ratio or 0.0, 1.0)
        return Outcome(ratio, effective=not seen.idle, idle=seen.idle, message=seen.wrong)

    def fails_alike(self, first: Outcome, other: Outcome) -> bool:
        """Whether it fails at all."""
        return other.fails

    def counterexample(self, case: Any, outcome: Outcome) -> Counterexample:
        """A case with what is violated there, and what it takes to ask it again."""
        return counterexample(self.asked, self.check, case)

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """Conclude; a comparison with the reference also reports the share of cases that decide something."""
        result.effective = None
        if self.check == VALUE and found.examples + self.idle:
            result.effective = found.examples / (found.examples + self.idle)
        result.ratios, result.worst_ratio = {}, max(self.ratios, default=None)
        if not found.examples and not found.unsupported and not found.cut:
            result.message = self.unsupported or "no case decided anything"
        return [result]


def counterexample(judge: Judge, check: str, case: Any, **more: Any) -> Counterexample:
    """A case with what is violated there, and what it takes to ask it again."""
    procedure = judge.procedure
    violates = {VALUE: f"{procedure.title}: the steps of the reference", REPEATS: REPEATS, ALONE: ALONE}
    return Counterexample(
        judge.describe(case),
        judge.dtype,
        dict(judge.conventions),
        violates=violates.get(check) or procedure.named[check].sentence,
        calls={"check": check, "case": asdict(case), "takes": sorted(judge.takes), **more},
    )


def answer_procedure(fn: Callable[..., Any], request: Request) -> Report:
    """The report of what is held to a procedure, as :mod:`verify.decoding.contract` and :mod:`verify.decoding.tokens` say; under
    other conventions, where these are sought and nothing is falsified under the first such.

    Raises:
        Unusable: a signature or a convention that cannot be used.
    """
    procedure = request.stated
    assert isinstance(procedure, Procedure)
    report = _answer(fn, procedure, request)
    if not request.seeking or not report.falsified:
        return report
    for changes in combinations(procedure, report.conventions, request.conventions):
        other = _answer(fn, procedure, request.under(changes))
        if not other.falsified:
            other.found = {**request.conventions, **changes}
            return other
    return report


def _answer(fn: Callable[..., Any], procedure: Procedure, request: Request) -> Report:
    try:
        chosen = procedure.choose(request.conventions)
    except ValueError as error:
        raise Unusable(str(error)) from None
    judge, began = judge_of(fn, procedure, chosen), time.perf_counter()
    budget = Budget(Clock(request.time_limit), request.seed)
    report = Report(
        procedure.id,
        request.name or str(getattr(fn, "__name__", type(fn).__name__)),
        chosen,
        notes=judge.notes,
        seed=request.seed,
        max_examples=request.max_examples,
        fingerprint=procedure.fingerprint,
        versions=versions(),
        importable=importable(fn),
        settings=request.settings,
    )
    with watch_interrupts(), one_thread(), use_cpu_by_default():
        tried, results = _try_checks(judge, request.max_examples, budget)
        other = grant_rounding(judge, tried)
        if other is not None:
            again, found = _try_checks(other, request.max_examples, budget)
            if not any(prop.seen for prop in again):
                judge, tried, results = other, again, found
                said = (
                    "its log-probabilities are those of float32, of logits in float64, "
                    "and judged by the tolerance of float32"
                )
                report.has("precision", said)
        report.checks += results
        alone = _alone(judge, tried, results)
        report.checks += [alone] if alone.examples else []
        if budget.violated is not None and report.falsified:
            report.first_violation = budget.violated - budget.clock.began
        if judge.guard.drew:
            report.has(GENERATOR, "it draws from a global random generator, which it has no need of", "used")
        if not report.falsified and not budget.clock.over:
            report_ties(judge, report)
        said, report.reason = _cause(tried)
        report.hint = said or alone.message
        if budget.clock.over:
            judged = sum(check.examples for check in results)
            report.unfinished = f"time ran out: {judged} cases were judged"
    report.seconds = time.perf_counter() - began
    return report


def _try_checks(
    judge: Judge, max_examples: int, budget: Budget
) -> tuple[list[CaseProperty], list[CheckResult]]:
    """The comparison with the reference, each requirement, and whether the same call gives the same result."""
    checks = (VALUE, *judge.procedure.named, REPEATS)
    every = [CaseProperty(judge, check, max_examples) for check in checks]
    return every, [result for prop in every for result in Search(prop, budget).run()]


def grant_rounding(judge: Judge, tried: Sequence[CaseProperty]) -> Judge | None:
    """The judge that grants the rounding of float32, where this alone explains what failed: each case is right then, not idle."""
    failed = [prop for prop in tried if prop.seen is not None]
    if not isinstance(judge, CaseJudge) or not failed or any(p.seen and p.seen.fault for p in failed):
        return None
    other = replace(judge, narrowed=True)
    try:
        seen = [other.judge(prop.check, prop.case) for prop in failed]
    except Unsupported:
        return None
    return None if any(each.wrong or each.idle for each in seen) else other


def _alone(judge: Judge, tried: Sequence[CaseProperty], results: Sequence[CheckResult]) -> CheckResult:
    """Whether it left global state as it was, in all calls."""
    made = CheckResult(f"robustness: {ALONE}", "robustness", CONFORMS, sum(r.examples for r in results))
    changed = judge.guard.changed
    if changed and made.examples:
        made.verdict, made.message = FALSIFIED, f"it changes global state: {'; '.join(changed)}"
    return made


def _cause(tried: Sequence[CaseProperty]) -> tuple[str, Reason]:
    """What explains a falsification: that it cannot be asked, that it is not the same twice, or which requirement it violates,
    which says more than how it differs from the reference.
    """
    wrong = {prop.check: prop.seen for prop in tried if prop.seen is not None}
    if VALUE in wrong and wrong[VALUE].fault:
        return f"it {wrong[VALUE].wrong}", Reason.CAUSE
    if REPEATS in wrong or _now_and_then(tried):
        return "not the same from call to call: the same call gives another result", Reason.UNSTEADY
    for prop in tried:
        if prop.check in wrong and prop.check != VALUE and not wrong[prop.check].fault:
            return f"violated: {prop.asked.procedure.named[prop.check].sentence}", Reason.CHECK
    return (wrong[VALUE].wrong, Reason.CHECK) if VALUE in wrong else ("", Reason.NONE)


def _now_and_then(tried: Sequence[CaseProperty]) -> bool:
    """Whether what failed, asked again, is right."""
    for prop in tried:
        if prop.seen is not None:
            judge = prop.asked
            fresh = replace(judge, solved={}) if isinstance(judge, CaseJudge) else judge
            try:
                return not fresh.judge(prop.check, prop.case).wrong
            except Unsupported:
                return True
    return False


__all__ = ["answer_procedure", "counterexample"]
