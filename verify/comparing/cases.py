"""Inputs: what is given, regimes on the same shapes and types, other shapes, layouts, members of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves, tree_map

from verify.inputs import layouts
from verify.inputs.regimes import DATA, PARAMETER, Random, Reals, Regime, Shape


def _sparse(random: Random, shape: Shape) -> Reals:
    return np.asarray(random.standard_normal(shape) * (random.random(shape) < 0.05))


_NAMED = {regime.name: regime for regime in (*PARAMETER, *DATA)}
_CHOSEN = (
    "unit normal", "large mean", "large scale", "tiny variance", "zeros", "constant rows", "ties", "one large entry",
    "mixed scales", "small scale", "scale 10³", "one-hot rows",
)  # fmt: skip
REGIMES: tuple[Regime, ...] = (*(_NAMED[name] for name in _CHOSEN), Regime("sparse", _sparse))
"""How real inputs are drawn, those first that tell most; integers and booleans stay as they are given."""
LAYOUTS = (layouts.with_gaps, layouts.store_transposed, layouts.further_on)
"""How the given inputs lie in memory."""
BLOCKS = (16, 32, 64, 128, 256, 512, 1024)
"""How many entries kernels read at once."""
PRIMES = (7, 13, 37, 61, 101, 211, 401, 809)
LARGEST = 1 << 22
"""Entries of all inputs together, beyond which another shape is not tried, unless the given ones have more."""


def draw_regime(regime: Regime, inputs: Sequence[Any], seed: int) -> list[Any]:
    """Inputs of the same shapes and types, the real ones drawn anew."""
    random = np.random.default_rng((seed, sum(map(ord, regime.name))))

    def draw(x: Any) -> Any:
        if not _is_real(x):
            return x
        drawn = torch.from_numpy(np.array(regime.draw(random, tuple(x.shape)), dtype=np.float64))
        return drawn.to(x.device, x.dtype)

    return tree_map(draw, list(inputs))  # type: ignore[no-any-return]


def other_sizes(sizes: dict[Any, int], seed: int, most: int = 6) -> Iterator[tuple[Any, int]]:
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
                yield name, other


def axis_sizes(inputs: Sequence[Any]) -> dict[int, int]:
    """The sizes that axes of tensors have: axes of equal sizes are taken for the same."""
    found = [size for shape in shapes_of(inputs) for size in shape if size > 1]
    return {size: size for size in dict.fromkeys(found)}


def resize(inputs: Sequence[Any], old: int, new: int) -> list[Any]:
    """The inputs with every axis of one size in another: cut, or continued from the beginning, real ones with new values."""

    def other(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or old not in x.shape:
            return x
        if x.is_floating_point() and new > old:
            shape = [new if size == old else size for size in x.shape]
            wide, drawn = x.double(), torch.randn(shape, generator=torch.Generator().manual_seed(0))
            return drawn.to(wide).mul_(wide.std(correction=0)).add_(wide.mean()).to(x.dtype)
        for axis, size in enumerate(x.shape):
            if size == old:
                x = x.index_select(axis, torch.arange(new, device=x.device) % old)
        return x

    return tree_map(other, list(inputs))  # type: ignore[no-any-return]


def alternatives(names: Sequence[str], inputs: Sequence[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Other inputs, of which a wrong kernel may have computed the result, what that says, and its kind: a mask that hides
    nothing or all, a scale that is forgotten or applied twice, and axes padded with zeros to whole blocks, or to a power of two.
    """
    sizes = axis_sizes(inputs)
    for place, (name, x) in enumerate(zip(names, inputs, strict=True)):
        others: list[tuple[str, str, Any]] = []
        if isinstance(x, torch.Tensor) and x.dtype == torch.bool:
            others = [("mask", f"were {one} everywhere", torch.full_like(x, one)) for one in (True, False)]
        if _is_real(x):
            others += [("scale", f"were multiplied by √{size}", x * math.sqrt(size)) for size in sizes]
            others += [("scale", f"were multiplied by 1/√{size}", x / math.sqrt(size)) for size in sizes]
        for kind, told, other in others:
            yield kind, f"{name} {told}", [*inputs[:place], other, *inputs[place + 1 :]]
    for size in sizes:
        for longer in sorted(
            {1 << (size - 1).bit_length(), *(-(-size // block) * block for block in BLOCKS)}
        ):
            if size < longer <= 2 * size + BLOCKS[0]:
                told = f"the zeros that pad {size} to {longer} counted"
                yield "padded", told, tree_map(partial(_pad, size=size, longer=longer), list(inputs))


def _pad(x: Any, size: int, longer: int) -> Any:
    if not isinstance(x, torch.Tensor) or size not in x.shape:
        return x
    padded = x.new_zeros([longer if each == size else each for each in x.shape])
    padded[tuple(map(slice, x.shape))] = x
    return padded


def disturbed(names: Sequence[str], inputs: Sequence[Any]) -> Iterator[tuple[str, int, list[Any]]]:
    """The inputs with other values at one index of one axis of a real one, in the middle or at the end; what was changed, and
    how long the axis is.
    """
    for place, (name, x) in enumerate(zip(names, inputs, strict=True)):
        for axis, size in enumerate(x.shape if _is_real(x) else ()):
            for index in dict.fromkeys((size // 2, size - 1)) if size > 1 else ():
                other = x.clone()
                other.select(axis, index).mul_(-0.5).add_(1)
                changed = [*inputs[:place], other, *inputs[place + 1 :]]
                yield f"{name} at index {index} of axis {axis}", size, changed


def _is_real(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def spoil_entry(inputs: Sequence[Any]) -> list[Any] | None:
    """The inputs with NaN in one entry of the first real one of several members; None where there is none."""
    for place, x in enumerate(inputs):
        if _is_real(x) and x.ndim and len(x) > 1 and x.numel():
            spoilt = x.clone()
            spoilt[tuple(size // 2 for size in x.shape)] = math.nan
            return [*inputs[:place], spoilt, *inputs[place + 1 :]]
    return None


def shapes_of(inputs: Sequence[Any]) -> list[list[int]]:
    """The shapes of all tensors."""
    return [list(x.shape) for x in tree_leaves(list(inputs)) if isinstance(x, torch.Tensor)]


__all__ = [
    "LARGEST", "LAYOUTS", "REGIMES", "alternatives", "axis_sizes", "disturbed", "draw_regime",
    "other_sizes", "resize", "shapes_of", "spoil_entry",
]  # fmt: skip
