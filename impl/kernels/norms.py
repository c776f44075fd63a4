"""A residual connection and the norm behind it, s = x + r and y its layer or RMS norm, in one pass over both."""

import torch
import triton
import triton.language as tl
from torch import Tensor


def add_norm(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """y and s of rows x and r (n d) that lie one behind the other: the layer norm, or without β the RMS norm. In 16 bits both are
    rounded once, at the end.
    """
    y, s = torch.empty_like(x), torch.empty_like(x)
    if y.numel():
        n, d = x.shape
        bias = gamma if beta is None else beta
        with torch.cuda.device_of(y):
            _normalise[(n,)](x, r, gamma, bias, y, s, d, eps, beta is not None, triton.next_power_of_2(d))
    return y, s


@triton.jit
def _normalise(x, r, gamma, beta, y, s, d, eps, CENTRED: tl.constexpr, WIDTH: tl.constexpr):
    """One row. Its statistics are taken of the sum before that is rounded to 16 bits."""
    at = tl.arange(0, WIDTH)
    inside = at < d
    wide = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0).to(tl.int64) * d
    total = tl.load(x + row + at, inside, 0.0).to(wide) + tl.load(r + row + at, inside, 0.0).to(wide)
    tl.store(s + row + at, total.to(s.dtype.element_ty), inside)
    if CENTRED:
        total = tl.where(inside, total - tl.sum(total, 0) / d, 0.0)
    scale = tl.load(gamma + at, inside, 0.0).to(wide) / tl.sqrt(tl.sum(total * total, 0) / d + eps)
    z = total * scale
    if CENTRED:
        z += tl.load(beta + at, inside, 0.0).to(wide)
    tl.store(y + row + at, z.to(y.dtype.element_ty), inside)
