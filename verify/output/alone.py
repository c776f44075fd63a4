"""What scripts are made of that make several calls: helpers that need torch alone, put into a script as they stand here."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import torch


def ended(said: str) -> NoReturn:
    """Say what is seen, and end."""
    said = f"fails again: {said}"
    if sys.stdout.closed:
        sys.exit(said)
    print(said)
    sys.exit(1)


def called(function: Any, wanted: list[Any], *inputs: Any) -> list[Any]:
    """The outputs of a call, which have to be of these shapes and types."""
    try:
        found = function(*inputs)
    except BaseException as error:
        ended(f"{type(error).__name__}: {error}")
    outputs = list(found) if isinstance(found, (tuple, list)) else [found]
    fits = len(outputs) == len(wanted)
    for one, (shape, kind) in zip(outputs, wanted, strict=False):
        dtype = one.dtype if isinstance(one, torch.Tensor) else torch.bool
        real = dtype.is_floating_point
        kinds = {"numbers": real, "integers": not (real or dtype.is_complex or dtype == torch.bool)}
        fits &= isinstance(one, torch.Tensor) and one.shape == shape and kinds.get(kind, dtype == kind)
    if not fits:
        said = [(tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) else type(x) for x in outputs]
        ended(f"got {said}, expected {wanted}")
    return outputs


def slopes(outputs: list[Any], seeds: list[Any], leaves: list[Any]) -> list[Any]:
    """The gradients of the inputs, 0 where there is no path."""
    pairs = [pair for pair in zip(outputs, seeds, strict=True) if pair[0].requires_grad]
    of, seeds = [output for output, _ in pairs], [seed for _, seed in pairs]
    try:
        found = (
            torch.autograd.grad(of, leaves, seeds, retain_graph=True, allow_unused=True) if pairs else leaves
        )
    except BaseException as error:
        ended(f"{type(error).__name__}: {error}")
    return [
        torch.zeros_like(leaf) if one is None or not pairs else one.to_dense() if one.is_sparse else one
        for one, leaf in zip(found, leaves, strict=True)
    ]


def look(name: str, result: Any, entries: dict[Any, Any]) -> None:
    """Entries of a result: what each has to be, and how far from it a right one may be."""
    for place, (expected, tolerance) in entries.items():
        got = result[place].item()
        if got != expected and not abs(got - expected) <= tolerance:
            ended(f"{name}{list(place) or ''}: got {got!r}, expected {expected!r} ± {tolerance:.3g}")


def same(name: str, one: Any, other: Any, after: str = "the same call again") -> None:
    """A result, or an input, and what it is later."""
    differ = (one != other) & ~(one.isnan() & other.isnan())
    if differ.any():
        place = tuple(differ.nonzero()[0].tolist())
        got, expected = other[place].item(), one[place].item()
        ended(f"{name}{list(place) or ''} after {after}: got {got!r}, expected {expected!r} ± 0")


def typed(name: str, result: Any, dtype: Any) -> None:
    """The type of a result."""
    if result.dtype != dtype:
        ended(f"{name}: got {result.dtype}, expected {dtype}")


def kept(name: str, now: Any, before: Any) -> None:
    """Global state after the call, and what it was."""
    if now != before:
        ended(f"{name} after the call: got {now!r:.60}, expected {before!r:.60}")


def related(left: float, relation: str, right: float, tolerance: float) -> None:
    """Both sides of a claim."""
    gap = left - right if relation == "<=" else abs(left - right)
    if not gap <= tolerance:
        most = "at most " if relation == "<=" else ""
        ended(f"got {left!r}, expected {most}{right!r} ± {tolerance:.3g}")


__all__ = ["called", "ended", "kept", "look", "related", "same", "slopes", "typed"]
