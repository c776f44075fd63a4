"""Strategies of simple examples, which counterexamples shrink to: plain entries at small sizes, or a failing one made simpler.

Hypothesis shrinks towards the first of each choice: sizes to 1, entries to 0, masks to none, leading dimensions to none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from spec.language.arrays import NO_LABEL, WHOLE, Tensor
from spec.language.evaluation.dimensions import Size, is_size, symbols_in, whole
from spec.language.formula import Formula
from verify.inputs import mask_kinds
from verify.inputs.examples import Example, round_to
from verify.inputs.leads import find_added_numbers
from verify.inputs.regimes import EPSILONS, POSITIVE_NUMBERS, SHARES
from verify.inputs.size_rules import EVERY_SIZE, NUMBERS, Supported, sizes_of_formula

Masks = Literal["none", "open", "any"]
"""Which masks are drawn: none, those under which every query sees some key, or any: a query that sees none is a corner of its
own."""
ENTRIES = (0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 10.0)
"""Entries of plain examples, the plainest first."""
SIZES = 3
"""The largest size of plain examples."""
SEVERAL = 64
"""So many different ids are drawn, the least ones."""
LEAST_BYTES = 32
"""Bytes that are drawn for an array at least: as many at most sizes, so that entries stay what they are while sizes shrink."""
FEW = 400
"""Of a failing example of up to so many entries, others near it are drawn."""
DOMAINS: dict[str, Callable[[float], bool]] = {
    "real": lambda x: True,
    "positive": lambda x: x > 0,
    "nonnegative": lambda x: x >= 0,
    "share": lambda x: 0 <= x <= 1,
}
"""Which real numbers a domain holds."""


@dataclass(frozen=True)
class Plain:
    """The request for plain examples: of which formula, in which type, at which sizes.

    Attributes:
        formula: whose inputs they are.
        dtype: the type of real entries.
        supported: what the callable supports.
        masks: whether it takes a mask; and which there are: none at all, such under which every query sees a key, or any.
        batch: leading dimensions.
        fewer: whether they may be smaller.
        outputs: the tensors for which cotangents are drawn.
        given: what a theorem quantifies over besides the inputs.
        derived: sizes that a theorem determines from the others.
        constants: inputs that a theorem fixes.
        largest: the largest that each size may be, where that is not :data:`SIZES`.
        entries: the entries to choose from.
    """

    formula: Formula
    dtype: str
    supported: Supported = EVERY_SIZE
    masks: Masks = "any"
    batch: tuple[int, ...] = ()
    fewer: bool = True
    outputs: tuple[Tensor, ...] = ()
    given: tuple[Tensor, ...] = ()
    symbols: tuple[Size, ...] = ()
    derived: Mapping[Size, Any] = field(default_factory=dict)
    constants: Mapping[Tensor, Any] = field(default_factory=dict)
    largest: Mapping[Size, int] = field(default_factory=dict)
    entries: tuple[float, ...] = ENTRIES

    def near(self, example: Example) -> Plain:
        """The same at sizes up to an example's, with its largest and its smallest entries to choose from, shortened."""
        found: dict[float, None] = {}
        for value in example.inputs.values():
            if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size:
                sizes = np.abs(value[np.isfinite(value)])
                ends = (float(value.flat[int(np.argmax(np.abs(value)))]), float(sizes.min(initial=1.0)))
                found |= dict.fromkeys(float(shorten_values(np.array(end), 0)) for end in ends)
        more = tuple(x for x in found if x not in self.entries)
        return replace(self, largest=dict(example.sizes), entries=(*self.entries, *more[:8]))


@st.composite
def plain_examples(draw: st.DrawFn, plain: Plain) -> Example:
    """Examples of plain entries at small sizes."""
    formula, supported = plain.formula, plain.supported
    symbols = plain.symbols or tuple(sizes_of_formula(formula))
    sizes = {
        size: draw(st.integers(1, plain.largest.get(size, SIZES)))
        for size in symbols
        if size not in plain.derived
    }
    sizes = {**sizes, **{size: whole(expr, sizes) for size, expr in plain.derived.items()}}
    if supported.rules:
        settled = supported.adjust_sizes(sizes)
        sizes = {**sizes, **settled}
    batch = plain.batch
    if plain.fewer:
        batch = tuple(draw(st.integers(1, min(most, SIZES))) for most in plain.batch)
    inputs: dict[str, Any] = {}
    fixed = dict(supported.fixed)
    for item in (*formula.inputs, *plain.given):
        if is_size(item):
            inputs[str(item)] = sizes[item]
        elif item in plain.constants or item.name in fixed:
            number = float(plain.constants.get(item, fixed.get(item.name, 0.0)))
            shape = tuple(whole(size, sizes) for size in item.shape)
            inputs[item.name] = _constant(item, number, shape, plain.dtype)
        elif item.role != "generator":
            leading = batch if item.role in ("data", "mask") and item not in plain.given else ()
            inputs[item.name] = draw(_values(plain, item, leading, sizes))
    seeds = {
        tensor.name: draw(_reals(plain, "real", (*batch, *(whole(s, sizes) for s in tensor.shape))))
        for tensor in plain.outputs
    }
    made = Example(inputs, plain.dtype, sizes, "", batch, 0, seeds, supported)
    return made if supported.within is None else supported.within.bring_inside(made)


