"""Variants of ``attention.local``."""

import math

import torch

from tests.mutants import right, wrong
from tests.mutants.attention import blank, blank_queries, masked

LOCAL = "attention.local"


def positions(q, k, W_p, v_p, m=None):
    """The predicted positions among ``m`` keys, or those there are."""
    return (k.shape[-2] if m is None else m) * torch.sigmoid(torch.tanh(q @ W_p.mT) @ v_p)


def cut_softmax(s, falloff, window, mask):
    """The weights from scores, the logarithm of the Gaussian, and the window, right."""
    # A position that is NaN reaches nothing.
    return masked(s, window) * torch.where(window, falloff, -math.inf).exp()


def local(
    place=positions,
    sigma=lambda D: D / 2,
    width=lambda D: D,
    scale=lambda q: 1.0,
    mix=cut_softmax,
    masks=lambda q, k, p, D, mask: mask,
):
    """Local attention, right but for what is given."""

    def attention(q, k, v, W_p, v_p, D, mask=None):
        p = place(q, k, W_p, v_p)
        mask = masks(q, k, p, D, mask)
        distance = torch.arange(k.shape[-2], dtype=q.dtype) - p[..., None]
        window = distance.abs() <= width(D)
        window = window if mask is None else window & mask
        q, k, v = blank_queries(q, mask), blank(k, window), blank(v, window)
        # Far keys are kept at a distance whose Gaussian is 0 beyond doubt, so that no infinity arises.
        falloff = -((distance / sigma(D)).clamp(-1e3, 1e3) ** 2) / 2
        return mix(q @ k.mT * scale(q), falloff, window, mask) @ v

    return attention


wrong(LOCAL, "sigma_is_D", "σ = D instead of D/2.", cause=r"\bw is (not divided by 2|D\b)")(
    local(sigma=lambda D: D)
)
wrong(LOCAL, "variance_is_half", "Takes D/2 for σ², not for σ.", cause=r"w instead of w\^2|root of D")(
    local(sigma=lambda D: math.sqrt(D / 2))
)
wrong(LOCAL, "no_two", "exp(−(j − p)²/σ²), without the 2.", cause="(α|alpha) is not divided by 2")(
    local(sigma=lambda D: D / 2 / math.sqrt(2))
)
wrong(
    LOCAL,
    "no_gaussian",
    "Cuts the window and leaves the Gaussian out.",
    cause="not multiplied by exp|a where alpha",
)(local(mix=lambda s, falloff, window, mask: masked(s, window)))
wrong(
    LOCAL,
    "gaussian_inside",
    "Multiplies the scores by the Gaussian before the softmax.",
    cause="before the softmax|Gaussian",
)(local(mix=lambda s, falloff, window, mask: masked(s * falloff.exp(), window)))
wrong(
    LOCAL,
    "renormalised",
    "Lets the weights sum to 1 again after the Gaussian.",
    cause="renormalis|divided by (its|the) sum",
)(local(mix=lambda s, falloff, window, mask: masked(s + falloff, window)))
wrong(
    LOCAL, "cut_after", "Softmax over all permitted keys, then the cut.", cause="sum to 1|abs.* not applied"
)(local(mix=lambda s, falloff, window, mask: masked(s, mask) * falloff.exp() * window))
wrong(
    LOCAL,
    "no_cut",
    "Never cuts: only the Gaussian is left (right under window=whole).",
    cause="abs.* is not applied",
)(local(width=lambda D: math.inf))
wrong(
    LOCAL,
    "cut_where_whole",
    "Cuts though the whole sequence was promised.",
    window="whole",
    cause="window=cut",
)(local())
wrong(LOCAL, "half_as_wide", "Takes D for the whole width of the window.", cause=r"w where D\b|D / 2 in")(
    local(width=lambda D: D / 2)
)
wrong(
    LOCAL,
    "relative_position",
    "Forgets the factor m: every position lies between 0 and 1.",
    cause=r"not multiplied by m\b",
)(local(lambda q, k, W_p, v_p: positions(q, k, W_p, v_p, 1)))
wrong(LOCAL, "last_position", "Scales by m − 1, the last position.", cause=r"m . 1 instead of m\b")(
    local(lambda q, k, W_p, v_p: positions(q, k, W_p, v_p, k.shape[-2] - 1))
)
wrong(LOCAL, "no_tanh", "Predicts the position linearly.", cause="no tanh")(
    local(lambda q, k, W_p, v_p: k.shape[-2] * torch.sigmoid(q @ W_p.mT @ v_p))
)


@wrong(LOCAL, via=local, cause=r"\bp\b.*round|round.* \bp\b")
def whole_position(q, k, W_p, v_p):
    """Rounds the position to a key."""
    p = positions(q, k, W_p, v_p)
    return p + (p.round() - p).detach()


wrong(
    LOCAL,
    "position_detached",
    "Passes no gradient to the position: W_p and v_p never learn.",
    cause=r"^p\b.*constant|reaches W_p",
)(local(lambda *given: positions(*given).detach()))
wrong(
    LOCAL,
    "scaled",
    "Divides the scores by √d_k, as the Transformer does and Luong does not.",
    cause=r"\bs\b.*is divided by √\(?d_k",
)(local(scale=lambda q: 1 / math.sqrt(q.shape[-1])))
wrong(LOCAL, "counted_from_one", "Counts the keys from 1.", cause="off by one|counts from")(
    local(lambda *given: positions(*given) - 1)
)
wrong(LOCAL, "maskless", "Takes the mask and does not look at it.", cause="mask is ignored|must not read")(
    local(masks=lambda q, k, p, D, mask: None)
)
wrong(
    LOCAL, "nan_without_window", "0/0 where no key is in reach, though 0 was promised.", cause="a row nothing"
)(
    local(
        mix=lambda s, falloff, window, mask: (
            torch.softmax(s.masked_fill(~window, -math.inf), -1) * falloff.exp()
        )
    )
)
wrong(LOCAL, "window_open", "Leaves out the keys that are exactly D away.", cause=r"< D\b|exactly D|too few")(
    local(width=lambda D: math.nextafter(D, 0.0))
)


@wrong(LOCAL, via=lambda step: local(masks=step), cause=r"< p\S* ?\+ ?D|p ?\+ ?D|too few is seen")
def window_open_above(q, k, p, D, mask):
    """Cuts from p − D to p + D as Python slices do: without the last."""
    ahead = torch.arange(k.shape[-2], dtype=q.dtype) < p[..., None] + D
    return ahead if mask is None else mask & ahead


right(LOCAL, "as_written", "Line by line.")(local())
right(LOCAL, "as_written_whole", "Line by line, nothing cut.", window="whole")(
    local(width=lambda D: math.inf)
)


@right(LOCAL, via=lambda step: local(mix=step))
def in_one_exponential(s, falloff, window, mask):
    """The Gaussian is added to the logarithm of the weights."""
    some = window.any(-1, keepdim=True)
    total = s.masked_fill(~(window | ~some), -math.inf).logsumexp(-1, keepdim=True)
    return torch.where(window, s - total + falloff, -math.inf).exp()
