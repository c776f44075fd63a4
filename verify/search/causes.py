"""Causes of a falsification, probed directly: a table, in the order in which they are tried.

A probe looks at the evidence, perhaps calls once more, and answers with a sentence or with nothing. It knows inputs by their
roles and domains, never a formula by its name.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import torch

from spec.language.arrays import Tensor
from spec.language.expr import Func, Minus, Power, SumOf
from spec.language.trees import walk
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example
from verify.properties.gradients import REAL
from verify.properties.values import Judge, Reals
from verify.search.altered_inputs import Explanation, altered_inputs
from verify.search.altered_lines import altered_lines
from verify.search.evidence import MOST, Evidence, Witness, narrow
from verify.search.nearest import combinations
from verify.subject.returned import values

SPOILT_NEAR = 0.25
"""The share of ordinary examples that may fail where only extreme ones are to."""
LARGE = 50.0
"""Entries from here on are large to an exponential."""
DRAWS = 64
"""Calls whose mean tells whether a random result averages right."""


@dataclass(frozen=True)
class Cause:
    """A cause: its name, and what looks for it."""

    name: str
    probe: Callable[[Evidence], str]


# Results of another form ------------------------------------------------------------------------------------------------


def _unfit(evidence: Evidence) -> list[Witness]:
    """The witnesses whose result does not have the declared form, if they are most."""
    faults = [w for w in evidence.ordinary if w.got is None]
    return faults if len(faults) > MOST * len(evidence.ordinary) else []


def returns_several(evidence: Evidence) -> str:
    """A tuple in which one part is what is expected."""
    found = [w for w in _unfit(evidence) if isinstance(w.raw, tuple | list) and len(w.raw) > 1]
    count = len(evidence.caller.returns)
    if not found or count != 1:
        return ""
    several = f"a {type(found[0].raw).__name__} of {len(found[0].raw)}"
    for place in range(min(len(w.raw) for w in found)):
        if all(_right(evidence, w, w.raw[place]) for w in found):
            return f"returns {several}, and its entry [{place}] conforms: return that one alone"
    return f"returns {several} where one tensor is expected"


def returns_arrays(evidence: Evidence) -> str:
    """An array of NumPy or the like in the place of a tensor."""
    found = [w for w in _unfit(evidence) if isinstance(w.raw, np.ndarray | np.generic | float | int)]
    return f"returns {type(found[0].raw).__name__}, not a tensor" if found else ""


def transposed(evidence: Evidence) -> str:
    """The right numbers with their axes in another order."""
    found = [w for w in _unfit(evidence) if isinstance(w.raw, torch.Tensor)]
    if not found or len(evidence.caller.returns) != 1:
        return ""
    declared = evidence.caller.returns[0].shape
    for axes in list(permutations(range(len(declared))))[1:24]:
        if all(w.raw.dim() == len(axes) and _right(evidence, w, w.raw.permute(axes)) for w in found):
            order = ", ".join(str(declared[place]) for place in np.argsort(axes))
            return f"axes swapped: the result is right but transposed, its axes are ({order}) and not ({_listed(declared)})"
    for dim in range(max(w.raw.dim() for w in found)):
        if all(dim < w.raw.dim() and _right(evidence, w, w.raw.squeeze(dim)) for w in found):
            return f"the result is right but has an axis of length 1 too many, at place {dim}"
    return ""


def _right(evidence: Evidence, witness: Witness, part: Any) -> bool:
    """Whether a part of a result would have conformed."""
    try:
        fit = evidence.fits(part, witness.example)
    except Fault:
        return False
    return evidence.near([values(x) for x in fit], evidence.stated(witness.example))


def _listed(parts: Iterable[Any]) -> str:
    return ", ".join(map(str, parts))


def some_sizes_only(evidence: Evidence) -> str:
    """Calls that fail for some sizes: odd ones, or those that another does not divide."""
    tried = [*evidence.ordinary, *evidence.drawn]
    bad = [w.example.sizes for w in tried if w.got is None]
    good = [w.example.sizes for w in tried if w.got is not None]
    good = [
        sizes for sizes in good if min(sizes.values(), default=2) > 1
    ]  # where one is 1 much works by chance
    if not bad:
        return ""
    said = re.sub(r" for .*", "", next(w.said for w in tried if w.got is None))
    if good:
        for rule, holds in _size_rules(list(good[0])):
            if all(holds(s) for s in good) and not any(holds(s) for s in bad):
                return f"supports only {rule}; otherwise {said}"
    return f"cannot be called, or returns something else: {said}" if len(bad) > MOST * len(tried) else ""


def _size_rules(sizes: Sequence[Any]) -> Iterable[tuple[str, Callable[[Any], bool]]]:
    """What may hold of the sizes that are supported, the simplest first."""
    for a in sizes:
        yield f"even {a} (an odd one fails)", partial(_holds, lambda x, _: x % 2 == 0, a, a)
    for a, b in permutations(sizes, 2):
        yield f"{a} = {b}", partial(_holds, operator.eq, a, b)
        yield f"{a} divided by {b} without rest", partial(_holds, lambda x, y: x % y == 0, a, b)
        yield f"{a} ≤ {b}", partial(_holds, operator.le, a, b)


def _holds(relation: Callable[[int, int], bool], a: Any, b: Any, sizes: Any) -> bool:
    return relation(sizes[a], sizes[b])


# Behaviour --------------------------------------------------------------------------------------------------------------


def random_result(evidence: Evidence) -> str:
    """Results that differ from call to call: dropout, if they are right on average."""
    for witness in evidence.failing[:3]:
        first, other = (_drawn(evidence, witness.example, seed) for seed in (1, 2))
        if first is None or other is None or _same(first, other):
            continue
        mean = _mean(evidence, witness.example)
        if mean is None:
            return ""
        average, spread = mean
        told = [
            np.abs(a - e) <= 6 * s / math.sqrt(DRAWS) + 0.02 * np.abs(e).max(initial=0.0)
            for a, s, e in zip(average, spread, evidence.stated(witness.example), strict=True)
        ]
        zeros = max(float(np.mean(part == 0)) for part in first)
        if all(t.all() for t in told):
            shown = f"; {100 * zeros:.0f} % of its entries are 0" if 0.02 < zeros < 0.98 else ""
            return (
                "dropout is left on: the result is random, differs from call to call, and is right on average"
                f"{shown} (call .eval(), or pass training=False)"
            )
        return "the result is random: two calls with equal inputs differ (is dropout left on, or a weight not set?)"
    return ""


def _drawn(evidence: Evidence, example: Example, seed: int) -> list[Reals] | None:
    """A result after the global generator was seeded."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 what the callable may draw from
        try:
            return evidence.called(example).got
        except Unsupported:
            return None


