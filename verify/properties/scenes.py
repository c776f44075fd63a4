"""Scenes of use as properties: what a scenario plays, at examples of its own, and what it comes to.

A scene that fails says nothing of the scene if plain calls were found wrong before, and are wrong at the same inputs; or if they
are wrong at inputs that no call has seen, which is reported then. The example is set aside, counted and said. Plain calls that
were right, and are wrong behind the scene at what it was called with, are no excuse: what the scene left behind may be why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle

import numpy as np

from spec.language.evaluation.dimensions import Size
from verify.edges import EDGES, SHAPES, STRICT, UNREAD
from verify.faults import NoGradient
from verify.inputs.examples import Example, Recipe, Space, members, round_to
from verify.inputs.simplest import Plain
from verify.inputs.sizes import ONE_LARGER
from verify.properties import shared_inputs
from verify.properties.edges_of_use import REMEDY, find_leaking
from verify.properties.gradients import judge_gradient
from verify.properties.judge import Judge
from verify.properties.leaks import UNREAD as UNREAD_SCENARIO
from verify.properties.plain_calls import (
    ExampleProperty,
    GradientProperty,
    SearchedProperty,
    ValueProperty,
    usable_types,
)
from verify.properties.scenarios import FEWEST, WRITTEN_TO, Scenario, applicable
from verify.properties.setting import Setting
from verify.properties.shared_inputs import choose_shared
from verify.properties.slopes import REAL, announce, with_cotangents
from verify.properties.values import judge_value
from verify.report import (
    CONFORMS,
    FALSIFIED,
    INCONCLUSIVE,
    KEPT_RESULTS,
    SHARED,
    WRONG,
    CheckResult,
    Counterexample,
)
from verify.search.loop import LEAST_SECONDS, Search
from verify.search.outcome import Outcome
from verify.search.property import SECONDS
from verify.search.record import SearchRecord
from verify.subject.wording import refusal

PLAIN_FAILS = "plain calls fail there, as is reported"
DECLINED = "it declines them by an error, as is reported"
"""Why examples are set aside."""
NEW = 1 - 2.0**-4
"""The factor that makes of real inputs others that no call has seen, and that are about as large."""
NUMBERS = 17, 41
"""Where the numbers of sizes begin that no other example has, and where they end."""
TOGETHER = 2
"""So many examples of a scene share their sizes, and are evaluated together."""


class SceneProperty(ExampleProperty):
    """One scene of use."""

    kind = "robustness"

    def __init__(self, setting: Setting, scenario: Scenario, kinds: Sequence[str]) -> None:
        super().__init__(setting)
        self.scenario, self.kinds = scenario, kinds
        self.name = f"robustness: {scenario.name}"
        self.plain_found: tuple[Example, Outcome] | None = None
        self.failing: Example | None = None
        self.limits: list[str] = []

    @property
    def types(self) -> list[str]:
        """The types in which it is tried: those that are supported, and of gradients those in which they conform."""
        usable = usable_types(self.setting, self.kinds)
        return [kind for kind in usable if kind in self.graded] if self.scenario.gradients else usable

    @property
    def graded(self) -> set[str | None]:
        """The types in which gradients conform."""
        checks = self.setting.report.checks
        return {c.dtype for c in checks if c.kind == "gradient" and c.verdict == CONFORMS}

    def reason_against(self) -> str:
        """Return why a scene is not played: there are no gradients, or wrong ones."""
        return "" if self.types else "there are no gradients that conform"

    @property
    def plain(self) -> Plain:
        """Plain examples with the leading dimensions of the scene, and cotangents for gradients."""
        outputs = tuple(self.setting.judge.flat.outputs) if self.scenario.gradients else ()
        return replace(super().plain, outputs=outputs, batch=self.scenario.leads[0])

    def groups(self) -> Iterator[Sequence[Example]]:
        """The planned examples one by one; those of all scenes of a kind are announced together."""
        for example in self.examples():
            self.dtype = example.dtype
            yield [example]

    def examples(self) -> Iterable[Example]:
        """Its examples. Those of all others of its kind are drawn and announced along: many of them share their sizes."""
        setting, judge = self.setting, self.setting.judge
        if self.scenario.name not in setting.scenes:
            space = setting.space(moderate=self.scenario.gradients)
            usual = [other for other in applicable(judge) if other.examples is None]
            kind = [other for other in usual if other.gradients == self.scenario.gradients]
            drawn = {other.name: list(scenario_examples(setting, other, space, self.types)) for other in kind}
            called = [
                each
                for other in kind
                for example in drawn[other.name]
                for each in (*other.calls(judge, example), *other.besides(judge, example))
            ]
            told = partial(announce, judge) if self.scenario.gradients else judge.announce
            told(called, more=bool(setting.scenes))
            setting.scenes |= drawn
        return setting.scenes.pop(self.scenario.name)

    def are_wrong(self, kind: str) -> bool:
        """Whether plain calls were found wrong before, in their values or gradients."""
        return any(c.kind == kind and c.verdict == FALSIFIED for c in self.setting.report.checks)

    def judge(self, case: Example) -> Outcome:
        """What the scene comes to; set aside where plain calls fail that are reported: those at these inputs, where others were
        found wrong before, or those at inputs as large that no call has seen.
        """
        scenario, first = self.scenario, self.failing is None
        # Where plain calls are repeated, only those before it are no matter of the scene.
        if scenario.repeats and first and (plain := self.plain_failure(case)):
            return self.excused(plain)
        try:
            outcome = scenario.play(self.setting.judge, self.setting.caller, case)
        except NoGradient as said:  # elsewhere there are gradients, or none would have been asked for
            outcome = Outcome(ratio=math.inf, message=str(said), violates=self.setting.judge.formula.title)
        if not outcome.fails:
            return outcome
        if self.declines(case, outcome):
            return Outcome.set_aside(DECLINED)
        known = not scenario.repeats and self.are_wrong("gradient" if scenario.gradients else "value")
        if known and (plain := self.plain_failure(case)):
            return self.excused(plain)
        # A plain call of fresh sizes may fail by what the scene left behind.
        if first and not scenario.fresh and (plain := self.plain_failure(case, unseen=True)):
            return self.excused(plain)
        self.failing = self.failing or case
        return outcome

    def excused(self, plain: tuple[Example, Outcome]) -> Outcome:
        """The outcome of a scene that is set aside for a plain call, which is reported."""
        self.plain_found = self.plain_found or plain
        return Outcome.set_aside(PLAIN_FAILS)

    def declines(self, case: Example, outcome: Outcome) -> bool:
        """Whether a failing call says that it does not take the example, which nothing promises that it does: fresh sizes, which
        a plain call does not take either.
        """
        if not self.scenario.fresh or not self.may_refuse(outcome):
            return False
        plain = self.plain_failure(case)
        if plain is None or not refusal(plain[1].fault):
            return False
        self.report_limit(", ".join(f"{size} = {number}" for size, number in case.sizes.items()), outcome)
        return True

    def may_refuse(self, outcome: Outcome) -> bool:
        """Whether it raises an error, or does not return, where not every shape is to be supported."""
        return bool(refusal(outcome.fault)) and self.setting.edges.get(SHAPES) != STRICT[SHAPES]

    def report_limit(self, where: str, outcome: Outcome) -> None:
        """Report sizes at which it raises an error, once for each place."""
        if where not in self.limits:
            self.limits.append(where)
            self.setting.report.has(
                SHAPES, f"at {where} it {refusal(outcome.fault)}: not judged there", "some"
            )

    def plain_failure(self, case: Example, unseen: bool = False) -> tuple[Example, Outcome] | None:
        """A plain call at the inputs of the scene, member by member, that fails; a draw of a law is no such call.

        With ``unseen`` each call has real inputs of its own, which are about as large: what is kept of others does not serve it.
        """
        judge, caller = self.setting.judge, self.setting.caller
        if judge.formula.law is not None:
            return None
        judged = judge_gradient if self.scenario.gradients else judge_value
        factor = 1.0
        for called in self.scenario.calls(judge, case):
            for at in members(called.batch):
                seeds = {name: value[at] for name, value in called.cotangents.items()}
                inputs = called.single(judge.formula, at)
                single = replace(called, inputs=inputs, batch=(), cotangents=seeds)
                if unseen:
                    factor *= NEW
                    single = scaled(judge, single, factor)
                outcome = judged(judge, caller, single)
                if outcome.fails:
                    return single, outcome
        return None

    def report_plain_failure(self, example: Example, outcome: Outcome) -> None:
        """Let the check of plain calls, which found nothing, say what fails."""
        setting, dtype = self.setting, example.dtype
        plain: SearchedProperty = ValueProperty(setting, dtype, ())
        if self.scenario.gradients:
            plain = GradientProperty(setting, dtype)
        checks = setting.report.checks
        place = next((k for k, check in enumerate(checks) if check.name == plain.name), None)
        if place is None or checks[place].verdict == FALSIFIED:
            return
        search = Search(plain, setting.budget)
        search.found.see(example, outcome)
        result = search.result()
        result.examples += checks[place].examples
        checks[place] = result

    def counterexample(self, case: Example, outcome: Outcome) -> Counterexample:
        """Return the counterexample with the name of the scene."""
        made = super().counterexample(case, outcome)
        made.calls = {"scenario": self.scenario.name}
        return made

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """Conclude; report nothing where the scene never applies."""
        if not (found.examples or found.set_aside or found.unsupported or self.setting.clock.over):
            return []
        result.dtype = None
        if self.plain_found is not None:
            self.report_plain_failure(*self.plain_found)
        return [result]


def scaled(judge: Judge, example: Example, factor: float) -> Example:
    """The example with all real arrays times a factor."""
    fixed, within, changed = dict(example.supported.fixed), example.supported.within, {}
    for item in judge.formula.tensors:
        value = example.inputs.get(item.name)
        if item.domain in REAL and item.name not in fixed and isinstance(value, np.ndarray):
            changed[item.name] = round_to(factor * value, example.dtype)
    made = example.replace_inputs(**changed)
    return made if within is None else within.bring_inside(made)


class SizedScene(SceneProperty):
    """Plain calls at sizes of their own: what fails there is a fault; what a callable declines by an error is a property, unless
    every shape is to be supported. Not tried where values are wrong already.
    """

    def reason_against(self) -> str:
        """Not where others are wrong already, or where a large batch is called member by member."""
        if self.are_wrong("value"):
            return "values are wrong already"
        alone = self.scenario.name == "a large batch" and self.setting.caller.leading == (0,)
        return "a batch is called member by member" if alone else super().reason_against()

    @property
    def plain(self) -> Plain:
        """With cotangents where the example has some."""
        return replace(super().plain, batch=self.scenario.leads[0])

    def examples(self) -> Iterable[Example]:
        """Its own, with cotangents in the types in which gradients conform."""
        setting, kinds = self.setting, self.types
        if self.scenario.examples is None:
            return super().examples()
        graded = [kind for kind in kinds if kind in self.graded]
        space = setting.space(moderate=True)
        return self.scenario.examples(setting.judge, space, setting.seed, kinds, graded)

    def plain_failure(self, case: Example, unseen: bool = False) -> tuple[Example, Outcome] | None:
        """None: they are plain calls themselves, at sizes of their own."""
        return None

    def declines(self, case: Example, outcome: Outcome) -> bool:
        """Whether it raises an error, or does not return; reported once for each place."""
        if not self.may_refuse(outcome):
            return False
        where = case.regime.removeprefix("large sizes: ")
        if self.scenario.ones:
            ones = (f"{size} = 1" for size, number in case.sizes.items() if number == 1)
            where = ", ".join(ones) or where
        self.report_limit(where, outcome)
        self.setting.caller.containment.hung = False  # once at a large size says nothing about the others
        return True


class SharedScene(SceneProperty):
    """Inputs that a batch shares, passed once for all members.

    No statement promises that they may be, and what is right of inputs of one batch may be wrong of such (``gather`` takes the
    first members). What is wrong there, or refused, is a property.
    """

    def __init__(self, setting: Setting, scenario: Scenario, kinds: Sequence[str]) -> None:
        super().__init__(setting, scenario, kinds)
        self.refused: dict[str, None] = {}
        self.wrong: dict[tuple[str, ...], None] = {}

    def declines(self, case: Example, outcome: Outcome) -> bool:
        """Whether it raises an error."""
        judge, caller = self.setting.judge, self.setting.caller
        names = choose_shared(judge, case)
        if not refusal(outcome.fault):
            self.wrong[names] = None
            return False
        if len(names) == 1:
            self.refused[names[0]] = None
        caller.containment.hung = False  # nothing promises that it takes them
        return True

    def tell(self, what: str, names: Iterable[str]) -> None:
        """Report what happens to a batch that shares these inputs."""
        kept = {*names}
        said = ", ".join(t.name for t in self.setting.judge.formula.tensors if t.name in kept)
        self.setting.report.has(SHARED, f"a batch that shares {said}, passed once for all members, {what}")

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """A property; a check only where all is well."""
        results = [each for each in super().conclude(found, result) if each.verdict != INCONCLUSIVE]
        if self.refused and not self.scenario.gradients:  # which are refused with the values
            self.tell("is refused", self.refused)
        for each in results:
            if each.verdict == FALSIFIED:
                what = f"{WRONG} {'gradients' if self.scenario.gradients else 'values'}"
                self.tell(what, next(iter(self.wrong)))
                each.unjudged()
        return results


class UnreadScene(SceneProperty):
    """NaN in slots that nothing reads: judged where that was asked for, and else a property."""

    def __init__(self, setting: Setting, scenario: Scenario, kinds: Sequence[str]) -> None:
        super().__init__(setting, scenario, kinds)
        self.judged = setting.edges.get(UNREAD) == STRICT[UNREAD]
        self.seconds = (
            SECONDS if self.judged else LEAST_SECONDS
        )  # what is reported only need not become small

    def reason_against(self) -> str:
        """Not where such slots may be read."""
        ignored = self.setting.edges.get(UNREAD) == "ignored"
        return "what stands in unread slots is finite" if ignored else super().reason_against()

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """A violation is a property where nobody asked for its judgement."""
        for each in super().conclude(found, result):
            report = self.setting.report
            if each.verdict == CONFORMS:
                report.has(UNREAD, EDGES[UNREAD]["isolated"], "isolated")
            elif each.verdict == FALSIFIED and not self.judged:
                which = ", ".join(find_leaking(self.setting, self.types[0]))
                slots = f"slots of {which} that nothing reads" if which else "a slot that nothing reads"
                report.has(UNREAD, f"NaN or infinity in {slots} reaches the output ({REMEDY})", "ignored")
                each.unjudged()
            yield each


class WrittenScene(SceneProperty):
    """Results that are written to: that later ones depend on them is a property, as views of a table are common."""

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """A property."""
        for each in super().conclude(found, result):
            if each.verdict == FALSIFIED:
                said = "writing to what it returned changes what it returns later"
                self.setting.report.has(KEPT_RESULTS, said)
                each.unjudged()
            yield each


BY_NAME: dict[str, type[SceneProperty]] = {
    shared_inputs.VALUES: SharedScene,
    shared_inputs.GRADIENTS: SharedScene,
    UNREAD_SCENARIO: UnreadScene,
    WRITTEN_TO: WrittenScene,
}
"""Scenes of which a violation is no fault in itself."""


def scene_property(setting: Setting, scenario: Scenario, kinds: Sequence[str]) -> SceneProperty:
    """The property of a scenario."""
    sized = scenario.examples is not None or scenario.ones
    return BY_NAME.get(scenario.name, SizedScene if sized else SceneProperty)(setting, scenario, kinds)


def scenario_examples(
    setting: Setting, scenario: Scenario, space: Space, dtypes: list[str]
) -> Iterator[Example]:
    """The examples on which a scenario is played."""
    share = setting.max_examples // (24 if space.sizing.costly else 12)
    count = FEWEST if scenario.fresh else max(FEWEST, share)
    before: Recipe | None = None
    leads = scenario.leads if any(t.role == "data" for t in space.formula.tensors) else ((),)
    # At inputs of the other scenarios the callable has been called before.
    unseen = setting.seed + (19 if scenario.repeats else 3)
    for turn, recipe in enumerate(space.plan(count, unseen)):
        if turn % TOGETHER and before is not None:
            recipe = recipe._replace(sizes=before.sizes, variant=before.variant)
        before = recipe
        if scenario.usual:
            recipe = recipe._replace(regime=0, other=0, mask=int(turn % FEWEST != 1))
        sizes = scenario.sizes if scenario.sizes is not None and turn % 2 == 0 else recipe.sizes
        mask = recipe.mask if scenario.mask is None else (scenario.mask if turn % 3 else 2)
        lead = leads[turn // TOGETHER % len(leads)]
        if scenario.as_many and turn and (own := _own(space, recipe, turn)):
            lead, mask = own, 1 + turn % 2  # drawn anew for each member
        recipe = recipe._replace(
            sizes=3 if sizes == recipe.sizes and scenario.sizes is not None else sizes, mask=mask
        )
        new = None
        if scenario.fresh:
            seed = [recipe.seed, *scenario.name.encode()]
            recipe = recipe._replace(sizes=ONE_LARGER, variant=recipe.seed)
            new = _new_sizes(space, seed) if turn % TOGETHER == 0 else None
        example = space.example(recipe, dtypes[turn // TOGETHER % len(dtypes)], lead, new)
        example.turn = turn
        yield with_cotangents(setting.judge, example, recipe.seed) if scenario.gradients else example
    for recipe in space.ones(setting.seed) if scenario.ones else ():
        example = space.example(recipe, dtypes[0], leads[0])
        said = ", ".join(f"{size} = 1" for size, number in example.sizes.items() if number == 1)
        if not said:  # a rule of sizes keeps it from being so
            continue
        yield replace(example, regime=f"sizes of one: {said}")


def _new_sizes(space: Space, seed: Sequence[int]) -> dict[Size, int] | None:
    """Sizes of which no other example has many, as far as that is affordable; None where there are a few only."""
    if space.supported.few:
        return None
    numbers = cycle(np.random.default_rng(seed).permutation(range(*NUMBERS)).tolist())
    return space.sizing.affordable(dict(zip(space.symbols, numbers, strict=False)))


def _own(space: Space, recipe: Recipe, turn: int) -> tuple[int, ...]:
    """A batch of as many members as one of the example's own sizes, each in its turn: heads may be taken for members."""
    order = [size for size in space.sizing.symbols if size not in space.sizing.steps]
    return (space.sizing.draw_sizes(recipe.sizes, recipe.variant)[order[turn % len(order)]],) if order else ()


__all__ = ["SceneProperty", "scenario_examples", "scene_property"]
