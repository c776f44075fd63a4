"""Position: a vector of d entries for each place in a sequence, computed (sinusoidal) or looked up (learned); or an angle by
which each pair of a query's or key's entries is turned (turned, rotary, frequencies).

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

__all__ = ["frequencies", "learned", "partial_rotary", "rotary", "sinusoidal", "turned", "yarn"]

Layout = Literal["interleaved", "concatenated"]
Frequencies = Literal["open", "closed"]
Pairs = Literal["interleaved", "halves"]
Scaling = Literal["linear", "ntk"]
Ramp = Literal["turns", "pairs", "whole"]
Lengths = Literal["grow", "stay"]


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


def turned(
    x: Float[Tensor, "... n d"], phi: Float[Tensor, "... n h"], *, pairs: Pairs = "interleaved"
) -> Float[Tensor, "... n d"]:
    """Turn each pair of a row's entries by its angle φ: (x₁, x₂) becomes (x₁ cos φ − x₂ sin φ, x₂ cos φ + x₁ sin φ). Statement:
    ``positional.turned``.

    A row has d = 2·h entries. Pair i are the entries 2i and 2i + 1, or with ``pairs="halves"`` i and h + i, as Llama and GPT-NeoX
    have them. ``x`` may hold heads as one of its leading dimensions, which those of ``phi`` broadcast with. Sines and cosines are
    computed in float64; 16-bit rows are turned in float32 and rounded once. ValueError for shapes that do not fit, TypeError
    unless x and phi are floating. Source: Su et al. 2021, "RoFormer", section 3.4.2.
    """
    if x.dim() < 2 or phi.dim() < 2 or x.shape[-2:] != (phi.shape[-2], 2 * phi.shape[-1]):
        raise _refuse.shapes("positional.turned", "x (... n 2*h), phi (... n h)", x=x, phi=phi)
    for name, given in (("x", x), ("phi", phi)):
        if not given.is_floating_point():
            raise _refuse.dtypes("positional.turned", f"a floating {name}", **{name: given})
    _refuse.check_lead("positional.turned", x=x, phi=phi)
    wide, angle = torch.promote_types(x.dtype, torch.float32), phi.double()
    cos, sin, rows = angle.cos().to(wide), angle.sin().to(wide), x.to(wide)
    first, second = (rows[..., 0::2], rows[..., 1::2]) if pairs == "interleaved" else rows.chunk(2, -1)
    entries = first * cos - second * sin, second * cos + first * sin
    y = torch.stack(entries, -1).flatten(-2) if pairs == "interleaved" else torch.cat(entries, -1)
    return y.to(x.dtype)


def rotary(
    x: Float[Tensor, "... n d"],
    pos: Integer[Tensor, "... n"],
    theta: Float[Tensor, " h"],
    *,
    pairs: Pairs = "interleaved",
) -> Float[Tensor, "... n d"]:
    """Turn each pair of a row's entries by the angle pos·θᵢ, as ``turned`` does. Statement: ``positional.rotary``.

    ``x`` may hold heads as one of its leading dimensions, which those of ``pos`` broadcast with. Angles are computed in float64.
    ValueError for shapes that do not fit, TypeError unless x and theta are floating and pos holds integers. Source: Su et al.
    2021, "RoFormer", section 3.2.2.
    """
    if x.dim() < 2 or theta.dim() != 1 or pos.dim() < 1 or x.shape[-2:] != (pos.shape[-1], 2 * len(theta)):
        expected = "x (... n 2*h), pos (... n), theta (h)"
        raise _refuse.shapes("positional.rotary", expected, x=x, pos=pos, theta=theta)
    _refuse.check_integers("positional.rotary", "integer pos", pos=pos)
    for name, given in (("x", x), ("theta", theta)):
        if not given.is_floating_point():
            raise _refuse.dtypes("positional.rotary", f"a floating {name}", **{name: given})
    _refuse.check_lead("positional.rotary", {"pos": pos}, x=x)
    return turned(x, pos.unsqueeze(-1) * theta.double(), pairs=pairs)


def partial_rotary(
    x: Float[Tensor, "... n e"],
    pos: Integer[Tensor, "... n"],
    theta: Float[Tensor, " h"],
    *,
    pairs: Pairs = "interleaved",
) -> Float[Tensor, "... n e"]:
    """Turn the first 2·h entries of each row as ``rotary`` does, and leave the others. Statement: ``positional.partial_rotary``.

    ``pairs="halves"`` takes the halves of the part that is turned, as GPT-NeoX and Phi do. ValueError for rows of fewer than 2·h
    entries and other shapes that do not fit, TypeError as ``rotary`` has it. Source: Black et al. 2022, "GPT-NeoX-20B",
    section 2.1.
    """
    if x.dim() < 2 or theta.dim() != 1 or pos.shape[-1:] != x.shape[-2:-1] or x.shape[-1] < 2 * len(theta):
        expected = "x (... n 2*h+r), pos (... n), theta (h)"
        raise _refuse.shapes("positional.partial_rotary", expected, x=x, pos=pos, theta=theta)
    first, rest = x.tensor_split((2 * len(theta),), -1)
    first = rotary(first, pos, theta, pairs=pairs)
    return torch.cat((first, rest.expand(*first.shape[:-1], -1)), -1)


def frequencies(
    h: int,
    base: int | float = 10000.0,
    s: int | float = 1.0,
    *,
    scaling: Scaling = "linear",
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, " {h}"]:
    """θᵢ = base^(−i/h)/s for i < h: the angle that one position adds to each pair of ``rotary``. Statement:
    ``positional.frequencies``.

    ``scaling="ntk"`` has the base grow by s^(h/(h − 1)): the first pair turns as before, the last one s times more slowly.
    Computed in float64, whatever ``dtype`` (default: torch's) comes back. ValueError unless h ≥ 1 and base and s are finite and
    above 0, TypeError for a dtype that is not floating. Source: Su et al. 2021, "RoFormer", equation 15; Peng et al. 2023,
    "YaRN", section 3.1.
    """
    dtype = _floating("positional.frequencies", dtype)
    if h < 1 or not 0 < base < math.inf or not 0 < s < math.inf:
        raise ValueError(
            f"positional.frequencies: expected h >= 1, finite base, s > 0; got h {h}, base {base}, s {s}"
        )
    pair = torch.arange(h, dtype=torch.float64, device=device)
    slower = math.log(s) if scaling == "linear" else pair * (math.log(s) / max(h - 1, 1))
    return torch.exp(-pair * (math.log(base) / h) - slower).to(dtype)


def yarn(
    h: int,
    base: int | float,
    s: int | float,
    L: int | float,
    alpha: int | float = 1.0,
    beta: int | float = 32.0,
    *,
    ramp: Ramp = "turns",
    lengths: Lengths = "grow",
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> tuple[Float[Tensor, " {h}"], Float[Tensor, ""]]:
    """Frequencies θ for texts s times longer than the L positions of training, and m, which multiplies what ``rotary`` turned by
    them. Statement: ``positional.yarn``.

    Pairs that turn at most ``alpha`` times within L are slowed down s times, those that turn at least ``beta`` times stay;
    between them θᵢ = (1 − γᵢ)·base^(−i/h)/s + γᵢ·base^(−i/h), where γ grows with the number of turns, with ``ramp="pairs"`` with
    its logarithm, with ``ramp="whole"`` between whole pairs, as transformers has it. m is 0.1·ln s + 1 where s > 1, with
    ``lengths="stay"`` 1. ``yarn(h, 500_000, 8, 8192, 1, 4, lengths="stay")`` are Llama 3.1's. Computed in float64, whatever
    ``dtype`` (default: torch's) comes back. ValueError unless h ≥ 1 and the numbers are finite and positive, and for whole
    pairs of base 1; TypeError for a dtype that is not floating. Source: Peng et al. 2023, "YaRN", sections 3.2 and 3.4.
    """
    dtype = _floating("positional.yarn", dtype)
    given = base, s, L, alpha, beta
    if h < 1 or not all(0 < x < math.inf for x in given) or (ramp == "whole" and base == 1):
        raise ValueError(
            "positional.yarn: expected h >= 1, finite positive numbers, and for whole pairs a base other than 1; "
            f"got h {h}, base {base}, s {s}, L {L}, alpha {alpha}, beta {beta}"
        )
    free = frequencies(h, base, dtype=torch.float64, device=device)
    turns = L / (2 * math.pi) * free
    if ramp == "turns":
        at, low, high = turns, float(alpha), float(beta)
    elif ramp == "pairs":
        at, low, high = turns.log(), math.log(alpha), math.log(beta)
    else:
        one = math.log(L) - math.log(2 * math.pi)  # no quotient, which may overflow
        first, last = (h * (one - math.log(often)) / math.log(base) for often in (beta, alpha))
        at, low, high = -torch.arange(h, device=device).double(), -math.ceil(last), -math.floor(first)
    gamma = ((at - low) / (high - low)).where(at < high, 1).where(at > low, 0)
    theta = ((1 - gamma) / s + gamma) * free
    m = 0.1 * math.log(s) + 1 if lengths == "grow" and s > 1 else 1.0
    return theta.to(dtype), torch.tensor(m, dtype=dtype, device=device)


def _floating(formula: str, dtype: torch.dtype | None) -> torch.dtype:
    """The type asked for, or torch's default; refuse one that is not floating."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise TypeError(f"{formula}: expected a floating dtype; got {dtype}")
    return dtype


check_arguments(__name__)
