"""Which checks a statement asks for, in which order, and what the results of one mean for those that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from spec.language.formula import Formula
from verify.accuracy.grades import accuracy_check
from verify.edges import STRICT, UNREAD
from verify.faults import Fault, Unsupported
from verify.inputs.dtypes import DTYPES
from verify.inputs.kinds import DEFAULT_TYPES
from verify.properties import shared_inputs
from verify.properties.gradients import NO_GRADIENT
from verify.properties.leaks import UNREAD as UNREAD_SCENARIO
from verify.properties.scenarios import LAWS, VALUES, WRITTEN_TO, Scenario, applicable
from verify.properties.slopes import JUDGED, differentiable, undifferentiated
from verify.report import CONFORMS, FALSIFIED, INCONCLUSIVE, CheckResult, Report
from verify.search.checks import LEAST_SHRINKING, gradient_check, value_check
from verify.search.edge_checks import crossing, isolated, kept_results, single_precision
from verify.search.large_checks import large_check
from verify.search.robustness_checks import robustness_check
from verify.search.setting import Setting
from verify.search.shared_checks import shared_check
from verify.search.shrink import SECONDS
from verify.search.theorem_checks import theorem_check
from verify.subject.caller import Caller

COARSER = 2.0**17
"""Error/bound up to which a coarser type may be the reason: bfloat16's roundoff beside float32's, and some room."""


class Work(NamedTuple):
    """A check to make.

    Attributes:
        title: what it is called.
        make: what finds the results.
    """

    title: str
    make: Callable[[], list[CheckResult]]


def plan_of(
    setting: Setting, kinds: list[str], report: Report, compiled: bool, grading: Sequence[Work] = ()
) -> list[Work]:
    """Every check, in order: those of values and gradients in these ``kinds`` of types first, and last ``grading``, those of
    accuracy. What is asked of the statement together stands together.
    """
    judge, formula = setting.judge, setting.judge.formula
    plan: list[Work] = []
    scenarios = [
        Work(f"robustness: {s.name}", partial(_scenario, setting, s, report, kinds))
        for s in sorted(applicable(judge), key=lambda s: (s.examples is not None, s.gradients))
    ]
    if formula.law is not None:
        slopes = [
            Work(f"gradient in {k}", partial(_drawn_gradient, setting, k)) for k in kinds if k in JUDGED
        ]
        return [Work("law", partial(_laws, setting, report)), *slopes, *scenarios]
    if judge.real:
        plan += [Work(f"value in {k}", partial(_value, setting, report, k, kinds)) for k in kinds]
    else:
        plan.append(Work("value", partial(_value, setting, report, kinds[0], [])))
    if differentiable(judge):
        plan += [Work(f"gradient in {k}", partial(_gradient, setting, report, k)) for k in kinds]
    report.notes += filter(None, [undifferentiated(judge)])
    for theorem in formula.theorems.values():
        plan.append(Work(f"theorem {theorem.name}", partial(_theorem, setting, theorem, report, kinds)))
    plan += scenarios
    plan.append(Work("leaks", partial(_leaks, setting, report, kinds)))
    if compiled:
        plan.append(Work("compiled", partial(_compiled, setting, report, kinds)))
    return [*plan, *(grading if judge.real else ())]


def possible_checks(formula: Formula) -> list[str]:
    """The names of all checks that may be made of a formula's callables, in whatever types: which are, says what is asked for."""
    kinds = ("value", "gradient", "accuracy")
    scenarios = VALUES if formula.law is None else LAWS
    return [
        *(f"{kind} in {dtype}" for kind in kinds for dtype in DTYPES),
        *(f"theorem {name}" for name in formula.theorems),
        *(f"robustness: {scenario.name}" for scenario in scenarios),
    ]


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
    if scenario.examples is not None or scenario.ones:
        return large_check(setting, report, scenario, usable, [kind for kind in usable if kind in fine])
    if scenario.gradients:
        usable = [kind for kind in usable if kind in fine]
        if not usable:  # there is none, or it is wrong already
            return []
    if scenario.name in (shared_inputs.VALUES, shared_inputs.GRADIENTS):
        return shared_check(setting, report, scenario, usable)
    if scenario.name == UNREAD_SCENARIO:
        if setting.edges.get(UNREAD) == "ignored":
            return []
        # What is reported only need not become small.
        seconds = SECONDS if setting.edges.get(UNREAD) == STRICT[UNREAD] else LEAST_SHRINKING
        result = robustness_check(setting, scenario, usable, shrinking=seconds)
        return [] if result is None else [isolated(setting, report, result, usable[0])]
    made = robustness_check(setting, scenario, usable)
    if made is not None and scenario.name == WRITTEN_TO:
        made = kept_results(report, made)
    return [] if made is None else [made]


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
    if not setting.clock.over:
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
    if result.counterexample is not None:
        result.counterexample.calls = {"compiled": True}
    return [result]


def graded(
    setting: Setting, kind: str, report: Report, limit: float | None, asked: bool
) -> list[CheckResult]:
    """The grade. What falsified values get is where a coarser type explains them; a type nobody asked for is not judged."""
    same = kind if asked else "float32"
    wrong = {c.kind for c in report.falsified if c.dtype in (None, same)}
    ratios = [c.worst_ratio for c in report.falsified if c.kind == "value" and c.dtype in (None, same)]
    if any(ratio is None or ratio > COARSER for ratio in ratios) or setting.clock.over:
        return []
    none = any(check.kind == "gradient" and NO_GRADIENT in check.message for check in report.checks)
    gradients = not none and not wrong & {"value", "gradient"}
    result = accuracy_check(setting, kind, gradients, limit, report if asked else None)
    if (result.verdict == INCONCLUSIVE and not asked) or (ratios and not result.details.get("explained")):
        return []
    if not asked and result.verdict != CONFORMS:
        result.unjudged()
    for check in report.checks:
        if (
            check.kind in ("value", "gradient")
            and check.dtype == kind
            and check.verdict == INCONCLUSIVE
            and check.examples
        ):
            check.message += f"; graded instead: {result.message}"
    return [result]


__all__ = ["Work", "graded", "plan_of", "possible_checks"]
