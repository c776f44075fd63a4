"""Functions of NumPy and of JAX as they are: tensors go in as arrays, gradients are the function's own.

JAX is imported when a function of it is called; nothing here needs it otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from verify.adapt.adapter import Adapter, Call, Description, Names, Subject, describe


def _tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


class NumPySubject(Subject):
    """A function of arrays; ``vjp`` is its backward pass, where it has one."""

    def __init__(self, fn: Callable[..., Any], vjp: Callable[..., Any] | None) -> None:
        super().__init__(fn)
        self.vjp = vjp

    @property
    def differentiable(self) -> bool:
        """Whether there is a backward pass."""
        return self.vjp is not None

    @cached_property
    def of_tensors(self) -> Callable[..., Any]:
        """The function, of tensors."""
        return of_arrays(self.fn, None if self.vjp is None else self._differentiate)

    def _differentiate(self, seeds: Any, *given: Any, **named: Any) -> tuple[Any, ...]:
        """The gradients that the backward pass gives, one for each array that was passed."""
        assert self.vjp is not None
        found = _tuple(self.vjp(seeds, *given, **named))
        passed = sum(isinstance(x, np.ndarray) for x in (*given, *named.values()))
        if len(found) != passed:
            raise TypeError(
                f"the backward pass of {self.title} gives {len(found)} gradients; expected {passed}, one for "
                "each array passed (None for one that has none)"
            )
        return found

    def pass_on(self, value: Any) -> Any:
        """An argument as the function can have it: NumPy's arrays lie on the CPU."""
        if not isinstance(value, Tensor):
            return value
        if value.dtype == torch.bfloat16:
            raise NotImplementedError("NumPy has no bfloat16")
        return value.cpu()

    def run(self, prepared: None, names: Names, letters: Sequence[str], call: Call) -> Any:
        """Call it as a function of tensors."""
        return call(self._apply)

    def _apply(self, *given: Any, **named: Any) -> Any:
        """The function's result, where the tensors lie; what is no array is left as it is, and falsified by its type."""
        tensors = [x for x in (*given, *named.values()) if isinstance(x, Tensor)]
        device = tensors[0].device if tensors else torch.device("cpu")
        result = self.of_tensors(
            *map(self.pass_on, given), **{name: self.pass_on(x) for name, x in named.items()}
        )
        if self.differentiable and torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            for x in _tuple(result):
                if not isinstance(x, Tensor):
                    raise TypeError(f"{self.title} returns a {type(x).__name__}; expected an array")
        made = tuple(x.to(device) if isinstance(x, Tensor) else x for x in _tuple(result))
        return made if isinstance(result, tuple) else made[0]


class JaxSubject(NumPySubject):
    """A function of JAX's arrays; gradients are those of ``jax.vjp``."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn, None)

    @property
    def differentiable(self) -> bool:
        """JAX differentiates what it is given."""
        return True

    @cached_property
    def of_tensors(self) -> Callable[..., Any]:
        """The function, of tensors."""
        return of_jax(self.fn)

    def prepare(self, names: Names, letters: Sequence[str], used: frozenset[str], call: Call) -> None:
        """Import JAX and let it look for its devices: that changes the environment, which the function does not."""
        import jax

        jax.devices()

    def pass_on(self, value: Any) -> Any:
        """An argument as it is, where it lies."""
        return value


def wrap_arrays(
    inward: Any, outward: Any, function: Any, differentiated: Any, around: Any
) -> Callable[..., Any]:
    """A function of arrays as one of tensors: each goes ``inward`` as an array of its own; what comes back goes ``outward``.

    ``differentiated`` calls it, and gives its result and its backward pass: from cotangents a gradient, or None, for each array.
    All that is called is called in ``around()``.
    """

    def tensor(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            return torch.from_numpy(np.array(value))
        return torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else outward(value)

    def make_tensors(found: Any) -> Any:
        return tuple(map(tensor, found)) if isinstance(found, (tuple, list)) else tensor(found)

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, placed: Any, *tensors: Any) -> Any:
            found, ctx.pull = differentiated(placed, [*map(inward, tensors)])
            ctx.several = isinstance(found, (tuple, list))
            return make_tensors(found)

        @staticmethod
        def backward(ctx: Any, *seeds: Any) -> Any:
            with around():
                found = ctx.pull([*map(inward, seeds)] if ctx.several else inward(*seeds))
                parts = found if isinstance(found, (tuple, list)) else [found]
                return None, *(None if part is None else tensor(part) for part in parts)

    def call(*given: Any, **named: Any) -> Any:
        every = [*given, *named.values()]
        tensors = [x for x in every if isinstance(x, torch.Tensor)]

        def place_arrays(arrays: Any) -> Any:
            left = iter(arrays)
            put = [next(left) if isinstance(x, torch.Tensor) else x for x in every]
            return put[: len(given)], dict(zip(named, put[len(given) :], strict=True))

        with around():
            if differentiated and torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
                return Call.apply(place_arrays, *tensors)  # type: ignore[no-untyped-call]
            row, by_name = place_arrays(map(inward, tensors))
            return make_tensors(function(*row, **by_name))

    return call


def of_arrays(function: Callable[..., Any], pullback: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of NumPy's arrays, with its own backward pass; without one, its results carry no gradient."""

    def differentiate(placed: Any, arrays: Any) -> Any:
        given, named = placed(arrays)
        return function(*given, **named), lambda seeds: pullback(seeds, *given, **named)  # type: ignore[misc]

    def inward(value: torch.Tensor) -> Any:
        return value.detach().numpy().copy()

    return wrap_arrays(inward, lambda value: value, function, pullback and differentiate, nullcontext)


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

    def differentiate(placed: Any, arrays: Any) -> Any:
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

    return wrap_arrays(inward, outward, function, differentiate, wide)


def numpy(
    fn: Callable[..., Any],
    call: Callable[..., Any] | None = None,
    *,
    vjp: Callable[..., Any] | None = None,
    **how: Unpack[Description],
) -> Adapter:
    """A function of NumPy as it is.

    Args:
        fn: takes arrays, Python numbers and sizes; returns an array, or several.
        call: calls it, as in :func:`function`, with tensors, which become arrays as they are passed.
        vjp: its backward pass: called with the cotangent of the result (a list of them where there are several) and what ``fn``
            was called with, it returns the gradient of each array that was passed, None for one that has none. Without it
            gradients are not judged.
        how: mask, pick, batch (any unless it is given), seq_first, heads_axis, sizes, fixed, few_shapes, as in :func:`module`.
    """
    return describe(NumPySubject(fn, vjp), call, **how)


def jax(
    fn: Callable[..., Any], call: Callable[..., Any] | None = None, **how: Unpack[Description]
) -> Adapter:
    """A function of JAX as it is, jitted or not; gradients are those of ``jax.vjp``. Arguments as in :func:`numpy`.

    Each new shape is compiled, so examples come in a few shapes unless ``few_shapes=False``.
    """
    options: Description = {"few_shapes": True, **how}
    return describe(JaxSubject(fn), call, **options)


__all__ = ["JaxSubject", "NumPySubject", "jax", "numpy", "of_arrays", "of_jax"]
