"""Places that a condition cannot tell apart: what it asks of them is worked out once for all.

The pairs of a corpus may be thousands, the sentences that they begin with few; whether any sentence may be drawn for such a pair
depends on that sentence alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy
from sympy.core.basic import Basic

from spec.language.arrays import DISCRETE, Tensor
from spec.language.binders import AnyOf
from spec.language.evaluation.compiled.frame import Around, Frame
from spec.language.expr import Ref
from spec.language.symbols import unnamed
from spec.language.trees import free_symbols, transform

FEWEST = 64
"""With fewer places nothing is gained."""


def readings(node: Basic, symbol: sympy.Symbol) -> Iterator[Ref | None]:
    """The entries of tensors through which alone a node depends on an index, read at this index; None where it does otherwise."""
    if symbol not in free_symbols(node):
        return
    if isinstance(node, Ref) and free_symbols(node) == {symbol}:
        yield node if node.index == (symbol,) and node.tensor.domain in DISCRETE else None
    elif isinstance(node, sympy.Symbol | Ref):
        yield None
    else:
        for part in node.args:
            yield from readings(part, symbol)


@dataclass(frozen=True)
class Cases:
    """A condition about the different rows of entries along an index: ``node`` reads them from tensors of their own.

    Attributes:
        node: the condition, with the entries that are read along the index taken from ``own``.
        symbol: the index.
        own: for each tensor that is read the one that holds an entry of each case.
    """

    node: AnyOf
    symbol: sympy.Symbol
    own: dict[Tensor, Tensor]

    def rows(self, frame: Frame, slot: int) -> list[npt.NDArray[Any]] | None:
        """The entries along the index; None where they are too few, or not all of them known."""
        first, length = frame.low[slot], frame.length[slot]
        if frame.undecided or length < FEWEST or first < 0:
            return None
        found = []
        for tensor in self.own:
            known = (frame.booleans if tensor.domain == "boolean" else frame.integers).get(tensor.name)
            if known is None or first + length > len(known):
                return None
            found.append(np.asarray(known)[first : first + length])
        return found

    def put(self, frame: Frame, rows: list[npt.NDArray[Any]], kept: npt.NDArray[np.int64]) -> None:
        """Make tensors of the entries that are kept."""
        for tensor, row in zip(self.own.values(), rows, strict=True):
            (frame.booleans if tensor.domain == "boolean" else frame.integers)[tensor.name] = row[kept]


def factor_cases(node: AnyOf, around: Around) -> Cases | None:
    """A condition about the cases along an index on which it depends through entries alone; None without such."""
    for symbol in sorted(free_symbols(node), key=str):
        axis = around.axes.get(symbol)
        found = [] if axis is None or axis.fixed else list(readings(node, symbol))
        entries = [entry for entry in found if entry is not None]
        if not found or len(entries) < len(found):
            continue
        own = {
            entry.tensor: Tensor(
                f"{entry.tensor.name} of cases",
                (unnamed("cases"),),
                entry.tensor.domain,
                "given",
                entry.tensor.below,
            )
            for entry in entries
        }
        rule = {entry: Ref(own[entry.tensor], symbol) for entry in entries}
        return Cases(transform(node, rule.get), symbol, own)
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


__all__ = ["Cases", "factor_cases", "representatives"]
