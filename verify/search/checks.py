"""The checks of a report, one function for each kind: value, gradient, robustness; and what a search comes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import Size
from verify.faults import Unsupported
from verify.inputs.examples import Example, Recipe, Space, members
from verify.properties.gradients import JUDGED, announce, differentiable, judge_gradient, with_cotangents
from verify.properties.scenarios import Scenario, applicable
from verify.properties.substitutions import Kept
from verify.properties.values import Judge, Outcome, judge_value
from verify.report import CONFORMS, FALSIFIED, INCONCLUSIVE, CheckResult, Counterexample, Kind, Played
from verify.search.search import Clock, Found, Probe, search
from verify.search.shrink import SECONDS, Shrinker, declarations
from verify.subject.caller import Caller
from verify.subject.playing import played_scene

FAR = 6
"""Examples of a type behind the first that are about what types differ in: their range."""
LEAST_SHRINKING = 0.3
"""Seconds that every counterexample gets, even when the report's share is used up."""
LATER, LATER_OF_MANY = 2, 4
"""The share of the examples that values and gradients are tried at in a second type; and those of a statement of many lines, and
theorems: what is wrong in both was seen in the first, and how far rounding goes is for the grades to tell."""


@dataclass
class Setting:
    """What all checks of one report share.

    Attributes:
        judge: the formula under its conventions.
        caller: the callable.
        seed: determines every example.
        max_examples: examples for each value check.
        clock: the limit on the whole.
        shrinking: the seconds left for making counterexamples small.
        violated: when the first violation of all was seen.
        searched: whether a search has ended.
        valued: whether values were tried at all examples in some type, and nothing was wrong.
        sloped: the same of gradients.
        scenes: examples of the scenarios that are to come.
        drawn: inputs at which theorems were played.
        kept: what the callable returned to theorems.
        edges: the conventions of the check that were chosen (:mod:`verify.edges`).
        named: the formula's conventions that stay where others are sought.
        found: the latest violation, before it was made small.
        small: whether counterexamples are made small.
    """

    judge: Judge
    caller: Caller
    seed: int
    max_examples: int
    clock: Clock
    shrinking: float = 4.0
    violated: float | None = None
    searched: bool = False
    valued: bool = False
    sloped: bool = False
    scenes: dict[str, list[Example]] = field(default_factory=dict)
    drawn: dict[Any, Example] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    edges: Mapping[str, str] = field(default_factory=dict)
    named: Collection[str] = ()
    found: Example | None = None
    small: bool = True

    def space(self, moderate: bool = False) -> Space:
        """The examples to draw from."""
        return Space(self.judge.formula, self.caller.takes_mask, moderate, self.caller.sizes)


SCALED = 2.0**12
"""By how much the cotangents of some examples are larger, as losses are scaled in training: what is clipped on its way shows."""
NAMED = 5
"""So many are named of those of which little was said."""


