"""Sizes of their own, large ones, a large batch, and one: what fails there is a fault; what a callable declines is a property."""

from __future__ import annotations

from collections.abc import Sequence

from verify.edges import SHAPES, STRICT
from verify.inputs.examples import Example
from verify.properties.outcome import Outcome
from verify.properties.scenarios import Scenario
from verify.report import FALSIFIED, CheckResult, Report
from verify.search.robustness_checks import robustness_check
from verify.search.setting import Setting
from verify.subject.wording import refusal


def large_check(
    setting: Setting, report: Report, scenario: Scenario, dtypes: list[str], graded: Sequence[str]
) -> list[CheckResult]:
    """The check of a scenario of plain calls at sizes of its own; none where others are wrong already, or where a large batch is
    called member by member.

    Where it raises an error, or does not return, a callable has a limit, unless every shape is to be supported.
    """
    if any(check.kind == "value" and check.verdict == FALSIFIED for check in report.checks):
        return []
    caller = setting.caller
    if scenario.name == "a large batch" and caller.leading == (0,):
        return []
    limits: list[str] = []

    def declined(example: Example, outcome: Outcome) -> bool:
        said = refusal(outcome.message, f"{setting.judge.formula.id}: {caller.name}")
        if not said or setting.edges.get(SHAPES) == STRICT[SHAPES]:
            return False
        where = example.regime.removeprefix("large sizes: ")
        if scenario.ones:
            ones = (f"{size} = 1" for size, number in example.sizes.items() if number == 1)
            where = ", ".join(ones) or where
        if where not in limits:
            limits.append(where)
            report.has(SHAPES, f"at {where} it {said}: not judged there", "some")
        caller.containment.hung = False  # once at a large size says nothing about the others
        return True

    result = robustness_check(setting, scenario, dtypes, graded, declined)
    return [] if result is None else [result]


__all__ = ["large_check"]
