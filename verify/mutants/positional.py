"""Variants of ``positional.sinusoidal`` and ``positional.learned``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

SINUSOIDAL, LEARNED = "positional.sinusoidal", "positional.learned"


def table(n: int, d: int, frequency: Tensor, first: int = 0) -> Tensor:
    """Interleaved sines and cosines of positions times frequencies (float64), any d."""
    angle = torch.arange(first, n + first, dtype=torch.float64)[:, None] * frequency
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[:, :d]


def frequencies(d: int, base: float = 10000.0) -> Tensor:
    """base^(−2i/d), float64."""
    return base ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)


@wrong(SINUSOIDAL)
def precedence(n: int, d: int) -> Tensor:
    """-log(1e4)/d//2 : precedence makes the frequencies wrong."""
    step = -math.log(10000.0) / d // 2
    return table(n, d, torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * step))


@wrong(SINUSOIDAL)
def exponent_not_doubled(n: int, d: int) -> Tensor:
    """base^(i/d) instead of base^(2i/d)."""
    return table(n, d, 10000.0 ** -(torch.arange((d + 1) // 2, dtype=torch.float64) / d))


@wrong(SINUSOIDAL)
def exponent_by_column(n: int, d: int) -> Tensor:
    """Each column its own frequency: cosines use 2i+1 in the exponent."""
    position, column = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(d)
    angle = position * 10000.0 ** -(column / d).double()
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


@wrong(SINUSOIDAL)
def halves(n: int, d: int) -> Tensor:
    """Sines, then cosines, where the layout is interleaved."""
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d)
    return torch.cat((angle.sin(), angle.cos()), -1)[:, :d]


@wrong(SINUSOIDAL)
def from_one(n: int, d: int) -> Tensor:
    """Counts positions from 1."""
    return table(n, d, frequencies(d), first=1)


@wrong(SINUSOIDAL)
def cosine_first(n: int, d: int) -> Tensor:
    """Cosines in the even columns."""
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d)
    return torch.stack((angle.cos(), angle.sin()), -1).flatten(-2)[:, :d]


@wrong(SINUSOIDAL)
def base_of_rope(n: int, d: int) -> Tensor:
    """Base 1000."""
    return table(n, d, frequencies(d, 1000.0))


@wrong(SINUSOIDAL)
def even_only(n: int, d: int) -> Tensor:
    """Drops the last sine of an odd d and leaves a column of zeros."""
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d)[: d // 2]
    pe = torch.zeros(n, d, dtype=torch.float64)
    pe[:, 0 : d // 2 * 2 : 2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


@wrong(SINUSOIDAL)
def in_half(n: int, d: int) -> Tensor:
    """Computes angles in float16: positions above 2048 coincide, and digits are lost before."""
    return table(n, d, frequencies(d).half().double()).float()


@wrong(SINUSOIDAL)
def degrees(n: int, d: int) -> Tensor:
    """Divides by d − 2, so that the last frequency is exactly 1/base (as tensor2tensor does)."""
    return table(n, d, 10000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64) / max(d - 2, 1)))


@right(SINUSOIDAL)
def exp_of_log(n: int, d: int) -> Tensor:
    """exp(−2i·ln(base)/d), as the Annotated Transformer writes it."""
    return table(n, d, torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * (-math.log(10000.0) / d)))


@right(SINUSOIDAL)
def complex_numbers(n: int, d: int) -> Tensor:
    """Real and imaginary part of e^{iθ}."""
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d)
    z = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(z)[..., [1, 0]].flatten(-2)[:, :d]


