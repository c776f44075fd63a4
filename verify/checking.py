"""Checking a callable against a statement: a request is prepared, its properties are tried, failures explained, all reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from spec.language.formula import Formula
from spec.language.procedure import Procedure
from verify.accuracy.grades import LARGE
from verify.explain.conventions import drop_unstated
from verify.explain.evidence import Evidence
from verify.explain.explain import Explanation, explain, explain_beside_conventions
from verify.explain.range import conforming_range
from verify.explain.slopes import find_undefined_gradients
from verify.faults import Unusable
from verify.inputs.ranges import Ranges
from verify.isolation import answer_isolated
from verify.plan import properties_of
from verify.properties.edges_of_use import offence_properties
from verify.properties.first_calls import First, make_first_calls, report_first_value
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.properties.slopes import describe_undifferentiated
from verify.properties.unsaid_sizes import restrict_to_stated
from verify.report import CONFORMS, WIDE, CheckResult, Reason, Report, conventions_said, versions
from verify.report_text import first_place
from verify.request import Conventions, Progress, Request, Rules
from verify.search.loop import Search
from verify.search.property import NotRunnable, Property
from verify.search.record import Budget, Clock
from verify.subject.callables import find_supported, find_unread, importable, with_fixed, with_words
from verify.subject.caller import Caller
from verify.subject.ending import watch_interrupts
from verify.subject.sandbox import freeze_existing_objects, one_thread, use_cpu_by_default


def check(
    fn: Callable[..., Any],
    formula_id: str | Formula | Procedure,
    *,
    max_examples: int = 100,
    conventions: Conventions = None,
    seed: int = 0,
    dtypes: Sequence[str] | None = None,
    device: str = "cpu",
    sizes: Mapping[str, str | int] | None = None,
    fixed: Mapping[str, float | str] | None = None,
    few_shapes: bool | None = None,
    ranges: Mapping[str, float] | None = None,
    accuracy: float | None = None,
    grades: bool = True,
    compile: bool = False,  # noqa: A002 torch's own word
    time_limit: float | None = None,
    causes: bool | Callable[[CheckResult], bool] = True,
    until_falsified: bool = False,
    progress: Progress | None = None,
    name: str | None = None,
    isolate: bool = False,
) -> Report:
    """Hold ``fn`` to a formula: its values, gradients, accuracy, theorems, and its robustness.

    Args:
        fn: called positionally with the formula's inputs in declared order: tensors (leading batch dimensions on data), Python
            numbers, sizes, and the optional mask last, as None or a boolean tensor.
        formula_id: the formula's ID; or a procedure's, for which ``fn`` is called as :mod:`verify.decoding.contract` says, in
            float64 on the CPU whatever types and devices are named.
        max_examples: examples for each value check; other checks take a share of it.
        conventions: the conventions under which ``fn`` is judged; the formula's defaults where not given. ``"auto"``: if the
            defaults do not hold, those nearest to ``fn`` of all combinations; the report's ``found`` says what they change.
            ``{"eps": "outside", "*": "auto"}``: those named stay, the others are sought.
        seed: determines every example.
        dtypes: names of types; float64 and float32 by default.
        device: where the tensors are.
        sizes: the sizes that ``fn`` supports, where not all: rules by name, such as ``{"d_v": "d_k", "h": "2|4", "d": "even"}``.
            Only such are drawn, and the report says so.
        fixed: numbers that ``fn`` has built in, such as ``{"eps": 1e-5}``, and parameters of which every entry is one number,
            such as ``{"beta": 0}``. ``fn`` may leave them out of its arguments. An input that is another one,
            ``{"y": "x"}``, or that counts, ``{"pos": "0.."}``, is none of its arguments, and theorems are not tried.
        few_shapes: whether examples come in a few shapes only, for a callable that is compiled for each new one.
        ranges: how large entries are at most, such as ``{"q": 1e3}``: of an input, of a line of the statement, or
            ``offset(x)``, |mean| / std of the rows of ``x``. Examples are drawn within, and the verdict says so.
        accuracy: beyond how many sigma of careful arithmetic an error is a failure; without it such a report is
            ``imprecise`` at most.
        grades: whether accuracy is graded, at the sizes of real models, which takes about half of the time.
        compile: whether ``torch.compile(fn)`` is held to the statement, too.
        time_limit: seconds for the whole; checks that did not finish say so.
        causes: whether what explains a falsification is looked for, which takes a few seconds; or of which failed checks it is,
            one of which has to be such.
        until_falsified: whether to stop at the first violation, and to leave its example as it was found: for whoever asks only
            whether there is one.
        progress: called with the check's name, its number, and how many there are.
        name: what to call ``fn`` in the report.
        isolate: whether the check is made in a process of its own, so that ``fn`` may crash or hang without harm to the caller's:
            that is then the verdict. ``fn`` has to be importable there, or picklable.

    Raises:
        Unusable: ``fn`` cannot be called at all, or another argument cannot be used; one line.
    """
    request = Request.of(
        formula_id,
        max_examples=max_examples,
        conventions=conventions,
        seed=seed,
        dtypes=dtypes,
        device=device,
        rules=Rules(sizes, fixed, few_shapes, ranges),
        accuracy=accuracy,
        grades=grades,
        compile=compile,
        time_limit=time_limit,
        causes=causes,
        until_falsified=until_falsified,
        progress=progress,
        name=name,
    )
    return answer_isolated(answer, fn, request) if isolate else answer(fn, request)


def answer(fn: Callable[..., Any], request: Request) -> Report:
    """The report that a request asks for.

    Raises:
        Unusable: the callable cannot be called at all; one line.
    """
    began = time.perf_counter()
    if isinstance(request.stated, Procedure):
        from verify.decoding import answer_procedure

        return answer_procedure(fn, request)
    trial = Trial.prepare(fn, request)
    with trial.set_up_process():
        trial.run()
        if not (request.seeking and trial.why.changes):
            trial.explain(fn)
    found_others = request.seeking and trial.why.changes
    report = _under_found(fn, request, trial) if found_others else trial.report
    report.seconds = time.perf_counter() - began
    return report


def _under_found(fn: Callable[..., Any], request: Request, trial: Trial) -> Report:
    """The report under conventions that were found by trying: the first under which nothing is falsified.

    Where each is, none of them holds, and one that leaves more unsaid would only hide something: the nearest is taken without.
    """
    first: Report | None = None
    for changes in (trial.why.changes, *trial.why.others):
        report = _under(fn, request, changes)
        if not report.falsified:
            if changes is trial.why.changes:
                report.alike = [{**report.found, **each} for each in trial.why.alike]
            return report
        first = first or report
    stated = drop_unstated(trial.setting.judge, trial.why.changes)
    return first if first is not None and stated == dict(trial.why.changes) else _under(fn, request, stated)


def _under(fn: Callable[..., Any], request: Request, changes: Mapping[str, str]) -> Report:
    report = answer(fn, request.under(changes))
    report.found = {**request.conventions, **changes} if changes else {}
    return report


@dataclass
class Trial:
    """A callable being held to a formula: what the properties share, and what explains their failures.

    Attributes:
        setting: what the properties share, the report among it.
        request: what is asked.
        why: what explains what was falsified.
        first: what the very first call gave, where that was wrong.
    """

    setting: Setting
    request: Request
    why: Explanation
    first: First | None = None

    @classmethod
    def prepare(cls, fn: Callable[..., Any], request: Request) -> Trial:
        """The statement, the callable and an empty report.

        Raises:
            Unusable: they do not fit one another.
        """
        rules = request.rules
        assert isinstance(request.stated, Formula)
        fn, formula, sizes, fixed, words = with_words(fn, request.stated, rules.sizes, rules.fixed)
        try:
            judge = Judge(formula, request.conventions)
        except ValueError as error:
            raise Unusable(str(error)) from None
        supported = replace(find_supported(fn, formula, sizes, fixed, rules.few_shapes), given=words)
        supported = restrict_to_stated(judge, supported)
        supported = replace(supported, within=Ranges.of(formula, rules.ranges, judge.conventions))
        unread = find_unread(formula, judge.conventions)
        bound = with_fixed(fn, dict(supported.fixed), unread)
        caller = Caller(bound, formula, request.device, request.name, supported, unread)
        report = Report(
            request.stated.id,
            caller.name,
            judge.conventions,
            seed=request.seed,
            max_examples=request.max_examples,
            device=request.device,
            fingerprint=formula.fingerprint,
            versions=versions(),
            importable=importable(fn),
            sizes=str(supported),
            edges=dict(request.edges),
            within=str(supported.within or ""),
            settings=request.settings,
        )
        if formula.inputs and formula.is_mask(formula.inputs[-1]) and not caller.takes_mask:
            report.notes.append(f"{caller.name} takes no mask: checked without masks")
        if judge.conventions["intermediates"] == "storage":
            report.notes.append(f"intermediates=storage: {WIDE}")
        if caller.taken.said:
            report.notes.append(caller.taken.said)
        if formula.law is None and (without := describe_undifferentiated(judge)):
            report.notes.append(without)
        budget = Budget(Clock(request.time_limit), request.seed, small=not request.until_falsified)
        named = request.conventions if request.seeking else ()
        edges = dict(request.edges)
        setting = Setting(judge, caller, report, request.max_examples, budget, edges, named)
        return cls(setting, request, Explanation())

    @property
    def report(self) -> Report:
        """The report so far."""
        return self.setting.report

    @contextmanager
    def set_up_process(self) -> Iterator[None]:
        """Set the process up for calls of the callable, and undo that on exit."""
        with watch_interrupts(), one_thread(), freeze_existing_objects(), use_cpu_by_default() as device:
            self.setting.caller.default_device = device
            yield

    def run(self) -> None:
        """Make the first calls, and try every property."""
        setting, request, report = self.setting, self.request, self.report
        caller, kinds = setting.caller, request.kinds
        self.first = make_first_calls(setting, kinds)
        every = properties_of(setting, kinds, request.graded, request.accuracy, request.compile)
        made = 0
        for place, prop in enumerate(every):
            if caller.hung:
                report.notes.append("the other checks were not begun: a call did not return")
                break
            if request.progress is not None:
                request.progress(prop.name, place, len(every))
            self.attempt(prop)
            made += not setting.clock.over
            self.note_first_violation()
            if request.until_falsified and any(map(_has_comparison, report.falsified)):
                report.notes.append("the other checks were not begun: a violation was found")
                break
            if request.seeking and report.falsified and not self.why.tried:
                self.why = explain(setting, report, kinds)
                if self.why.changes:
                    break
        if not self.why.changes:  # else it begins anew, under these
            for prop in offence_properties(setting):
                self.attempt(prop)
        self.note_first_violation()
        if setting.clock.over and made < len(every):
            report.unfinished = f"time ran out: {made} of about {len(every)} checks were made"

    def attempt(self, prop: Property[Any]) -> None:
        """Try one property; of a theorem that cannot be tried, the report says why."""
        report = self.report
        theorem = prop.name.removeprefix("theorem ") if prop.kind == "theorem" else ""
        if reason := prop.reason_against():
            report.not_run |= {theorem: reason} if theorem else {}
            return
        try:
            report.checks += Search(prop, self.setting.budget).run()
        except NotRunnable as said:
            report.not_run[theorem] = str(said)

    def note_first_violation(self) -> None:
        """Keep when the first violation was seen: by a search, or, where nothing is searched (a law, an offence), by now."""
        report, setting = self.report, self.setting
        if report.first_violation is not None or not report.falsified:
            return
        seen = setting.budget.violated
        report.first_violation = (seen or time.monotonic()) - setting.clock.began
        failed = report.falsified[0]
        if seen is not None and failed.kind != "law":  # of a law draws are counted
            until = report.checks[: report.checks.index(failed) + 1]
            report.examples_until = sum(check.examples for check in until if check.kind != "law")

    def explain(self, fn: Callable[..., Any]) -> None:
        """Look for what explains the failures: conventions under which the callable conforms, a cause, a range."""
        report, request = self.report, self.request
        sought = any(map(request.wants_cause, report.falsified))
        if sought and not self.why.said:
            self.why = explain(self.setting, report, request.kinds)
        if self.why.changes:
            self.why = self.confirm_conventions(fn)
        report.hint, report.reason = self.find_cause(), self.why.reason
        if self.why.reason is Reason.NEAREST and report.hint:
            report.notes.append(report.hint)
            report.hint = ""
        if sought and report.falsified and not report.hint:
            report.hint = describe_exception(report) or first_place(report.falsified)
        if sought and report.falsified and self.why.has_range:
            report.range = conforming_range(self.setting, report)
        report_first_value(self.setting, self.first)

    def confirm_conventions(self, fn: Callable[..., Any]) -> Explanation:
        """Check again in full under the conventions found, and return what is known of them then."""
        failed = ""
        for changes in (self.why.changes, *self.why.others):
            if self.setting.clock.over:
                break
            other = Trial.prepare(fn, self.request.under(changes).briefly(self.setting.clock.seconds_left))
            other.run()
            if not other.report.falsified:
                said = f"conforms under convention {conventions_said(changes)}"
                return (
                    self.why
                    if changes is self.why.changes
                    else Explanation(said, Reason.CONVENTIONS, changes)
                )
            if said := other.find_undefined_gradients():
                return Explanation(f"under convention {conventions_said(changes)}, {said}", Reason.CAUSE)
            failed = failed or f": {other.report.falsified[0].name} fails under it"
        near = f"nearest to convention {conventions_said(self.why.changes)}{failed}"
        if not drop_unstated(self.setting.judge, self.why.changes):
            beside = explain_beside_conventions(Evidence(self.setting, self.request.kinds), self.report)
            if beside.said:
                return beside
        return Explanation(near, Reason.NEAREST)

    def find_undefined_gradients(self) -> str:
        """Say what makes gradients NaN that fail, if it is a row about which nothing is said; empty where it is not."""
        sloped = self.report.falsified[0].kind == "gradient"
        return find_undefined_gradients(Evidence(self.setting, self.request.kinds)) if sloped else ""

    def find_cause(self) -> str:
        """Return the cause of a falsification; if none is known, the line in which digits are lost, if that is certain."""
        why, failed = self.why, self.report.falsified
        lossy = [c for c in self.report.checks if c.kind == "accuracy" and c.verdict != CONFORMS]
        places = [str(check.details["place"]) for check in lossy if check.details.get("explained")]
        scenes = [str(check.details["place"]) for check in lossy if check.details.get("explains_large")]
        if scenes and [check.name for check in failed] == [LARGE]:
            return f"{why.said}: {scenes[0]}"
        if why.reason is Reason.SINGLE and any(c.kind == "value" and c.dtype == "float32" for c in failed):
            why = (
                Explanation()
            )  # of too few examples, where time was short: it is not right in float32 either
        if not places or not why.is_vague:
            return why.said
        return f"{places[0]}; {why.said}" if why.reason in (Reason.SIZES, Reason.ENTRIES) else places[0]


def describe_exception(report: Report) -> str:
    """Describe what the callable raised in the first failed check; empty if that check compared results."""
    for failed in report.falsified:
        compared = failed.counterexample is not None and failed.counterexample.got is not None
        if compared or not failed.raised:
            return ""
        where = failed.name.removeprefix("robustness: ")
        scene = f", in “{where}”" if failed.kind == "robustness" else ""
        return f"it raises {failed.raised}{scene}"
    return ""


def _has_comparison(result: CheckResult) -> bool:
    """Whether a check compared what it found wrong: an exception alone may hide more."""
    example = result.counterexample
    return example is not None and example.got is not None


__all__ = ["answer", "check"]
