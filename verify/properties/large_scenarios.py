"""Large sizes, one at a time, and a large batch: where blocks end in a part of one, and where an index wraps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from verify.faults import Fault, NoGradient
from verify.inputs.examples import Example
from verify.inputs.large_sizes import LOOKED_AT
from verify.properties.gradients import backward, compared, judge_gradient
from verify.properties.judge import Expected, Judge
from verify.properties.slopes import expected_batch, unsaid
from verify.properties.values import compare, explain, judge_value
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller
from verify.subject.returned import values


def one_large_size(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The value; of an example with cotangents the gradient."""
    return (judge_gradient if example.cotangents else judge_value)(judge, caller, example)


def of_a_large_batch(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Some members of a batch against what the statement says of each by itself.

    Gradients are those of cotangents that are 0 for all other members: their share of a parameter's gradient is exactly 0.
    """
    places = looked_at(example.batch)
    part = _members(judge, example, places)
    kind = example.dtype if judge.real else None
    try:
        passed = caller.arguments(
            example.inputs, example.dtype, bool(example.cotangents), example.generator_seed
        )
        outputs = caller.results(passed, example.sizes, example.batch, kind)
        dtype = kind or str(outputs[0].dtype).removeprefix("torch.")
        expected = [_spread(e, places, example) for e in judge.expect_batch(part, dtype=dtype)]
        outcome = worst([compare(e, values(g)) for e, g in zip(expected, outputs, strict=True)])
        if outcome.fails or not example.cotangents or unsaid(judge, part):
            return explain(judge, caller, outcome, example)
        if not any(out.requires_grad for out in outputs):
            raise NoGradient(f"{judge.formula.id}: {caller.name}: the output carries no gradient")
        seeded = {name: _elsewhere_zero(value, places) for name, value in example.cotangents.items()}
        found = backward(caller, replace(example, cotangents=seeded), passed, outputs)
    except Fault as fault:
        return Outcome(ratio=math.inf, message=str(fault), violates=judge.formula.title)
    data = {tensor.name for tensor in judge.formula.tensors if tensor.role == "data"}
    slopes = expected_batch(judge, part, list(found))
    slopes |= {name: _spread(each, places, example) for name, each in slopes.items() if name in data}
    return outcome.worse(compared(judge, caller, example, found, slopes))


def looked_at(batch: tuple[int, ...]) -> list[int]:
    """Which members of a batch are compared: past each power of two, and the last."""
    return sorted({place for place in LOOKED_AT if place < batch[0]} | {batch[0] - 1})


def _members(judge: Judge, example: Example, places: list[int]) -> Example:
    """An example of some members of a batch."""
    inputs = dict(example.inputs)
    for item in judge.formula.tensors:
        value = inputs.get(item.name)
        if item.role in ("data", "mask") and isinstance(value, np.ndarray):
            inputs[item.name] = value[places]
    seeds = {name: value[places] for name, value in example.cotangents.items()}
    return replace(example, inputs=inputs, cotangents=seeds, batch=(len(places),))


def _elsewhere_zero(value: Any, places: list[int]) -> Any:
    made = np.zeros_like(value)
    made[places] = value[places]
    return made


def _spread(expected: Expected, places: list[int], example: Example) -> Expected:
    """What is expected of some members, as of the whole batch: nothing is said of the others."""
    shape = (*example.batch, *expected.value.shape[1:])
    value, bound = np.zeros(shape), np.full(shape, np.inf)
    value[places], bound[places] = expected.value, expected.bound
    return Expected(expected.name, value, bound)


__all__ = ["looked_at", "of_a_large_batch", "one_large_size"]
