"""Every property that a statement asks of a callable, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from spec.language.formula import Formula
from verify.accuracy.grades import AccuracyProperty
from verify.inputs.dtypes import DTYPES
from verify.laws.checking import law_trial
from verify.laws.drawn_gradients import DrawnGradientProperty
from verify.laws.trial import law_properties
from verify.properties.edges_of_use import LeakProperty, OtherDrawsProperty
from verify.properties.plain_calls import GradientProperty, ValueProperty, usable_types
from verify.properties.scenarios import LAWS, VALUES, applicable
from verify.properties.scenes import scene_property
from verify.properties.setting import Setting
from verify.properties.slopes import JUDGED, differentiable
from verify.properties.theorem_property import TheoremProperty
from verify.report import CheckResult
from verify.search.property import Property
from verify.search.record import SearchRecord
from verify.subject.caller import Caller


def properties_of(
    setting: Setting,
    kinds: Sequence[str],
    graded: Sequence[str],
    limit: float | None = None,
    compiled: bool = False,
) -> list[Property[Any]]:
    """Values, gradients, theorems, scenes of use, and accuracy, in these ``kinds`` of types; or the law and scenes of draws."""
    judge, formula = setting.judge, setting.judge.formula
    order = sorted(applicable(judge), key=lambda s: (s.examples is not None, s.gradients))
    scenes = [scene_property(setting, scenario, kinds) for scenario in order]
    if formula.law is not None:
        slopes = [DrawnGradientProperty(setting, kind) for kind in kinds if kind in JUDGED]
        return [*law_properties(law_trial(setting)), *slopes, *scenes]
    found: list[Property[Any]] = []
    if judge.real:
        found += [ValueProperty(setting, kind, kinds) for kind in kinds]
    else:
        found.append(ValueProperty(setting, kinds[0], ()))
    if differentiable(judge):
        found += [GradientProperty(setting, kind) for kind in kinds]
    found += [TheoremProperty(setting, theorem, kinds) for theorem in formula.theorems.values()]
    found += [*scenes, LeakProperty(setting, kinds)]
    if compiled:
        found.append(CompiledProperty(setting, kinds))
    if judge.real:
        found += [AccuracyProperty(setting, kind, limit, kind in kinds) for kind in graded]
    return [*found, OtherDrawsProperty(setting, kinds[0])]


class CompiledProperty(ValueProperty):
    """Values of ``torch.compile(fn)``, in the narrowest type."""

    def __init__(self, setting: Setting, kinds: Sequence[str]) -> None:
        plain = setting.caller
        fn = torch.compile(plain.fn)
        caller = Caller(fn, plain.formula, plain.device, plain.name, plain.sizes, plain.unread)
        caller.takes_mask = plain.takes_mask
        aside = setting.aside(caller=caller, max_examples=max(4, setting.max_examples // 12))
        super().__init__(aside, kinds[-1], ())
        self.kinds, self.checked = kinds, setting
        self.name, self.kind = "robustness: compiled", "robustness"

    def groups(self) -> Any:
        """In the last type that is supported; nothing that was compiled before serves."""
        torch._dynamo.reset()
        self.dtype = usable_types(self.checked, self.kinds)[-1]
        return super().groups()

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """A check of robustness."""
        if result.counterexample is not None:
            result.counterexample.calls = {"compiled": True}
        return [result]


def possible_names(formula: Formula) -> list[str]:
    """The names of all checks that may be made of a formula's callables, in whatever types: which are, says what is asked for."""
    kinds = ("value", "gradient", "accuracy")
    scenarios = VALUES if formula.law is None else LAWS
    return [
        *(f"{kind} in {dtype}" for kind in kinds for dtype in DTYPES),
        *(f"theorem {name}" for name in formula.theorems),
        *(f"robustness: {scenario.name}" for scenario in scenarios),
    ]


__all__ = ["possible_names", "properties_of"]
