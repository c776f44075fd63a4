"""Where a callable fails, if no cause is known: at some sizes alone, at large entries, in a few regimes.

Of sizes that is a rule which holds at every size that is tried and fails, and at no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice, product
from math import isfinite, isqrt

import numpy as np

from spec.language.evaluation.binding import sizes_at
from spec.language.evaluation.dimensions import Size, whole
from verify.explain.evidence import MOST, SPOILT, Evidence, Witness
from verify.inputs.examples import Recipe
from verify.properties.slopes import REAL
from verify.report import Report

EXACT = 1e-3
"""An error below so small a share of the bound tells nothing: the result was exact by its nature (a one, a zero)."""
EDGE = 3
"""At fewer than so many entries much is right by chance."""
ALL, STEPS = 12, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Up to which number every one is tried, and how far from that of the counterexample others are."""
BLOCKS = (4, 8, 16, 32, 64, 128)
"""Widths of the blocks in which entries are worked off in the field."""
GRID = 6
"""The same for pairs of sizes."""
SEEDS, AGAIN, BY_CHANCE = 2, 12, 0.1
"""Examples at the same sizes, since a wrong callable may be right at one of them; and so many where it is right at sizes at which
a rule says that it fails, if they are no larger a share of these than the last number."""
MASKS = ("no mask", "all True", "random mask")
LARGER, FACTOR = 0.85, 10
"""The share of pairs of which the failing example has the larger entries, and how much larger these are at least."""
LEAST_FAILING, MOST_CHANGED = 3, 8
"""So many examples have to fail for masks to be the reason, and so many of them are called with a mask instead of none."""
ONLY_WHERE = "fails only where"
"""How it is said in which cases alone a callable fails."""

Sizes = Mapping[Size, int]


def at_sizes(evidence: Evidence, report: Report | None) -> str:
    """Where it fails, if that is a matter of one size, or of how two compare."""
    seen = (*evidence.ordinary, *evidence.drawn)
    failing = [w for w in seen if w.fails]
    passing = [w for w in seen if not w.fails and w.outcome.ratio > EXACT]
    base = _base(evidence, report, failing)
    if base is None:
        return ""
    calls = Calls(evidence, base)
    if not calls.fails(base):
        return ""
    own = [size for size in base if calls.depends(size)]
    pairs = [(a, b) for a in own for b in own if a is not b]
    for over in (*((size,) for size in own), *pairs):
        for said, holds in _rules(over, base, calls):
            bad = sum(holds([w.example.sizes[size] for size in over]) for w in failing)
            good = sum(not holds([w.example.sizes[size] for size in over]) for w in passing)
            if bad < MOST * len(failing) or good < (1 - SPOILT) * len(passing):
                continue
            if calls.nowhere_else(over, holds) and not evidence.late:
                return f"{ONLY_WHERE} {said}{calls.condition()}{calls.describe_exception()}"
    return ""


def _base(evidence: Evidence, report: Report | None, failing: Sequence[Witness]) -> dict[Size, int] | None:
    """The sizes of the counterexample, which was made small; of an example that fails, where there is none."""
    for check in report.falsified if report is not None else ():
        found = check.counterexample
        if check.kind == "value" and found is not None and not found.calls:
            given = found.inputs
            if all(np.ndim(given.get(t.name, 0)) in (0, len(t.shape)) for t in evidence.formula.tensors):
                return dict(sizes_at(evidence.judge.flat, given))
    return min((dict(w.example.sizes) for w in failing), key=lambda sizes: sum(sizes.values()), default=None)


