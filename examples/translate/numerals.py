"""The task of ``examples.translate``: numbers below a million, between words and digits.

    two hundred and seven thousand and forty two   ⇄   207042

A number is two groups of up to three digits, thousands and the rest: words name a group in the same way wherever it stands,
digits show its place alone. **Held out** are two disjoint sets of a hundred groups from 1 to 999, drawn by ``held_out``: those of
``before`` never stand before "thousand" in training, those of ``behind`` never stand behind it (nor alone). A model is measured
on numbers whose thousands are of ``before`` and whose rest is of ``behind``: neither half of such a number was ever seen in its
place, while each was seen in the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

SMALL = (
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
LIMIT = 1_000_000

VOCABULARY = ("<begin>", "<end>", *"0123456789", *SMALL, *TENS, "hundred", "thousand", "and")
BEGIN, END = 0, 1
IGNORED = -100
"""The target behind a sequence's end; what ``impl.objectives.cross_entropy`` leaves out."""
ID = {word: i for i, word in enumerate(VOCABULARY)}
LONGEST = 11
"""Words of the longest number: "nine hundred and ninety nine thousand nine hundred and ninety nine"."""

HELD_OUT = 100
"""Groups held out of each place."""


def spelt(number: int) -> list[str]:
    """The number's words: ``spelt(1042)`` is "one thousand and forty two". ValueError unless 0 <= number < 1,000,000."""
    if not 0 <= number < LIMIT:
        raise ValueError(f"numerals: expected a number in 0..{LIMIT - 1}; got {number}")
    thousands, rest = divmod(number, 1000)
    if not thousands:
        return _group(rest)
    link = ["and"] if 0 < rest < 100 else []
    return [*_group(thousands), "thousand", *link, *(_group(rest) if rest else [])]


def _group(number: int) -> list[str]:
    """A number below 1000."""
    hundreds, rest = divmod(number, 100)
    if hundreds:
        return [SMALL[hundreds], "hundred", *(["and", *_group(rest)] if rest else [])]
    if rest < 20:
        return [SMALL[rest]]
    return [TENS[rest // 10 - 2], *([SMALL[rest % 10]] if rest % 10 else [])]


def read(words: list[str]) -> int:
    """The number that words name. ValueError for words that ``spelt`` would not write.

    Read word by word, as one does, and not by looking up what ``spelt`` says; that is asked only at the end.
    """
    total = group = 0
    for word in words:
        if word == "thousand":
            total, group = 1000 * group, 0
        elif word == "hundred":
            group *= 100
        elif word in TENS:
            group += 10 * TENS.index(word) + 20
        elif word in SMALL:
            group += SMALL.index(word)
        elif word != "and":
            raise ValueError(f"numerals: expected the words of a number; got {word!r}")
    number = total + group
    if number >= LIMIT or spelt(number) != words:
        raise ValueError(f"numerals: expected a number as it is spelt; got {' '.join(words)!r}")
    return number


@dataclass(frozen=True)
class Held:
    """The groups that training never shows before "thousand", and those that it never shows behind it."""

    before: frozenset[int]
    behind: frozenset[int]

    def out(self, number: int) -> bool:
        """Whether training may not have the number."""
        return number // 1000 in self.before or number % 1000 in self.behind


def held_out(generator: Generator) -> Held:
    """Two disjoint sets of a hundred groups."""
    groups = (torch.randperm(999, generator=generator) + 1).tolist()
    return Held(frozenset(groups[:HELD_OUT]), frozenset(groups[HELD_OUT : 2 * HELD_OUT]))


def training_numbers(count: int, held: Held, generator: Generator) -> list[int]:
    """Numbers that are not held out. Each group has one, two or three digits with odds 1 : 2 : 5, so that short ones occur."""
    found: list[int] = []
    while len(found) < count:
        digits = torch.multinomial(torch.tensor([1.0, 2.0, 5.0]), 2 * count, True, generator=generator) + 1
        groups = (torch.rand(2 * count, generator=generator, dtype=torch.float64) * 10**digits).long()
        numbers = (1000 * groups[:count] + groups[count:]).tolist()
        found += [number for number in numbers if not held.out(number)]
    return found[:count]


def measured_numbers(count: int, held: Held, generator: Generator) -> list[int]:
    """Different numbers, of which both groups are held out where they stand. There are 10,000."""
    before, behind = sorted(held.before), sorted(held.behind)
    chosen = torch.randperm(len(before) * len(behind), generator=generator)[:count].tolist()
    return [1000 * before[i // len(behind)] + behind[i % len(behind)] for i in chosen]


@dataclass(frozen=True)
class Pairs:
    """Sources (b m), where they have words, and targets (b n) with the end word; behind that stands IGNORED."""

    source: Tensor
    source_mask: Tensor
    target: Tensor

    @property
    def previous(self) -> Tensor:
        """The word before each of the target's: what a decoder is given in training. Behind the end stands anything."""
        first = torch.full_like(self.target[:, :1], BEGIN)
        return torch.cat((first, self.target[:, :-1].clamp(min=0)), 1)

    def to(self, device: torch.device) -> Pairs:
        """The same on another device."""
        return Pairs(*(x.to(device) for x in (self.source, self.source_mask, self.target)))


def pairs(numbers: list[int]) -> Pairs:
    """Each number twice: first all from words to digits, then all from digits to words."""
    words, digits = [spelt(number) for number in numbers], [list(str(number)) for number in numbers]
    source, mask = _padded(words + digits, BEGIN)
    target, _ = _padded([[*row, "<end>"] for row in digits + words], IGNORED)
    return Pairs(source, mask, target)


def _padded(rows: list[list[str]], fill: int) -> tuple[Tensor, Tensor]:
    """Rows as ids, with ``fill`` behind their ends, and where they have words."""
    lengths = torch.tensor([len(row) for row in rows])
    width = int(lengths.max())
    ids = torch.tensor([[ID[word] for word in row] + [fill] * (width - len(row)) for row in rows])
    return ids, torch.arange(width) < lengths[:, None]
