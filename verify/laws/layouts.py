"""What is drawn for a law that selects positions: batches of rows of different kinds, and how much of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import Size, is_size, whole
from spec.language.formula import Formula
from spec.language.law import Law
from spec.language.trees import walk

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


ALONE, ONE = (1, 9), (4, 7, 10)
"""Rows in which every position is a group of its own, and rows that are a single one, but for what parts it."""


@dataclass(frozen=True)
class Layout:
    """Rows of ``length`` over a vocabulary of ``words``; ``tokens`` free positions in all, ``copies`` of each design a call.

    ``rows``: which of the designs; all where not given. ``at_once``: of how many calls the results are looked at together.
    """

    name: str
    length: int
    words: int
    tokens: int
    copies: int
    rows: tuple[int, ...] = ()
    at_once: int = 1

    def paced(self, part: float) -> Layout:
        """The layout with a share of its positions, in calls that are smaller; as it is where the share is 1."""
        copies = max(1, min(self.copies, round(4 * part * self.copies)))
        return self if part >= 1 else replace(self, tokens=math.ceil(part * self.tokens), copies=copies)

    def planned(self, designs: int) -> tuple[int, int]:
        """How many calls, about, and how many positions in each; ``designs`` where all of them are drawn."""
        positions = (len(self.rows) or designs) * self.length * self.copies
        return max(2, -(-self.tokens // positions)), positions


def designs(formula: Formula, layout: Layout, seed: int) -> list[dict[str, Any]]:
    """The rows of a layout: inputs by name. Boolean inputs hold True nowhere, at the ends, in a tail, …, everywhere; those that
    only say what goes together (:func:`joining`) hold it inside of groups of 1 to 4, also where no group can go on.
    """
    law = law_of(formula)
    rng = np.random.default_rng((seed, layout.length, layout.words))
    n = layout.length
    marks = [np.zeros(n, bool) for _ in range(12)]
    if n >= 16:
        marks[1][[0, -1]] = True
        marks[2][0] = True
        marks[3][n - n // 4 :] = True
        marks[4][rng.permutation(n)[: n // 6]] = True
        marks[5][rng.permutation(n)[: n // 2]] = True
        marks[6][1::3] = True
        marks[7][n - n // 5 :] = True
        marks[8][10:] = True  # 10 and 30 free positions: 15 % of them is a tie between two whole counts
        marks[9][rng.permutation(n)[: max(0, n - 30)]] = True
        marks[10][:] = True
        marks[10][n // 3] = False
        marks[11][:] = True
    sizes: dict[Size, int] = {law.over[-1][1]: n}
    constant: dict[str, Any] = {}
    for item in formula.inputs:
        if is_size(item):
            constant[str(item)] = sizes[item] = layout.words
    rows = []
    apart = joining(formula)
    for place in layout.rows or range(len(marks)):
        mark, row = marks[place], dict(constant)
        for item in formula.tensors:
            if item.name in apart:
                row[item.name] = _inside(place, n, rng)
            elif item.domain == "boolean":
                row[item.name] = mark.copy()
            elif item.domain == "integer" and item.shape:
                below = _below(item, sizes)
                values = rng.integers(0, below, n)
                # Marked positions hold few words, as [CLS], [SEP] and padding do.
                row[item.name] = np.where(mark, values % max(1, below // 4), values)
            elif item.domain == "integer":
                below = _below(item, sizes)
                row[item.name] = constant.setdefault(item.name, int(below // 2))
        rows.append(row)
    return rows


def joining(formula: Formula) -> set[str]:
    """The boolean inputs that say what goes together with the one before it, and nothing else."""
    together = law_of(formula).together
    if together is None:
        return set()
    here, elsewhere = set[Tensor](), set[Tensor]()
    for line in formula.definitions:
        read = {part for part in walk(line.right) if isinstance(part, Tensor)}
        (here if line.left.tensor == together.joins else elsewhere).update(read)
    return {t.name for t in formula.tensors if t.domain == "boolean" and t in here - elsewhere}


def _inside(place: int, n: int, rng: np.random.Generator) -> Bools:
    """Where a group goes on: in some rows nowhere, in some everywhere, else in groups of 1 to 4, the first at times cut off."""
    if place in ALONE:
        return np.zeros(n, bool)
    if place in ONE:
        return np.ones(n, bool)
    ends = rng.integers(1, 5, n).cumsum() - rng.integers(0, 4)
    inside = np.ones(n, bool)
    inside[ends[(ends >= 0) & (ends < n)]] = False
    inside[0] |= place % 2 == 0
    return inside


def _below(item: Tensor, sizes: Mapping[Size, int]) -> int:
    return whole(item.below, sizes) if item.below != 0 else 1


def law_of(formula: Formula) -> Law:
    """The law that a formula states."""
    assert formula.law is not None, f"{formula.id} states no law"
    return formula.law


__all__ = ["Bools", "Ints", "Layout", "designs", "joining", "law_of"]
