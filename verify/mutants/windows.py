"""Variants of ``attention.local``."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import blank, blank_queries, masked

LOCAL = "attention.local"


def positions(q: Tensor, W_p: Tensor, v_p: Tensor, m: int) -> Tensor:
    """The predicted positions."""
    return m * torch.sigmoid(torch.tanh(q @ W_p.mT) @ v_p)


def attended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    p: Tensor,
    D: float,
    mask: Tensor | None,
    *,
    sigma: float | None = None,
    width: float | None = None,
    scale: float = 1.0,
    mix: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Local attention around given positions, right but for what is changed.

    ``mix(scores, log of the Gaussian, window)`` gives the weights.
    """
    distance = torch.arange(k.shape[-2], dtype=q.dtype) - p[..., None]
    window = distance.abs() <= (D if width is None else width)
    window = window if mask is None else window & mask
    q, k, v = blank_queries(q, mask), blank(k, window), blank(v, window)
    sigma = D / 2 if sigma is None else sigma
    # Far keys are kept at a distance whose Gaussian is 0 beyond doubt, so that no infinity arises.
    falloff = -((distance / sigma).clamp(-1e3, 1e3) ** 2) / 2
    s = q @ k.mT * scale
    near = torch.where(window, falloff, -math.inf).exp()  # a position that is NaN reaches nothing
    a = masked(s, window) * near if mix is None else mix(s, falloff, window)
    return a @ v


@wrong(LOCAL)
def sigma_is_D(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """σ = D instead of D/2."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, sigma=D)


@wrong(LOCAL)
def variance_is_half(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Takes D/2 for σ², not for σ."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, sigma=math.sqrt(D / 2))


@wrong(LOCAL)
def no_two(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """exp(−(j − p)²/σ²), without the 2."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, sigma=D / 2 / math.sqrt(2))


@wrong(LOCAL)
def no_gaussian(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Cuts the window and leaves the Gaussian out."""
    p = positions(q, W_p, v_p, k.shape[-2])
    return attended(q, k, v, p, D, mask, mix=lambda s, falloff, window: masked(s, window))


@wrong(LOCAL)
def gaussian_inside(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Multiplies the scores by the Gaussian before the softmax."""
    p = positions(q, W_p, v_p, k.shape[-2])
    return attended(q, k, v, p, D, mask, mix=lambda s, falloff, window: masked(s * falloff.exp(), window))


@wrong(LOCAL)
def renormalised(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Lets the weights sum to 1 again after the Gaussian."""
    p = positions(q, W_p, v_p, k.shape[-2])
    return attended(q, k, v, p, D, mask, mix=lambda s, falloff, window: masked(s + falloff, window))


@wrong(LOCAL)
def cut_after(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Softmax over all permitted keys, then the cut."""

    def mix(s: Tensor, falloff: Tensor, window: Tensor) -> Tensor:
        return masked(s, mask) * falloff.exp() * window

    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, mix=mix)


@wrong(LOCAL)
def no_cut(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Never cuts: only the Gaussian is left (right under window=whole)."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, width=math.inf)


@wrong(LOCAL, window="whole")
def cut_where_whole(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Cuts though the whole sequence was promised."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask)


@wrong(LOCAL)
def half_as_wide(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Takes D for the whole width of the window."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, width=D / 2)


@wrong(LOCAL)
def relative_position(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Forgets the factor m: every position lies between 0 and 1."""
    return attended(q, k, v, positions(q, W_p, v_p, 1), D, mask)


@wrong(LOCAL)
def last_position(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Scales by m − 1, the last position."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2] - 1), D, mask)


@wrong(LOCAL)
def no_tanh(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Predicts the position linearly."""
    return attended(q, k, v, k.shape[-2] * torch.sigmoid(q @ W_p.mT @ v_p), D, mask)


@wrong(LOCAL)
def whole_position(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Rounds the position to a key."""
    p = positions(q, W_p, v_p, k.shape[-2])
    return attended(q, k, v, p + (p.round() - p).detach(), D, mask)


@wrong(LOCAL)
def position_detached(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Passes no gradient to the position: W_p and v_p never learn."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]).detach(), D, mask)


@wrong(LOCAL)
def scaled(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Divides the scores by √d_k, as the Transformer does and Luong does not."""
    p = positions(q, W_p, v_p, k.shape[-2])
    return attended(q, k, v, p, D, mask, scale=1 / math.sqrt(q.shape[-1]))


@wrong(LOCAL)
def counted_from_one(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Counts the keys from 1."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]) - 1, D, mask)


@wrong(LOCAL)
def maskless(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Takes the mask and does not look at it."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, None)


@wrong(LOCAL)
def nan_without_window(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """0/0 where no key is in reach, though 0 was promised."""

    def mix(s: Tensor, falloff: Tensor, window: Tensor) -> Tensor:
        return torch.softmax(s.masked_fill(~window, -math.inf), -1) * falloff.exp()

    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, mix=mix)


@wrong(LOCAL)
def window_open(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Leaves out the keys that are exactly D away."""
    p = positions(q, W_p, v_p, k.shape[-2])
    return attended(q, k, v, p, D, mask, width=math.nextafter(D, 0.0))


@wrong(LOCAL)
def window_open_above(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Cuts from p − D to p + D as Python slices do: without the last."""
    p = positions(q, W_p, v_p, k.shape[-2])
    ahead = torch.arange(k.shape[-2], dtype=q.dtype) < p[..., None] + D
    return attended(q, k, v, p, D, ahead if mask is None else mask & ahead)


@right(LOCAL)
def as_written(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Line by line."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask)


@right(LOCAL, window="whole")
def as_written_whole(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """Line by line, nothing cut."""
    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, width=math.inf)


@right(LOCAL)
def in_one_exponential(
    q: Tensor, k: Tensor, v: Tensor, W_p: Tensor, v_p: Tensor, D: float, mask: Tensor | None = None
) -> Tensor:
    """The Gaussian added to the logarithm of the weights, then one exponential."""

    def mix(s: Tensor, falloff: Tensor, window: Tensor) -> Tensor:
        some = window.any(-1, keepdim=True)
        total = s.masked_fill(~(window | ~some), -math.inf).logsumexp(-1, keepdim=True)
        return torch.where(window, s - total + falloff, -math.inf).exp()

    return attended(q, k, v, positions(q, W_p, v_p, k.shape[-2]), D, mask, mix=mix)
