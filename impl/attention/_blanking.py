"""Slots that nobody reads are made 0, so that what stands there, NaN and Inf included, reaches neither output nor gradient.

0 · 0 is 0 where 0 · NaN is NaN, in a product as in its gradient. Blanking costs a pass over the inputs; ``unsafe`` says whether
it is needed.
"""

import math

import torch
from torch import Tensor

from impl._transforms import in_func


def blank(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v with 0 in every slot that the mask hides from all its partners."""
    asks, asked = mask.any(-1, keepdim=True), mask.any(-2).unsqueeze(-1)
    return torch.where(asks, q, 0.0), torch.where(asked, k, 0.0), torch.where(asked, v, 0.0)


def unsafe(*tensors: Tensor) -> bool:
    """Whether hidden slots have to be blanked: where something is not finite, and where looking at values would wait for
    the device, stop the compiler or a transform.
    """
    looking = tensors[0].is_cpu and not torch.compiler.is_compiling() and not in_func()
    return not looking or not finite(*tensors)


def finite(*tensors: Tensor) -> bool:
    """False if any entry is NaN or Inf (or a sum overflows: that costs the caller some time, never a wrong value)."""
    return all(math.isfinite(x.sum().item()) for x in tensors)


def blank_sequences(x: Tensor, y: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """x with 0 where a query may attend to nothing, y where no query may attend; or as they are, where all is finite."""
    if mask is None or not (unsafe(x) or (y is not x and unsafe(y))):
        return x, y
    asks, asked = mask.any(-1).unsqueeze(-1), mask.any(-2).unsqueeze(-1)
    if y is x:
        x = torch.where(asks | asked, x, 0.0)
        return x, x
    return torch.where(asks, x, 0.0), torch.where(asked, y, 0.0)
