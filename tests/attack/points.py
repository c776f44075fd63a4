"""Points at which claims are evaluated: sizes from 1 up, and inputs with ties, zeros, negatives and chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.arrays import NO_LABEL, Tensor
from spec.language.binders import Expectation
from spec.language.theorem import Theorem
from spec.language.trees import free_symbols, substitute, walk

Random = np.random.Generator
STYLES: tuple[Callable[[Random, tuple[int, ...]], Any], ...] = (
    lambda random, shape: random.integers(-2, 3, shape),
    lambda random, shape: np.zeros(shape),
    lambda random, shape: np.round(random.standard_normal(shape) * 16) / 8,
    lambda random, shape: -np.ones(shape),
    lambda random, shape: np.full(shape, random.integers(-2, 3)),
    lambda random, shape: random.integers(1, 4, shape) / 2,
    lambda random, shape: np.ones(shape),
    lambda random, shape: random.permutation(int(np.prod(shape))).reshape(shape) - 1.0,
    lambda random, shape: random.integers(-1, 2, shape) * 8.0,
)
"""Ways in which the entries of a real tensor are drawn: all are exact in binary."""


@dataclass
class Point:
    """Sizes and arrays; ``reals`` are values of symbols that are no sizes."""

    sizes: dict[sympy.Symbol, int]
    arrays: dict[Tensor, Any]
    reals: dict[sympy.Symbol, Any] = field(default_factory=dict)
    number: int = 0
    names: Mapping[Tensor, Tensor] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [f"{s}={v}" for s, v in (self.sizes | self.reals).items()]
        parts += [
            f"{self.names.get(t, t)}={np.asarray(v).tolist()}"
            for t, v in self.arrays.items()
            if np.size(v) <= 12
        ]
        return ", ".join(parts)


def points(
    sizes: list[sympy.Symbol], tensors: Mapping[Tensor, Tensor], theorem: Theorem, seed: int, tries: int
) -> Iterator[Point]:
    """Points in the order in which they are tried: small and special ones first."""
    sides = (side for claim in theorem.claims for side in (claim.left, claim.right))
    few = any(isinstance(part, Expectation) for side in sides for part in walk(side))
    rng = np.random.default_rng(seed)
    replaced = dict(theorem.sizes)
    for number in range(tries):
        top = 2 if few else (2, 4, 3, 4, 8)[number % 5]
        values = {s: int(rng.integers(1, top + 1)) for s in sizes}
        if number % 7 == 1:
            values = dict.fromkeys(values, 1)
        reals = {
            s: sympy.Rational(int(rng.integers(-3, 4)), 1 if s.is_integer else 2)
            for s in sizes
            if not s.is_positive
        }
        reals |= {
            s: sympy.Rational(int(rng.integers(1, 9)), 4) for s in sizes if s.is_positive and not s.is_integer
        }
        values = {s: v for s, v in values.items() if s not in reals}
        numbers = {s: sympy.Integer(v) for s, v in values.items()}
        for size, value in replaced.items():
            values[size] = int(substitute(value, numbers))
        if any(v < 1 for v in values.values()):
            continue
        numbers = {s: sympy.Integer(v) for s, v in values.items()}
        style = STYLES[number % len(STYLES)]
        arrays = {}
        for tensor, old in tensors.items():
            if tensor.role == "generator":
                continue
            if any(not free_symbols(size) <= set(numbers) for size in tensor.shape):
                continue
            shape = tuple(int(substitute(size, numbers)) for size in tensor.shape)
            own = style if rng.random() < 0.6 else STYLES[int(rng.integers(len(STYLES)))]
            if old in theorem.at:
                fixed = sympy.Rational(theorem.at[old])
                arrays[tensor] = np.full(shape, flint.arb(flint.fmpq(int(fixed.p), int(fixed.q))), object)
            else:
                arrays[tensor] = drawn(tensor, shape, numbers, rng, own)
        yield Point(values, arrays, reals, number, tensors)


def drawn(
    tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[Any, Any], random: Random, style: Any
) -> Any:
    """Values of a tensor in its domain."""
    if tensor.domain == "boolean":
        return random.random(shape) < random.choice([0.0, 0.3, 0.6, 1.0], p=[0.1, 0.3, 0.4, 0.2])
    if tensor.domain == "permutation":
        return random.permutation(shape[0])
    if tensor.domain == "integer":
        below = int(substitute(tensor.below, sizes))
        return random.integers(0, below, shape) if below > 0 else random.integers(-3, 4, shape)
    if tensor.domain == "label":
        found = random.integers(0, int(substitute(tensor.below, sizes)), shape)
        return np.where(random.random(shape) < random.choice([0.0, 0.4, 1.0]), NO_LABEL, found)
    values = np.asarray(style(random, shape), dtype=float)
    if tensor.domain == "real":
        return values
    if tensor.domain == "share" or tensor.below != 0:
        values = np.minimum(np.abs(values) / 2, float(substitute(tensor.below, sizes)) or 1)
    return (
        np.abs(values)
        if tensor.domain in ("nonnegative", "share")
        else np.where(values == 0, 0.25, np.abs(values))
    )
