"""Values and gradients of plain calls, as properties: planned examples, then those that Hypothesis draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Example, Recipe, Space
from verify.inputs.kinds import DEFAULT_TYPES
from verify.inputs.simplest import Masks, Plain, simpler
from verify.properties.gradients import judge_gradient
from verify.properties.precision import reported_if_single
from verify.properties.setting import Setting
from verify.properties.slopes import JUDGED, announce, of_what_is_said, with_cotangents
from verify.properties.values import judge_value
from verify.report import CONFORMS, INCONCLUSIVE, CheckResult, Counterexample, Inconclusive, Kind
from verify.search.loop import Search
from verify.search.outcome import Outcome
from verify.search.property import Property, announce_cases, group_items
from verify.search.record import SearchRecord
from verify.strategies import recipes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PLANNED = 0.7
"""The share of examples that are planned; the others are searched."""
GENERATION, LARGER_GENERATION = 6, 15
"""Examples of equal sizes that are drawn at a time; and of a statement that is costly to evaluate at any sizes."""
YOUNG = 4
"""So many more examples where the bound said nothing of something that is compared, or little, as it does of many lines: at those
sizes and parameters at which it is at its smallest.
"""
FAR = 6
"""Examples of a type behind the first that are about what types differ in: their range."""
LATER, LATER_OF_MANY = 2, 4
"""The share of the examples that values and gradients are tried at in a second type; and those of a statement of many lines, and
theorems: what is wrong in both was seen in the first, and how far rounding goes is for the grades to tell."""
SCALED = 2.0**12
"""By how much the cotangents of some examples are larger, as losses are scaled in training: what is clipped on its way shows."""


class ExampleProperty(Property[Example]):
    """A property that is tried at examples of a formula's inputs."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @property
    def plain(self) -> Plain:
        """What plain examples are drawn for."""
        setting = self.setting
        dtype = self.dtype or "float64"
        masks: Masks = "any" if setting.caller.takes_mask else "none"
        return Plain(setting.judge.formula, dtype, setting.caller.sizes, masks)

    @property
    def fixed_sizes(self) -> frozenset[Size]:
        """Sizes that stay as they are in a counterexample."""
        return frozenset()

    def simpler(self, case: Example | None) -> Iterator[SearchStrategy[Example]]:
        """Plain examples, those near a failing one, and that one made simpler."""
        if not self.setting.caller.hung:
            yield from simpler(case, self.plain, self.fixed_sizes)

    def counterexample(self, case: Example, outcome: Outcome) -> Counterexample:
        """A failing example as it is reported."""
        return counterexample(self.setting, case, outcome)

    def key(self) -> Hashable:
        """The formula as it is stated, its conventions, the callable's name, and what is supported."""
        report, judge = self.setting.report, self.setting.judge
        if not report.importable:
            return ()
        chosen = tuple(judge.conventions.items())
        return report.importable, judge.formula.fingerprint, chosen, str(self.setting.caller.sizes)


