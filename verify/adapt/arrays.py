"""Functions of NumPy and of JAX as they are: tensors go in as arrays, gradients are the function's own.

JAX is imported when a function of it is called; nothing here needs it otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verify.adapt.adapter import Adapter
from verify.adapt.bridges import of_arrays, of_jax
from verify.adapt.constructors import FunctionRunner, described
from verify.adapt.layout import Layout


def _tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


class NumPyRunner(FunctionRunner):
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
        return of_arrays(self.fn, self._counted if self.vjp is not None else None)

    def _counted(self, seeds: Any, *given: Any, **named: Any) -> tuple[Any, ...]:
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

    def passed(self, value: Any) -> Any:
        """An argument as the function can have it: NumPy's arrays lie on the CPU."""
        if not isinstance(value, Tensor):
            return value
        if value.dtype == torch.bfloat16:
            raise NotImplementedError("NumPy has no bfloat16")
        return value.cpu()

    def run(
        self,
        prepared: None,
        letters: Mapping[str, Tensor],
        names: Mapping[str, Any],
        given: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Any:
        """Call it; what is returned lies where the tensors do, and what is no array falls by its type."""
        tensors = [x for x in (*given, *named.values()) if isinstance(x, Tensor)]
        device = tensors[0].device if tensors else torch.device("cpu")
        result = self.of_tensors(
            *map(self.passed, given), **{name: self.passed(x) for name, x in named.items()}
        )
        if self.differentiable and torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            for x in _tuple(result):
                if not isinstance(x, Tensor):
                    raise TypeError(f"{self.title} returns a {type(x).__name__}; expected an array")
        made = tuple(x.to(device) if isinstance(x, Tensor) else x for x in _tuple(result))
        return made if isinstance(result, tuple) else made[0]


class JaxRunner(NumPyRunner):
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

    def prepare(
        self,
        names: Mapping[str, Any],
        letters: Mapping[str, Tensor],
        used: set[str],
        like: Tensor | None,
        first: Callable[[], Any],
    ) -> None:
        """JAX is imported and has looked for its devices: it meddles with the environment, and the function does not."""
        import jax

        jax.devices()

    def passed(self, value: Any) -> Any:
        """An argument as it is, where it lies."""
        return value


def numpy(
    fn: Callable[..., Any],
    call: str | None = None,
    *,
    vjp: Callable[..., Any] | None = None,
    mask: str | None = None,
    pick: int | str | Sequence[int] = 0,
    batch: int | None = None,
    seq_first: bool = False,
    heads_axis: int | None = None,
    sizes: Mapping[str, Any] | None = None,
    fixed: Mapping[str, float] | None = None,
    few_shapes: bool = False,
) -> Adapter:
    """A function of NumPy as it is.

    Args:
        fn: takes arrays, Python numbers and sizes; returns an array, or several.
        call: see :func:`verify.adapt.module`, as for the others.
        vjp: its backward pass: called with the cotangent of the result (a list of them where there are several) and what ``fn``
            was called with, it returns the gradient of each array that was passed, None for one that has none. Without it
            gradients are not judged.
        mask: how a mask is passed.
        pick: which of the results are the outputs.
        batch: how many leading dimensions it takes: None (any), 1, 0 (it is called for each member).
        seq_first: whether the sequence comes before the batch.
        heads_axis: where it has an axis of heads.
        sizes: the sizes it supports.
        fixed: the numbers it has built in.
        few_shapes: whether each new shape is dear to it.
    """
    layout = Layout(batch, seq_first, heads_axis)
    return described(NumPyRunner(fn, vjp), call, mask, pick, layout, sizes, fixed, few_shapes)


def jax(
    fn: Callable[..., Any],
    call: str | None = None,
    *,
    mask: str | None = None,
    pick: int | str | Sequence[int] = 0,
    batch: int | None = None,
    seq_first: bool = False,
    heads_axis: int | None = None,
    sizes: Mapping[str, Any] | None = None,
    fixed: Mapping[str, float] | None = None,
    few_shapes: bool = True,
) -> Adapter:
    """A function of JAX as it is, jitted or not; gradients are those of ``jax.vjp``. Arguments as in :func:`numpy`.

    Each new shape is compiled, so examples come in a few shapes unless ``few_shapes=False``.
    """
    layout = Layout(batch, seq_first, heads_axis)
    return described(JaxRunner(fn), call, mask, pick, layout, sizes, fixed, few_shapes)


__all__ = ["JaxRunner", "NumPyRunner", "jax", "numpy"]
