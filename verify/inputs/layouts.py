"""How the same entries may lie in memory: contiguous, with gaps, transposed, as a part of wider rows, further on in a storage.

Each function takes whatever is passed to a callable; what is no tensor, or has no axes, it gives back as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Layout = Callable[[Any], Any]


def contiguous(x: Any) -> Any:
    """The tensor as it is."""
    return x


def with_gaps(x: Any) -> Any:
    """The same values, of which neighbours in a row have others between them: no stride is that of a contiguous tensor."""
    if not isinstance(x, torch.Tensor) or not x.ndim:
        return x
    room = _room(x, (*x.shape[:-1], 2 * x.shape[-1] + 1))
    return _filled(room[..., 1 : 2 * x.shape[-1] : 2], x)


def transposed(x: Any) -> Any:
    """The same values, stored transposed."""
    if not isinstance(x, torch.Tensor) or x.ndim < 2:
        return x
    return _filled(torch.empty_like(x.mT, memory_format=torch.contiguous_format).mT, x)


def part_of_wider_rows(x: Any) -> Any:
    """The same values as a slice of wider rows: the last stride alone is that of a contiguous tensor."""
    if not isinstance(x, torch.Tensor) or not x.ndim:
        return x
    return _filled(_room(x, (*x.shape[:-1], x.shape[-1] + 3))[..., 1:-2], x)


def further_on(x: Any) -> Any:
    """The same values, contiguous, behind others in the same storage."""
    if not isinstance(x, torch.Tensor) or not x.ndim:
        return x
    return _filled(_room(x, (x.numel() + 5,))[5:].view(x.shape), x)


def _room(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Storage full of ones, which show where they are read by mistake."""
    return torch.ones(shape, dtype=x.dtype, device=x.device)


def _filled(view: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    view.copy_(x.detach())
    return view.requires_grad_(x.requires_grad)


LAYOUTS: tuple[Layout, ...] = (contiguous, with_gaps, part_of_wider_rows, transposed, further_on)
"""Every layout, the plain one first."""

__all__ = [
    "LAYOUTS",
    "Layout",
    "contiguous",
    "further_on",
    "part_of_wider_rows",
    "transposed",
    "with_gaps",
]
