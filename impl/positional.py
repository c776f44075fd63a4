"""Position, as a vector of d entries for each place in a sequence: computed (sinusoidal) or looked up (learned).

Letters are the statements': n positions of d entries; W is the learned table, with N rows.
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

    ``layout="concatenated"`` holds the same columns with the ⌈d/2⌉ sines first and the ⌊d/2⌋ cosines after them. All is
    computed in float64 and rounded once, to ``dtype`` (default: torch's). ValueError unless n ≥ 0, d ≥ 1, base > 0 and the
    layout is known; TypeError for a dtype that is not floating. Source: Vaswani et al. 2017, section 3.5.
    """
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if n < 0 or d < 1 or not base > 0:
        raise ValueError(f"positional.sinusoidal: expected n >= 0, d >= 1, base > 0; got n {n}, d {d}, base {base}")
    if layout not in ("interleaved", "concatenated"):
        raise ValueError(f"positional.sinusoidal: layout is 'interleaved' or 'concatenated'; got {layout!r}")
    if not dtype.is_floating_point:
        raise TypeError(f"positional.sinusoidal: expected a floating dtype; got {dtype}")

    wavelength = base ** (torch.arange(0, d, 2, dtype=torch.float64, device=device) / d)
    if n <= 32 or dtype == torch.float64 or torch.compiler.is_compiling():
        angle = torch.arange(n, dtype=torch.float64, device=device)[:, None] / wavelength
        pairs = torch.stack((angle.sin(), angle.cos()), -1)
    else:
        # A step is a rotation, PE(t + r) = M_r PE(t): the positions 0, stride, 2 stride, … turned by each of 0 … stride - 1
        # need 2√n rows in place of n sines. The few float64 roundings this adds are far below what dtype can hold.
        stride = math.isqrt(n - 1) + 1
        t, r = _turns(stride / wavelength, -(-n // stride)), _turns(1 / wavelength, stride)
        pairs = torch.view_as_real(t[:, None] * (1j * r)).flatten(0, 1)[:n]
    if layout == "concatenated":
        return torch.cat((pairs[..., 0].to(dtype), pairs[:, : d // 2, 1].to(dtype)), -1)
    return pairs.flatten(-2)[:, :d].to(dtype)


def _turns(angle: Tensor, count: int) -> Tensor:
    """Row c is exp(-i c angle), for c < count."""
    turn = torch.complex(angle.cos(), -angle.sin()).expand(count, -1)
    return torch.cat((torch.ones_like(turn[:1]), turn[1:])).cumprod(0)


def learned(pos: Integer[Tensor, "... n"], W: Float[Tensor, "N d"]) -> Float[Tensor, "... n d"]:
    """Row pos of the table W. Gradient reaches the rows looked up and no other. Statement: ``positional.learned``.

    IndexError for a position below 0 or not below N: at once on the CPU, where reading it is free; on CUDA, where it would
    wait for the queue, torch's device-side assertion says it later. ValueError unless W is (N, d), TypeError for
    positions that are not integers. Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning",
    section 3.1; Devlin et al. 2019, "BERT", section 3.
    """
    if W.dim() != 2:
        raise _refuse.shapes("positional.learned", "W (N d)", W=W)
    if pos.dtype != torch.int64:
        if pos.is_floating_point() or pos.is_complex() or pos.dtype == torch.bool:
            raise _refuse.dtypes("positional.learned", "integer positions", pos=pos)
        pos = pos.long()
    try:
        return F.embedding(pos, W)
    except IndexError:
        N = W.shape[0]
        wrong = pos[(pos < 0) | (pos >= N)][0].item()
        raise IndexError(f"positional.learned: expected positions in 0..{N - 1}; got pos {wrong}") from None
