"""Variants of the Transformer's learning rate: ``objectives.warmup``."""

import math

import torch

from tests.mutants import right, wrong

WARMUP = "objectives.warmup"


def line(step, warmup):
    """The rate before warm-up ends, but for the width."""
    return step * float(warmup**-1.5)


def root(step, warmup):
    """The rate afterwards, but for the width."""
    return step**-0.5


def rate(before=line, after=root, join=torch.minimum, width=lambda d: float(d**-0.5)):
    """The rate, right but for its two parts, how they are joined, and the factor of the width."""
    return lambda step, d_model, warmup_steps: (
        width(d_model) * join(after(step, warmup_steps), before(step, warmup_steps))
    )


@wrong(WARMUP, cause="subtracted from step|step − 1|off by one")
def counted_from_zero(step, d_model, warmup_steps):
    """Counts steps from 0: the rate of each is that of the one before."""
    step = (step - 1).clamp(min=0)
    late = step.clamp(min=1) ** -0.5
    return float(d_model**-0.5) * torch.where(step <= warmup_steps, line(step, warmup_steps), late)


wrong(WARMUP, "one_ahead", "Takes the rate of the step after.", cause=r"added to step|step \+ 1|off by one")(
    rate(lambda step, warmup: line(step + 1, warmup), lambda step, warmup: (step + 1) ** -0.5)
)
wrong(
    WARMUP, "wrong_power", "Multiplies the line by warmup_steps^−0.5.", cause="divided by warmup_steps(?!·)"
)(rate(lambda step, warmup: step * float(warmup**-0.5)))
wrong(WARMUP, "a_factor", "Gives the factor of the largest rate.", cause="d_model.*warmup_steps")(
    rate(lambda step, warmup: step / warmup, lambda step, warmup: (warmup / step) ** 0.5, width=lambda d: 1)
)
wrong(
    WARMUP,
    "larger_of_both",
    "Takes the maximum of the two parts.",
    cause="rising ≤ falling is inverted|wrong way round|maximum",
)(rate(join=torch.maximum))
wrong(WARMUP, "width_forgotten", "Leaves the width out.", cause=r"not divided by √\(?d_model|√d_model times")(
    rate(width=lambda d: 1)
)
wrong(
    WARMUP,
    "root_of_width_multiplied",
    "Multiplies by the root of the width.",
    cause="scale is inverted|is d_model times",
)(rate(width=lambda d: float(d**0.5)))
wrong(WARMUP, "falls_in_a_line", "Falls as 1/step.", cause="falling has no (sqrt|root)|falling.*1 ?/ ?step")(
    rate(after=lambda step, warmup: float(warmup**0.5) / step)
)
wrong(WARMUP, "never_falls", "Stays at the largest rate.", cause="falling.*warmup_steps")(
    rate(after=lambda step, warmup: torch.full_like(step, float(warmup**-0.5)))
)
wrong(
    WARMUP, "rises_with_the_root", "Rises with the root of the step.", cause=r"rising.*√\(?step|root of step"
)(rate(lambda step, warmup: step**0.5 / warmup))
wrong(
    WARMUP, "whole_steps", "Divides by warmup_steps before the minimum, rounded down.", cause="floor|whole"
)(rate(lambda step, warmup: torch.floor(step / warmup) * float(warmup**-0.5)))


@wrong(WARMUP, cause=r"off by one|warmup_steps \+ 1")
def line_too_long(step, d_model, warmup_steps):
    """Ends warm-up a step late: the rate jumps down there."""
    late = step < warmup_steps + 1
    return float(d_model**-0.5) * torch.where(late, line(step, warmup_steps), step**-0.5)


@right(WARMUP)
def by_cases(step, d_model, warmup_steps):
    """The line until warm-up ends, the root afterwards."""
    line = step / (warmup_steps * math.sqrt(warmup_steps))
    return torch.where(step < warmup_steps, line, step.rsqrt()) / math.sqrt(d_model)


@right(WARMUP)
def relative_to_the_largest(step, d_model, warmup_steps):
    """The largest rate times a factor of at most 1."""
    part = step / warmup_steps
    return torch.minimum(part, part.rsqrt()) / math.sqrt(d_model * warmup_steps)