@right(SINUSOIDAL)
def filled_by_slices(n: int, d: int) -> Tensor:
    """Fills even and odd columns of a float32 table."""
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d)
    pe = torch.empty(n, d)
    pe[:, 0::2], pe[:, 1::2] = angle.sin(), angle[:, : d // 2].cos()
    return pe


@wrong(SINUSOIDAL)
def closed_frequencies(n: int, d: int) -> Tensor:
    """Spreads the frequencies over d/2 − 1 where d/2 was promised, as fairseq."""
    steps = torch.arange(0, d, 2, dtype=torch.float64) / max(d - 2, 1)
    return table(n, d, 10_000.0**-steps)


@wrong(SINUSOIDAL, frequencies="closed")
def open_frequencies(n: int, d: int) -> Tensor:
    """Spreads them over d/2 where d/2 − 1 was promised."""
    return table(n, d, frequencies(d))


@right(SINUSOIDAL, frequencies="closed")
def spread_over_one_less(n: int, d: int) -> Tensor:
    """Frequencies from 1 down to 1/10000, where these are closed."""
    half = d // 2
    return (
        table(n, d, torch.logspace(0, -4, half, dtype=torch.float64))
        if d % 2 == 0
        else table(n, d, frequencies(d))
    )


@right(SINUSOIDAL, layout="concatenated")
def halves_by_name(n: int, d: int) -> Tensor:
    """Sines, then cosines, under that layout."""
    angle = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d)
    return torch.cat((angle.sin(), angle[:, : d // 2].cos()), -1)


@wrong(LEARNED)
def arange_instead(pos: Tensor, W: Tensor) -> Tensor:
    """Ignores the positions: the first n rows of the table."""
    rows = torch.arange(pos.shape[-1]).clamp(max=W.shape[0] - 1)
    return W[rows].expand(*pos.shape, W.shape[1])


@wrong(LEARNED)
def shifted_by_two(pos: Tensor, W: Tensor) -> Tensor:
    """Adds BART's offset of 2."""
    return W[(pos + 2).clamp(max=W.shape[0] - 1)]


@wrong(LEARNED)
def clamped_early(pos: Tensor, W: Tensor) -> Tensor:
    """Clamps positions to N − 2: the last row is never used."""
    return W[pos.clamp(max=max(W.shape[0] - 2, 0))]


@wrong(LEARNED)
def scaled_by_root(pos: Tensor, W: Tensor) -> Tensor:
    """Scales embeddings by √d, as token embeddings are."""
    return F.embedding(pos, W) * math.sqrt(W.shape[1])


@wrong(LEARNED)
def frozen(pos: Tensor, W: Tensor) -> Tensor:
    """The table learns nothing: detached, the gradient is 0."""
    return F.embedding(pos, W.detach()) + 0 * W.sum()


@wrong(LEARNED)
def padding_row(pos: Tensor, W: Tensor) -> Tensor:
    """padding_idx=0: row 0 gets no gradient."""
    return F.embedding(pos, W, padding_idx=0)


@wrong(LEARNED)
def renormalised(pos: Tensor, W: Tensor) -> Tensor:
    """max_norm=1 rescales the caller's table in place."""
    with torch.no_grad():
        W.copy_(W * (1 / W.norm(dim=-1, keepdim=True).clamp_min(1e-9)).clamp(max=1.0))
    return F.embedding(pos, W)


@wrong(LEARNED)
def through_half(pos: Tensor, W: Tensor) -> Tensor:
    """Stores the table in float16."""
    return F.embedding(pos, W.half()).to(W.dtype)


@wrong(LEARNED)
def once_per_row(pos: Tensor, W: Tensor) -> Tensor:
    """Divides the gradient by how often a row was used (scale_grad_by_freq)."""
    return F.embedding(pos, W, scale_grad_by_freq=True)


@wrong(LEARNED)
def first_sequence(pos: Tensor, W: Tensor) -> Tensor:
    """Uses the first sequence's positions for the whole batch."""
    return F.embedding(
        pos.reshape(-1, pos.shape[-1])[:1].expand(pos.numel() // pos.shape[-1], -1), W
    ).reshape(*pos.shape, W.shape[1])


@right(LEARNED)
def by_indexing(pos: Tensor, W: Tensor) -> Tensor:
    """Plain indexing."""
    return W[pos]


@right(LEARNED)
def by_selecting(pos: Tensor, W: Tensor) -> Tensor:
    """index_select on the flattened positions."""
    return W.index_select(0, pos.reshape(-1)).reshape(*pos.shape, W.shape[1])


@right(LEARNED)
def by_gathering(pos: Tensor, W: Tensor) -> Tensor:
    """gather along the rows."""
    return W.gather(0, pos.reshape(-1, 1).expand(-1, W.shape[1])).reshape(*pos.shape, W.shape[1])
