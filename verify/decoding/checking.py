"""A check of a procedure: cases drawn and made small by Hypothesis for the reference and for each requirement."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from spec.language.procedure import Procedure
from verify.decoding.judges import REPEATS, VALUE, Judge, Seen, judge_of
from verify.decoding.judging import CaseJudge
from verify.decoding.seen import ALONE
from verify.decoding.ties import told_of_ties
from verify.edges import GENERATOR
from verify.faults import Unsupported, Unusable
from verify.report import (
    CONFORMS,
    FALSIFIED,
    INCONCLUSIVE,
    CheckResult,
    Counterexample,
    Kind,
    Reason,
    Report,
    versions,
)
from verify.search.drawn import draw
from verify.search.search import Clock
from verify.subject.callables import importable
from verify.subject.ending import listening
from verify.subject.options import whole_number
from verify.subject.sandbox import default_device_aside, one_thread

SHARE = 0.3
"""The share of the examples that each requirement gets; the comparison with the reference gets all."""
SECONDS = 4.0
"""How long a counterexample is made smaller."""


class Violated(Exception):  # noqa: N818  (what is found, not a fault)
    """A case that a check refuses: Hypothesis makes it smaller."""


NONE = {"sizes": "no sizes to be limited", "fixed": "no numbers to be set", "ranges": "no ranges of inputs"}
"""What formulas have and procedures have not."""


def has_none(procedure: Procedure, given: Mapping[str, Any]) -> None:
    """Whether nothing is asked of a procedure that only formulas have.

    Raises:
        Unusable: something is; one line.
    """
    for name, value in given.items():
        if value:
            raise Unusable(f"{procedure.id} is a procedure and has {NONE[name]}; got {value!r}")


def check_procedure(
    fn: Callable[..., Any],
    procedure: Procedure,
    *,
    max_examples: int = 100,
    conventions: Mapping[str, str] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    name: str | None = None,
) -> Report:
    """Hold ``fn``, called as :mod:`verify.decoding.contract` and :mod:`verify.decoding.tokens` say, to a procedure: its reference
    and its requirements.

    Raises:
        Unusable: a signature, a convention or a number that cannot be used.
    """
    examples, seed = whole_number("max_examples", max_examples, 1), whole_number("seed", seed, 0)
    try:
        chosen = procedure.choose(conventions)
    except ValueError as error:
        raise Unusable(str(error)) from None
    judge = judge_of(fn, procedure, chosen)
    began = time.perf_counter()
    clock = Clock(time_limit)
    report = Report(
        procedure.id,
        name or str(getattr(fn, "__name__", type(fn).__name__)),
        chosen,
        notes=judge.notes,
        seed=seed,
        max_examples=examples,
        fingerprint=procedure.fingerprint,
        versions=versions(),
        importable=importable(fn),
    )
    with listening(), one_thread(), default_device_aside():
        searches = _searches(judge, examples, seed, clock)
        other = narrowed(judge, searches)
        if other is not None:
            again = _searches(other, examples, seed, clock)
            if not any(search.found for search in again):
                judge, searches = other, again
                report.has(
                    "precision",
                    "its log-probabilities are those of float32, of logits in float64, and judged by the tolerance of float32",
                )
        report.checks += [search.result() for search in searches]
        alone = _alone(judge, searches)
        report.checks += [alone] if alone.examples else []
        violated = [search.violated for search in searches if search.violated is not None]
        report.first_violation = min(violated) - began if violated else None
        if judge.guard.drew:
            report.has(GENERATOR, "it draws from a global random generator, which it has no need of", "used")
        if not report.falsified and not clock.over:
            told_of_ties(judge, report)
        said, report.reason = _explain(searches)
        report.hint = said or alone.message
        if late := sum(search.late for search in searches):
            judged, whole = sum(search.seen for search in searches), len(searches) - late
            report.unfinished = (
                f"time ran out: {judged} cases were judged, {whole} of {len(searches)} checks made to the end"
            )
    report.seconds = time.perf_counter() - began
    return report


def _searches(judge: Judge, examples: int, seed: int, clock: Clock) -> list[CaseSearch]:
    """The comparison with the reference, each requirement, and whether the same call gives the same result."""
    return [
        _search(judge, check, examples if check == VALUE else max(1, int(SHARE * examples)), seed, clock)
        for check in (VALUE, *judge.procedure.named, REPEATS)
    ]


def narrowed(judge: Judge, searches: Sequence[CaseSearch]) -> Judge | None:
    """The judge that grants the rounding of float32, where this alone explains what failed: each case is right then, not idle."""
    failed = [search for search in searches if search.found is not None]
    if not isinstance(judge, CaseJudge) or not failed or any(s.found and s.found.fault for s in failed):
        return None
    other = replace(judge, narrowed=True)
    try:
        seen = [other.judge(search.check, search.last) for search in failed]
    except Unsupported:
        return None
    return None if any(each.wrong or each.idle for each in seen) else other


def _alone(judge: Judge, searches: Sequence[CaseSearch]) -> CheckResult:
    """Whether it left global state as it was, in all calls."""
    made = CheckResult(
        f"robustness: {ALONE}", "robustness", CONFORMS, sum(search.seen for search in searches)
    )
    changed = judge.guard.changed
    case = next((search.first for search in searches if search.first is not None), None)
    if changed and case is not None:
        made.verdict, made.message = FALSIFIED, f"it changes global state: {'; '.join(changed)}"
        made.counterexample = counterexample(judge, ALONE, case, {"items": list(changed)})
    return made


def counterexample(judge: Judge, check: str, case: Any, more: Mapping[str, Any]) -> Counterexample:
    """A case with what is violated there, and what it takes to ask it again."""
    procedure = judge.procedure
    violates = {VALUE: f"{procedure.title}: the steps of the reference", REPEATS: REPEATS, ALONE: ALONE}
    return Counterexample(
        judge.told(case),
        judge.dtype,
        dict(judge.conventions),
        violates=violates.get(check) or procedure.named[check].sentence,
        calls={"check": check, "case": asdict(case), "takes": sorted(judge.takes), **more},
    )


def _explain(searches: Sequence[CaseSearch]) -> tuple[str, Reason]:
    """What explains a falsification: that it cannot be asked, that it is not the same twice, or which requirement it violates,
    which says more than how it differs from the reference.
    """
    wrong = {search.check: seen for search in searches if (seen := search.found) is not None}
    if VALUE in wrong and wrong[VALUE].fault:
        return f"it {wrong[VALUE].wrong}", Reason.CAUSE
    if REPEATS in wrong or _now_and_then(searches):
        return "not the same from call to call: the same call gives another result", Reason.UNSTEADY
    for search in searches:
        if search.check in wrong and search.check != VALUE and not wrong[search.check].fault:
            violated = search.judge.procedure.named[search.check].sentence
            return f"violated: {violated}", Reason.CAUSE
    return (wrong[VALUE].wrong, Reason.CAUSE) if VALUE in wrong else ("", Reason.NONE)


def _now_and_then(searches: Sequence[CaseSearch]) -> bool:
    """Whether what failed, asked again, is right."""
    for search in searches:
        if search.found is not None:
            judge = search.judge
            fresh = replace(judge, solved={}) if isinstance(judge, CaseJudge) else judge
            try:
                return not fresh.judge(search.check, search.last).wrong
            except Unsupported:
                return True
    return False


def _search(judge: Judge, check: str, count: int, seed: int, clock: Clock) -> CaseSearch:
    search = CaseSearch(judge, check, clock)
    for share, drawn in judge.cases(check):
        try:
            draw(search.one, drawn, max(1, round(share * count)), seed, ("shrink",))
        except Exception:
            # What was found is kept by the search; a callable that fails now and then has failed.
            if not search.failed:
                raise
        if search.failed:
            break
    return search


class CaseSearch:
    """What the cases of one check came to."""

    def __init__(self, judge: Judge, check: str, clock: Clock) -> None:
        self.judge, self.check, self.clock = judge, check, clock
        self.seen = self.idle = 0
        self.worst: float | None = None
        self.failed: dict[Any, Seen] = {}
        self.last: Any = None
        self.unsupported = ""
        self.until = float("inf")
        self.late = False
        self.first: Any = None
        self.violated: float | None = None

    def one(self, case: Any) -> None:
        """Judge a case; one that has failed fails again, so that making it smaller comes to an end in time."""
        if case not in self.failed:
            if time.monotonic() > self.until:
                return
            if self.clock.over:
                self.late, self.unsupported = True, "the time limit came first"
                return
            try:
                seen = self.judge.judge(self.check, case)
            except Unsupported as said:
                self.unsupported = str(said)
                return
            if seen.idle:
                self.idle += 1
                return
            if not self.failed:
                self.seen += 1
                self.first = self.first or case
                if seen.ratio is not None:
                    self.worst = max(self.worst or 0.0, seen.ratio)
            if not seen.wrong:
                return
            self.failed[case] = seen
            self.violated = self.violated or time.perf_counter()
            self.until = min(self.until, time.monotonic() + SECONDS)
        self.last = case
        raise Violated

    @property
    def found(self) -> Seen | None:
        """What is wrong in the smallest case that failed; None where none did."""
        return None if self.last is None else self.failed[self.last]

    def result(self) -> CheckResult:
        """The check's result."""
        made = CheckResult(self._name, self._kind, CONFORMS, self.seen, self.worst)
        if self.check == VALUE and self.seen + self.idle:
            made.effective = self.seen / (self.seen + self.idle)
        if self.found is not None:
            made.verdict, made.message = FALSIFIED, self.found.wrong
            made.counterexample = counterexample(self.judge, self.check, self.last, {})
            if self.found.ratio is not None:
                made.worst_ratio = self.found.ratio
        elif not self.seen:
            made.verdict = INCONCLUSIVE
            made.message = self.unsupported or "no case decided anything"
        return made

    @property
    def _name(self) -> str:
        if self.check == VALUE:
            return VALUE
        return f"robustness: {REPEATS}" if self.check == REPEATS else f"requirement {self.check}"

    @property
    def _kind(self) -> Kind:
        if self.check == VALUE:
            return "value"
        return "robustness" if self.check == REPEATS else "theorem"


__all__ = ["has_none", "check_procedure"]
