"""Explanations that say what is returned: each is held to the evidence, under our conventions and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import permutations

import numpy as np

from verify.inputs.examples import Example
from verify.properties.values import Judge, Reals
from verify.search.causes.altered_inputs import Explanation, altered_inputs
from verify.search.causes.altered_lines import altered_lines
from verify.search.evidence import Evidence, Witness
from verify.search.nearest import combinations


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


__all__ = ["other_inputs", "other_lines", "outputs_exchanged", "scaled"]
