"""Variants of the Transformer's learning rate: ``objectives.warmup``."""

import math

import torch

from tests.mutants import right, wrong

WARMUP = "objectives.warmup"


def power(size, exponent):
    """A size to a power."""
    return float(size**exponent)


@wrong(WARMUP)
def counted_from_zero(step, d_model, warmup_steps):
    """Counts steps from 0: the rate of each is that of the one before."""
    step = (step - 1).clamp(min=0)
    return power(d_model, -0.5) * torch.where(
        step <= warmup_steps, step * power(warmup_steps, -1.5), step.clamp(min=1) ** (-0.5)
    )


wrong(WARMUP, "one_ahead", "Takes the rate of the step after.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5) * torch.minimum((step + 1) ** (-0.5), (step + 1) * power(warmup_steps, -1.5))
    )
)
wrong(WARMUP, "wrong_power", "Multiplies the line by warmup_steps^−0.5.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5) * torch.minimum(step ** (-0.5), step * power(warmup_steps, -0.5))
    )
)
wrong(WARMUP, "a_factor", "Gives the factor of the largest rate.")(
    lambda step, d_model, warmup_steps: torch.minimum((warmup_steps / step) ** 0.5, step / warmup_steps)
)
wrong(WARMUP, "larger_of_both", "Takes the maximum of the two parts.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5) * torch.maximum(step ** (-0.5), step * power(warmup_steps, -1.5))
    )
)
wrong(WARMUP, "width_forgotten", "Leaves the width out.")(
    lambda step, d_model, warmup_steps: torch.minimum(step ** (-0.5), step * power(warmup_steps, -1.5))
)
wrong(WARMUP, "root_of_width_multiplied", "Multiplies by the root of the width.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, 0.5) * torch.minimum(step ** (-0.5), step * power(warmup_steps, -1.5))
    )
)
wrong(WARMUP, "falls_in_a_line", "Falls as 1/step.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5)
        * torch.minimum(power(warmup_steps, 0.5) / step, step * power(warmup_steps, -1.5))
    )
)
wrong(WARMUP, "never_falls", "Stays at the largest rate.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5) * torch.clamp(step * power(warmup_steps, -1.5), max=power(warmup_steps, -0.5))
    )
)
wrong(WARMUP, "rises_with_the_root", "Rises with the root of the step.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5) * torch.minimum(step ** (-0.5), step**0.5 / warmup_steps)
    )
)
wrong(WARMUP, "whole_steps", "Divides by warmup_steps before the minimum, rounded down.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5)
        * torch.minimum(step ** (-0.5), torch.floor(step / warmup_steps) * power(warmup_steps, -0.5))
    )
)
wrong(WARMUP, "line_too_long", "Ends warm-up a step late: the rate jumps down there.")(
    lambda step, d_model, warmup_steps: (
        power(d_model, -0.5)
        * torch.where(step < warmup_steps + 1, step * power(warmup_steps, -1.5), step ** (-0.5))
    )
)
right(WARMUP, "by_cases", "The line until warm-up ends, the root afterwards.")(
    lambda step, d_model, warmup_steps: (
        torch.where(step < warmup_steps, step / (warmup_steps * math.sqrt(warmup_steps)), step.rsqrt())
        / math.sqrt(d_model)
    )
)


@right(WARMUP)
def relative_to_the_largest(step, d_model, warmup_steps):
    """The largest rate times a factor of at most 1."""
    part = step / warmup_steps
    return torch.minimum(part, part.rsqrt()) / math.sqrt(d_model * warmup_steps)
