"""Checking a callable against a formula: everything that is asked of it follows from the statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch

from spec.language.formula import Formula
from spec.language.procedure import Procedure
from spec.language.registry import procedures
from verify.accuracy.grades import GRADED, USUAL, accuracy_check
from verify.edges import STRICT, UNREAD, split
from verify.faults import Fault, Unsupported, Unusable
from verify.inputs.ranges import Ranges
from verify.laws.reasons import reasons
from verify.properties.gradients import JUDGED, differentiable
from verify.properties.leaks import UNREAD as UNREAD_SCENARIO
from verify.properties.scenarios import Scenario, applicable
from verify.properties.values import Judge
from verify.report import CONFORMS, FALSIFIED, INCONCLUSIVE, CheckResult, Report, versions
from verify.search.checks import LEAST_SHRINKING, Setting, gradient_check, robustness_check, value_check
from verify.search.edge_checks import crossing, isolated, offences, single_precision
from verify.search.first_calls import called_at_all, met
from verify.search.hints import Explained
from verify.search.large_checks import large_check
from verify.search.nearest import first_that_conforms, split_auto
from verify.search.ranges import conforming_range
from verify.search.search import Clock
from verify.search.shrink import SECONDS
from verify.search.theorem_checks import theorem_check
from verify.subject.callables import importable, supported_by, with_fixed
from verify.subject.caller import Caller
from verify.subject.options import (
    DEFAULT_TYPES,
    choices,
    found_formula,
    positive,
    seconds,
    types,
    usable_device,
    whole_number,
)
from verify.subject.sandbox import listening, one_thread, what_exists_kept

COARSER = 2.0**17
"""Error/bound up to which a coarser type may be the reason: bfloat16's roundoff beside float32's, and some room."""
Progress = Callable[[str, int, int], None]


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

    Raises:
        Unusable: ``fn`` cannot be called at all, or another argument cannot be used; one line.
    """
    given = dict(locals())
    asked, seeking = split_auto(conventions)
    if isinstance(formula_id, Procedure) or formula_id in procedures():
        from verify.decoding import check_procedure

        procedure = formula_id if isinstance(formula_id, Procedure) else procedures()[str(formula_id)]
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
    kinds, device = types(dtypes), usable_device(device)
    limit = positive("accuracy", accuracy)
    wanted = [k for k in kinds if k in GRADED] if dtypes is not None else list(USUAL)
    clock = Clock(seconds(time_limit))
    try:
        edges, chosen = split(choices(formula, asked))
        judge = Judge(formula, chosen)
    except ValueError as error:
        raise Unusable(str(error)) from None
    supported = supported_by(fn, formula, sizes, fixed, few_shapes)
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
    kept = chosen if seeking else ()
    setting = Setting(
        judge, caller, seed, max_examples, clock, edges=edges, named=kept, small=not until_falsified
    )
    why = Explained()
    with listening(), one_thread(), what_exists_kept():
        called_at_all(setting, kinds[0])
        met(setting, report, kinds)
        plan = [] if caller.hung else _plan(setting, kinds, report, compile)
        if judge.real and formula.law is None:
            plan += [
                (f"accuracy in {k}", partial(_accuracy, setting, k, report, limit, k in kinds))
                for k in wanted
            ]
        for place, (title, work) in enumerate(plan):
            if caller.hung:
                report.notes.append("the other checks were not begun: a call did not return")
                break
            if progress is not None:
                progress(title, place, len(plan))
            report.checks += work()
            _violated(setting, report)
            if until_falsified and any(map(_compared, report.falsified)):
                report.notes.append("the other checks were not begun: a violation was found")
                break
            if seeking and report.falsified and not why.tried:
                why = reasons(setting, report, kinds)
                if why.changes:
                    break
        if not why.changes:  # else it begins anew, under these
            offences(setting, report)
            _violated(setting, report)
            sought = any(map(causes, report.falsified)) if callable(causes) else causes
            if sought and not why.said:
                why = reasons(setting, report, kinds)
            report.hint = why.said
            if sought and report.falsified and not report.hint.startswith("conforms"):
                report.range = conforming_range(setting, report)
    if seeking and why.changes:
        named = asked or {}
        return _found(given, [{**named, **each} for each in (why.changes, *why.others)], started)
    for each in report.checks:
        if each.counterexample is not None:
            each.counterexample.fixed = dict(supported.fixed)
            each.counterexample.left_out = sorted(caller.left_out)
            each.counterexample.adapted = hasattr(caller.fn, "adapted")
    report.seconds = time.perf_counter() - started
    return report


def _found(given: Mapping[str, Any], every: Sequence[Mapping[str, str]], began: float) -> Report:
    """The report under conventions that were found by trying, or named beside such: the first that is not falsified, if any."""
    for chosen in every:
        report = check(**{**given, "conventions": chosen})
        report.found = split(chosen)[1]
        if chosen is every[0] or not report.falsified:
            kept = report
        if not report.falsified:
            break
    report = kept
    report.seconds = time.perf_counter() - began
    return report


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


Work = tuple[str, Callable[[], list[CheckResult]]]


