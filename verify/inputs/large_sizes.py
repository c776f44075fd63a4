"""Sizes past 2⁷, 2⁸ and 2¹⁵, one at a time while the others are small: where blocks end, and where a narrow index wraps.

What an example costs is read off the statement as for small sizes (:mod:`verify.inputs.sizes`), but closer: a sum that does not
depend on an index is worked out once for all its values, and a step of a recurrence is vectorised over its entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, cycle, pairwise
from typing import Any

from spec.language.arrays import Tensor
from spec.language.binders import Bound
from spec.language.evaluation.dimensions import Size, is_size, symbols_in
from spec.language.expr import Case, Literal
from spec.language.formula import Formula
from spec.language.lengths import Ends, ends_of, longest
from spec.language.ordering import Group
from spec.language.trees import free_symbols, walk
from verify.inputs.size_rules import Supported
from verify.inputs.sizes import LEAST, Sizing, counted, entries, sizing

INDEXED = (32_771, 263, 131)
"""Past 2¹⁵, 2⁸ and 2⁷, of a size whose indices are numbers that something holds: ids, positions, lengths. All are primes."""
OTHERS = (4_111, 1_031, 263, 131)
"""Past 2¹², 2¹⁰, 2⁸ and 2⁷, of any other size: what is worked through in blocks of up to so many ends in a part of one, and what
has room for so many has none for the last.
"""
VAST = (8_219, 4_111)
"""Towards the words of a vocabulary, and rows wider than a kernel may hold at once; squares of them still fit into memory."""
STEPS = (67, 37)
"""What comes after these of the steps of a sequence, each of which costs as much as many entries: past 2⁶ and 2⁵."""
DEEP, DEEP_SLOPES = (131,), (37,)
"""Past 2⁷ and 2⁵, of layers one upon another: more than any model has; gradients are looked at of the fewer."""
LAYERS = (3, 4, 5)
"""So many that some are not among the first ones, and fewer, of which more can be said."""
FULL = (512, 256, 128)
"""What is worked through in blocks of so many is filled by these: there is no rest, and what is made of the last few is empty."""
HEADS, MODELS = (
    (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256),
    (384, 512, 768, 1_024, 1_536, 2_048, 3_072, 4_096),
)
"""Widths of heads, and of models: a kernel may be written for each."""
COUNTS = (8, 12, 16, 32)
"""Of heads, as models have: a kernel may take their widths from them."""
COMMON = (64, 96, 128, 256, 512, 768, 1_024)
"""Those that are tried of one input by itself."""
SLOPING = (64, 96, 128, 768)
"""Those at which gradients are looked at, too."""
BLOCK = 64
"""The smallest block in mind."""
ROWS = (519, 263, 131)
"""The same of all positions of data together, of which attention makes squares: past 2⁹, 2⁸ and 2⁷."""
SQUARES = 3e6
"""Entries that these may cost."""
MEMBERS = (1_031, 131)
"""Members of a large batch: past each power of two up to 2¹⁰, or 2⁷ where inputs of so many would be large."""
LOOKED_AT = tuple(sorted({0, *(2**power for power in range(5, 11)), *range(75, MEMBERS[0], 137)}))
"""Those of them that are compared with the statement, and the last: past each power of two, and one in every 137."""
SMALL = (2, 3, 5)
"""The other sizes."""
STEP = 500.0
"""How many entries a line of a recurrence counts for at each step."""
GUARD = 0.02
"""The same for an entry of the condition under which a sum is asked for: a byte, and nothing is calculated."""
VALUES, GRADIENTS = 1.5e6, 8e5
"""Entries that a large example may cost where its values are looked at, and where its gradients are, too."""
LONG = 2.5e5
"""The same where a size is beyond ``BLOCKS`` for no other reason than that there may be an end."""
LONG_SLOPES = 1e5
"""The same for gradients."""
BLOCKS = 263
"""Past the blocks that are in use."""
TWICE = 1e5
"""Up to so many there are two examples of values alone."""
INPUTS = 4e5
"""Entries that its inputs may have, all together."""

Spans = Mapping[Any, Any]
"""Indices, and how many values each has."""
Term = tuple[tuple[Any, ...], float]
"""A part of the cost: the lengths that are multiplied, and by what."""


@dataclass(frozen=True)
class Large:
    """Sizes of which one is large, or others ``beside`` it, too, and about how many entries they cost."""

    size: Size
    sizes: Mapping[Size, int]
    cost: float
    beside: tuple[Size, ...] = ()

    @property
    def says(self) -> str:
        """What is large."""
        return ", ".join(f"{size} = {self.sizes[size]}" for size in (self.size, *self.beside))

    @property
    def tail(self) -> int:
        """How many of its indices stand in the last block of 64, which they do not fill."""
        return self.sizes[self.size] % BLOCK


@lru_cache(maxsize=512)
def large_sizes(
    formula: Formula, supported: Supported, budget: float = VALUES, long: float = LONG
) -> tuple[Large, ...]:
    """For each size the largest number that is supported and affordable while the others are small, if it is past 2⁷."""
    indexed, drawn = set(_indexed(formula)), sizing(formula, supported)
    layers = drawn.steps - drawn.along

    def numbers(size: Size) -> Sequence[int]:
        if size in layers:
            return DEEP if budget > GRADIENTS else DEEP_SLOPES
        return (INDEXED if size in indexed else OTHERS) + (STEPS if size in drawn.along else ())

    def most(size: Size, number: int) -> float:
        return budget if size in indexed or number <= BLOCKS else long

    return tuple(_largest(formula, supported, numbers, most))


@lru_cache(maxsize=512)
def full_blocks(formula: Formula, supported: Supported) -> tuple[Large, ...]:
    """The same of numbers that fill blocks, where that is not dear."""
    found = _largest(formula, supported, lambda size: FULL, lambda size, number: LONG)
    return tuple(large for large in found if large.sizes[large.size] in FULL)


@lru_cache(maxsize=512)
def vast_sizes(formula: Formula, supported: Supported) -> tuple[Large, ...]:
    """The same of numbers as large as vocabularies, where that is not dear."""
    return tuple(_largest(formula, supported, lambda size: VAST, lambda size, number: LONG))


@lru_cache(maxsize=512)
def usual_widths(formula: Formula, supported: Supported) -> tuple[Large, ...]:
    """Rows as wide as those of heads and of models are: of all inputs together where that is cheap, else of each; where that is
    cheap, too, also as many rows. And as many heads as models have.
    """
    drawn = sizing(formula, supported)
    real = [
        item for item in formula.tensors if item.shape and item.domain in ("real", "positive", "nonnegative")
    ]
    widths = [size for size in drawn.symbols if any(size == item.shape[-1] for item in real)]
    widths = [] if supported.few else [size for size in widths if size not in drawn.steps]
    every = [size for size in drawn.symbols if size not in drawn.steps] if widths else []
    found: dict[tuple[int, ...], Large] = {}
    for number in (*HEADS, *MODELS):
        for each in (every, widths, *([size] for size in widths if number in COMMON)):
            sizes = small_but(drawn, supported, dict.fromkeys(each, number))
            cost = _cost(formula, sizes)
            if (
                not each
                or cost > LONG
                or entries(formula, sizes) > INPUTS
                or any(sizes[s] != number for s in each)
            ):
                continue
            first, *beside = each
            found.setdefault(tuple(sizes.values()), Large(first, sizes, cost, tuple(beside)))
            if each is widths:
                break
    for size in [] if supported.few else sorted(counted(formula) & set(drawn.symbols) - drawn.steps, key=str):
        for number in COUNTS:
            sizes = small_but(drawn, supported, {size: number})
            if sizes[size] == number and _cost(formula, sizes) <= LONG:
                found.setdefault(tuple(sizes.values()), Large(size, sizes, _cost(formula, sizes)))
    return tuple(found.values())


@lru_cache(maxsize=512)
def several_layers(formula: Formula, supported: Supported) -> tuple[Large, ...]:
    """A few layers more than small sizes have: over as many as :func:`large_sizes` gives them a bound says little, and most where
    the others are the least that tell one from another.
    """
    drawn = sizing(formula, supported)
    layers = () if supported.few else sorted(drawn.steps - drawn.along, key=str)
    least = drawn.drawn(LEAST, 0)
    made = [
        (size, number, supported.settled({**least, size: number})) for size in layers for number in LAYERS
    ]
    return tuple(Large(size, sizes, 0.0) for size, number, sizes in made if sizes[size] == number)


@lru_cache(maxsize=512)
def many_rows(formula: Formula, supported: Supported) -> tuple[Large, ...]:
    """All positions of data many: equally many, and where there are two kinds of them, more of the one than of the other."""
    drawn = sizing(formula, supported)
    kinds = {
        item.shape[-2]: None
        for item in formula.tensors
        if item.role == "data" and len(item.shape) > 1 and is_size(item.shape[-2])
    }
    first, *others = [size for size in kinds if size in drawn.symbols and size not in drawn.steps] or [None]
    if first is None or supported.few:
        return ()
    equal = [dict.fromkeys((first, *others), number) for number in ROWS]
    fewer = [{first: one, **dict.fromkeys(others, other)} for other, one in pairwise(ROWS)] if others else []
    alone = max((large.sizes[first] for large in large_sizes(formula, supported)), default=0)
    rest = [size for size in drawn.symbols if size not in drawn.steps]
    least: tuple[dict[Size, int], ...] = ({}, dict.fromkeys(rest, SMALL[0]))
    tried = [(equal, least), (fewer, least)]
    if drawn.steps - drawn.along:  # of rows of two entries that are normalised in each layer little is left
        tried.append((equal, ({size: 1 if size in counted(formula) else SMALL[1] for size in rest},)))
    found = []
    for rows, few in tried:
        every = (small_but(drawn, supported, {**each, **chosen}) for chosen in rows for each in few)
        fine = (s for s in every if _cost(formula, s) <= SQUARES and entries(formula, s) <= INPUTS)
        sizes = next(filter(supported.fits, fine), None)
        if sizes is not None and (others or sizes[first] > alone):
            found.append(Large(first, sizes, _cost(formula, sizes), tuple(others)))
    return tuple(found)


def _largest(
    formula: Formula,
    supported: Supported,
    numbers: Callable[[Size], Sequence[int]],
    most: Callable[[Size, int], float],
) -> Iterator[Large]:
    """For each size the first of these numbers that is supported, and costs no more than that."""
    drawn = sizing(formula, supported)
    for size in () if supported.few else drawn.symbols:
        for number in numbers(size):
            sizes = small_but(drawn, supported, {size: number})
            cost = _cost(formula, sizes)
            if sizes[size] > number // 2 and cost <= most(size, number) and entries(formula, sizes) <= INPUTS:
                yield Large(size, sizes, cost)
                break


def small_sizes(formula: Formula, supported: Supported) -> dict[Size, int]:
    """All sizes small, for a batch that is large."""
    return small_but(sizing(formula, supported), supported, {})


def small_but(drawn: Sizing, supported: Supported, chosen: Mapping[Size, int]) -> dict[Size, int]:
    """All sizes small, but for those that are chosen, and those that follow from them."""
    few = dict(zip((s for s in drawn.symbols if s not in drawn.steps), cycle(SMALL), strict=False))
    few |= dict.fromkeys(drawn.steps, 1 if chosen.keys() & set(drawn.steps) else 2)
    return supported.settled({**few, **chosen})


def members(formula: Formula, sizes: Mapping[Size, int]) -> int:
    """How many members a large batch has at these sizes."""
    each = entries(formula, sizes)
    return next((number for number in MEMBERS if number * each <= INPUTS), MEMBERS[-1])


def _indexed(formula: Formula) -> Iterator[Size]:
    """Sizes of which a callable holds indices as numbers: of ids, of positions that are calculated with, of lengths."""
    for item in formula.inputs:
        yield from symbols_in(item.below) if isinstance(item, Tensor) else (item,)
    for line in formula.flat(None).lines:
        spans = {symbol: last for symbol, _, last in line.ranges}
        parts = list(walk(line.right))
        spans |= {part.var: part.last for part in parts if isinstance(part, Bound)}
        for part in parts:
            if isinstance(part, Literal):
                for symbol in free_symbols(part.args[0]) & spans.keys():
                    yield from symbols_in(spans[symbol])


def _cost(formula: Formula, sizes: Mapping[Size, int]) -> float:
    return sum(weight * _product(lengths, sizes) for lengths, weight in _terms(formula))


@lru_cache(maxsize=64)
def _terms(formula: Formula) -> tuple[Term, ...]:
    """What a formula costs, whatever its sizes: read off it once."""
    found: dict[tuple[Any, ...], float] = {}
    for group in formula.flat(None).groups:
        for lengths, weight in (*chain.from_iterable(map(_of_line, group.lines)), *_steps(group)):
            found[lengths] = found.get(lengths, 0.0) + weight
    return tuple(found.items())


def _of_line(line: Any) -> Iterator[Term]:
    ends = ends_of(line)
    spans = {symbol: longest(first, last, ends) for symbol, first, last in line.ranges}
    yield tuple(spans.values()), 1.0
    yield from _sums(line.right, spans, ends)


def _sums(node: Any, spans: Spans, ends: Ends, guard: Spans | None = None) -> Iterator[Term]:
    """The entries of sums, each over those indices alone on which it depends; inside of a case also those of its guard."""
    if isinstance(node, Tensor):
        return
    if isinstance(node, Bound):
        own = {node.var: longest(node.first, node.last, ends)}
        within = free_symbols(node)
        spans = {symbol: length for symbol, length in spans.items() if symbol in within} | own
        yield tuple(spans.values()), 1.0
        if guard is not None:
            guard = {symbol: length for symbol, length in guard.items() if symbol in within} | own
            yield tuple(guard.values()), GUARD
    elif isinstance(node, Case):
        guard = {**spans, **(guard or {})}
    for child in node.args:
        yield from _sums(child, spans, ends, guard)


def _steps(group: Group) -> Iterator[Term]:
    if group.step is None:
        return
    line = group.lines[0]
    steps = line.left.tensor.shape[group.step.axes[line.name]]
    yield (steps,), STEP * len(group.lines)
    for inner in group.body:
        for lengths, weight in _steps(inner):
            yield (steps, *lengths), weight


def _product(lengths: Any, sizes: Mapping[Size, int]) -> float:
    """A product of lengths; of one that depends on more than sizes, the sizes in it count."""
    return math.prod(
        math.prod(max(1, sizes.get(s, 1)) for s in symbols_in(length))
        if not is_size(length)
        else sizes.get(length, 1)
        for length in lengths
    )


__all__ = [
    "GRADIENTS",
    "LONG_SLOPES",
    "LOOKED_AT",
    "MEMBERS",
    "SLOPING",
    "TWICE",
    "Large",
    "full_blocks",
    "large_sizes",
    "many_rows",
    "members",
    "several_layers",
    "small_but",
    "small_sizes",
    "usual_widths",
    "vast_sizes",
]
