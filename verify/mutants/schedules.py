"""Variants of the Transformer's learning rate: ``objectives.warmup``."""

import math

import torch
from torch import Tensor

from verify.mutants import right, wrong

WARMUP = "objectives.warmup"


def power(size: int, exponent: float) -> float:
    """A size to a power."""
    return float(size**exponent)


@wrong(WARMUP)
def counted_from_zero(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Counts steps from 0: the rate of each is that of the one before."""
    step = (step - 1).clamp(min=0)
    return power(d_model, -0.5) * torch.where(
        step <= warmup_steps, step * power(warmup_steps, -1.5), step.clamp(min=1) ** -0.5
    )


@wrong(WARMUP)
def one_ahead(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Takes the rate of the step after."""
    return power(d_model, -0.5) * torch.minimum((step + 1) ** -0.5, (step + 1) * power(warmup_steps, -1.5))


@wrong(WARMUP)
def wrong_power(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Multiplies the line by warmup_steps^−0.5."""
    return power(d_model, -0.5) * torch.minimum(step**-0.5, step * power(warmup_steps, -0.5))


@wrong(WARMUP)
def a_factor(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Gives the factor of the largest rate."""
    return torch.minimum((warmup_steps / step) ** 0.5, step / warmup_steps)


@wrong(WARMUP)
def larger_of_both(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Takes the maximum of the two parts."""
    return power(d_model, -0.5) * torch.maximum(step**-0.5, step * power(warmup_steps, -1.5))


@wrong(WARMUP)
def width_forgotten(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Leaves the width out."""
    return torch.minimum(step**-0.5, step * power(warmup_steps, -1.5))


@wrong(WARMUP)
def root_of_width_multiplied(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Multiplies by the root of the width."""
    return power(d_model, 0.5) * torch.minimum(step**-0.5, step * power(warmup_steps, -1.5))


@wrong(WARMUP)
def falls_in_a_line(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Falls as 1/step."""
    return power(d_model, -0.5) * torch.minimum(
        power(warmup_steps, 0.5) / step, step * power(warmup_steps, -1.5)
    )


@wrong(WARMUP)
def never_falls(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Stays at the largest rate."""
    return power(d_model, -0.5) * torch.clamp(step * power(warmup_steps, -1.5), max=power(warmup_steps, -0.5))


@wrong(WARMUP)
def rises_with_the_root(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Rises with the root of the step."""
    return power(d_model, -0.5) * torch.minimum(step**-0.5, step**0.5 / warmup_steps)


@wrong(WARMUP)
def whole_steps(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Divides by warmup_steps before the minimum, rounded down."""
    return power(d_model, -0.5) * torch.minimum(
        step**-0.5, torch.floor(step / warmup_steps) * power(warmup_steps, -0.5)
    )


@wrong(WARMUP)
def line_too_long(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """Ends warm-up a step late: the rate jumps down there."""
    late = step < warmup_steps + 1
    return power(d_model, -0.5) * torch.where(late, step * power(warmup_steps, -1.5), step**-0.5)


@right(WARMUP)
def by_cases(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """The line until warm-up ends, the root afterwards."""
    line = step / (warmup_steps * math.sqrt(warmup_steps))
    return torch.where(step < warmup_steps, line, step.rsqrt()) / math.sqrt(d_model)


@right(WARMUP)
def relative_to_the_largest(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
    """The largest rate times a factor of at most 1."""
    part = step / warmup_steps
    return torch.minimum(part, part.rsqrt()) / math.sqrt(d_model * warmup_steps)