def _mean(evidence: Evidence, example: Example) -> tuple[list[Reals], list[Reals]] | None:
    drawn = [_drawn(evidence, example, seed) for seed in range(DRAWS)]
    fine = [each for each in drawn if each is not None]
    if len(fine) < DRAWS:
        return None
    columns = [
        np.stack([np.asarray(part, np.float64) for part in column]) for column in zip(*fine, strict=True)
    ]
    return [c.mean(0) for c in columns], [c.std(0) for c in columns]


def _same(one: Sequence[Reals], two: Sequence[Reals]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, two, strict=True))


def computed_narrower(evidence: Evidence) -> str:
    """Results in float64 that are numbers of a narrower type, and right in that type."""
    fine = [w for w in (*evidence.ordinary, *evidence.drawn) if w.got is not None]
    failing = [w for w in fine if w.fails and w.example.dtype == evidence.kind]
    if evidence.kind != "float64" or not failing:
        return ""
    for kind, unit in (("float32", 2.0**-24), ("bfloat16", 2.0**-8), ("float16", 2.0**-11)):
        right = sum(_right_in(evidence, w, kind) for w in failing)
        exactly = kind == "float32" and all(narrow(w, np.float32) for w in failing)
        small = np.median([_error(evidence, w) for w in failing])
        about = evidence.everywhere and unit / 64 < small < unit * 64
        if right > MOST * len(failing) and (exactly or about):
            return f"{kind} inside: computed in {kind} whatever the type of the inputs (right to {kind}'s digits)"
    return ""