def _constant(item: Tensor, number: float, shape: tuple[int, ...], dtype: str) -> Any:
    value = NUMBERS.get(item.domain, float)(number)
    if item.role == "number" or not shape:
        return value
    return np.full(shape, value if item.domain in WHOLE else round_to(number, dtype))


def _values(
    plain: Plain, item: Tensor, leading: tuple[int, ...], sizes: Mapping[Size, int]
) -> st.SearchStrategy[Any]:
    """The values of one input."""
    shape = (*leading, *(whole(size, sizes) for size in item.shape))
    if item.role == "mask":
        return _masks(plain, shape)
    if item.domain == "boolean":
        return st.booleans() if item.role == "number" else _arrays(np.bool_, shape, (False, True))
    if item.domain == "permutation":
        return st.permutations(range(shape[0])).map(lambda order: np.array(order, np.int64))
    if item.domain in WHOLE:
        below = max(whole(item.below, sizes) if item.below != 0 else 1, 1)
        if item.role == "number":
            return st.integers(0, below - 1)
        ids = range(min(below, SEVERAL))
        return _arrays(np.int64, shape, (*ids, NO_LABEL) if item.domain == "label" else ids)
    if item.role == "number":
        return _numbers(plain, item, sizes)
    return _reals(plain, item.domain, shape)


