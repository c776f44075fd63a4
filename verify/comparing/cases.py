"""Inputs: what is given, regimes on the same shapes and types, other shapes, layouts, members of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from verify.inputs import layouts
from verify.inputs.regimes import DATA, PARAMETER, Random, Reals, Regime, Shape


def _sparse(random: Random, shape: Shape) -> Reals:
    return np.asarray(random.standard_normal(shape) * (random.random(shape) < 0.05))


_NAMED = {regime.name: regime for regime in (*PARAMETER, *DATA)}
REGIMES: tuple[Regime, ...] = (
    *(
        _NAMED[name]
        for name in ("unit normal", "large mean", "large scale", "tiny variance", "zeros", "constant rows")
    ),
    *(
        _NAMED[name]
        for name in ("ties", "one large entry", "mixed scales", "small scale", "scale 10³", "one-hot rows")
    ),
    Regime("sparse", _sparse),
)
"""How real inputs are drawn, those first that tell most; integers and booleans stay as they are given."""
LAYOUTS = (layouts.with_gaps, layouts.store_transposed, layouts.further_on)
"""How the given inputs lie in memory."""
BLOCKS = (16, 32, 64, 128, 256, 512, 1024)
"""How many entries kernels read at once."""
PRIMES = (7, 13, 37, 61, 101, 211, 401, 809)
LARGEST = 1 << 22
"""Entries of all inputs together, beyond which another shape is not tried, unless the given ones have more."""


@dataclass(frozen=True)
class Resized:
    """Other sizes: by name, as a module has them, or of every axis that has a size."""

    name: str
    sizes: dict[Any, int]


def draw_regime(regime: Regime, inputs: Sequence[Any], seed: int) -> list[Any]:
    """Inputs of the same shapes and types, the real ones drawn anew."""
    random = np.random.default_rng((seed, sum(map(ord, regime.name))))

    def draw(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        drawn = torch.from_numpy(np.array(regime.draw(random, tuple(x.shape)), dtype=np.float64))
        return drawn.to(x.device, x.dtype)

    return [draw(x) for x in inputs]


def other_sizes(sizes: dict[Any, int], seed: int, most: int = 6) -> Iterator[Resized]:
    """For each size others, at which kernels that work in blocks have their ends: one of them changed at a time.

    One less and one more than it is, 1, the next multiple of 16; and some that the seed chooses of one less and one more than
    blocks, and of primes, none more than about twice as large.
    """
    random = np.random.default_rng(seed)
    for name, size in sizes.items():
        near = [x for block in BLOCKS for x in (block - 1, block + 1) if x <= max(2 * size, 34)]
        primes = [x for x in PRIMES if x <= max(2 * size, 14)]
        drawn = [*random.permutation(near)[: most - 4], *random.permutation(primes)[:1]]
        for other in dict.fromkeys([size - 1, size + 1, 1, size // 16 * 16 + 16, *map(int, drawn)]):
            if other >= 1 and other != size:
                yield Resized(f"{name} = {other}", {name: other})


def axis_sizes(inputs: Sequence[Any]) -> dict[int, int]:
    """The sizes that axes of tensors have: axes of equal sizes are taken for the same."""
    found = [size for x in inputs if isinstance(x, torch.Tensor) for size in x.shape if size > 1]
    return {size: size for size in dict.fromkeys(found)}


def resize(inputs: Sequence[Any], change: Resized, seed: int) -> list[Any]:
    """The inputs with every axis of one size in another: cut, or continued from the beginning, real ones with new values."""
    (old, new), *_ = change.sizes.items()

    def other(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or old not in x.shape:
            return x
        if x.is_floating_point() and new > old:
            shape = [new if size == old else size for size in x.shape]
            generator = torch.Generator().manual_seed(seed)
            scale, mean = (
                (float(x.double().std(correction=0)), float(x.double().mean())) if x.numel() else (1.0, 0.0)
            )
            return torch.randn(shape, generator=generator).mul_(scale).add_(mean).to(x.device, x.dtype)
        for axis, size in enumerate(x.shape):
            if size == old:
                x = x.index_select(axis, torch.arange(new, device=x.device) % old)
        return x

    return [other(x) for x in inputs]


def count_entries(inputs: Sequence[Any]) -> int:
    """How many entries all tensors have."""
    return sum(x.numel() for x in inputs if isinstance(x, torch.Tensor))


def lay_out(layout: Callable[[Any], Any], inputs: Sequence[Any]) -> list[Any]:
    """The inputs, stored otherwise."""
    return [layout(x) for x in inputs]


def spoil_entry(inputs: Sequence[Any]) -> list[Any] | None:
    """The inputs with NaN in one entry of the first real one of several members; None where there is none."""
    for place, x in enumerate(inputs):
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.ndim and len(x) > 1 and x.numel():
            spoilt = x.clone()
            spoilt[tuple(size // 2 for size in x.shape)] = math.nan
            return [*inputs[:place], spoilt, *inputs[place + 1 :]]
    return None


def shapes_of(inputs: Sequence[Any]) -> list[list[int]]:
    """The shapes of all tensors."""
    return [list(x.shape) for x in inputs if isinstance(x, torch.Tensor)]


__all__ = [
    "LARGEST", "LAYOUTS", "REGIMES", "Resized", "axis_sizes", "count_entries", "draw_regime", "lay_out", "other_sizes", "resize",
    "shapes_of", "spoil_entry",
]  # fmt: skip
