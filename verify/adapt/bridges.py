"""Functions of other libraries' arrays as functions of tensors: :mod:`verify.adapt.arrays` calls through them.

Scripts that reproduce a failure have them written in by their source, so they need torch, NumPy and what they bridge alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

__all__ = ["of_arrays", "of_jax"]


def joined(inward: Any, outward: Any, function: Any, differentiated: Any, around: Any) -> Callable[..., Any]:
    """A function of arrays as one of tensors: each goes ``inward`` as an array of its own; what comes back goes ``outward``.

    ``differentiated`` calls it, and gives its result and its backward pass: from cotangents a gradient, or None, for each array.
    All that is called is called in ``around()``.
    """

    def tensor(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            return torch.from_numpy(np.array(value))
        return torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else outward(value)

    def made(found: Any) -> Any:
        return tuple(map(tensor, found)) if isinstance(found, (tuple, list)) else tensor(found)

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, placed: Any, *tensors: Any) -> Any:
            found, ctx.pull = differentiated(placed, [*map(inward, tensors)])
            ctx.several = isinstance(found, (tuple, list))
            return made(found)

        @staticmethod
        def backward(ctx: Any, *seeds: Any) -> Any:
            with around():
                found = ctx.pull([*map(inward, seeds)] if ctx.several else inward(*seeds))
                parts = found if isinstance(found, (tuple, list)) else [found]
                return None, *(None if part is None else tensor(part) for part in parts)

    def call(*given: Any, **named: Any) -> Any:
        every = [*given, *named.values()]
        tensors = [x for x in every if isinstance(x, torch.Tensor)]

        def placed(arrays: Any) -> Any:
            left = iter(arrays)
            put = [next(left) if isinstance(x, torch.Tensor) else x for x in every]
            return put[: len(given)], dict(zip(named, put[len(given) :], strict=True))

        with around():
            if differentiated and torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
                return Call.apply(placed, *tensors)  # type: ignore[no-untyped-call]
            row, by_name = placed(map(inward, tensors))
            return made(function(*row, **by_name))

    return call


def of_arrays(function: Callable[..., Any], pullback: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of NumPy's arrays, with its own backward pass; without one, its results carry no gradient."""

    def differentiated(placed: Any, arrays: Any) -> Any:
        given, named = placed(arrays)
        return function(*given, **named), lambda seeds: pullback(seeds, *given, **named)  # type: ignore[misc]

    def inward(value: torch.Tensor) -> Any:
        return value.detach().numpy().copy()

    return joined(inward, lambda value: value, function, pullback and differentiated, nullcontext)


def of_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX's arrays, with the gradients of ``jax.vjp``; 64-bit types are on as long as a call lasts."""
    import jax

    def wide() -> Any:
        if hasattr(jax, "enable_x64"):
            return jax.enable_x64(True)
        from jax.experimental import enable_x64

        return enable_x64()

    def inward(value: torch.Tensor) -> Any:
        return jax.numpy.from_dlpack(value.detach().clone(memory_format=torch.contiguous_format))

    def outward(value: Any) -> Any:
        if not isinstance(value, jax.Array):
            return value
        return torch.utils.dlpack.from_dlpack(value.block_until_ready()).clone()

    def differentiated(placed: Any, arrays: Any) -> Any:
        real = [jax.numpy.issubdtype(x.dtype, jax.numpy.floating) for x in arrays]

        def of(*parts: Any) -> Any:
            left = iter(parts)
            filled = [next(left) if is_real else x for x, is_real in zip(arrays, real, strict=True)]
            given, named = placed(filled)
            return function(*given, **named)

        found, pull = jax.vjp(of, *(x for x, is_real in zip(arrays, real, strict=True) if is_real))

        def gradients(seeds: Any) -> Any:
            left = iter(pull(type(found)(seeds) if isinstance(found, (tuple, list)) else seeds))
            return [next(left) if is_real else None for is_real in real]

        return found, gradients

    return joined(inward, outward, function, differentiated, wide)
