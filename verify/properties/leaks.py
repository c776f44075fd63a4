"""Slots that the statement does not read: NaN and infinity there must not reach the output.

Hidden by a mask, beyond a window, or after every query that looks back: what is read is found by evaluating the statement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.language.evaluation.evaluate import evaluate
from verify.inputs.examples import Example
from verify.properties.gradients import REAL
from verify.properties.values import Judge, Outcome, judge_call
from verify.subject.caller import Caller
from verify.subject.returned import values

UNREAD = "NaN where nothing is read"
"""The name of the scenario that plants NaN in slots which the statement does not read."""


def _passed(caller: Caller, example: Example) -> list[Any]:
    return caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)


def unread(judge: Judge, example: Example) -> list[tuple[str, int, int]]:
    """Slices (input, axis, place) of the data that the statement never reads at these inputs: nothing there changes anything.

    Along the axes of the mask; in formulas without one, along those that the outputs do not have, where others are read
    (next to a zero vector no entry of the other one matters, but none is hidden either).
    """
    found: list[tuple[str, int, int]] = []
    hidden = {size for t in judge.formula.tensors if t.role == "mask" for size in t.shape}
    shown = {size for t in judge.formula.outputs for size in t.shape}
    base = evaluate(judge.flat, example.inputs)
    # NaN is neither more nor less than anything: that a slot is compared shows by numbers.
    planted = {other: dict(example.inputs) for other in (np.nan, 1.7, -3.1)}

    def idle(name: str, slot: tuple[Any, ...]) -> bool:
        """Whether nothing changes, beside what is planted already, whatever stands there; then it is planted, too."""
        tried = {}
        for other, inputs in planted.items():
            tried[other] = np.array(inputs[name])
            tried[other][slot] = other
            seen = evaluate(judge.flat, {**inputs, name: tried[other]})
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(base, seen, strict=True)):
                return False
        for other, value in tried.items():
            planted[other][name] = value
        return True

    for tensor in judge.formula.tensors:
        value = example.inputs.get(tensor.name)
        if tensor.role != "data" or tensor.domain not in REAL or not isinstance(value, np.ndarray):
            continue
        for axis, size in enumerate(tensor.shape):
            if size not in hidden if hidden else size in shown:
                continue
            before = {other: inputs[tensor.name] for other, inputs in planted.items()}
            places = [p for p in range(value.shape[axis]) if idle(tensor.name, (slice(None),) * axis + (p,))]
            if not hidden and len(places) == value.shape[axis]:
                for other, inputs in planted.items():
                    inputs[tensor.name] = before[other]
            else:
                found += [(tensor.name, axis, place) for place in places]
    return found


def nan_in_masked_slots(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """NaN and infinity in slots that are hidden from every row must not reach the output.

    Hidden by a mask; or, in formulas without one, slots along an axis that the outputs do not have (keys nobody may see).
    """
    slices = unread(judge, example)
    outcome = Outcome()
    if not slices:
        return Outcome(idle=True)
    expected = judge.expect(example.inputs, example.dtype)
    for poison in (np.nan, np.inf):
        planted = {name: np.array(example.inputs[name]) for name, _, _ in slices}
        for name, axis, place in slices:
            planted[name][(slice(None),) * axis + (place,)] = poison
        case = example.changed(**planted)
        outcome = outcome.worse(judge_call(judge, caller, case, _passed(caller, case), expected))
    if outcome.fails:
        outcome.violates = "slots that are hidden from every row do not reach the output"
    return outcome


def leaks(judge: Judge, caller: Caller, example: Example) -> list[str]:
    """Inputs whose NaN, in a slot that some outputs do not read, shows in those outputs (reported, not judged)."""
    found = []
    for tensor in judge.formula.tensors:
        value = example.inputs.get(tensor.name)
        if (
            tensor.role != "data"
            or tensor.domain not in REAL
            or not isinstance(value, np.ndarray)
            or value.ndim < 2
        ):
            continue
        for place in range(value.shape[0]):
            planted = np.array(value)
            planted[place] = np.nan
            case = example.changed(**{tensor.name: planted})
            clean = evaluate(judge.flat, case.inputs)
            if not any(np.isnan(x).any() and not np.isnan(x).all() for x in clean):
                continue
            got = caller.results(_passed(caller, case), case.sizes, (), case.dtype)
            if any((np.isnan(values(g)) & ~np.isnan(c)).any() for g, c in zip(got, clean, strict=True)):
                found.append(tensor.name)
                break
    return found


__all__ = ["UNREAD", "leaks", "nan_in_masked_slots", "unread"]
