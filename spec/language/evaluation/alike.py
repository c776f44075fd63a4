"""Places that a condition cannot tell apart: what it asks of them is worked out once for all.

The pairs of a corpus may be thousands, the sentences that they begin with few; whether any sentence may be drawn for such a pair
depends on that sentence alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy
from sympy.core.basic import Basic

from spec.language.expr import Ref
from spec.language.trees import free_symbols

FEWEST = 64
"""With fewer places nothing is gained."""


def readings(node: Basic, symbol: sympy.Symbol) -> Iterator[Ref | None]:
    """The entries of tensors through which alone a node depends on an index, read at this index; None where it does otherwise."""
    if symbol not in free_symbols(node):
        return
    if isinstance(node, Ref) and free_symbols(node) == {symbol}:
        yield node
    elif isinstance(node, sympy.Symbol | Ref):
        yield None
    else:
        for part in node.args:
            yield from readings(part, symbol)


def alike(
    node: Basic,
    ranges: Mapping[sympy.Symbol, npt.NDArray[np.int64]],
    entries: Mapping[str, Any],
) -> tuple[sympy.Symbol, list[npt.NDArray[Any]]] | None:
    """An index that a node depends on through entries of known tensors alone, and these entries along it; None without such.

    Args:
        node: a condition.
        ranges: the indices in scope and their values.
        entries: the arrays of integer and boolean tensors by name.
    """
    for symbol in free_symbols(node):
        places = ranges.get(symbol)
        if places is None or len(places) < FEWEST:
            continue
        found = []
        for entry in readings(node, symbol):
            known = None if entry is None else entries.get(entry.tensor.name)
            if entry is None or known is None or entry.index != (symbol,) or places[-1] >= len(known):
                break
            found.append(np.asarray(known)[places])
        else:
            return symbol, found
    return None


def representatives(
    columns: list[npt.NDArray[Any]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first place of every kind of row, in order, and for every place which of these it is like."""
    rows = np.zeros(len(columns[0]), np.int64)
    for column in (
        columns
    ):  # numbered anew with each column, so that the numbers stay below the square of how many there are
        values = np.unique(column, return_inverse=True)[1]
        rows = np.unique(rows * len(rows) + values, return_inverse=True)[1]
    _, first, kind = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[kind]


__all__ = ["alike", "representatives"]
