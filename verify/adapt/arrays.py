"""Functions of NumPy and of JAX as they are: tensors go in as arrays, gradients are the function's own.

JAX is imported when a function of it is called; nothing here needs it otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack
from torch import Tensor

from verify.adapt.adapter import Adapter
from verify.adapt.constructors import FunctionRunner, described
from verify.adapt.layout import Layout


def _tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


class NumPyRunner(FunctionRunner):
    """A function of arrays; ``vjp`` is its backward pass, where it has one."""

    def __init__(self, fn: Callable[..., Any], vjp: Callable[..., Any] | None) -> None:
        super().__init__(fn)
        self.vjp = vjp

    def array(self, value: Any) -> Any:
        """A tensor as an array of its own."""
        if not isinstance(value, Tensor):
            return value
        if value.dtype == torch.bfloat16:
            raise NotImplementedError("NumPy has no bfloat16")
        return np.array(value.detach().cpu().numpy())

    def tensor(self, value: Any, device: torch.device) -> Any:
        """What was returned, as a tensor; what is no array stays as it is, and falls by its type."""
        if isinstance(value, np.ndarray | np.generic):
            return torch.from_numpy(np.array(value)).to(device)
        return torch.tensor(value, dtype=torch.float64) if isinstance(value, float) else value

    def run(
        self,
        prepared: None,
        letters: Mapping[str, Tensor],
        names: Mapping[str, Any],
        given: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Any:
        """Call it; with a backward pass the result carries a gradient."""
        tensors = [x for x in (*given, *named.values()) if isinstance(x, Tensor)]
        device = tensors[0].device if tensors else torch.device("cpu")
        keys = list(named)

        def split(every: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
            return list(every[: len(given)]), dict(zip(keys, every[len(given) :], strict=True))

        every = [*given, *named.values()]
        if (
            not self.differentiable
            or not any(x.requires_grad for x in tensors)
            or not torch.is_grad_enabled()
        ):
            positional, by_name = split([self.array(x) for x in every])
            result = self.fn(*positional, **by_name)
            made = tuple(self.tensor(x, device) for x in _tuple(result))
            return made if isinstance(result, tuple | list) else made[0]
        kinds: list[bool] = []
        outputs = _Differentiated.apply(  # type: ignore[no-untyped-call]
            self, every, split, device, kinds, *tensors
        )
        return outputs if kinds[0] else outputs[0]

    @property
    def differentiable(self) -> bool:
        """Whether there is a backward pass."""
        return self.vjp is not None

    def forward(
        self, every: Sequence[Any], split: Any
    ) -> tuple[Any, Callable[[tuple[Any, ...]], Sequence[Any]]]:
        """The result; and from cotangents the gradients, one for each array that was passed (None for none)."""
        positional, by_name = split([self.array(x) for x in every])
        result, backward = self.fn(*positional, **by_name), self.vjp
        assert backward is not None

        def pull(cotangents: tuple[Any, ...]) -> Sequence[Any]:
            seeds = [self.array(c) for c in cotangents]
            found = backward(seeds if isinstance(result, tuple | list) else seeds[0], *positional, **by_name)
            return _tuple(found)

        return result, pull


class JaxRunner(NumPyRunner):
    """A function of JAX's arrays; gradients are those of ``jax.vjp``."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn, None)

    @property
    def differentiable(self) -> bool:
        """JAX differentiates what it is given."""
        return True

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

    def array(self, value: Any) -> Any:
        """A tensor as an array of JAX; through DLPack where NumPy has no such type, or it lies on a device."""
        if not isinstance(value, Tensor):
            return value
        import jax.numpy as jnp

        x = value.detach()
        if x.dtype == torch.bfloat16 or x.device.type != "cpu":
            return jnp.from_dlpack(x.contiguous().clone())
        return jnp.array(x.numpy(), copy=True)

    def tensor(self, value: Any, device: torch.device) -> Any:
        """What was returned, as a tensor."""
        import jax

        if isinstance(value, jax.Array):
            if value.dtype == jax.numpy.bfloat16 or device.type != "cpu":
                return torch.utils.dlpack.from_dlpack(value)
            return torch.from_numpy(np.array(value)).to(device)
        return super().tensor(value, device)

    def run(self, *arguments: Any) -> Any:
        """Call it with 64-bit types switched on, so that what is passed in them stays in them."""
        with _wide():
            return super().run(*arguments)

    def forward(
        self, every: Sequence[Any], split: Any
    ) -> tuple[Any, Callable[[tuple[Any, ...]], Sequence[Any]]]:
        """The result and the gradients of ``jax.vjp``."""
        import jax

        arrays = [self.array(x) for x in every]
        places = [k for k, x in enumerate(every) if isinstance(x, Tensor)]
        real = [k for k in places if every[k].is_floating_point()]

        def of(*parts: Any) -> Any:
            filled = list(arrays)
            for place, part in zip(real, parts, strict=True):
                filled[place] = part
            positional, by_name = split(filled)
            return self.fn(*positional, **by_name)

        result, pulled = jax.vjp(of, *(arrays[k] for k in real))

        def pull(cotangents: tuple[Any, ...]) -> Sequence[Any]:
            with _wide():
                seeds = tuple(self.array(c) for c in cotangents)
                found = pulled(type(result)(seeds) if isinstance(result, tuple | list) else seeds[0])
            by_place = dict(zip(real, found, strict=True))
            return [by_place.get(k) for k in places]

        return result, pull


def _wide() -> Any:
    """JAX with its 64-bit types, as long as the block lasts."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


class _Differentiated(torch.autograd.Function):
    """A call of another library, with its own backward pass."""

    @staticmethod
    def forward(
        ctx: Any, runner: Any, every: Any, split: Any, device: Any, kinds: Any, *tensors: Tensor
    ) -> Any:
        result, ctx.pull = runner.forward(every, split)
        ctx.runner, ctx.device, ctx.shapes = runner, device, [x.shape for x in tensors]
        ctx.types = [x.dtype for x in tensors]
        kinds.append(isinstance(result, tuple | list))
        made = tuple(runner.tensor(x, device) for x in _tuple(result))
        for x in made:
            if not isinstance(x, Tensor):
                raise TypeError(f"{runner.title} returns a {type(x).__name__}; expected an array")
        return made

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        found = list(ctx.pull(cotangents))
        if len(found) != len(ctx.shapes):
            raise TypeError(
                f"the backward pass of {ctx.runner.title} gives {len(found)} gradients; expected {len(ctx.shapes)}, one for "
                "each array passed (None for one that has none)"
            )
        made = [None if g is None else ctx.runner.tensor(g, ctx.device) for g in found]
        return (None,) * 5 + tuple(
            g if g is None or not g.is_floating_point() or not t.is_floating_point else g.to(t)
            for g, t in zip(made, ctx.types, strict=True)
        )


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
