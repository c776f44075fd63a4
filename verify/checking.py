"""Checking a callable against a formula: everything that is asked of it follows from the statement."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from spec.language.formula import Formula
from spec.language.own import address_of
from spec.language.procedure import Procedure
from spec.language.registry import procedure_ids, procedures
from verify.accuracy.grades import LARGE
from verify.adapt.adapter import Bound
from verify.adapt.plain import plain
from verify.edges import split, split_auto
from verify.explain.conventions import first_that_conforms, fully_said
from verify.explain.evidence import Evidence
from verify.explain.explain import Explanation, explain, explain_beside_conventions
from verify.explain.range import conforming_range
from verify.faults import Unusable
from verify.inputs.kept_examples import KEPT
from verify.inputs.kinds import to_grade
from verify.inputs.ranges import Ranges
from verify.planning import Work, graded, plan_of
from verify.properties.judge import Judge
from verify.report import CONFORMS, CheckResult, Counterexample, Reason, Report, options_said, versions
from verify.search.edge_checks import offences, other_draws
from verify.search.first_calls import called_at_all, first_value, met, only_the_first
from verify.search.search import Clock
from verify.search.setting import Setting
from verify.search.unsaid_sizes import where_something_is_said
from verify.second import second
from verify.subject.callables import importable, supported_by, with_fixed
from verify.subject.caller import Caller
from verify.subject.ending import listening
from verify.subject.options import (
    choices,
    found_formula,
    positive,
    seconds,
    types,
    usable_device,
    whole_number,
)
from verify.subject.sandbox import default_device_aside, one_thread, what_exists_kept
from verify.subject.signature import given_lines

Progress = Callable[[str, int, int], None]
RAISED = re.compile(r" raised (\w+(?:\.\w+)*(?:: .*?)?) for \w", re.DOTALL)
"""What was raised, in the message of a check."""


def check(
    fn: Callable[..., Any],
    formula_id: str | Formula | Procedure,
    *,
    max_examples: int = 100,
    conventions: Mapping[str, str] | Literal["auto"] | None = None,
    seed: int = 0,
    dtypes: Sequence[str] | None = None,
    device: str = "cpu",
    sizes: Mapping[str, str | int] | None = None,
    fixed: Mapping[str, float] | None = None,
    few_shapes: bool | None = None,
    ranges: Mapping[str, float] | None = None,
    accuracy: float | None = None,
    compile: bool = False,  # noqa: A002 torch's own word
    time_limit: float | None = None,
    causes: bool | Callable[[CheckResult], bool] = True,
    until_falsified: bool = False,
    progress: Progress | None = None,
    name: str | None = None,
    jobs: int = 1,
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
            such as ``{"beta": 0}``. ``fn`` may leave them out of its arguments.
        few_shapes: whether examples come in a few shapes only, for a callable that is compiled for each new one.
        ranges: how large entries are at most, such as ``{"q": 1e3}``: of an input, of a line of the statement, or
            ``offset(x)``, |mean| / std of the rows of ``x``. Examples are drawn within, and the verdict says so.
        accuracy: beyond how many sigma of careful arithmetic an error is a failure; without it such a report is
            ``imprecise`` at most.
        compile: whether ``torch.compile(fn)`` is held to the statement, too.
        time_limit: seconds for the whole; checks that did not finish say so.
        causes: whether what explains a falsification is looked for, which takes a few seconds; or of which failed checks it is,
            one of which has to be such.
        until_falsified: whether to stop at the first violation, and to leave its example as it was found: for whoever asks only
            whether there is one.
        progress: called with the check's name, its number, and how many there are.
        name: what to call ``fn`` in the report.
        jobs: how many processes make the checks: 1, or 2 where that can be (:mod:`verify.second`).

    Raises:
        Unusable: ``fn`` cannot be called at all, or another argument cannot be used; one line.
    """
    given = dict(locals())
    asked, seeking = split_auto(conventions)
    if isinstance(formula_id, Procedure) or formula_id in procedure_ids():
        from verify.decoding import check_procedure
        from verify.decoding.checking import has_none

        procedure = formula_id if isinstance(formula_id, Procedure) else procedures()[str(formula_id)]
        has_none(procedure, {"sizes": sizes, "fixed": fixed, "ranges": ranges})
        types(dtypes), usable_device(device), positive("accuracy", accuracy)
        carried_out = partial(
            check_procedure,
            fn,
            procedure,
            max_examples=max_examples,
            seed=seed,
            time_limit=seconds(time_limit),
            name=name,
        )
        named = split(asked or {})[1]
        if seeking:
            return first_that_conforms(carried_out, procedure, named)
        return carried_out(conventions=named)
    formula = found_formula(formula_id)
    seed, max_examples = whole_number("seed", seed, 0), whole_number("max_examples", max_examples, 1)
    KEPT.turn_to(formula, seed)
    kinds, device = types(dtypes), usable_device(device)
    limit, jobs = positive("accuracy", accuracy), whole_number("jobs", jobs, 1)
    wanted = to_grade(None if dtypes is None else kinds)
    clock = Clock(seconds(time_limit))
    try:
        edges, chosen = split(choices(formula, asked))
        judge = Judge(formula, chosen)
    except ValueError as error:
        raise Unusable(str(error)) from None
    supported = where_something_is_said(judge, supported_by(fn, formula, sizes, fixed, few_shapes))
    supported = replace(supported, within=Ranges.of(formula, ranges, judge.conventions))
    caller = Caller(with_fixed(fn, dict(supported.fixed)), formula, device, name, supported)
    started = time.perf_counter()
    report = Report(
        formula.id,
        caller.name,
        judge.conventions,
        seed=seed,
        max_examples=max_examples,
        device=device,
        fingerprint=formula.fingerprint,
        versions=versions(),
        importable=importable(fn),
        sizes=str(supported),
        edges=edges,
        within=str(supported.within or ""),
    )
    if formula.inputs and formula.is_mask(formula.inputs[-1]) and not caller.takes_mask:
        report.notes.append(f"{caller.name} takes no mask: checked without masks")
    if caller.taken.said:
        report.notes.append(caller.taken.said)
    kept = chosen if seeking else ()
    setting = Setting(
        judge, caller, seed, max_examples, clock, edges=edges, named=kept, small=not until_falsified
    )
    why = Explanation()
    with listening(), one_thread(), what_exists_kept(), default_device_aside() as caller.default_device:
        first = first_value(setting, report, kinds[0]) if formula.law is None and judge.real else None
        if not caller.hung:
            called_at_all(setting, kinds[0])
            met(setting, report, kinds)
        grading = [
            Work(f"accuracy in {k}", partial(graded, setting, k, report, limit, k in kinds), apart=True)
            for k in wanted
        ]
        plan = [] if caller.hung else plan_of(setting, kinds, report, compile, grading)
        made = 0
        with second(setting, report, plan, 1 if until_falsified else jobs) as other:
            for place, work in enumerate(plan):
                if caller.hung:
                    report.notes.append("the other checks were not begun: a call did not return")
                    break
                if progress is not None:
                    progress(work.title, place, len(plan))
                report.checks += work.make() if other is None else other.results(place, work)
                made += not clock.over
                _violated(setting, report)
                if until_falsified and any(map(_compared, report.falsified)):
                    report.notes.append("the other checks were not begun: a violation was found")
                    break
                if seeking and report.falsified and not why.tried:
                    why = explain(setting, report, kinds)
                    if why.changes:
                        break
            answers = None if other is None else other.answers()
            if answers is not None and judge.oracle.shelf is not None:
                judge.oracle.shelf.add(*answers)
        if clock.over and plan:
            report.unfinished = f"time ran out: {made} of about {len(plan)} checks were made"
        if not why.changes:  # else it begins anew, under these
            other_draws(setting, report, kinds[0])
            offences(setting, report)
            _violated(setting, report)
            sought = any(map(causes, report.falsified)) if callable(causes) else causes
            if sought and not why.said:
                why = explain(setting, report, kinds)
            confirmed = _confirmed(given, why, asked or {}, clock) if why.changes else why
            if confirmed.is_vague and why.changes and not fully_said(judge, why.changes):
                beside = explain_beside_conventions(Evidence(setting, kinds), report)
                confirmed = beside if beside.said else confirmed
            report.hint = _with_place(confirmed, report) or (_raised(report) if sought else "")
            report.reason = confirmed.reason
            if sought and report.falsified and confirmed.has_range:
                report.range = conforming_range(setting, report)
            only_the_first(setting, report, first)
    if seeking and why.changes:
        return _found(given, why, asked or {}, judge, started)
    for each in report.checks:
        if each.counterexample is not None:
            each.counterexample.fixed = dict(supported.fixed)
            each.counterexample.left_out = sorted(caller.left_out)
            each.counterexample.by_name = caller.taken.by_name
            each.counterexample.adapted = hasattr(caller.fn, "adapted")
            if each.counterexample.adapted and each.counterexample.got is not None:
                each.counterexample.plainly = _plainly(caller, each.counterexample, each.kind == "gradient")
        elif each.again is not None and (
            hasattr(caller.fn, "adapted") or caller.left_out or caller.taken.by_name
        ):
            each.again = each.again[0], f"{_called(caller)}{each.again[1]}"
    report.remembered = judge.oracle.leave()
    report.seconds = time.perf_counter() - started
    return report


