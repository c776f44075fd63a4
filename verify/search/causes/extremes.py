"""Where digits are lost: a narrower type inside, a variance in one pass, exponentials that overflow, masks by a finite fill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spec.language.binders import SumOf
from spec.language.expr import Func, Minus, Power
from spec.language.trees import walk
from verify.properties.judge import Reals
from verify.properties.slopes import REAL
from verify.search.evidence import MOST, Evidence, Witness, narrow, same

SPOILT_NEAR = 0.25
"""The share of ordinary examples that may fail where only extreme ones are to."""


UNITS = (("float32", 2.0**-24), ("float16", 2.0**-11), ("bfloat16", 2.0**-8))
"""Types narrower than float64, and how far each rounds."""
UNIT, SHORT = dict(UNITS), ("float16", "bfloat16")
AVERAGED = 1 / 8
"""A share of bfloat16's unit: so little is off where entries that are rounded to it are averaged, and as much where float16 is
used throughout."""
SHIFT = 2.0**-28
"""How far inputs are moved: less than float32 tells apart, and far more than float64 rounds."""
STEADY = 0.25
"""A result that is off by at most this share of a movement follows it. One computed in float32 stays where it is, or jumps."""
NOTHING = 2.0**-40
"""What is stated to move by a smaller share of itself does not depend on what was moved."""
TRIED = 8
"""Failing examples that are called again with other values."""
LARGE = 50.0
"""Entries from here on are large to an exponential."""
MEANS = (1.0, 1e1, 1e2, 1e3, 1e4)
"""How far entries are moved from 0: a decade each time, so that a quotient of errors tells the power."""
TOO_FAR = 0.25
"""Beside the largest entry of a result: an error beyond it no longer grows as it would."""
SQUARED = 1.5
"""The power of the mean with which an error grows: from here on it is the square of the mean that is rounded."""


def in_float32(evidence: Evidence) -> str:
    """Results in float64 that are numbers of float32, and right in that type."""
    failing = _in_float64(evidence)
    if failing and all(narrow(w, np.float32) for w in failing) and _most_right(evidence, failing, "float32"):
        return _inside("float32")
    return ""


def in_a_narrower_type(evidence: Evidence) -> str:
    """Results that are right in a narrower type alone, and as far off as its rounding."""
    failing = _in_float64(evidence)
    small = float(np.median([error(evidence, w) for w in failing])) if failing else 0.0
    if not evidence.everywhere or not 0 < small < math.inf:
        return ""
    # An error may lie between two types, and be too large for the narrower of roundings.
    nearest = sorted(UNITS, key=lambda each: abs(math.log(small / each[1])))
    kinds = (kind for kind, unit in nearest if unit / 64 < small < unit * 64)
    kind = next((kind for kind in kinds if _most_right(evidence, failing, kind)), "")
    either = kind in SHORT and AVERAGED * UNIT["bfloat16"] < small < UNIT["bfloat16"] / 2
    if not kind:
        return ""
    # All of them: of rows of two entries, normalised, even float32 loses nothing.
    stated = [_as_stated(evidence, w) for w in evidence.failing]
    followed = 4 * sum(stated) >= len(stated) and all(_follows(evidence, w) for w in evidence.failing)
    if all(stated) or followed:
        return ""
    return (
        f"{' or '.join(SHORT)} inside: right to one's digits, whatever the type of the inputs"
        if either
        else _inside(kind)
    )


def _as_stated(evidence: Evidence, witness: Witness) -> bool:
    """Whether results move as they are stated to where inputs move by less than a narrower type tells apart: then digits are not
    lost in such a type, however many are wrong.
    """
    found = _moved(evidence, witness, _real(evidence, witness), 1)
    if found is None:
        return False
    least = [(_apart(now - was, then - said), _apart(then, said)) for said, then, was, now in found]
    return any(step > 0 for _, step in least) and all(off <= STEADY * step for off, step in least)


def _follows(evidence: Evidence, witness: Witness) -> bool:
    """Whether results move twice as far where an input does: what is wrong may do so, too; what is rounded stays, or jumps once.
    Each input is moved by itself: others would hide one that is held in a narrower type.
    """
    for name in _real(evidence, witness):
        once, twice = (_moved(evidence, witness, [name], times) for times in (1, 2))
        if once is None or twice is None:
            return False
        if all(_apart(then, said) <= NOTHING * _apart(said, 0 * said) for said, then, *_ in once):
            continue  # nothing depends on it
        steps = [
            (_apart(one, was), _apart(two - one, one - was))
            for (_, _, was, one), (*_, two) in zip(once, twice, strict=True)
        ]
        if not any(step > 0 for step, _ in steps) or any(off > STEADY * step for step, off in steps):
            return False
    return True


def _real(evidence: Evidence, witness: Witness) -> list[str]:
    given = witness.example.inputs
    tensors = (t.name for t in evidence.formula.tensors if t.domain in REAL)
    return [name for name in tensors if isinstance(given.get(name), np.ndarray)]


def _moved(
    evidence: Evidence, witness: Witness, names: Sequence[str], times: int
) -> list[tuple[Any, ...]] | None:
    """What is stated before some inputs move and after it, and what was returned; None where that is nothing."""
    rng, given = np.random.default_rng(0), witness.example.inputs
    away = {name: times * SHIFT * rng.uniform(-1, 1, np.shape(given[name])) for name in names}
    moved = witness.example.changed(**{name: given[name] * (1 + by) for name, by in away.items()})
    after = [w for w in evidence.seen([moved]) if w.got is not None]
    if not after or witness.got is None:
        return None
    said, then = evidence.stated(witness.example), evidence.stated(after[0].example)
    return list(zip(said, then, witness.got, after[0].got or (), strict=True))


def _apart(one: Any, two: Any) -> float:
    return float(np.abs(one - two).max(initial=0.0))


def _inside(kind: str) -> str:
    return f"{kind} inside: computed in {kind} whatever the type of the inputs (right to {kind}'s digits)"


INSIDE = _inside("float32")
"""What is said of a callable that is right in float32 alone."""


def _in_float64(evidence: Evidence) -> list[Witness]:
    seen = (*evidence.ordinary, *evidence.drawn)
    return [w for w in seen if w.fails and w.got is not None and w.example.dtype == "float64"]


def _most_right(evidence: Evidence, witnesses: Sequence[Witness], kind: str) -> bool:
    told = [right for w in witnesses if (right := _right_in(evidence, w, kind)) is not None]
    return bool(told) and sum(told) > MOST * len(told)


def _right_in(evidence: Evidence, witness: Witness, kind: str) -> bool | None:
    """Whether a result is within a few bounds of a type; None where these say nothing, being as large as what is compared."""
    judge = evidence.judge
    expected = judge.expect(witness.example.inputs, kind, rigorous=False)
    with np.errstate(all="ignore"):
        fine = [
            bool((np.abs(g - e.value) <= 8 * e.bound + 1e-300).all() or not np.isfinite(e.bound).any())
            for e, g in zip(expected, witness.got or (), strict=True)
        ]
        if any((8 * e.bound < np.abs(e.value)).any() for e in expected):
            return all(fine)
    return None if all(fine) else False


def error(evidence: Evidence, witness: Witness) -> float:
    """The largest error beside the largest entry."""
    found = 0.0
    with np.errstate(all="ignore"):
        for said, got in zip(evidence.stated(witness.example), witness.got or (), strict=True):
            scale = float(np.abs(said).max(initial=0.0)) or 1.0
            found = max(found, float(np.nan_to_num(np.abs(got - said), nan=np.inf).max(initial=0.0)) / scale)
    return found


def nowhere_finite(evidence: Evidence) -> str:
    """NaN or infinity at ordinary inputs."""
    failing = evidence.failing
    broken = [w for w in failing if not any(np.isfinite(part).any() for part in w.got or ())]
    if failing and len(broken) == len(failing) and evidence.everywhere:
        return "no entry of the result is a finite number, at ordinary inputs"
    return ""


def cancels(evidence: Evidence) -> str:
    """A variance worked out in one pass: right about 0, wrong where all entries lie far from it."""
    squares = [
        part
        for line in evidence.judge.flat.lines
        for part in walk(line.right)
        if isinstance(part, SumOf) and isinstance(part.body, Power) and isinstance(part.body.args[0], Minus)
    ]
    if not squares or evidence.everywhere:
        return ""
    far, near = _about(evidence, MEANS[-1]), _about(evidence, 0.0)
    spoilt = far and near and _fails(far) >= MOST and _fails(near) <= SPOILT_NEAR
    if spoilt and _power_of_the_mean(evidence) >= SQUARED:
        return (
            "one-pass variance: digits are lost where the entries lie far from 0 (the mean of squares minus the square of "
            "the mean cancels, and may become negative, whose root is NaN): subtract the mean first"
        )
    return ""


def _about(evidence: Evidence, mean: float) -> list[Witness]:
    """The ordinary examples with all real data moved by a number."""
    names = [t.name for t in evidence.formula.tensors if t.role == "data" and t.domain == "real"]
    moved = [w.example.changed(**{n: w.example.inputs[n] + mean for n in names}) for w in evidence.ordinary]
    return [w for w in evidence.seen([e for e in moved if max(e.sizes.values()) > 1]) if w.got is not None]


def _power_of_the_mean(evidence: Evidence) -> float:
    """With which power of the mean an error grows: with the second in one pass, with the first where only the mean is coarse.

    It is that of the last decade at whose end the error is still small; 0 where there is none.
    """
    errors = [
        float(np.median([error(evidence, w) for w in _about(evidence, mean)] or [math.inf])) for mean in MEANS
    ]
    small = [(low, high) for low, high in pairwise(errors) if low > 0 and high < TOO_FAR]
    return math.log10(small[-1][1] / small[-1][0]) if small else 0.0


def _fails(witnesses: Sequence[Witness]) -> float:
    return sum(w.fails for w in witnesses) / len(witnesses) if witnesses else 0.0


def overflows(evidence: Evidence) -> str:
    """NaN or infinity at large entries alone, where the statement takes exponentials."""
    exponentials = any(
        isinstance(part, Func) and part.name in ("exp", "sigmoid", "tanh")
        for line in evidence.judge.flat.lines
        for part in walk(line.right)
    )
    if not exponentials or evidence.everywhere:
        return ""
    failing = [w for w in evidence.drawn if w.fails and w.got is not None]
    broken = [w for w in failing if not all(np.isfinite(g).all() for g in w.got or ())]
    if len(broken) < 2 or min(_size(evidence, w) for w in failing) <= LARGE:
        return ""
    if _vanishes(evidence, broken[:TRIED]):
        return (
            "a logarithm is taken of a share that vanishes: infinity where entries lie far apart (log_softmax and logsumexp "
            "keep it finite)"
        )
    return (
        "an exponential overflows: NaN or infinity where entries are large (subtract the largest before exp)"
    )


def _vanishes(evidence: Evidence, broken: Sequence[Witness]) -> bool:
    """Whether results with a logarithm are infinite, too, where no entry is above 0 and no exponential overflows."""
    logarithms = any(
        isinstance(part, Func) and part.name == "log"
        for line in evidence.judge.flat.lines
        for part in walk(line.right)
    )
    names = [t.name for t in evidence.formula.tensors if t.role == "data" and t.domain == "real"]
    if not logarithms or not names:
        return False
    given = [w.example for w in broken]
    low = [e.changed(**{n: e.inputs[n] - e.inputs[n].max(initial=0.0) for n in names}) for e in given]
    return _fails(evidence.seen(low)) > MOST


def weighs_hidden(evidence: Evidence) -> str:
    """Failures that end where hidden entries are as small as those that are seen: what is subtracted is the largest of all."""
    masks = [t for t in evidence.formula.tensors if t.role == "mask"]
    if len(masks) != 1 or evidence.everywhere:
        return ""
    (mask,) = masks
    alike = [t.name for t in evidence.formula.tensors if t.role == "data" and t.shape == mask.shape]
    failing = [w for w in evidence.drawn if w.fails and w.got is not None]
    masked = [w for w in failing if w.example.inputs.get(mask.name) is not None][:TRIED]
    if len(alike) != 1 or not masked:
        return ""
    (name,) = alike
    tamed = []
    for each in (w.example for w in masked):
        hides, entries = each.inputs[mask.name], each.inputs[name]
        lower = (each.changed(**{name: _lowered(entries, seen)}) for seen in (hides, ~hides))
        stated = evidence.stated(each)  # whichever way round the mask is, what is hidden changes nothing
        tamed += [case for case in lower if same(evidence.stated(case), stated)][:1]
    if len(tamed) < len(masked) or _fails(evidence.seen(tamed)):
        return ""
    return (
        f"hidden entries of {name} have weight: right where they are no larger than those that are seen (is the largest of all "
        "subtracted, or a finite number added to those that are hidden?)"
    )


def _lowered(entries: Reals, seen: Any) -> Reals:
    """Hidden entries no larger than the least that is seen in their row."""
    least = np.where(seen, entries, np.inf).min(-1, keepdims=True)
    return np.where(seen, entries, np.where(np.isfinite(least), least, 0.0))


def filled(evidence: Evidence) -> str:
    """Failures at extreme entries that need a mask: hidden scores are a finite number, which others fall below."""
    masks = [t.name for t in evidence.formula.tensors if t.role == "mask"]
    if not masks or evidence.everywhere:
        return ""
    failing = [w for w in evidence.drawn if w.fails and w.got is not None]
    masked = [w for w in failing if w.example.inputs.get(masks[0]) is not None]
    if len(masked) < 2 or len(masked) < len(failing):
        return ""
    bare = evidence.seen([w.example.changed(**{masks[0]: None}) for w in masked])
    if _fails(bare) <= SPOILT_NEAR and min(_size(evidence, w) for w in masked) > LARGE:
        return (
            "hidden scores are filled with a finite number: wrong where scores come near it (fill with −∞, or the "
            "least number of the type)"
        )
    return ""


def _size(evidence: Evidence, witness: Witness) -> float:
    return max(
        (
            float(np.abs(witness.example.inputs[t.name]).max(initial=0.0))
            for t in evidence.formula.tensors
            if t.role == "data" and t.domain in REAL
        ),
        default=0.0,
    )


__all__ = [
    "INSIDE",
    "cancels",
    "filled",
    "in_a_narrower_type",
    "in_float32",
    "nowhere_finite",
    "overflows",
    "weighs_hidden",
]
