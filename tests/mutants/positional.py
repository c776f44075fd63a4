"""Variants of ``positional.sinusoidal`` and ``positional.learned``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

SINUSOIDAL, LEARNED = "positional.sinusoidal", "positional.learned"


def table(n, d, frequency, first=0):
    """Interleaved sines and cosines of positions times frequencies (float64), any d."""
    angle = torch.arange(first, n + first, dtype=torch.float64)[:, None] * frequency
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[:, :d]


def even(d):
    """0, 2, 4, … below d, float64."""
    return torch.arange(0, d, 2, dtype=torch.float64)


def frequencies(d, base=1e4):
    """base^(−2i/d), float64."""
    return base ** -(even(d) / d)


def angles(n, d):
    """Positions times frequencies."""
    return torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d)


wrong(
    SINUSOIDAL,
    "precedence",
    "-log(1e4)/d//2 : precedence makes the frequencies wrong.",
    cause="rounds the logarithm",
)(lambda n, d: table(n, d, torch.exp(even(d) * (-math.log(1e4) / d // 2))))
wrong(
    SINUSOIDAL,
    "exponent_not_doubled",
    "base^(i/d) instead of base^(2i/d).",
    cause=r"exponent is halved|base is 100\b",
)(lambda n, d: table(n, d, 1e4 ** (-(torch.arange((d + 1) // 2, dtype=torch.float64) / d))))


@wrong(SINUSOIDAL, cause="each column has a frequency")
def exponent_by_column(n, d):
    """Each column its own frequency: cosines use 2i+1 in the exponent."""
    position, column = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(d)
    angle = position * 1e4 ** (-(column / d).double())
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


wrong(
    SINUSOIDAL, "halves", "Sines, then cosines, where the layout is interleaved.", cause="layout=concatenated"
)(lambda n, d: torch.cat((angles(n, d).sin(), angles(n, d).cos()), -1)[:, :d])


wrong(SINUSOIDAL, "from_one", "Counts positions from 1.", cause="t counts from 1")(
    lambda n, d: table(n, d, frequencies(d), first=1)
)


wrong(SINUSOIDAL, "cosine_first", "Cosines in the even columns.", cause="sin and cos are|cos in the place")(
    lambda n, d: torch.stack((angles(n, d).cos(), angles(n, d).sin()), -1).flatten(-2)[:, :d]
)


wrong(SINUSOIDAL, "smaller_base", "Base 1000.", cause=r"base is 1000\b")(
    lambda n, d: table(n, d, frequencies(d, 1000.0))
)


@wrong(SINUSOIDAL, cause="d is odd|last (column|sine)")
def even_only(n, d):
    """Drops the last sine of an odd d and leaves a column of zeros."""
    angle = angles(n, d)[:, : d // 2]
    pe = torch.zeros(n, d, dtype=torch.float64)
    pe[:, 0 : d // 2 * 2 : 2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


wrong(SINUSOIDAL, "in_half", "Rounds the frequencies to float16.", cause=r"\bfloat16")(
    lambda n, d: table(n, d, frequencies(d).half().double()).float()
)
right(SINUSOIDAL, "exp_of_log", "exp(−2i·ln(base)/d), as the Annotated Transformer writes it.")(
    lambda n, d: table(n, d, torch.exp(even(d) * (-math.log(1e4) / d)))
)


@right(SINUSOIDAL)
def complex_numbers(n, d):
    """Real and imaginary part of e^{iθ}."""
    angle = angles(n, d)
    z = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(z)[..., [1, 0]].flatten(-2)[:, :d]


@right(SINUSOIDAL)
def filled_by_slices(n, d):
    """Fills even and odd columns of a float32 table."""
    angle = angles(n, d)
    pe = torch.empty(n, d)
    pe[:, 0::2], pe[:, 1::2] = angle.sin(), angle[:, : d // 2].cos()
    return pe


wrong(
    SINUSOIDAL,
    "closed_frequencies",
    "Spreads them over d/2 − 1 where d/2 was promised, as fairseq.",
    cause="d . 2 in the place|frequencies=closed",
)(lambda n, d: table(n, d, 1e4 ** -(even(d) / max(d - 2, 1))))
wrong(
    SINUSOIDAL,
    "open_frequencies",
    "Spreads them over d/2, not d/2 − 1.",
    frequencies="closed",
    cause="frequencies=open",
)(lambda n, d: table(n, d, frequencies(d)))


right(SINUSOIDAL, "spread_over_one_less", "From 1 to 1/10000, by that convention.", frequencies="closed")(
    lambda n, d: table(n, d, frequencies(d) if d % 2 else torch.logspace(0, -4, d // 2, dtype=torch.float64))
)


right(SINUSOIDAL, "halves_by_name", "Sines, then cosines, under that layout.", layout="concatenated")(
    lambda n, d: torch.cat((angles(n, d).sin(), angles(n, d)[:, : d // 2].cos()), -1)
)


wrong(
    LEARNED, "arange_instead", "Ignores the positions: the first n rows of the table.", cause="pos is ignored"
)(lambda pos, W: W[torch.arange(pos.shape[-1]).clamp(max=W.shape[0] - 1)].expand(*pos.shape, W.shape[1]))
wrong(
    LEARNED, "shifted_by_two", "Adds BART's offset of 2.", cause=r"2 is added to pos|off by two|pos\S* ?\+ ?2"
)(lambda pos, W: W[(pos + 2).clamp(max=W.shape[0] - 1)])
wrong(LEARNED, "clamped_early", "Clamps positions to N − 2: the last row is never used.", cause="last row")(
    lambda pos, W: W[pos.clamp(max=max(W.shape[0] - 2, 0))]
)
wrong(
    LEARNED,
    "scaled_by_root",
    "Scales embeddings by √d, as token embeddings are.",
    cause=r"√\(?d\)? times|multiplied by √\(?d\b",
)(lambda pos, W: F.embedding(pos, W) * math.sqrt(W.shape[1]))
wrong(
    LEARNED, "frozen", "The table learns nothing: detached, the gradient is 0.", cause="gradient reaches W_PE"
)(lambda pos, W: F.embedding(pos, W.detach()) + 0 * W.sum())
wrong(LEARNED, "padding_row", "padding_idx=0: row 0 gets no gradient.", cause="row 0|as padding")(
    lambda pos, W: F.embedding(pos, W, padding_idx=0)
)


@wrong(LEARNED, cause="writes to its input W_PE|divided by its length")
def renormalised(pos, W):
    """max_norm=1 rescales the caller's table in place."""
    with torch.no_grad():
        W.copy_(W * (1 / W.norm(dim=-1, keepdim=True).clamp_min(1e-9)).clamp(max=1.0))
    return F.embedding(pos, W)


