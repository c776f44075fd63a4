"""Why draws are not those of their law, in a sentence: shares that are off, several drawn as one, values exchanged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE
from spec.language.formula import Formula
from verify.laws.choice_tests import Draws
from verify.laws.selection_tests import TWICE, Sample
from verify.laws.statistics import LAGS, Bools, Ints, Reals, pairs, percent
from verify.laws.trial import GENERATOR, POSSIBLE, find_first_message, law_of
from verify.report import Reason

JOINED = "law: together"
"""The check that what goes together is selected together."""

SHARES = ("law: selection", "law: counts", "law: independence", "law: outcomes", "law: words")
"""The checks of frequencies. What falsifies others (a generator that is not used) makes these wrong, too."""


TOGETHER = 0.5
"""Correlation of two places from which on they are taken to be drawn as one: right ones have 0, and one draw for both has 1."""

FAR = 4.0
"""Standard deviations from which on a share is said to be off, where a check has found that something is."""

NEAR = 0.01
"""How far the share of what is selected is off at most where the cause is sought in what is selected together by mistake."""

EXPECTED = 30.0
"""How often an outcome is expected at least where it is said never to be drawn: e⁻³⁰ is the chance of that."""
NAMED = 5
"""So many outcomes that are never drawn are named."""

# Selections -----------------------------------------------------------------------------------------------------------


def selection_cause(
    formula: Formula,
    samples: Sequence[Sample],
    rows: Sequence[Mapping[str, Any]],
    failed: Mapping[str, str],
) -> tuple[str, Reason]:
    """What is wrong with what was drawn, and whether it is a cause: else shares, where they are what was falsified, or what the
    first falsified check says.

    ``rows`` are the inputs of each sample; the first one is the main one. ``failed`` is what falsified checks say.
    """
    sample = samples[0]
    others = {name: said for name, said in failed.items() if name not in SHARES}
    if next(iter(others), "") == JOINED and (said := _torn(formula, samples)):
        return said, Reason.CAUSE
    if others:
        return find_first_message(others), Reason.CHECK
    free = sample.rate > 0
    seen, stated = sample.chosen[:, free].mean(), sample.rate[free].mean()
    if said := _as_one(sample) or ("" if abs(seen - stated) > NEAR else _too_far(formula, sample)):
        return said, Reason.CAUSE
    if "law: selection" in failed and abs(seen - stated) > FAR * np.sqrt(
        stated / sample.chosen[:, free].size
    ):
        said = f"the share of selected positions is off: {percent(seen)}, stated {percent(stated)}"
        return said, Reason.CHECK
    if "law: outcomes" in failed:
        if said := _alike(formula, sample):
            return said, Reason.CAUSE
        found = [_outcomes(formula, *each) for each in zip(samples, rows, strict=True)]
        far = [max((off for *_, off in parts), default=0.0) for parts in found]
        place = 0 if far[0] > FAR else int(np.argmax(far))
        message = failed["law: outcomes"]
        if place and TWICE in message:
            return message.partition(";")[0], Reason.CHECK
        told = ", ".join(f"{name} {percent(p)} (stated {percent(q)})" for name, p, q, _ in found[place])
        V = samples[place].probability.shape[2]
        where = f"in a vocabulary of {V} words " if place else ""
        return f"the shares of what selected positions become are off: {where}{told}", Reason.CHECK
    return find_first_message(failed), Reason.CHECK


def _torn(formula: Formula, samples: Sequence[Sample]) -> str:
    """How what is to be selected together is selected, over all samples; empty where that is no simple mistake."""
    together = law_of(formula).together
    assert together is not None
    leaders, followers = (
        np.concatenate(parts) for parts in zip(*map(_pair_with_first, samples), strict=True)
    )
    if not followers.size:
        return ""
    group, member = together.group, together.member
    if not followers.any():
        return f"only a {group}'s first {member} is selected"
    if leaders.std() == 0 or followers.std() == 0:
        return ""
    if abs(np.corrcoef(leaders, followers)[0, 1]) < FAR / np.sqrt(followers.size):
        return f"a {group}'s {member}s are selected one by one"
    return ""


def _pair_with_first(sample: Sample) -> tuple[Bools, Bools]:
    """Whether the first of a group is selected, and whether another of it is, for all others of all groups."""
    r, i = np.nonzero(sample.joined)
    return sample.chosen[:, r, sample.first[r, i]].ravel(), sample.chosen[:, r, i].ravel()


def _too_far(formula: Formula, sample: Sample) -> str:
    """Whether two are selected together that are neighbours, but not in one row, or not side by side."""
    together = law_of(formula).together
    if together is None:
        return ""
    group, member, chosen = together.group, together.member, sample.chosen
    if any(_one(chosen[:, r, -1], chosen[:, r + 1, 0]) for r in range(chosen.shape[1] - 1)):
        return f"a {group} goes on from one row into the next: its first {member} is selected with the last of the one before"
    for r, rate in enumerate(sample.rate):
        (alone,) = np.nonzero(rate)
        for a, b in pairwise(alone):
            if sample.first[r, b - 1] != a and _one(chosen[:, r, a], chosen[:, r, b]):
                return f"a {group} goes on across a position that is never selected: both sides of it are selected together"
    return ""


def _one(one: Bools, other: Bools) -> bool:
    """Whether two places are drawn as one, far beyond chance."""
    if one.std() == 0 or other.std() == 0:
        return False
    return bool(np.corrcoef(one, other)[0, 1] > max(TOGETHER, 2 * FAR / np.sqrt(one.size)))


def _alike(formula: Formula, sample: Sample) -> str:
    """Whether two that are selected together become one and the same kind of thing much more often than by chance."""
    together = law_of(formula).together
    if together is None:
        return ""
    for lag in LAGS:
        r, i = np.nonzero(sample.first[:, lag:] == sample.first[:, :-lag])
        t, pair = np.nonzero(sample.chosen[:, r, i] & sample.chosen[:, r, i + lag])
        r, i = r[pair], i[pair]
        one, other = (sample.level[r, at, sample.word[t, r, at]] for at in (i, i + lag))
        if not t.size or min(one.min(), other.min()) < 0:
            continue
        first, second = (np.bincount(kind, minlength=len(sample.values)) / t.size for kind in (one, other))
        seen, by_chance = float((one == other).mean()), float(first @ second)
        if seen - by_chance > TOGETHER * (1 - by_chance):
            which = "two neighbours" if lag == 1 else f"two at a distance of {lag}"
            return (
                f"what becomes of the {together.member}s of a {together.group} is not drawn for each by itself: {which} become "
                f"the same kind of thing in {percent(seen)}, by chance they would in {percent(by_chance)}"
            )
    return ""


def _as_one(sample: Sample) -> str:
    """Whether rows of a batch are drawn together: where one selects a place, so does the next, much more often than by chance.

    Then all shares are off by chance, as few things were drawn in all; none of them is the cause.
    """
    rows = sample.rate.shape[0] // 2 * 2
    free = (sample.rate[0:rows:2] > 0) & (sample.rate[1:rows:2] > 0)
    one, other = sample.chosen[:, 0:rows:2][:, free], sample.chosen[:, 1:rows:2][:, free]
    if one.size == 0 or one.std() == 0 or other.std() == 0:
        return ""
    if np.corrcoef(one.ravel(), other.ravel())[0, 1] < TOGETHER:
        return ""
    both, by_chance = (one & other).mean(), one.mean() * other.mean()
    return (
        "the rows of a batch are not drawn independently of each other: the same place is selected in two neighbouring rows "
        f"in {percent(both)}, by chance it would be in {percent(by_chance)}"
    )


def _outcomes(
    formula: Formula, sample: Sample, row: Mapping[str, Any]
) -> list[tuple[str, float, float, float]]:
    """What selected positions become: an id that is an input, the id that was there, another one; for each its share, the stated
    one, and their difference in standard deviations.
    """
    t, r, i = np.nonzero(sample.chosen)
    if not t.size:
        return []
    words, given = sample.word[t, r, i], sample.given
    every = np.arange(given.shape[-1])
    left, parts = np.ones(given.shape, bool), []
    kinds = [
        (f"{item.name}", np.broadcast_to(every == row[item.name], given.shape))
        for item in formula.tensors
        if item.role == "number" and item.domain in WHOLE
    ]
    kinds.append(("left as it was", every == sample.ids[..., None]))
    kinds.append(("another word", np.ones(given.shape, bool)))
    for name, member in kinds:
        mine = member & left
        left &= ~mine
        seen, stated = mine[r, i, words].mean(), np.where(mine, given, 0).sum(-1)[r, i].mean()
        spread = np.sqrt(max(stated * (1 - stated), 1 / t.size) / t.size)
        parts.append((name, float(seen), float(stated), float(abs(seen - stated) / spread)))
    return parts


# Choices --------------------------------------------------------------------------------------------------------------


def choice_cause(samples: Sequence[Draws], failed: Mapping[str, str], what: str) -> tuple[str, Reason]:
    """What is wrong with what was drawn, given what falsified checks say, and whether it is a cause; ``what`` are drawn.

    A result that cannot be is explained by two values exchanged, or by what the first check says. Only where all are possible
    frequencies mean something: draws that depend on each other make every share off by chance, so these come first.
    """
    cause = seen = ""
    if POSSIBLE in failed:
        cause = _explain_exchange(samples) or _of_equals(samples)
    elif GENERATOR in failed:
        # A coin that never falls otherwise needs no generator.
        seen = _share(samples, certain=True) if "law: outcomes" in failed else ""
    elif "law: independence" in failed:
        cause = _drawn_as_one(samples, what)
        if not cause and set(failed) == {"law: independence"}:
            seen = f"the {what} are not drawn independently of each other: {find_first_message(failed)}"
    if not cause and not seen and "law: outcomes" in failed and not {POSSIBLE, GENERATOR} & set(failed):
        seen = _share(samples) or _never(samples)
    return (cause, Reason.CAUSE) if cause else (seen or find_first_message(failed), Reason.CHECK)


def _explain_exchange(samples: Sequence[Draws]) -> str:
    """Whether everything drawn is possible once the two values of the last component are exchanged."""
    if not samples[0].parts or len(samples[0].parts) < 2 or samples[0].parts[-1][1] != 2:
        return ""
    for draws in samples:
        other = np.where(draws.chosen < 0, -1, draws.chosen ^ 1)
        if replace(draws, chosen=other).impossible():
            return ""
    name = samples[0].parts[-1][0]
    return f"{name} 0 and {name} 1 are exchanged: with each in the other's place every result is possible"


def _of_equals(samples: Sequence[Draws]) -> str:
    """Whether what cannot be is drawn only where all inputs are equal, so that order alone decides."""
    wrong = [draws for draws in samples if draws.impossible()]
    if any(draws.situation.scale for draws in wrong) or len(wrong) == len(samples):
        return ""
    return f"only where inputs are equal it takes others of them than the statement: {wrong[0].impossible()}"


def _drawn_as_one(samples: Sequence[Draws], what: str) -> str:
    """Whether some are drawn as one, or in turns: a component agrees in two of them much more often, or less, than by chance."""
    for draws in samples:
        for axis, (name, size) in reversed(list(enumerate(draws.parts))):
            values = _component(draws, axis)
            for where, one, two in _neighbours(values, what):
                seen, chance = float((one == two).mean()), _by_chance(one, two, size)
                noise = FAR * np.sqrt(chance * max(0.0, 1 - chance) / one.size)
                if 0 < chance < 1 and abs(seen - chance) > max(noise, TOGETHER * (1 - chance)):
                    return (
                        f"the {what} are not drawn independently of each other: {where} have the same {name} "
                        f"in {percent(seen)}, by chance they would in {percent(chance)}"
                    )
    return ""


def _neighbours(values: Ints, what: str) -> Iterator[tuple[str, Ints, Ints]]:
    """Disjoint pairs of things drawn: at distances in a call, in two members of a batch, in two calls."""
    calls, members, copies, positions = values.shape
    flat = values.reshape(calls, members, copies * positions)
    even = calls // 2 * 2
    half = copies * positions // 2
    for lag in dict.fromkeys((*LAGS, positions, half or 1)):
        first = pairs(copies * positions, lag)
        far = "half a call" if lag == half else str(lag)
        distance = f"neighbouring {what} of a call" if lag == 1 else f"{what} of a call {far} apart"
        for r in range(positions):
            at = first[first % positions == r]
            for b in range(members if at.size else 0):
                yield distance, flat[:, b, at], flat[:, b, at + lag]
    for b, r in np.ndindex(members, positions):
        for other in range(b):
            yield f"{what} of two members of a batch", values[:, other, :, r], values[:, b, :, r]
        yield f"{what} of two calls", values[0:even:2, b, :, r], values[1:even:2, b, :, r]


def _by_chance(one: Ints, two: Ints, size: int) -> float:
    """How often two would agree that are drawn one by one, each as often as it is seen."""
    shares = [np.bincount(each.ravel() + 1, minlength=size + 1) / each.size for each in (one, two)]
    return float(shares[0] @ shares[1])


def _share(samples: Sequence[Draws], certain: bool = False) -> str:
    """The last of several components, where it is drawn more or less often than stated over all positions that leave it open.

    ``certain``: only where it is always drawn, or never.
    """
    for draws in samples:
        if len(draws.parts) < 2:
            return ""
        name, size = draws.parts[-1]
        stated = ((draws.low + draws.high) / 2).reshape(*draws.low.shape[:2], -1, size).sum(2)
        values = _component(draws, len(draws.parts) - 1)
        for value in range(size):
            open_ = (stated[..., value] > 0) & (stated[..., value] < 1)
            if not open_.any():
                continue
            drawn = np.moveaxis(values, 2, -1)[:, open_]
            seen, expected = float((drawn == value).mean()), float(stated[..., value][open_].mean())
            if certain and 0 < seen < 1:
                continue
            if abs(seen - expected) > FAR * np.sqrt(expected * (1 - expected) / drawn.size):
                return f"the share of {name} {value} is off: {percent(seen)}, stated {percent(expected)}"
    return ""


def _never(samples: Sequence[Draws]) -> str:
    """Outcomes that are never drawn though the statement lets them be: at the position where most are missing."""
    worst: tuple[int, str] = (0, "")
    for draws in samples:
        N = draws.chosen.shape[0] * draws.chosen.shape[2]
        for b, r in np.ndindex(*draws.low.shape[:2]):
            count = np.bincount(draws.chosen[:, b, :, r].ravel() + 1, minlength=draws.low.shape[-1] + 1)[1:]
            (missing,) = np.nonzero((count == 0) & (draws.low[b, r] * N > EXPECTED))
            if len(missing) > worst[0]:
                named = "; ".join(draws.describe_outcome(int(each)) for each in missing[:NAMED])
                more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
                share = percent(_middle(draws, b, r)[missing].sum())
                worst = len(missing), f"never drawn, stated {share}: {named}{more}, {draws.where(b, r)}"
        if worst[0]:
            break
    return worst[1]


def _middle(draws: Draws, b: int, r: int) -> Reals:
    middle: Reals = (draws.low[b, r] + draws.high[b, r]) / 2
    return middle


def _component(draws: Draws, axis: int) -> Ints:
    """One component of every outcome; −1 for what is none."""
    below = math.prod(draws.extents[axis + 1 :])
    return np.where(draws.chosen < 0, -1, draws.chosen // below % draws.extents[axis])
