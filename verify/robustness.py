"""Robustness: the ways in which right formulas are called wrongly served. Each scenario is judged against the statement.

A scenario turns an example into one or more calls and compares every result with what the statement says there, within its bound;
nothing is compared bitwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from spec.language.evaluation.evaluate import evaluate
from verify.calling import Caller, Fault, values
from verify.gradients import REAL
from verify.judging import Judge, Outcome, compare, explain, judge_call, judge_value, worst
from verify.sampling import Example, rounded

Scene = Callable[[Judge, Caller, Example], Outcome]

UNREAD = "NaN where nothing is read"
"""The name of the scenario that plants NaN in slots which the statement does not read."""


@dataclass(frozen=True)
class Scenario:
    """A scenario: its name, how it is played, the batch its examples have, what it needs, and the inputs that are called."""

    name: str
    play: Scene
    batch: tuple[int, ...] = ()
    sizes: int | None = None
    mask: int | None = None
    calls: Callable[[Judge, Example], tuple[Example, ...]] = lambda judge, example: (example,)


def _passed(caller: Caller, example: Example, grad: bool = False) -> list[Any]:
    return caller.arguments(example.inputs, example.dtype, grad=grad, generator_seed=example.generator_seed)


def _tensors(arguments: Sequence[Any], change: Callable[[torch.Tensor], torch.Tensor]) -> list[Any]:
    return [change(a) if isinstance(a, torch.Tensor) else a for a in arguments]


def plain(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """One plain call."""
    return judge_value(judge, caller, example)


def scattered(x: torch.Tensor) -> torch.Tensor:
    """The same values with strides that are not those of a contiguous tensor."""
    if not x.ndim:
        return x
    room = x.new_ones((*x.shape[:-1], 2 * x.shape[-1] + 1))
    view = room[..., 1 : 2 * x.shape[-1] : 2]
    view.copy_(x)
    return view


def turned(x: torch.Tensor) -> torch.Tensor:
    """The same values, stored transposed."""
    return x.mT.contiguous().mT if x.ndim >= 2 else x


def non_contiguous(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Inputs with gaps between their entries, then inputs stored transposed."""
    changes = (scattered, turned)
    return worst([judge_call(judge, caller, example, _tensors(_passed(caller, example), c)) for c in changes])


