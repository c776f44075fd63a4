"""Robustness: a scenario is played on examples of its own, and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from verify.faults import Unsupported
from verify.inputs.examples import Example, Recipe, Space, members
from verify.inputs.sizes import ONE_LARGER
from verify.properties.gradients import NO_GRADIENT, judge_gradient
from verify.properties.outcome import Outcome
from verify.properties.scenarios import Scenario, applicable
from verify.properties.slopes import announce, with_cotangents
from verify.properties.values import judge_value
from verify.report import FALSIFIED, INCONCLUSIVE, CheckResult
from verify.search.checks import concluded
from verify.search.search import Found
from verify.search.setting import Setting
from verify.search.shrink import SECONDS


def scenario_examples(
    setting: Setting, scenario: Scenario, space: Space, dtypes: list[str]
) -> Iterator[Example]:
    """The examples on which a scenario is played."""
    count = max(4, setting.max_examples // (24 if space.sizing.dear else 12)) if not scenario.fresh else 4
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
        lead = _lead(scenario) if turn % 4 > 1 else scenario.batch
        if scenario.as_many and turn and (own := _own(space, recipe, turn)):
            lead, mask = own, 1 + turn % 2  # drawn anew for each member
        recipe = recipe._replace(
            sizes=3 if sizes == recipe.sizes and scenario.sizes is not None else sizes, mask=mask
        )
        if scenario.fresh:
            recipe = recipe._replace(sizes=ONE_LARGER, variant=recipe.seed)
        example = space.example(
            recipe,
            dtypes[turn // together % len(dtypes)],
            lead,
        )
        example.turn = turn
        yield with_cotangents(setting.judge, example, recipe.seed) if scenario.gradients else example
    for recipe in space.ones(setting.seed) if scenario.ones else ():
        example = space.example(recipe, dtypes[0], scenario.batch)
        said = ", ".join(f"{size} = 1" for size, number in example.sizes.items() if number == 1)
        if not said:  # a rule of sizes keeps it from being so
            continue
        yield replace(example, regime=f"sizes of one: {said}")


def _own(space: Space, recipe: Recipe, turn: int) -> tuple[int, ...]:
    """A batch of as many members as one of the example's own sizes, each in its turn: heads may be taken for members."""
    order = [size for size in space.sizing.symbols if size not in space.sizing.steps]
    return (space.sizing.drawn(recipe.sizes, recipe.variant)[order[turn % len(order)]],) if order else ()


def _lead(scenario: Scenario) -> tuple[int, ...]:
    """Other leading dimensions: equal ones, which may be mixed up; two where gradients have one."""
    if len(scenario.batch) == 2:
        return 2, 2
    return (2, 3) if scenario.gradients and scenario.batch else scenario.batch


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
            for each in (*other.calls(judge, example), *other.besides(judge, example))
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
    apart = scenario.examples is not None or scenario.ones  # plain calls, at sizes of their own
    excused = judge.formula.law is None and not apart

    def probe(example: Example) -> Outcome:
        nonlocal skipped
        before = excused and scenario.repeats and plainly_wrong(example)
        try:
            outcome = scenario.play(judge, caller, example)
        except Unsupported as said:
            if NO_GRADIENT not in str(said):
                raise  # elsewhere there are gradients, or none would have been asked for
            outcome = Outcome(ratio=math.inf, message=str(said), violates=judge.formula.title)
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
    result = concluded(setting, name, "robustness", dtype, found, probe, shrinking=shrinking)
    result.dtype = None
    if result.counterexample is not None:
        result.counterexample.calls = {"scenario": scenario.name}
    if skipped and not found.effective and result.verdict != FALSIFIED:
        result.verdict, result.message = INCONCLUSIVE, "plain calls fail on these examples already"
    return result


__all__ = ["robustness_check", "scenario_examples"]
