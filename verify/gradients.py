"""Gradients: autograd through the callable against the vector–Jacobian product derived from the statement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.dimensions import whole
from verify.calling import Caller, Fault, Unsupported, values
from verify.judging import Expected, Judge, Outcome, compare, explain, worst
from verify.sampling import Example, rounded

REAL = ("real", "positive", "nonnegative")
JUDGED = ("float64", "float32")
"""Gradients are judged in these types; in 16-bit types the ratio is only reported."""


def differentiable(judge: Judge) -> list[str]:
    """The inputs with respect to which there is a gradient."""
    return [t.name for t in judge.formula.tensors if t.domain in REAL and t.role in ("data", "parameter")]


def expected_gradients(
    judge: Judge, inputs: Mapping[str, Any], cotangents: Mapping[str, Any], wrt: list[str], dtype: str
) -> dict[str, Expected]:
    """The derived gradients at a point, with their bounds. The only place that asks the language for them."""
    with np.errstate(all="ignore"):  # what does not fit into float64 becomes infinite, that is unjudged
        found = pull_back(judge.formula, inputs, dict(cotangents), wrt, judge.conventions, dtype)
    # What the walk cannot say (NaN beside an infinite bound) is not judged. An entry about which the statement says nothing
    # may be NaN, and backward it reaches whatever that entry was made from, even through factors of 0.
    unsaid = judge.silent(inputs)
    return {
        name: Expected(name, value, np.where(np.isfinite(value) & (not unsaid), bound, np.inf))
        for name, (value, bound) in found.items()
    }


def with_cotangents(judge: Judge, example: Example, seed: int) -> Example:
    """The example with a random cotangent for every output."""
    random = np.random.default_rng([seed, 3])
    made = {}
    for tensor in judge.flat.outputs:
        shape = tuple(whole(size, example.sizes) for size in tensor.shape)
        made[tensor.name] = rounded(random.standard_normal(shape), example.dtype)
    return replace(example, cotangents=made)


def pulled(caller: Caller, example: Example, arguments: list[Any]) -> dict[str, Any]:
    """The gradients that autograd finds, by input; None where it finds no path.

    Raises:
        Fault: the call or the backward pass fails.
        Unsupported: the output carries no gradient.
    """
    outputs = caller.results(arguments, example.sizes, example.batch, example.dtype)
    carried = [
        (out, caller.tensor(tensor, example.cotangents[tensor.name], example.dtype))
        for tensor, out in zip(caller.returns, outputs, strict=True)
        if out.requires_grad
    ]
    leaves = {
        str(item): value
        for item, value in zip(caller.formula.inputs, arguments, strict=False)
        if isinstance(value, torch.Tensor) and value.requires_grad
    }
    if not carried:
        raise Unsupported(f"{caller.formula.id}: {caller.name}: the output carries no gradient")
    found = caller.guarded(
        lambda: torch.autograd.grad(
            [out for out, _ in carried],
            list(leaves.values()),
            [seed for _, seed in carried],
            allow_unused=True,
        ),
        arguments,
    )
    return dict(zip(leaves, found, strict=True))


def judge_gradient(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Compare every gradient with the derived one; an input without a path to the output has gradient 0."""
    arguments = caller.arguments(
        example.inputs, example.dtype, grad=True, generator_seed=example.generator_seed
    )
    try:
        found = pulled(caller, example, arguments)
    except Fault as fault:
        return Outcome(ratio=math.inf, message=str(fault), violates=judge.formula.title)
    if judge.silent(example.inputs):
        return Outcome(idle=True)
    expected = expected_gradients(judge, example.inputs, example.cotangents, list(found), example.dtype)
    outcomes = []
    for name, gradient in found.items():
        got = np.zeros(expected[name].value.shape) if gradient is None else values(gradient)
        if got.shape != expected[name].value.shape:
            said = f"{judge.formula.id}: {caller.name}: the gradient of {name} has shape {got.shape}"
            return Outcome(ratio=math.inf, message=f"{said}; expected {expected[name].value.shape}")
        outcomes.append(compare(expected[name], got))
    outcome = worst(outcomes)
    outcome.violates = f"the derivative of {judge.formula.id} with respect to {outcome.what}"
    return explain(judge, caller, outcome, example, f"the gradient of {outcome.what}")