wrong(LEARNED, "through_half", "Stores the table in float16.", cause=r"\bfloat16")(
    lambda pos, W: F.embedding(pos, W.half()).to(W.dtype)
)
wrong(
    LEARNED,
    "once_per_row",
    "Divides the gradient by how often a row was used (scale_grad_by_freq).",
    cause="gradient .*(often|mean|divided)",
)(lambda pos, W: F.embedding(pos, W, scale_grad_by_freq=True))


@wrong(LEARNED, cause="pos of the (first|others)")
def first_sequence(pos, W):
    """Uses the first sequence's positions for the whole batch."""
    first = pos.reshape(-1, pos.shape[-1])[:1]
    return F.embedding(first.expand(pos.numel() // pos.shape[-1], -1), W).reshape(*pos.shape, W.shape[1])


right(LEARNED, "by_indexing", "Plain indexing.")(lambda pos, W: W[pos])
right(LEARNED, "by_selecting", "index_select on the flattened positions.")(
    lambda pos, W: W.index_select(0, pos.reshape(-1)).reshape(*pos.shape, W.shape[1])
)
right(LEARNED, "by_gathering", "gather along the rows.")(
    lambda pos, W: W.gather(0, pos.reshape(-1, 1).expand(-1, W.shape[1])).reshape(*pos.shape, W.shape[1])
)
