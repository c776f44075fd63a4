"""Checking what a callable draws against the law of a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spec.language.formula import Formula
from verify.laws.choices import ChoiceTrial
from verify.laws.selections import SelectionTrial
from verify.laws.trial import Trial, law_of, law_properties, never
from verify.properties.setting import Setting
from verify.report import CheckResult
from verify.search.loop import Search
from verify.search.record import Budget, Clock


def law_trial(setting: Setting) -> Trial[Any, Any]:
    """The trial of a report's callable; what is to be noted is put into its report."""
    caller, judge = setting.caller, setting.judge
    return trial_of(judge.formula)(
        caller,
        judge.formula,
        judge.conventions,
        setting.seed,
        caller.device,
        over=lambda: setting.clock.over,
        notes=setting.report.notes,
    )


def trial_of(formula: Formula) -> type[Trial[Any, Any]]:
    """The kind of trial that a formula's law takes: of selected positions, or of one outcome for every position."""
    return SelectionTrial if law_of(formula).selects else ChoiceTrial


def check_law(
    caller: Callable[..., Any],
    formula: Formula,
    conventions: Mapping[str, str] | None = None,
    seed: int = 0,
    device: str = "cpu",
    over: Callable[[], bool] = never,
    asked: float = 1.0,
) -> list[CheckResult]:
    """Check what ``caller`` draws against the law of ``formula``; the rest is as :class:`verify.laws.trial.Trial` says."""
    trial = trial_of(formula)(caller, formula, conventions, seed, device, over, asked)
    budget = Budget(Clock(None), seed)
    return [result for prop in law_properties(trial) for result in Search(prop, budget).run()]


__all__ = ["check_law", "law_trial"]
