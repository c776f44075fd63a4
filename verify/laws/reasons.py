"""What explains a falsification, of values or of a law: for a law every other combination of conventions, then its shares."""

from __future__ import annotations

from verify.laws.checking import check_law
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.report import FALSIFIED, Report, options_said
from verify.search.hints import Explained, explained, scenes
from verify.search.nearest import combinations

TRIED = 0.02
"""The share of the draws with which another combination of conventions is tried first."""


def reasons(setting: Setting, report: Report, kinds: list[str]) -> Explained:
    """What explains what was falsified; nothing where nothing was found."""
    judge = setting.judge
    if judge.formula.law is None:
        return explained(setting, report, kinds)
    failed = [check for check in report.falsified if check.kind == "law"]
    for changes in combinations(judge.formula, judge.conventions, setting.named) if failed else ():
        # Most combinations are refused by a few draws.
        if all(_holds(setting, changes, asked) for asked in (TRIED, 1.0)):
            return Explained(f"conforms under convention {options_said(changes)}", changes, tried=True)
    causes = [check.details.get("cause") or check.message.partition(";")[0] for check in failed]
    beside = "" if failed else scenes(report.falsified)
    return Explained(
        causes[0] if causes else beside and f"what it draws conforms; wrong in: {beside}", tried=True
    )


def _holds(setting: Setting, changes: dict[str, str], asked: float) -> bool:
    other = Judge(setting.judge.formula, {**setting.judge.conventions, **changes})
    caller = setting.caller
    checks = check_law(caller, other.formula, other.conventions, setting.seed, caller.device, asked=asked)
    return not any(check.verdict == FALSIFIED for check in checks)


__all__ = ["reasons"]
