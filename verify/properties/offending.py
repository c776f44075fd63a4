"""What a callable did besides returning values, in lines: one call, and what was beside it before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spec.language.formula import Formula
from verify.inputs.examples import Example, sizes_of
from verify.properties.judge import Judge
from verify.report import Played
from verify.subject.caller import Caller, Offence
from verify.subject.playing import recording
from verify.subject.recording import untouched
from verify.subject.sandbox import STATES


def example_of(formula: Formula, inputs: Mapping[str, Any], dtype: str, seed: int | None = None) -> Example:
    """The example of these inputs: its sizes and its batch are read off them."""
    batch: tuple[int, ...] = ()
    for tensor in formula.tensors:
        value = inputs.get(tensor.name)
        if tensor.role == "data" and isinstance(value, np.ndarray):
            batch = value.shape[: value.ndim - len(tensor.shape)]
    return Example(dict(inputs), dtype, sizes_of(formula, inputs, batch), batch=batch, generator_seed=seed)


def played_offence(judge: Judge, caller: Caller, offence: Offence) -> Played | None:
    """The call, if it can be written, and what it has to leave alone."""
    if caller.hung or caller.device != "cpu":
        return None
    states = {name: STATES[name] for name in offence.items if name in STATES}
    end = [f"kept({name!r}, {said}, state_{k})" for k, (name, said) in enumerate(states.items(), 1)]

    def before(names: Sequence[str]) -> Sequence[str]:
        if offence.items:
            return [f"state_{k} = {said}" for k, said in enumerate(states.values(), 1)]
        end.extend(untouched(name, f"{name}_before") for name in names)
        return [f"{name}_before = {name}.clone()" for name in names]

    try:
        example = example_of(judge.formula, offence.inputs, offence.dtype)
        arguments = caller.arguments(example.inputs, example.dtype)
        with recording(caller) as recorder:
            recorder.before = before
            caller.results(arguments, example.sizes, example.batch, example.dtype if judge.real else None)
        return recorder.played(True, end)
    except Exception:  # whatever goes wrong while it is written: there is another way to say it
        return None


__all__ = ["example_of", "played_offence"]
