"""Sizes at which accuracy is graded where one thing is large and all else small: a size, a sum, a vocabulary, or the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import cycle, product

from spec.language.evaluation.dimensions import Size, is_size, symbols_in, whole
from spec.language.formula import Formula
from verify.inputs.large_sizes import vast_sizes
from verify.inputs.realistic_sizes import (
    ALIGNED,
    BLOCKS,
    FEWER,
    MOST,
    SOME,
    STACK,
    STEPS,
    WIDTHS,
    aligned,
    broad,
    ladder,
    lengths,
    longer,
    primes,
    usual,
)
from verify.inputs.size_rules import Supported
from verify.inputs.sizes import Sizing, entries, sizing

STACKED = 2.9e8
"""What an example may cost in which one sum alone has many terms."""
LAYERED, NOTHING = 2.2e8, 1.02
"""What an example of a stack, or of a long sequence, may cost whose gradients are looked at; and how many times that of another
is as good as the same.
"""


@lru_cache(maxsize=256)
def lone(
    formula: Formula, supported: Supported, budget: float, numbers: float
) -> tuple[Mapping[Size, int], ...]:
    """For each size those at which it alone is large: for gradients, which are dear where several are. Where that is beyond the
    budget the others are fewer, and it may be dearer. Of layers there are two: the later may be other than the first. Inputs
    have so many ``numbers`` at most.
    """
    drawn, found = sizing(formula, supported), []
    for size in drawn.symbols:
        if size in drawn.steps:
            continue
        offered = product(((SOME, budget), ((FEWER[0],), LAYERED)), BLOCKS)
        for (some, most), many in offered:
            sizes: Mapping[Size, int] = supported.settled({**_few(drawn, some, STACK), size: many})
            if sizes[size] >= many and drawn.cost(sizes) <= most and entries(formula, sizes) <= numbers:
                sizes = sizes if some == SOME else _less_narrow(drawn, supported, sizes, {size}, budget)
                found += [sizes] if sizes not in found else []
                break
    return tuple(found)


def _few(drawn: Sizing, some: Sequence[int], layers: int, steps: int = 1) -> dict[Size, int]:
    """Small sizes in turn, so many layers, and so many steps of a sequence."""
    few = {size: some[place % len(some)] for place, size in enumerate(drawn.symbols)}
    return few | {size: steps if size in drawn.along else layers for size in drawn.steps & set(few)}


def _less_narrow(
    drawn: Sizing, supported: Supported, sizes: Mapping[Size, int], large: Set[Size], budget: float = 0.0
) -> Mapping[Size, int]:
    """The same with more of each other size, the cheapest first, where the budget has it or it costs next to nothing: of
    normalised rows of three entries little is left.
    """

    def cheap(before: Mapping[Size, int], after: Mapping[Size, int]) -> bool:
        return drawn.cost(after) <= max(budget, NOTHING * drawn.cost(before))

    return _raised(drawn, supported, sizes, large, SOME[1:], cheap)


def _raised(
    drawn: Sizing,
    supported: Supported,
    sizes: Mapping[Size, int],
    kept: Set[Size],
    offered: Sequence[int],
    fine: Callable[[Mapping[Size, int], Mapping[Size, int]], bool],
) -> Mapping[Size, int]:
    """The same with what is ``offered``, in turn, of each size not ``kept``, the cheapest first, where that is ``fine``."""
    turn = cycle(offered)
    others = set(drawn.symbols) - drawn.steps - kept
    for size in sorted(others, key=lambda s: (drawn.cost({**sizes, s: offered[0]}), str(s))):
        more = supported.settled({**sizes, size: next(turn)})
        if fine(sizes, more) and all(more[each] == sizes[each] for each in kept):
            sizes = more
    return sizes


@lru_cache(maxsize=256)
def lone_sums(formula: Formula, supported: Supported, budget: float) -> tuple[Mapping[Size, int], ...]:
    """For each sum that has few terms in the other examples of this budget, sizes at which it alone has many: all together are
    dear where layers lie one upon another. A few layers, where that is affordable: later ones may be other than the first.
    """
    drawn = sizing(formula, supported)
    found: list[Mapping[Size, int]] = []
    layers = drawn.steps & set(drawn.symbols) - drawn.along
    graded = [*ladder(formula, supported), *aligned(formula, supported, budget)]
    graded += () if layers else usual(formula, supported, budget)  # which have one layer
    tried = product(dict.fromkeys(lengths(formula)), (STACK, 1) if layers else (1,), BLOCKS, (SOME, FEWER))
    for length, several, many, few in tried:
        if any(whole(length, sizes) >= BLOCKS[-1] for sizes in (*graded, *found)):
            continue
        start = supported.settled(_few(drawn, few, several, STEPS))
        offered = longer(length, start, drawn, supported, many, many)
        fine = [
            sizes for sizes in offered if drawn.cost(sizes) <= STACKED and entries(formula, sizes) <= MOST
        ]
        if fine:
            chosen: Mapping[Size, int] = min(fine, key=drawn.cost)
            large = {size for size in start if chosen[size] != start[size]}
            found.append(chosen if few == SOME else _less_narrow(drawn, supported, chosen, large))
    return tuple(found)


@lru_cache(maxsize=256)
def beside_one(formula: Formula, supported: Supported, budget: float) -> tuple[Mapping[Size, int], ...]:
    """One position of all inputs but one, and many of that, as where a text is made token by token; nothing where there is one
    input of positions, or no sum runs over them. Else as :func:`lone_sums`.
    """
    drawn, found = sizing(formula, supported), []
    layers = drawn.steps & set(drawn.symbols) - drawn.along
    data = [item for item in formula.tensors if item.role == "data"]
    axes = [of for item in data for of in item.shape[: -1 if item.domain == "real" else None]]
    positions = {of for of in axes if is_size(of)} - drawn.steps
    summed = {size for length in lengths(formula) for size in symbols_in(length)}
    for size in (each for each in drawn.symbols if each in positions & summed and len(positions) > 1):
        for several, many, some in product((STACK, 1) if layers else (1,), BLOCKS, (SOME, FEWER)):
            few = {**_few(drawn, some, several), **dict.fromkeys(positions, 1)}
            sizes = supported.settled({**few, size: many})
            if sizes[size] >= many and drawn.cost(sizes) <= budget and entries(formula, sizes) <= MOST:
                narrow = some == FEWER
                found.append(_less_narrow(drawn, supported, sizes, positions) if narrow else sizes)
                break
    return tuple(found)


@lru_cache(maxsize=256)
def vast(formula: Formula, supported: Supported) -> tuple[Mapping[Size, int], ...]:
    """Sizes at which one sum has thousands of terms, as over a vocabulary, and all else is small, where that is cheap."""
    summed = {size for length in lengths(formula) for size in symbols_in(length)}
    return tuple(large.sizes for large in vast_sizes(formula, supported) if large.size in summed)


@lru_cache(maxsize=256)
def whole_data(
    formula: Formula, supported: Supported, budget: float, most: float
) -> Mapping[Size, int] | None:
    """Sizes at which real inputs are large along each axis, many positions of wide rows, and so is what else is affordable: two
    layers first, then other sizes, the cheapest first. It may cost ``most``; nothing where another example, of the ``budget``,
    has them.
    """
    drawn = sizing(formula, supported)
    axes = {
        size
        for item in formula.tensors
        if item.role == "data" and item.domain == "real"
        for of in item.shape
        for size in symbols_in(of)
    }
    large = [size for size in drawn.symbols if size in axes - drawn.steps]
    if len(large) < 2:
        return None
    sizes = supported.settled({**_few(drawn, FEWER, 1), **dict(zip(large, primes(WIDTHS[1]), strict=False))})
    graded = (
        *aligned(formula, supported, budget),
        *([found] if (found := broad(formula, supported, budget)) else []),
    )
    if any(all(others[size] >= ALIGNED[-1] for size in large) for others in graded):
        return None

    def fine(sizes: Mapping[Size, int]) -> bool:
        wide = all(sizes[size] >= WIDTHS[1] for size in large)
        return wide and drawn.cost(sizes) <= most and entries(formula, sizes) <= MOST

    if not fine(sizes):
        return None
    layers = drawn.steps & set(drawn.symbols) - drawn.along
    more = supported.settled({**sizes, **dict.fromkeys(layers, STACK)})
    sizes = more if fine(more) else sizes
    return _raised(drawn, supported, sizes, set(large), WIDTHS[1:2], lambda _, after: fine(after))


__all__ = ["beside_one", "lone", "lone_sums", "vast", "whole_data"]
