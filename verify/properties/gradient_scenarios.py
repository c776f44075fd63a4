"""Gradients as they are asked for in use: of a batch, of some inputs, from cotangents stored in any way, a call in between.

Each scene is played on an example with cotangents and judged against the derived gradients. What a backward pass written by hand
forgets is here: to sum over the members, that an input may need no gradient, that a cotangent may be expanded, that another
call may come before the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
import torch

from verify.faults import Fault
from verify.inputs.examples import Example
from verify.inputs.layouts import LAYOUTS, Layout, axes_reversed, contiguous, store_transposed, with_gaps
from verify.properties.gradients import backward, compare_gradients, judge_gradient
from verify.properties.judge import Judge
from verify.properties.slopes import expect_batch_gradients, of_what_is_said
from verify.properties.values import explain
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller

MANY = 4
"""Of so many inputs each example tries all, one at a time; of more, which take as many calls, half."""
OTHER = 3
"""So many layouts of the inputs are tried at each example."""
Scene = Callable[[Judge, Caller, Example], Outcome]


def _judge_scene(play: Scene) -> Scene:
    """A fault is an infinite ratio; of entries about which the statement says nothing nothing is asked."""

    @wraps(play)
    def scene(judge: Judge, caller: Caller, example: Example) -> Outcome:
        (example,) = of_what_is_said(judge, [example])
        try:
            return explain(judge, caller, play(judge, caller, example), example)
        except Fault as fault:
            return Outcome.of_fault(fault, judge.formula.title)

    return scene


def _leaves(caller: Caller, example: Example) -> list[Any]:
    return caller.arguments(example.inputs, example.dtype, grad=True, generator_seed=example.generator_seed)


def _results(caller: Caller, example: Example, arguments: list[Any]) -> list[torch.Tensor]:
    return caller.results(arguments, example.sizes, example.batch, example.dtype)


def one_backward(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The gradients of one call, as :func:`verify.properties.gradients.judge_gradient` judges them."""
    return judge_gradient(judge, caller, example)


@_judge_scene
def one_at_a_time(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Only one input requires a gradient, each in turn; of many, half at one example and half at the next. Which half comes first
    changes, so that each is tried in all types, and at examples that differ in other ways by turns.
    """
    every = [
        place
        for place, value in enumerate(_leaves(caller, example))
        if isinstance(value, torch.Tensor) and value.requires_grad
    ]
    names = [str(judge.formula.inputs[place]) for place in every]
    expected = expect_batch_gradients(judge, example, names)
    outcomes = []
    for place in every if len(every) <= MANY else every[(example.turn + example.turn // 4) % 2 :: 2]:
        arguments = _leaves(caller, example)
        for other in every:
            if other != place:
                arguments[other] = arguments[other].detach()
        found = backward(caller, example, arguments, _results(caller, example, arguments))
        outcomes.append(compare_gradients(judge, caller, example, found, expected))
    return worst(outcomes)


def of_stride_0(x: torch.Tensor) -> torch.Tensor:
    """A tensor of equal entries as a sum passes it back: one number, expanded with stride 0; another stays as it is."""
    one = x.flatten()[:1].squeeze(0).expand(x.shape) if x.numel() else x
    return one if torch.equal(one, x) else x


def with_ones(example: Example) -> Example:
    """The example with the cotangents that a sum over the outputs passes back, which leaves out what is not asked for."""
    ones = {name: (value != 0).astype(np.float64) for name, value in example.cotangents.items()}
    return replace(example, cotangents=ones)


@_judge_scene
def stored_otherwise(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Cotangents that are not contiguous, those that a sum over the outputs passes back, and inputs in other layouts in turn."""
    outcomes, first = [], OTHER * example.turn
    inputs = [LAYOUTS[1 + each % (len(LAYOUTS) - 1)] for each in range(first, first + OTHER)]
    plain: list[tuple[Layout, Layout]] = [
        (cotangent, contiguous) for cotangent in (with_gaps, store_transposed, axes_reversed)
    ]
    for case, ways in (
        (example, [*plain, *((contiguous, layout) for layout in inputs)]),
        (with_ones(example), [(of_stride_0, contiguous)]),
    ):
        expected: Any = None
        for cotangent, layout in ways:
            arguments = [layout(a) for a in _leaves(caller, case)]
            found = backward(caller, case, arguments, _results(caller, case, arguments), cotangent)
            expected = expected or expect_batch_gradients(judge, case, list(found))
            outcomes.append(compare_gradients(judge, caller, case, found, expected))
    return worst(outcomes)


def with_a_call_between(others: Callable[[Judge, Example], Example]) -> Scene:
    """Two calls, and only then their backward passes; ``others`` gives the second one's inputs."""

    @_judge_scene
    def play(judge: Judge, caller: Caller, example: Example) -> Outcome:
        (second,) = of_what_is_said(judge, [others(judge, example)])
        given = _leaves(caller, example), _leaves(caller, second)
        made = _results(caller, example, given[0]), _results(caller, second, given[1])
        outcomes = []
        for case, arguments, outputs in zip((example, second), given, made, strict=True):
            found = backward(caller, case, arguments, outputs)
            expected = expect_batch_gradients(judge, case, list(found))
            outcomes.append(compare_gradients(judge, caller, case, found, expected))
        return worst(outcomes)

    return play


__all__ = [
    "Scene",
    "of_stride_0",
    "one_at_a_time",
    "one_backward",
    "stored_otherwise",
    "with_a_call_between",
    "with_ones",
]
