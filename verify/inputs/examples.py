"""Examples: sizes, regimes and arrays for the inputs of any formula, from its declaration alone.

A :class:`Recipe` is a handful of small integers. The first ones of a check are planned, so that every regime, mask, number and
kind of sizes occurs early and evenly; the others are Hypothesis's to search. A recipe fully determines its :class:`Example`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.dimensions import Size, is_size, solved_all, whole
from spec.language.formula import Formula
from verify.inputs import mask_kinds, regimes
from verify.inputs.kept_examples import KEPT, Hashed
from verify.inputs.leads import ALL, YOUNG, Lead, far_out, leads
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.inputs.sizes import ALIKE, BY_CHANCE, LEAST, ONE, ROUND, SIZE_KINDS, Sizing, sizing

SHARING = 100
"""For every so many planned examples, one more choice of sizes of each kind: examples of equal sizes are evaluated together."""
LARGEST = {"float16": 3e4}
"""Magnitudes that inputs do not exceed, in types with a narrow range."""


class Recipe(NamedTuple):
    """What distinguishes one example from another, as small integers; ``variant``: which sizes of their kind."""

    sizes: int
    regime: int
    other: int
    mask: int
    number: int
    seed: int
    variant: int = 0


@dataclass
class Example:
    """Inputs of a formula: arrays (real ones float64, holding values of ``dtype``), Python numbers, None for no mask.

    ``supported``: to what they keep, and what is made of them has to keep; ``turn``: which of the examples of its kind it is,
    where something is to be tried in turn.
    """

    inputs: dict[str, Any]
    dtype: str
    sizes: dict[Size, int]
    regime: str = ""
    batch: tuple[int, ...] = ()
    generator_seed: int | None = None
    cotangents: dict[str, Any] = field(default_factory=dict)
    supported: Supported = EVERY_SIZE
    turn: int = 0

    def single(self, formula: Formula, place: tuple[int, ...]) -> dict[str, Any]:
        """The inputs of one member of the batch."""
        if not self.batch:
            return self.inputs
        found = dict(self.inputs)
        for item in formula.tensors:
            value = found.get(item.name)
            if item.role in ("data", "mask") and isinstance(value, np.ndarray):
                found[item.name] = value[place]
        return found

    def changed(self, **inputs: Any) -> Example:
        """The same example with some inputs replaced."""
        return replace(self, inputs={**self.inputs, **inputs})

    def alike(self, formula: Formula) -> Example:
        """The same example with the same values for all real data inputs of one shape."""
        first: dict[Any, Any] = {}
        same = {}
        for tensor in formula.tensors:
            value = self.inputs.get(tensor.name)
            if tensor.role == "data" and tensor.domain == "real" and isinstance(value, np.ndarray):
                same[tensor.name] = first.setdefault(value.shape, value)
        return self.changed(**same)


def rounded(values: Any, dtype: str) -> Any:
    """Values rounded to a type, as float64."""
    array = np.asarray(values, dtype=np.float64)
    if dtype == "float64":
        return array
    if dtype == "float32":
        with np.errstate(over="ignore"):
            return array.astype(np.float32).astype(np.float64)
    limit = LARGEST.get(dtype)
    with np.errstate(over="ignore"):
        within = array if limit is None else np.clip(array, -limit, limit)
        single = within.astype(np.float32)  # on the way, as torch does
    return np.asarray(single.astype(np.float16) if dtype == "float16" else _to_bfloat16(single), np.float64)


def _to_bfloat16(single: Any) -> Any:
    """float32 numbers rounded to nearest in the upper half of their bits, to even where two are as near; NaN stays so."""
    bits = np.atleast_1d(single).view(np.uint32)
    kept = (bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) & np.uint32(0xFFFF0000)
    found = kept.view(np.float32).reshape(np.shape(single))
    lost = np.isnan(single)
    return np.where(lost, single, found) if lost.any() else found


class Space:
    """The examples of one formula."""

    def __init__(
        self,
        formula: Formula,
        masks: bool = True,
        moderate: bool = False,
        supported: Supported = EVERY_SIZE,
    ) -> None:
        self.formula, self.moderate, self.supported = formula, moderate, supported
        self.masks = regimes.MASKS if masks else regimes.MASKS[:1]
        self.fixed = dict(supported.fixed)
        self.data_regimes = tuple(r for r in regimes.DATA if r.moderate or not moderate)
        self.numbers = [t for t in formula.tensors if t.role == "number"]
        self.masked = any(t.role == "mask" for t in formula.tensors)

    @property
    def sizing(self) -> Sizing:
        """How sizes are drawn."""
        return sizing(self.formula, self.supported)

    @property
    def symbols(self) -> tuple[Size, ...]:
        """The sizes to choose, in order of appearance."""
        return self.sizing.symbols

    @cached_property
    def leads(self) -> tuple[Lead, ...]:
        """What examples are about, the most telling first."""
        return _leads(self.formula, self.data_regimes, tuple(self.fixed))

    @cached_property
    def far(self) -> tuple[Lead, ...]:
        """Leads that are asked for by themselves, and numbered behind the others."""
        return () if self.moderate else far_out(self.formula, tuple(self.fixed))

    def far_out(self, count: int, seed: int) -> list[Recipe]:
        """Recipes of parameters at a scale at which types differ in what they can hold, at sizes of every kind."""
        random, kinds = np.random.default_rng([seed, 19]), self.sizing.kinds
        first = int(random.integers(len(self.far))) if self.far else 0
        return [
            Recipe(
                sizes=kinds[turn % len(kinds)],
                regime=len(self.leads) + (first + turn) % len(self.far),
                other=0,
                mask=0,
                number=turn,
                seed=int(random.integers(2**31)),
                variant=turn,
            )
            for turn in range(count if self.far else 0)
        ]

    def plain(self, count: int, seed: int) -> list[Recipe]:
        """Recipes at which bounds are as small as they can be: the least sizes, unit normal data, young parameters."""
        random = np.random.default_rng([seed, 17])
        young = self._led_by(YOUNG)
        return [Recipe(LEAST, young, 0, turn, turn, int(random.integers(2**31))) for turn in range(count)]

    def young(self, sizes: Mapping[Size, int], seed: int, mask: bool, dtype: str) -> Example:
        """An example of these sizes at which bounds are as small as they can be."""
        return self.example(Recipe(LEAST, self._led_by(YOUNG), 0, int(mask), 0, seed, 0), dtype, sizes=sizes)

    def ones(self, seed: int) -> list[Recipe]:
        """Recipes at which one size is 1, each in its turn, and else as plain as they are: with a mask and without one, where an
        evaluation is not dear.
        """
        random, young = np.random.default_rng([seed, 29]), self._led_by(YOUNG)
        count = 0 if self.supported.few else len(self.symbols)
        return [
            Recipe(ONE, young, 0, (turn + place) % 2, place, int(random.integers(2**31)), place)
            for turn in range(1 if self.sizing.dear else 2)
            for place in range(count)
        ]

    def _led_by(self, name: str) -> int:
        """The place of the lead with this name; the first where there is none."""
        return next((place for place, lead in enumerate(self.leads) if lead.name == name), 0)

    def real_sizes(self, count: int, seed: int) -> list[Recipe]:
        """Recipes at sizes such as those of real models, multiples of 8: on unit normal data, with masks, and without them with
        one large entry in each row, which stands out of a wide one by more deviations than out of a short one. Where derivatives
        are judged, rows have mixed scales instead.
        """
        random, rounds = np.random.default_rng([seed, 23]), self.sizing.rounds
        uneven = self._led_by(f"{ALL}: {(regimes.MIXED if self.moderate else regimes.SPIKE).name}")
        turns = [(0, turn + 1, variant) for turn, variant in enumerate(rounds)]
        turns += [(uneven, 0, variant) for variant in rounds]
        return [
            Recipe(ROUND, lead, 0, mask, place, int(random.integers(2**31)), variant)
            for place, (lead, mask, variant) in enumerate(turns[:count])
        ]

    def plan(self, count: int, seed: int, large: bool = False) -> Iterator[Recipe]:
        """The first ``count`` recipes: regimes, masks, numbers and kinds of sizes each in turn, at coprime paces.

        With ``large`` one in eight is about a large size instead, on unit normal data: many steps first, then each size in turn.
        """
        random = np.random.default_rng([seed, 7])
        variants = random.integers(2**31, size=(SIZE_KINDS, 1 + count // SHARING))
        sizes = self.sizing
        wide, long = (sizes.wide, len(sizes.long)) if large else (0, 0)
        others, done = len(sizes.large) - long, 0
        for place in range(count):
            if wide and place % 8 == 5 and done < wide:
                kind = SIZE_KINDS + (done if done < long else long + (done - long + seed) % others)
                yield Recipe(kind, 0, 0, done % 2, done % 6, int(random.integers(2**31)))
                done += 1
                continue
            turn = place - done
            kind = sizes.kinds[(turn if turn >= len(self.leads) else turn * 7) % len(sizes.kinds)]
            if any(regime.square for regime in self.leads[turn % len(self.leads)].draws.values()):
                kind = ALIKE
            yield Recipe(
                sizes=kind,
                regime=turn % len(self.leads),
                other=0 if turn < len(self.leads) else int(random.integers(len(self.data_regimes))),
                mask=(turn + turn // len(self.masks)) % len(self.masks),
                number=(turn + turn // 6) % len(regimes.POSITIVE_NUMBERS),
                seed=int(random.integers(2**31)),
                variant=turn // SIZE_KINDS
                if kind == BY_CHANCE
                else int(variants[kind, turn // SIZE_KINDS % variants.shape[1]]),
            )

    def example(
        self,
        recipe: Recipe,
        dtype: str,
        batch: tuple[int, ...] = (),
        sizes: Mapping[Size, int] | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> Example:
        """The example that a recipe describes; at ``sizes``, and with inputs that are ``given``, if they are."""
        if given is not None:
            return self._drawn(recipe, dtype, batch, sizes, given)
        key = (self._asked, recipe, dtype, batch, tuple((sizes or {}).items()))
        return KEPT.get(key, lambda: self._drawn(recipe, dtype, batch, sizes))

    @cached_property
    def _asked(self) -> Hashable:
        """What determines examples, beside what they are asked for with."""
        return Hashed((self.formula, len(self.masks), self.moderate, self.supported))

    def _drawn(
        self,
        recipe: Recipe,
        dtype: str,
        batch: tuple[int, ...],
        sizes: Mapping[Size, int] | None,
        given: Mapping[str, Any] | None = None,
    ) -> Example:
        random = np.random.default_rng([*recipe])
        sizes = dict(sizes or self.sizing.drawn(recipe.sizes, recipe.variant))
        beyond = recipe.regime - len(self.leads)
        far = 0 <= beyond < len(self.far)
        lead = self.far[beyond] if far else self.leads[recipe.regime % len(self.leads)]
        other = self.data_regimes[recipe.other % len(self.data_regimes)]
        mask = self.masks[recipe.mask % len(self.masks)]
        inputs: dict[str, Any] = {}
        for item in self.formula.inputs:
            if is_size(item):
                inputs[str(item)] = sizes[item]
                continue
            if given is not None and item.name in given:
                inputs[item.name] = given[item.name]
                continue
            shape = tuple(whole(size, sizes) for size in item.shape)
            if item.role in ("data", "mask"):
                shape = (*batch, *shape)
            if item.role == "mask":
                inputs[item.name] = mask.draw(random, shape)
                if self.masks is regimes.MASKS:
                    inputs[item.name] = mask_kinds.settled(self.supported.masks, inputs[item.name], shape)
            elif item.name in self.fixed:
                value = self.fixed[item.name]
                number = int(value) if item.domain == "integer" else value
                inputs[item.name] = number if item.role == "number" else np.full(shape, rounded(value, dtype))
            elif item.role == "generator":
                continue
            elif item.domain in WHOLE:
                below = whole(item.below, sizes) if item.below != 0 else 1
                made = regimes.identifiers(random, shape, below, recipe.number)
                if item.domain == "label":
                    made = regimes.some_without(random, made, recipe.mask)
                inputs[item.name] = int(made) if item.role == "number" else made
            elif item.domain == "boolean":
                kind = regimes.BOOLEANS[recipe.mask % len(regimes.BOOLEANS)]
                inputs[item.name] = kind.draw(random, shape)
            elif item.role == "number":
                inputs[item.name] = self._number(item, recipe, random)
            else:
                chosen = lead.regime(item.name, item.role) or (
                    other if item.role == "data" else regimes.DISTINCT
                )
                inputs[item.name] = rounded(fitted(item, chosen.draw(random, shape)), dtype)
        said = [lead.name] if lead.name else []
        if self.masked and mask.name != "no mask":
            said.append(mask.name)
        seed, regime_name = recipe.seed % 2**31, ", ".join(said)
        drawn = Example(inputs, dtype, sizes, regime_name, batch, seed, supported=self.supported)
        return drawn if self.supported.within is None else self.supported.within.brought(drawn)

    def _number(self, item: Tensor, recipe: Recipe, random: np.random.Generator) -> float:
        """A number: of the first, each that is offered in its turn; the others are drawn beside it."""
        if item.domain == "real":
            return float(random.standard_normal())
        offered = regimes.SHARES if item.domain == "share" else regimes.POSITIVE_NUMBERS
        if item.name == "eps":
            offered = regimes.EPSILONS
        place = recipe.number if item == self.numbers[0] else int(random.integers(len(offered)))
        value = float(offered[place % len(offered)])
        if item.below != 0 and value > item.below:  # it is the largest that the number may be
            value = float(item.below) / value
        return value


@lru_cache(maxsize=64)
def _leads(
    formula: Formula, data_regimes: tuple[regimes.Regime, ...], fixed: tuple[str, ...]
) -> tuple[Lead, ...]:
    """Those of a formula, worked out once."""
    return leads(formula, data_regimes, fixed)


def fitted(item: Tensor, values: Any) -> Any:
    """Real values moved into the input's domain."""
    if item.domain == "positive":
        return np.asarray(np.abs(values) + 2.0**-10)  # of an array without axes NumPy makes a number
    return np.asarray(np.abs(values)) if item.domain == "nonnegative" else values


def members(batch: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every place of a batch."""
    return iter(np.ndindex(*batch))


def sizes_of(formula: Formula, inputs: Mapping[str, Any], batch: tuple[int, ...] = ()) -> dict[Size, int]:
    """The sizes, read off the inputs."""
    found: dict[Size, int] = {}
    shapes: list[tuple[Any, int]] = []
    for item in formula.inputs:
        if is_size(item):
            found[item] = int(inputs[str(item)])
        elif inputs.get(item.name) is not None and item.shape:
            lead = len(batch) if item.role in ("data", "mask") else 0
            shapes += zip(item.shape, np.shape(inputs[item.name])[lead:], strict=True)
    return solved_all(shapes, found)
