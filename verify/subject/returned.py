"""What a callable returned, held to what its formula declares: number, kinds, shapes, dtypes, device, and where it is stored."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import Size, whole
from verify.faults import Fault
from verify.inputs.dtypes import DTYPES, NAMES
from verify.subject.wording import kind


def check_results(
    result: Any,
    returns: Sequence[Tensor],
    sizes: Mapping[Size, int],
    batch: tuple[int, ...],
    dtype: str | None,
    device: str,
    begin: str,
    shapes: str,
) -> list[torch.Tensor]:
    """Check what was returned, and return it as a list of dense tensors of the declared shapes, dtypes and device.

    ``dtype`` None accepts any floating type, ``device`` "" any device; ``begin`` names formula and callable, ``shapes`` the
    inputs.

    Raises:
        Fault: anything else, with one line.
    """
    if inspect.iscoroutine(result):
        result.close()
    count = len(returns)
    if count == 1 and not isinstance(result, tuple | list):
        result = (result,)
    if (
        not isinstance(result, tuple | list)
        or len(result) != count
        or not all(isinstance(x, torch.Tensor) for x in result)
    ):
        plural = "a tensor" if count == 1 else f"{count} tensors ({', '.join(t.name for t in returns)})"
        raise Fault(f"{begin} must return {plural}; got {kind(result, count)} for {shapes}")
    for declared, value in zip(returns, result, strict=True):
        try:
            said = _misfit(declared, value, sizes, batch, dtype, device)
        except Exception as error:
            if type(value) is torch.Tensor:
                raise
            said = _unreadable(value, error)  # a subclass may do anything
        if said:
            raise Fault(f"{begin}: output {declared.name} {said} for {shapes}")
    return list(result)


def _misfit(
    declared: Tensor,
    value: torch.Tensor,
    sizes: Mapping[Size, int],
    batch: tuple[int, ...],
    dtype: str | None,
    device: str,
) -> str:
    """What does not fit, in a few words; empty if all does."""
    if value.is_nested:  # asked first: a nested tensor's shape cannot even be looked at
        return "is a nested tensor; expected a dense one"
    if value.layout != torch.strided:
        return f"has layout {value.layout}; expected a dense tensor"
    expected = (*batch, *(whole(size, sizes) for size in declared.shape))
    if tuple(value.shape) != expected:
        return f"has shape {tuple(value.shape)}; expected {expected}"
    if declared.domain == "integer":
        wanted = "integers"
        fits = not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool)
    elif declared.domain == "boolean":
        wanted, fits = "torch.bool", value.dtype == torch.bool
    elif dtype is None:
        wanted, fits = "a floating type", value.dtype in NAMES
    else:
        wanted, fits = str(DTYPES[dtype]), value.dtype == DTYPES[dtype]
    if not fits:
        return f"has dtype {value.dtype}; expected {wanted}"
    if device and value.device.type != torch.device(device).type:
        return f"is on {value.device}; expected {device}"
    if type(value) is not torch.Tensor and not isinstance(value, torch.nn.Parameter):
        values(value)
    return ""


def _unreadable(value: torch.Tensor, error: Exception) -> str:
    return f"is a {type(value).__name__} whose values cannot be read ({type(error).__name__})"


def values(result: torch.Tensor, copy: bool = False) -> np.ndarray[Any, Any]:
    """A returned tensor as a NumPy array, exactly (real ones as float64); sparse ones (gradients may be) made dense.

    ``copy``: what it is now, whatever is written to its memory later.
    """
    dense = result.detach()
    if dense.layout != torch.strided:
        dense = dense.to_dense()
    array: np.ndarray[Any, Any] = (dense.double() if dense.is_floating_point() else dense).cpu().numpy()
    return array.copy() if copy else array


def one_more(result: torch.Tensor) -> None:
    """Add one to every entry of a result, where it lies; true becomes false, and false true.

    Raises:
        RuntimeError: several of its entries lie in one place.
    """
    plain = result.detach()
    plain.logical_not_() if plain.dtype == torch.bool else plain.add_(1)


_INTEGERS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}


def bits(x: torch.Tensor) -> torch.Tensor:
    """The bit patterns of a tensor, so that NaN equals itself and 0 differs from −0."""
    if not x.is_floating_point():
        return x
    return x.detach().contiguous().view(_INTEGERS[x.element_size()])


def identical(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors agree in shape, dtype and every bit."""
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(bits(a), bits(b))


def find_shared_storage(
    returned: Sequence[tuple[str, torch.Tensor]], passed: Sequence[tuple[str, Any]]
) -> Iterator[tuple[str, str]]:
    """The outputs that lie in the storage of an input, each with that input."""
    homes: dict[int, str] = {}
    for name, value in passed:
        if isinstance(value, torch.Tensor) and value.numel():
            homes[value.untyped_storage().data_ptr()] = name
    for name, value in returned:
        home = homes.get(value.untyped_storage().data_ptr()) if value.numel() else None
        if home is not None:
            yield name, home


__all__ = ["bits", "check_results", "identical", "one_more", "find_shared_storage", "values"]