def value_check(setting: Setting, dtype: str) -> CheckResult:
    """The value against the statement."""
    judge, caller, space = setting.judge, setting.caller, setting.space()
    batches = any(t.role == "data" for t in judge.formula.tensors)

    def make(recipe: Recipe) -> Example:
        return space.example(recipe, dtype, (2,) if batches and recipe.seed % 8 == 0 else ())

    def probe(example: Example) -> Outcome:
        return judge_value(judge, caller, example)

    examples, at_once, far = setting.max_examples, setting.searched, 0
    if setting.valued:
        far = min(FAR, examples)
        examples = max(1, examples // (LATER_OF_MANY if space.sizing.extensive else LATER))
    found = search(space, make, probe, examples, setting.seed, setting.clock, judge.ahead, at_once, far)
    setting.searched, setting.valued = True, setting.valued or found.through
    name = f"value in {dtype}" if judge.real else "value"
    return concluded(setting, name, "value", dtype, found, probe)


def gradient_check(setting: Setting, dtype: str) -> CheckResult | None:
    """The gradient against the derived one; None where the formula has nothing to differentiate."""
    judge, caller, space = setting.judge, setting.caller, setting.space(moderate=True)
    if not differentiable(judge):
        return None

    def make(recipe: Recipe) -> Example:
        scale = SCALED if recipe.seed % 8 == 3 else 1.0
        return with_cotangents(judge, space.example(recipe, dtype), recipe.seed, scale)

    def probe(example: Example) -> Outcome:
        outcome = judge_gradient(judge, caller, example)
        if dtype not in JUDGED and not outcome.message.startswith(f"{judge.formula.id}: {caller.name} "):
            ratios.append(outcome.ratio)
            return Outcome(effective=outcome.effective)
        return outcome

    ratios: list[float] = []
    count = max(1, setting.max_examples // (4 if space.sizing.dear else 2))
    if setting.sloped:
        count = max(1, count // (LATER_OF_MANY if space.sizing.extensive else LATER))
    told = partial(announce, judge)
    found = search(space, make, probe, count, setting.seed + 1, setting.clock, told, setting.searched)
    setting.sloped |= found.through
    result = concluded(setting, f"gradient in {dtype}", "gradient", dtype, found, probe)
    if dtype not in JUDGED and result.verdict == CONFORMS:
        result.verdict, result.worst_ratio = INCONCLUSIVE, max(ratios, default=None)
        result.message = f"reported, not judged: gradients in {dtype}"
    return result


def scenario_examples(
    setting: Setting, scenario: Scenario, space: Space, dtypes: list[str]
) -> Iterator[Example]:
    """The examples on which a scenario is played."""
    count = max(4, setting.max_examples // (24 if space.sizing.dear else 12))
    before: Recipe | None = None
    together = 2  # so many share their sizes, and are evaluated together
    # At inputs of the other scenarios the callable has been called before.
    unseen = setting.seed + (19 if scenario.repeats else 3)
    for turn, recipe in enumerate(space.plan(count, unseen)):
        if turn % together and before is not None:
            recipe = recipe._replace(sizes=before.sizes, variant=before.variant)
        before = recipe
        sizes = scenario.sizes if scenario.sizes is not None and turn % 2 == 0 else recipe.sizes
        mask = recipe.mask if scenario.mask is None else (scenario.mask if turn % 3 else 2)
        example = space.example(
            recipe._replace(
                sizes=3 if sizes == recipe.sizes and scenario.sizes is not None else sizes, mask=mask
            ),
            dtypes[turn // together % len(dtypes)],
            (2, 2) if len(scenario.batch) == 2 and turn % 4 > 1 else scenario.batch,  # which may be mixed up
        )
        example.turn = turn
        yield with_cotangents(setting.judge, example, recipe.seed) if scenario.gradients else example


def _scenes(
    setting: Setting, scenario: Scenario, dtypes: list[str], graded: Sequence[str]
) -> Iterable[Example]:
    """The examples of a scenario. Those of all others of its kind are drawn and announced along with the first's: many of them
    share their sizes.
    """
    judge = setting.judge
    if scenario.examples is not None:
        return scenario.examples(judge, setting.space(moderate=True), setting.seed, dtypes, graded)
    if scenario.name not in setting.scenes:
        space = setting.space(moderate=scenario.gradients)
        usual = [other for other in applicable(judge) if other.examples is None]
        kind = [other for other in usual if other.gradients == scenario.gradients]
        drawn = {other.name: list(scenario_examples(setting, other, space, dtypes)) for other in kind}
        called = [
            each
            for other in kind
            for example in drawn[other.name]
            for each in (*other.calls(judge, example), *other.besides(example))
        ]
        told = partial(announce, judge) if scenario.gradients else judge.ahead
        told(called, more=bool(setting.scenes))
        setting.scenes |= drawn
    return setting.scenes.pop(scenario.name)


def robustness_check(
    setting: Setting,
    scenario: Scenario,
    dtypes: list[str],
    graded: Sequence[str] = (),
    declined: Callable[[Example, Outcome], bool] = lambda example, outcome: False,
    shrinking: float = SECONDS,
) -> CheckResult | None:
    """A scenario; examples on which a plain call already fails are not held against it. None where it never applies.

    ``graded``: the types in which gradients conform; ``declined``: whether a failing call says that it does not take the example;
    ``shrinking``: the seconds that a counterexample gets at most.
    """
    judge, caller = setting.judge, setting.caller
    plain = judge_gradient if scenario.gradients else judge_value

    def plainly_wrong(example: Example) -> bool:
        singles = [
            replace(
                called,
                inputs=called.single(judge.formula, at),
                batch=(),
                cotangents={name: value[at] for name, value in called.cotangents.items()},
            )
            for called in scenario.calls(judge, example)
            for at in members(called.batch)
        ]
        return any(plain(judge, caller, single).fails for single in singles)

    skipped = 0
    excused = judge.formula.law is None and not scenario.examples

    def probe(example: Example) -> Outcome:
        nonlocal skipped
        before = excused and scenario.repeats and plainly_wrong(example)
        outcome = scenario.play(judge, caller, example)
        if outcome.fails and declined(example, outcome):
            return Outcome(idle=True)
        if outcome.fails and excused and (before if scenario.repeats else plainly_wrong(example)):
            skipped += 1
            return Outcome()
        return outcome

    found = Found()
    examples = _scenes(setting, scenario, dtypes, graded)
    try:
        for example in examples:
            if found.over or setting.clock.over:
                break
            outcome = probe(example)
            if not outcome.idle:
                found.see(example, outcome)
    except Unsupported as said:
        found.unsupported = str(said)
    if not found.examples and not found.unsupported and not setting.clock.over:
        return None
    dtype = found.example.dtype if found.example else dtypes[0]
    name = f"robustness: {scenario.name}"
    written = partial(_played, caller, partial(scenario.play, judge, caller))
    result = concluded(setting, name, "robustness", dtype, found, probe, shrinking=shrinking, played=written)
    result.dtype = None
    if result.counterexample is not None:
        result.counterexample.calls = {"scenario": scenario.name}
        if found.example is not None and found.example.turn:
            result.counterexample.calls["turn"] = found.example.turn
    if skipped and not found.effective and result.verdict != FALSIFIED:
        result.verdict, result.message = INCONCLUSIVE, "plain calls fail on these examples already"
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
    played: Callable[[Example], Played | None] | None = None,
) -> CheckResult:
    """The result of a search: shrinks a violation, names a vacuous check and an unsupported type.

    ``played`` writes the calls of an example down; where it is left out, those of the ``probe``.
    """
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
        if kind == "theorem":
            result.counterexample.calls = {
                "sizes": {str(size): value for size, value in example.sizes.items()}
            }
        if setting.small and (played is not None or outcome.got is None):
            probed = partial(_played, setting.caller, probe)
            result.counterexample.played = (played or probed)(example)
    elif found.unsupported:
        result.verdict, result.message = INCONCLUSIVE, found.unsupported
    elif not found.examples:
        result.verdict, result.message = (
            INCONCLUSIVE,
            "no example was judged" + (" in the time given" if found.cut else ""),
        )
    elif not found.effective:
        result.verdict, result.message = INCONCLUSIVE, "vacuous: the bound was never small against a value"
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


def _played(caller: Caller, play: Probe, example: Example) -> Played | None:
    """What is done with a callable at an example, in lines, if it can be written."""
    return played_scene(caller, lambda: play(example).fails)


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
    )
