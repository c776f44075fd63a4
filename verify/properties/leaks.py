"""Slots that the statement does not read: NaN and infinity there must not reach the output.

Hidden by a mask, beyond a window, or after every query that looks back: what is read is found by evaluating the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.evaluation.batching import add_example_axis, bind_all
from spec.language.evaluation.evaluate import evaluate, run
from spec.language.evaluation.running_error import RunningError
from spec.language.formula import Formula
from verify.inputs.examples import Example
from verify.oracle import PLAIN, content, examples_at_once
from verify.properties.judge import Judge
from verify.properties.slopes import REAL
from verify.properties.values import judge_call
from verify.search.outcome import Outcome
from verify.subject.caller import Caller
from verify.subject.returned import values

UNREAD = "NaN where nothing is read"
"""The name of the scenario that plants NaN in slots which the statement does not read."""


def _make_arguments(caller: Caller, example: Example) -> list[Any]:
    return caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)


def unread(judge: Judge, example: Example) -> list[tuple[str, int, int]]:
    """Slices (input, axis, place) of the data that the statement never reads at these inputs: nothing there changes anything.

    Along the axes of the mask; in formulas without one, along those that the outputs do not have, where others are read
    (next to a zero vector no entry of the other one matters, but none is hidden either). Found once for all implementations.
    """
    key = judge.flat, content(judge.flat, example.inputs)
    known = judge.oracle.unread
    if key not in known:
        known[key] = _unread(judge, example)
    return list(known[key])


def _unread(judge: Judge, example: Example) -> list[tuple[str, int, int]]:
    base = evaluate(judge.flat, example.inputs)
    if not judge.partial and any(np.isnan(value).any() for value in base):
        return []  # it overflows: whatever stood in a slot, nothing would change there
    found: list[tuple[str, int, int]] = []
    hidden = {size for t in judge.formula.tensors if t.role == "mask" for size in t.shape}
    shown = {size for t in judge.formula.outputs for size in t.shape}
    read = _find_read_slices(judge, example, hidden, shown)
    # NaN is neither more nor less than anything: that a slot is compared shows by numbers.
    planted = {other: dict(example.inputs) for other in (np.nan, 1.7, -3.1)}

    axes = list(_axes(judge, example, hidden, shown))
    left = [(n, axis, p) for n, axis, length in axes for p in range(length) if (n, axis, p) not in read]
    if hidden and (
        not left or all(_compare_with_own(judge, example, [_with(example, left, other) for other in planted]))
    ):
        return left  # all of them together change nothing

    def leaves_unchanged(inputs: Mapping[str, Any]) -> bool:
        seen = evaluate(judge.flat, inputs)
        return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(base, seen, strict=True))

    def idle(name: str, axis: int, place: int) -> bool:
        """Whether nothing changes, beside what is planted already, whatever stands there; then it is planted, too."""
        if (name, axis, place) in read:
            return False
        slot, tried = _slot(axis, place), {}
        for other, inputs in planted.items():
            tried[other] = np.array(inputs[name])
            tried[other][slot] = other
            if not leaves_unchanged({**inputs, name: tried[other]}):
                return False
        for other, value in tried.items():
            planted[other][name] = value
        return True

    for name, axis, length in axes:
        before = {other: inputs[name] for other, inputs in planted.items()}
        places = [place for place in range(length) if idle(name, axis, place)]
        if not hidden and len(places) == length:
            for other, inputs in planted.items():
                inputs[name] = before[other]
        else:
            found += [(name, axis, place) for place in places]
    return found


def _axes(
    judge: Judge, example: Example, hidden: set[Any], shown: set[Any]
) -> Iterator[tuple[str, int, int]]:
    """The axes of the data along which slots may be unread: input, axis, length."""
    for tensor in judge.formula.tensors:
        value = example.inputs.get(tensor.name)
        if tensor.role == "data" and tensor.domain in REAL and isinstance(value, np.ndarray):
            for axis, size in enumerate(tensor.shape):
                if size in hidden if hidden else size not in shown:
                    yield tensor.name, axis, value.shape[axis]


def _with(example: Example, slices: list[tuple[str, int, int]], number: float) -> Mapping[str, Any]:
    """The inputs with a number planted in some slices."""
    made = {name: np.array(example.inputs[name]) for name, _, _ in slices}
    for name, axis, place in slices:
        made[name][_slot(axis, place)] = number
    return {**example.inputs, **made}


def _slot(axis: int, place: int) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, place)


def _find_read_slices(
    judge: Judge, example: Example, hidden: set[Any], shown: set[Any]
) -> set[tuple[str, int, int]]:
    """Slices that are read for certain: NaN in one of them alone changes something."""
    slices = [
        (name, axis, place)
        for name, axis, length in _axes(judge, example, hidden, shown)
        for place in range(length)
    ]
    if examples_at_once(judge.flat, example.inputs) < 3:
        return set()
    same = _compare_with_own(judge, example, [_with(example, [one], np.nan) for one in slices])
    return {one for one, unchanged in zip(slices, same, strict=True) if not unchanged}


def _compare_with_own(judge: Judge, example: Example, every: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Whether the outputs at each of these inputs are those at the example's own. Many are evaluated at once, and the example
    itself along with them, so that all are rounded alike.
    """
    many = max(1, examples_at_once(judge.flat, example.inputs) - 1)
    found: list[bool] = []
    for first in range(0, len(every), many):
        part = [example.inputs, *every[first : first + many]]
        statement = add_example_axis(judge.flat)
        done = run(statement, RunningError(), bind_all(judge.flat, part))
        outputs = [done.tensors[tensor.name].floats() for tensor in statement.outputs]
        found += [
            all(np.array_equal(value[0], value[at], equal_nan=True) for value in outputs)
            for at in range(1, len(part))
        ]
    return found


