"""Gradients: autograd through the callable against the vector–Jacobian product derived from the statement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from verify.faults import Fault, NoGradient
from verify.inputs.examples import Example
from verify.properties.judge import Expected, Judge
from verify.properties.slopes import expect_batch_gradients, of_what_is_said
from verify.properties.values import compare, explain
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller
from verify.subject.returned import values

# Autograd imports it at the first backward pass, for which each process of a check would wait.
with suppress(ImportError):
    import torch.fx.experimental.symbolic_shapes


def pull_back(caller: Caller, example: Example, arguments: list[Any]) -> dict[str, Any]:
    """The gradients that autograd finds, by input; None where it finds no path.

    Raises:
        Fault: the call or the backward pass fails.
        NoGradient: the output carries no gradient.
    """
    outputs = caller.results(arguments, example.sizes, example.batch, example.dtype)
    if not any(out.requires_grad for out in outputs):
        raise NoGradient(f"{caller.formula.id}: {caller.name}: the output carries no gradient")
    return backward(caller, example, arguments, outputs)


def backward(
    caller: Caller,
    example: Example,
    arguments: list[Any],
    outputs: list[torch.Tensor],
    stored: Callable[[torch.Tensor], torch.Tensor] = lambda cotangent: cotangent,
) -> dict[str, Any]:
    """The backward pass from ``outputs`` to the arguments that require a gradient; ``stored`` lays the cotangents out.

    Raises:
        Fault: the backward pass fails.
    """
    carried = [
        (out, stored(caller.tensor(tensor, example.cotangents[tensor.name], example.dtype)))
        for tensor, out in zip(caller.returns, outputs, strict=True)
        if tensor.name in example.cotangents
    ]
    leaves = {
        item.name: value
        for item, value in zip(caller.formula.inputs, arguments, strict=False)
        if isinstance(value, torch.Tensor) and value.requires_grad
    }
    return caller.gradients([out for out, _ in carried], [seed for _, seed in carried], leaves, arguments)


def judge_gradient(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Compare every gradient with the derived one; an input without a path to the output has gradient 0."""
    (example,) = of_what_is_said(judge, [example])
    arguments = caller.arguments(
        example.inputs, example.dtype, grad=True, generator_seed=example.generator_seed
    )
    try:
        found = pull_back(caller, example, arguments)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    return compare_gradients(
        judge, caller, example, found, expect_batch_gradients(judge, example, list(found))
    )


def compare_gradients(
    judge: Judge,
    caller: Caller,
    example: Example,
    found: Mapping[str, Any],
    expected: Mapping[str, Expected],
) -> Outcome:
    """How far gradients are from the derived ones."""
    outcomes = []
    for name, gradient in found.items():
        if name not in expected:  # an input that has no gradient
            continue
        shape = expected[name].value.shape
        got = np.zeros(shape) if gradient is None else values(gradient)
        if got.shape != expected[name].value.shape:
            said = f"{judge.formula.id}: {caller.name}: the gradient of {name} has shape {got.shape}"
            return Outcome(ratio=math.inf, message=f"{said}; expected {expected[name].value.shape}")
        outcomes.append(compare(expected[name], got))
    outcome = worst(outcomes)
    outcome.violates = f"the derivative of {judge.formula.id} with respect to {outcome.what}"
    unasked = judge.partial and any((seed == 0).any() for seed in example.cotangents.values())
    beside = ", from upstream gradients of 0 wherever nothing is said," if unasked else ""
    return explain(judge, caller, outcome, example, f"the gradient of {outcome.what}", beside)
