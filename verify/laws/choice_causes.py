"""Why choices are not drawn as their law says, in a sentence: values exchanged, several drawn as one, a share that is off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from verify.laws.choices import Draws
from verify.laws.selection_causes import FAR, TOGETHER
from verify.laws.statistics import LAGS, Ints, Reals, pairs, percent
from verify.laws.trial import GENERATOR, POSSIBLE, first_said

EXPECTED = 30.0
"""How often an outcome is expected at least where it is said never to be drawn: e⁻³⁰ is the chance of that."""
NAMED = 5
"""So many outcomes that are never drawn are named."""


def choice_cause(samples: Sequence[Draws], failed: Mapping[str, str], what: str) -> str:
    """What is wrong with what was drawn, given what falsified checks say; ``what`` are the things drawn for: pairs, queries.

    A result that cannot be is explained by two values exchanged, or by what the first check says. Only where all are possible
    frequencies mean something: draws that depend on each other make every share off by chance, so these come first.
    """
    if POSSIBLE in failed:
        return _exchanged(samples) or _of_equals(samples) or first_said(failed)
    if GENERATOR in failed:
        # A coin that never falls otherwise needs no generator.
        return (_share(samples, certain=True) if "law: outcomes" in failed else "") or first_said(failed)
    if set(failed) == {"law: independence"}:
        said = _as_one(samples, what)
        return said or f"the {what} are not drawn independently of each other: {first_said(failed)}"
    found = _as_one(samples, what) if "law: independence" in failed else ""
    if not found and "law: outcomes" in failed:
        found = _share(samples) or _never(samples)
    return found or first_said(failed)


def _exchanged(samples: Sequence[Draws]) -> str:
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


def _as_one(samples: Sequence[Draws], what: str) -> str:
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
                named = "; ".join(draws.said(int(each)) for each in missing[:NAMED])
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


__all__ = ["choice_cause"]