def _called(caller: Caller) -> str:
    """Lines that make of ``checked`` what takes the formula's inputs."""
    lines = []
    if hasattr(caller.fn, "adapted"):
        fixed = f".restricted(fixed={dict(caller.fixed)!r})" if caller.fixed else ""
        lines.append(
            f'checked = checked{fixed}.for_formula("{address_of(caller.formula.id) or caller.formula.id}")'
        )
    if caller.left_out or caller.taken.by_name:
        lines += [*given_lines(caller.formula, caller.left_out, caller.taken.by_name, "checked"), "", ""]
    return "\n".join([*lines, ""])


def _plainly(caller: Caller, example: Counterexample, grad: bool) -> str:
    """What an adapter does at a counterexample, in plain lines; none where it cannot be written, or is no longer to be called."""
    if caller.hung or not isinstance(caller.fn, Bound):
        return ""
    arguments = caller.arguments(example.inputs, example.dtype, grad, example.generator_seed)
    items = zip(caller.formula.inputs, arguments, strict=False)
    return plain(caller.fn, [value for item, value in items if str(item) not in caller.left_out])


def _found(
    given: Mapping[str, Any], why: Explanation, named: Mapping[str, str], judge: Judge, began: float
) -> Report:
    """The report under conventions that were found by trying, or named beside such: the first under which nothing is falsified.

    Where each is, none of them holds, and one that leaves more unsaid would only hide something: the nearest is taken without.
    """
    reports = []
    for changes in (why.changes, *why.others):
        reports.append(_under(given, named, changes, began))
        if not reports[-1].falsified:
            return reports[-1]
    said = fully_said(judge, why.changes)
    return reports[0] if said == dict(why.changes) else _under(given, named, said, began)


