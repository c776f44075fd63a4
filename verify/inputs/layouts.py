"""How the same entries may lie in memory: contiguous, with gaps, axes in another order, a part of wider rows, further on, packed.

Each function takes whatever is passed to a callable; what is no tensor, or has too few axes, it gives back as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    return _copy_into(room[..., 1 : 2 * x.shape[-1] : 2], x)


def part_of_wider_rows(x: Any) -> Any:
    """The same values as a slice of wider rows: the last stride alone is that of a contiguous tensor."""
    if not isinstance(x, torch.Tensor) or not x.ndim:
        return x
    return _copy_into(_room(x, (*x.shape[:-1], x.shape[-1] + 3))[..., 1:-2], x)


def part_of_more_members(x: Any) -> Any:
    """The same values as every other entry along the first of several axes: each member is contiguous, the whole is not."""
    if not isinstance(x, torch.Tensor) or x.ndim < 2:
        return x
    return _copy_into(_room(x, (2 * x.shape[0] + 1, *x.shape[1:]))[1 : 2 * x.shape[0] : 2], x)


def store_transposed(x: Any) -> Any:
    """The same values, stored transposed."""
    return _stored(x, 2, lambda axes: (*axes[:-2], axes[-1], axes[-2]))


def of_interleaved_rows(x: Any) -> Any:
    """The same values, stored with the rows of all members side by side, as heads are that were split off."""
    return _stored(x, 3, lambda axes: (*axes[:-3], axes[-2], axes[-3], axes[-1]))


def first_axis_last(x: Any) -> Any:
    """The same values, stored with the first axis innermost, as channels are that come last."""
    return _stored(x, 3, lambda axes: (*axes[1:], axes[0]))


def axes_reversed(x: Any) -> Any:
    """The same values, stored with the axes from the last to the first."""
    return _stored(x, 3, lambda axes: axes[::-1])


def further_on(x: Any) -> Any:
    """The same values, contiguous, behind others in the same storage."""
    if not isinstance(x, torch.Tensor) or not x.ndim:
        return x
    return _copy_into(_room(x, (x.numel() + 5,))[5:].view(x.shape), x)


def packed(arguments: Sequence[Any]) -> list[Any]:
    """All tensors of one type and as many axes side by side in one, of which each is a slice: as queries, keys and values are."""
    alike: dict[Any, list[int]] = {}
    for place, x in enumerate(arguments):
        if isinstance(x, torch.Tensor) and x.ndim:
            alike.setdefault((x.dtype, x.ndim), []).append(place)
    found = list(arguments)
    for places in alike.values():
        members = [arguments[place] for place in places]
        leading = [max(sizes) for sizes in zip(*(x.shape[:-1] for x in members), strict=True)]
        room, begin = _room(members[0], (*leading, sum(x.shape[-1] for x in members))), 0
        for place, x in zip(places, members, strict=True):
            rows = tuple(slice(size) for size in x.shape[:-1])
            found[place] = _copy_into(room[(*rows, slice(begin, begin + x.shape[-1]))], x)
            begin += x.shape[-1]
    return found


def _stored(x: Any, least: int, order: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    """The same values, stored with the axes in this order, from the outermost to the innermost."""
    if not isinstance(x, torch.Tensor) or x.ndim < least:
        return x
    axes = order(tuple(range(x.ndim)))
    room = _room(x, tuple(x.shape[axis] for axis in axes))
    return _copy_into(room.permute(tuple(axes.index(axis) for axis in range(x.ndim))), x)


def _room(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Storage full of ones, which show where they are read by mistake."""
    return torch.ones(shape, dtype=x.dtype, device=x.device)


def _copy_into(view: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    view.detach().copy_(x.detach())
    return view.requires_grad_(x.requires_grad)


LAYOUTS: tuple[Layout, ...] = (
    contiguous,
    with_gaps,
    part_of_wider_rows,
    store_transposed,
    further_on,
    of_interleaved_rows,
    part_of_more_members,
    axes_reversed,
    first_axis_last,
)
"""Every layout of one tensor, the plain one first."""

__all__ = [
    "LAYOUTS",
    "Layout",
    "axes_reversed",
    "contiguous",
    "first_axis_last",
    "further_on",
    "of_interleaved_rows",
    "packed",
    "part_of_more_members",
    "part_of_wider_rows",
    "store_transposed",
    "with_gaps",
]
