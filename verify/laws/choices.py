"""Laws in which every position draws one of finitely many outcomes: the situations, the draws, and what the statement says.

Where an outcome has several components, such as a sentence and a label, what is counted is their number among all combinations.

A situation is a handful of positions with inputs of their own; each is repeated many times along the positions' axis, so that
the statement's distribution is evaluated once a position and drawn many times a call. Inputs, outcomes, probabilities and
axioms all come from the formula and its law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import numpy as np
import torch

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.dimensions import Size, is_size, whole
from spec.language.formula import Formula
from verify.inputs.dtypes import DTYPES
from verify.inputs.examples import fitted, rounded
from verify.inputs.size_rules import sizes_of_formula
from verify.laws.statistics import ALPHA, POWER, Ints, Reals, sample_size
from verify.laws.trial import CORRELATION, SHIFT, law_of

LEAST = 64
"""So often everything is drawn at least."""

LIKELIEST = 0.6
"""Up to what probability of the outcomes counted as one half the planned correlation is seen with the stated power."""

SEEDED, SAME = 64, 1e-9
"""Repetitions of a situation in the calls that tell seeds apart, and how probable it may be that two of them are the same."""

RESOLUTION = 2.0**-24
"""A uniform number in float32 has 24 bits, so any probability may be off by this."""

SHORT = 12
"""Up to so many booleans are told where one of them is wrong."""

PARTED = 8
"""Calls at least into which a share of the draws is parted."""

PRIMES = (3, 2, 5, 7, 11, 13, 17, 19)


@dataclass(frozen=True)
class Situation:
    """Inputs of one kind: positions and outcomes, the scale of real inputs, masks, and how often each position is drawn."""

    name: str
    positions: int
    outcomes: int
    draws: int
    scale: float = 1.0
    masked: bool = False
    batch: tuple[int, ...] = ()
    dtype: str = "float32"
    copies: int = 4096
    """Repetitions of the positions in one call."""
    others: int = 0
    """Where in the primes the sizes begin that are neither positions nor outcomes."""
    numbers: tuple[float, ...] = (1.0,)
    """The Python numbers, one after the other and again from the first."""
    offset: float = 0.0
    """What is added to real inputs."""
    whole: tuple[int, ...] = ()
    """The whole numbers that are inputs themselves; primes where there are none."""

    @property
    def calls(self) -> int:
        """How many calls it takes."""
        return max(2, -(-self.draws // self.copies))

    @property
    def members(self) -> int:
        """How many members a batch has."""
        return math.prod(self.batch)

    def paced(self, part: float) -> Situation:
        """The situation with a share of its draws, in calls that are as much smaller; as it is where the share is 1."""
        if part >= 1:
            return self
        draws = min(self.draws, max(LEAST, math.ceil(part * self.draws)))
        return replace(self, draws=draws, copies=min(self.copies, max(LEAST // 2, draws // PARTED)))


@dataclass
class Draws:
    """What was drawn: ``chosen[t, b, c, r]``, the outcome of position r in repetition c of member b in call t.

    ``low`` and ``high`` (b, r, outcome) enclose the statement's probabilities for an implementation in the situation's type;
    both are 0 in a row about which the law says nothing but its axioms. An outcome's number counts all combinations of
    ``parts``, its components by name and how many values each has; ``told[b][r]`` are the inputs of a position in words.
    """

    situation: Situation
    chosen: Ints
    low: Reals
    high: Reals
    parts: tuple[tuple[str, int], ...] = ()
    told: tuple[tuple[str, ...], ...] = ()

    @property
    def extents(self) -> tuple[int, ...]:
        """How many values each component has."""
        return tuple(size for _, size in self.parts)

    def said(self, outcome: int) -> str:
        """An outcome's components by name: ``second 3, label 1``."""
        if outcome < 0:
            return "what is no outcome"
        values = np.unravel_index(outcome, self.extents)
        return ", ".join(f"{name} {value}" for (name, _), value in zip(self.parts, values, strict=True))

    def where(self, b: int, r: int) -> str:
        """A position in words: the situation, its member, and its inputs where they can be told."""
        member = f" of member {b}" if self.situation.batch else ""
        told = f" ({self.told[b][r]})" if self.told and self.told[b][r] else ""
        return f"{self.situation.name}: position {r}{member}{told}"

    @property
    def varies(self) -> bool:
        """Whether the outcomes at all positions, each repeated, are hardly ever the same again."""
        said = self.high.max(-1) > 0
        same = np.minimum((self.high**2).sum(-1), 1.0)[said]
        return bool(-SEEDED * np.log(same).sum() >= -math.log(SAME))

    @property
    def total(self) -> int:
        """How many draws there are."""
        return int(self.chosen.size)

    def impossible(self) -> str:
        """The first outcome to which the statement gives probability 0, in words; empty if there is none."""
        count = self.low.shape[-1]
        said = self.high.sum(-1) > 0
        b, r = (each[:, None, :] for each in np.indices(said.shape))
        high = self.high[b, r, np.clip(self.chosen, 0, count - 1)]  # (t, b, c, r)
        wrong = ((self.chosen < 0) | (self.chosen >= count) | (high <= 0)) & said[:, None, :]
        if not wrong.any():
            return ""
        place = tuple(int(x) for x in np.argwhere(wrong)[0])
        where, drawn = self.where(place[1], place[3]), self.said(int(self.chosen[place]))
        return f"{where} drew {drawn} in call {place[0]}: the statement gives this probability 0"


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


def drawn_inputs(formula: Formula, situation: Situation, seed: int, masks: bool) -> dict[str, Any]:
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
            drawn = fitted(item, situation.offset + situation.scale * random.standard_normal(shape))
            inputs[item.name] = rounded(drawn, situation.dtype)
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


def repeated(formula: Formula, inputs: Mapping[str, Any], copies: int) -> dict[str, Any]:
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


def numbered(parts: Sequence[Any], extents: Sequence[int]) -> Ints:
    """The number of each outcome among all combinations of its components; −1 for what is none."""
    number, outside = np.int64(0), np.False_
    for part, size in zip(parts, extents, strict=True):
        number = number * size + part
        outside = outside | (part < 0) | (part >= size)
    return np.where(outside, -1, number)


def told(formula: Formula, inputs: Mapping[str, Any], position: int) -> str:
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


__all__ = [
    "Draws",
    "Situation",
    "arguments",
    "drawn_inputs",
    "numbered",
    "repeated",
    "situations",
    "sizes_in",
    "told",
]
