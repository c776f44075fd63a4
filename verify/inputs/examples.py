"""Examples: sizes, regimes and arrays for the inputs of any formula, from its declaration alone.

A :class:`Recipe` is a handful of small integers. The first ones of a check are planned, so that every regime, mask, number and
kind of sizes occurs early and evenly; the others are Hypothesis's to search. A recipe fully determines its :class:`Example`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from spec.language.arrays import WHOLE, Tensor
from spec.language.binders import SumOf
from spec.language.evaluation.dimensions import Size, is_size, solve_sizes, whole
from spec.language.expr import Func, Ref
from spec.language.formula import Formula
from spec.language.trees import free_symbols, walk
from verify.inputs import mask_kinds, regimes
from verify.inputs.leads import ALL, REAL, YOUNG, Lead, far_out, find_added_numbers, leads
from verify.inputs.size_rules import EVERY_SIZE, NUMBERS, Supported
from verify.inputs.sizes import ALIKE, BY_CHANCE, LEAST, ONE, ROUND, SIZE_KINDS, Sizing, make_sizing

REMEMBERED, ROOM = 1 << 18, 16 << 20
"""Bytes of an example that is remembered, and of all that are, of one space."""
SHARING = 100
"""For every so many planned examples, one more choice of sizes of each kind: examples of equal sizes are evaluated together."""
LARGEST = {"float16": 6e4}
"""Magnitudes that inputs do not exceed, in types with a narrow range."""
UNUSUAL = 8
"""The place of numbers that nobody builds in, such as ε = 1e-3, while ids are any: what a kernel for a width of models has fixed
shows there."""


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

    def replace_inputs(self, **inputs: Any) -> Example:
        """The same example with some inputs replaced."""
        return replace(self, inputs={**self.inputs, **inputs})

    def share_values(self, formula: Formula) -> Example:
        """The same example with the same values for all real data inputs of one shape."""
        first: dict[Any, Any] = {}
        same = {}
        for tensor in formula.tensors:
            value = self.inputs.get(tensor.name)
            if tensor.role == "data" and tensor.domain == "real" and isinstance(value, np.ndarray):
                same[tensor.name] = first.setdefault(value.shape, value)
        return self.replace_inputs(**same)


def round_to(values: Any, dtype: str) -> Any:
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
        """The rules by which sizes are drawn."""
        return make_sizing(self.formula, self.supported)

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
        young = self._find_lead(YOUNG)
        return [Recipe(LEAST, young, 0, turn, turn, int(random.integers(2**31))) for turn in range(count)]

    def young(self, sizes: Mapping[Size, int], seed: int, mask: bool, dtype: str) -> Example:
        """An example of these sizes at which bounds are as small as they can be."""
        return self.example(
            Recipe(LEAST, self._find_lead(YOUNG), 0, int(mask), 0, seed, 0), dtype, sizes=sizes
        )

    def ones(self, seed: int) -> list[Recipe]:
        """Recipes at which one size is 1, each in its turn, and else as plain as they are: with a mask and without one, where an
        evaluation is not costly.
        """
        random, young = np.random.default_rng([seed, 29]), self._find_lead(YOUNG)
        count = 0 if self.supported.few else len(self.symbols)
        return [
            Recipe(ONE, young, 0, (turn + place) % 2, place, int(random.integers(2**31)), place)
            for turn in range(1 if self.sizing.costly else 2)
            for place in range(count)
        ]

    def _find_lead(self, name: str) -> int:
        """The place of the lead with this name; the first where there is none."""
        return next((place for place, lead in enumerate(self.leads) if lead.name == name), 0)

    def real_sizes(self, count: int, seed: int) -> list[Recipe]:
        """Recipes at sizes such as those of real models, multiples of 8: on unit normal data, with masks, and without them with
        one large entry in each row, which stands out of a wide one by more deviations than out of a short one. Where derivatives
        are judged, rows have mixed scales instead.
        """
        random, rounds = np.random.default_rng([seed, 23]), self.sizing.rounds
        uneven = self._find_lead(f"{ALL}: {(regimes.MIXED if self.moderate else regimes.SPIKE).name}")
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
        weights: int | None = None,
    ) -> Example:
        """Draw the example that a recipe describes, at ``sizes`` if given.

        Where ``weights`` are the seed of parameters, these keep data of unit size so (:func:`unit_weights`).
        """
        chosen = dict(sizes or self.sizing.draw_sizes(recipe.sizes, recipe.variant))
        key = (recipe, dtype, batch, tuple(chosen.items()), weights)
        return self._memo.get(key, lambda: self._draw(recipe, dtype, batch, chosen, weights))

    @cached_property
    def _memo(self) -> _Memo:
        return _memo(self.formula, len(self.masks), self.moderate, self.supported)

    def _draw(
        self, recipe: Recipe, dtype: str, batch: tuple[int, ...], sizes: dict[Size, int], weights: int | None
    ) -> Example:
        random = np.random.default_rng([*recipe])
        given = {} if weights is None else unit_weights(self.formula, sizes, dtype, weights, self.fixed)
        beyond = recipe.regime - len(self.leads)
        far = 0 <= beyond < len(self.far)
        lead = self.far[beyond] if far else self.leads[recipe.regime % len(self.leads)]
        mask = self.masks[recipe.mask % len(self.masks)]
        inputs: dict[str, Any] = {}
        for item in self.formula.inputs:
            if is_size(item):
                inputs[str(item)] = sizes[item]
            elif item.name in given:
                inputs[item.name] = given[item.name]
            elif item.role != "generator":
                shape = tuple(whole(size, sizes) for size in item.shape)
                shape = (*batch, *shape) if item.role in ("data", "mask") else shape
                inputs[item.name] = self._draw_input(item, shape, sizes, recipe, lead, dtype, random)
        names = [lead.name] if lead.name else []
        names += [mask.name] if self.masked and len(self.masks) > 1 else []
        seed = recipe.seed % 2**31
        return self.restrict(
            Example(inputs, dtype, sizes, ", ".join(names), batch, seed, supported=self.supported)
        )

    def restrict(self, example: Example) -> Example:
        """The example, inside of the ranges that were declared."""
        within = self.supported.within
        return example if within is None else within.bring_inside(example)

    def _draw_input(
        self,
        item: Tensor,
        shape: tuple[int, ...],
        sizes: Mapping[Size, int],
        recipe: Recipe,
        lead: Lead,
        dtype: str,
        random: np.random.Generator,
    ) -> Any:
        """Draw one input: a mask, a number that is fixed or offered, ids, booleans, or real entries in the regime of the lead."""
        if item.role == "mask":
            mask = self.masks[recipe.mask % len(self.masks)].draw(random, shape)
            kind = self.supported.masks if self.masks is regimes.MASKS else mask_kinds.EVERY
            return mask_kinds.restrict_mask(kind, mask, shape)
        if item.name in self.fixed:
            value = self.fixed[item.name]
            number = NUMBERS.get(item.domain, float)(value)
            if item.role == "number":
                return number
            return np.full(shape, number if item.domain in WHOLE else round_to(value, dtype))
        if item.domain in WHOLE:
            below = whole(item.below, sizes) if item.below != 0 else 1
            if item.role == "number":
                return regimes.whole_number(random, below, recipe.number)
            ids = regimes.identifiers(random, shape, below, recipe.number)
            return regimes.some_without(random, ids, recipe.mask) if item.domain == "label" else ids
        if item.domain == "boolean":
            truths = regimes.BOOLEANS[recipe.mask % len(regimes.BOOLEANS)].draw(random, shape)
            return bool(truths) if item.role == "number" else truths
        if item.role == "number":
            return self._draw_number(item, recipe, random)
        others = self.data_regimes[recipe.other % len(self.data_regimes)], regimes.DISTINCT
        regime = lead.regime(item.name, item.role) or others[item.role != "data"]
        return round_to(fit_domain(item, regime.draw(random, shape)), dtype)

    def offered(self, item: Tensor) -> tuple[float, ...]:
        """The values at which a number is tried."""
        if item.name in find_added_numbers(self.formula.flat(None)):
            return regimes.EPSILONS
        return regimes.SHARES if item.domain == "share" else regimes.POSITIVE_NUMBERS

    def _draw_number(self, item: Tensor, recipe: Recipe, random: np.random.Generator) -> float:
        """A number: of the first, each that is offered in its turn; the others are drawn beside it."""
        if item.domain == "real":
            return float(random.standard_normal())
        offered = self.offered(item)
        place = recipe.number if item == self.numbers[0] else int(random.integers(len(offered)))
        value = float(offered[place % len(offered)])
        if item.below != 0 and value > item.below:  # it is the largest that the number may be
            value = float(item.below) / value
        return value


class _Memo:
    """Examples that were drawn, by what determines them: the next implementation of a formula is asked for the same."""

    def __init__(self) -> None:
        self.found: dict[Hashable, Example] = {}
        self.size = 0

    def get(self, key: Hashable, draw: Callable[[], Example]) -> Example:
        """The example of this key, whose arrays are read-only; all are forgotten once they take more than :data:`ROOM`."""
        known = self.found.get(key)
        if known is None:
            known = draw()
            arrays = [value for value in known.inputs.values() if isinstance(value, np.ndarray)]
            size = sum(array.nbytes for array in arrays)
            if size > REMEMBERED:
                return known
            for array in arrays:
                array.flags.writeable = False
            if self.size + size > ROOM:
                self.found, self.size = {}, 0
            self.found[key], self.size = known, self.size + size
        return replace(known, inputs=dict(known.inputs), sizes=dict(known.sizes), cotangents={})


@lru_cache(maxsize=8)
def _memo(formula: Formula, masks: int, moderate: bool, supported: Supported) -> _Memo:
    """Return the memo of one space, shared by all spaces that are equal."""
    return _Memo()


@lru_cache(maxsize=64)
def _leads(
    formula: Formula, data_regimes: tuple[regimes.Regime, ...], fixed: tuple[str, ...]
) -> tuple[Lead, ...]:
    """Return the leads of a formula, worked out once."""
    return leads(formula, data_regimes, fixed)


def fit_domain(item: Tensor, values: Any) -> Any:
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
    return solve_sizes(shapes, found)


# Examples of the sizes of real models: data are unit normal, and weights keep them so ------------------------------------------


def realistic(
    formula: Formula,
    sizes: Mapping[Size, int],
    dtype: str,
    seed: int,
    masks: int,
    supported: Supported = EVERY_SIZE,
    batch: tuple[int, ...] = (),
    number: int = 0,
) -> Example:
    """Draw an example at realistic sizes; ``masks`` draws a mask where the statement has one (1: a random one; 2: one that leaves
    half of the rows nothing), and labels for all.

    ``number`` is the place of the first number among those that are offered.
    """
    causal = supported.masks == "causal"  # there is no other, and none is a mask, too
    space = _space(formula, bool(masks) or causal, supported)
    made = space.example(Recipe(0, 0, 0, int(masks), number, seed), dtype, batch, sizes, weights=seed)
    return replace(made, regime="as wide as real models")


def unit_weights(
    formula: Formula, sizes: Mapping[Size, int], dtype: str, seed: int, fixed: Collection[str] = ()
) -> dict[str, Any]:
    """Draw random parameters, those that are ``fixed`` left out, by which data of unit size stay so."""
    weights = _draw_weights(formula, tuple(sizes.items()), frozenset(fixed), seed)
    return {name: round_to(values, dtype) for name, values in weights.items()}


@lru_cache(maxsize=32)
def _space(formula: Formula, masks: bool, supported: Supported) -> Space:
    """The examples of a formula: what they may be about is read off it once."""
    return Space(formula, masks, supported=supported)


@lru_cache(maxsize=2)
def _draw_weights(
    formula: Formula, sizes: tuple[tuple[Size, int], ...], fixed: frozenset[str], seed: int
) -> Mapping[str, Any]:
    """The parameters that are not ``fixed``, before they are rounded to a type: every type is graded at the same.

    They are uniform, as layers begin, and the mean of their squares is 1 over the number of terms that they are summed with.
    """
    random, at = np.random.default_rng([seed, 13]), dict(sizes)
    summed, made = _find_summed_axes(formula), {}
    for item in formula.tensors:
        if item.role == "parameter" and item.domain in REAL and item.name not in fixed:
            shape = tuple(whole(size, at) for size in item.shape)
            drawn = np.asarray(
                1.0 - random.random(shape, np.float32), np.float64
            )  # no type graded holds more
            spread = 3.0  # of numbers up to 1, none of them 0, whose squares have the mean 1/3
            if item.domain == "real":
                drawn -= 0.5
                spread = 12.0
            terms = math.prod(whole(length, at) for length in summed.get(item.name, ()))
            made[item.name] = drawn * math.sqrt(spread / terms)
    return made


@lru_cache(maxsize=64)
def _find_summed_axes(formula: Formula) -> dict[str, list[Any]]:
    """For each parameter the lengths of those of its axes that a sum runs over: read off the statement once."""
    found: dict[str, dict[int, Any]] = {}
    for line in formula.flat(None).lines:
        for part in walk(line.right):
            for entry in _outside_functions(part.body) if isinstance(part, SumOf) else ():
                if entry.tensor.role == "parameter":
                    for axis, index in enumerate(entry.index):
                        if part.var in free_symbols(index):
                            found.setdefault(entry.tensor.name, {})[axis] = entry.tensor.shape[axis]
    return {name: list(axes.values()) for name, axes in found.items()}


def _outside_functions(node: Any) -> Iterator[Ref]:
    """The entries that a sum adds up, those inside a function left out: a function starts anew."""
    if isinstance(node, Ref):
        yield node
    elif not isinstance(node, Func):
        for part in node.args:
            yield from _outside_functions(part)
