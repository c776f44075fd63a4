"""What the first calls showed, put into the report: what a callable does not take, and where it is judged therefore."""

from __future__ import annotations

import inspect
from typing import NamedTuple

import torch

from verify.edges import ARITHMETIC, SHAPES, STRICT
from verify.faults import Fault, Unsupported, Unusable
from verify.inputs.examples import Example
from verify.properties.plain_calls import counterexample
from verify.properties.setting import Setting
from verify.properties.values import judge_value
from verify.report import FALSIFIED, CheckResult, Reason, Report
from verify.subject.interface import first_calls

FIRST = "value of the first call"


class First(NamedTuple):
    """The first call of all, if its value was wrong: its example, and the failure as a check."""

    example: Example
    result: CheckResult


def make_first_calls(setting: Setting, kinds: list[str]) -> First | None:
    """Make the first calls: what the very first gives, whether it can be called at all, and what it takes.

    Raises:
        Unusable: no call gives tensors of the right ranks.
    """
    searched = setting.judge.formula.law is None and setting.judge.real
    first = first_value(setting, kinds[0]) if searched else None
    if not setting.caller.hung:
        called_at_all(setting, kinds[0])
        meet(setting, kinds)
    return first


def meet(setting: Setting, kinds: list[str]) -> None:
    """Find out what it takes. Where every shape is to be supported there are none: what fails is then falsified.

    Raises:
        Unusable: no call gives tensors of the right ranks.
    """
    if setting.edges.get(SHAPES) == STRICT[SHAPES]:
        return
    judge, caller, report = setting.judge, setting.caller, setting.report
    declining = setting.edges.get(ARITHMETIC) != STRICT[ARITHMETIC]
    found = first_calls(caller, kinds, judge.real, declining)
    if found.hung:
        _hung(report, kinds[0], found.hung)
    for sentence in found.sentences:
        report.has(SHAPES, sentence, "some")
    for kind, said in found.declined.items():
        report.has(ARITHMETIC, f"{kind} is not supported ({said}): judged in the other types", "float32")
    if found.recovered:
        said = f"{found.recovered}; made again, the same call returns"
        report.checks.append(CheckResult(FIRST, "value", FALSIFIED, 1, message=said, leads=True))
    report.sizes, report.leading = str(caller.sizes), caller.leading
    report.within = str(caller.sizes.within or "")


def _hung(report: Report, dtype: str, said: str) -> None:
    report.checks.append(CheckResult(f"value in {dtype}", "value", FALSIFIED, message=said))


def first_value(setting: Setting, dtype: str) -> First | None:
    """What the very first call gives, and at which example, where that is wrong: something may be made ready in it, too late."""
    space = setting.space()
    example = space.example(next(iter(space.plan(1, setting.seed))), dtype)
    try:
        outcome = judge_value(setting.judge, setting.caller, example)
    except Unsupported:
        return None
    if setting.caller.hung:
        _hung(setting.report, dtype, outcome.message)
    if not outcome.fails:
        return None
    result = CheckResult(FIRST, "value", FALSIFIED, 1, outcome.ratio, message=outcome.message, dtype=dtype)
    result.counterexample = counterexample(setting, example, outcome)
    return First(example, result)


def report_first_value(setting: Setting, first: First | None) -> None:
    """Put it into the report where no other value is wrong, and values in its type are judged.

    A call that raises then, and now, is asked about what it takes.
    """
    report, caller = setting.report, setting.caller
    if first is None or caller.hung or any(c.kind == "value" for c in report.falsified):
        return
    example, result = first
    if any(check.reported for check in report.checks if check.name == f"value in {example.dtype}"):
        return
    raised = result.counterexample is None or result.counterexample.got is None
    if raised and (caller.leading or caller.declined):  # it is called otherwise since
        return
    fails = judge_value(setting.judge, caller, example).fails
    if fails and raised:
        return
    result.leads = True
    report.checks.insert(0, result)
    report.reason = Reason.UNSTEADY if fails else Reason.CALLS
    report.hint = (
        "the first call is wrong, and so is the same call now; others conform in between"
        if fails
        else "only the first call is wrong: those that follow conform"
    )


def called_at_all(setting: Setting, dtype: str) -> None:
    """A builtin whose signature is unknown shows at the first call whether it can be called at all.

    Raises:
        Unusable: it cannot.
    """
    caller = setting.caller
    try:
        inspect.signature(caller.fn.forward if isinstance(caller.fn, torch.nn.Module) else caller.fn)
        return
    except (ValueError, TypeError):
        pass
    recipe = next(iter(setting.space().plan(1, 0)))
    for masked in (True, False) if caller.takes_mask else (False,):
        caller.takes_mask = masked
        example = setting.space().example(recipe._replace(mask=1), dtype)
        try:
            caller(*caller.arguments(example.inputs, dtype))
        except Fault as fault:
            if not isinstance(fault.__cause__, TypeError):
                return
            said = str(fault)
        except Unsupported:
            return
        else:
            return
    raise Unusable(said)


__all__ = ["First", "make_first_calls", "report_first_value"]