def counterexample(setting: Setting, example: Example, outcome: Outcome) -> Counterexample:
    """A failing example as it is reported."""
    formula = setting.judge.formula
    masked = formula.inputs and formula.is_mask(formula.inputs[-1])
    (example,) = of_what_is_said(setting.judge, [example])
    left_out = str(formula.inputs[-1]) if masked and not setting.caller.takes_mask else None
    generator = any(t.role == "generator" for t in formula.tensors)
    return Counterexample(
        {name: value for name, value in example.inputs.items() if name != left_out},
        example.dtype,
        dict(setting.judge.conventions),
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


def usable_types(setting: Setting, kinds: Sequence[str]) -> list[str]:
    """The types that the value checks did not find unsupported, the wide ones if there are some (all, if none is left)."""
    checks = setting.report.checks
    out = {c.dtype for c in checks if c.kind == "value" and c.verdict == INCONCLUSIVE}
    narrow = [k for k in kinds if k not in out and k in DEFAULT_TYPES] or [k for k in kinds if k not in out]
    return narrow or list(kinds)


class SearchedProperty(ExampleProperty):
    """A property of plain calls in one type: planned examples, drawn ones, and a few chosen by what was said of these."""

    moderate = False
    shift = 0

    def __init__(self, setting: Setting, dtype: str) -> None:
        super().__init__(setting)
        self.dtype = dtype

    @cached_property
    def space(self) -> Space:
        """The examples to draw from."""
        return self.setting.space(self.moderate)

    @cached_property
    def count(self) -> int:
        """How many examples are tried."""
        return self.setting.max_examples

    @cached_property
    def far(self) -> int:
        """How many more are about parameters far out."""
        return 0

    @property
    def real(self) -> int:
        """How many of them are of the sizes of real models."""
        return 0 if self.far else max(0, min(self.count // 10, self.count - self.planned))

    @property
    def planned(self) -> int:
        """How many of them are planned."""
        return self.count if self.count < 4 else max(1, int(PLANNED * self.count))

    def example(self, recipe: Recipe) -> Example:
        """The example that a recipe stands for."""
        raise NotImplementedError

    def announce(self, examples: Sequence[Example]) -> None:
        """Announce to the oracle which values will be asked for."""
        self.setting.judge.announce(examples)

    def counterexample(self, case: Example, outcome: Outcome) -> Counterexample:
        """Return the counterexample with the one call in which it shows."""
        made = super().counterexample(case, outcome)
        made.call = self.setting.caller.plain_call(made.inputs)
        return made

    def make_cases(self, drawn: Any) -> Sequence[Example]:
        """The examples of some recipes, announced together."""
        return announce_cases([self.example(recipe) for recipe in drawn], self.announce)

    def groups(self) -> Iterator[Sequence[Example]]:
        """Planned recipes in groups, then those of real sizes."""
        seed = self.setting.seed + self.shift
        for part in group_items(self.space.plan(self.planned, seed, large=True), self.setting.searched):
            yield self.make_cases(part)
        yield self.make_cases(self.space.real_sizes(self.real, seed))

    def sought(self) -> Iterable[tuple[int, SearchStrategy[Any]]]:
        """Generations of recipes that share their sizes."""
        together = LARGER_GENERATION if self.space.sizing.costly else GENERATION
        left = self.count - self.planned - self.real
        if left > 0:
            yield -(-left // together), recipes(self.space, min(together, left))

    def last_groups(self, found: SearchRecord) -> Iterator[Sequence[Example]]:
        """Parameters far out, and those at which bounds are as small as they can be."""
        seed = self.setting.seed + self.shift
        if self.far:
            yield self.make_cases(self.space.far_out(self.far, seed))
        if self.space.sizing.extensive or found.asked - found.answered:
            yield self.make_cases(self.space.plain(min(YOUNG, self.count // 4), seed))

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """A formula without real inputs has the type that came back."""
        self.setting.searched = True
        if not self.setting.judge.real and found.returned:
            result.dtype = found.returned
        return [result]


class ValueProperty(SearchedProperty):
    """Values in a type: fewer and others where values were tried before in some type."""

    kind: Kind = "value"

    def __init__(self, setting: Setting, dtype: str, kinds: Sequence[str]) -> None:
        super().__init__(setting, dtype)
        self.kinds = kinds
        self.name = f"value in {dtype}" if setting.judge.real else "value"
        self.batches = any(t.role == "data" for t in setting.judge.formula.tensors)

    @cached_property
    def count(self) -> int:
        """A part of them in a later type."""
        many = LATER_OF_MANY if self.space.sizing.extensive else LATER
        return max(1, self.setting.max_examples // many) if self.far else self.setting.max_examples

    @cached_property
    def far(self) -> int:
        """The number of further examples, drawn in a later type."""
        return min(FAR, self.setting.max_examples) if self.setting.valued else 0

    def example(self, recipe: Recipe) -> Example:
        """Draw an example; one in eight is a batch of two."""
        return self.space.example(
            recipe, str(self.dtype), (2,) if self.batches and recipe.seed % 8 == 0 else ()
        )

    def judge(self, case: Example) -> Outcome:
        """The value against the statement."""
        return judge_value(self.setting.judge, self.setting.caller, case)

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """Arithmetic in float32 inside is a property where it is not judged."""
        self.setting.valued |= found.through
        (result,) = super().conclude(found, result)
        return [reported_if_single(self.setting, result) if "float32" in self.kinds else result]


class GradientProperty(SearchedProperty):
    """Gradients in a type against the derived ones, at moderate numbers; fewer where they were tried before in some type.

    In 16-bit types the ratio is reported, and judged is only whether there are gradients.
    """

    kind = "gradient"
    moderate, shift = True, 1

    def __init__(self, setting: Setting, dtype: str) -> None:
        super().__init__(setting, dtype)
        self.name = f"gradient in {dtype}"
        self.ratios: list[float] = []

    @cached_property
    def count(self) -> int:
        """Half of the value's examples, and fewer in a later type."""
        sizing = self.space.sizing
        count = max(1, self.setting.max_examples // (4 if sizing.costly else 2))
        many = LATER_OF_MANY if sizing.extensive else LATER
        return max(1, count // many) if self.setting.sloped else count

    @property
    def plain(self) -> Plain:
        """Plain examples with cotangents."""
        return replace(super().plain, outputs=tuple(self.setting.judge.flat.outputs))

    def reason_against(self) -> str:
        """Return why gradients are not checked: values in this type are reported only."""
        checks = self.setting.report.checks
        reported = any(c.name == f"value in {self.dtype}" and c.reported for c in checks)
        return "values in this type are reported only" if reported else ""

    def example(self, recipe: Recipe) -> Example:
        """Draw an example; one in eight has large cotangents."""
        scale = SCALED if recipe.seed % 8 == 3 else 1.0
        return with_cotangents(
            self.setting.judge, self.space.example(recipe, str(self.dtype)), recipe.seed, scale
        )

    def announce(self, examples: Sequence[Example]) -> None:
        """Tell the oracle which gradients will be asked for."""
        announce(self.setting.judge, examples)

    def judge(self, case: Example) -> Outcome:
        """The gradient against the derived one."""
        outcome = judge_gradient(self.setting.judge, self.setting.caller, case)
        if self.dtype not in JUDGED and outcome.got is not None:
            self.ratios.append(outcome.ratio)
            return Outcome(effective=outcome.effective)
        return outcome

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """Conclude, and report gradients that are not judged."""
        self.setting.sloped |= found.through
        if self.dtype not in JUDGED and result.verdict == CONFORMS:
            result.verdict, result.worst_ratio = INCONCLUSIVE, max(self.ratios, default=None)
            result.message = f"reported, not judged: gradients in {self.dtype}"
            result.reason = Inconclusive.REPORTED
        return super().conclude(found, result)


def check_values(setting: Setting, dtype: str) -> CheckResult:
    """The check of values alone, as the search for a range and for conventions asks it."""
    (result,) = Search(ValueProperty(setting, dtype, ()), setting.budget).run()
    return result


def check_gradients(setting: Setting, dtype: str) -> CheckResult:
    """The check of gradients alone."""
    (result,) = Search(GradientProperty(setting, dtype), setting.budget).run()
    return result


__all__ = [
    "LATER_OF_MANY",
    "ExampleProperty",
    "GradientProperty",
    "SearchedProperty",
    "ValueProperty",
    "check_gradients",
    "check_values",
    "counterexample",
    "usable_types",
]
