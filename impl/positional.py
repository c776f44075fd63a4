"""Position, as a vector of d entries for each place in a sequence: computed (sinusoidal) or looked up (learned).

Letters are the statements': n positions of d entries; W_PE is the learned table, with N rows.
"""

import math
from collections.abc import Iterator
from itertools import count
from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl._arguments import check_arguments
from impl.embedding import rows

__all__ = ["learned", "sinusoidal"]

Layout = Literal["interleaved", "concatenated"]
Frequencies = Literal["open", "closed"]

SMALL = 2**14  # entries up to which a sine for each is the fastest
BLOCK = 2**16  # entries that are computed at a time: half a MiB, which a core's cache holds
LEAPS = 16  # blocks of which each is made from the one before: two steps a block, (2·16)² roundings of float64 at the most


def sinusoidal(
    n: int,
    d: int,
    *,
    base: float = 10000.0,
    layout: Layout = "interleaved",
    frequencies: Frequencies = "open",
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "{n} {d}"]:
    """PE[pos,2i] = sin(pos / base^(2i/d)) and PE[pos,2i+1] = cos of the same, for pos < n. Statement: ``positional.sinusoidal``.

    ``layout="concatenated"`` holds the same columns with the ⌈d/2⌉ sines first and the ⌊d/2⌋ cosines after them.
    ``frequencies="closed"`` spreads them down to 1/base exactly, with base^(i/(d/2 − 1)), as tensor2tensor and fairseq do, for
    an even d. Angles are computed in float64, whatever ``dtype`` (default: torch's) the table has. ValueError unless n ≥ 0,
    d ≥ 1, base > 0 and both options are known, and for closed frequencies of an odd d; TypeError for a dtype that is not
    floating. Source: Vaswani et al. 2017, section 3.5.
    """
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if n < 0 or d < 1 or not base > 0:
        raise ValueError(
            f"positional.sinusoidal: expected n >= 0, d >= 1, base > 0; got n {n}, d {d}, base {base}"
        )
    if frequencies == "closed" and d % 2:
        raise ValueError(f"positional.sinusoidal: closed frequencies are of an even d; got d {d}")
    if not dtype.is_floating_point:
        raise TypeError(f"positional.sinusoidal: expected a floating dtype; got {dtype}")

    table = torch.empty(n, d, dtype=dtype, device=device)
    even = torch.arange(0, d, 2, dtype=torch.float64, device=device)
    spread = d if frequencies == "open" else max(d - 2, 1)
    frequency = torch.exp(even * (-math.log(base) / spread))
    direct = n <= 16 or n * d <= SMALL or dtype == torch.float64 or torch.compiler.is_compiling()
    if layout == "interleaved" and not direct:
        _fill_pairs(table, frequency)
        return table
    half = len(even)
    sines, cosines = (
        (table[:, 0::2], table[:, 1::2]) if layout == "interleaved" else (table[:, :half], table[:, half:])
    )
    if not direct:
        _fill_halves(sines, cosines, frequency)
        return table
    angle = torch.arange(n, dtype=torch.float64, device=device)[:, None] * frequency
    if dtype != torch.float64 and n <= 16:  # so small an angle may be rounded first, which halves the time
        angle = angle.float()
    sines.copy_(angle.sin())
    cosines.copy_(angle[:, : d // 2].cos())
    return table


# Longer tables of a narrower dtype are computed by the addition theorems, in float64, some rows at a time: float64 in fresh
# memory would cost more than the arithmetic. The roundings this adds are far below what the dtype can hold.


def _fill_pairs(table: Tensor, frequency: Tensor) -> None:
    """Every stride-th position a, turned by each b below stride: 2√n rows of sines and cosines in place of n.

    (sin a + i cos a)(cos b − i sin b) = sin(a + b) + i cos(a + b): one complex product puts both where the table has them.
    """
    n, d = table.shape
    stride = math.isqrt(n - 1) + 1
    b = torch.arange(stride, dtype=torch.float64, device=table.device)[:, None] * frequency
    a = (b * stride)[:, None]
    at_a, by_b = torch.complex(a.sin(), a.cos()), torch.complex(b.cos(), b.sin().neg_())
    some = max(1, BLOCK // (stride * d))
    turned = at_a.new_empty(min(some, stride), stride, len(frequency))
    pairs = torch.view_as_real(turned).view(-1, 2 * len(frequency))
    for start in range(0, n, some * stride):
        rows, at = table[start : start + some * stride], at_a[start // stride :][:some]
        torch.mul(at, by_b, out=turned[: len(at)])
        rows.copy_(pairs[: len(rows), :d])


def _fill_halves(sines: Tensor, cosines: Tensor, frequency: Tensor) -> None:
    """A block of rows after the other, each from the one before; sines and cosines apart, as the table has them."""
    n = len(sines)
    even = max(2, math.isqrt(BLOCK // len(frequency)) // 2 * 2)  # a block that another follows is cut in two
    stride = min(math.isqrt(n - 1) + 1, even)
    size = stride**2
    blocks = _blocks(stride, frequency, alone=size >= n)
    for start in range(0, n, size):
        for part in (sines, cosines):
            rows = part[start : start + size]
            rows.copy_(next(blocks)[: len(rows), : rows.shape[1]])


def _blocks(stride: int, frequency: Tensor, alone: bool) -> Iterator[Tensor]:
    """The sines of stride² positions, their cosines, the sines of the next, and so on without end, in the same memory.

    The first block, and every ``LEAPS``-th after it, is every stride-th position a turned by each b below stride: two products
    for each entry. The others take one: with m half a block, sin(x + m) = sin(x − m) + 2 sin m cos x, and cos likewise.
    Where no block follows, the cosines take the place of the sines.
    """
    size, m = stride**2, stride**2 // 2
    b = torch.arange(stride, dtype=torch.float64, device=frequency.device)[:, None] * frequency
    sin_b, cos_b = b.sin(), b.cos()
    sin = b.new_empty(stride, stride, len(frequency))
    cos = sin if alone else torch.empty_like(sin)
    for block in count():
        if block % LEAPS == 0:
            first = block * size
            a = torch.arange(first, first + size, stride, dtype=b.dtype, device=b.device)[:, None, None]
            a = a * frequency
            sin_a, cos_a = a.sin(), a.cos()
            yield torch.mul(sin_a, cos_b, out=sin).addcmul_(cos_a, sin_b).view(size, -1)
            yield torch.mul(cos_a, cos_b, out=cos).addcmul_(sin_a, sin_b, value=-1).view(size, -1)
            continue
        if block == 1:
            twice = (m * frequency).sin().mul_(2)
            (sin_0, sin_1), (cos_0, cos_1) = (x.view(2, m, -1).unbind() for x in (sin, cos))
        sin_0.addcmul_(cos_1, twice)
        cos_0.addcmul_(sin_1, twice, value=-1)
        sin_1.addcmul_(cos_0, twice)
        cos_1.addcmul_(sin_0, twice, value=-1)
        yield sin.view(size, -1)
        yield cos.view(size, -1)


def learned(pos: Integer[Tensor, "... n"], W_PE: Float[Tensor, "N d"]) -> Float[Tensor, "... n d"]:
    """Row pos of the table W_PE. Gradient reaches the rows looked up and no other. Statement: ``positional.learned``.

    IndexError for a position below 0 or not below N: at once on the CPU, where reading it is free; on CUDA, where it would
    wait for the queue, torch's device-side assertion says it later. ValueError unless W_PE is (N, d), TypeError for
    positions that are not integers. Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning",
    section 3.1; Devlin et al. 2019, "BERT", section 3.
    """
    return rows("positional.learned", "W_PE (N d)", pos=pos, W_PE=W_PE)


check_arguments(__name__)
