"""Drawing choices from an implementation, every result held to the law's axioms, and judging the sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import Size, whole
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Node
from spec.language.flatten import chosen
from spec.language.formula import Formula
from verify.faults import Fault, Unsupported, complaint
from verify.laws.choice_causes import choice_cause, impossible
from verify.laws.choice_tests import independence, outcomes, steadiness
from verify.laws.choices import (
    RESOLUTION,
    SEEDED,
    SHIFT,
    Draws,
    Reals,
    Situation,
    arguments,
    drawn_inputs,
    numbered,
    paced,
    repeated,
    situations,
    sizes_in,
    told,
)
from verify.laws.layouts import Ints, law_of
from verify.laws.pace import NOTE, Planned, against, share
from verify.laws.pace import said as slowly
from verify.laws.results import RESULTS, cut, exact, in_time, judged, misused, never
from verify.properties.judge import Judge
from verify.report import FALSIFIED, INCONCLUSIVE, CheckResult
from verify.subject.returned import held, values
from verify.subject.sandbox import GENERATORS, GlobalState

TIMED, CALLS = 8, 4
"""Repetitions of the main situation in the call that is timed, and how many calls tell seeds apart."""


class Member:
    """One member of a batch: conditions and outcomes of the law, evaluated at all its positions."""

    def __init__(self, judge: Judge, inputs: Mapping[str, Any], results: Sequence[Any]) -> None:
        self.law = law_of(judge.formula)
        bindings = bind(judge.flat, inputs)
        for item, value in zip(self.law.returns, results, strict=True):
            bindings.tensor(judge.formula.id, item, value)
        self.evaluator = Evaluator(RunningError(), bindings)
        self.extents = [
            whole(size, bindings.sizes) for size in self.law.probability.shape[len(self.law.over) :]
        ]

    def broken(self, condition: Node, over: Sequence[tuple[Size, Any]]) -> tuple[int, dict[str, int] | None]:
        """At how many indices a condition was asked for, and the first at which it fails."""
        spans = tuple((symbol, 0, size - 1) for symbol, size in over)
        holds = self.evaluator.condition(condition, spans)
        if holds.all():
            return holds.size, None
        place = np.unravel_index(int(np.argmin(holds)), holds.shape)
        return holds.size, {str(symbol): int(at) for (symbol, _), at in zip(over, place, strict=True)}

    def outcome(self) -> Ints:
        """The outcome at every position, by its number among all combinations of its components; −1 for what is none."""
        (symbol, size) = self.law.over[-1]
        spans = ((symbol, 0, size - 1),)
        return numbered([self.evaluator.index(part, spans) for part in self.law.outcome], self.extents)


class Drawing:
    """Draws from an implementation situation by situation, holding every result to the law's axioms."""

    def __init__(
        self,
        caller: Callable[..., Any],
        formula: Formula,
        conventions: Mapping[str, str] | None,
        seed: int,
        device: str,
    ) -> None:
        self.caller, self.formula, self.seed, self.device = caller, formula, seed, device
        self.law, self.judge = law_of(formula), Judge(formula, conventions)
        self.masks = bool(getattr(caller, "takes_mask", True))
        self.axioms = {axiom.name: 0 for axiom in self.law.axioms}
        self.conditions = [chosen(axiom.condition, self.judge.conventions) for axiom in self.law.axioms]
        self.broken: dict[str, str] = {}

    def call(self, inputs: Mapping[str, Any], situation: Situation, passed: list[Any]) -> list[Any]:
        """The results of one call as arrays, held to the declared shapes and types."""
        batch = situation.batch
        sizes = sizes_in(self.formula, situation)
        name = self.law.over[-1][1]
        size = next(t for t in self.formula.tensors if name in t.shape)
        axis = size.shape.index(name) - len(size.shape)
        sizes[name] = int(np.shape(inputs[size.name])[axis])
        begin = f"{self.formula.id}: {getattr(self.caller, 'name', 'the callable')}"
        found = held(
            self.caller(*passed), self.law.returns, sizes, batch, situation.dtype, self.device, begin,
            f"the situation “{situation.name}”",
        )  # fmt: skip
        return [values(x) for x in found]

    def pace(self, planned: Sequence[Situation]) -> float:
        """Which share of the draws planned is made, so that a slow callable is judged in reasonable time."""
        inputs = drawn_inputs(self.formula, planned[0], self.seed, self.masks)
        generator = torch.Generator(device=self.device).manual_seed(self.seed)

        def once(copies: int) -> int:
            many = repeated(self.formula, inputs, copies)
            situation = planned[0]
            self.caller(*arguments(self.formula, many, generator, situation.dtype, self.device, self.masks))
            return copies * situation.positions

        return share(once, [Planned(s.calls, s.copies * s.positions * s.members) for s in planned], TIMED)

    def draw(self, situation: Situation) -> Draws:
        """Draw a situation's sample."""
        once = drawn_inputs(self.formula, situation, self.seed, self.masks)
        many = repeated(self.formula, once, situation.copies)
        generator = torch.Generator(device=self.device).manual_seed(self.seed)
        members = list(np.ndindex(*situation.batch))
        chosen: list[Ints] = []
        for call in range(situation.calls):
            passed = arguments(self.formula, many, generator, situation.dtype, self.device, self.masks)
            results = self.call(many, situation, passed)
            taken = []
            for place in members:
                member = Member(self.judge, self.single(many, place), [r[place] for r in results])
                at = f"{situation.name}: call {call}" + (f", member {place}" if place else "")
                self._hold(member, at)
                taken.append(member.outcome().reshape(situation.copies, situation.positions))
            chosen.append(np.stack(taken))
        low, high = zip(
            *(self.probabilities(self.single(once, place), situation.dtype) for place in members), strict=True
        )
        parts = tuple(zip(map(_name, self.law.outcome), member.extents, strict=True))
        said = tuple(
            tuple(told(self.formula, self.single(once, place), r) for r in range(situation.positions))
            for place in members
        )
        return Draws(situation, np.stack(chosen), np.stack(low), np.stack(high), parts, said)

    def single(self, inputs: Mapping[str, Any], place: tuple[int, ...]) -> dict[str, Any]:
        """The inputs of one member of the batch."""
        found = dict(inputs)
        for item in self.formula.tensors:
            if place and item.role in ("data", "mask") and isinstance(found.get(item.name), np.ndarray):
                found[item.name] = found[item.name][place]
        return found

    def probabilities(self, inputs: Mapping[str, Any], dtype: str) -> tuple[Reals, Reals]:
        """The statement's probabilities, as an interval that covers the rounding of an implementation in ``dtype``."""
        name = self.law.probability.name
        (found,) = (e for e in self.judge.expect(inputs, dtype, rigorous=False) if e.name == name)
        value, bound = (x.reshape(*x.shape[: len(self.law.over)], -1) for x in (found.value, found.bound))
        # What underflows is as good as impossible; what is impossible has no rounding.
        slack = np.where((value > 0) | (bound > 0), bound + RESOLUTION, 0.0)
        said = value.sum(-1, keepdims=True) > 0
        low, high = np.maximum(value - slack, 0.0), np.minimum(value + slack, 1.0)
        return np.where(said, low, 0.0), np.where(said, high, 0.0)

    def _hold(self, member: Member, where: str) -> None:
        for axiom, condition in zip(self.law.axioms, self.conditions, strict=True):
            count, wrong = member.broken(condition, axiom.over or self.law.over)
            self.axioms[axiom.name] += count
            if wrong is not None and axiom.name not in self.broken:
                at = ", ".join(f"{name} = {value}" for name, value in wrong.items())
                self.broken[axiom.name] = (
                    f"violated: {axiom.sentence}; {where}, {at}: {self._said(member, wrong)}"
                )

    def _said(self, member: Member, at: Mapping[str, int]) -> str:
        parts = []
        for item in self.law.returns:
            store = member.evaluator.integers if item.domain == "integer" else member.evaluator.tensors
            array = store[item.name] if item.domain == "integer" else store[item.name].floats()
            first = at[str(self.law.over[-1][0])]
            parts.append(f"{item.name} {array[first]}")
        return ", ".join(parts)

    def generator(self, samples: Sequence[Draws]) -> list[str] | None:
        """What is wrong with the use of the generator, in a situation that was drawn and leaves something to chance; None where
        none did.

        In a corpus of one document no sentence stands in another: then nothing is drawn, and any seed gives the same.
        """
        situation = next((sample.situation for sample in samples if sample.varies), None)
        if situation is None:
            return None
        situation = replace(situation, copies=SEEDED)
        many = repeated(
            self.formula, drawn_inputs(self.formula, situation, self.seed, self.masks), situation.copies
        )
        return misused(
            lambda generator: arguments(
                self.formula, many, generator, situation.dtype, self.device, self.masks
            ),
            lambda passed: self.call(many, situation, passed),
            [str(item) for item in self.formula.inputs],
            self.device,
        )


