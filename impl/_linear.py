"""A linear layer of few rows, as decoding has them: one for each sequence, at every step."""

from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl._transforms import in_func

__all__ = ["Product", "linear", "prepared"]

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


class Product:
    """x Wᵀ + b for many x: ``linear``, and what adds it to something.

    One that was made ready holds while nothing is differentiated, compiled or transformed. What it makes of x may share no memory
    with anything, and may lie in memory column after column. Where it ``copies`` W it does not follow its changes.
    """

    copies = False

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None) -> None:
        self.W, self.b = W, b

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        """x Wᵀ + b."""
        return linear(x, self.W, self.b)

    def onto(self, y: Float[Tensor, "r c"], x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        """y + x Wᵀ + b, in the place of y."""
        return y.add_(self(x))


def prepared(W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> Product:
    """The product for many x of ``rows`` rows each: in float32 on the CPU from a copy of W, where one is quicker to read."""
    if W.dtype == torch.float32 and W.is_cpu:
        if amd() and torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
            return _Reordered(W, b, rows)
        packed = rows in PACKED or (rows in FEW and len(W) >= W.shape[1])
        if packed and torch.backends.mkl.is_available() and hasattr(torch.ops.mkl, "_mkl_linear"):
            return _Packed(W, b, rows)
        if rows in FEW:
            return _ByColumns(W, b)
    return _AsItStands(W, b)


@cache
def amd() -> bool:
    """Whether the processor is one of AMD's, on which MKL is slow and oneDNN is not: products of 1 to 32 rows take it 0.14 to
    0.7 of the time with two threads, at widths from 384 to 8192; with one up to 1.1 of it where W is small.
    """
    told = Path("/proc/cpuinfo")
    return told.exists() and "AuthenticAMD" in told.read_text()


class _AsItStands(Product):
    """W read where it is, transposed once for all. A sum begins with what is added to, so that b is not copied first."""

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None) -> None:
        super().__init__(W, b)
        self._columns = W.detach().mT

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        return x.mm(self._columns) if self.b is None else torch.addmm(self.b, x, self._columns)

    def onto(self, y: Float[Tensor, "r c"], x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        y.addmm_(x, self._columns)
        return y if self.b is None else y.add_(self.b)


class _ByColumns(Product):
    """(W xᵀ)ᵀ + b."""

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        return (self.W @ x.mT if self.b is None else torch.addmm(self.b.unsqueeze(-1), self.W, x.mT)).mT


class _Reordered(Product):
    """W as oneDNN lays it out."""

    copies = True

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        super().__init__(W, b)
        self._laid = torch.ops.mkldnn._reorder_linear_weight(W, rows)
        self._multiply = torch.ops.mkldnn._linear_pointwise.default

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        y: Tensor = self._multiply(x, self._laid, self.b, "none", [], "")
        return y


class _Packed(Product):
    """W packed by MKL."""

    copies = True

    def __init__(self, W: Float[Tensor, "c d"], b: Float[Tensor, " c"] | None, rows: int) -> None:
        super().__init__(W, b)
        self._rows, self._more = rows, -rows % 4
        self._packed = torch.ops.mkl._mkl_reorder_linear_weight(W, rows + self._more)
        self._multiply = torch.ops.mkl._mkl_linear.default

    def __call__(self, x: Float[Tensor, "r d"]) -> Float[Tensor, "r c"]:
        if self._more:
            x = F.pad(x, (0, 0, 0, self._more))
        y: Tensor = self._multiply(x, self._packed, self.W, self.b, self._rows + self._more)
        return y[: self._rows] if self._more else y
