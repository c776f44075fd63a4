"""A residual connection and the norm behind it as one operation: forward Triton's kernel, backward torch's operations, which
compute sum and statistics anew. All that is kept is what was given.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from impl import _refuse
from impl.kernels import load

WIDEST = 2**14
"""The entries of the longest row: one program of the kernel holds it."""


def add_norm_by_kernel(
    formula: str, x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """y and s = x + r of x and r (... d): the layer norm, or without β the RMS norm. ValueError for rows that are too long, and
    what ``impl.kernels.load`` raises.
    """
    if not torch.compiler.is_compiling():
        load("norms", formula, x)
    if x.shape[-1] > WIDEST:
        raise _refuse.shapes(formula, f"d <= {WIDEST} with backend='triton'", x=x)
    y, s = _add_norm(x, r, gamma, beta, float(eps))
    return y, s


@torch.library.custom_op("attnspec::add_norm", mutates_args=())
def _add_norm(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    shape = _shape(x, r)
    rows = [part.expand(shape).reshape(-1, shape[-1]).contiguous() for part in (x, r)]
    add_norm: Callable[..., tuple[Tensor, Tensor]] = load("norms", "normalization.add_norm", x).add_norm
    y, s = add_norm(*rows, gamma.contiguous(), None if beta is None else beta.contiguous(), eps)
    return y.view(shape), s.view(shape)


@_add_norm.register_fake
def _(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    return x.new_empty(_shape(x, r)), x.new_empty(_shape(x, r))


def _shape(x: Tensor, r: Tensor) -> torch.Size:
    return _refuse.broadcast_shapes(x.shape, r.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.eps = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, dy: Tensor, ds: Tensor) -> tuple[Tensor | None, ...]:
    x, r, gamma, beta = ctx.saved_tensors
    wide = torch.promote_types(x.dtype, torch.float32)
    s, dy = x.to(wide) + r.to(wide), dy.to(wide)
    if beta is not None:
        s = s - s.mean(-1, keepdim=True)
    scale = (s.square().mean(-1, keepdim=True) + ctx.eps).rsqrt()
    s = s * scale
    inner = dy * gamma
    passed = inner - s * (inner * s).mean(-1, keepdim=True)
    if beta is not None:
        passed = passed - inner.mean(-1, keepdim=True)
    passed = scale * passed + ds
    sums = [(dy * s).flatten(0, -2).sum(0), dy.flatten(0, -2).sum(0)] if dy.dim() > 1 else [dy * s, dy]
    dx, dr = (passed.sum_to_size(t.shape).to(t.dtype) for t in (x, r))
    return dx, dr, sums[0].to(gamma.dtype), None if beta is None else sums[1].to(beta.dtype), None


_add_norm.register_autograd(_backward, setup_context=_remember)
