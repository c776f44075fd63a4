"""Laws in which every position draws one of finitely many outcomes: the situations, the draws, and what the statement says.

Where an outcome has several components, such as a sentence and a label, what is counted is their number among all combinations.

A situation is a handful of positions with inputs of their own; each is repeated many times along the positions' axis, so that
the statement's distribution is evaluated once a position and drawn many times a call. Inputs, outcomes, probabilities and
axioms all come from the formula and its law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any, ClassVar

import numpy as np
import torch

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import Size, is_size, whole
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Node
from spec.language.flatten import apply_conventions
from spec.language.formula import Formula
from verify.inputs.dtypes import DTYPES
from verify.inputs.examples import fit_domain, round_to
from verify.inputs.size_rules import sizes_of_formula
from verify.laws.causes import choice_cause
from verify.laws.choice_tests import SEEDED, Draws, Situation, independence, outcomes, steadiness
from verify.laws.statistics import ALPHA, POWER, Ints, Reals, sample_size
from verify.laws.trial import CORRELATION, HEADLINE, SHIFT, Trial, law_of, share
from verify.properties.judge import Judge
from verify.report import Reason
from verify.subject.returned import check_results, values

LIKELIEST = 0.6
"""Up to what probability of the outcomes counted as one half the planned correlation is seen with the stated power."""

RESOLUTION = 2.0**-24
"""A uniform number in float32 has 24 bits, so any probability may be off by this."""

SHORT = 12
"""Up to so many booleans are told where one of them is wrong."""

PRIMES = (3, 2, 5, 7, 11, 13, 17, 19)

TIMED = 8
"""Repetitions of the main situation in the call that is timed."""


def situations(formula: Formula) -> tuple[Situation, ...]:
    """The situations, the main one large enough for the stated power against any probability; and those of extreme numbers,
    where the formula is given numbers.
    """
    asked = any(is_size(item) or item.role == "number" for item in formula.inputs)
    return (*_usual(), *(EXTREME if asked else ()))


EXTREME = (
    Situation("one at most", 4, 7, 2_000, whole=(1,)),
    Situation("all at most", 2, 101, 30_000, scale=0.5, whole=(101,), numbers=(1.0, 1.0)),
    Situation("more than there are", 2, 211, 30_000, scale=0.5, whole=(223,), numbers=(1.0, 0.95)),
    Situation("a vocabulary", 1, 1543, 8_000, scale=2.0, copies=512, whole=(1543,), numbers=(1.0, 1.0)),
    Situation("small numbers", 4, 7, 10_000, scale=0.008, whole=(11,), numbers=(0.004, 0.9)),
    Situation("a small share", 3, 101, 10_000, scale=0.5, whole=(101,), numbers=(1.0, 0.02)),
    Situation("next to no share", 3, 7, 2_000, scale=0.5, whole=(7,), numbers=(1.0, 1e-20)),
    Situation("far from zero", 4, 7, 10_000, offset=200.0, whole=(7,)),
    Situation("large numbers", 4, 7, 10_000, scale=51.0, whole=(7,), numbers=(64.0, 0.95)),
)
"""How many outcomes stay at most, a temperature, a share: at the ends of what they may be, where an implementation may have a
way of its own or a limit.
"""


def _usual() -> tuple[Situation, ...]:
    level = ALPHA / 2 / (4 * 5)  # of a headline test: the outcomes of the main situation
    joint = LIKELIEST**2
    main = max(
        sample_size(0.5, 0.5 + SHIFT, level, POWER),
        2 * sample_size(joint, joint + CORRELATION * LIKELIEST * (1 - LIKELIEST), level, POWER),
    )
    return (
        Situation("main", 4, 5, main),
        Situation("masks", 8, 7, 30_000, masked=True, others=3, numbers=(1.5, 1.0)),
        Situation("peaked", 4, 7, 30_000, scale=3.0, numbers=(2.0, 0.9)),
        Situation("sharpened", 5, 7, 30_000, others=2, numbers=(0.5, 0.75)),
        Situation("alike", 2, 11, 30_000, scale=0.0, numbers=(1.0, 0.3)),
        Situation("two outcomes", 3, 2, 30_000, numbers=(0.75, 0.8)),
        Situation("many outcomes", 2, 101, 60_000, dtype="float64", others=5, numbers=(1.25, 0.6)),
        Situation("very many outcomes", 1, 1031, 20_000, copies=512),
        Situation("huge inputs", 64, 5, 500, scale=1e5, masked=True, copies=64),
        Situation("one outcome", 2, 1, 2_000, copies=500, numbers=(1.0, 0.1)),
        # Repetitions of one call, not in one.
        Situation("one position", 1, 5, 400, copies=1),
        Situation("a batch", 3, 7, 30_000, masked=True, batch=(2, 3), copies=1024, numbers=(1.0, 0.7)),
    )


# Inputs -------------------------------------------------------------------------------------------------------------------


def draw_inputs(formula: Formula, situation: Situation, seed: int, masks: bool) -> dict[str, Any]:
    """The inputs of a situation, each position once; real ones hold values of the situation's type."""
    random = np.random.default_rng([seed, situation.positions, situation.outcomes])
    sizes, numbers = sizes_in(formula, situation), cycle(situation.numbers)
    inputs: dict[str, Any] = {}
    for item in formula.inputs:
        if is_size(item):
            inputs[str(item)] = sizes[item]
            continue
        shape = tuple(whole(size, sizes) for size in item.shape)
        shape = (*situation.batch, *shape) if item.role in ("data", "mask") else shape
        if item.role == "mask":
            inputs[item.name] = _masks(random, shape) if situation.masked and masks else None
        elif item.role == "number":
            inputs[item.name] = next(numbers)
        elif item.domain == "boolean":
            inputs[item.name] = random.random(shape) < 0.5
        elif item.domain in ("integer", "label"):
            inputs[item.name] = random.integers(0, whole(item.below, sizes), shape)
        elif item.role != "generator":
            drawn = fit_domain(item, situation.offset + situation.scale * random.standard_normal(shape))
            inputs[item.name] = round_to(drawn, situation.dtype)
    return inputs


