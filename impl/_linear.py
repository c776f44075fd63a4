"""A linear layer of few rows, as decoding has them: one for each sequence, at every step."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl._transforms import in_func

__all__ = ["linear", "prepared"]

FEW = range(5, 33)
"""Rows for which W xᵀ takes less time than x Wᵀ in MKL's kernels, which are then limited by how W is read: measured at widths
from 384 to 8192, 0.65 to 0.95 of it.
"""
PACKED = range(4, 17)
"""Rows for which MKL takes less time with a W that it has packed, even where x is filled up to a multiple of four rows, without
which it takes the more: 0.5 to 0.75 of what ``linear`` takes at widths of 384 and 1024. Where W has at least as many rows as
columns, 0.9 of it up to the end of ``FEW``. Of fewer rows the products wait for W alone, whatever its layout.
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


def prepared(
    W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int
) -> Callable[[Float[Tensor, "r d"]], Float[Tensor, "r c"]]:
    """``linear`` for many x of ``rows`` rows each, from a copy of W that is quicker to read, where there is such a copy.

    For float32 on the CPU, while nothing is differentiated, compiled or transformed. What is made of x may share no memory with
    anything, and may lie in memory column after column. A change of W may or may not be followed.
    """
    if W.dtype != torch.float32 or not W.is_cpu:
        return _as_it_stands(W, b)
    packed = rows in PACKED or (rows in FEW and len(W) >= W.shape[1])
    if packed and torch.backends.mkl.is_available() and hasattr(torch.ops.mkl, "_mkl_linear"):
        return _packed(W, b, rows)
    if rows in FEW:
        upright = None if b is None else b.unsqueeze(-1)
        return lambda x: (W @ x.mT if upright is None else torch.addmm(upright, W, x.mT)).mT
    return _as_it_stands(W, b)


def _as_it_stands(W: Tensor, b: Tensor | None) -> Callable[[Tensor], Tensor]:
    """The product with W read where it is, transposed once for all."""
    columns = W.detach().mT
    return partial(torch.mm, mat2=columns) if b is None else partial(torch.addmm, b.detach(), mat2=columns)


def _packed(W: Tensor, b: Tensor | None, rows: int) -> Callable[[Tensor], Tensor]:
    more, multiply = -rows % 4, torch.ops.mkl._mkl_linear.default
    packed = torch.ops.mkl._mkl_reorder_linear_weight(W, rows + more)

    def product(x: Tensor) -> Tensor:
        if more:
            x = F.pad(x, (0, 0, 0, more))
        y: Tensor = multiply(x, packed, W, b, rows + more)
        return y[:rows] if more else y

    return product
