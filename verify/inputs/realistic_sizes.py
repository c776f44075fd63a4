"""Sizes such as those of real models, at which accuracy is graded: wide, all large, whole blocks, usual proportions, one query,
many steps, many layers. Which sizes these are is read off the statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, product
from typing import Any

from spec.language.binders import SumOf
from spec.language.evaluation.dimensions import Size, is_size, symbols_in, whole
from spec.language.formula import Formula
from spec.language.lengths import ends_of, longest
from spec.language.trees import walk
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.inputs.sizes import Sizing, counted, entries, sizing

WIDTHS = (67, 257, 1031)
"""How wide sums are, at least. In real models they run over 256 to a few thousand terms."""
NARROW, OVER, LEAST = 31, 2, 2e7
"""How wide a whole model is, whose least of these costs more than so many times what is affordable, and more than so much."""
FEW = (3, 2, 5)
"""Sizes that no sum runs over."""
ALIGNED, ROWS, LONE = (64, 128, 256), (1024, 4096), 2e4
"""Kernels for rows of whole blocks, often of 64 entries, are others than for all rows; how long rows are where there are few of
them, and what an example of such may cost.
"""
PROPORTIONS = ((2, 128, 64), (8, 512, 16), (4, 256, 32))
"""Heads, width and rows of models of usual proportions: a small one, and as large a one as is affordable."""
DEEP, SOME, FEWER = 13, (5, 7, 11), (3, 5, 4)
"""Layers of a deep example (usual models have 12); its other sizes: a row of two entries is always the same once it is
normalised. And fewer."""
STEPS, STACK = 3, 2
"""Steps of a recurrence: a line each, many times over; and layers of a stack whose later ones may be other than the first. Where
something else is large there are as few as show that.
"""
BLOCKS = (384, 320, 256)
"""What is large by itself: past 2⁸, and whole blocks of 2⁷ entries, as fast paths ask for: what is not goes other ways, and so do
small sizes. And less, where that is not affordable: blocks of 2⁶ past 2⁸, or of 2⁸.
"""
LONG, BRIEF, BROAD = (640, 320, 160, 64), 32, (67, 37)
"""Steps of a long recurrence, past 2⁹, 2⁸ and 2⁷, in whole blocks; those of a dear one; and other sizes where none is small."""
MODERATE = 17
"""Steps and all other sizes of which gradients are looked at together."""
BACKWARD, STACKED = 7.5e7, 3e7
"""What an example of many steps may cost whose gradients are looked at; and where layers lie one upon another."""
STEPPING = 1.45e8
"""The same where values are: all networks of one layer."""
BUDGET = 2e8
"""Entries that all lines of an example may run over; most of them are products inside a sum, which are never stored."""
MOST, DATA = 5e6, 3e5
"""Entries that the inputs of an example may have, all together; and its data, of which every sample makes arrays as large."""


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
        and entries(formula, sizes) <= most
        and entries(formula, sizes, "data") <= DATA
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
    along = sizing(formula, supported).along
    return _none_small(formula, supported, budget, LONG if along else LONG[:1], BROAD)


@lru_cache(maxsize=256)
def broad_slopes(formula: Formula, supported: Supported, budget: float) -> Mapping[Size, int] | None:
    """The same for gradients, which are many more lines: past 2⁴ each."""
    return _none_small(formula, supported, budget, (MODERATE,), (MODERATE,))


def _none_small(
    formula: Formula, supported: Supported, budget: float, steps: Sequence[int], others: Sequence[int]
) -> Mapping[Size, int] | None:
    """The first of so many steps of a sequence, and primes from one of the others on for all other sizes, that are affordable."""
    drawn = sizing(formula, supported)
    rest = [size for size in drawn.symbols if size not in drawn.steps]
    for many, least in product(steps, others):
        sizes = {**dict.fromkeys(drawn.steps, 1), **dict.fromkeys(drawn.along, many)}
        sizes |= zip(rest, primes(least), strict=False)
        sizes = supported.settled(sizes)
        if drawn.cost(sizes) <= budget and entries(formula, sizes) <= MOST:
            return sizes
    return None


@lru_cache(maxsize=256)
def long(formula: Formula, supported: Supported, values: bool) -> Mapping[Size, int] | None:
    """Many steps of a sequence, most for values, and else small sizes; None where nothing is, or is affordable. Of layers a few,
    where that is affordable: later ones may be other than the first.
    """
    drawn = sizing(formula, supported)
    along = drawn.along
    stacked = bool(drawn.steps & set(drawn.symbols) - along)
    several = (STEPS, 1) if stacked and values else (1,)
    most = STEPPING if values else STACKED if stacked else BACKWARD
    few = {size: FEW[place % len(FEW)] for place, size in enumerate(drawn.symbols)}
    for many, layers in product(LONG if values else (*LONG[1:], BRIEF), several) if along else ():
        sizes = supported.settled({**few, **dict.fromkeys(drawn.steps, layers), **dict.fromkeys(along, many)})
        if drawn.cost(sizes) <= most:
            return sizes
    return None


@lru_cache(maxsize=256)
def deep(formula: Formula, supported: Supported) -> Mapping[Size, int] | None:
    """More layers than other examples have, and else small sizes; None where there are none."""
    drawn = sizing(formula, supported)
    layers = drawn.steps & set(drawn.symbols) - drawn.along
    if not layers:
        return None
    few = {size: SOME[place % len(SOME)] for place, size in enumerate(drawn.symbols)}
    return supported.settled({**few, **dict.fromkeys(drawn.along, STEPS), **dict.fromkeys(layers, DEEP)})


def long_steps(formula: Formula, sizes: Mapping[Size, int]) -> frozenset[Size]:
    """The steps of a sequence of which there are many."""
    return frozenset(size for size in sizing(formula, EVERY_SIZE).along if sizes[size] >= min(LONG))


def primes(first: int) -> Iterator[int]:
    """A prime number, and those after it."""
    while True:
        yield first
        first = _next_prime(first)


@lru_cache(maxsize=256)
def aligned(formula: Formula, supported: Supported, budget: float) -> tuple[Mapping[Size, int], ...]:
    """Sizes such as fast paths ask for: equal ones that are powers of two, those of sums and as many others as are affordable;
    one block, two, and the most. What runs over steps has few.
    """
    if not lengths(formula):
        return ()
    drawn, made = sizing(formula, supported), []
    for least in (*ALIGNED, *ROWS):
        sizes = _widened(formula, drawn, supported, least, equal=True)
        if drawn.cost(sizes) > (LONE if least in ROWS else budget) or entries(formula, sizes) > MOST:
            break
        for size in sorted(set(drawn.symbols) - drawn.steps, key=lambda s: drawn.cost({**sizes, s: least})):
            more = supported.settled({**sizes, size: max(least, sizes[size])})
            fine = supported.fits(more) and drawn.cost(more) <= budget and entries(formula, more) <= MOST
            sizes = more if fine else sizes
        made.append(sizes)
    return (*made[:2], *made[2:][-1:])


@lru_cache(maxsize=256)
def usual(formula: Formula, supported: Supported, budget: float) -> tuple[Mapping[Size, int], ...]:
    """Sizes in the proportions of usual models: heads share the width between them, and what stands in weights alone is four
    times as wide. A small model, and one as large as is affordable.
    """
    drawn, found = sizing(formula, supported), []
    for heads, width, rows in PROPORTIONS:
        sizes = _proportioned(formula, drawn, heads, width, rows)
        if sizes is None:
            return ()
        sizes = supported.settled(sizes)
        if drawn.cost(sizes) <= budget and entries(formula, sizes) <= MOST:
            found.append(sizes)
    return tuple(found[:2])


def _proportioned(
    formula: Formula, drawn: Sizing, heads: int, width: int, rows: int
) -> dict[Size, int] | None:
    """The sizes of a model so wide, of so many heads if its statement has any; None where nothing tells its width."""
    several, beside, model = _heads(formula, drawn)
    data = [item for item in formula.tensors if item.role == "data" and item.shape and item.domain == "real"]
    if several is None:
        model = {item.shape[-1] for item in data if is_size(item.shape[-1])}
    seen = {
        size
        for item in formula.tensors
        if item.role != "parameter"
        for of in item.shape
        for size in symbols_in(of)
    }
    hidden = set(drawn.symbols) - seen - drawn.steps - model - beside - {several}
    if not model or (several is None and not hidden):
        return None
    sizes = dict.fromkeys(drawn.symbols, rows) | dict.fromkeys(model, width)
    sizes |= dict.fromkeys(beside, width // heads) | dict.fromkeys(hidden, 4 * width)
    sizes |= dict.fromkeys(drawn.steps & set(drawn.symbols), 1)
    return sizes if several is None else {**sizes, several: heads}


def _heads(formula: Formula, drawn: Sizing) -> tuple[Size | None, set[Size], set[Size]]:
    """The size that counts the heads, those of one head, and that of the model, whose width the heads share between them."""
    for size, composite in drawn.squares:
        parts = symbols_in(composite) & counted(formula) - drawn.steps
        if size not in drawn.steps and len(symbols_in(composite)) == 2 and parts:
            (several,) = parts
            beside = {
                of for item in formula.tensors if several in item.shape for of in item.shape if is_size(of)
            }
            return several, beside - {several, size} - drawn.steps, {size}
    return None, set(), set()


@lru_cache(maxsize=256)
def single(formula: Formula, supported: Supported, budget: float) -> Mapping[Size, int] | None:
    """Wide sizes where everything that no sum runs over is one: one query of many keys, one step; None where that is nothing, or
    dear.
    """
    drawn = sizing(formula, supported)
    for least in reversed(WIDTHS[:2]):
        sizes = _widened(formula, drawn, supported, least, few=(1,), steps=1)
        if sizes != _widened(formula, drawn, supported, least) and drawn.cost(sizes) <= budget:
            return sizes
    return None


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
    ordered = sorted(
        dict.fromkeys(lengths(formula)), key=lambda length: (len(symbols_in(length)), str(length))
    )
    width = least
    for length in ordered:
        if whole(length, sizes) >= least:
            continue
        if offered := list(longer(length, sizes, drawn, supported, least, width, equal)):
            sizes = min(offered, key=drawn.cost)
            # sizes that differ cannot be taken for one another
            width = width if equal else _next_prime(width)
    return sizes


def longer(
    length: Any,
    sizes: Mapping[Size, int],
    drawn: Sizing,
    supported: Supported,
    least: int,
    width: int,
    equal: bool = False,
) -> Iterator[dict[Size, int]]:
    """The same sizes but for one of those that a sum's length is made of, which gives it ``least`` terms or more, ``width`` if
    that is so many.
    """
    now = whole(length, sizes)
    for size in symbols_in(length):
        if size in drawn.steps or size not in sizes:
            continue
        # A factor of the length, or a term; what is equal to others is so in either case.
        for value in (width,) if equal else (math.ceil(width * sizes[size] / max(now, 1)), width):
            more = supported.settled({**sizes, size: value})
            if whole(length, more) >= least and supported.fits(more):
                yield more
                break


def _next_prime(number: int) -> int:
    return next(n for n in count(number + 1) if all(n % k for k in range(2, math.isqrt(n) + 1)))


@lru_cache(maxsize=64)
def lengths(formula: Formula) -> tuple[Any, ...]:
    """How many terms the sums of a statement have."""
    return tuple(
        longest(part.first, part.last, ends)
        for line in formula.flat(None).lines
        for ends in (ends_of(line),)
        for part in walk(line.right)
        if isinstance(part, SumOf)
    )


def repeats(formula: Formula, sizes: Mapping[Size, int], entries: int) -> int:
    """How many examples of these sizes have so many entries in their outputs."""
    each = sum(math.prod(whole(size, sizes) for size in item.shape) for item in formula.outputs)
    return math.ceil(entries / max(each, 1))


__all__ = [
    "ALIGNED",
    "BLOCKS",
    "FEWER",
    "MOST",
    "SOME",
    "STACK",
    "STEPS",
    "WIDTHS",
    "lengths",
    "longer",
    "primes",
    "BUDGET",
    "aligned",
    "broad",
    "broad_slopes",
    "deep",
    "ladder",
    "long",
    "long_steps",
    "repeats",
    "single",
    "usual",
]
