"""Explanations that say what is returned: each is held to the evidence, under our conventions and others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import permutations

import numpy as np

from verify.inputs.examples import Example
from verify.properties.judge import Judge, Reals
from verify.report import options_said
from verify.search.causes.altered_inputs import Explanation, altered_inputs
from verify.search.causes.altered_lines import altered_lines, filled_with, otherwise_floored, without_weights
from verify.search.evidence import MOST, Alike, Evidence, Witness
from verify.search.nearest import combinations


def other_inputs(evidence: Evidence) -> str:
    """One input taken for something else."""
    return _accounting(evidence, altered_inputs(evidence)) if evidence.everywhere else ""


def no_weights(evidence: Evidence) -> str:
    """Weights that have no effect on what is read: its sum or its mean is returned, whatever they are."""
    if not evidence.everywhere or evidence.random:
        return ""
    return _accounting(evidence, without_weights(evidence))


def other_lines(evidence: Evidence) -> str:
    """One thing in the statement written otherwise."""
    if not evidence.everywhere or evidence.random:
        return ""
    return _accounting(evidence, altered_lines(evidence))


def under_others(evidence: Evidence) -> str:
    """An input taken for something else, or a line written otherwise, beside another choice of conventions."""
    ours = evidence.judge
    for probe in (no_weights, other_inputs, other_lines):
        for changes in combinations(evidence.formula, ours.conventions):
            if evidence.late:
                return ""
            evidence.judge = Judge(evidence.formula, {**ours.conventions, **changes})
            try:
                said = probe(evidence)
            finally:
                evidence.judge = ours
            if said:
                chosen = options_said(changes)
                return f"{said}; and {chosen} (its convention)"
    return ""


DIGITS = 6
"""So many digits are said of a factor."""
SAID = 10.0**-DIGITS
"""Factors are one where they agree to the digits that are said of them; in float64, where they are taken, roundings are far
smaller, and a factor that varies by less is no scale that anybody wrote."""
SURELY = 0.9
"""The share of what fails that has to be explained where several explanations differ in few examples."""
SMALL, SMALLEST = 3, 34
"""So many examples are made small, in steps of half a power of ten, so many of them."""
FILLS = (
    -(10**4),
    -(10**9),
    -(10**6),
    -(10**5),
    -(10**8),
    -(10**10),
    -(10**12),
    -(10**20),
    -(2**15),
    -(10**30),
)
"""Numbers that hidden scores are set to in the field."""


def fill(evidence: Evidence) -> str:
    """A number that hidden scores are set to, which shows where others come near it."""
    failing = [
        w for w in evidence.drawn if w.fails and w.got is not None and w.example.dtype == evidence.kind
    ]
    if evidence.everywhere or evidence.random:
        return ""
    failing = [
        w for w in failing if not evidence.fits_there(evidence.stated, w)
    ]  # else any number does as well
    if not failing:
        return ""
    right = [
        value for value in FILLS if _accounts_for(evidence, filled_with(evidence.judge.flat, value), failing)
    ]
    if not right:
        return ""
    named = f" ({float(right[0]):g})" if len(right) == 1 else ""
    return f"hidden scores are set to a finite number{named}: right as long as the others stay far above it"


def floored(evidence: Evidence) -> str:
    """A divisor that is kept from 0 otherwise, which shows at rows near 0, and is right about more of them than none at all."""
    failing = [
        w for w in evidence.drawn if w.fails and w.got is not None and w.example.dtype == evidence.kind
    ]
    if evidence.random or len(failing) < 2:
        return ""
    explanations = list(otherwise_floored(evidence))
    if (
        sum(not said for said, _ in explanations) != 1
    ):  # of several roots ε is fixed in one, or the data tell nothing
        return ""
    told = [*failing, *_small(evidence)]
    least, said_best = math.floor((1 - SURELY) * len(told)) + 1, ""
    for said, alike in explanations:
        if evidence.late:
            break
        wrong = 0
        for witness in told:
            wrong += not evidence.fits_there(alike, witness)
            if wrong >= least:  # no better than one before
                break
        else:
            least, said_best = wrong, said
    return said_best


def _small(evidence: Evidence) -> list[Witness]:
    """Ordinary examples with all real data made small, by each power of ten and half of one: where a least value shows."""
    names = [t.name for t in evidence.formula.tensors if t.role == "data" and t.domain == "real"]
    steps = [10.0 ** (-place / 2) for place in range(1, SMALLEST)]
    examples = [w.example for w in evidence.ordinary if names][:SMALL]
    moved = [e.changed(**{name: e.inputs[name] * step for name in names}) for e in examples for step in steps]
    return [w for w in evidence.seen(moved) if w.got is not None]


def _accounts_for(evidence: Evidence, alike: Alike | None, failing: Sequence[Witness]) -> bool:
    """Whether an explanation is right about most of what fails."""
    right = [w for w in failing if alike is not None and evidence.fits_there(alike, w)]
    return len(right) > MOST * len(failing)


def _accounting(evidence: Evidence, explanations: Iterable[Explanation]) -> str:
    """The first explanation that accounts for what was returned."""
    for said, alike in explanations:
        if evidence.late:
            return ""
        if evidence.accounts(alike):
            return said
    return ""


def outputs_exchanged(evidence: Evidence) -> str:
    """Several results in another order."""
    outputs = evidence.judge.flat.outputs
    if not evidence.everywhere and not all(w.got is None for w in evidence.ordinary):
        return ""
    for order in list(permutations(range(len(outputs))))[1:24]:
        if evidence.accounts(partial(_ordered, evidence, order)):
            return f"the results are exchanged: returned in the order {', '.join(outputs[place].name for place in order)}"
    return ""


def _ordered(evidence: Evidence, order: Sequence[int], example: Example) -> list[Reals]:
    said = evidence.stated(example)
    return [said[place] for place in order]


def scaled(evidence: Evidence) -> str:
    """Results off by one factor, the same everywhere or a power of a size."""
    if not evidence.everywhere or len(evidence.failing) < 3:
        return ""
    factors = [_factor(evidence, w) for w in evidence.failing]
    if any(f is None for f in factors):
        return ""
    found = [f for f in factors if f is not None]
    if np.ptp(found) <= SAID * abs(found[0]):
        if abs(found[0] - 1) <= SAID:  # that it is a little off is no news
            return ""
        return f"the result is {found[0]:.{DIGITS}g} times what is stated, everywhere"
    for size in evidence.failing[0].example.sizes:
        for power, said in ((1, f"{size}"), (-1, f"1/{size}"), (0.5, f"√{size}"), (-0.5, f"1/√{size}")):
            made = [w.example.sizes[size] ** power for w in evidence.failing]
            if np.allclose(found, made, rtol=SAID, atol=0):
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
    return float(factors[0]) if np.ptp(factors) <= SAID * abs(factors[0]) else None


__all__ = [
    "fill",
    "floored",
    "no_weights",
    "other_inputs",
    "other_lines",
    "outputs_exchanged",
    "scaled",
    "under_others",
]