def _right_in(evidence: Evidence, witness: Witness, kind: str) -> bool:
    judge = evidence.judge
    expected = judge.expect(witness.example.inputs, kind, rigorous=False)
    with np.errstate(all="ignore"):
        return all(
            bool((np.abs(g - e.value) <= 8 * e.bound + 1e-300).all() or not np.isfinite(e.bound).any())
            for e, g in zip(expected, witness.got or (), strict=True)
        )


def _error(evidence: Evidence, witness: Witness) -> float:
    """The largest error beside the largest entry."""
    found = 0.0
    with np.errstate(all="ignore"):
        for said, got in zip(evidence.stated(witness.example), witness.got or (), strict=True):
            scale = float(np.abs(said).max(initial=0.0)) or 1.0
            found = max(found, float(np.nan_to_num(np.abs(got - said), nan=np.inf).max(initial=0.0)) / scale)
    return found


# Explanations -----------------------------------------------------------------------------------------------------------


def other_inputs(evidence: Evidence) -> str:
    """One input taken for something else, under ours or any other conventions."""
    if not evidence.everywhere:
        return ""
    said = _accounting(evidence, altered_inputs(evidence))
    return said or _under_others(evidence, altered_inputs)


def other_lines(evidence: Evidence) -> str:
    """One thing in the statement written otherwise, under ours or any other conventions."""
    if not evidence.everywhere or evidence.random:
        return ""
    said = _accounting(evidence, altered_lines(evidence))
    return said or _under_others(evidence, lambda e: altered_lines(e))


def _under_others(evidence: Evidence, explanations: Callable[[Evidence], Iterable[Explanation]]) -> str:
    """The same explanations beside another choice of conventions."""
    ours = evidence.judge
    for changes in combinations(evidence.formula, ours.conventions):
        if evidence.late:
            return ""
        evidence.judge = Judge(evidence.formula, {**ours.conventions, **changes})
        try:
            said = _accounting(evidence, explanations(evidence))
        finally:
            evidence.judge = ours
        if said:
            chosen = ", ".join(f"{name}={option}" for name, option in changes.items())
            return f"{said}; and {chosen} (its convention)"
    return ""


def _accounting(evidence: Evidence, explanations: Iterable[Explanation]) -> str:
    """The first explanation that accounts for what was returned."""
    for said, alike in explanations:
        if evidence.late:
            return ""
        if evidence.accounts(alike):
            return said
    return ""


def scaled(evidence: Evidence) -> str:
    """Results off by one factor, the same everywhere or a power of a size."""
    if not evidence.everywhere or len(evidence.failing) < 3:
        return ""
    factors = [_factor(evidence, w) for w in evidence.failing]
    if any(f is None for f in factors):
        return ""
    found = [f for f in factors if f is not None]
    if np.ptp(found) <= 1e-6 * abs(found[0]):
        return f"the result is {found[0]:.6g} times what is stated, everywhere"
    for size in evidence.failing[0].example.sizes:
        for power, said in ((1, f"{size}"), (-1, f"1/{size}"), (0.5, f"√{size}"), (-0.5, f"1/√{size}")):
            made = [w.example.sizes[size] ** power for w in evidence.failing]
            if np.allclose(found, made, rtol=1e-6):
                return f"the scale is wrong: the result is {said} times what is stated"
    return ""


def _factor(evidence: Evidence, witness: Witness) -> float | None:
    said = np.concatenate([np.ravel(x) for x in evidence.stated(witness.example)])
    got = np.concatenate([np.ravel(x) for x in witness.got or ()]).astype(np.float64)
    told = np.isfinite(said) & (said != 0)
    if not told.any() or not np.isfinite(got[told]).all():
        return None
    with np.errstate(all="ignore"):
        factors = got[told] / said[told]
    return float(factors[0]) if np.ptp(factors) <= 1e-6 * abs(factors[0]) else None


# What is read -----------------------------------------------------------------------------------------------------------


def looks_ahead(evidence: Evidence) -> str:
    """Outputs that depend on entries of the data which the statement does not read there, or do not on those it reads."""
    if not evidence.everywhere:
        return ""
    later: set[tuple[str, str]] = set()
    other: set[tuple[str, str]] = set()
    for witness in evidence.failing[:4]:
        for name, place, output, row in _read_besides(evidence, witness):
            (later if place > row else other).add((name, output))
    if later:
        name, output = min(later)
        return f"look-ahead: position i of {output} depends on later positions of {name}, and must not: it sees the future"
    if other:
        name, output = min(other)
        return f"{output} depends on entries of {name} that it must not read (hidden or at other positions)"
    return ""


