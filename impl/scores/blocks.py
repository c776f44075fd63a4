"""The additive score in blocks: s[i,j] = Σ_l v[l] tanh(x[i,l] + y[j,l]) without an n × m × a tensor.

A block of pairs at a time, the hidden layer is computed in one piece of memory, used and overwritten; backward it is computed
anew. On a CPU this is also faster than the plain form, whose hidden layer has to pass through main memory several times.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from impl import _transforms
from impl._refuse import broadcast_shapes
from impl.kernels import load

BLOCK_BYTES = {"cpu": 2**22, "cuda": 2**27}  # what a CPU keeps in its caches; work enough for an accelerator

Tile = tuple[slice, ...]


def plain(x: Tensor, y: Tensor, v: Tensor) -> Tensor:
    """The score with its hidden layer in one piece, differentiable to any order."""
    return torch.tanh(x.unsqueeze(-2) + y.unsqueeze(-3)) @ v


def score_in_blocks(
    x: Tensor, y: Tensor, v: Tensor, lead: torch.Size, block: int, kernel: bool = False
) -> Tensor:
    """The score with its hidden layer in blocks, where that saves memory and what is asked of it allows; by Triton's ``kernel``,
    whatever its size.
    """
    if _transforms.in_func() or _transforms.in_forward_mode():
        return plain(x, y, v)
    pairs = math.prod(lead) * x.shape[-2] * y.shape[-2]
    if not kernel and pairs * v.numel() * x.element_size() <= block:
        return plain(x, y, v)
    dims = len(lead) + 2
    x, y = x[(None,) * (dims - x.dim())], y[(None,) * (dims - y.dim())]
    return _additive(x, y, v, block, kernel)  # type: ignore[no-any-return]


@torch.library.custom_op("attnspec::additive", mutates_args=())
def _additive(x: Tensor, y: Tensor, v: Tensor, block: int, kernel: bool = False) -> Tensor:
    """x (... n a) and y (... m a) with equally many dimensions, v (a), and the bytes that may be used besides."""
    if kernel:
        *lead, n, m = _pairs(x, y)
        rows = (part.expand(*lead, *part.shape[-2:])[None].flatten(0, -3) for part in (x, y))
        score: Callable[..., Tensor] = load("additive", "scores.additive", x).score
        return score(*rows, v).view(*lead, n, m)
    s = x.new_empty(_pairs(x, y))
    for tile, hidden in _hidden_layers(x, y, block):
        s[tile] = hidden @ v
    return s


@torch.library.custom_op("attnspec::additive_gradients", mutates_args=())
def _gradients(g: Tensor, x: Tensor, y: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, y and v, given that of the score."""
    dx, dy, dv = torch.zeros_like(x), torch.zeros_like(y), torch.zeros_like(v)
    for tile, hidden in _hidden_layers(x, y, block):
        weight = g[tile]
        dv += weight.reshape(-1) @ hidden.flatten(0, -2)
        inner = weight.unsqueeze(-1).expand_as(hidden)
        torch.ops.aten.tanh_backward.grad_input(inner, hidden, grad_input=hidden)  # inner · (1 − hidden²)
        for part, along in ((_at(dx, tile, -2), -2), (_at(dy, tile, -1), -3)):
            part += hidden.sum(along).sum_to_size(part.shape)
    return dx * v, dy * v, dv


@_additive.register_fake
def _(x: Tensor, y: Tensor, v: Tensor, block: int, kernel: bool = False) -> Tensor:
    return x.new_empty(_pairs(x, y))


@_gradients.register_fake
def _(g: Tensor, x: Tensor, y: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(y), torch.empty_like(v)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.block, _ = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    if torch.is_grad_enabled():  # this derivative is to be differentiated itself
        return *_plain_gradients(g, *ctx.saved_tensors), None, None
    return *_gradients(g, *ctx.saved_tensors, ctx.block), None, None


_additive.register_autograd(_backward, setup_context=_remember)


def _plain_gradients(g: Tensor, x: Tensor, y: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    hidden = torch.tanh(x.unsqueeze(-2) + y.unsqueeze(-3))
    inner = g.unsqueeze(-1) * v * (1 - hidden * hidden)
    dv = (g.unsqueeze(-1) * hidden).flatten(0, -2).sum(0)
    return inner.sum(-2).sum_to_size(x.shape), inner.sum(-3).sum_to_size(y.shape), dv


def _hidden_layers(x: Tensor, y: Tensor, block: int) -> Iterator[tuple[Tile, Tensor]]:
    """Tiles of the pairs with tanh(x + y) there, one after the other in the same memory."""
    a = x.shape[-1]
    pairs = max(1, block // (x.element_size() * max(1, a)))
    memory = x.new_empty(pairs * a)
    for tile in _tiles(_pairs(x, y), pairs):
        rows, columns = _at(x, tile, -2).unsqueeze(-2), _at(y, tile, -1).unsqueeze(-3)
        shape = broadcast_shapes(rows.shape, columns.shape)
        hidden = memory[: math.prod(shape)].view(shape)
        yield tile, torch.add(rows, columns, out=hidden).tanh_()


def _tiles(shape: torch.Size, pairs: int) -> Iterator[Tile]:
    """Slices that cover the (... n m) pairs, of at most ``pairs`` each, and as square as that allows: x and y are
    read, and their gradients written, once for each tile.
    """
    first, rest = shape[0], shape[1:]
    if len(shape) == 2:
        columns = min(shape[1], max(math.isqrt(pairs), pairs // max(1, first)))
        for rows in _cuts(first, max(1, pairs // max(1, columns))):
            yield from ((rows, cut) for cut in _cuts(shape[1], columns))
    elif math.prod(rest) > pairs:
        for each in _cuts(first, 1):
            yield from ((each, *tile) for tile in _tiles(rest, pairs))
    else:
        for some in _cuts(first, pairs // max(1, math.prod(rest))):
            yield (some, *(slice(0, size) for size in rest))


def _cuts(size: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, size)) for start in range(0, size, max(1, step)))


def _pairs(x: Tensor, y: Tensor) -> torch.Size:
    """The shape (... n m) of the pairs."""
    lead: torch.Size = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return torch.Size((*lead, x.shape[-2], y.shape[-2]))


def _at(x: Tensor, tile: Tile, side: int) -> Tensor:
    """What of x (... n a) or y (... m a) stands in a tile; ``side`` is −2 for x, −1 for y. What broadcasts is whole."""
    return x[
        *(
            cut if size > 1 else slice(None)
            for cut, size in zip((*tile[:-2], tile[side]), x.shape[:-1], strict=True)
        )
    ]
