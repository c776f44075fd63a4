"""Inputs that a batch shares: no statement promises that they may be passed so, and what is right of inputs of one batch may well
be wrong of such (``gather`` takes the first members). So what is wrong there, and what is refused, is a property.
"""

from __future__ import annotations

from collections.abc import Collection

from verify.inputs.examples import Example
from verify.properties.outcome import Outcome
from verify.properties.scenarios import Scenario
from verify.properties.shared_inputs import shared
from verify.report import FALSIFIED, INCONCLUSIVE, SHARED, WRONG, CheckResult, Report
from verify.search.robustness_checks import robustness_check
from verify.search.setting import Setting
from verify.subject.wording import refusal


def shared_check(
    setting: Setting, report: Report, scenario: Scenario, dtypes: list[str]
) -> list[CheckResult]:
    """The check of a scenario of shared inputs; none where nothing of it is judged."""
    judge, caller = setting.judge, setting.caller
    refused: dict[str, None] = {}
    wrong: dict[tuple[str, ...], None] = {}

    def declined(example: Example, outcome: Outcome) -> bool:
        names = shared(judge, example)
        if not refusal(outcome.message, f"{judge.formula.id}: {caller.name}"):
            wrong[names] = None
            return False
        if len(names) == 1:
            refused[names[0]] = None
        caller.containment.hung = False  # nothing promises that it takes them
        return True

    def told(what: str, names: Collection[str]) -> None:
        said = ", ".join(t.name for t in judge.formula.tensors if t.name in names)
        report.has(SHARED, f"a batch that shares {said}, passed once for all members, {what}")

    result = robustness_check(setting, scenario, dtypes, declined=declined)
    if refused and not scenario.gradients:  # which are refused with the values
        told("is refused", refused)
    if result is None or result.verdict == INCONCLUSIVE:
        return []
    if result.verdict == FALSIFIED:
        told(f"{WRONG} {'gradients' if scenario.gradients else 'values'}", next(iter(wrong)))
        result.unjudged()
    return [result]


__all__ = ["shared_check"]