def _read_besides(evidence: Evidence, witness: Witness) -> Iterable[tuple[str, int, str, int]]:
    """(input, place, output, row): the row changes with the entries at that place, where the statement's does not."""
    example, base = witness.example, evidence.stated(witness.example)
    for item in evidence.formula.tensors:
        value = example.inputs.get(item.name)
        if (
            item.role != "data"
            or item.domain not in REAL
            or not isinstance(value, np.ndarray)
            or value.ndim < 2
        ):
            continue
        for place in range(value.shape[0]):
            moved = np.array(value)
            moved[place] = moved[place][..., ::-1] * 0.5 + 0.75
            got = evidence.called(example, {item.name: moved}).got
            if got is None or witness.got is None:
                return
            said = evidence.stated(example, {item.name: moved})
            for tensor, a, b, c, d in zip(
                evidence.judge.flat.outputs, base, said, witness.got, got, strict=True
            ):
                for row in range(len(a) if a.ndim > 1 else 0):
                    if np.array_equal(a[row], b[row], equal_nan=True) and not np.allclose(
                        c[row], d[row], rtol=evidence.close, atol=evidence.close, equal_nan=True
                    ):
                        yield item.name, place, tensor.name, row


def unread_inputs(evidence: Evidence) -> str:
    """An input that changes nothing in what is returned, though the statement reads it."""
    if not evidence.everywhere:
        return ""
    ignored = []
    for item in evidence.formula.tensors:
        said = [_ignores(evidence, w, item) for w in evidence.failing[:3]]
        if said and all(each is True for each in said):
            ignored.append(item.name)
    return (
        f"{_listed(ignored)} {'is' if len(ignored) == 1 else 'are'} ignored: other values change nothing"
        if ignored
        else ""
    )


def _ignores(evidence: Evidence, witness: Witness, item: Tensor) -> bool | None:
    """Whether an input changes nothing; None where it changes nothing in the statement either."""
    value, example = witness.example.inputs.get(item.name), witness.example
    if value is None or item.role == "generator" or not (item.domain in REAL or item.domain == "boolean"):
        return None
    other: Any = ~value if item.domain == "boolean" else value * 0.5 + 0.375
    if _same(evidence.stated(example), evidence.stated(example, {item.name: other})):
        return None
    got = evidence.called(example, {item.name: other}).got
    return got is not None and witness.got is not None and _same(got, witness.got)


# Extremes ---------------------------------------------------------------------------------------------------------------


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
    far, near = _about(evidence, 1e4), _about(evidence, 0.0)
    if far and near and _fails(far) >= MOST and _fails(near) <= SPOILT_NEAR:
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
    if len(broken) >= 2 and min(_size(evidence, w) for w in failing) > LARGE:
        return "an exponential overflows: NaN or infinity where entries are large (subtract the largest before exp)"
    return ""


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


FORMS: tuple[Cause, ...] = (
    Cause("output a tuple", returns_several),
    Cause("output no tensor", returns_arrays),
    Cause("output transposed", transposed),
    Cause("some sizes only", some_sizes_only),
    Cause("random", random_result),
)
"""Causes that are looked for before other conventions: nothing else is told from results of another form."""

CAUSES: tuple[Cause, ...] = (
    Cause("one-pass variance", cancels),
    Cause("a narrower type", computed_narrower),
    Cause("overflow", overflows),
    Cause("finite fill", filled),
    Cause("an input taken for another", other_inputs),
    Cause("a line written otherwise", other_lines),
    Cause("another factor", scaled),
    Cause("an input ignored", unread_inputs),
    Cause("looks ahead", looks_ahead),
)
"""Causes that are looked for where no other conventions explain what fails."""


def cause(evidence: Evidence, table: Sequence[Cause]) -> str:
    """The first cause of a table that shows, in a sentence; empty if none does."""
    for each in table:
        try:
            said = each.probe(evidence)
        except Unsupported:
            continue
        if said:
            return said
    return ""


__all__ = ["CAUSES", "FORMS", "Cause", "cause"]
