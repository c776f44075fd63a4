"""Learning rates by the step of training."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl.recurrent.cells import wide

__all__ = ["warmup"]


def warmup(step: Float[Tensor, "..."], d_model: int, warmup_steps: int) -> Float[Tensor, "..."]:
    """min(step / warmup_steps^1.5, 1/√step) / √d_model, for steps counted from 1. Statement: ``objectives.warmup``.

    ``torch.optim.lr_scheduler.LambdaLR`` on an optimizer of rate 1 takes it as ``lambda step: warmup(torch.tensor(step + 1.0),
    512, 4000).item()``. ValueError unless both sizes are at least 1, TypeError unless the steps are floating; the result has
    their dtype. Source: Vaswani et al. 2017, "Attention Is All You Need", equation 3.
    """
    _refuse.check_floating("objectives.warmup", step=step)
    if d_model < 1 or warmup_steps < 1:
        raise ValueError(
            f"objectives.warmup: expected sizes of at least 1; got d_model {d_model}, warmup_steps {warmup_steps}"
        )
    steps = step.to(wide(step.dtype))
    line, falling = steps / (warmup_steps * math.sqrt(warmup_steps)), steps.rsqrt()
    return (torch.minimum(line, falling) / math.sqrt(d_model)).to(step.dtype)
