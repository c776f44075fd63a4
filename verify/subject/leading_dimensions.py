"""Callables that take a certain number of leading dimensions only, called with any: what is missing is added, then removed.

Several dimensions are flattened to one; where none is taken, the members are passed one by one. So are positions to what draws
for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch

from spec.language.arrays import Tensor
from spec.language.formula import Formula

COUNTS = {0: "no leading dimension", 1: "exactly one leading dimension", 2: "exactly two leading dimensions"}


def describe_leading(allowed: Sequence[int]) -> str:
    """Describe in words how many leading dimensions are taken."""
    if len(allowed) == 1:
        return COUNTS[allowed[0]]
    return "at most one leading dimension" if tuple(allowed) == (0, 1) else "at least one leading dimension"


def accept_any_lead(fn: Callable[..., Any], formula: Formula, allowed: Sequence[int]) -> Callable[..., Any]:
    """``fn``, which takes so many leading dimensions only, as a callable that takes any number of them."""
    carried = {  # the inputs that have leading dimensions, by place, and how many dimensions they have besides
        place: len(item.shape)
        for place, item in enumerate(formula.inputs)
        if isinstance(item, Tensor) and item.role in ("data", "mask")
    }

    def call(*inputs: Any) -> Any:
        given = next(
            tuple(value.shape[: value.ndim - carried[place]])
            for place, value in enumerate(inputs)
            if place in carried and isinstance(value, torch.Tensor)
        )
        if len(given) in allowed:
            return fn(*inputs)
        target = min(allowed, key=lambda count: (abs(count - len(given)), count))
        if not target:
            return one_by_one(fn, inputs, carried, given)
        lead = (1,) * (target - len(given)) + given
        lead = (prod(lead[: len(lead) - target + 1]), *lead[len(lead) - target + 1 :])

        def reshape_lead(place: int, value: Any) -> Any:
            if place not in carried or not isinstance(value, torch.Tensor):
                return value
            return value.reshape(*lead, *value.shape[value.ndim - carried[place] :])

        found = fn(*(reshape_lead(place, value) for place, value in enumerate(inputs)))
        return each(found, lambda out: out.reshape(*given, *out.shape[target:]))

    call.inner = fn  # type: ignore[attr-defined]
    return call


def one_by_one(
    fn: Callable[..., Any], inputs: Sequence[Any], carried: dict[int, int], given: tuple[int, ...]
) -> Any:
    """The members one after the other, and their results as those of a batch."""
    flat = [
        value.reshape(-1, *value.shape[len(given) :])
        if place in carried and isinstance(value, torch.Tensor)
        else value
        for place, value in enumerate(inputs)
    ]
    every = [
        fn(*(v[member] if p in carried and isinstance(v, torch.Tensor) else v for p, v in enumerate(flat)))
        for member in range(prod(given))
    ]
    if isinstance(every[0], tuple | list):
        return tuple(torch.stack(parts).unflatten(0, given) for parts in zip(*every, strict=True))
    return torch.stack(every).unflatten(0, given)


def positioned(fn: Callable[..., Any], formula: Formula) -> Callable[..., Any] | None:
    """``fn``, which draws for one position, as a callable that draws for each; None where a law has no positions of their own.

    What it returns for a position may be a Python number, or a tensor of one entry.
    """
    law = formula.law
    if law is None or law.selects or any(len(t.shape) != 1 for t in law.returns):
        return None
    (size,) = law.returns[0].shape
    sliced = {
        p for p, item in enumerate(formula.inputs) if isinstance(item, Tensor) and item.shape[:1] == (size,)
    }

    def draw(*inputs: Any) -> Any:
        count = next(len(inputs[place]) for place in sliced)
        every = [
            fn(*(value[row] if place in sliced else value for place, value in enumerate(inputs)))
            for row in range(count)
        ]
        return torch.stack([torch.as_tensor(one).reshape(()) for one in every])

    draw.inner = fn  # type: ignore[attr-defined]
    return accept_any_lead(draw, formula, [0])


def each(found: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Apply a function to each output."""
    if isinstance(found, tuple | list):
        return tuple(change(out) if isinstance(out, torch.Tensor) else out for out in found)
    return change(found) if isinstance(found, torch.Tensor) else found


__all__ = ["accept_any_lead", "positioned", "describe_leading"]
