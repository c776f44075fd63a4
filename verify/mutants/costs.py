"""Variants of what a layer costs: ``transformer.cost``."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from verify.mutants import right, wrong

COST = "transformer.cost"
Five = tuple[Tensor, ...]


def table(
    attention: float,
    recurrence: float,
    convolution: float,
    steps: tuple[float, float, float],
    path: tuple[float, float, float],
) -> Five:
    """Counts as tensors."""
    return tuple(
        torch.tensor(x, dtype=torch.float64) for x in (attention, recurrence, convolution, steps, path)
    )


def stack(n: int, k: int) -> int:
    """The convolutions that lie between the first place and the last, counted one by one."""
    if k == 1:
        return 0
    layers = 1
    while 1 + layers * (k - 1) < n:
        layers += 1
    return layers


def of(
    n: int,
    d: int,
    k: int,
    *,
    attention: float | None = None,
    recurrence: float | None = None,
    convolution: float | None = None,
    steps: tuple[float, float, float] | None = None,
    layers: float | None = None,
    recurrent_path: float | None = None,
) -> Five:
    """The counts as they are stated, but for those that are given."""
    return table(
        2 * n * n * d if attention is None else attention,
        2 * n * d * d if recurrence is None else recurrence,
        k * n * d * d if convolution is None else convolution,
        (1, n, 1) if steps is None else steps,
        (1, n if recurrent_path is None else recurrent_path, stack(n, k) if layers is None else layers),
    )


@wrong(COST)
def one_product(n: int, d: int, k: int) -> Five:
    """Counts queries with keys, and forgets weights with values."""
    return of(n, d, k, attention=n * n * d)


@wrong(COST)
def width_in_each_head(n: int, d: int, k: int) -> Five:
    """Takes the full width for each of two heads."""
    return of(n, d, k, attention=2 * (2 * n * n * d))


@wrong(COST)
def width_squared(n: int, d: int, k: int) -> Five:
    """Squares the width in attention, and not the length."""
    return of(n, d, k, attention=2 * n * d * d)


@wrong(COST)
def causal_half(n: int, d: int, k: int) -> Five:
    """Counts only the pairs that a causal mask leaves."""
    return of(n, d, k, attention=n * (n + 1) * d)


@wrong(COST)
def flops(n: int, d: int, k: int) -> Five:
    """Counts a multiplication and its addition as two."""
    return of(n, d, k, attention=4 * n * n * d, recurrence=4 * n * d * d, convolution=2 * k * n * d * d)


@wrong(COST)
def projections_of_queries_and_keys(n: int, d: int, k: int) -> Five:
    """Adds two of the four projections."""
    return of(n, d, k, attention=2 * n * n * d + 2 * n * d * d)


@wrong(COST, projections="counted")
def no_projections(n: int, d: int, k: int) -> Five:
    """Leaves out the projections, where they count."""
    return of(n, d, k)


@wrong(COST, projections="counted")
def output_forgotten(n: int, d: int, k: int) -> Five:
    """Counts three projections, without that of the output."""
    return of(n, d, k, attention=2 * n * n * d + 3 * n * d * d)


@wrong(COST)
def state_alone(n: int, d: int, k: int) -> Five:
    """Counts the product of the state, and forgets that of the row."""
    return of(n, d, k, recurrence=n * d * d)


@wrong(COST)
def unpadded(n: int, d: int, k: int) -> Five:
    """Counts the places that a kernel covers without padding."""
    return of(n, d, k, convolution=k * max(n - k + 1, 0) * d * d)


@wrong(COST)
def depthwise(n: int, d: int, k: int) -> Five:
    """Counts a kernel for each channel, and a matrix for each place: a separable convolution."""
    return of(n, d, k, convolution=k * n * d + n * d * d)


@wrong(COST)
def kernel_squared(n: int, d: int, k: int) -> Five:
    """Takes a kernel of two dimensions."""
    return of(n, d, k, convolution=k * k * n * d * d)


@wrong(COST)
def recurrence_at_once(n: int, d: int, k: int) -> Five:
    """Lets recurrence run side by side."""
    return of(n, d, k, steps=(1, 1, 1))


@wrong(COST)
def hops(n: int, d: int, k: int) -> Five:
    """Counts the steps between two states of a recurrence: one fewer."""
    return of(n, d, k, recurrent_path=n - 1)


@wrong(COST)
def logarithmic(n: int, d: int, k: int) -> Five:
    """Takes the layers of a stack whose gaps grow: log n / log k."""
    return of(n, d, k, layers=max(1, math.ceil(math.log(n) / math.log(k))) if k > 1 else 0)


@wrong(COST)
def without_overlap(n: int, d: int, k: int) -> Five:
    """Lets each layer reach k places further, where it reaches k − 1."""
    return of(n, d, k, layers=-(-n // k) if k > 1 else 0)


@wrong(COST)
def rounded_down(n: int, d: int, k: int) -> Five:
    """Rounds the layers of a stack down."""
    return of(n, d, k, layers=max(1, (n - 1) // (k - 1)) if k > 1 else 0)


@wrong(COST)
def one_layer_suffices(n: int, d: int, k: int) -> Five:
    """Takes the path of a convolution for that of attention."""
    return of(n, d, k, layers=1)


@wrong(COST)
def in_sixteen_bits(n: int, d: int, k: int) -> Five:
    """Multiplies in integers of 16 bits."""
    n_, d_ = torch.tensor(n, dtype=torch.int16), torch.tensor(d, dtype=torch.int16)
    return of(n, d, k, attention=float(2 * n_ * n_ * d_))


@right(COST)
def counted_one_by_one(n: int, d: int, k: int) -> Five:
    """Layer by layer, until the last place is reached."""
    return of(n, d, k)


@right(COST)
def by_rounding_up(n: int, d: int, k: int) -> Five:
    """The stack by a quotient rounded up; products in another order."""
    layers = max(1, math.ceil((n - 1) / (k - 1))) if k > 1 else 0
    return of(n, d, k, attention=n * d * n * 2, recurrence=(d * n) * (d + d), layers=layers)


@right(COST, projections="counted")
def by_layer(n: int, d: int, k: int) -> Five:
    """Rows times six products, four with weights."""
    return of(n, d, k, attention=n * (4 * d**2 + 2 * n * d))