def _under(
    given: Mapping[str, Any], named: Mapping[str, str], changes: Mapping[str, str], began: float
) -> Report:
    report = check(**{**given, "conventions": {**named, **changes}})
    report.found = split({**named, **changes})[1] if changes else {}
    report.seconds = time.perf_counter() - began
    return report


def _confirmed(
    given: Mapping[str, Any], why: Explanation, named: Mapping[str, str], clock: Clock
) -> Explanation:
    """What is said of other conventions, once a whole check under them agrees: that is more than what led to them."""
    failed = ""
    for changes in (why.changes, *why.others):
        if clock.over:
            break
        under = {"conventions": {**named, **changes}, "causes": False, "until_falsified": True}
        other = check(**{**given, **under, "progress": None, "time_limit": clock.left})
        if not other.falsified:
            said = f"conforms under convention {options_said(changes)}"
            return why if changes is why.changes else Explanation(said, Reason.CONVENTIONS, changes)
        failed = failed or f": {other.falsified[0].name} fails under it"
    return Explanation(f"nearest to convention {options_said(why.changes)}{failed}", Reason.NEAREST)


def _raised(report: Report) -> str:
    """What a callable raises where nothing else is wrong that explains it."""
    for failed in report.falsified:
        found = RAISED.search(failed.message)
        compared = failed.counterexample is not None and failed.counterexample.got is not None
        if compared or found is None:
            return ""
        where = failed.name.removeprefix("robustness: ")
        return (
            f"it raises {found[1]}, in “{where}”" if failed.kind == "robustness" else f"it raises {found[1]}"
        )
    return ""


def _with_place(why: Explanation, report: Report) -> str:
    """What explains a falsification; where nothing does, in which line digits are lost, if that is certain."""
    lossy = [check for check in report.checks if check.kind == "accuracy" and check.verdict != CONFORMS]
    places = [str(check.details["place"]) for check in lossy if check.details.get("explained")]
    scenes = [str(check.details["place"]) for check in lossy if check.details.get("explains_large")]
    if scenes and [check.name for check in report.falsified] == [LARGE]:
        return f"{why.said}: {scenes[0]}"
    if why.reason is Reason.SINGLE and any(
        c.kind == "value" and c.dtype == "float32" for c in report.falsified
    ):
        why = Explanation()  # of too few examples, where time was short: it is not right in float32 either
    if not places or not why.is_vague:
        return why.said
    return f"{places[0]}; {why.said}" if why.reason in (Reason.SIZES, Reason.ENTRIES) else places[0]


def _violated(setting: Setting, report: Report) -> None:
    """Keep when the first violation was seen: by a search, or, where nothing is searched (a law, an offence), by now."""
    if report.first_violation is None and report.falsified:
        report.first_violation = (setting.violated or time.monotonic()) - setting.clock.began
        failed = report.falsified[0]
        if setting.violated is not None and failed.kind != "law":  # of a law draws are counted
            until = report.checks[: report.checks.index(failed) + 1]
            report.examples_until = sum(check.examples for check in until if check.kind != "law")


def _compared(result: CheckResult) -> bool:
    """Whether a check compared what it found wrong: an exception alone may hide more."""
    example = result.counterexample
    return example is not None and example.got is not None


__all__ = ["check"]
