"""Sizes of examples: mostly distinct small primes, and on purpose some that are larger than any block an implementation works in.

What an example costs is read off the statement: the entries its lines run over, and the steps of its recurrences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations, cycle, islice
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.binders import Bound
from spec.language.evaluation.dimensions import Size, is_size, symbols_in, whole
from spec.language.formula import Formula
from spec.language.lengths import Ends, ends_of, longest
from spec.language.ordering import Group
from verify.inputs.size_rules import Supported, sizes_of_formula

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
LEAST = 1 << 20
"""The kind of the least sizes that tell one from another: two steps, and else 3 and 4, of which a mean and a variance are no
signs alone. Sums are short at them, and bounds at their smallest."""
ROUND, ROUNDS = 1 << 21, ((8,), (16, 8), (8, 16), (8, 64), (64, 8))
"""The kind of the sizes that real models have, and which by turns: a kernel may take another way at multiples of 8."""
ONE = 1 << 22
"""The kind of the least sizes but for one of them, which is 1: which, by turns."""
SIZE_KINDS, ONE_LARGER, ALIKE, BY_CHANCE = 10, 4, 5, 8
"""Kinds of small sizes, that of equal ones, and that of two equal and others distinct; from the first on kinds are large."""
LARGE = (1031, 257, 131, 67)
"""Primes above 1024, 256, 128 and 64, in which loops over blocks end in an incomplete block."""
BUDGET, STEP = 3e5, 1e4
"""Entries that an example may cost, and how many entries one line of a recurrence counts for at each step."""
LONG, LONGEST = (37, 23), 1.2e7
"""Many steps of a recurrence, and what such an example may cost: one that is right for a few may be cut after 20 or 35. Past 128
they are in :mod:`verify.inputs.large_sizes`."""
FEW = (0, 1, 6)
"""The kinds of small sizes, drawn once each, for a callable to which every new shape is dear."""
FEWER, WIDE = (0, ONE_LARGER, 6, 7, BY_CHANCE), 1
"""The kinds of small sizes, and how many large ones, for a statement of so many lines and steps that each costs something: there
each size is large in :mod:`verify.inputs.large_sizes` alone."""
LINES = 24
"""From how many lines on a statement is one of many: a layer of several sublayers, or a stack of them."""
Term = tuple[tuple[Size, ...], float]
"""A part of the cost: the sizes that are multiplied, and by what."""


class Sizing:
    """The sizes of one formula, drawn by kind; those that ``supported`` rules out are replaced by supported ones."""

    def __init__(self, formula: Formula, supported: Supported) -> None:
        self.formula, self.supported = formula, supported
        self.symbols = sizes_of_formula(formula)
        groups = formula.flat(None).groups
        self.costs = _gathered(term for group in groups for term in _costs(group))
        self.steps = {size for group in groups for over, _ in _steps(group, ()) for size in over}
        data = {size for item in formula.tensors if item.role == "data" for size in item.shape}
        self.along = frozenset(self.steps & data)
        """The steps that are those of a sequence; all others are layers."""
        self.order = tuple(sorted(self.symbols, key=lambda size: size not in self.steps))
        # A formula of many steps may cost what its fewest telling ones cost, were all sizes supported.
        fewest = dict(zip(self.order, cycle((3, 2, 5, 7, 11, 13, 17, 19)), strict=False))
        self.budget = max(BUDGET, self.cost(fewest))
        self.long = tuple(self._long())
        self.large = (*self.long, *self._large())
        self.squares = tuple(_squares(formula))
        self.couples = sorted(combinations(range(len(self.order)), 2), key=self._unlike)
        self.dear = self.budget > BUDGET
        """Whether each evaluation is dear, whatever the sizes."""
        self.extensive = self.dear or sum(len(group.lines) for group in groups) >= LINES
        """Whether it is dear, or has many lines."""
        self.kinds = FEWER if self.dear else tuple(range(SIZE_KINDS))
        self._drawn: dict[tuple[int, int], dict[Size, int]] = {}
        self.wide = min(len(self.large), len(self.long) + WIDE) if self.dear else len(self.large)
        """How many of the large sizes one search tries."""
        if supported.few:
            self.kinds, self.wide = FEW, min(self.wide, 1)

    def _sized(self, sizes: Sequence[int]) -> dict[Size, int]:
        """Sizes in order, steps of recurrences first."""
        return self.supported.settled(dict(zip(self.order, cycle(sizes), strict=False)))

    def _unlike(self, couple: tuple[int, int]) -> bool:
        """Whether no two inputs have these sizes in the same place, counted from the end: n and m are alike, n and d are not."""
        one, other = (
            {
                place - len(t.shape)
                for t in self.formula.tensors
                for place, s in enumerate(t.shape)
                if s == self.order[at]
            }
            for at in couple
        )
        return not one & other

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """Which of :data:`ROUNDS` are affordable."""
        if self.supported.few or not self.order:
            return ()
        fine = (turn for turn in range(len(ROUNDS)) if self.cost(self.drawn(ROUND, turn)) <= self.budget)
        return tuple(fine)[: 1 if self.dear else None]

    def cost(self, sizes: Mapping[Size, int]) -> float:
        """About how many entries are evaluated."""
        return sum(weight * math.prod(sizes.get(s, 1) for s in over) for over, weight in self.costs)

    def _long(self) -> Iterator[dict[Size, int]]:
        """For each number of steps the largest of :data:`LONG` that is affordable while there is one of the others."""
        for symbol in (size for size in self.order if size in self.steps):
            few = dict(zip((s for s in self.order if s not in self.steps), cycle((2, 3)), strict=False))
            few |= dict.fromkeys(self.steps, 1)
            for rung in LONG:
                trial = self.supported.settled({**few, symbol: rung})
                if trial[symbol] == rung and self.cost(trial) <= LONGEST:
                    yield trial
                    break

    def _large(self) -> Iterator[dict[Size, int]]:
        """For each other size the largest of :data:`LARGE` that is affordable while the rest are small, and the next smaller."""
        offered: list[list[dict[Size, int]]] = []
        for symbol in (size for size in self.symbols if size not in self.steps):
            fine = []
            for rung in LARGE:
                trial = self.supported.settled({**self._sized((2, 2, 3, 3)), symbol: rung})
                if trial[symbol] == rung and self.cost(trial) <= self.budget:
                    fine.append(trial)
            offered.append(fine[:2])
        for rank in range(2):
            for fine in offered:
                if rank < len(fine):
                    yield fine[rank]

    def drawn(self, kind: int, variant: int) -> dict[Size, int]:
        """Sizes of one kind, the same for the same variant; worked out once."""
        if self.supported.few:
            kind, variant = (FEW[kind % len(FEW)] if kind < SIZE_KINDS else SIZE_KINDS), 0
        found = self._drawn.get((kind, variant))
        if found is None:
            found = self._drawn[kind, variant] = self.draw(
                kind, np.random.default_rng([kind, variant]), variant
            )
        return found

    def draw(self, kind: int, random: np.random.Generator, variant: int = 0) -> dict[Size, int]:
        """Sizes of one kind; two sizes that are equal by chance go in turn with ``variant``."""
        if kind in (LEAST, ONE):
            others = cycle((3, 4))
            least = {size: 2 if size in self.steps else next(others) for size in self.order}
            if kind == ONE and least:
                least[self.order[variant % len(self.order)]] = 1
            return self.affordable(least)
        if kind == ROUND:
            others = cycle(ROUNDS[variant % len(ROUNDS)])
            return self.supported.settled(
                {size: 2 if size in self.steps else next(others) for size in self.order}
            )
        if kind >= SIZE_KINDS and self.large:
            return dict(self.large[(kind - SIZE_KINDS) % len(self.large)])
        count = len(self.order)
        small = tuple(islice(cycle(PRIMES), max(count + 1, 4)))
        if kind == 0:
            chosen = list(small[:count])
        elif kind == 1:
            chosen = list(small[:count])[::-1]
        elif kind == ALIKE:
            chosen = [int(random.integers(1, 8))] * count
        elif kind == 6:
            chosen = [1] * count
        else:
            chosen = [int(x) for x in random.permutation(small)[:count]]
        if kind == 3 and count:
            chosen[int(random.integers(count))] = 1
        if kind == BY_CHANCE and count > 1:
            one, other = self.couples[variant % len(self.couples)]
            chosen[one] = chosen[other]
        if kind in (ONE_LARGER, 9) and count:
            place = int(random.integers(count))
            named = self.order[place] in self.formula.inputs
            chosen[place] = int(random.integers(17, 300 if named and count <= 2 else 41))
        sizes = dict(zip(self.order, chosen, strict=True))
        if kind == 7 and self.squares:
            symbol, composite = self.squares[int(random.integers(len(self.squares)))]
            sizes |= {part: 2 + place for place, part in enumerate(sorted(symbols_in(composite), key=str))}
            sizes[symbol] = whole(composite, sizes)
        return self.affordable(sizes)

    def affordable(self, sizes: Mapping[Size, int]) -> dict[Size, int]:
        """Supported sizes near these; smaller, one by one, where an example would cost too much."""
        sizes = self.supported.settled(sizes)
        while self.cost(sizes) > self.budget:
            least = 2 if max(sizes.values()) > 2 else 1
            nearby = [
                self.supported.settled({**sizes, s: v - 1 if v < 8 else (v + 1) // 2})
                for s, v in sizes.items()
                if v > least
            ]
            smaller = min(nearby, key=self.cost, default=sizes)
            if self.cost(smaller) >= self.cost(sizes):
                break
            sizes = smaller
        return sizes


@lru_cache(maxsize=256)
def sizing(formula: Formula, supported: Supported) -> Sizing:
    """The sizes of a formula, worked out once."""
    return Sizing(formula, supported)


def entries(formula: Formula, sizes: Mapping[Size, int], role: str = "") -> int:
    """How many entries the inputs have, all together, or those of one role."""
    return sum(
        math.prod(whole(size, sizes) for size in item.shape)
        for item in formula.tensors
        if not role or item.role == role
    )


def counted(formula: Formula) -> frozenset[Any]:
    """The sizes that count what several matrices are made for, head by head: the first axes of parameters of three."""
    return frozenset(
        item.shape[-3] for item in formula.tensors if item.role == "parameter" and len(item.shape) > 2
    )


def _squares(formula: Formula) -> Iterator[tuple[Size, Any]]:
    """Inputs with a composite axis that may be square: W_o is h·d_v × d_model, and its transpose must not pass for it."""
    for item in formula.tensors:
        for composite in item.shape:
            for symbol in item.shape:
                if is_size(symbol) and not is_size(composite) and symbol not in symbols_in(composite):
                    yield symbol, composite


def _gathered(terms: Iterator[Term]) -> list[Term]:
    """Terms of the same sizes as one."""
    found: dict[tuple[Size, ...], float] = {}
    for over, weight in terms:
        found[over] = found.get(over, 0.0) + weight
    return list(found.items())


def _costs(group: Group) -> Iterator[Term]:
    """For each line the sizes over which it runs, and each sum in it; for a recurrence its steps."""
    for line in group.lines:
        ends = ends_of(line)
        outside = tuple(s for _, first, last in line.ranges for s in symbols_in(longest(first, last, ends)))
        yield outside, 1.0
        yield from _sums(line.right, outside, ends)
    yield from _steps(group, ())


def _sums(node: Any, outside: tuple[Size, ...], ends: Ends) -> Iterator[Term]:
    if isinstance(node, Bound):
        outside = (*outside, *symbols_in(longest(node.first, node.last, ends)))
        yield outside, 1.0
    if not isinstance(node, Tensor):
        for child in node.args:
            yield from _sums(child, outside, ends)


def _steps(group: Group, outside: tuple[Size, ...]) -> Iterator[Term]:
    if group.step is None:
        return
    line = group.lines[0]
    axis = line.left.tensor.shape[group.step.axes[line.name]]
    over = (*outside, *symbols_in(axis))
    yield over, STEP * len(group.lines)
    for inner in group.body:
        yield from _steps(inner, over)


__all__ = [
    "ALIKE",
    "BY_CHANCE",
    "LARGE",
    "LEAST",
    "LONG",
    "LONGEST",
    "ONE",
    "ONE_LARGER",
    "PRIMES",
    "ROUND",
    "SIZE_KINDS",
    "Sizing",
    "counted",
    "entries",
    "sizing",
]
