"""Position, as a vector of d entries for each place in a sequence: computed (sinusoidal) or looked up (learned).

Letters are the statements': n positions of d entries; W_PE is the learned table, with N rows.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl._arguments import check_arguments
from impl.embedding import rows

__all__ = ["learned", "sinusoidal"]

Layout = Literal["interleaved", "concatenated"]
Frequencies = Literal["open", "closed"]


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

    even = torch.arange(0, d, 2, dtype=torch.float64, device=device)
    spread = d if frequencies == "open" else max(d - 2, 1)
    angle = torch.arange(n, dtype=torch.float64, device=device)[:, None] * torch.exp(
        even * (-math.log(base) / spread)
    )
    sines, cosines = angle.sin().to(dtype), angle[:, : d // 2].cos().to(dtype)
    if layout == "concatenated":
        return torch.cat((sines, cosines), -1)
    table = sines.new_empty(n, d)
    table[:, 0::2], table[:, 1::2] = sines, cosines
    return table


def learned(pos: Integer[Tensor, "... n"], W_PE: Float[Tensor, "N d"]) -> Float[Tensor, "... n d"]:
    """Row pos of the table W_PE. Gradient reaches the rows looked up and no other. Statement: ``positional.learned``.

    IndexError for a position below 0 or not below N: at once on the CPU, where reading it is free; on CUDA, where it would
    wait for the queue, torch's device-side assertion says it later. ValueError unless W_PE is (N, d), TypeError for
    positions that are not integers. Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning",
    section 3.1; Devlin et al. 2019, "BERT", section 3.
    """
    return rows("positional.learned", "W_PE (N d)", pos=pos, W_PE=W_PE)


check_arguments(__name__)
