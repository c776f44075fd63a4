"""BigBird: attention by blocks, of which each query sees a window, the global ones, and those that a table names."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Generator, Tensor

from impl import _refuse
from impl._transforms import readable
from impl.attention._checks import check_lead, check_qkv
from impl.attention.flex import SparseBackend, attend_by_rule
from impl.attention.weights import scaled_dot_product

__all__ = ["bigbird", "bigbird_table", "random_blocks"]

FORMULA = "attention.bigbird"
Repeats = Literal["once", "each"]


def bigbird(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... n d_k"],
    v: Float[Tensor, "... n d_v"],
    table: Int64[Tensor, "B r"],
    w: int,
    g: int,
    *,
    repeats: Repeats = "once",
    backend: SparseBackend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """Attention of B blocks of n/B positions: a block of queries sees the w blocks to each side of it, the first g and the last g
    blocks, and the r that its row of the table names; the first g and the last g see all. Statement: ``attention.bigbird``.

    Each key counts once; with ``repeats="each"`` a block counts again each time that the table names it. Operations and memory
    grow with n·(2w + 1 + 2g + r)·n/B, forward and backward. ``backend="flex"`` is torch's FlexAttention, on CUDA alone.
    ValueError for shapes that do not fit, a negative w or g, and a table that names a block that there is not (where its values
    can be looked at); TypeError unless q, k and v share one floating dtype and the table is of integers; NotImplementedError for
    a backend that cannot. Source: Zaheer et al. 2020, "Big Bird", section 2.
    """
    _check(q, k, v, table, w, g)
    blocks = len(table)
    if backend == "flex":
        if repeats == "each":
            raise NotImplementedError(f"{FORMULA}: backend='flex' counts a block once; use backend='auto'")
        return _attend_flex(q, k, v, table, w, g)
    if 2 * g >= blocks or q.shape[-2] == 0:
        return scaled_dot_product(q, k, v, backend=backend)
    at, counts = _seen(table, w, g, repeats)
    size, ends = q.shape[-2] // blocks, g * (q.shape[-2] // blocks)
    keys, values = (_gather(x, at, blocks) for x in (k, v))
    mask = counts.repeat_interleave(size, -1).unsqueeze(-2)
    inner = q[..., ends : q.shape[-2] - ends, :].unflatten(-2, (-1, size))
    z = scaled_dot_product(inner, keys, values, mask, backend=backend).flatten(-3, -2)
    if not g:
        return z
    outer = torch.cat((q[..., :ends, :], q[..., -ends:, :]), -2)
    first, last = scaled_dot_product(outer, k, v, backend=backend).split(ends, -2)
    return torch.cat((first, z, last), -2)


def random_blocks(free: Bool[Tensor, "... N B"], r: int, generator: Generator) -> Int64[Tensor, "... N r"]:
    """For each row r different blocks of those that are free, in an order of their own, all alike likely; −1 in a row with fewer.
    Statement: ``attention.random_blocks``.

    Equal seeds give equal results on one kind of device. ValueError for an r below 1, TypeError unless ``free`` is boolean.
    Source: Zaheer et al. 2020, "Big Bird", section 2.
    """
    if free.dtype != torch.bool:
        raise _refuse.dtypes("attention.random_blocks", "a boolean free", free=free)
    if free.dim() < 2:
        raise _refuse.shapes("attention.random_blocks", "free (... N B)", free=free)
    if r < 1:
        raise ValueError(f"attention.random_blocks: expected r >= 1; got {r}")
    order = torch.rand(free.shape, generator=generator, device=free.device, dtype=torch.float64)
    if r > free.shape[-1]:
        return order.new_full((*free.shape[:-1], r), -1, dtype=torch.int64)
    drawn = order.masked_fill(~free, 2.0).argsort(-1)[..., :r]
    return torch.where(free.sum(-1, keepdim=True) >= r, drawn, -1)


def bigbird_table(B: int, r: int, w: int, g: int, generator: Generator) -> Int64[Tensor, "{B} {r}"]:
    """A table for ``attention.bigbird``: for each of B blocks r different ones outside its window and the global ones.

    Rows of global blocks, which are not read, are 0. ValueError where another block has fewer than r to draw from, for a negative
    B, w or g, and for an r below 1.
    """
    if min(B, w, g) < 0:
        raise ValueError(f"{FORMULA}: expected B >= 0, w >= 0 and g >= 0; got B {B}, w {w}, g {g}")
    w, g = min(w, B), min(g, B)
    at = torch.arange(B, device=generator.device)
    is_global = (at < g) | (at >= B - g)
    free = ((at.unsqueeze(-1) - at).abs() > w) & ~is_global
    least = free.sum(-1).masked_fill(is_global, B).min().item() if B else 0
    if least < r:
        raise ValueError(
            f"{FORMULA}: expected r blocks outside window and global ones; got r {r}, {least} of B {B} with w {w}, g {g}"
        )
    return random_blocks(free, r, generator).masked_fill(is_global.unsqueeze(-1), 0)


def _seen(table: Tensor, w: int, g: int, repeats: Repeats) -> tuple[Tensor, Tensor]:
    """For each block of queries that is not global the blocks of keys (x y), and which of them count: none of them twice, but
    where each naming counts.
    """
    blocks = len(table)
    w = min(w, blocks)
    x = torch.arange(g, blocks - g, device=table.device).unsqueeze(-1)
    ends = torch.arange(-g, g, device=table.device).remainder(blocks).expand(len(x), -1)
    window = x + torch.arange(-w, w + 1, device=table.device)
    named = table[g : blocks - g]
    in_window = (window >= g) & (window < blocks - g)
    if repeats == "each":
        fresh = torch.ones_like(named, dtype=torch.bool)
    else:
        earlier = (named.unsqueeze(-1) == named.unsqueeze(-2)).tril(-1).any(-1)
        fresh = ((named - x).abs() > w) & (named >= g) & (named < blocks - g) & ~earlier
    at = torch.cat((ends, window.clamp(0, blocks - 1), named), -1)
    return at, torch.cat((torch.ones_like(ends, dtype=torch.bool), in_window, fresh), -1)


def _gather(x: Tensor, at: Tensor, blocks: int) -> Tensor:
    """The rows of the blocks at (x y), one after the other: (... x y·b c)."""
    found = x.unflatten(-2, (blocks, -1)).index_select(-3, at.flatten())
    rows: Tensor = found.unflatten(-3, at.shape).flatten(-3, -2)
    return rows


def _attend_flex(q: Tensor, k: Tensor, v: Tensor, table: Tensor, w: int, g: int) -> Tensor:
    blocks, r = table.shape
    size = q.shape[-2] // blocks

    def seen(i: Tensor, j: Tensor) -> Tensor:
        x, y = i // size, j // size
        found = ((x - y).abs() <= w) | (x < g) | (x >= blocks - g) | (y < g) | (y >= blocks - g)
        for u in range(r):
            found = found | (table[x, u] == y)
        return found

    return attend_by_rule(FORMULA, q, k, v, seen)


def _check(q: Tensor, k: Tensor, v: Tensor, table: Tensor, w: int, g: int) -> None:
    check_qkv(FORMULA, q, k, v)
    check_lead(FORMULA, q, k, v, None)
    _refuse.check_integers(FORMULA, "an integer table", table=table)
    if q.shape[-2] != k.shape[-2] or table.dim() != 2 or not len(table) or q.shape[-2] % len(table):
        expected = "q, k and v of as many positions each, which the blocks of table (B r) divide"
        raise _refuse.shapes(FORMULA, expected, q=q, k=k, v=v, table=table)
    if w < 0 or g < 0:
        raise ValueError(f"{FORMULA}: expected w >= 0 and g >= 0; got w {w}, g {g}")
    if table.numel() and readable(table):
        low, high = (int(end) for end in torch.aminmax(table))
        if low < 0 or high >= len(table):
            raise ValueError(
                f"{FORMULA}: expected a table of blocks in 0..{len(table) - 1}; got {low if low < 0 else high}"
            )