def _name(outcome: Node) -> str:
    """What a component of the outcome is called: the tensor whose entry it is."""
    return str(getattr(outcome, "tensor", outcome))


def check_choices(
    caller: Callable[..., Any],
    formula: Formula,
    conventions: Mapping[str, str] | None = None,
    seed: int = 0,
    device: str = "cpu",
    over: Callable[[], bool] = never,
    asked: float = 1.0,
) -> list[CheckResult]:
    """Check what ``caller`` draws against a law in which every position has an outcome of its own; see :func:`check_law`."""
    kept: list[str] = []
    drawing = Drawing(caller, formula, conventions, seed, device)
    planned = situations(formula)
    state = GlobalState(device)
    try:
        part = drawing.pace(planned)
        planned = tuple(paced(situation, part * asked) for situation in planned)
        samples = [drawing.draw(situation) for situation in in_time(planned, over)]
        if not GENERATORS.isdisjoint(state.restore()):
            kept.append("the global random state was used: draw from the generator that is passed")
        told_apart = drawing.generator(samples)
        kept += told_apart or []
    except Unsupported as error:
        return [CheckResult(RESULTS, "law", INCONCLUSIVE, message=str(error))]
    except Exception as error:
        ours = isinstance(error, Fault)
        said = str(error) if ours else f"{formula.id} raised {complaint(error)}"
        return [exact(RESULTS, 0, said)]
    total = sum(sample.total for sample in samples)
    checks = [
        exact(f"law: {name}", count, drawing.broken.get(name)) for name, count in drawing.axioms.items()
    ]
    if told_apart is None and not kept:
        left = "nothing that was drawn leaves enough to chance to tell seeds apart"
        checks.append(CheckResult("law: generator", "law", INCONCLUSIVE, message=left))
    else:
        checks.append(
            exact("law: generator", CALLS if told_apart is not None else 1, "; ".join(kept) or None, "calls")
        )
    wrong = next((said for said in map(impossible, samples) if said), "")
    checks.append(exact("law: possible outcomes", total, wrong or None, "draws"))
    off = against(part, SHIFT, samples[0].situation.draws, 0.5, 4 * samples[0].low.shape[-1])
    tests = (("outcomes", outcomes), ("steadiness", steadiness), ("independence", independence))
    for name, test in () if wrong else tests:
        checks.append(
            judged(f"law: {name}", total, [partial(test, sample) for sample in samples], against=off)
        )
    cause = choice_cause(samples, checks, formula.sizes.get(drawing.law.over[-1][1], "positions"))
    for check in checks:
        if check.verdict == FALSIFIED:
            check.details["cause"] = cause
    if off:
        checks[0].details[NOTE] = slowly(off, part)
    return checks + ([] if wrong else cut(len(samples), len(planned), "situations"))


__all__ = ["Drawing", "Member", "check_choices"]
