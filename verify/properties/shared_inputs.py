"""Inputs that the members of a batch share: they are passed once, without leading dimensions or with such of size one, as a mask
or a memory is for many sequences. It is worth what it is for each member; its gradient is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spec.language.lines import collect_dependencies
from verify.faults import Fault
from verify.inputs.examples import Example
from verify.properties.gradients import compare_gradients, pull_back
from verify.properties.judge import Expected, Judge
from verify.properties.slopes import expect_batch_gradients, of_what_is_said
from verify.properties.values import explain, judge_call
from verify.search.outcome import Outcome
from verify.subject.caller import Caller

VALUES, GRADIENTS = "inputs shared by a batch", "gradients of inputs shared by a batch"
"""The scenarios' names."""


def _parts(names: Sequence[str]) -> list[tuple[str, ...]]:
    alone = [(name,) for name in names]
    others = [tuple(other for other in names if other != name) for name in names] if len(names) > 2 else []
    return alone + others


def choose_shared(judge: Judge, example: Example) -> tuple[str, ...]:
    """Which inputs are shared at an example: each alone in its turn, then all but each; none where there is one only. Each output
    depends on one that is not: one that depends on none may well be returned once.
    """
    names = [
        t.name
        for t in judge.formula.tensors
        if t.role in ("data", "mask") and isinstance(example.inputs.get(t.name), np.ndarray)
    ]
    if len(names) < 2 or not example.batch:
        return ()
    read = [collect_dependencies(judge.flat.lines, (output.name,)) for output in judge.flat.outputs]
    parts = [part for part in _parts(names) if all(own & {*names} - {*part} for own in read)]
    return parts[example.turn % len(parts)] if parts else ()


def _make_shared_example(judge: Judge, example: Example, names: Sequence[str]) -> tuple[Example, Example]:
    """The example as it is passed, and as it is meant: the first member's, for all members. What is shared has no leading
    dimensions; at every third example it has some, of size one, and where all data are shared: a mask by itself need not be
    allowed more of them.
    """
    data = {t.name for t in judge.formula.tensors if t.role == "data"}
    first, third = (0,) * len(example.batch), (example.turn + example.turn // 3) % 3 == 2
    several = third or data <= {*names}
    members = {name: np.array(example.inputs[name][first]) for name in names}
    passed = {
        name: value.reshape((1,) * len(example.batch) + value.shape) if several else value
        for name, value in members.items()
    }
    meant = {
        name: np.array(np.broadcast_to(value, (*example.batch, *value.shape)))
        for name, value in members.items()
    }
    return example.replace_inputs(**passed), example.replace_inputs(**meant)


def _arguments(caller: Caller, passed: Example, grad: bool) -> list[Any]:
    return caller.arguments(passed.inputs, passed.dtype, grad=grad, generator_seed=passed.generator_seed)


def values_of_shared(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The values."""
    names = choose_shared(judge, example)
    if not names or not takes_any(caller):
        return Outcome(idle=True)
    passed, meant = _make_shared_example(judge, example, names)
    return judge_call(judge, caller, passed, _arguments(caller, passed, False), meant)


def gradients_of_shared(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The gradients, of what is shared summed over the members."""
    names = choose_shared(judge, example)
    if not names or not takes_any(caller):
        return Outcome(idle=True)
    passed, meant = _make_shared_example(judge, example, names)
    (meant,) = of_what_is_said(judge, [meant])
    passed = replace(passed, cotangents=meant.cotangents)
    try:
        found = pull_back(caller, passed, _arguments(caller, passed, True))
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    expected = expect_batch_gradients(judge, meant, list(found), names)
    for name in expected.keys() & {*names}:
        shape, each = np.shape(passed.inputs[name]), expected[name]
        expected[name] = Expected(name, each.value.reshape(shape), each.bound.reshape(shape))
    outcome = compare_gradients(judge, caller, passed, found, expected)
    return explain(judge, caller, outcome, passed)


def takes_any(caller: Caller) -> bool:
    """Whether inputs reach a callable as they are passed: an adapter brings all of them to one batch."""
    return not caller.leading and not hasattr(getattr(caller.fn, "inner", caller.fn), "adapted")


__all__ = ["GRADIENTS", "VALUES", "gradients_of_shared", "choose_shared", "takes_any", "values_of_shared"]