def _masks(plain: Plain, shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    kind = plain.supported.masks
    if plain.masks == "none":
        return st.none()
    hidden = _arrays(np.bool_, shape, (False, True))

    def make_mask(hides: Any) -> Any:
        mask = ~hides
        if plain.masks == "open":
            mask[..., 0] |= ~mask.any(-1)
        return mask_kinds.restrict_mask(kind, mask, shape)

    drawn = hidden.map(make_mask)
    return st.none() | drawn if mask_kinds.fits(kind, None) else drawn


def _numbers(plain: Plain, item: Tensor, sizes: Mapping[Size, int]) -> st.SearchStrategy[float]:
    """A Python number: of those that are offered of its kind."""
    if item.domain == "real":
        return st.sampled_from(ENTRIES)
    offered = (
        SHARES
        if item.domain == "share"
        else EPSILONS
        if item.name in find_added_numbers(plain.formula.flat(None))
        else POSITIVE_NUMBERS
    )
    largest = float(whole(item.below, sizes)) if item.below != 0 else None
    return st.sampled_from([x if largest is None or x <= largest else largest / x for x in offered])


def _reals(plain: Plain, domain: str, shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    offered = [x for x in plain.entries if DOMAINS.get(domain, DOMAINS["real"])(x)]
    drawn = _arrays(np.float64, shape, offered or [1.0])
    return drawn.map(lambda values: round_to(values, plain.dtype))


def _arrays(dtype: Any, shape: tuple[int, ...], offered: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Arrays of entries that are offered: one string of bytes for all, which is drawn, and shrinks, much faster than each."""
    values, count = np.array(offered, dtype), math.prod(shape)

    def make_array(drawn: bytes) -> Any:
        return values[np.frombuffer(drawn, np.uint8)[:count] % len(values)].reshape(shape)

    room = LEAST_BYTES
    while room < count:
        room *= 4
    return _bytes(room).map(make_array)


@lru_cache(maxsize=64)
def _bytes(count: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=count, max_size=count)


# A failing example made simpler -------------------------------------------------------------------------------------------


@st.composite
def simpler_examples(draw: st.DrawFn, example: Example, plain: Plain, kept: frozenset[Size]) -> Example:
    """A failing example with smaller sizes, without leading dimensions, without a mask, with inputs that are 0, 1 or shorter.

    What is not made simpler stays as it is: that is the last of each choice. Sizes ``kept`` stay as they are.
    """
    declared = {t.name: t for t in (*plain.formula.tensors, *plain.formula.outputs, *plain.given)}
    found = _unbatch(draw, example, declared)
    smaller = {}
    for size, now in found.sizes.items():
        if size in kept or now == 1:
            continue
        to = draw(st.integers(1, 2 * now))  # half of the draws keep it
        if to < now:
            smaller[size] = to
    if smaller:
        sizes = {**found.sizes, **smaller}
        if plain.supported.rules:
            sizes = {**sizes, **plain.supported.adjust_sizes(sizes)}
        if all(sizes[size] <= now for size, now in found.sizes.items()):
            found = _cut_example(found, {s: v for s, v in sizes.items() if v < found.sizes[s]}, declared)
    for group in ("inputs", "cotangents"):
        values = getattr(found, group)
        made = {
            name: value if name in dict(plain.supported.fixed) else _plainer(draw, declared.get(name), value)
            for name, value in values.items()
        }
        made = {n: round_to(v, found.dtype) if _is_real(v) else v for n, v in made.items()}
        found = replace(found, inputs=made) if group == "inputs" else replace(found, cotangents=made)
    within = plain.supported.within
    return found if within is None else within.bring_inside(found)


def _is_real(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64


def _unbatch(draw: st.DrawFn, example: Example, declared: Mapping[str, Tensor]) -> Example:
    """Draw one member of a batch, its first members, or the whole batch."""
    if not example.batch:
        return example
    place: Any = np.unravel_index(0, example.batch)
    if draw(st.booleans()):
        place = slice(None)
        if len(example.batch) == 1:  # half of the draws keep all
            place = slice(draw(st.integers(1, 2 * example.batch[0])))

    def part(name: str, value: Any) -> Any:
        tensor = declared.get(name)
        if tensor is None or tensor.role not in ("data", "mask") or not isinstance(value, np.ndarray):
            return value
        return value[place]

    inputs = {name: part(name, value) for name, value in example.inputs.items()}
    cotangents = {name: value[place] for name, value in example.cotangents.items()}
    batch = () if isinstance(place, tuple) else (len(range(example.batch[0])[place]), *example.batch[1:])
    return replace(example, inputs=inputs, cotangents=cotangents, batch=batch)


def _plainer(draw: st.DrawFn, tensor: Tensor | None, value: Any) -> Any:
    """An input made plainer: none for a mask; zeros, ones or short numbers for an array; or as it is."""
    if tensor is not None and tensor.role == "mask":
        return value if value is None or draw(st.booleans()) else None
    if not _is_real(value):
        return value
    positive = tensor is not None and tensor.domain == "positive"
    choice = draw(st.integers(0, 6))
    if choice == 0 and not positive:
        return np.zeros_like(value)
    if choice == 1:
        return np.ones_like(value)
    short = shorten_values(value, choice - 2) if 2 <= choice <= 3 else value
    return value if positive and (short <= 0).any() else short


def _cut_example(example: Example, smaller: Mapping[Size, int], declared: Mapping[str, Tensor]) -> Example:
    """The first entries along each axis that is made smaller; ids that are out of range then become the largest."""
    sizes = {**example.sizes, **smaller}

    def cut_value(name: str, value: Any) -> Any:
        tensor = declared.get(name)
        if not isinstance(value, np.ndarray):
            if tensor is not None and tensor.domain in WHOLE and smaller.keys() & symbols_in(tensor.below):
                return min(value, max(whole(tensor.below, sizes) - 1, 0))
            return next((size for symbol, size in smaller.items() if name == str(symbol)), value)
        if tensor is None or value.ndim < len(tensor.shape):
            return value
        if smaller.keys() & symbols_in(tensor.below):
            value = np.minimum(value, max(whole(tensor.below, sizes) - 1, 0))  # a label that is none stays so
        return value[(..., *(slice(whole(axis, sizes)) for axis in tensor.shape))]

    inputs = {name: cut_value(name, value) for name, value in example.inputs.items()}
    for name, tensor in declared.items():
        if tensor.role == "mask" and inputs.get(name) is not None:
            inputs[name] = mask_kinds.restrict_mask(example.supported.masks, inputs[name], inputs[name].shape)
    cotangents = {name: cut_value(name, value) for name, value in example.cotangents.items()}
    return replace(example, inputs=inputs, cotangents=cotangents, sizes=sizes)


def shorten_values(values: Any, digits: int) -> Any:
    """Values with so many digits after the first."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place = np.where(values == 0, 0, np.floor(np.log10(np.abs(values)))) - digits
        scale = 10.0 ** np.abs(place)
        result = np.where(place >= 0, np.round(values / scale) * scale, np.round(values * scale) / scale)
    return np.where(np.isfinite(result), result, values)


def simpler(
    case: Example | None, plain: Plain, kept: frozenset[Size]
) -> Iterator[st.SearchStrategy[Example]]:
    """Strategies among which a simple counterexample is sought: plain ones, without a mask first, those near a failing one, and
    that one made simpler.
    """
    masked = plain.masks != "none" and any(t.role == "mask" for t in plain.formula.tensors)
    without = masked and mask_kinds.fits(plain.supported.masks, None)
    ways: tuple[Masks, ...] = ("none", "open", "any") if without else (plain.masks,)
    for way in ways:
        yield plain_examples(replace(plain, masks=way))
    if case is not None:
        entries = sum(np.size(value) for value in case.inputs.values())
        if entries <= FEW:
            yield plain_examples(plain.near(case))
        yield simpler_examples(case, plain, kept)


__all__ = ["ENTRIES", "Plain", "plain_examples", "shorten_values", "simpler", "simpler_examples"]
