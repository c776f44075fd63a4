"""The trial of a law in which every position draws an outcome: how a situation is drawn, and what is asked of the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import Size, whole
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Node
from spec.language.flatten import chosen
from verify.laws.choice_causes import choice_cause
from verify.laws.choice_tests import independence, outcomes, steadiness
from verify.laws.choices import (
    RESOLUTION,
    SEEDED,
    Draws,
    Situation,
    arguments,
    drawn_inputs,
    numbered,
    repeated,
    situations,
    sizes_in,
    told,
)
from verify.laws.statistics import Ints, Reals
from verify.laws.trial import HEADLINE, Trial, law_of, share
from verify.properties.judge import Judge
from verify.subject.returned import held, values

TIMED = 8
"""Repetitions of the main situation in the call that is timed."""


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


class ChoiceTrial(Trial[Situation, Draws]):
    """What is drawn by a callable in which every position has an outcome of its own."""

    plans, unit = "situations", "draws"
    tests: ClassVar = {
        "law: outcomes": outcomes,
        "law: steadiness": steadiness,
        "law: independence": independence,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self.judge = Judge(self.formula, self.conventions)
        self.masks = bool(getattr(self.caller, "takes_mask", True))
        self.conditions = [chosen(axiom.condition, self.judge.conventions) for axiom in self.law.axioms]

    def plan(self) -> tuple[Situation, ...]:
        """The situations."""
        return situations(self.formula)

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

    def pace(self) -> float:
        """The share, told by calls of the main situation."""
        main = self.planned[0]
        inputs = drawn_inputs(self.formula, main, self.seed, self.masks)
        generator = self.generator()

        def once(copies: int) -> int:
            many = repeated(self.formula, inputs, copies)
            self.caller(*arguments(self.formula, many, generator, main.dtype, self.device, self.masks))
            return copies * main.positions

        return share(once, [(s.calls, s.copies * s.positions * s.members) for s in self.planned], TIMED)

    def draw(self, plan: Situation) -> Draws:
        """The sample of a situation."""
        situation = plan
        once = drawn_inputs(self.formula, situation, self.seed, self.masks)
        many = repeated(self.formula, once, situation.copies)
        generator = self.generator()
        members = list(np.ndindex(*situation.batch))
        chosen: list[Ints] = []
        for call in range(situation.calls):
            passed = arguments(self.formula, many, generator, situation.dtype, self.device, self.masks)
            results = self.call(many, situation, passed)
            taken = []
            for place in members:
                member = Member(self.judge, self.single(many, place), [r[place] for r in results])
                at = f"{situation.name}: call {call}" + (f", member {place}" if place else "")
                self.hold(member, at)
                taken.append(member.outcome().reshape(situation.copies, situation.positions))
            chosen.append(np.stack(taken))
        low, high = zip(
            *(self.probabilities(self.single(once, place), situation.dtype) for place in members), strict=True
        )
        parts = tuple(
            zip((str(getattr(o, "tensor", o)) for o in self.law.outcome), member.extents, strict=True)
        )
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

    def hold(self, member: Member, where: str) -> None:
        """Hold the results of a member to every axiom."""
        for axiom, condition in zip(self.law.axioms, self.conditions, strict=True):
            count, wrong = member.broken(condition, axiom.over or self.law.over)
            self.held[axiom.name] += count
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

    def misuses(self, samples: Sequence[Draws]) -> list[str] | None:
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
        return self.misuses_in(
            lambda generator: arguments(
                self.formula, many, generator, situation.dtype, self.device, self.masks
            ),
            lambda passed: self.call(many, situation, passed),
        )

    def main_test(self) -> tuple[int, float, int]:
        """How often a position of the main situation draws an outcome."""
        main = self.samples[0]
        return main.situation.draws, 0.5, HEADLINE * main.low.shape[-1]

    def explain(self, failed: Mapping[str, str]) -> str:
        """Which outcomes are drawn otherwise, and how, or what the first check says."""
        what = self.formula.sizes.get(self.law.over[-1][1], "positions")
        return choice_cause(self.samples, failed, what)


__all__ = ["ChoiceTrial"]
