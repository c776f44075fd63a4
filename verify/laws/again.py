"""Which of what was drawn shows by itself that a law is missed, written so that it can be drawn again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import whole
from spec.language.formula import Formula
from verify.laws import choice_causes, choice_tests, draw_tests
from verify.laws.causes import JOINED
from verify.laws.choices import Draws, Situation, drawn_inputs, numbered, sizes_in
from verify.laws.draws import Sample, apart, conditional, impossible
from verify.laws.layouts import Layout, designs, law_of
from verify.laws.replaying import Replay
from verify.laws.results import ALPHA
from verify.laws.statistics import Tally
from verify.laws.word_tests import words
from verify.report import FALSIFIED, CheckResult
from verify.scripting.naming import Unwritten

RESULTS, GENERATOR, OUTCOMES = "law: results", "law: generator", "law: possible outcomes"
SELECTING = {
    "law: selection": draw_tests.selection,
    "law: counts": draw_tests.counts,
    "law: independence": draw_tests.independence,
    "law: outcomes": draw_tests.outcomes,
    "law: words": words,
}
CHOOSING = {
    "law: outcomes": choice_tests.outcomes,
    "law: steadiness": choice_tests.steadiness,
    "law: independence": choice_tests.independence,
}
FEW = 16
"""Calls that are made once more where one has raised."""
Written = tuple[str, str]
S = TypeVar("S")


def first_written(checks: Sequence[CheckResult], write: Callable[[str], Written | None]) -> None:
    """Give the first falsified check that can be written its lines; ``write`` makes them of its name."""
    for check in checks:
        if check.verdict == FALSIFIED:
            try:
                check.again = write(check.name)
            except Unwritten:
                continue
            if check.again is not None:
                return


def shown(
    samples: Sequence[S],
    size: Callable[[S], int],
    test: Callable[[S, Tally], None],
    excluded: Callable[[S], object] | None,
) -> S | None:
    """The smallest sample that holds what is ``excluded``, or, where nothing is, that fails a test by itself: first of all by so
    much that another would, too, drawn from a generator that nobody has seeded.
    """
    ranked = sorted(samples, key=size)
    if excluded is not None:
        return next((sample for sample in ranked if excluded(sample)), None)
    for alpha in (ALPHA**2, ALPHA):
        for sample in ranked:
            tally = Tally(alpha, 4)
            test(sample, tally)
            if not tally.verdict()[0]:
                return sample
    return None


def of_calls(replay: Replay, name: str, calls: int) -> Written:
    """Calls that raise or give something of another form, or whose results do not follow their generator."""
    return replay.text(replay.of_results(calls) if name == RESULTS else replay.of_generator())


# Laws that select positions -------------------------------------------------------------------------------------------------


def selecting(
    formula: Formula,
    checks: Sequence[CheckResult],
    samples: Sequence[Sample],
    layouts: Sequence[Layout],
    broken: Mapping[str, Layout],
    independent: bool,
    seed: int,
) -> None:
    """Write what shows that positions are selected otherwise; ``broken``: the layouts in which axioms, or a call, first
    failed.
    """
    law = law_of(formula)
    symbol = law.over[-1][0]
    axioms = {f"law: {axiom.name}": axiom for axiom in law.axioms}

    def of(layout: Layout) -> tuple[Replay, tuple[int, int, int]]:
        rows = designs(formula, layout, seed)
        tensors = {t.name for t in formula.inputs if isinstance(t, Tensor) and t.shape}
        inputs = {
            name: np.stack([row[name] for row in rows]) if name in tensors else value
            for name, value in rows[0].items()
        }
        shapes = [(layout.copies * len(rows), layout.length)] * len(law.returns)
        replay = Replay(formula, inputs, layout.copies, dict.fromkeys(tensors, 0), shapes, seed)
        return replay, (layout.copies, len(rows), layout.length)

    def write(name: str) -> Written | None:
        if name in axioms:
            layout = broken[axioms[name].name]
            replay, shape = of(layout)
            free = next((s for s in samples if s.layout == layout), None)
            calls = 2 if free is None else free.times // free.per_call
            return replay.text(replay.every(calls, axioms[name].condition, symbol, shape))
        if name in (RESULTS, GENERATOR):
            return of_calls(of(broken.get(name, layouts[0]))[0], name, FEW)
        excluded = {OUTCOMES: impossible, JOINED: apart}.get(name)
        sample = shown(samples, _size, lambda s, tally: SELECTING[name](s, independent, tally), excluded)
        if sample is None:
            return None
        replay, shape = of(sample.layout)
        outcome = [replay.spelled(part, symbol) for part in (law.outcome[0], law.outcome[-1])]
        texts = [f"np.broadcast_to({text}, {shape})" for text in outcome]
        collected = {"words": texts[0], "chosen": f"{texts[1]} != 0"}
        judged = (
            replay.tested(SELECTING[name], str(independent))
            if excluded is None
            else replay.excluded(excluded)
        )
        calls = sample.times // sample.per_call
        return replay.text([*replay.sampled(calls, collected, shape), *_sample(replay, sample), *judged])

    first_written(checks, write)


def _size(sample: Sample) -> int:
    """How large the statement's probabilities are, which stand in the script."""
    return sample.probability.size