def nan_in_masked_slots(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """NaN and infinity in slots that are hidden from every row must not reach the output.

    Hidden by a mask; or, in formulas without one, slots along an axis that the outputs do not have (keys nobody may see).
    """
    slices = unread(judge, example)
    outcome = Outcome()
    if not slices:
        return Outcome(idle=True)
    for poison in (np.nan, np.inf):
        case = example.replace_inputs(**_with(example, slices, poison))
        outcome = outcome.worse(judge_call(judge, caller, case, _make_arguments(caller, case), example))
    if outcome.fails:
        outcome.violates = "slots that are hidden from every row do not reach the output"
    return outcome


def rows_of_data(formula: Formula, example: Example) -> Iterator[tuple[Tensor, np.ndarray]]:
    """Real data that has rows, with its values."""
    for tensor in formula.tensors:
        value = example.inputs.get(tensor.name)
        real = tensor.role == "data" and tensor.domain in REAL
        if real and isinstance(value, np.ndarray) and value.ndim > 1:
            yield tensor, value


def leaks(judge: Judge, caller: Caller, example: Example) -> list[str]:
    """Inputs whose NaN, in a slot that some outputs do not read, shows in those outputs (reported, not judged)."""
    cases: list[tuple[str, Example]] = []
    for tensor, value in rows_of_data(judge.formula, example):
        for place in range(value.shape[0]):
            planted = np.array(value)
            planted[place] = np.nan
            cases.append((tensor.name, example.replace_inputs(**{tensor.name: planted})))
    answers = judge.oracle.ask(judge.flat, [case.inputs for _, case in cases], PLAIN, example.dtype)
    found: list[str] = []
    for (name, case), answer in zip(cases, answers, strict=True):
        clean = [output for output, _ in answer]
        if name in found or not any(np.isnan(x).any() and not np.isnan(x).all() for x in clean):
            continue
        got = caller.results(_make_arguments(caller, case), case.sizes, (), case.dtype)
        if any((np.isnan(values(g)) & ~np.isnan(c)).any() for g, c in zip(got, clean, strict=True)):
            found.append(name)
    return found


__all__ = ["UNREAD", "leaks", "nan_in_masked_slots", "unread"]
