"""Accuracy grades: how far a callable is from the exact value, counted in the error of careful arithmetic.

The rigorous bound says what no right implementation exceeds. It grows with every term of a sum, and at the sizes of real models
it lets through an implementation that keeps its scores in half the digits. The *expected error* (:mod:`spec.language.evaluation.noise`)
does not: it is what careful arithmetic makes of the same example. An error of many times that is no violation of the statement;
it is called *imprecise*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.binding import bind
from spec.language.evaluation.noise import expected
from spec.language.evaluation.precision import Precision
from spec.language.flatten import Flat
from verify.calling import Caller, Fault, Unsupported, values
from verify.gradients import backward, differentiable, unsaid, with_cotangents
from verify.judging import Judge, Reals
from verify.placing import Explained, placed
from verify.properties import Setting
from verify.realistic import realistic
from verify.report import CONFORMS, FALSIFIED, IMPRECISE, INCONCLUSIVE, CheckResult
from verify.sampling import Example

GRADED = ("float32", "bfloat16", "float16")
"""Types that are graded: the value in float64 must be exact beside the error."""
USUAL = ("float32", "bfloat16")
"""Types that are graded where the user names none."""
LIMITS = {"float32": 32.0, "bfloat16": 8.0, "float16": 8.0}
"""From how many sigma on a callable is imprecise; ``docs/tolerance.md`` has the measurements."""
LEAST = 0.1
"""An entry whose error is expected to be less than this share of its output's typical one is measured by that share: which of
the roundings an implementation spares there, by chance or by cancellation, is its own affair."""
EXAMPLES, SAMPLES, WIDE_SAMPLES = 6, 32, 12
"""Examples at default sizes, and random evaluations for each of these and for a wide one."""
WIDE = 2
"""Wide examples: without and with a mask."""


@dataclass
class Grade:
    """The largest error in sigma over all entries, and what is needed for the root mean squares of both."""

    sigma: float = 0.0
    what: str = ""
    errors: float = 0.0
    sigmas: float = 0.0
    entries: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def digits(self) -> float:
        """Decimal digits lost against careful arithmetic."""
        if not self.errors or not self.sigmas:
            return 0.0
        if not math.isfinite(self.errors):
            return math.inf
        return max(0.0, 0.5 * math.log10(self.errors / self.sigmas))

    def see(self, name: str, got: Any, value: Reals, sigma: Reals, judged: Any) -> float:
        """Count one output; returns its largest error in sigma."""
        judged = np.broadcast_to(judged & np.isfinite(value) & np.isfinite(sigma), value.shape)
        if not judged.any():
            return 0.0
        with np.errstate(all="ignore"):
            error = np.where(np.isnan(got), np.inf, np.abs(got - value))[judged]
            spread = sigma[judged]
            spread = np.maximum(spread, LEAST * math.sqrt(float(np.mean(spread**2))))
            ratio = float(np.max(np.where(error == 0, 0.0, error / spread)))
            # Squares relative to the sigma of the output, so that outputs of all scales count alike.
            typical = float(np.mean(spread**2)) or 1.0
            self.errors += float(np.sum(error**2)) / typical
            self.sigmas += float(np.sum(spread**2)) / typical
        self.entries += int(judged.sum())
        if ratio > self.sigma:
            self.sigma, self.what = ratio, name
        return ratio

    def to_dict(self) -> dict[str, Any]:
        """What is reported."""
        return {"sigma": self.sigma, "digits": self.digits, "entries": self.entries, "sizes": self.sizes}


@dataclass(frozen=True)
class Comparison:
    """What a callable made of an example, and the lines that say what it should be."""

    flat: Flat
    inputs: Mapping[str, Any]
    got: Mapping[str, Any]
    names: Mapping[str, str]


def _values(judge: Judge, caller: Caller, example: Example) -> Comparison:
    arguments = caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)
    found = caller.results(arguments, example.sizes, example.batch, example.dtype)
    named = [t.name for t in judge.flat.outputs]
    got = dict(zip(named, map(values, found), strict=True))
    return Comparison(judge.flat, example.inputs, got, dict(zip(named, named, strict=True)))


def _gradients(judge: Judge, caller: Caller, example: Example) -> Comparison | None:
    if unsaid(judge, example):
        return None
    arguments = caller.arguments(example.inputs, example.dtype, grad=True, generator_seed=example.generator_seed)
    outputs = caller.results(arguments, example.sizes, example.batch, example.dtype)
    if not any(out.requires_grad for out in outputs):
        return None
    found = backward(caller, example, arguments, outputs)
    gradient = vjp(judge.formula, list(found), judge.conventions)
    sizes = bind(judge.flat, example.inputs).sizes
    every = {**example.inputs, **gradient.seeded(example.cotangents, sizes)}
    got, names = {}, {}
    for name, tensor in gradient.gradients.items():
        if found[name] is not None:
            got[tensor.name], names[tensor.name] = values(found[name]), f"the gradient of {name}"
    return Comparison(gradient.flat, every, got, names)


def graded(
    judge: Judge, compared: Comparison, dtype: str, samples: int, seed: int, grade: Grade, bounds: Mapping[str, Any]
) -> dict[str, tuple[Reals, Reals]]:
    """Count an example; returns value and sigma of every output."""
    precision = Precision.of(dtype, judge.conventions["intermediates"])
    found = expected(compared.flat, compared.inputs, precision, samples, seed)
    told = {}
    for output, (value, sigma) in zip(compared.flat.outputs, found, strict=True):
        if output.name in compared.got:
            got = compared.got[output.name]
            judged = np.isfinite(bounds.get(output.name, 0.0))
            if got.shape == value.shape:
                grade.see(compared.names[output.name], got, value, sigma, judged)
                told[output.name] = (value, sigma)
    return told


def _examples(setting: Setting, dtype: str, wide: bool) -> Iterator[Example]:
    judge, caller = setting.judge, setting.caller
    if wide:
        masked = caller.takes_mask and any(t.role == "mask" for t in judge.formula.tensors)
        for turn in range(WIDE if masked else 1):
            yield realistic(judge.formula, caller.sizes, dtype, setting.seed + turn, bool(turn))
        return
    space = setting.space(moderate=True)
    for recipe in space.plan(EXAMPLES, setting.seed + 17):
        yield space.example(recipe, dtype)


def accuracy_check(
    setting: Setting, dtype: str, gradients: bool = True, limit: float | None = None
) -> CheckResult:
    """The accuracy of values and gradients in a type, at default sizes and at realistic ones.

    Args:
        setting: what is checked.
        dtype: the type.
        gradients: whether gradients are graded, too.
        limit: beyond how many sigma the check fails; it is imprecise beyond :data:`LIMITS` all the same.
    """
    judge, caller = setting.judge, setting.caller
    grades: dict[str, Grade] = {}
    result = CheckResult(f"accuracy in {dtype}", "accuracy", CONFORMS, dtype=dtype)
    worst, place = (0.0, ""), ""
    limits = LIMITS[dtype]
    kinds = ["value"] + (["gradient"] if gradients and differentiable(judge) else [])
    try:
        for wide in (True, False):
            for turn, example in enumerate(_examples(setting, dtype, wide)):
                for kind in kinds:
                    if setting.clock.over or caller.hung:
                        break
                    if kind == "gradient":
                        if wide and turn:
                            continue
                        example = with_cotangents(judge, example, setting.seed + turn)
                    compared = (_values if kind == "value" else _gradients)(judge, caller, example)
                    if compared is None:
                        continue
                    grade = grades.setdefault(f"{kind}, {'wide' if wide else 'default'} sizes", Grade())
                    bounds = {} if wide else _bounds(judge, example, dtype, kind)
                    before, grade.sigma = grade.sigma, 0.0
                    samples = WIDE_SAMPLES if wide else SAMPLES
                    told = graded(judge, compared, dtype, samples, setting.seed, grade, bounds)
                    result.examples += 1
                    if wide:
                        grade.sizes = {str(s): v for s, v in example.sizes.items()}
                    if grade.sigma > max(worst[0], limits if place else 0.0):
                        worst = grade.sigma, f"{grade.what} at {_sized(example)}"
                    if grade.sigma > limits and not place:
                        place = str(_place(compared, told, dtype))
                        result.details["regime"] = example.regime
                    grade.sigma = max(before, grade.sigma)
    except (Fault, Unsupported) as said:
        result.verdict, result.message = INCONCLUSIVE, str(said)
        return result
    result.details["grades"] = {name: grade.to_dict() for name, grade in grades.items()}
    if not grades:
        result.verdict, result.message = INCONCLUSIVE, "no example was graded in the time given"
        return result
    result.details["sigma"] = worst[0]
    result.details["digits"] = max(grade.digits for grade in grades.values())
    result.message = f"within {worst[0]:.1f} sigma of careful arithmetic in {dtype}"
    if worst[0] > limits or (limit is not None and worst[0] > limit):
        result.verdict = FALSIFIED if limit is not None and worst[0] > limit else IMPRECISE
        result.message = (
            f"{judge.formula.id}: {caller.name}: {worst[1]} is {worst[0]:.3g} sigma off what careful arithmetic in {dtype} "
            f"returns ({result.details['digits']:.1f} digits lost)" + (f": {place}" if place else "")
        )
        result.details["place"] = place
    return result


def _sized(example: Example) -> str:
    return ", ".join(f"{size} = {value}" for size, value in example.sizes.items())


def _bounds(judge: Judge, example: Example, dtype: str, kind: str) -> dict[str, Any]:
    """Where an implementation may overflow is not graded: there the bound is infinite."""
    if kind == "value":
        return {e.name: e.bound for e in judge.expect(example.inputs, dtype, rigorous=False)}
    from verify.gradients import expected_gradients

    wrt = differentiable(judge)
    found = expected_gradients(judge, example.inputs, example.cotangents, wrt, dtype)
    names = vjp(judge.formula, wrt, judge.conventions).gradients
    return {names[name].name: e.bound for name, e in found.items()}


def _place(compared: Comparison, told: Mapping[str, tuple[Reals, Reals]], dtype: str) -> Explained:
    errors = {name: compared.got[name] - value for name, (value, _) in told.items()}
    spreads = {name: sigma for name, (_, sigma) in told.items()}
    return placed(compared.flat, compared.inputs, errors, spreads, dtype)


def grades(check: CheckResult) -> str:
    """The grade of an accuracy check in a few words."""
    if check.kind != "accuracy" or "sigma" not in check.details:
        return ""
    return f"{check.details['sigma']:.3g} sigma, {check.details['digits']:.1f} digits lost"


__all__ = ["GRADED", "LIMITS", "USUAL", "Grade", "accuracy_check", "grades"]
