"""How large the arrays of an evaluation get, read off a statement's lines, and so how many examples are evaluated at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from spec.language.binders import Bound, SumOf
from spec.language.evaluation.binding import sizes_at
from spec.language.evaluation.compiled.values import factors
from spec.language.evaluation.dimensions import symbols_in
from spec.language.expr import TRUE
from spec.language.flatten import Flat
from spec.language.trees import free_symbols, walk

MOST = 24
"""Examples in one evaluation at most."""
ENTRIES, FORMED = 1 << 18, 1 << 20
"""Entries that an array may have, when examples are put together; and one of products to be summed, which is seldom formed."""


@lru_cache(maxsize=512)
def _extents(flat: Flat, products: bool) -> tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...]:
    """For each line the sizes of its own indices; of each sum inside those on which it depends, and its own; of a sum of products
    those of its factors.
    """
    found: dict[tuple[tuple[Any, ...], tuple[Any, ...]], None] = {}
    for line in flat.lines:
        own = {symbol: last - first + 1 for symbol, first, last in line.ranges}
        found[tuple(own.values()), ()] = None
        for node in walk(line.right):
            if not isinstance(node, Bound):
                continue
            inside = (node.last - node.first + 1,)
            parts = factors(node.body) if isinstance(node, SumOf) and node.where == TRUE else []
            for part in (node,) if products or len(parts) < 2 else parts:
                used = free_symbols(part)
                found[tuple(extent for symbol, extent in own.items() if symbol in used), inside] = None
    return tuple(found)


def together(flat: Flat, inputs: Mapping[str, Any]) -> int:
    """How many examples of these sizes are evaluated at once at most."""
    kept, formed = _largest(flat, tuple(sizes_at(flat, inputs).items()))
    return max(1, min(MOST, ENTRIES // kept, FORMED // formed))


@lru_cache(maxsize=512)
def _largest(flat: Flat, sizes: tuple[tuple[Any, int], ...]) -> tuple[int, int]:
    """Entries of the largest array that is kept, and of the largest that may be formed; see :func:`widest`."""
    return max(1, widest(flat, dict(sizes), False)), max(1, widest(flat, dict(sizes), True))


def widest(flat: Flat, sizes: Mapping[Any, int], products: bool = True) -> int:
    """About how many entries the largest array has that an evaluation forms, ``products`` that are summed included or not."""
    known = {symbol: max(1, value) for symbol, value in sizes.items()}
    return max((math.prod(known.get(s, 1) for s in over) for over in _factors(flat, products)), default=1)


@lru_cache(maxsize=512)
def _factors(flat: Flat, products: bool) -> tuple[tuple[Any, ...], ...]:
    """The sizes whose product each of these extents is; of one that depends on more than sizes, the sizes in it count."""
    return tuple(
        dict.fromkeys(
            tuple(s for part in extents for extent in part for s in symbols_in(extent))
            for extents in _extents(flat, products)
        )
    )


__all__ = ["MOST", "together", "widest"]
