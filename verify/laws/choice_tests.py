"""What is drawn of a law of choices, and its tests: outcomes, steadiness, independence. All are exact (binomial)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from verify.laws.statistics import LAGS, Ints, Reals, Tally, pairs

LEAST = 64
"""So often everything is drawn at least."""

SEEDED, SAME = 64, 1e-9
"""Repetitions of a situation in the calls that tell seeds apart, and how probable it may be that two of them are the same."""

LEAST_CALLS = 8
"""Calls at least into which a share of the draws is parted."""

MANY, TAILS = 64, (0.5, 0.25, 0.0625, 0.015625)
"""From so many possible outcomes on those of the tails are counted together, and how probable these are."""

PARTS = 8
"""Parts of a call, in each of which the distribution must be the same."""


@dataclass(frozen=True)
class Situation:
    """Inputs of one kind: positions and outcomes, the scale of real inputs, masks, and how often each position is drawn."""

    name: str
    positions: int
    outcomes: int
    draws: int
    scale: float = 1.0
    masked: bool = False
    batch: tuple[int, ...] = ()
    dtype: str = "float32"
    copies: int = 4096
    """Repetitions of the positions in one call."""
    others: int = 0
    """Where in the primes the sizes begin that are neither positions nor outcomes."""
    numbers: tuple[float, ...] = (1.0,)
    """The Python numbers, one after the other and again from the first."""
    offset: float = 0.0
    """What is added to real inputs."""
    whole: tuple[int, ...] = ()
    """The whole numbers that are inputs themselves; primes where there are none."""

    @property
    def calls(self) -> int:
        """How many calls it takes."""
        return max(2, -(-self.draws // self.copies))

    @property
    def members(self) -> int:
        """How many members a batch has."""
        return math.prod(self.batch)

    def take_share(self, part: float) -> Situation:
        """The situation with a share of its draws, in calls that are as much smaller; as it is where the share is 1."""
        if part >= 1:
            return self
        draws = min(self.draws, max(LEAST, math.ceil(part * self.draws)))
        return replace(self, draws=draws, copies=min(self.copies, max(LEAST // 2, draws // LEAST_CALLS)))


@dataclass
class Draws:
    """What was drawn: ``chosen[t, b, c, r]``, the outcome of position r in repetition c of member b in call t.

    ``low`` and ``high`` (b, r, outcome) enclose the statement's probabilities for an implementation in the situation's type;
    both are 0 in a row about which the law says nothing but its axioms. An outcome's number counts all combinations of
    ``parts``, its components by name and how many values each has; ``told[b][r]`` are the inputs of a position in words.
    """

    situation: Situation
    chosen: Ints
    low: Reals
    high: Reals
    parts: tuple[tuple[str, int], ...] = ()
    told: tuple[tuple[str, ...], ...] = ()

    @property
    def extents(self) -> tuple[int, ...]:
        """How many values each component has."""
        return tuple(size for _, size in self.parts)

    def describe_outcome(self, outcome: int) -> str:
        """An outcome's components by name: ``second 3, label 1``."""
        if outcome < 0:
            return "what is no outcome"
        values = np.unravel_index(outcome, self.extents)
        return ", ".join(f"{name} {value}" for (name, _), value in zip(self.parts, values, strict=True))

    def where(self, b: int, r: int) -> str:
        """A position in words: the situation, its member, and its inputs where they can be told."""
        member = f" of member {b}" if self.situation.batch else ""
        told = f" ({self.told[b][r]})" if self.told and self.told[b][r] else ""
        return f"{self.situation.name}: position {r}{member}{told}"

    @property
    def varies(self) -> bool:
        """Whether the outcomes at all positions, each repeated, are hardly ever the same again."""
        said = self.high.max(-1) > 0
        same = np.minimum((self.high**2).sum(-1), 1.0)[said]
        return bool(-SEEDED * np.log(same).sum() >= -math.log(SAME))

    @property
    def total(self) -> int:
        """How many draws there are."""
        return int(self.chosen.size)

    def impossible(self) -> str:
        """The first outcome to which the statement gives probability 0, in words; empty if there is none."""
        count = self.low.shape[-1]
        said = self.high.sum(-1) > 0
        b, r = (each[:, None, :] for each in np.indices(said.shape))
        high = self.high[b, r, np.clip(self.chosen, 0, count - 1)]  # (t, b, c, r)
        wrong = ((self.chosen < 0) | (self.chosen >= count) | (high <= 0)) & said[:, None, :]
        if not wrong.any():
            return ""
        place = tuple(int(x) for x in np.argwhere(wrong)[0])
        where, drawn = self.where(place[1], place[3]), self.describe_outcome(int(self.chosen[place]))
        return f"{where} drew {drawn} in call {place[0]}: the statement gives this probability 0"