def _plan(setting: Setting, kinds: list[str], report: Report, compiled: bool) -> list[Work]:
    judge, formula = setting.judge, setting.judge.formula
    plan: list[Work] = []
    scenarios = [
        (f"robustness: {s.name}", partial(_scenario, setting, s, report, kinds)) for s in applicable(judge)
    ]
    if formula.law is not None:
        slopes = [(f"gradient in {k}", partial(_drawn_gradient, setting, k)) for k in kinds if k in JUDGED]
        return [("law", partial(_laws, setting, report)), *slopes, *scenarios]
    if judge.real:
        plan += [(f"value in {k}", partial(_value, setting, report, k, kinds)) for k in kinds]
    else:
        plan.append(("value", partial(_value, setting, report, kinds[0], [])))
    if differentiable(judge):
        plan += [(f"gradient in {k}", partial(_gradient, setting, report, k)) for k in kinds]
    for theorem in formula.theorems.values():
        plan.append((f"theorem {theorem.name}", partial(_theorem, setting, theorem, report, kinds)))
    plan += scenarios
    plan.append(("leaks", partial(_leaks, setting, report, kinds)))
    if compiled:
        plan.append(("compiled", partial(_compiled, setting, report, kinds)))
    return plan


def _value(setting: Setting, report: Report, kind: str, kinds: list[str]) -> list[CheckResult]:
    result = value_check(setting, kind)
    return [single_precision(setting, report, result) if "float32" in kinds else result]


def _gradient(setting: Setting, report: Report, kind: str) -> list[CheckResult]:
    reported = any(c.name == f"value in {kind}" and c.reported for c in report.checks)
    return [] if reported else [r for r in (gradient_check(setting, kind),) if r is not None]


def _drawn_gradient(setting: Setting, kind: str) -> list[CheckResult]:
    from verify.laws.drawn_gradients import drawn_gradient_check

    return [r for r in (drawn_gradient_check(setting, kind),) if r is not None]


def _scenario(setting: Setting, scenario: Scenario, report: Report, kinds: list[str]) -> list[CheckResult]:
    usable = _usable(report, kinds)
    fine = {c.dtype for c in report.checks if c.kind == "gradient" and c.verdict == CONFORMS}
    if scenario.examples is not None:
        return large_check(setting, report, scenario, usable, [kind for kind in usable if kind in fine])
    if scenario.gradients:
        usable = [kind for kind in usable if kind in fine]
        if not usable:  # there is none, or it is wrong already
            return []
    if scenario.name == UNREAD_SCENARIO:
        if setting.edges.get(UNREAD) == "ignored":
            return []
        # What is reported only need not become small.
        seconds = SECONDS if setting.edges.get(UNREAD) == STRICT[UNREAD] else LEAST_SHRINKING
        result = robustness_check(setting, scenario, usable, shrinking=seconds)
        return [] if result is None else [isolated(setting, report, result, usable[0])]
    return [r for r in (robustness_check(setting, scenario, usable),) if r is not None]


def _usable(report: Report, kinds: list[str]) -> list[str]:
    """The types that the value checks did not find unsupported (all, if none is left)."""
    out = {c.dtype for c in report.checks if c.kind == "value" and c.verdict == INCONCLUSIVE}
    narrow = [k for k in kinds if k not in out and k in DEFAULT_TYPES] or [k for k in kinds if k not in out]
    return narrow or kinds


def _laws(setting: Setting, report: Report) -> list[CheckResult]:
    from verify.laws.checking import check_law
    from verify.laws.pace import NOTE

    judge, caller = setting.judge, setting.caller
    try:
        checks = check_law(
            caller,
            judge.formula,
            judge.conventions,
            setting.seed,
            caller.device,
            lambda: setting.clock.over,
        )
        report.notes += [str(check.details[NOTE]) for check in checks if NOTE in check.details]
        return checks
    except Fault as fault:
        return [CheckResult("law", "law", FALSIFIED, message=str(fault))]
    except Unsupported as said:
        return [CheckResult("law", "law", INCONCLUSIVE, message=str(said))]


def _theorem(setting: Setting, theorem: Any, report: Report, kinds: list[str]) -> list[CheckResult]:
    result = theorem_check(setting, theorem, _usable(report, kinds))
    if isinstance(result, str):
        report.not_run[theorem.name] = result
        return []
    return [result]


def _leaks(setting: Setting, report: Report, kinds: list[str]) -> list[CheckResult]:
    crossing(setting, report, _usable(report, kinds)[0])
    return []


def _compiled(setting: Setting, report: Report, kinds: list[str]) -> list[CheckResult]:
    torch._dynamo.reset()
    plain = setting.caller
    compiled = Caller(torch.compile(plain.fn), plain.formula, plain.device, plain.name, plain.sizes)
    compiled.takes_mask = plain.takes_mask
    few = Setting(setting.judge, compiled, setting.seed, max(4, setting.max_examples // 12), setting.clock)
    result = value_check(few, _usable(report, kinds)[-1])
    result.name, result.kind = f"robustness: compiled ({result.name})", "robustness"
    return [result]


def _accuracy(
    setting: Setting, kind: str, report: Report, limit: float | None, asked: bool
) -> list[CheckResult]:
    """The grade. What falsified values get is where a coarser type explains them; a type nobody asked for is not judged."""
    same = kind if asked else "float32"
    wrong = {c.kind for c in report.falsified if c.dtype in (None, same)}
    ratios = [c.worst_ratio for c in report.falsified if c.kind == "value" and c.dtype in (None, same)]
    if any(ratio is None or ratio > COARSER for ratio in ratios):
        return []
    result = accuracy_check(setting, kind, not wrong & {"value", "gradient"}, limit)
    if (result.verdict == INCONCLUSIVE and not asked) or (ratios and not result.details.get("explained")):
        return []
    if not asked and result.verdict != CONFORMS:
        result.verdict, result.message = INCONCLUSIVE, f"reported, not judged: {result.message}"
    for check in report.checks:
        if (
            check.kind in ("value", "gradient")
            and check.dtype == kind
            and check.verdict == INCONCLUSIVE
            and check.examples
        ):
            check.message += f"; graded instead: {result.message}"
    return [result]


__all__ = ["check"]
