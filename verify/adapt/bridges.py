"""Functions of other libraries' arrays as functions of tensors: written into scripts as they stand, so each needs nothing else.

A check itself calls through :mod:`verify.adapt.arrays`, which says more where something does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = ["of_arrays", "of_jax"]


def of_arrays(function: Callable[..., Any], pullback: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of tensors, with its own backward pass, if it has one."""

    def array(value: Any) -> Any:
        return np.array(value.detach()) if isinstance(value, torch.Tensor) else value

    def tensor(value: Any) -> Any:
        if isinstance(value, float) and not isinstance(value, np.generic):
            return torch.tensor(value, dtype=torch.float64)
        return torch.from_numpy(np.array(value))

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, names: list[str], *given: Any) -> Any:
            arrays, ctx.tensors = [*map(array, given)], [isinstance(x, torch.Tensor) for x in given]
            count = len(given) - len(names)
            ctx.passed = arrays[:count], dict(zip(names, arrays[count:], strict=True))
            found = function(*ctx.passed[0], **ctx.passed[1])
            ctx.several = isinstance(found, (tuple, list))
            return tuple(map(tensor, found)) if ctx.several else tensor(found)

        @staticmethod
        def backward(ctx: Any, *seeds: Any) -> Any:
            if pullback is None:
                raise NotImplementedError("the function has no backward pass")
            arrays = [*map(array, seeds)]
            found = pullback(arrays if ctx.several else arrays[0], *ctx.passed[0], **ctx.passed[1])
            left = iter(found if isinstance(found, (tuple, list)) else (found,))
            parts = [next(left) if is_tensor else None for is_tensor in ctx.tensors]
            return None, *(None if part is None else tensor(part) for part in parts)

    def call(*given: Any, **named: Any) -> Any:
        return Call.apply([*named], *given, *named.values())  # type: ignore[no-untyped-call]

    return call


def of_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX's arrays as one of tensors, with the gradients of ``jax.vjp``; 64-bit types are switched on."""
    import jax

    jax.config.update("jax_enable_x64", True)

    def array(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        value = value.detach().clone(memory_format=torch.contiguous_format)
        narrow = value.dtype == torch.bfloat16  # which NumPy does not have
        return jax.numpy.from_dlpack(value) if narrow else jax.numpy.array(value.numpy(), copy=True)

    def tensor(value: Any) -> Any:
        narrow = value.dtype == jax.numpy.bfloat16
        if narrow:
            return torch.from_dlpack(value)  # type: ignore[attr-defined]
        return torch.from_numpy(np.array(value))

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, names: list[str], *given: Any) -> Any:
            arrays, count = [*map(array, given)], len(given) - len(names)
            ctx.real = [isinstance(x, torch.Tensor) and x.is_floating_point() for x in given]

            def of(*parts: Any) -> Any:
                left = iter(parts)
                every = [next(left) if real else x for x, real in zip(arrays, ctx.real, strict=True)]
                return function(*every[:count], **dict(zip(names, every[count:], strict=True)))

            found, ctx.pull = jax.vjp(of, *(x for x, real in zip(arrays, ctx.real, strict=True) if real))
            ctx.kind = type(found) if isinstance(found, (tuple, list)) else None
            return tensor(found) if ctx.kind is None else tuple(map(tensor, found))

        @staticmethod
        def backward(ctx: Any, *seeds: Any) -> Any:
            arrays = [*map(array, seeds)]
            left = iter(ctx.pull(arrays[0] if ctx.kind is None else ctx.kind(arrays)))
            return None, *(tensor(next(left)) if real else None for real in ctx.real)

    def call(*given: Any, **named: Any) -> Any:
        return Call.apply([*named], *given, *named.values())  # type: ignore[no-untyped-call]

    return call