class Calls:
    """Calls at other sizes than some at which a callable fails, each made once."""

    def __init__(self, evidence: Evidence, base: dict[Size, int]) -> None:
        self.evidence, self.base = evidence, base
        self.space = evidence.setting.space()
        names = [kind.name for kind in self.space.masks] if self.space.masked else []
        self.masks = {name: names.index(name) for name in MASKS if name in names} or {"": 0}
        self._found: dict[tuple[str, tuple[int, ...]], list[Witness]] = {}
        self.mask = next((name for name in self.masks if any(w.fails for w in self.at(base, name))), "")
        """The plainest mask with which it fails there."""

    def at(self, sizes: Sizes, mask: str, seeds: int = SEEDS) -> list[Witness]:
        """Call at these sizes; empty where no such call is possible."""
        sizes, kept = dict(sizes), self._found
        key = mask, (seeds, *(sizes[size] for size in self.base))
        if key not in kept:
            kept[key] = []
            if self.evidence.caller.sizes.fits(sizes) and self.space.sizing.affordable(sizes) == sizes:
                made = (Recipe(0, 0, 0, self.masks.get(mask, 0), 0, seed) for seed in range(seeds))
                examples = [self.space.example(each, self.evidence.kind, sizes=sizes) for each in made]
                kept[key] = self.evidence.call_each(examples)
        return kept[key]

    def fails(self, sizes: Sizes, seeds: int = SEEDS) -> bool | None:
        """Whether it fails there; None where that cannot be seen."""
        found = [] if self.evidence.late else self.at(sizes, self.mask, seeds)
        return any(w.fails for w in found) if found else None

    def depends(self, size: Size) -> bool:
        """Whether it does not fail at some other number of this size alone."""
        v = self.base[size]
        tried = dict.fromkeys((v + 1, v - 1, 2 * v, v // 2, 2 * v + 1, v + 2, v - 2, 2, 1, *BLOCKS))
        return any(self.fails({**self.base, size: t}) is False for t in tried if t > 0)

    def along(self, over: Sequence[Size], base: Sizes) -> Iterator[tuple[tuple[int, ...], bool]]:
        """Numbers of these sizes, the others as they are, and whether it fails there."""
        for numbers in product(*(self._choose_lengths(size, len(over)) for size in over)):
            failed = self.fails({**base, **dict(zip(over, numbers, strict=True))})
            if failed is not None:
                yield numbers, failed

    def edge(
        self, size: Size, base: Sizes, found: Mapping[tuple[int, ...], bool]
    ) -> dict[tuple[int, ...], bool]:
        """Numbers between the least that fails and the next smaller that does not, by halving; and whether it fails there."""
        more: dict[tuple[int, ...], bool] = {}
        high = min((number for (number,), failed in found.items() if failed), default=0)
        low = max((number for (number,) in found if number < high), default=high)
        while high - low > 1:
            middle = (low + high) // 2
            failed = self.fails({**base, size: middle})
            if failed is None:
                break
            more[middle,] = failed
            low, high = (low, middle) if failed else (middle, high)
        return more

    def _choose_lengths(self, size: Size, axes: int) -> list[int]:
        v = self.base[size]
        if axes > 1:
            return sorted({*range(1, GRID + 1), v, v + 1, 2 * v})
        near = {v + step for step in STEPS} | {v - step for step in STEPS}
        return sorted(
            t for t in {*range(1, ALL + 1), *near, *BLOCKS, v, v // 2, 2 * v, 2 * v + 1, 3 * v} if t > 0
        )

    def nowhere_else(self, over: Sequence[Size], holds: Callable[[Sequence[int]], bool]) -> bool:
        """Whether a rule for some sizes is obeyed wherever it fails, whatever the others are."""
        others = [size for size in self.base if size not in over]
        primes = (n for n in count(5) if all(n % k for k in range(2, isqrt(n) + 1)))
        for changed in (
            {size: self.base[size] + 1 for size in others},
            {size: 2 * self.base[size] for size in others},
            dict.fromkeys(others, 2),
            dict.fromkeys(others, max(self.base[size] for size in over) + 1),
            dict(zip(others, islice(primes, len(others)), strict=True)),
        ):
            found = self.along(over, {**self.base, **changed})
            if others and any(failed and not holds(numbers) for numbers, failed in found):
                return False
        return True

    def condition(self) -> str:
        """Return the further condition of a failure: with a mask, or without one."""
        if len(self.masks) < len(MASKS):
            return ""
        none, whole, some = (any(w.fails for w in self.at(self.base, mask)) for mask in MASKS)
        if none:
            return "" if whole else " and there is no mask"
        return " and there is a mask" if whole else " and a mask hides something" if some else ""

    def describe_exception(self) -> str:
        """Describe the exception of the first failed call; empty where some failed call returned a result."""
        failed = [w for found in self._found.values() for w in found if w.fails]
        if any(w.got is not None for w in failed):
            return ""
        said = [w.said.partition(" raised ")[2].partition(" for ")[0] for w in failed]
        return f": it raises {said[0]}" if said and said[0] else ""


Rules = Iterator[tuple[str, Callable[[Sequence[int]], bool]]]


def _rules(over: Sequence[Size], base: Sizes, calls: Calls) -> Rules:
    """The rules that say of everything that was tried whether it fails."""
    found = dict(calls.along(over, base))
    if len(over) == 1:
        found |= calls.edge(over[0], base, found)
    failing = [numbers for numbers, failed in found.items() if failed]
    for said, holds, inside in _of_two(*over) if len(over) > 1 else _of_one(over[0], base, failing):
        told = {numbers: failed for numbers, failed in found.items() if inside(numbers)}
        obeyed = [numbers for numbers in told if holds(numbers)]
        enough = len(obeyed) > 1 or base[over[0]] == 1
        broken = [numbers for numbers, failed in told.items() if failed != holds(numbers)]
        if (
            enough
            and len(told) - len(obeyed) > 1
            and len(broken) <= BY_CHANCE * len(obeyed)
            and all(holds(numbers) and inside(numbers) for numbers in (*failing, *broken))
            and all(calls.fails({**base, **dict(zip(over, at, strict=True))}, AGAIN) for at in broken)
        ):
            yield said, holds


Numbers = Sequence[int]
Of = Callable[[Numbers], bool]


def _of_one(a: Size, base: Sizes, failing: Sequence[Numbers]) -> Iterator[tuple[str, Of, Of]]:
    """Rules for one size: how they are said, where they hold, and where that is told."""
    least = min((n for (n,) in failing), default=1)

    def everywhere(_: Numbers) -> bool:
        return True

    if base[a] == 1:
        yield f"{a} = 1", lambda n: n[0] == 1, everywhere
    if least >= EDGE:
        yield f"{a} ≥ {least}", lambda n: n[0] >= least, everywhere
        yield f"{a} is a multiple of {least}", lambda n: n[0] % least == 0, everywhere
    for width in BLOCKS:
        yield f"{a} is no multiple of {width}", lambda n, width=width: n[0] % width > 0, everywhere  # type: ignore[misc]
        said = f"{a} > {width} is no multiple of {width}: in the last block, which is not full"
        yield said, lambda n, width=width: n[0] > width and n[0] % width > 0, everywhere  # type: ignore[misc]
    if least > 1:
        yield (
            f"{a} is {'odd' if least % 2 else 'even'} and ≥ {least}",
            lambda n: n[0] >= least and n[0] % 2 == least % 2,
            everywhere,
        )
        said = f"{a} is a power of two and ≥ {least}"
        yield said, lambda n: n[0] >= least and n[0] & (n[0] - 1) == 0, everywhere


def _of_two(a: Size, b: Size) -> Iterator[tuple[str, Of, Of]]:
    """Yield relations of two sizes, each from some number of both on."""
    rules: list[tuple[str, Of]] = [
        (f"{a} = {b}", lambda n: n[0] == n[1]),
        (f"{a} > {b}", lambda n: n[0] > n[1]),
        (f"{a} is a multiple of {b}", lambda n: n[0] % n[1] == 0),
    ]
    for (said, holds), least in product(rules, range(1, EDGE + 2)):
        from_on = f" ≥ {least}" if least >= EDGE else ""
        yield f"{said}{from_on}", holds, lambda n, least=least: min(n) >= least  # type: ignore[misc]


# Some masks alone --------------------------------------------------------------------------------------------------------


def at_masks(evidence: Evidence) -> str:
    """Whether it fails only where no mask is passed, or only where one is: all else stays, in calls that are made for it."""
    failing = [w for w in (*evidence.ordinary, *evidence.drawn) if w.fails]
    masks = [t for t in evidence.formula.tensors if t.role == "mask"] if evidence.caller.takes_mask else []
    for mask in masks if len(failing) >= LEAST_FAILING else ():
        passed = [w.example.inputs[mask.name] is not None for w in failing]
        if any(passed) != all(passed):
            continue
        others = []
        for example in (w.example for w in failing[:MOST_CHANGED]):
            hides_nothing = np.ones([whole(size, example.sizes) for size in mask.shape], bool)
            others.append(example.replace_inputs(**{mask.name: None if all(passed) else hides_nothing}))
        if not any(w.fails for w in evidence.call_each(others)):
            return f"{ONLY_WHERE} {'a' if all(passed) else 'no'} mask is passed"
    return ""


# Some entries alone ------------------------------------------------------------------------------------------------------


def at_entries(evidence: Evidence) -> str:
    """Whether it fails only on inputs of a certain size, or only in a few regimes."""
    failing = [w for w in evidence.drawn if w.fails]
    passing = [w for w in evidence.drawn if not w.fails and w.outcome.ratio > EXACT]
    if min(len(failing), len(passing)) < 3 or any(w.outcome.got is None for w in failing):
        return ""
    worst = max(failing, key=lambda w: w.outcome.ratio)
    ratio = worst.outcome.ratio
    times = f"{ratio:.3g} times the bound" if isfinite(ratio) else f"got {worst.outcome.got}"
    at = f"worst at “{worst.example.regime}”: {times}"
    names = [t.name for t in evidence.formula.tensors if t.role == "data" and t.domain in REAL]
    # Large inputs explain it if what fails is mostly larger than what passes, and by a factor that is no accident; not where
    # ordinary inputs fail, and those near 0 pass since little is left of them to be wrong.
    if names and not evidence.everywhere:
        bad, good = ([evidence.size(w.example) for w in part] for part in (failing, passing))
        larger = float(np.mean([x > y for x in bad for y in good]))
        if larger >= LARGER and min(bad) >= FACTOR * float(np.median(good)):
            *most, last = names
            which = f"{', '.join(most)} or {last}" if most else last
            return (
                f"{ONLY_WHERE} an entry of {which} reaches {min(bad):.2g} in size ({at}): "
                "the error grows with the inputs"
            )
    where, fine = ({w.example.regime for w in part} for part in (failing, passing))
    if not where & fine and 3 * len(where) <= len(where | fine):
        return f"fails in {len(where)} of the {len(where | fine)} regimes drawn ({at})"
    return ""


__all__ = ["at_entries", "at_masks", "at_sizes"]
