"""Position, as a vector of d entries for each place in a sequence: computed (sinusoidal) or looked up (learned).

Letters are the statements': n positions of d entries; W_PE is the learned table, with N rows.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse

__all__ = ["learned", "sinusoidal"]

Layout = Literal["interleaved", "concatenated"]

BLOCK = 2**16  # entries that are computed at a time: half a MiB, which a core's cache holds


def sinusoidal(
    n: int,
    d: int,
    *,
    base: float = 10000.0,
    layout: Layout = "interleaved",
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "{n} {d}"]:
    """PE[pos,2i] = sin(pos / base^(2i/d)) and PE[pos,2i+1] = cos of the same, for pos < n. Statement: ``positional.sinusoidal``.

    ``layout="concatenated"`` holds the same columns with the ⌈d/2⌉ sines first and the ⌊d/2⌋ cosines after them. Angles are
    computed in float64, whatever ``dtype`` (default: torch's) the table has. ValueError unless n ≥ 0, d ≥ 1, base > 0 and the
    layout is known; TypeError for a dtype that is not floating. Source: Vaswani et al. 2017, section 3.5.
    """
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if n < 0 or d < 1 or not base > 0:
        raise ValueError(
            f"positional.sinusoidal: expected n >= 0, d >= 1, base > 0; got n {n}, d {d}, base {base}"
        )
    if layout not in ("interleaved", "concatenated"):
        raise ValueError(f"positional.sinusoidal: layout is 'interleaved' or 'concatenated'; got {layout!r}")
    if not dtype.is_floating_point:
        raise TypeError(f"positional.sinusoidal: expected a floating dtype; got {dtype}")

    half = (d + 1) // 2
    sines, cosines = (
        (slice(0, None, 2), slice(1, None, 2))
        if layout == "interleaved"
        else (slice(half), slice(half, None))
    )
    table = torch.empty(n, d, dtype=dtype, device=device)
    even = torch.arange(0, d, 2, dtype=torch.float64, device=device)
    frequency = torch.exp(even * (-math.log(base) / d))
    if n <= 16 or dtype == torch.float64 or torch.compiler.is_compiling():
        angle = torch.arange(n, dtype=torch.float64, device=device)[:, None] * frequency
        if (
            dtype != torch.float64 and n <= 16
        ):  # so small an angle may be rounded first, which halves the time
            angle = angle.float()
        table[:, sines] = angle.sin()
        table[:, cosines] = angle[:, : d // 2].cos()
        return table
    # Every stride-th position a, turned by each b below stride: 2√n rows of sines and cosines in place of n, by the addition
    # theorems. The few float64 roundings this adds are far below what dtype can hold. Some positions at a time: float64 in fresh
    # memory would cost more than the arithmetic.
    stride = math.isqrt(n - 1) + 1
    b = torch.arange(stride, dtype=torch.float64, device=device)[:, None] * frequency
    a = (b * stride)[:, None]
    sin_a, cos_a, sin_b, cos_b = a.sin(), a.cos(), b.sin(), b.cos()
    some = max(1, BLOCK // (stride * half))
    for start in range(0, n, some * stride):
        rows, at = table[start : start + some * stride], slice(start // stride, start // stride + some)
        sin, cos = sin_a[at], cos_a[at]
        turned = (sin * cos_b).addcmul_(cos, sin_b)
        rows[:, sines] = turned.flatten(0, 1)[: len(rows)]
        turned = torch.mul(cos, cos_b, out=turned).addcmul_(sin, sin_b, value=-1)
        rows[:, cosines] = turned.flatten(0, 1)[: len(rows), : d // 2]
    return table


def learned(pos: Integer[Tensor, "... n"], W_PE: Float[Tensor, "N d"]) -> Float[Tensor, "... n d"]:
    """Row pos of the table W_PE. Gradient reaches the rows looked up and no other. Statement: ``positional.learned``.

    IndexError for a position below 0 or not below N: at once on the CPU, where reading it is free; on CUDA, where it would
    wait for the queue, torch's device-side assertion says it later. ValueError unless W_PE is (N, d), TypeError for
    positions that are not integers. Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning",
    section 3.1; Devlin et al. 2019, "BERT", section 3.
    """
    if W_PE.dim() != 2:
        raise _refuse.shapes("positional.learned", "W_PE (N d)", W_PE=W_PE)
    if pos.dtype != torch.int64:
        if pos.is_floating_point() or pos.is_complex() or pos.dtype == torch.bool:
            raise _refuse.dtypes("positional.learned", "integer positions", pos=pos)
        pos = pos.long()
    try:
        return F.embedding(pos, W_PE)
    except IndexError:
        N = W_PE.shape[0]
        wrong = pos[(pos < 0) | (pos >= N)][0].item()
        raise IndexError(f"positional.learned: expected positions in 0..{N - 1}; got pos {wrong}") from None