def _sample(replay: Replay, sample: Sample) -> list[str]:
    """The sample, with what the statement says of it."""
    namespace = replay.sources.of(SimpleNamespace)
    return [
        f"P = {replay.array(sample.probability)}",
        f"rate, share, levels, values = {replay.sources.of(conditional)}(P)",
        f"joined = {replay.array(sample.joined)}",
        f"sample = {replay.sources.of(Sample)}(",
        f"    {namespace}(name={sample.layout.name!r}), {replay.array(sample.ids)},",
        f"    np.concatenate(chosen), np.concatenate(words), {sample.per_call},",
        "    P, np.where(joined, 0.0, rate), share, levels, values, joined,",
        ")",
    ]


# Laws of choices --------------------------------------------------------------------------------------------------------------


def choosing(
    formula: Formula,
    checks: Sequence[CheckResult],
    samples: Sequence[Draws],
    situations: Sequence[Situation],
    broken: Mapping[str, Situation],
    conditions: Mapping[str, Any],
    seed: int,
    masks: bool,
) -> None:
    """Write what shows that choices are made otherwise; ``broken``: the situations in which axioms, or a call, first
    failed, ``conditions`` what axioms say.
    """
    law = law_of(formula)
    symbol, size = law.over[-1]

    def of(situation: Situation) -> Replay:
        inputs = drawn_inputs(formula, situation, seed, masks)
        axes = {
            item.name: item.shape.index(size) - len(item.shape) + inputs[item.name].ndim
            for item in formula.tensors
            if size in item.shape and isinstance(inputs.get(item.name), np.ndarray)
        }
        sizes = sizes_in(formula, situation)
        sizes[size] = situation.positions * situation.copies
        shapes = [(*situation.batch, *(whole(each, sizes) for each in t.shape)) for t in law.returns]
        return Replay(formula, inputs, situation.copies, axes, shapes, seed, situation.dtype, masks)

    def write(name: str) -> Written | None:
        axiom = name.removeprefix("law: ")
        if axiom in conditions:
            situation = broken[axiom]
            if situation.batch:
                return None
            replay = of(situation)
            shape = (situation.copies, situation.positions)
            return replay.text(replay.every(situation.calls, conditions[axiom], symbol, shape))
        if name in (RESULTS, GENERATOR):
            situation = broken.get(name, situations[0])
            return of_calls(of(situation), name, situation.calls)
        excluded = choice_causes.impossible if name == OUTCOMES else None
        draws = shown(samples, _total, lambda d, tally: CHOOSING[name](d, tally), excluded)
        if draws is None:
            return None
        replay = of(draws.situation)
        judged = replay.tested(CHOOSING[name]) if excluded is None else replay.excluded(excluded)
        outcome = [replay.spelled(part, symbol) for part in law.outcome]
        return replay.text([*_draws(replay, draws, outcome), *judged])

    first_written(checks, write)


def _total(draws: Draws) -> int:
    """How much was drawn."""
    return draws.total


def _draws(replay: Replay, draws: Draws, outcome: Sequence[str]) -> list[str]:
    """What was drawn, with what the statement says of it."""
    situation = draws.situation
    shape = (situation.members, situation.copies, situation.positions)
    numbers = f"{replay.sources.of(numbered)}([{', '.join(outcome)}], {draws.extents})"
    namespace = replay.sources.of(SimpleNamespace)
    return [
        *replay.sampled(situation.calls, {"chosen": f"{numbers}.reshape({shape})"}),
        f"sample = {replay.sources.of(Draws)}(",
        f"    {namespace}(name={situation.name!r}, batch={situation.batch}), np.stack(chosen),",
        f"    {replay.array(draws.low)}, {replay.array(draws.high)},",
        f"    {draws.parts!r}, {draws.told!r},",
        ")",
    ]


__all__ = ["RESULTS", "choosing", "selecting"]
