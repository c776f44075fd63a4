"""Sizes of examples: mostly distinct small primes, and on purpose some that are larger than any block an implementation works in.

What an example costs is read off the statement: the entries its lines run over, and the steps of its recurrences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from spec.language.evaluation.dimensions import Size, symbols_in
from spec.language.expr import Bound, walk
from spec.language.formula import Formula
from spec.language.ordering import Group
from verify.supporting import Supported, sizes_of_formula

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
SIZE_KINDS = 10
"""Kinds of small sizes; a kind from here on is one of the large ones."""
LARGE = (1031, 257, 131, 67)
"""Primes above 1024, 256, 128 and 64, in which loops over blocks end in an incomplete block."""
BUDGET, STEP = 2e5, 3e3
"""Entries that an example may cost, and how many entries one step of a recurrence counts for."""


class Sizing:
    """The sizes of one formula, drawn by kind; those that ``supported`` rules out are replaced by supported ones."""

    def __init__(self, formula: Formula, supported: Supported) -> None:
        self.formula, self.supported = formula, supported
        self.symbols = sizes_of_formula(formula)
        flat = formula.flat(None)
        self.costs = [cost for group in flat.groups for cost in _costs(group)]
        self.large = tuple(self._large())

    def cost(self, sizes: dict[Size, int]) -> float:
        """About how many entries are evaluated."""
        return sum(weight * math.prod(sizes.get(s, 1) for s in over) for over, weight in self.costs)

    def _large(self) -> Iterator[dict[Size, int]]:
        """For each size the largest of :data:`LARGE` that is affordable while the others are small, and the next smaller one."""
        others = PRIMES[: len(self.symbols)] if len(self.symbols) <= len(PRIMES) else (2,) * len(self.symbols)
        offered: list[list[dict[Size, int]]] = []
        for symbol in self.symbols:
            fine = []
            for rung in LARGE:
                trial = dict(zip(self.symbols, others, strict=True))
                trial[symbol] = rung
                trial = self.supported.settled(trial)
                if trial[symbol] == rung and self.cost(trial) <= BUDGET:
                    fine.append(trial)
            offered.append(fine[:2])
        for rank in range(2):
            for fine in offered:
                if rank < len(fine):
                    yield fine[rank]

    def draw(self, kind: int, random: np.random.Generator) -> dict[Size, int]:
        """Sizes of one kind."""
        if kind >= SIZE_KINDS and self.large:
            return dict(self.large[(kind - SIZE_KINDS) % len(self.large)])
        count = len(self.symbols)
        small = PRIMES[: max(count + 1, 4)]
        if len(small) < count:
            small = (*small, *(1 + int(x) for x in random.integers(1, 7, count - len(small))))
        if kind == 0:
            chosen = list(small[:count])
        elif kind == 1:
            chosen = list(small[:count])[::-1]
        elif kind == 5:
            chosen = [int(random.integers(1, 8))] * count
        elif kind == 6:
            chosen = [1] * count
        else:
            chosen = [int(x) for x in random.permutation(small)[:count]]
        if kind in (3, 8) and count:
            chosen[int(random.integers(count))] = 1
        if kind in (4, 9) and count:
            place = int(random.integers(count))
            named = self.symbols[place] in self.formula.inputs
            chosen[place] = int(random.integers(17, 300 if named and count <= 2 else 41))
        return self._affordable(self.supported.settled(dict(zip(self.symbols, chosen, strict=True))))

    def _affordable(self, sizes: dict[Size, int]) -> dict[Size, int]:
        """Smaller sizes, one by one, where an example would cost too much."""
        while self.cost(sizes) > BUDGET:
            for widest in sorted(sizes, key=lambda s: -sizes[s]):
                smaller = self.supported.settled({**sizes, widest: (sizes[widest] + 1) // 2})
                if smaller != sizes:
                    break
            else:
                break
            sizes = smaller
        return sizes


@lru_cache(maxsize=256)
def sizing(formula: Formula, supported: Supported) -> Sizing:
    """The sizes of a formula, worked out once."""
    return Sizing(formula, supported)


def _costs(group: Group) -> Iterator[tuple[tuple[Size, ...], float]]:
    """For each line the sizes over which it runs, sums included; for a recurrence its steps."""
    for line in group.lines:
        over: set[Size] = set()
        for _, first, last in line.ranges:
            over |= symbols_in(last - first)
        inside: set[Size] = set()
        for part in walk(line.right):
            if isinstance(part, Bound):
                inside |= symbols_in(part.last - part.first)
        yield tuple(over | inside), 1.0
    yield from _steps(group, ())


def _steps(group: Group, outside: tuple[Size, ...]) -> Iterator[tuple[tuple[Size, ...], float]]:
    if group.step is None:
        return
    line = group.lines[0]
    axis = line.left.tensor.shape[group.step.axes[line.name]]
    over = (*outside, *symbols_in(axis))
    yield over, STEP * len(group.lines)
    for inner in group.body:
        yield from _steps(inner, over)


__all__ = ["LARGE", "PRIMES", "SIZE_KINDS", "Sizing", "sizing"]