def expanded(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """A batch of three that is one member, expanded with stride 0."""
    copies = (3,)
    arguments = [
        a.expand(*copies, *a.shape) if isinstance(a, torch.Tensor) and item.role in ("data", "mask") else a
        for item, a in zip(judge.formula.inputs, _passed(caller, example), strict=False)
    ]
    every = {
        t.name: np.broadcast_to(example.inputs[t.name], (*copies, *np.shape(example.inputs[t.name])))
        for t in judge.formula.tensors
        if t.role in ("data", "mask") and isinstance(example.inputs.get(t.name), np.ndarray)
    }
    return judge_call(
        judge, caller, replace(example, inputs={**example.inputs, **every}, batch=copies), arguments
    )


def others(judge: Judge, example: Example) -> Example:
    """Other values in the same shapes."""
    changed: dict[str, Any] = {}
    for tensor in judge.formula.tensors:
        value = example.inputs.get(tensor.name)
        if not isinstance(value, np.ndarray):
            continue
        if tensor.domain in REAL:
            other = np.flip(value) * (0.5 if tensor.domain != "real" else -0.5)
            other = other + (0.25 if tensor.domain == "real" else 0.0)
            changed[tensor.name] = rounded(other, example.dtype)
        elif tensor.domain == "boolean":
            changed[tensor.name] = ~value
        else:
            changed[tensor.name] = np.flip(value).copy()
    return example.changed(**changed)


def again_with_others(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Two calls with the same shapes and other values, both results looked at afterwards; then again in the same storage."""
    first, second = others(judge, example), example
    kind = example.dtype if judge.real else None
    try:
        arguments = _passed(caller, first)
        before = caller.results(arguments, first.sizes, first.batch, kind)
        after = caller.results(_passed(caller, second), second.sizes, second.batch, kind)
        seen = [values(x) for x in before], [values(x) for x in after]
        for old, new in zip(arguments, _passed(caller, second), strict=True):
            if isinstance(old, torch.Tensor):
                old.copy_(new)
            elif isinstance(old, torch.Generator):
                old.manual_seed(second.generator_seed or 0)
        reused = [values(x) for x in caller.results(arguments, second.sizes, second.batch, kind)]
    except Fault as fault:
        return Outcome(ratio=math.inf, message=str(fault), violates=judge.formula.title)
    returned = kind or str(before[0].dtype).removeprefix("torch.")
    outcomes = []
    for case, found in ((first, seen[0]), (second, seen[1]), (second, reused)):
        expected = judge.expect_batch(case, dtype=returned)
        outcomes.append(worst([compare(e, g) for e, g in zip(expected, found, strict=True)]))
    return explain(judge, caller, worst(outcomes), example)


def twice(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Two calls with the same inputs."""
    return worst([judge_value(judge, caller, example) for _ in range(2)])


def with_grad_on_and_off(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Inputs that require a gradient; then a call without grad mode."""
    outcome = judge_call(judge, caller, example, _passed(caller, example, grad=True))
    with torch.no_grad():
        return worst([outcome, judge_value(judge, caller, example)])


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


def same_generator_same_result(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Two calls with generators in the same state give the same results; ids keep their type, batches their shape."""
    try:
        first, second = (
            caller.results(_passed(caller, example), example.sizes, example.batch, None) for _ in range(2)
        )
    except Fault as fault:
        return Outcome(ratio=math.inf, message=str(fault), violates=judge.formula.title)
    ids = next(
        (v for v in _passed(caller, example) if isinstance(v, torch.Tensor) and v.dtype == torch.int64), None
    )
    for tensor, a, b in zip(caller.returns, first, second, strict=True):
        if ids is not None and tensor.domain == "integer" and a.dtype != ids.dtype:
            said = f"{judge.formula.id}: {caller.name}: output {tensor.name} has dtype {a.dtype}; expected {ids.dtype}"
            return Outcome(ratio=math.inf, message=said, violates="ids keep their type")
        if not torch.equal(a, b):
            said = f"{judge.formula.id}: {caller.name}: {tensor.name} differs between two calls with the same seed"
            return Outcome(
                ratio=math.inf, message=said, violates="results depend on the inputs and the generator only"
            )
    return Outcome(effective=True)


def drawn(change: Callable[[torch.Tensor], torch.Tensor]) -> Scene:
    """A scenario for laws: inputs rearranged; shapes and types of the results are held, values are not compared."""

    def play(judge: Judge, caller: Caller, example: Example) -> Outcome:
        try:
            caller.results(_tensors(_passed(caller, example), change), example.sizes, example.batch, None)
        except Fault as fault:
            return Outcome(ratio=math.inf, message=str(fault), violates=judge.formula.title)
        return Outcome(effective=True)

    return play


VALUES: tuple[Scenario, ...] = (
    Scenario("a batch equals its members", plain, (5,)),
    Scenario("two leading dimensions", plain, (2, 3)),
    Scenario("a batch of one", plain, (1,)),
    Scenario("sizes of one", plain, sizes=6),
    Scenario("non-contiguous inputs", non_contiguous),
    Scenario("expanded inputs", expanded),
    Scenario(
        "same shapes, other values",
        again_with_others,
        calls=lambda judge, example: (example, others(judge, example)),
    ),
    Scenario("same inputs twice", twice),
    Scenario("with and without gradients", with_grad_on_and_off),
    Scenario(UNREAD, nan_in_masked_slots, mask=3),
)

LAWS: tuple[Scenario, ...] = (
    Scenario("same seed, same result", same_generator_same_result, (3,)),
    Scenario("no leading dimension", same_generator_same_result),
    Scenario("two leading dimensions", same_generator_same_result, (2, 3)),
    Scenario("non-contiguous inputs", drawn(scattered), (3,)),
)


def applicable(judge: Judge) -> tuple[Scenario, ...]:
    """The scenarios that mean something for a formula."""
    if judge.formula.law is not None:
        return LAWS
    data = any(t.role == "data" for t in judge.formula.tensors)
    some = any(t.shape for t in judge.formula.tensors)
    needs_data = {"a batch equals its members", "two leading dimensions", "a batch of one", "expanded inputs"}
    needs_tensor = {"non-contiguous inputs", "same shapes, other values", "with and without gradients"}
    return tuple(
        s
        for s in VALUES
        if (data or s.name not in needs_data)
        and (some or s.name not in needs_tensor)
        and (judge.real or s.name != "with and without gradients")
    )


def by_name(judge: Judge, name: str) -> Scenario:
    """The scenario with this name."""
    return next(s for s in applicable(judge) if s.name == name)


__all__ = ["UNREAD", "Scenario", "applicable", "by_name", "leaks", "unread"]
