"""Position: a vector of d entries for each place in a sequence, computed (sinusoidal) or looked up (learned); or an angle by
which each pair of a query's or key's entries is turned (rotary).

Letters are the statements': n positions of d entries; W_PE is the learned table, with N rows; theta the frequencies of h pairs.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments
from impl.embedding import rows

__all__ = ["learned", "rotary", "sinusoidal"]

Layout = Literal["interleaved", "concatenated"]
Frequencies = Literal["open", "closed"]
Pairs = Literal["interleaved", "halves"]


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


def rotary(
    x: Float[Tensor, "... n d"],
    pos: Integer[Tensor, "... n"],
    theta: Float[Tensor, " h"],
    *,
    pairs: Pairs = "interleaved",
) -> Float[Tensor, "... n d"]:
    """Turn each pair of a row's entries by the angle pos·θᵢ: (x₁, x₂) becomes (x₁ cos − x₂ sin, x₂ cos + x₁ sin). Statement:
    ``positional.rotary``.

    A row has d = 2·h entries. Pair i are the entries 2i and 2i + 1, or with ``pairs="halves"`` i and h + i, as Llama and GPT-NeoX
    have them. ``x`` may hold heads as one of its leading dimensions, which those of ``pos`` broadcast with. Angles are computed
    in float64; 16-bit rows are turned in float32 and rounded once. ValueError for shapes that do not fit, TypeError unless x and
    theta are floating and pos holds integers. Source: Su et al. 2021, "RoFormer", section 3.2.2.
    """
    if x.dim() < 2 or theta.dim() != 1 or pos.dim() < 1 or x.shape[-2:] != (pos.shape[-1], 2 * len(theta)):
        expected = "x (... n 2*h), pos (... n), theta (h)"
        raise _refuse.shapes("positional.rotary", expected, x=x, pos=pos, theta=theta)
    _refuse.check_integers("positional.rotary", "integer pos", pos=pos)
    for name, given in (("x", x), ("theta", theta)):
        if not given.is_floating_point():
            raise _refuse.dtypes("positional.rotary", f"a floating {name}", **{name: given})
    _refuse.check_lead("positional.rotary", {"pos": pos}, x=x)
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = pos.unsqueeze(-1) * theta.double()
    cos, sin, rows = angle.cos().to(wide), angle.sin().to(wide), x.to(wide)
    first, second = (rows[..., 0::2], rows[..., 1::2]) if pairs == "interleaved" else rows.chunk(2, -1)
    turned = first * cos - second * sin, second * cos + first * sin
    y = torch.stack(turned, -1).flatten(-2) if pairs == "interleaved" else torch.cat(turned, -1)
    return y.to(x.dtype)


check_arguments(__name__)
