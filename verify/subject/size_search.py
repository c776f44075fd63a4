"""Which sizes a callable takes that raises an error at others: rules that explain it, found by trying.

Sizes are tried that happen to be related in the usual ways (equal, products, multiples); of the rules that hold where a call
succeeded, those are left out, one by one, without which calls succeed as well. What is left is a rule only if calls fail
beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from spec.language.evaluation.dimensions import Size
from spec.language.formula import Formula
from verify.faults import Unusable
from verify.inputs.size_rules import Supported
from verify.inputs.sizes import entries

TRIALS, GOOD, AGAIN = 300, 4, 5
"""Sizes tried at most; successes that are enough; and how many sizes have to succeed before a rule is believed or left out."""
NUMBERS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 32, 64)
MANY = 20
"""By what a size is multiplied that has to be a multiple of another."""
MOST = 64
"""The largest size tried."""
BLOCKS = (4, 8, 16, 32, 64)
"""What a size may have to be a multiple of."""
POWERS, HEADS = (2, 4, 8, 16, 32), (32, 64, 128)
"""Some numbers, of which a size may have to be one: of heads, and how wide they are."""
LEAST = 64
"""The largest number that a size may have to reach."""
BEYOND, RIGHT = 12, 0.25
"""How many sizes are tried that break the rules, and the share of them at which calls may succeed all the same."""
WORD = re.compile(r"[A-Za-z_]\w*")

ENTRIES = 1e5
"""How many entries the inputs of a trial may have."""

Sizes = Mapping[Size, int]
Works = Callable[[Sizes], bool]


def draw_related(
    symbols: Sequence[Size], supported: Supported, seed: int, count: int = TRIALS
) -> Iterator[dict[Size, int]]:
    """Sizes of which some are equal, some are products of others, and some are multiples."""
    random = np.random.default_rng([seed, 29])
    for _ in range(count):
        drawn: dict[Size, int] = {}
        for place in random.permutation(len(symbols)):
            before, turn = list(drawn.values()), random.random()
            value = int(random.choice(NUMBERS))
            if before and turn < 0.3:
                value = int(random.choice(before))
            elif len(before) > 1 and turn < 0.6:
                value = int(np.prod(random.choice(before, 2, replace=False)))
            elif before and turn < 0.7:
                value = int(random.choice(before)) * int(random.integers(2, 4))
            drawn[symbols[place]] = min(value, MOST)
        yield supported.adjust_sizes(drawn)


def rules_for(
    formula: Formula,
    symbols: Sequence[Size],
    supported: Supported,
    works: Works,
    failing: Sequence[Sizes],
    seed: int,
) -> dict[str, str] | None:
    """Rules under which every call succeeds and beyond which hardly any does, the failing sizes among these; None where none were
    found.
    """
    good: list[dict[Size, int]] = []
    for sizes in draw_related(symbols, supported, seed):
        if entries(formula, sizes) <= ENTRIES and works(sizes):
            good.append(sizes)
            if len(good) >= GOOD:
                break
    search = _Search(formula, symbols, supported, works, seed)
    fewest: dict[str, str] | None = None
    for sizes in good:
        rules = search.least(sizes)
        if not rules or any(search.under(rules).fits(bad) for bad in failing):
            continue
        if (fewest is None or len(rules) < len(fewest)) and search.are_needed(rules):
            fewest = rules
    return fewest


class _Search:
    def __init__(
        self, formula: Formula, symbols: Sequence[Size], supported: Supported, works: Works, seed: int
    ) -> None:
        self.formula, self.symbols, self.supported, self.works = formula, symbols, supported, works
        self.seed = seed

    def under(self, rules: Mapping[str, str]) -> Supported:
        """What is supported under these rules, too."""
        more = Supported.of(self.formula, _order_rules(rules)).rules if rules else ()
        return replace(self.supported, rules=(*self.supported.rules, *more))

    def is_confirmed(self, rules: Mapping[str, str]) -> bool:
        """Whether calls succeed at sizes that have nothing else in common."""
        try:
            supported = self.under(rules)
        except Unusable:  # they contradict each other
            return False
        random = np.random.default_rng([self.seed, len(rules), 31])
        tried = 0
        for turn in range(8 * AGAIN):
            drawn = dict(zip(self.symbols, map(int, random.permutation(15) + 3), strict=False))
            if turn % 2:  # a multiple that is larger than what it is a multiple of
                drawn = {
                    s: v * MANY if rules.get(str(s), "").endswith("*any") else v for s, v in drawn.items()
                }
            drawn = supported.adjust_sizes(drawn)
            if not supported.fits(drawn) or entries(self.formula, drawn) > ENTRIES:
                continue
            tried += 1
            if not self.works(drawn):
                return False
            if tried == AGAIN:
                return True
        return False

    def are_needed(self, rules: Mapping[str, str]) -> bool:
        """Whether calls fail at sizes that break the rules: else these are not what it raises an error for."""
        supported, tried, right = self.under(rules), 0, 0
        for sizes in draw_related(self.symbols, self.supported, self.seed + 1):
            if supported.fits(sizes) or entries(self.formula, sizes) > ENTRIES:
                continue
            tried += 1
            right += self.works(sizes)
            if tried == BEYOND:
                break
        return right <= RIGHT * tried

    def find_least(self, size: Size, sizes: Sizes) -> list[str]:
        """The rule that a size is no less than some number, if calls fail at all smaller ones and succeed from there on."""
        at = (self.supported.adjust_sizes({**sizes, size: number}) for number in range(1, LEAST + 1))
        for number, other in enumerate(at, 1):
            if other[size] != number or entries(self.formula, other) > ENTRIES:
                return []
            if self.works(other):
                further = ({**other, size: number + more} for more in (1, 2, 5))
                return [f"{number}.."] if number > 1 and all(map(self.works, further)) else []
        return []

    def least(self, sizes: Sizes) -> dict[str, str]:
        """Rules that hold at these sizes, no stronger than needed: each is weakened, or left out, as long as calls succeed."""
        offered = {
            str(size): self.find_least(size, sizes) + _find_rules(size, sizes) for size in self.symbols
        }
        left: dict[str, str] = {}
        for name, rules in offered.items():
            strongest = next((rule for rule in reversed(rules) if not _circular(name, rule, left)), "")
            if strongest:
                left[name] = strongest
        if not self.is_confirmed(left):
            return {}
        changed = True
        while changed:
            changed = False
            for name in list(left):
                for rule in ("", *offered[name]):  # the weakest first
                    if rule == left[name]:
                        break
                    rest = {other: said for other, said in left.items() if other != name}
                    if _circular(name, rule, rest):
                        continue
                    trial = {**rest, name: rule} if rule else rest
                    if self.is_confirmed(trial):
                        left, changed = trial, True
                        break
        return _order_rules(left)


def _order_rules(rules: Mapping[str, str]) -> dict[str, str]:
    """Each rule after those of the sizes that it speaks of."""
    found: dict[str, str] = {}
    while len(found) < len(rules):
        ready = [
            name
            for name, rule in rules.items()
            if name not in found and not any(w in rules and w not in found for w in WORD.findall(rule))
        ]
        found |= {name: rules[name] for name in ready}
    return found


def _circular(name: str, rule: str, others: Mapping[str, str]) -> bool:
    """Whether a rule speaks of sizes whose rules speak of this one."""
    spoken, waiting = set[str](), {rule}
    while waiting:
        for word in WORD.findall(waiting.pop()):
            if word not in spoken:
                spoken.add(word)
                waiting.add(others.get(word, ""))
    return name in spoken


def _find_rules(size: Size, sizes: Sizes) -> list[str]:
    """Rules for a size that hold at these sizes, the weakest first."""
    value = sizes[size]
    others = {str(other): number for other, number in sizes.items() if other != size and number > 1}
    names = list(others)
    found = [] if value % 2 else ["even"]
    found += [f"{block}*any" for block in BLOCKS if not value % block]
    found += ["|".join(map(str, some)) for some in (POWERS, HEADS) if value in some]
    found += [f"{other}*any" for other, number in others.items() if not value % number]
    found += [
        f"{a}*{b}"
        for place, a in enumerate(names)
        for b in names[place + 1 :]
        if others[a] * others[b] == value
    ]
    return found + [other for other, number in others.items() if number == value]


__all__ = ["draw_related", "rules_for"]
