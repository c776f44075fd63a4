"""The checks of values and of gradients, and what a search comes to."""

from __future__ import annotations

import time
from dataclasses import replace

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Example
from verify.properties.gradients import judge_gradient
from verify.properties.judge import Judge
from verify.properties.outcome import Outcome
from verify.properties.slopes import JUDGED, differentiable
from verify.properties.values import judge_value
from verify.report import CONFORMS, FALSIFIED, INCONCLUSIVE, CheckResult, Counterexample, Kind
from verify.search.search import Found, Probe
from verify.search.searches import gradient_search, value_search
from verify.search.setting import Setting
from verify.search.shrink import SECONDS, Shrinker, declarations

VACUOUS = "vacuous: the bound was never small against a value"
"""What is said of a check that no example had a bearing on."""
LEAST_SHRINKING = 0.3
"""Seconds that every counterexample gets, even when the report's share is used up."""
NAMED = 5
"""So many are named of those of which little was said."""


def value_check(setting: Setting, dtype: str) -> CheckResult:
    """The value against the statement."""
    judge, caller = setting.judge, setting.caller

    def probe(example: Example) -> Outcome:
        return judge_value(judge, caller, example)

    found = value_search(setting, dtype, probe)
    name = f"value in {dtype}" if judge.real else "value"
    return concluded(setting, name, "value", dtype, found, probe)


def gradient_check(setting: Setting, dtype: str) -> CheckResult | None:
    """The gradient against the derived one; None where the formula has nothing to differentiate."""
    judge, caller = setting.judge, setting.caller
    if not differentiable(judge):
        return None

    def probe(example: Example) -> Outcome:
        outcome = judge_gradient(judge, caller, example)
        if dtype not in JUDGED and not outcome.message.startswith(f"{judge.formula.id}: {caller.name} "):
            ratios.append(outcome.ratio)
            return Outcome(effective=outcome.effective)
        return outcome

    ratios: list[float] = []
    found = gradient_search(setting, dtype, probe)
    result = concluded(setting, f"gradient in {dtype}", "gradient", dtype, found, probe)
    if dtype not in JUDGED and result.verdict == CONFORMS:
        result.verdict, result.worst_ratio = INCONCLUSIVE, max(ratios, default=None)
        result.message = f"reported, not judged: gradients in {dtype}"
    return result


def concluded(
    setting: Setting,
    name: str,
    kind: Kind,
    dtype: str,
    found: Found,
    probe: Probe,
    more: tuple[Tensor, ...] = (),
    fixed: set[Size] | None = None,
    shrinking: float = SECONDS,
) -> CheckResult:
    """The result of a search: shrinks a violation, names a vacuous check and an unsupported type."""
    kept = dtype if setting.judge.real else found.returned or dtype
    result = CheckResult(
        name, kind, CONFORMS, found.examples, found.worst, found.share, dtype=kept, ratios=found.ratios
    )
    if found.outcome is not None and found.example is not None:
        example, outcome = found.example, found.outcome
        setting.violated, setting.found = setting.violated or found.violated, example
        declared = declarations(setting.judge.formula, *more)
        began = time.monotonic()
        seconds = max(LEAST_SHRINKING, min(shrinking, setting.shrinking))
        if setting.small and not setting.caller.hung:
            supported = setting.caller.sizes
            shrinker = Shrinker(example, outcome, probe, declared, fixed or set(), seconds, supported)
            example, outcome = shrinker.run()
            if example is not found.example and example.regime:
                example = replace(example, regime=f"made small from {example.regime}")
        setting.shrinking -= time.monotonic() - began
        result.verdict, result.message = FALSIFIED, outcome.message
        result.worst_ratio = max(found.worst or 0.0, outcome.ratio)
        result.counterexample = counterexample(setting.judge, example, outcome)
    elif found.unsupported:
        result.verdict, result.message = INCONCLUSIVE, found.unsupported
    elif not found.examples:
        result.verdict, result.message = (
            INCONCLUSIVE,
            "no example was judged" + (" in the time given" if found.cut else ""),
        )
    elif not found.effective:
        result.verdict, result.message = INCONCLUSIVE, VACUOUS
    elif found.cut:
        result.message = f"stopped after {found.examples} examples: the time was over"
    elif kind in ("value", "gradient") and (mute := found.asked - found.answered):
        result.message = _mute(sorted(mute), len(found.asked), kind)
    return result


def _mute(names: list[str], of: int, kind: str) -> str:
    """What a check that conforms has said little of."""
    these = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    what = "the gradients of" if kind == "gradient" else "the outputs"
    return f"of {what} {these} ({len(names)} of {of}) no number was large against its bound"


def counterexample(judge: Judge, example: Example, outcome: Outcome) -> Counterexample:
    """A failing example as it is reported."""
    masked = judge.formula.inputs and judge.formula.is_mask(judge.formula.inputs[-1])
    inputs = dict(example.inputs)
    if masked:
        inputs.setdefault(str(judge.formula.inputs[-1]), None)
    generator = any(t.role == "generator" for t in judge.formula.tensors)
    return Counterexample(
        inputs=inputs,
        dtype=example.dtype,
        conventions=dict(judge.conventions),
        violates=outcome.violates,
        what=outcome.what,
        index=outcome.index,
        got=outcome.got,
        expected=outcome.expected,
        tolerance=outcome.tolerance,
        regime=example.regime,
        generator_seed=example.generator_seed if generator else None,
        cotangents=dict(example.cotangents) or None,
        sizes={str(size): value for size, value in example.sizes.items()},
        turn=example.turn,
    )
