"""Values: how far what a callable returns is from what the statement says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verify.faults import Fault
from verify.inputs.examples import Example
from verify.properties.judge import Expected, Judge
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller
from verify.subject.returned import values

EFFECTIVE = 10.0
"""An entry says something if its value is at least so many times its bound."""
CLEAR = 0.25
"""Errors up to this share of the bound need no reference closer than float64's: its own error would have to be three times as
large, and is a few hundredths of the bound as a rule, which at most it reaches.
"""


def compare(expected: Expected, got: Any) -> Outcome:
    """How far a returned array is from what is expected, in units of the bound; NaN never passes where a bound is finite."""
    value, bound = expected.value, expected.bound
    got = np.asarray(got, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(got - value)
        ratio, telling = error / bound, np.abs(value) >= EFFECTIVE * bound
        largest = float(ratio.max()) if ratio.size else 0.0
        saying = telling  # where something is there: that nothing is says little
        if not math.isfinite(largest):  # else no number is NaN, and no bound is 0
            ratio = np.where(error == 0, 0.0, ratio)
            ratio = np.where(np.isnan(got) | np.isnan(ratio), np.inf, ratio)
            ratio = np.where(np.isinf(bound), 0.0, ratio)
            largest = float(ratio.max())
            telling = np.isfinite(bound) & (telling | (bound == 0))
            saying = telling & (value != 0)
    outcome = Outcome(largest, bool(telling.any()), what=expected.name, asked=frozenset((expected.name,)))
    if outcome.effective and (saying is telling or bool(saying.any())):
        outcome.answered = outcome.asked
    if outcome.fails:  # where it is and what was there is told of a violation alone
        worst = int(np.argmax(ratio))
        outcome.index = tuple(int(x) for x in np.unravel_index(worst, ratio.shape))
        outcome.got, outcome.expected = float(got.flat[worst]), float(value.flat[worst])
        outcome.tolerance = float(bound.flat[worst])
    return outcome


def explain(
    judge: Judge, caller: Caller, outcome: Outcome, example: Example, what: str = "", beside: str = ""
) -> Outcome:
    """Give a failing outcome its one line; ``beside`` is said of what is wrong there."""
    if not outcome.fails or outcome.message:
        return outcome
    place = "" if not outcome.index else "[" + ", ".join(map(str, outcome.index)) + "]"
    inputs = ", ".join(
        f"{name} {np.shape(value)}" if isinstance(value, np.ndarray) else f"{name} {value!r}"
        for name, value in example.inputs.items()
    )
    times = "" if not math.isfinite(outcome.ratio) else f" ({outcome.ratio:.3g} times the bound)"
    outcome.message = (
        f"{judge.formula.id}: {caller.name}: {what or outcome.what}{place}{beside} is {outcome.got:.9g}; expected "
        f"{outcome.expected:.9g} ± {outcome.tolerance:.2g}{times} for {inputs} in {example.dtype}"
    )
    outcome.violates = outcome.violates or judge.line_of(outcome.what)
    return outcome


def judge_value(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Call on an example and compare every output; a fault of the call is an infinite ratio."""
    arguments = caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)
    return judge_call(judge, caller, example, arguments)


def judge_call(
    judge: Judge,
    caller: Caller,
    example: Example,
    arguments: Sequence[Any],
    asked: Example | None = None,
) -> Outcome:
    """As :func:`judge_value`, with the arguments made by the caller of this function.

    ``asked`` is the example at whose inputs the statement is asked, if not at those of the call.
    """
    try:
        got = caller.results(arguments, example.sizes, example.batch, example.dtype if judge.real else None)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    if not judge.real:  # without real inputs the callable chooses the type, and the bound follows it
        example = replace(example, dtype=str(got[0].dtype).removeprefix("torch."))
    outcome = judge_outputs(judge, replace(asked or example, dtype=example.dtype), [values(g) for g in got])
    outcome.returned = example.dtype
    return explain(judge, caller, outcome, example)


def judge_outputs(judge: Judge, example: Example, got: Sequence[Any]) -> Outcome:
    """The worst of all outputs, as arrays; balls are the reference only where the float64 walk does not settle it."""
    near = judge.expect_batch(example, rigorous=False)
    outcome = _compare_outputs(near, got)
    if outcome.ratio > CLEAR or not all(np.isfinite(e.value).all() for e in near):
        outcome = _compare_outputs(judge.expect_batch(example), got)
    return outcome


def _compare_outputs(expected: Sequence[Expected], got: Sequence[Any]) -> Outcome:
    """The worst of all outputs."""
    return worst([compare(e, g) for e, g in zip(expected, got, strict=True)])


__all__ = ["compare", "explain", "judge_outputs", "judge_call", "judge_value"]