def outcomes(draws: Draws, tally: Tally) -> None:
    """How often each position draws each outcome, one of the first outcomes, and one of every other."""
    N = draws.chosen.shape[0] * draws.chosen.shape[2]
    for b, r in _positions(draws):
        count = np.bincount(draws.chosen[:, b, :, r].ravel(), minlength=draws.low.shape[-1])
        low, high = draws.low[b, r], draws.high[b, r]
        where = draws.where(b, r)
        for what, group, single in _groups(draws):
            if group.sum() > 0 and (group.sum() < len(low) or len(low) == 1):
                k, ends = int(count[group].sum()), _together(low, high, group)
                tally.judge(where, what, k, N, *ends, headline=single and draws.situation.name == "main")
        _tails(draws, tally, (b, r))


def _tails(draws: Draws, tally: Tally, place: tuple[int, int]) -> None:
    """How often the least likely outcomes are drawn, and, in the second half of the calls, those that the first did not draw.

    That some are never drawn is not seen outcome by outcome where each is rare.
    """
    b, r = place
    low, high = draws.low[b, r], draws.high[b, r]
    if np.count_nonzero(high) < MANY:
        return
    calls, where = draws.chosen.shape[0], draws.where(b, r)
    order = np.argsort(high, kind="stable")
    below = np.cumsum(high[order])
    for part in TAILS:
        group = np.zeros(len(high), bool)
        group[order[below <= part]] = True
        said = f"an outcome of the least likely, of probability {part:g} in all"
        _among(tally, draws.chosen[:, b, :, r], group, (low, high), (where, said))
    unseen = np.ones(len(high), bool)
    unseen[draws.chosen[: calls // 2, b, :, r]] = False
    said = "an outcome that the first calls did not draw"
    _among(tally, draws.chosen[calls // 2 :, b, :, r], unseen, (low, high), (where, said))


def _among(tally: Tally, chosen: Any, group: Any, law: tuple[Any, Any], said: tuple[str, str]) -> None:
    if 0 < group.sum() < len(group):
        k, ends = int(group[chosen].sum()), _together(*law, group)
        tally.judge(*said, k, chosen.size, *ends)


def steadiness(draws: Draws, tally: Tally) -> None:
    """The distribution is the same in every part of a call, and in the first and the last calls."""
    calls = draws.chosen.shape[0]
    for b, r in _positions(draws):
        group = _half(draws, b, r)
        inside = group[draws.chosen[:, b, :, r]]
        ends = _together(draws.low[b, r], draws.high[b, r], group)
        parts = {
            f"part {k + 1} of {PARTS} of a call": part
            for k, part in enumerate(np.array_split(inside, PARTS, 1))
        }
        parts |= {"the first calls": inside[: calls // 2], "the last calls": inside[calls // 2 :]}
        for what, part in parts.items():
            if part.size:
                k = int(part.sum())
                tally.judge(draws.where(b, r), f"likelier half in {what}", k, part.size, *ends)


def independence(draws: Draws, tally: Tally) -> None:
    """Pairs of neighbours: the same outcome, and both in their likelier halves; over positions, members and calls.

    Pairs are disjoint, so that their number among N is binomial.
    """
    calls, members, copies, positions = draws.chosen.shape
    flat = draws.chosen.reshape(calls, members, copies * positions)
    for lag in dict.fromkeys((*LAGS, positions, 2 * positions)):
        first = pairs(copies * positions, lag)
        for b in range(members):
            for r in range(positions):
                at = first[first % positions == r]
                other = (r + lag) % positions
                what = (
                    f"positions {lag} apart" if lag % positions else f"repetitions {lag // positions} apart"
                )
                _pair(
                    draws,
                    tally,
                    (b, r),
                    (b, other),
                    flat[:, b, at],
                    flat[:, b, at + lag],
                    what,
                    lag == positions,
                )
    # Halves of a call, one after the other and mirrored: that is how numbers are used twice.
    first = np.arange(copies * positions // 2)
    for what, second in (
        ("positions half a call apart", first + len(first)),
        ("mirrored positions", copies * positions - 1 - first),
    ):
        for b in range(members):
            for r in range(positions):
                mine = first % positions == r
                for other in np.unique(second[mine] % positions):
                    one, two = first[mine], second[mine]
                    one, two = one[two % positions == other], two[two % positions == other]
                    _pair(draws, tally, (b, r), (b, int(other)), flat[:, b, one], flat[:, b, two], what)
    # Every two of them: of neighbours one may have nothing left to chance where the other has.
    for b, other in combinations(range(members), 2):
        for r in range(positions):
            one, two = draws.chosen[:, b, :, r], draws.chosen[:, other, :, r]
            _pair(draws, tally, (b, r), (other, r), one, two, "members")
    half = calls // 2 * 2
    for b in range(members):
        for r in range(positions):
            one, two = draws.chosen[0:half:2, b, :, r], draws.chosen[1:half:2, b, :, r]
            _pair(draws, tally, (b, r), (b, r), one, two, "neighbouring calls")


def _pair(
    draws: Draws,
    tally: Tally,
    a: tuple[int, int],
    b: tuple[int, int],
    one: Any,
    two: Any,
    what: str,
    headline: bool = False,
) -> None:
    if not one.size or not (draws.high[a].any() and draws.high[b].any()):
        return
    name = f"{draws.situation.name}: positions {a[1]} and {b[1]}"
    same = float(draws.low[a] @ draws.low[b]), min(1.0, float(draws.high[a] @ draws.high[b]))
    k = int((one == two).sum())
    tally.judge(name, f"equal outcomes at {what}", k, one.size, *same)
    left, right = _half(draws, *a), _half(draws, *b)
    ends = [_together(draws.low[place], draws.high[place], group) for place, group in ((a, left), (b, right))]
    both = ends[0][0] * ends[1][0], ends[0][1] * ends[1][1]
    k = int((left[one] & right[two]).sum())
    tally.judge(
        name,
        f"both in their likelier halves at {what}",
        k,
        one.size,
        *both,
        headline=headline and draws.situation.name == "main",
    )


def _positions(draws: Draws) -> Iterator[tuple[int, int]]:
    """The members and positions of which the law says something."""
    return iter((int(b), int(r)) for b, r in np.argwhere(draws.high.sum(-1) > 0))


def _groups(draws: Draws) -> Iterator[tuple[str, Any, bool]]:
    """Groups of outcomes in words, and whether a group is to count among the main ones."""
    count = draws.low.shape[-1]
    index = np.arange(count)
    for j in range(count):
        yield draws.describe_outcome(j), index == j, True
    for j in range(1, count - 1):
        yield f"{draws.describe_outcome(j)} or one before it", index <= j, True
    even = f"{draws.parts[-1][0]} 0" if draws.parts[-1][1] == 2 else "an even outcome"
    yield even, index % 2 == 0, False


def _half(draws: Draws, b: int, r: int) -> Any:
    """First outcomes with about half of the probability."""
    total = np.cumsum((draws.low[b, r] + draws.high[b, r]) / 2)
    return np.arange(len(total)) <= int(np.argmin(np.abs(total - 0.5)))


def _together(low: Any, high: Any, group: Any) -> tuple[float, float]:
    """An interval for the probability of a group of outcomes, which is 1 minus that of the others."""
    least = max(float(low[group].sum()), 1 - float(high[~group].sum()))
    return max(0.0, least), min(1.0, float(high[group].sum()), 1 - float(low[~group].sum()))
