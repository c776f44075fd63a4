"""Examples as wide as real models: every size that a sum runs over is large, data are unit normal, weights keep it so.

Which sizes these are, and over how many entries a weight is summed, is read off the statement.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import count, product
from typing import Any

import numpy as np

from spec.language.binders import SumOf
from spec.language.evaluation.dimensions import Size, is_size, symbols_in, whole
from spec.language.expr import Func, Ref
from spec.language.formula import Formula
from spec.language.lengths import ends_of, longest
from spec.language.trees import free_symbols, walk
from verify.inputs.examples import Example, Recipe, Space, rounded
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.inputs.sizes import Sizing, sizing

WIDTHS = (67, 257, 1031)
"""How wide sums are, at least. In real models they run over 256 to a few thousand terms."""
NARROW, OVER, LEAST = 31, 2, 2e7
"""How wide a whole model is, whose least of these costs more than so many times what is affordable, and more than so much."""
FEW = (3, 2, 5)
"""Sizes that no sum runs over."""
ALIGNED = (64, 128, 256, 1024, 4096)
"""Kernels for rows of whole blocks, often of 64 entries, are others than for all rows."""
STANDING = 1024
"""From there on rows stand alone: there are not as many of them."""
HEADS = 2
"""Heads of a model of usual proportions."""
LAYERS, SOME = 6, (5, 7, 11)
"""Layers of a deep example, and its other sizes: a row of two entries is always the same once it is normalised."""
STEPS = 3
"""Steps of a recurrence: a line each, many times over."""
LONG, BROAD = (521, 263, 131, 67), (67, 37)
"""Steps of a long recurrence, and other sizes where none is small: past 2⁹, 2⁸, 2⁷ and 2⁶, 2⁶ and 2⁵."""
BACKWARD = 2e7
"""What an example of many steps may cost whose gradients are looked at."""
BUDGET = 2e8
"""Entries that all lines of an example may run over; most of them are products inside a sum, which are never stored."""
MOST, DATA = 5e6, 3e5
"""Entries that the inputs of an example may have, all together; and its data, of which every sample makes arrays as large."""
DRAWN = 6
"""For how many sizes and seeds the parameters are kept: those of one formula, until the next type, or target, asks for them."""
REAL = ("real", "positive", "nonnegative")


@lru_cache(maxsize=256)
def ladder(
    formula: Formula, supported: Supported, budget: float = BUDGET, most: float = MOST
) -> tuple[Mapping[Size, int], ...]:
    """Realistic sizes, ever wider, as far as is affordable (inputs of ``most`` entries included); the first always is."""
    drawn = sizing(formula, supported)
    made = [_widened(formula, drawn, supported, least) for least in WIDTHS]
    fine = [
        sizes
        for sizes in made
        if drawn.cost(sizes) <= budget + drawn.budget
        and _entries(formula, sizes) <= most
        and _entries(formula, sizes, "data") <= DATA
    ]
    if fine:
        return tuple(fine)
    dear = drawn.cost(made[0]) > max(OVER * budget, LEAST)
    return (_widened(formula, drawn, supported, NARROW) if dear else made[0],)


@lru_cache(maxsize=256)
def broad(formula: Formula, supported: Supported, budget: float) -> Mapping[Size, int] | None:
    """Sizes of which none is small, the steps of a sequence many, as far as is affordable; None where nothing is.

    Layers are steps, too, and one is enough: of so many real models have none.
    """
    drawn, along = sizing(formula, supported), _along(formula)
    others = [size for size in drawn.symbols if size not in drawn.steps]
    for steps, least in product(LONG if along else LONG[:1], BROAD):
        sizes = {**dict.fromkeys(drawn.steps, 1), **dict.fromkeys(along, steps)}
        sizes |= zip(others, _primes(least), strict=False)
        sizes = supported.settled(sizes)
        if drawn.cost(sizes) <= budget and _entries(formula, sizes) <= MOST:
            return sizes
    return None


@lru_cache(maxsize=256)
def long(formula: Formula, supported: Supported) -> Mapping[Size, int] | None:
    """Many steps of a sequence, and else small sizes; None where nothing is, or is affordable."""
    drawn, along = sizing(formula, supported), _along(formula)
    few = {size: FEW[place % len(FEW)] for place, size in enumerate(drawn.symbols)}
    for steps in BROAD if along else ():
        sizes = supported.settled({**few, **dict.fromkeys(drawn.steps, 1), **dict.fromkeys(along, steps)})
        if drawn.cost(sizes) <= BACKWARD:
            return sizes
    return None


@lru_cache(maxsize=256)
def deep(formula: Formula, supported: Supported) -> Mapping[Size, int] | None:
    """More layers than other examples have, and else small sizes; None where there are none."""
    drawn = sizing(formula, supported)
    layers = drawn.steps & set(drawn.symbols) - _along(formula)
    if not layers:
        return None
    few = {size: SOME[place % len(SOME)] for place, size in enumerate(drawn.symbols)}
    return supported.settled(
        {**few, **dict.fromkeys(_along(formula), STEPS), **dict.fromkeys(layers, LAYERS)}
    )


@lru_cache(maxsize=256)
def _along(formula: Formula) -> frozenset[Size]:
    """The steps that are those of a sequence, element by element of some data."""
    shapes = (item.shape for item in formula.tensors if item.role == "data")
    return frozenset(size for shape in shapes for size in shape) & sizing(formula, EVERY_SIZE).steps


def long_steps(formula: Formula, sizes: Mapping[Size, int]) -> frozenset[Size]:
    """The steps of a sequence of which there are many."""
    return frozenset(size for size in _along(formula) if sizes[size] >= min(LONG))


def _primes(first: int) -> Iterator[int]:
    while True:
        yield first
        first = _next_prime(first)


def _entries(formula: Formula, sizes: Mapping[Size, int], role: str = "") -> int:
    """The entries of the inputs, or of those of one role."""
    return sum(
        math.prod(whole(size, sizes) for size in item.shape)
        for item in formula.tensors
        if not role or item.role == role
    )


@lru_cache(maxsize=256)
def aligned(formula: Formula, supported: Supported, budget: float) -> tuple[Mapping[Size, int], ...]:
    """Sizes such as fast paths ask for: equal ones that are powers of two, those of sums and as many others as are affordable;
    one block, two, and the most. What runs over steps has few.
    """
    if not _lengths(formula):
        return ()
    drawn, made = sizing(formula, supported), []
    for least in ALIGNED:
        sizes = _widened(formula, drawn, supported, least, equal=True)
        within = budget if least < STANDING else budget / STANDING
        if drawn.cost(sizes) > within or _entries(formula, sizes) > MOST:
            break
        for size in sorted(set(drawn.symbols) - drawn.steps, key=lambda s: drawn.cost({**sizes, s: least})):
            more = supported.settled({**sizes, size: max(least, sizes[size])})
            fine = supported.fits(more) and drawn.cost(more) <= budget and _entries(formula, more) <= MOST
            sizes = more if fine else sizes
        made.append(sizes)
    return (*made[:2], *made[2:][-1:])


@lru_cache(maxsize=256)
def usual(formula: Formula, supported: Supported, budget: float) -> tuple[Mapping[Size, int], ...]:
    """Sizes in the proportions of usual models, where there are heads: they share the width between them, and what stands in
    weights alone is four times as wide.
    """
    drawn, width = sizing(formula, supported), ALIGNED[1]
    joined = [
        (size, symbols_in(composite)) for size, composite in drawn.squares if len(symbols_in(composite)) == 2
    ]
    if not joined:
        return ()
    seen = {
        size
        for item in formula.tensors
        if item.role != "parameter"
        for of in item.shape
        for size in symbols_in(of)
    }
    model, parts = joined[0]
    heads = next((part for part in parts if part in _first_axes(formula)), None)
    if heads is None:
        return ()
    beside = {size for item in formula.tensors if heads in item.shape for size in item.shape if is_size(size)}
    sizes = dict.fromkeys(drawn.symbols, ALIGNED[0]) | dict.fromkeys(drawn.steps & set(drawn.symbols), 1)
    for size in drawn.symbols:
        if size == heads:
            sizes[size] = HEADS
        elif size == model:
            sizes[size] = width
        elif size in beside:
            sizes[size] = width // HEADS
        elif size not in seen and size not in drawn.steps:
            sizes[size] = 4 * width
    sizes = supported.settled(sizes)
    return (sizes,) if drawn.cost(sizes) <= budget and _entries(formula, sizes) <= MOST else ()


def _first_axes(formula: Formula) -> frozenset[Any]:
    """The sizes that count what several matrices are made for, head by head: the first axes of parameters of three."""
    return frozenset(
        item.shape[-3] for item in formula.tensors if item.role == "parameter" and len(item.shape) > 2
    )


@lru_cache(maxsize=256)
def single(formula: Formula, supported: Supported) -> Mapping[Size, int] | None:
    """Wide sizes where everything that no sum runs over is one: one query of many keys, one step; None where that is nothing."""
    drawn = sizing(formula, supported)
    sizes = _widened(formula, drawn, supported, WIDTHS[0], few=(1,), steps=1)
    return None if sizes == _widened(formula, drawn, supported, WIDTHS[0]) else sizes


def _widened(
    formula: Formula,
    drawn: Sizing,
    supported: Supported,
    least: int,
    equal: bool = False,
    few: tuple[int, ...] = FEW,
    steps: int = STEPS,
) -> dict[Size, int]:
    """Sizes at which every sum has ``least`` terms or more: from one to the next the next prime number, or ``equal`` ones."""
    start = {size: few[place % len(few)] for place, size in enumerate(drawn.symbols)}
    sizes = supported.settled({**start, **dict.fromkeys(drawn.steps & set(start), steps)})
    lengths = sorted(
        dict.fromkeys(_lengths(formula)), key=lambda length: (len(symbols_in(length)), str(length))
    )
    width = least
    for length in lengths:
        now = whole(length, sizes)
        if now >= least:
            continue
        offered = []
        for size in symbols_in(length):
            if size in drawn.steps or size not in sizes:
                continue
            # A factor of the length, or a term; what is equal to others is so in either case.
            for value in (width,) if equal else (math.ceil(width * sizes[size] / max(now, 1)), width):
                more = supported.settled({**sizes, size: value})
                if whole(length, more) >= least and supported.fits(more):
                    offered.append(more)
                    break
        if offered:
            sizes = min(offered, key=drawn.cost)
            # sizes that differ cannot be taken for one another
            width = width if equal else _next_prime(width)
    return sizes


def _next_prime(number: int) -> int:
    return next(n for n in count(number + 1) if all(n % k for k in range(2, math.isqrt(n) + 1)))


@lru_cache(maxsize=64)
def _lengths(formula: Formula) -> tuple[Any, ...]:
    """How many terms the sums of a statement have."""
    return tuple(
        longest(part.first, part.last, ends)
        for line in formula.flat(None).lines
        for ends in (ends_of(line),)
        for part in walk(line.right)
        if isinstance(part, SumOf)
    )


def _fans(formula: Formula, sizes: Mapping[Size, int]) -> dict[str, int]:
    """For each parameter over how many of its entries a sum runs."""
    found: dict[str, dict[int, int]] = {}
    for line in formula.flat(None).lines:
        for part in walk(line.right):
            if not isinstance(part, SumOf):
                continue
            for entry in _outside_functions(part.body):
                if entry.tensor.role == "parameter":
                    for axis, index in enumerate(entry.index):
                        if part.var in free_symbols(index):
                            size = whole(entry.tensor.shape[axis], sizes)
                            found.setdefault(entry.tensor.name, {})[axis] = size
    return {name: math.prod(axes.values()) for name, axes in found.items()}


def _outside_functions(node: Any) -> Iterator[Ref]:
    """The entries that a sum adds up, those inside a function left out: a function starts anew."""
    if isinstance(node, Ref):
        yield node
    elif not isinstance(node, Func):
        for part in node.args:
            yield from _outside_functions(part)


def realistic(
    formula: Formula,
    sizes: Mapping[Size, int],
    dtype: str,
    seed: int,
    masks: bool,
    supported: Supported = EVERY_SIZE,
    batch: tuple[int, ...] = (),
    number: int = 0,
) -> Example:
    """An example at realistic sizes; ``masks`` draws a random mask where the statement has one, and labels for all; ``number`` is
    the place of the first number among those that are offered.
    """
    causal = supported.masks == "causal"  # there is no other, and none is a mask, too
    space = _space(formula, masks or causal, supported)
    made = unit_weights(formula, sizes, dtype, seed, space.fixed)
    example = space.example(Recipe(0, 0, 0, int(masks), number, seed), dtype, batch, sizes, made)
    return replace(example, regime="as wide as real models")


def unit_weights(
    formula: Formula, sizes: Mapping[Size, int], dtype: str, seed: int, fixed: Collection[str] = ()
) -> dict[str, Any]:
    """Random parameters, those that are ``fixed`` left out, by which data of unit size stay so."""
    weights = _weights(formula, tuple(sizes.items()), frozenset(fixed), seed)
    return {name: rounded(values, dtype) for name, values in weights.items()}


@lru_cache(maxsize=32)
def _space(formula: Formula, masks: bool, supported: Supported) -> Space:
    """The examples of a formula: what they may be about is read off it once."""
    return Space(formula, masks, supported=supported)


@lru_cache(maxsize=DRAWN)
def _weights(
    formula: Formula, sizes: tuple[tuple[Size, int], ...], fixed: frozenset[str], seed: int
) -> Mapping[str, Any]:
    """The parameters that are not ``fixed``, before they are rounded to a type: every type is graded at the same."""
    random, at = np.random.default_rng([seed, 13]), dict(sizes)
    fans, made = _fans(formula, at), {}
    for item in formula.tensors:
        if item.role == "parameter" and item.domain in REAL and item.name not in fixed:
            drawn = random.standard_normal(tuple(whole(size, at) for size in item.shape))
            drawn = np.abs(drawn) if item.domain != "real" else drawn
            made[item.name] = drawn / math.sqrt(fans.get(item.name, 1))
    return made


def repeats(formula: Formula, sizes: Mapping[Size, int], entries: int) -> int:
    """How many examples of these sizes have so many entries in their outputs."""
    each = sum(math.prod(whole(size, sizes) for size in item.shape) for item in formula.outputs)
    return math.ceil(entries / max(each, 1))


__all__ = [
    "BUDGET",
    "aligned",
    "broad",
    "deep",
    "ladder",
    "long",
    "long_steps",
    "realistic",
    "repeats",
    "single",
    "unit_weights",
    "usual",
]