def sizes_in(formula: Formula, situation: Situation) -> dict[Size, int]:
    """Positions and outcomes as the situation has them, its whole numbers, and small primes for the other sizes."""
    law = law_of(formula)
    given = {law.over[-1][1]: situation.positions, law.probability.shape[len(law.over)]: situation.outcomes}
    asked = (item for item in formula.inputs if is_size(item) and item not in given)
    given |= dict(zip(asked, situation.whole, strict=False))
    others = (s for s in sizes_of_formula(formula) if s not in given)
    return {**given, **dict(zip(others, PRIMES[situation.others :], strict=False))}


def _masks(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """All True; some; a single one; none; the first half; the second half; all but one; some."""
    mask = random.random(shape) < 0.6
    rows, columns = np.arange(shape[-2]) % 8, np.arange(shape[-1])
    kinds = {
        0: columns >= 0,
        2: columns == shape[-1] // 2,
        3: columns < 0,
        4: columns < (shape[-1] + 1) // 2,
        5: columns >= shape[-1] // 2,
        6: columns != 0,
    }
    for kind, row in kinds.items():
        mask[..., rows == kind, :] = row
    return mask


def repeat_positions(formula: Formula, inputs: Mapping[str, Any], copies: int) -> dict[str, Any]:
    """The inputs with every position repeated along its axis: 0, 1, …, 0, 1, … ."""
    symbol = law_of(formula).over[-1][1]
    found = dict(inputs)
    for item in formula.tensors:
        value = found.get(item.name)
        if isinstance(value, np.ndarray) and symbol in item.shape:
            repeats = [1] * value.ndim
            repeats[item.shape.index(symbol) - len(item.shape)] = copies
            found[item.name] = np.tile(value, repeats)
    return found


def arguments(
    formula: Formula,
    inputs: Mapping[str, Any],
    generator: torch.Generator,
    dtype: str,
    device: str,
    masks: bool,
) -> list[Any]:
    """One call's arguments in declared order."""
    made: list[Any] = []
    for item in formula.inputs:
        value = inputs.get(str(item))
        if isinstance(item, Tensor) and item.role == "generator":
            made.append(generator)
        elif isinstance(item, Tensor) and item.role == "mask" and not masks:
            continue
        elif isinstance(value, np.ndarray):
            tensor = torch.from_numpy(value.copy()).to(device)
            made.append(tensor.to(DTYPES[dtype]) if tensor.is_floating_point() else tensor)
        else:
            made.append(value)
    return made


def number_outcomes(parts: Sequence[Any], extents: Sequence[int]) -> Ints:
    """The number of each outcome among all combinations of its components; −1 for what is none."""
    number, outside = np.int64(0), np.False_
    for part, size in zip(parts, extents, strict=True):
        number = number * size + part
        outside = outside | (part < 0) | (part >= size)
    return np.where(outside, -1, number)


def describe_position(formula: Formula, inputs: Mapping[str, Any], position: int) -> str:
    """The whole numbers and the booleans that a position is given, in words, where they are few."""
    symbol, said = law_of(formula).over[-1][1], []
    for item in formula.tensors:
        value = inputs.get(item.name)
        if not isinstance(value, np.ndarray) or item.domain not in ("boolean", *WHOLE):
            continue
        mine = value[position] if item.shape and item.shape[0] == symbol else value
        if mine.ndim == 0:
            said.append(f"{item.name} {mine}")
        elif mine.size <= SHORT and item.domain == "boolean":
            (at,) = np.nonzero(mine)
            said.append(f"{item.name} True {'at ' + ', '.join(map(str, at)) if len(at) else 'nowhere'}")
    return " and ".join(said)


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

    def find_broken(
        self, condition: Node, over: Sequence[tuple[Size, Any]]
    ) -> tuple[int, dict[str, int] | None]:
        """Return at how many indices a condition was asked for, and the first at which it fails."""
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
        return number_outcomes([self.evaluator.index(part, spans) for part in self.law.outcome], self.extents)


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
        self.conditions = [
            apply_conventions(axiom.condition, self.judge.conventions) for axiom in self.law.axioms
        ]

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
        found = check_results(
            self.caller(*passed), self.law.returns, sizes, batch, situation.dtype, self.device, begin,
            f"the situation “{situation.name}”",
        )  # fmt: skip
        return [values(x) for x in found]

    def pace(self) -> float:
        """The share, told by calls of the main situation."""
        main = self.planned[0]
        inputs = draw_inputs(self.formula, main, self.seed, self.masks)
        generator = self.generator()

        def once(copies: int) -> int:
            many = repeat_positions(self.formula, inputs, copies)
            self.caller(*arguments(self.formula, many, generator, main.dtype, self.device, self.masks))
            return copies * main.positions

        return share(once, [(s.calls, s.copies * s.positions * s.members) for s in self.planned], TIMED)

    def draw(self, plan: Situation) -> Draws:
        """The sample of a situation."""
        situation = plan
        once = draw_inputs(self.formula, situation, self.seed, self.masks)
        many = repeat_positions(self.formula, once, situation.copies)
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
            tuple(
                describe_position(self.formula, self.single(once, place), r)
                for r in range(situation.positions)
            )
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
            count, wrong = member.find_broken(condition, axiom.over or self.law.over)
            self.axiom_counts[axiom.name] += count
            if wrong is not None and axiom.name not in self.violations:
                at = ", ".join(f"{name} = {value}" for name, value in wrong.items())
                self.violations[axiom.name] = (
                    f"violated: {axiom.sentence}; {where}, {at}: {self._describe_results(member, wrong)}"
                )

    def _describe_results(self, member: Member, at: Mapping[str, int]) -> str:
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
        many = repeat_positions(
            self.formula, draw_inputs(self.formula, situation, self.seed, self.masks), situation.copies
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

    def explain(self, failed: Mapping[str, str]) -> tuple[str, Reason]:
        """Which outcomes are drawn otherwise, and how, or what the first check says."""
        what = self.formula.sizes.get(self.law.over[-1][1], "positions")
        return choice_cause(self.samples, failed, what)
