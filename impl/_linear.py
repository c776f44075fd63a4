"""A linear layer of few rows, as decoding has them: one for each sequence, at every step."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl._transforms import in_func

__all__ = ["linear"]

FEW = range(5, 33)
"""Rows for which W xᵀ takes less time than x Wᵀ in MKL's kernels, which are then limited by how W is read: measured at widths
from 384 to 8192, 0.65 to 0.95 of it.
"""


def linear(
    x: Float[Tensor, "... d"], W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None = None
) -> Float[Tensor, "... c"]:
    """y = x Wᵀ + b: ``F.linear``, and (W xᵀ)ᵀ + b where that is the faster of the two and nothing is differentiated."""
    if (
        torch.compiler.is_compiling() or torch.is_grad_enabled()
    ):  # Dynamo looks no symbolic size up in a range
        return F.linear(x, W, b)
    if not (x.is_cpu and x.dtype == torch.float32 and x.numel() // x.shape[-1] in FEW) or in_func():
        return F.linear(x, W, b)
    columns = x.reshape(-1, x.shape[-1]).mT
    y = W @ columns if b is None else torch.addmm(b.unsqueeze(-1), W, columns)
    return y.mT.contiguous().view(*x.shape[:-1], -1)
