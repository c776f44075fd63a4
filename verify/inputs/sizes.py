"""The space of sizes of a formula's examples: small ones by kind, and large ones for a purpose.

Every plan is one operation: some sizes are as large as a ladder of numbers allows, while the others are small, under the rules of
the callable and within a limit on cost and on the numbers in the inputs (:meth:`Sizing.enlarge`; :meth:`Sizing.widen` for sums).
What an example costs is read off the statement: the entries its lines and sums run over, and the steps of its recurrences.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, combinations, count, cycle, islice, pairwise, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from spec.language.arrays import Tensor
from spec.language.binders import Bound, SumOf
from spec.language.evaluation.dimensions import Size, is_size, symbols_in, whole
from spec.language.expr import Literal
from spec.language.formula import Formula
from spec.language.lengths import Ends, ends_of, longest
from spec.language.lines import Definition
from spec.language.ordering import Group
from spec.language.trees import free_symbols, walk
from verify.inputs.size_rules import EVERY_SIZE, Supported, sizes_of_formula

Sizes: TypeAlias = Mapping[Size, int]
Term: TypeAlias = tuple[tuple[Size, ...], float]
"""A part of the cost: the sizes that are multiplied, and by what."""

SIZE_KINDS, ONE_LARGER, ALIKE, BY_CHANCE = 10, 4, 5, 8
"""Kinds of small sizes: how many there are, that of one larger size, of equal sizes, and of two equal and others distinct. Kinds
from the first number on are large."""
LEAST = 1 << 20
"""The kind of the least sizes that tell one from another: two steps, and else 3 and 4, of which a mean and a variance are no
signs alone. Sums are short at them, and bounds at their smallest."""
ROUND, ROUNDS = 1 << 21, ((8,), (16, 8), (8, 16), (8, 64), (64, 8))
"""The kind of the sizes that real models have, and which by turns: a kernel may take another way at multiples of 8."""
ONE = 1 << 22
"""The kind of the least sizes but for one of them, which is 1: which, by turns."""
PRIMES, PAIRS, TRIPLES = (2, 3, 5, 7, 11, 13, 17, 19), (3, 4), (2, 3, 5)
"""Small sizes, by turns: of usual examples, of the least, and of those beside a large one."""
LARGE = (1031, 257, 131, 67)
"""Primes above 1024, 256, 128 and 64, in which loops over blocks end in an incomplete block."""
BUDGET, STEP = 3e5, 1e4
"""Entries that an example may cost, and how many entries one line of a recurrence counts for at each step."""
LONG, LONGEST = (37, 23), 1.2e7
"""Many steps of a recurrence, and what such an example may cost: one that is right for a few may be cut after 20 or 35."""
FEW = (0, 1, 6)
"""The kinds of small sizes, drawn once each, for a callable to which every new shape is costly."""
FEWER, WIDE = (0, ONE_LARGER, 6, 7, BY_CHANCE), 1
"""The kinds of small sizes, and how many large ones, for a statement of so many lines and steps that each costs something."""
LINES = 24
"""From how many lines on a statement is one of many: a layer of several sublayers, or a stack of them."""


class Limit(NamedTuple):
    """What an example may cost, how many numbers its inputs and its data may have, and for how many entries a step counts."""

    cost: float = math.inf
    inputs: float = math.inf
    data: float = math.inf
    step: float = STEP


class Sizing:
    """The sizes of one formula, by kind or by plan; those that ``supported`` rules out are replaced by supported ones."""

    def __init__(self, formula: Formula, supported: Supported) -> None:
        self.formula, self.supported = formula, supported
        self.symbols = sizes_of_formula(formula)
        self.entry_terms, self.step_terms = cost_terms(formula)
        self.steps = frozenset(size for over, _ in self.step_terms for size in over)
        data = {size for item in formula.tensors if item.role == "data" for size in item.shape}
        self.along = self.steps & data
        """The steps that are those of a sequence; all others are layers."""
        self.layers = tuple(size for size in self.symbols if size in self.steps - self.along)
        self.free = tuple(size for size in self.symbols if size not in self.steps)
        """The sizes that count no steps."""
        self.order = tuple(sorted(self.symbols, key=lambda size: size not in self.steps))
        # A formula of many steps may cost what its fewest telling ones cost, were all sizes supported: least of the dearest.
        threes = dict.fromkeys(self.symbols, 3)
        dearest = sorted(
            self.order, key=lambda size: (size not in self.steps, -self.cost({**threes, size: 9}))
        )
        self.budget = max(
            BUDGET, self.cost(dict(zip(dearest, cycle((3, 2, 5, 7, 11, 13, 17, 19)), strict=False)))
        )
        self.costly = self.budget > BUDGET
        """Whether each evaluation is costly, whatever the sizes."""
        self.extensive = self.costly or sum(len(group.lines) for group in formula.flat(None).groups) >= LINES
        """Whether it is costly, or has many lines."""
        self.long = tuple(self._find_long())
        self.large = (*self.long, *self._find_large())
        self.squares = tuple(_squares(formula))
        self.couples = sorted(combinations(range(len(self.order)), 2), key=self._share_axis)
        self.kinds = FEW if supported.few else FEWER if self.costly else tuple(range(SIZE_KINDS))
        wide = len(self.long) + WIDE if self.costly else len(self.large)
        self.wide = min(len(self.large), 1 if supported.few else wide)
        """How many of the large sizes one search tries."""
        self._drawn: dict[tuple[int, int], dict[Size, int]] = {}

    def cost(self, sizes: Sizes, step: float = STEP) -> float:
        """Count about how many entries are evaluated; a line of a recurrence counts as ``step`` of them at each step."""
        return sum(
            scale * weight * math.prod(sizes.get(size, 1) for size in over)
            for scale, terms in ((1.0, self.entry_terms), (step, self.step_terms))
            for over, weight in terms
        )

    # The general operations ---------------------------------------------------------------------------------------------

    def allows(self, sizes: Sizes, limit: Limit) -> bool:
        """Whether sizes are supported, and within a limit."""
        return (
            self.supported.fits(sizes)
            and self.cost(sizes, limit.step) <= limit.cost
            and entries(self.formula, sizes) <= limit.inputs
            and (limit.data == math.inf or entries(self.formula, sizes, "data") <= limit.data)
        )

    def keep_small(
        self, chosen: Sizes, small: Sequence[int] = TRIPLES, steps: int = 2, layers: int = 2
    ) -> dict[Size, int]:
        """Return the chosen sizes, and small numbers by turns for all others, as far as the rules allow.

        Beside a chosen number of steps there is one of each other kind of them.
        """
        if self.steps & chosen.keys():
            steps = layers = 1
        turn = cycle(small)
        few = {
            s: next(turn) if s not in self.steps else steps if s in self.along else layers
            for s in self.symbols
        }
        return self.supported.adjust_sizes({**few, **chosen})

    def enlarge(
        self,
        large: Collection[Size],
        numbers: Sequence[int],
        limit: Limit,
        small: Sequence[int] = TRIPLES,
        *,
        steps: Sequence[int] = (2,),
        layers: Sequence[int] = (2,),
        beside: Sizes | None = None,
        distinct: bool = False,
        kept: float = 0.5,
    ) -> Iterator[dict[Size, int]]:
        """Yield sizes of which ``large`` are one of the numbers, in turn, while all others are small; those within the limit.

        Args:
            large: the sizes that are large together.
            numbers: how large, the largest first.
            limit: what an example may cost.
            small: the others, by turns.
            steps: how many steps of a sequence there are, the most wanted first.
            layers: the same for layers.
            beside: sizes that are chosen, too.
            distinct: whether large sizes are the number and the primes after it, so that none is taken for another.
            kept: what share of a number the rules of the callable have to leave; 1 for the number itself.
        """
        for many, deep, number in product(steps, layers, numbers):
            chosen = dict(zip(large, primes(number) if distinct else cycle((number,)), strict=False))
            sizes = self.keep_small({**(beside or {}), **chosen}, small, many, deep)
            left = all(sizes[s] == n if kept == 1 else sizes[s] >= kept * n for s, n in chosen.items())
            if left and self.allows(sizes, limit):
                yield sizes

    def widen(self, least: int, small: Sequence[int], steps: int, equal: bool = False) -> dict[Size, int]:
        """Return sizes at which every sum has ``least`` terms or more: by turns the next prime number, or ``equal`` ones."""
        sizes, width = self.keep_small({}, small, steps, steps), least
        for length in sorted(set(sum_lengths(self.formula)), key=lambda e: (len(symbols_in(e)), str(e))):
            if whole(length, sizes) < least:
                offered = list(self.lengthen(length, sizes, least, width, equal))
                if offered:
                    sizes = min(offered, key=self.cost)
                    width = width if equal else next_prime(width)
        return sizes

    def lengthen(
        self, length: Any, sizes: Sizes, least: int, width: int, equal: bool = False
    ) -> Iterator[dict[Size, int]]:
        """Yield the sizes with one of those that a sum's length is made of enlarged, so that it has ``least`` terms or more."""
        now = whole(length, sizes)
        for size in symbols_in(length):
            if size in self.steps or size not in sizes:
                continue
            # A factor of the length, or a term; what is equal to others is so in either case.
            for value in (width,) if equal else (math.ceil(width * sizes[size] / max(now, 1)), width):
                more = self.supported.adjust_sizes({**sizes, size: value})
                if whole(length, more) >= least and self.supported.fits(more):
                    yield more
                    break

    def fill(
        self, sizes: dict[Size, int], kept: Collection[Size], numbers: Sequence[int], limit: Limit
    ) -> dict[Size, int]:
        """Enlarge also the sizes that are not kept to these numbers, the cheapest first, if affordable or next to nothing."""
        others, turn = [size for size in self.free if size not in kept], cycle(numbers)
        for size in sorted(others, key=lambda s: (self.cost({**sizes, s: numbers[0]}), str(s))):
            more = self.supported.adjust_sizes({**sizes, size: max(next(turn), sizes[size])})
            within = limit._replace(cost=max(limit.cost, NOTHING * self.cost(sizes)))
            if self.allows(more, within) and all(more[each] == sizes[each] for each in kept):
                sizes = more
        return sizes

    def affordable(self, sizes: Sizes) -> dict[Size, int]:
        """Supported sizes near these; smaller, one by one, where an example would cost too much."""
        found = self.supported.adjust_sizes(sizes)
        while self.cost(found) > self.budget:
            least = 2 if max(found.values()) > 2 else 1
            nearby = [
                self.supported.adjust_sizes({**found, s: v - 1 if v < 8 else (v + 1) // 2})
                for s, v in found.items()
                if v > least
            ]
            smaller = min(nearby, key=self.cost, default=found)
            if self.cost(smaller) >= self.cost(found):
                break
            found = smaller
        return found

    # Sizes by kind ------------------------------------------------------------------------------------------------------

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """Which of :data:`ROUNDS` are affordable."""
        if self.supported.few or not self.order:
            return ()
        fine = (turn for turn in range(len(ROUNDS)) if self.cost(self.draw_sizes(ROUND, turn)) <= self.budget)
        return tuple(fine)[: 1 if self.costly else None]

    def draw_sizes(self, kind: int, variant: int) -> dict[Size, int]:
        """Sizes of one kind, the same for the same variant; worked out once."""
        if self.supported.few:
            kind, variant = (FEW[kind % len(FEW)] if kind < SIZE_KINDS else SIZE_KINDS), 0
        found = self._drawn.get((kind, variant))
        if found is None:
            found = self.draw(kind, np.random.default_rng([kind, variant]), variant)
            self._drawn[kind, variant] = found
        return found

    def draw(self, kind: int, random: np.random.Generator, variant: int = 0) -> dict[Size, int]:
        """Draw sizes of one kind; two sizes that are equal by chance go in turn with ``variant``."""
        if kind == ROUND:
            return self.keep_small({}, ROUNDS[variant % len(ROUNDS)])
        if kind in (LEAST, ONE):
            one = self.order[variant % len(self.order)] if kind == ONE and self.order else None
            return self.affordable({**self.keep_small({}, PAIRS), **({one: 1} if one else {})})
        if kind >= SIZE_KINDS and self.large:
            return dict(self.large[(kind - SIZE_KINDS) % len(self.large)])
        sizes = dict(zip(self.order, self._draw_small(kind, random, variant), strict=True))
        if kind == 7 and self.squares:
            symbol, composite = self.squares[int(random.integers(len(self.squares)))]
            sizes |= {part: 2 + place for place, part in enumerate(sorted(symbols_in(composite), key=str))}
            sizes[symbol] = whole(composite, sizes)
        return self.affordable(sizes)

    def _draw_small(self, kind: int, random: np.random.Generator, variant: int) -> list[int]:
        """Draw small sizes in order, steps of recurrences first: mostly distinct primes."""
        total = len(self.order)
        small = tuple(islice(cycle(PRIMES), max(total + 1, 4)))
        if kind in (0, 1):
            return list(small[:total][:: -1 if kind else 1])
        if kind in (ALIKE, 6):
            return [int(random.integers(1, 8)) if kind == ALIKE else 1] * total
        chosen = [int(x) for x in random.permutation(small)[:total]]
        if kind == 3 and total:
            chosen[int(random.integers(total))] = 1
        if kind == BY_CHANCE and total > 1:
            one, other = self.couples[variant % len(self.couples)]
            chosen[one] = chosen[other]
        if kind in (ONE_LARGER, 9) and total:
            place = int(random.integers(total))
            named = self.order[place] in self.formula.inputs
            chosen[place] = int(random.integers(17, 300 if named and total <= 2 else 41))
        return chosen

    def _find_long(self) -> Iterator[dict[Size, int]]:
        """For each number of steps the most that are affordable while there is one of the others."""
        for symbol in (size for size in self.order if size in self.steps):
            yield from islice(self.enlarge([symbol], LONG, Limit(LONGEST), (2, 3)), 1)

    def _find_large(self) -> Iterator[dict[Size, int]]:
        """For each other size the largest of :data:`LARGE` that is affordable while the rest are small, and the next smaller."""
        small, limit = (2, 2, 3, 3), Limit(self.budget)
        offered = [list(islice(self.enlarge([size], LARGE, limit, small), 2)) for size in self.free]
        return (fine[rank] for rank in range(2) for fine in offered if rank < len(fine))

    def _share_axis(self, couple: tuple[int, int]) -> bool:
        """Whether two inputs have these sizes in the same place, counted from the end: n and m do, n and d do not."""
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


@lru_cache(maxsize=256)
def make_sizing(formula: Formula, supported: Supported) -> Sizing:
    """The sizes of a formula, worked out once."""
    return Sizing(formula, supported)


def entries(formula: Formula, sizes: Sizes, role: str = "") -> int:
    """Count the entries that the inputs have, all together, or those of one role."""
    return sum(
        math.prod(whole(size, sizes) for size in item.shape)
        for item in formula.tensors
        if not role or item.role == role
    )


# Large sizes: where blocks end, and where a narrow index wraps ------------------------------------------------------------------

INDEXED = (32_771, 263, 131)
"""Past 2¹⁵, 2⁸ and 2⁷, of a size whose indices are numbers that something holds: ids, positions, lengths. All are primes."""
OTHERS = (4_111, 1_031, 263, 131)
"""Past 2¹², 2¹⁰, 2⁸ and 2⁷, of any other size: what is worked through in blocks of up to so many ends in a part of one, and what
has room for so many has none for the last.
"""
STEPS = (67, 37)
"""What comes after these of the steps of a sequence, each of which costs as much as many entries: past 2⁶ and 2⁵. The first, too,
where all pairs or triples of positions are costly.
"""
DEEP, DEEP_SLOPES, LAYERS = (131,), (37,), (3, 4, 5)
"""Layers one upon another: past 2⁷, more than any model has; past 2⁵ for gradients; and a few, of which more can be said."""
FULL = (512, 256, 128)
"""What is worked through in blocks of so many is filled by these: there is no rest, and what is made of the last few is empty."""
HEADS, MODELS = (
    (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256),
    (384, 512, 768, 1_024, 1_536, 2_048, 3_072, 4_096),
)
"""Widths of heads, and of models: a kernel may be written for each."""
COUNTS = (8, 12, 16, 32)
"""Of heads, as models have: a kernel may take their widths from them."""
COMMON, SLOPING = (64, 96, 128, 256, 512, 768, 1_024), (64, 96, 128, 768)
"""The widths that are tried of one input by itself, and those at which gradients are looked at, too."""
BLOCK, BLOCK_ENDS = 64, 263
"""The smallest block in mind, and what is past all blocks in use."""
ROWS = (519, 263, 131)
"""All positions of data together, of which attention makes squares: past 2⁹, 2⁸ and 2⁷."""
ONCE, NUMBERS = 500.0, 4e5
"""Where an example is evaluated once, for how many entries a line of a recurrence counts at each step; numbers in the inputs."""
VALUES, GRADIENTS, SQUARES = (Limit(cost, NUMBERS, step=ONCE) for cost in (1.5e6, 8e5, 3e6))
"""What a large example may cost where values are looked at, where gradients are, and where positions are squared."""
ENDS, END_SLOPES = (Limit(cost, NUMBERS, step=ONCE) for cost in (2.5e5, 1e5))
"""The same where a size is past :data:`BLOCK_ENDS` for no other reason than that there may be an end."""
MEMBERS = (1_031, 131)
"""Members of a large batch: past each power of two up to 2¹⁰, or 2⁷ where inputs of so many would be large."""


@dataclass(frozen=True)
class Large:
    """Sizes of which some are ``large``, and about how many entries they cost."""

    large: tuple[Size, ...]
    sizes: Sizes
    cost: float = 0.0

    def __str__(self) -> str:
        return ", ".join(f"{size} = {self.sizes[size]}" for size in self.large)

    @property
    def tail(self) -> int:
        """How many indices of the first large size stand in the last block of 64, which they do not fill."""
        return self.sizes[self.large[0]] % BLOCK


def _first(space: Sizing, large: Sequence[Size], offered: Iterable[dict[Size, int]]) -> list[Large]:
    """The first sizes that are offered, if there are any."""
    return [Large(tuple(large), sizes, space.cost(sizes, ONCE)) for sizes in islice(offered, 1)]


@lru_cache(maxsize=256)
def large_sizes(space: Sizing, slopes: bool = False) -> tuple[Large, ...]:
    """For each size the largest number that is affordable while the others are small; for gradients with ``slopes``."""
    indexed, found = set(_find_indexed_sizes(space.formula)), list[Large]()
    limit, end = (GRADIENTS, END_SLOPES) if slopes else (VALUES, ENDS)
    for size in space.symbols:
        numbers: tuple[int, ...] = INDEXED if size in indexed else OTHERS
        if size in space.layers:
            numbers = DEEP_SLOPES if slopes else DEEP
        elif size in space.along:
            numbers += STEPS
        far = [number for number in numbers if number > BLOCK_ENDS and size not in indexed]
        near = [number for number in numbers if number not in far]
        least = () if slopes else space.enlarge([size], (near[-1], STEPS[0]), SQUARES, (2,))
        found += _first(
            space,
            [size],
            chain(space.enlarge([size], far, end), space.enlarge([size], near, limit), least),
        )
    return tuple(found)


@lru_cache(maxsize=256)
def full_blocks(space: Sizing) -> tuple[Large, ...]:
    """For each size a number that fills blocks, where that is cheap."""
    every = ((size, space.enlarge([size], FULL, ENDS, kept=1)) for size in space.symbols)
    return tuple(large for size, offered in every for large in _first(space, [size], offered))


@lru_cache(maxsize=256)
def usual_widths(space: Sizing) -> tuple[Large, ...]:
    """Rows as wide as those of heads and of models are, and as many heads as models have.

    All inputs together have them where that is cheap, else each by itself; where that is cheap, too, there are as many rows.
    """
    real = [i for i in space.formula.tensors if i.shape and i.domain in ("real", "positive", "nonnegative")]
    widths = [size for size in space.free if any(size == item.shape[-1] for item in real)]
    found: dict[tuple[int, ...], Large] = {}

    def add(large: Sequence[Size], number: int) -> bool:
        made = _first(space, large, space.enlarge(large, [number], ENDS, kept=1)) if large else []
        for each in made:
            found.setdefault(tuple(each.sizes.values()), each)
        return bool(made)

    for number in (*HEADS, *MODELS):
        add(space.free if widths else (), number)
        if not add(widths, number) and number in COMMON:
            for size in widths:
                add([size], number)
    for size in sorted(find_counting_sizes(space.formula) & set(space.free), key=str):
        for number in COUNTS:
            add([size], number)
    return tuple(found.values())


@lru_cache(maxsize=256)
def several_layers(space: Sizing) -> tuple[Large, ...]:
    """A few layers more than small sizes have, where most can be said of them: at the least of the other sizes."""
    offered = space.enlarge((), (0,), Limit(), PAIRS, layers=LAYERS) if space.layers else ()
    return tuple(Large(space.layers, sizes) for sizes in offered)


@lru_cache(maxsize=256)
def many_rows(space: Sizing) -> tuple[Large, ...]:
    """All positions of data many: equally many, and where there are two kinds of them, more of the one than of the other."""
    kinds = dict.fromkeys(
        item.shape[-2] for item in space.formula.tensors if item.role == "data" and len(item.shape) > 1
    )
    rows = [size for size in kinds if is_size(size) and size in space.free]
    if not rows:
        return ()
    first, *others = rows
    alone = max(each.sizes[first] for each in (*large_sizes(space), Large((), dict.fromkeys(rows, 0))))
    one = dict.fromkeys(find_counting_sizes(space.formula) & set(space.free), 1)
    smalls: list[tuple[tuple[int, ...], Sizes]] = [(TRIPLES, {}), ((2,), {})]
    equal = [(number, number) for number in ROWS]
    tried = [(equal, smalls), (list(pairwise(ROWS)) if others else [], smalls)]
    if space.layers:  # of rows of two entries that are normalised in each layer little is left
        tried.append((equal, [((3,), one)]))
    found = []
    for numbers, each in tried:
        offered = chain.from_iterable(
            space.enlarge(others or rows, [other], SQUARES, small, beside={**heads, first: number})
            for other, number in numbers
            for small, heads in each
        )
        found += [large for large in _first(space, rows, offered) if others or large.sizes[first] > alone]
    return tuple(found)


def members(formula: Formula, sizes: Sizes) -> int:
    """How many members a large batch has at these sizes."""
    each = entries(formula, sizes)
    return next((number for number in MEMBERS if number * each <= NUMBERS), MEMBERS[-1])


# Sizes of real models, at which accuracy is graded ----------------------------------------------------------------------------

WIDTHS, SMALL = (67, 257, 1031), (3, 2, 5)
"""How wide sums are, at least (in real models they run over 256 to a few thousand terms); and sizes that no sum runs over."""
NARROW, OVER, DEAREST = 31, 2, 2e7
"""How wide a whole model is, whose least of these costs more than so many times what is affordable, and more than so much."""
SOME, LITTLE = (5, 7, 11), (5, 4, 3)
"""Other sizes where one is large (a row of two entries is always the same once it is normalised), and fewer."""
ALIGNED, LONG_ROWS, LONE_ROW = (64, 128, 256), (1024, 4096), 2e4
"""Kernels for rows of whole blocks, often of 64 entries, are others than for all rows; how long rows are where there are few of
them, and what an example of such may cost."""
PROPORTIONS = ((2, 128, 64), (8, 512, 16), (4, 256, 32))
"""Heads, width and rows of models of usual proportions: a small one, and as large a one as is affordable."""
TALL, FEW_STEPS, STACK = 13, 3, 2
"""Layers of a deep example (usual models have 12); steps where sums are wide; and layers of a stack whose later ones may be other
than the first."""
BLOCKS, VAST = (384, 320, 256), (8_219, 4_111)
"""What is large by itself: past 2⁸, and whole blocks of 2⁷ entries, as fast paths ask for; or less, of 2⁶ or 2⁸. And towards the
words of a vocabulary, and rows wider than a kernel may hold at once."""
SEQUENCE, BRIEF, BROAD = (640, 320, 160, 64), 32, (67, 37)
"""Steps of a long recurrence, past 2⁹, 2⁸ and 2⁷, in whole blocks; those of a costly one; and other sizes where none is small."""
MODERATE = 17
"""Steps and all other sizes of which gradients are looked at together."""
FORWARD, BACKWARD, STACKED = 1.45e8, 7.5e7, 3e7
"""What an example of many steps may cost of which values are graded; and gradients, of one layer and of several."""
GRADED, MOST, DATA = 2e8, 5e6, 3e5
"""What a graded example may cost (most are products in a sum, which are never stored); numbers in its inputs, and in its data, of
which every sample makes arrays as large."""
LONE_SUM, LAYERED, NOTHING = 2.9e8, 2.2e8, 1.1
"""What an example may cost in which one sum alone is long; one of a stack whose gradients are looked at; and how many times the
cost of another is as good as the same."""


def _stacks(space: Sizing) -> tuple[int, ...]:
    """How many layers are wanted beside something large: later ones may be other than the first."""
    return (STACK, 1) if space.layers else (1,)


@lru_cache(maxsize=256)
def wide_sums(space: Sizing, cost: float = GRADED, inputs: float = MOST) -> tuple[Sizes, ...]:
    """Sizes at which all sums are wide, ever wider as far as is affordable; the first always is."""
    limit = Limit(cost + space.budget, inputs, DATA)
    made = [space.widen(least, SMALL, FEW_STEPS) for least in WIDTHS]
    fine = [sizes for sizes in made if space.allows(sizes, limit)]
    if not fine and space.cost(made[0]) > max(OVER * cost, DEAREST):
        return (space.widen(NARROW, SMALL, FEW_STEPS),)
    return tuple(fine or made[:1])


@lru_cache(maxsize=256)
def none_small(space: Sizing, cost: float, slopes: bool = False) -> tuple[Sizes, ...]:
    """Sizes of which none is small, the steps of a sequence many, one layer; with ``slopes`` fewer, for gradients."""
    numbers = (MODERATE,) if slopes else BROAD
    steps = (MODERATE,) if slopes else SEQUENCE if space.along else (1,)
    offered = space.enlarge(
        space.free, numbers, Limit(cost, MOST), steps=steps, layers=(1,), distinct=True, kept=0
    )
    return tuple(islice(offered, 1))


@lru_cache(maxsize=256)
def many_steps(space: Sizing, slopes: bool) -> tuple[Sizes, ...]:
    """Many steps of a sequence, fewer with ``slopes``, for gradients; else small sizes, of layers a few."""
    if not space.along:
        return ()
    limit = Limit(FORWARD if not slopes else STACKED if space.layers else BACKWARD)
    steps, layers = ((*SEQUENCE[1:], BRIEF), (1,)) if slopes else (SEQUENCE, _stacks(space))
    return tuple(islice(space.enlarge((), (0,), limit, SMALL, steps=steps, layers=layers), 1))


@lru_cache(maxsize=256)
def many_layers(space: Sizing) -> tuple[Sizes, ...]:
    """More layers than other examples have, and else small sizes."""
    return (space.keep_small({}, SOME, FEW_STEPS, TALL),) if space.layers else ()


def long_steps(formula: Formula, sizes: Sizes) -> frozenset[Size]:
    """The steps of a sequence of which there are many."""
    return frozenset(size for size in make_sizing(formula, EVERY_SIZE).along if sizes[size] >= min(SEQUENCE))


@lru_cache(maxsize=256)
def whole_blocks(space: Sizing, cost: float) -> tuple[Sizes, ...]:
    """Sizes such as fast paths ask for: equal powers of two, those of sums and as many others as are affordable; a few steps.

    One block, two, and the most.
    """
    limit, made = Limit(cost, MOST), list[Sizes]()
    for least in (*ALIGNED, *LONG_ROWS) if sum_lengths(space.formula) else ():
        sizes = space.widen(least, SMALL, FEW_STEPS, equal=True)
        if not space.allows(sizes, limit if least in ALIGNED else limit._replace(cost=LONE_ROW)):
            break
        made.append(space.fill(sizes, (), (least,), limit))
    return (*made[:2], *made[2:][-1:])


@lru_cache(maxsize=256)
def usual_proportions(space: Sizing, cost: float) -> tuple[Sizes, ...]:
    """Sizes in the proportions of usual models: heads share the width between them, and what stands in weights alone is four
    times as wide. A small model, and one as large as is affordable.
    """
    several, of_head, model = _heads(space)
    tensors = space.formula.tensors
    if several is None:
        data = [i for i in tensors if i.role == "data" and i.shape and i.domain == "real"]
        model = {item.shape[-1] for item in data if is_size(item.shape[-1])}
    seen = {s for item in tensors if item.role != "parameter" for of in item.shape for s in symbols_in(of)}
    hidden = set(space.free) - seen - model - of_head - {several}
    found: list[Sizes] = []
    for heads, width, rows in PROPORTIONS if model and (several is not None or hidden) else ():
        chosen = dict.fromkeys(model, width) | dict.fromkeys(of_head, width // heads)
        chosen |= dict.fromkeys(hidden, 4 * width) | ({} if several is None else {several: heads})
        sizes = space.keep_small(chosen, (rows,), 1, 1)
        found += [sizes] if space.allows(sizes, Limit(cost, MOST)) else []
    return tuple(found[:2])


def _heads(space: Sizing) -> tuple[Size | None, set[Size], set[Size]]:
    """The size that counts the heads, those of one head, and that of the model, whose width the heads share between them."""
    for size, composite in space.squares:
        parts = symbols_in(composite) & find_counting_sizes(space.formula) & set(space.free)
        if size in space.free and len(symbols_in(composite)) == 2 and parts:
            (several,) = parts
            shapes = [item.shape for item in space.formula.tensors if several in item.shape]
            own = {of for shape in shapes for of in shape if is_size(of)}
            return several, own - {several, size} - space.steps, {size}
    return None, set(), set()


@lru_cache(maxsize=256)
def one_query(space: Sizing, cost: float) -> tuple[Sizes, ...]:
    """Wide sums where all else is one: one query of many keys, one step; nothing where that is nothing, or costly."""
    for least in reversed(WIDTHS[:2]):
        sizes = space.widen(least, (1,), 1)
        if sizes != space.widen(least, SMALL, FEW_STEPS) and space.cost(sizes) <= cost:
            return (sizes,)
    return ()


def _alone(
    space: Sizing, size: Size, limit: Limit, dearer: float, layers: Sequence[int], beside: Sizes
) -> list[Sizes]:
    """Sizes at which one alone is as large as whole blocks.

    Where that is beyond the limit the others are little, but no narrower than they have to be, and it may be dearer.
    """
    for small, most in ((SOME, limit), (LITTLE, limit._replace(cost=dearer))):
        offered = space.enlarge([size], BLOCKS, most, small, steps=(1,), layers=layers, beside=beside, kept=1)
        for sizes in offered:
            return [sizes if small == SOME else space.fill(sizes, {size, *beside}, SOME[1:], limit)]
    return []


@lru_cache(maxsize=256)
def one_large(space: Sizing, cost: float, inputs: float) -> tuple[Sizes, ...]:
    """For each size those at which it alone is large: for gradients, which are costly where several are."""
    limit = Limit(cost, inputs)
    return tuple(
        chain.from_iterable(_alone(space, size, limit, LAYERED, (STACK,), {}) for size in space.free)
    )


@lru_cache(maxsize=256)
def one_long_sum(space: Sizing, cost: float) -> tuple[Sizes, ...]:
    """For each sum that has few terms in the other examples of this cost, sizes at which it alone has many: all together are
    costly where layers lie one upon another.
    """
    found = [*wide_sums(space), *whole_blocks(space, cost)]
    found += () if space.layers else usual_proportions(space, cost)  # which have one layer
    before = len(found)
    for length in dict.fromkeys(sum_lengths(space.formula)):
        if all(whole(length, sizes) < BLOCKS[-1] for sizes in found):
            sizes = [size for size in space.free if size in symbols_in(length)]
            offered = [_alone(space, size, Limit(cost, MOST), LONE_SUM, _stacks(space), {}) for size in sizes]
            found += sorted(chain.from_iterable(offered), key=space.cost)[:1]
    return tuple(found[before:])


@lru_cache(maxsize=256)
def beside_one(space: Sizing, cost: float) -> tuple[Sizes, ...]:
    """One position of all inputs but one, and many of that, as where a text is made token by token; nothing where there is one
    input of positions, or no sum runs over them.
    """
    data = [item for item in space.formula.tensors if item.role == "data"]
    axes = {of for item in data for of in item.shape[: -1 if item.domain == "real" else None]}
    ones = dict.fromkeys((size for size in space.free if size in axes), 1)
    summed = {size for length in sum_lengths(space.formula) for size in symbols_in(length)}
    many = [size for size in ones if len(ones) > 1 and size in summed]
    limit, layers = Limit(cost, MOST), _stacks(space)
    return tuple(chain.from_iterable(_alone(space, size, limit, cost, layers, ones) for size in many))


@lru_cache(maxsize=256)
def vast_sums(space: Sizing) -> tuple[Sizes, ...]:
    """Sizes at which one sum has thousands of terms, as over a vocabulary, and all else is small, where that is cheap."""
    summed = {size for length in sum_lengths(space.formula) for size in symbols_in(length)}
    every = (space.enlarge([size], VAST, ENDS) for size in space.symbols if size in summed)
    return tuple(sizes for offered in every for sizes in islice(offered, 1))


@lru_cache(maxsize=256)
def large_data(space: Sizing, cost: float, most: float) -> tuple[Sizes, ...]:
    """Sizes at which real inputs are large along each axis, many positions of wide rows, and so is what else is affordable; two
    layers first. It may cost ``most``; nothing where another example, of the ``cost``, has them.
    """
    real = [item for item in space.formula.tensors if item.role == "data" and item.domain == "real"]
    axes = {size for item in real for of in item.shape for size in symbols_in(of)}
    large = [size for size in space.free if size in axes]
    graded = (*whole_blocks(space, cost), *none_small(space, cost))
    if len(large) < 2 or any(all(others[size] >= ALIGNED[-1] for size in large) for others in graded):
        return ()
    limit, wide, layers = Limit(most, MOST), WIDTHS[1:2], _stacks(space)
    offered = space.enlarge(large, wide, limit, LITTLE, steps=(1,), layers=layers, distinct=True)
    return tuple(space.fill(sizes, large, wide, limit) for sizes in islice(offered, 1))


def repeats(formula: Formula, sizes: Sizes, entries: int) -> int:
    """How many examples of these sizes have so many entries in their outputs."""
    each = sum(math.prod(whole(size, sizes) for size in item.shape) for item in formula.outputs)
    return math.ceil(entries / max(each, 1))


# What is read off the statement -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def cost_terms(formula: Formula) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """What is evaluated, whatever the sizes: entries of lines and of sums; and the lines of recurrences at each step."""
    entered: dict[tuple[Size, ...], float] = {}
    stepped: dict[tuple[Size, ...], float] = {}
    for group in formula.flat(None).groups:
        for over, weight in chain.from_iterable(map(_line_terms, group.lines)):
            entered[over] = entered.get(over, 0.0) + weight
        for over, weight in _step_terms(group, ()):
            stepped[over] = stepped.get(over, 0.0) + weight
    return tuple(entered.items()), tuple(stepped.items())


def _line_terms(line: Definition) -> Iterator[Term]:
    ends = ends_of(line)
    spans = {symbol: longest(first, last, ends) for symbol, first, last in line.ranges}
    yield _all_sizes(spans), 1.0
    yield from _sum_terms(line.right, spans, ends)


def _sum_terms(node: Any, spans: Mapping[Any, Any], ends: Ends) -> Iterator[Term]:
    """The entries of sums, each over those indices alone on which it depends."""
    if isinstance(node, Tensor):
        return
    if isinstance(node, Bound):
        within = free_symbols(node)
        spans = {symbol: length for symbol, length in spans.items() if symbol in within}
        spans[node.var] = longest(node.first, node.last, ends)
        yield _all_sizes(spans), 1.0
    for child in node.args:
        yield from _sum_terms(child, spans, ends)


def _all_sizes(spans: Mapping[Any, Any]) -> tuple[Size, ...]:
    """The sizes in lengths, as factors of their product."""
    return tuple(size for length in spans.values() for size in sorted(symbols_in(length), key=str))


def _step_terms(group: Group, outside: tuple[Size, ...]) -> Iterator[Term]:
    if group.step is None:
        return
    line = group.lines[0]
    over = (*outside, *symbols_in(line.left.tensor.shape[group.step.axes[line.name]]))
    yield over, float(len(group.lines))
    for inner in group.body:
        yield from _step_terms(inner, over)


@lru_cache(maxsize=64)
def sum_lengths(formula: Formula) -> tuple[Any, ...]:
    """How many terms the sums of a statement have."""
    return tuple(
        longest(part.first, part.last, ends)
        for line in formula.flat(None).lines
        for ends in (ends_of(line),)
        for part in walk(line.right)
        if isinstance(part, SumOf)
    )


def _find_indexed_sizes(formula: Formula) -> Iterator[Size]:
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


def find_counting_sizes(formula: Formula) -> frozenset[Any]:
    """The sizes that count what several matrices are made for, head by head: the first axes of parameters of three, that are no
    axes of the matrices, too.
    """
    shapes = (item.shape[-3:] for item in formula.tensors if item.role == "parameter")
    return frozenset(shape[0] for shape in shapes if len(shape) == 3 and shape[0] not in shape[1:])


def _squares(formula: Formula) -> Iterator[tuple[Size, Any]]:
    """Inputs with a composite axis that may be square: W_o is h·d_v × d_model, and its transpose must not pass for it."""
    for item in formula.tensors:
        for composite in item.shape:
            for symbol in item.shape:
                if is_size(symbol) and not is_size(composite) and symbol not in symbols_in(composite):
                    yield symbol, composite


def primes(first: int) -> Iterator[int]:
    """Yield a prime number, and those after it."""
    while True:
        yield first
        first = next_prime(first)


def next_prime(number: int) -> int:
    """The least prime number above this one."""
    return next(n for n in count(number + 1) if all(n % k for k in range(2, math.isqrt(n) + 1)))
