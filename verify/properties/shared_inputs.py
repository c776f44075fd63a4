"""Inputs that the members of a batch share: they are passed without leading dimensions, beside others that have them, as one mask
or one memory is for many sequences. It is worth what it is for each member; its gradient is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from verify.faults import Fault
from verify.inputs.examples import Example
from verify.properties.gradients import compared, expected_batch, pulled, unsaid
from verify.properties.values import Judge, Outcome, explain, judge_call
from verify.subject.caller import Caller

VALUES, GRADIENTS = "inputs shared by a batch", "gradients of inputs shared by a batch"
"""The scenarios' names."""


def shared(judge: Judge, example: Example) -> tuple[str, ...]:
    """Which inputs are shared at an example: each alone in its turn, then all but each; none where there is one only."""
    names = [
        t.name
        for t in judge.formula.tensors
        if t.role in ("data", "mask") and isinstance(example.inputs.get(t.name), np.ndarray)
    ]
    if len(names) < 2 or not example.batch:
        return ()
    alone = [(name,) for name in names]
    others = [tuple(other for other in names if other != name) for name in names] if len(names) > 2 else []
    parts = alone + others
    return parts[example.turn % len(parts)]


def _meant(example: Example, names: Sequence[str]) -> tuple[Example, Example]:
    """The example as it is passed, and as it is meant: the first member's, for all members."""
    first = (0,) * len(example.batch)
    passed = {name: np.array(example.inputs[name][first]) for name in names}
    meant = {
        name: np.array(np.broadcast_to(value, (*example.batch, *value.shape)))
        for name, value in passed.items()
    }
    return example.changed(**passed), example.changed(**meant)


def _arguments(caller: Caller, passed: Example, grad: bool) -> list[Any]:
    return caller.arguments(passed.inputs, passed.dtype, grad=grad, generator_seed=passed.generator_seed)


def values_of_shared(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The values; nothing is said where the call is refused."""
    names = shared(judge, example)
    if not names or not takes_any(caller):
        return Outcome(idle=True)
    passed, meant = _meant(example, names)
    return judge_call(judge, caller, passed, _arguments(caller, passed, False), meant)


def gradients_of_shared(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The gradients, of what is shared summed over the members."""
    names = shared(judge, example)
    if not names or not takes_any(caller):
        return Outcome(idle=True)
    passed, meant = _meant(example, names)
    if unsaid(judge, meant):
        return Outcome(idle=True)
    try:
        found = pulled(caller, passed, _arguments(caller, passed, True))
    except Fault as fault:
        return Outcome(ratio=np.inf, message=str(fault), violates=judge.formula.title)
    outcome = compared(judge, caller, passed, found, expected_batch(judge, meant, list(found), names))
    return explain(judge, caller, outcome, passed)


def takes_any(caller: Caller) -> bool:
    """Whether inputs reach a callable as they are passed: an adapter brings all of them to one batch."""
    return not caller.leading and not hasattr(getattr(caller.fn, "inner", caller.fn), "adapted")


__all__ = ["GRADIENTS", "VALUES", "gradients_of_shared", "shared", "takes_any", "values_of_shared"]
