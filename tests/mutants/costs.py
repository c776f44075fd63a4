"""Variants of what a layer costs: ``transformer.cost``."""

import math

import torch

from tests.mutants import right, wrong

COST = "transformer.cost"


def stack(n, k):
    """The convolutions that lie between the first place and the last, counted one by one."""
    layers = min(k - 1, 1)
    while k > 1 and 1 + layers * (k - 1) < n:
        layers += 1
    return layers


def of(n, d, k, *, attention=None, recurrence=None, convolution=None, steps=None, layers=None, path=None):
    """The counts as they are stated, but for those that are given; ``path`` is that of the recurrence."""
    counts = (
        2 * n * n * d if attention is None else attention,
        2 * n * d * d if recurrence is None else recurrence,
        k * n * d * d if convolution is None else convolution,
        (1, n, 1) if steps is None else steps,
        (1, n if path is None else path, stack(n, k) if layers is None else layers),
    )
    return tuple(torch.tensor(count, dtype=torch.float64) for count in counts)


wrong(
    COST,
    "one_product",
    "Counts queries with keys, and forgets weights with values.",
    cause="attention is (halved|not multiplied)",
)(lambda n, d, k: of(n, d, k, attention=n * n * d))
wrong(
    COST, "width_in_each_head", "Takes the full width for each of two heads.", cause="attention is doubled"
)(lambda n, d, k: of(n, d, k, attention=2 * (2 * n * n * d)))
wrong(COST, "width_squared", "Squares the width in attention, and not the length.", cause=r"attention.*d\^2")(
    lambda n, d, k: of(n, d, k, attention=2 * n * d * d)
)
wrong(COST, "causal_half", "Counts only the pairs that a causal mask leaves.", cause=r"attention.*n ?\+ ?1")(
    lambda n, d, k: of(n, d, k, attention=n * (n + 1) * d)
)
wrong(COST, "flops", "Counts a multiplication and its addition as two.", cause="is doubled")(
    lambda n, d, k: tuple(x * 2 if place < 3 else x for place, x in enumerate(of(n, d, k)))
)
wrong(COST, "projections_of_queries_and_keys", "Adds two of the four projections.", cause=r"attention.*d\^2")(
    lambda n, d, k: of(n, d, k, attention=2 * n * n * d + 2 * n * d * d)
)
wrong(
    COST,
    "no_projections",
    "Leaves out the projections, where they count.",
    cause=r"projections=none|4·\S+ is not added",
    projections="counted",
)(lambda n, d, k: of(n, d, k))
wrong(
    COST,
    "output_forgotten",
    "Counts three projections, not the output's.",
    cause=r"attention.*\b3·",
    projections="counted",
)(lambda n, d, k: of(n, d, k, attention=2 * n * n * d + 3 * n * d * d))
wrong(
    COST,
    "state_alone",
    "Counts the product of the state, and forgets that of the row.",
    cause="recurrence is (halved|not multiplied)",
)(lambda n, d, k: of(n, d, k, recurrence=n * d * d))
wrong(
    COST, "unpadded", "Counts the places that a kernel covers without padding.", cause="convolution.*[-−] ?k"
)(lambda n, d, k: of(n, d, k, convolution=k * max(n - k + 1, 0) * d * d))
wrong(
    COST,
    "depthwise",
    "Counts a kernel for each channel, and a matrix for each place: separable.",
    cause=r"convolution.*(separable|depthwise|k·n·d ?\+)",
)(lambda n, d, k: of(n, d, k, convolution=k * n * d + n * d * d))
wrong(COST, "kernel_squared", "Takes a kernel of two dimensions.", cause=r"convolution.*k\^2")(
    lambda n, d, k: of(n, d, k, convolution=k * k * n * d * d)
)
wrong(COST, "recurrence_at_once", "Lets recurrence run side by side.", cause=r"steps\S* (is|has) 1\b")(
    lambda n, d, k: of(n, d, k, steps=(1, 1, 1))
)
wrong(
    COST,
    "hops",
    "Counts the steps between two states of a recurrence: one fewer.",
    cause=r"path\S* has n − 1",
)(lambda n, d, k: of(n, d, k, path=n - 1))
wrong(COST, "logarithmic", "Takes the layers of a stack whose gaps grow: log n / log k.", cause="path.*log")(
    lambda n, d, k: of(n, d, k, layers=max(1, math.ceil(math.log(n) / math.log(k))) if k > 1 else 0)
)
wrong(
    COST,
    "without_overlap",
    "Lets each layer reach k places further, where it reaches k − 1.",
    cause=r"path.*(k ?\+ ?1|n/k)",
)(lambda n, d, k: of(n, d, k, layers=-(-n // k) if k > 1 else 0))
wrong(
    COST, "rounded_down", "Rounds the layers of a stack down.", cause="path.*rounded|1 is not added in path"
)(lambda n, d, k: of(n, d, k, layers=max(1, (n - 1) // (k - 1)) if k > 1 else 0))
wrong(
    COST,
    "one_layer_suffices",
    "Takes the path of a convolution for that of attention.",
    cause=r"path\S* (is|has) 1\b|(floor|otherwise).* is not added in path",
)(lambda n, d, k: of(n, d, k, layers=1))


@wrong(COST, cause="16 bits|int16")
def in_sixteen_bits(n, d, k):
    """Multiplies in integers of 16 bits."""
    n_, d_ = torch.tensor(n, dtype=torch.int16), torch.tensor(d, dtype=torch.int16)
    return of(n, d, k, attention=float(2 * n_ * n_ * d_))


right(COST, "counted_one_by_one", "Layer by layer, until the last place is reached.")(
    lambda n, d, k: of(n, d, k)
)


@right(COST)
def by_rounding_up(n, d, k):
    """The stack by a quotient rounded up; products in another order."""
    layers = max(1, math.ceil((n - 1) / (k - 1))) if k > 1 else 0
    return of(n, d, k, attention=n * d * n * 2, recurrence=(d * n) * (d + d), layers=layers)


right(COST, "by_layer", "Rows times six products, four with weights.", projections="counted")(
    lambda n, d, k: of(n, d, k, attention=n * (4 * d**2 + 2 * n * d))
)
