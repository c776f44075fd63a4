"""Gradients that stop: an input that none reaches, or a line that is taken for a constant (``detach``, ``no_grad``).

What the gradient would be is found by differences: of the statement with the values of a line held where they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, product
from typing import Any

import numpy as np

from verify.explain.evidence import UNEVALUABLE, Evidence
from verify.explain.lines import Runs, name_line
from verify.explain.probes import join_names
from verify.faults import Fault
from verify.inputs.examples import Example
from verify.properties.gradients import pull_back
from verify.properties.slopes import differentiable, of_what_is_said, with_cotangents

EXAMPLES = 4
"""Examples at which gradients are looked at."""
STEP = 1e-5
"""How far inputs are moved for a difference."""
SAME = 1e-5
"""How near a difference is to a slope, beside the sum of its terms: far more than float32 inside, or the step, loses."""
LITTLE = 1e-3
"""A slope below this share of what is weighed is nearly none: there differences lose its digits."""
MOST_LINES = 40
"""Lines that are looked at two by two: more would take too long."""


@dataclass(frozen=True)
class Slopes:
    """An example, a direction for each input, and what is summed to the slope along it: autograd's gradients times these."""

    example: Example
    along: Mapping[str, Any]
    terms: Mapping[str, Any]


def find_stopped_gradients(evidence: Evidence) -> str:
    """Inputs or lines through which no gradient flows, where it has to."""
    seen = list(islice(_call_with_gradients(evidence), EXAMPLES))
    if len(seen) < 2 or evidence.random:
        return ""
    runs, names = Runs(evidence.judge.flat), differentiable(evidence.judge)
    wrong = [name for name in names if not _right(runs, seen, [name], ())]
    cut = [name for name in wrong if not any(slopes.terms[name].any() for slopes in seen)]
    if wrong and cut == wrong:
        return f"no gradient reaches {join_names(cut)}: it is 0, as of constants (something is detached, or made under no_grad)"
    said = _find_factor(runs, seen, wrong)
    if said:
        return said
    lines = {line.name: line for line in runs.flat.lines if line.name in runs.alone}
    for count in (1, 2) if wrong and len(lines) <= MOST_LINES else ():
        for constant in combinations(lines, count):
            if evidence.late:
                return ""
            if _right(runs, seen, names, constant):
                what = " and ".join(dict.fromkeys(name_line(runs.flat, lines[name]) for name in constant))
                are = "is taken for a constant" if count == 1 else "are taken for constants"
                return f"{what} {are}: no gradient flows through {'it' if count == 1 else 'them'} (detach, or no_grad)"
    return ""


def find_undefined_gradients(evidence: Evidence) -> str:
    """Gradients that are NaN exactly where a mask leaves some row nothing."""
    judge = evidence.judge
    permits = judge.conventions.get("polarity") != "true_drops"
    names, cases = dict[str, None](), set[tuple[bool, bool]]()
    for slopes in _call_with_gradients(evidence):
        masks = (slopes.example.inputs.get(t.name) for t in judge.formula.tensors if t.role == "mask")
        empty = any(mask is not None and not (mask == permits).any(-1).all() for mask in masks)
        lost = [name for name, terms in slopes.terms.items() if not np.isfinite(terms).all()]
        names |= dict.fromkeys(lost)
        cases.add((empty, bool(lost)))
    if cases != {(True, True), (False, False)}:
        return ""
    return f"where the mask leaves a row nothing, the gradient of {join_names(names)} is NaN"


def _call_with_gradients(evidence: Evidence) -> Iterator[Slopes]:
    """Ordinary examples in float64 with what autograd finds at them."""
    judge, caller, space = evidence.judge, evidence.caller, evidence.setting.space(moderate=True)
    random = np.random.default_rng(0)
    for recipe in space.plan(3 * EXAMPLES, 0):
        ordinary = recipe._replace(regime=0, other=0, sizes=recipe.sizes % 3)
        drawn = with_cotangents(judge, space.example(ordinary, "float64"), recipe.seed)
        (example,) = of_what_is_said(judge, [drawn])
        seed = example.generator_seed
        arguments = caller.arguments(example.inputs, example.dtype, grad=True, generator_seed=seed)
        try:
            found = pull_back(caller, example, arguments)
        except Fault:
            continue
        along = {name: random.standard_normal(np.shape(example.inputs[name])) for name in found}
        terms = {
            name: np.zeros(1) if gradient is None else gradient.detach().cpu().double().numpy() * along[name]
            for name, gradient in found.items()
        }
        yield Slopes(example, along, terms)


def _right(runs: Runs, seen: Sequence[Slopes], names: Sequence[str], constant: Sequence[str]) -> bool:
    """Whether slopes along some inputs are those of the statement with some lines held constant, at every example."""
    for slopes, name in product(seen, names):
        terms = slopes.terms.get(name)
        slope = None if terms is None else _slope(runs, slopes, name, constant)
        if terms is None:
            continue
        if slope is None:
            return False
        found, size = slope
        scale = max(float(np.abs(terms).sum()) + abs(found), LITTLE * size)
        if abs(float(terms.sum()) - found) > SAME * scale:
            return False
    return True


def _find_factor(runs: Runs, seen: Sequence[Slopes], wrong: Sequence[str]) -> str:
    """Gradients that are off by one factor."""
    factors = []
    for slopes, name in product(seen, wrong):
        slope = _slope(runs, slopes, name, ())
        if slope is None:
            return ""
        if abs(slope[0]) > LITTLE * slope[1]:
            factors.append(float(slopes.terms[name].sum()) / slope[0])
    if len(factors) < 2 or np.ptp(factors) > LITTLE * abs(factors[0]) or not factors[0]:
        return ""
    return f"the gradient of {join_names(wrong)} is {np.mean(factors):.4g} times what is stated"


def _slope(runs: Runs, slopes: Slopes, name: str, constant: Sequence[str]) -> tuple[float, float] | None:
    """The slope of the outputs, weighed by their cotangents, along an input's direction, and the size of what is weighed.

    Nothing where it cannot be worked out.
    """
    example, ends, size = slopes.example, [], 0.0
    try:
        frame = runs.frame(example)
        unmoved = {line: partial(_constant, frame[line]) for line in constant}
        for sign in (1, -1):
            moved = example.replace_inputs(**{name: example.inputs[name] + sign * STEP * slopes.along[name]})
            outputs = runs.outputs(moved, unmoved)
            weighed = [
                value * example.cotangents[tensor.name]
                for tensor, value in zip(runs.flat.outputs, outputs, strict=True)
            ]
            ends.append(sum(float(part.sum()) for part in weighed))
            size = sum(float(np.abs(part).sum()) for part in weighed)
    except UNEVALUABLE:
        return None
    found = (ends[0] - ends[1]) / (2 * STEP)
    return (found, size) if np.isfinite(found) else None


def _constant(value: Any, _: Any) -> Any:
    return value


__all__ = ["find_stopped_gradients", "find_undefined_gradients"]
