"""Accuracy grades: how far a callable is from the exact value, counted in the error of careful arithmetic.

The rigorous bound says what no right implementation exceeds. It grows with every term of a sum, and at the sizes of real models
it lets through an implementation that keeps its scores in half the digits. The *expected error* does not: it is what careful
arithmetic makes of the same example (:mod:`spec.language.evaluation.expected`). An error of many times that violates nothing, and
is called *imprecise*.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spec.language.evaluation.dimensions import Size
from spec.language.evaluation.expected import estimate_errors
from spec.language.evaluation.precision import Precision
from verify.accuracy.beyond import EXACT, Beyond, accounts_for, violation
from verify.accuracy.calls import PLAIN, Comparison, Way, gradient_of, value_of, ways
from verify.accuracy.gradable import expect_at, gradable, has_kinks
from verify.accuracy.grade import RARE, WORST, Grade
from verify.accuracy.graded_examples import DEFAULT, GRADING, OFFSET_BY, PATIENCE, samples
from verify.accuracy.lost_digits import DigitLoss, comparable, find_first_step, find_line
from verify.edges import SHAPES, STRICT
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example, realistic
from verify.inputs.sizes import long_steps
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.properties.slopes import differentiable, of_what_is_said, with_cotangents
from verify.report import (
    CONFORMS,
    FALSIFIED,
    IMPRECISE,
    INCONCLUSIVE,
    CheckResult,
    Counterexample,
    Inconclusive,
    Report,
)
from verify.search.outcome import Outcome
from verify.search.property import Property
from verify.search.record import SearchRecord
from verify.subject.wording import refusal

CALLED_IN_WAYS = 16
"""So many examples are called in other ways, too; of outputs with few entries there are more."""
SEED_STEP = 101
"""How far off the seed is for an example that is drawn anew."""
PLACING_SAMPLES = 4
"""Samples that tell how large an error of sums in the storage type would be."""
LARGE = "robustness: large sizes"


COARSER = 2.0**17
"""Error/bound up to which a coarser type may be the reason: bfloat16's roundoff beside float32's, and some room."""


class Graded(NamedTuple):
    """An example, in which grade it counts, and its number there."""

    key: str
    example: Example
    number: int


def count_errors(
    judge: Judge,
    every: Sequence[Comparison],
    dtype: str,
    samples: int,
    seed: int,
    grades: Sequence[Grade],
    bounds: Mapping[str, Any],
) -> None:
    """Count every output of an example, for each way in which it was called in a grade of its own."""
    first = every[0]
    found = judge.oracle.error(first.flat, first.inputs, Precision.of(dtype), samples, seed)
    for compared, grade in zip(every, grades, strict=True):
        for output, (value, sigma) in zip(first.flat.outputs, found, strict=True):
            if output.name in compared.got:
                got = compared.got[output.name]
                judged = gradable(value, got, bounds.get(output.name))
                named = ", ".join(filter(None, (compared.names[output.name], str(compared.way))))
                if compared.stands_for(output.name, value):
                    grade.see(named, got, value, sigma, judged)


class AccuracyProperty(Property[Graded]):
    """The accuracy in a type, at default sizes and at realistic ones; of values also where no size is small, of gradients not.

    Args:
        setting: what is checked.
        dtype: the type.
        limit: beyond how many sigma the check fails; without it, it is imprecise at most, unless it violates the statement.
        asked: whether the type was asked for: then calls that raise an error are told in the report, as a property; in one nobody
            asked for nothing is judged.
    """

    kind = "accuracy"

    def __init__(self, setting: Setting, dtype: str, limit: float | None = None, asked: bool = True) -> None:
        self.setting, self.dtype, self.limit, self.asked = setting, dtype, limit, asked
        self.name = f"accuracy in {dtype}"
        self.grades: dict[str, Grade] = {}
        self.gradings: dict[str, Grading] = {}
        self.fault = self.unsupported = ""

    def reason_against(self) -> str:
        """Return why a type is not graded: its values are wrong by more than a coarser type may explain."""
        ratios = self.ratios
        if any(ratio is None or ratio > COARSER for ratio in ratios) or self.setting.clock.over:
            return "values are wrong"
        return ""

    @property
    def failed(self) -> list[CheckResult]:
        """The checks of this type, or of no type, that failed before."""
        same = self.dtype if self.asked else "float32"
        return [c for c in self.setting.report.falsified if c.dtype in (None, same)]

    @property
    def ratios(self) -> list[float | None]:
        """The worst ratios of wrong values."""
        return [c.worst_ratio for c in self.failed if c.kind == "value"]

    @property
    def gradients(self) -> bool:
        """Whether gradients are graded, too: those that are there, and right."""
        checks = self.setting.report.checks
        none = any(c.kind == "gradient" and c.reason is Inconclusive.NO_GRADIENT for c in checks)
        wrong = {c.kind for c in self.failed} & {"value", "gradient"}
        return not none and not wrong and bool(differentiable(self.setting.judge))

    @property
    def exact(self) -> list[CheckResult]:
        """The checks in float64, of which it is known whether the callable is right."""
        checks = self.setting.report.checks if self.asked else []
        return [check for check in checks if check.dtype == EXACT and not check.reported]

    def groups(self) -> Iterator[Sequence[Graded]]:
        """Examples of values, then of gradients, one by one: wide ones, and such of which one thing is large."""
        setting, dtype = self.setting, str(self.dtype)
        right = [check.kind for check in self.exact if check.verdict == CONFORMS]
        report = setting.report if self.asked else None
        for kind in ("value", *(["gradient"] if self.gradients else [])):
            for name, examples in GRADING.items():
                key, grade = f"{kind}, {name} sizes", Grade(dtype, rare=RARE[kind])
                self.grades[key] = grade
                self.gradings[key] = Grading(
                    setting, kind, name not in (DEFAULT, OFFSET_BY), grade, kind in right, report, self.limit
                )
                try:  # sizes are chosen by how long calls take there, and such a call may fail
                    for number, example in enumerate(examples(setting, dtype, kind)):
                        yield [Graded(key, example, number)]
                        if setting.caller.hung or self.fault:
                            return
                except Fault as said:
                    self.fault = str(said)
                    return
                except Unsupported as said:
                    self.unsupported = str(said)
                    return

    def judge(self, case: Graded) -> Outcome:
        """Count one example in its grade.

        Raises:
            Unsupported: the callable does not support the type.
        """
        try:
            counted = self.gradings[case.key].count(case.example, case.number < CALLED_IN_WAYS)
        except Fault as said:
            self.fault = str(said)
            return Outcome(idle=True)
        return Outcome(effective=True, idle=not counted)

    def counterexample(self, case: Graded, outcome: Outcome) -> None:
        """None: a grade is a statistic of many examples."""

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """The grade. What falsified values get is where a coarser type explains them."""
        setting, asked = self.setting, self.asked
        result = CheckResult(self.name, "accuracy", CONFORMS, found.examples, dtype=self.dtype)
        failed = [c.counterexample for c in self.exact if c.kind == "value" and c.counterexample]
        scene = [c.counterexample for c in setting.report.falsified if c.name == LARGE] if asked else []
        if self.fault:
            result.verdict, result.message = FALSIFIED if asked else INCONCLUSIVE, self.fault
        elif unsupported := found.unsupported or self.unsupported:
            result.verdict, result.message = INCONCLUSIVE, unsupported
        else:
            grades = {name: grade for name, grade in self.grades.items() if grade.entries}
            _conclude(setting, result, grades, self.limit, failed, [each for each in scene if each])
        if (result.verdict == INCONCLUSIVE and not asked) or (
            self.ratios and not result.details.get("explained")
        ):
            return []
        if not asked and result.verdict != CONFORMS:
            result.unjudged()
        for check in setting.report.checks:
            same = check.kind in ("value", "gradient") and check.dtype == self.dtype
            if same and check.verdict == INCONCLUSIVE and check.examples:
                check.message += f"; graded instead: {result.message}"
        return [result]


@dataclass(frozen=True)
class Grading:
    """The counting of errors over the examples of one kind.

    Attributes:
        setting: what is checked.
        kind: "value" or "gradient".
        wide: whether the examples are larger than those that are judged.
        grade: what they are counted in.
        exact: whether the callable is right in float64, at usual sizes.
        report: where calls that raise an error are told; without it they are no matter.
        limit: beyond how many sigma the check fails, if there is such a limit.
    """

    setting: Setting
    kind: str
    wide: bool
    grade: Grade
    exact: bool
    report: Report | None
    limit: float | None = None

    def count(self, example: Example, otherwise: bool = True, again: bool = False) -> bool:
        """Count one example, called in other ways too if ``otherwise``; False where there is nothing to compare.

        Raises:
            Fault: what was returned has another shape or type than the statement's.
            Unsupported: the callable does not support the type.
        """
        setting, judge, dtype, grade = self.setting, self.setting.judge, example.dtype, self.grade
        if self.kind == "gradient":
            (example,) = of_what_is_said(judge, [with_cotangents(judge, example, setting.seed)])
        every = list(self._call_in_ways(example, otherwise))
        if not every:
            return False
        expected = {} if self.wide else expect_at(judge, example, dtype, self.kind)
        bounds = {name: each.bound for name, each in expected.items()}
        for many in samples(setting, self.kind, self.wide):
            grades = [Grade(dtype, rare=RARE[self.kind]) for _ in every]
            count_errors(judge, every, dtype, many, setting.seed, grades, bounds)
            if all(own.is_settled(self.limit) for own in grades):
                break
        imprecise = any(own.imprecise for own in grades)
        if imprecise and self.kind == "gradient" and self.wide and has_kinks(judge) and not again:
            # What is wrong is so at any example, and what lies at a kink at one alone.
            return self.count(_redraw_example(setting, example), otherwise, again=True)
        for compared, own in zip(every, grades, strict=True):
            own.sizes = {str(s): v for s, v in example.sizes.items()}
            grade.join(own)
            steps = long_steps(judge.formula, example.sizes)
            if self.wide and (own.imprecise or math.isinf(own.sigma)) and not grade.violates.certain:
                beyond = violation(judge, setting.caller, example, compared, self.exact)
                if beyond.certain and math.isfinite(own.sigma):
                    place = _place(judge, beyond.double or compared, dtype, setting.seed, steps)
                    if place.certain or place.accumulated:  # that is a matter of digits, however many
                        grade.place, beyond = grade.place or place, Beyond()
                grade.violates = beyond if beyond.said else grade.violates
            if own.imprecise and grade.place is None and not grade.violates.said:
                grade.place = _place(judge, compared, dtype, setting.seed, steps)
        return True

    def _call_in_ways(self, example: Example, otherwise: bool) -> Iterator[Comparison]:
        """Yield the plain call of an example; of a wide one also the other ways to call it, unless they take long."""
        judge, caller = self.setting.judge, self.setting.caller
        began = time.process_time()
        plain = self._call(example, PLAIN)
        if plain is None:
            return
        yield plain
        others = ways(judge, caller, example, self.kind) if self.wide and otherwise else ()
        if len(others) * (time.process_time() - began) > PATIENCE:
            return
        for way in others:
            if (found := self._call(example, way)) is not None:
                yield found

    def _call(self, example: Example, way: Way) -> Comparison | None:
        """One call; None where there is nothing to compare, or it raises an error, which is a limit of the callable."""
        judge, caller = self.setting.judge, self.setting.caller
        try:
            return (value_of if self.kind == "value" else gradient_of)(judge, caller, example, way)
        except Unsupported:
            if way == PLAIN:
                raise
        except Fault as fault:
            said = refusal(fault)
            strict = self.setting.edges.get(SHAPES) == STRICT[SHAPES]
            if self.report is None and way != PLAIN:
                return None
            if self.report is None or not self.wide or not said or strict:
                raise
            at = ", ".join(f"{size} = {value}" for size, value in example.sizes.items())
            where = f"at {at}{', ' * bool(str(way))}{way}"
            self.report.has(SHAPES, f"{where} it {said}: not judged there", "some")
        return None


def _redraw_example(setting: Setting, example: Example) -> Example:
    """Draw another example of the same sizes and numbers, with a mask or with equal inputs where this one has them."""
    judge, formula = setting.judge, setting.judge.formula
    masks = any(formula.is_mask(t) and example.inputs.get(str(t)) is not None for t in formula.inputs)
    made = realistic(
        formula, example.sizes, example.dtype, setting.seed + SEED_STEP, masks, example.supported
    )
    kept = {name: value for name, value in example.inputs.items() if not isinstance(value, np.ndarray)}
    same = example.share_values(judge.formula).inputs
    made = made.replace_inputs(**kept)
    return (
        made.share_values(judge.formula)
        if all(same[name] is value for name, value in example.inputs.items())
        else made
    )


def _conclude(
    setting: Setting,
    result: CheckResult,
    found: Mapping[str, Grade],
    limit: float | None,
    failed: Sequence[Counterexample],
    scene: Sequence[Counterexample],
) -> None:
    if not found:
        said = "time ran out" if setting.clock.over else "no example was graded"
        result.verdict, result.message = INCONCLUSIVE, said
        return
    judge, dtype = setting.judge, result.dtype
    worst = found[max(found, key=lambda name: _rank_grade(name, found[name]))]
    sigma, digits = max(g.sigma for g in found.values()), max(g.digits for g in found.values())
    result.details.update(
        sigma=sigma, digits=digits, sizes=worst.sizes, grades={name: g.to_dict() for name, g in found.items()}
    )
    result.message = f"within {sigma:.2g} sigma of careful arithmetic in {dtype}"
    fails = worst.violates.certain or (limit is not None and sigma > limit)
    if fails or worst.imprecise:
        result.verdict = FALSIFIED if fails else IMPRECISE
        at = ", ".join(f"{size} = {value}" for size, value in worst.sizes.items())
        place = DigitLoss() if worst.violates.said else worst.place or DigitLoss()
        explained = place.certain and accounts_for(place, judge, failed)
        large = place.certain and bool(scene) and accounts_for(place, judge, scene)
        result.details.update(place=str(place), explained=explained, explains_large=large)
        all_of_it = f", {worst.typical:.2g} as the root mean square of all" if worst.rather_all else ""
        off = (
            f"{worst.sigma:.3g} sigma off careful arithmetic in {dtype}{all_of_it}, {digits:.1f} digits lost"
        )
        more = str(place) if worst.violates.certain else worst.violates.said or str(place)
        result.message = (
            f"{judge.formula.id}: {setting.caller.name}: {worst.coarse or worst.what} is "
            f"{worst.violates.said if fails and worst.violates.certain else off}, at {at}{more and f': {more}'}"
        )


def _rank_grade(name: str, grade: Grade) -> tuple[bool, bool, bool, bool, float]:
    """Return the key by which the reported grade is chosen: values before gradients, which follow from them."""
    return (
        grade.violates.certain,
        grade.imprecise,
        name.startswith("value"),
        bool(str(grade.place or "")),
        grade.sigma,
    )


def _place(judge: Judge, compared: Comparison, dtype: str, seed: int, steps: Collection[Size]) -> DigitLoss:
    """Where digits are lost. Of a sequence of many ``steps`` lines are not tried, each of which would take all the steps anew."""
    told = estimate_errors(compared.flat, compared.inputs, Precision.of(dtype), PLACING_SAMPLES, seed)
    both = {
        o.name: pair for o, pair in zip(compared.flat.outputs, told, strict=True) if o.name in compared.got
    }
    got = compared.furthest({name: value for name, (value, _) in both.items()})
    errors = {name: got[name] - value for name, (value, _) in both.items()}
    spreads = {name: sigma for name, (_, sigma) in both.items()}
    if steps:
        judged = [output for output in compared.flat.outputs if output.name in both]
        return find_first_step(judged, steps, errors, spreads, WORST[dtype])
    found = find_line(compared.flat, compared.inputs, errors, spreads, dtype)
    if found.name or Precision.of(dtype).operations is Precision.of(dtype).storage:
        return found
    coarse = estimate_errors(
        compared.flat, compared.inputs, Precision.of(dtype, "storage"), PLACING_SAMPLES, seed
    )
    off = sum(float(np.sum(error**2)) for error in errors.values())
    size = sum(
        float(np.sum(sigma**2))
        for o, (_, sigma) in zip(compared.flat.outputs, coarse, strict=True)
        if o.name in both
    )
    return DigitLoss("", dtype, 0.0, size / off) if comparable(size / off) else found


__all__ = ["LARGE", "AccuracyProperty"]
