"""A power law with an offset, fitted to losses."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from impl import _refuse

STEPS = 100
"""Steps of the descent; it has converged before."""
OFFSETS = (0.02, 0.3, 0.6, 0.9, 0.98)
"""Where it begins: offsets as parts of the smallest loss. The best end is kept."""


@dataclass(frozen=True)
class Fit:
    """L(x) = offset + (scale/x)^power, as fitted, and an interval for each by the bootstrap.

    ``offset`` is what no x undercuts, in the unit of the losses; ``scale`` is in the unit of x.
    """

    offset: float
    scale: float
    power: float
    offset_interval: tuple[float, float]
    scale_interval: tuple[float, float]
    power_interval: tuple[float, float]

    def __call__(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The loss that the law predicts at x."""
        return self.offset + (self.scale / x) ** self.power


def fit(
    x: Float[Tensor, " n"],
    loss: Float[Tensor, " n"],
    *,
    offset: bool = True,
    huber: float = 1e-3,
    level: float = 0.95,
    resamples: int = 400,
    seed: int = 0,
) -> Fit:
    """Fit loss = offset + (scale/x)^power by least squares of logarithms, robust against outliers, with bootstrap intervals.

    The sum of Huber's function of ln(predicted) − ln(loss) is made least: squares up to ``huber``, absolute values beyond, as
    Hoffmann et al. 2022 do. An interval holds the middle ``level`` of as many fits as ``resamples`` says, each to the fitted law
    times residuals that are drawn from its own, widened for the parameters fitted; it takes for granted that losses scatter alike
    at every x. ``offset=False`` fits a plain power law. ValueError for fewer x than parameters and one more, for values that are
    not above 0, for losses that are all the same, and for a level outside 0 and 1.
    """
    _refuse.check_floating("scaling.fit", x=x, loss=loss)
    unknowns = 3 if offset else 2
    if x.ndim != 1 or loss.shape != x.shape:
        raise _refuse.shapes("scaling.fit", "x (n), loss (n)", x=x, loss=loss)
    if len(x.unique()) <= unknowns:
        raise ValueError(
            f"scaling.fit: expected more than {unknowns} different x for {unknowns} unknowns; got {len(x.unique())}"
        )
    if not (x.min() > 0 and loss.min() > 0 and x.isfinite().all() and loss.isfinite().all()):
        raise ValueError("scaling.fit: expected finite x and losses above 0")
    if loss.min() == loss.max():
        raise ValueError(
            f"scaling.fit: expected losses that tell a power; got {len(loss)} times {loss[0].item()}"
        )
    if not (0 < level < 1 and resamples > 0 and huber > 0):
        raise ValueError(
            f"scaling.fit: expected 0 < level < 1, resamples > 0, huber > 0; got {level}, {resamples}, {huber}"
        )
    first, v = x.double().log().min(), loss.double().log()
    u = x.double().log() - first
    best = _descend(u, v[None], offset, huber)
    predicted = _predict(best, u)
    residuals = (v - predicted[0]) * (len(x) / (len(x) - unknowns)) ** 0.5
    drawn = torch.randint(len(x), (resamples, len(x)), generator=Generator().manual_seed(seed))
    others = _descend(u, predicted + residuals[drawn], offset, huber)
    ends = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    found = [_numbers(p, first) for p in (best, others)]
    floor, scale, power = (each.item() for each in found[0])
    intervals = ((low, high) for low, high in (each.quantile(ends).tolist() for each in found[1]))
    return Fit(floor, scale, power, *intervals)


def _numbers(p: Tensor, first: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Offset, scale and power from parameters (B 3), e^first being the smallest x."""
    top, slope, share = p.T
    alpha = slope / (1 - share)
    return share * top.exp(), ((top + (-share).log1p()) / alpha + first).exp(), alpha


def _predict(p: Tensor, u: Tensor) -> Tensor:
    """ln L at each u ≥ 0, (B n), for L = L(0)·(φ + (1 − φ)·e^(−α·u)) and parameters ln L(0), (1 − φ)·α and φ, each (B 3).

    The first two, height and slope of ln L at the smallest x, are what losses tell whatever the offset is: with a and α of
    ln(e^(a − α·u) + e^c) a descent would creep along a valley where all three change.
    """
    top, slope, share = p.T[..., None]
    predicted: Tensor = top + torch.logaddexp(share.log(), (-share).log1p() - slope / (1 - share) * u)
    return predicted


def _descend(u: Tensor, v: Tensor, offset: bool, huber: float) -> Tensor:
    """The best parameters (B 3) for losses e^v, (B n), at e^u: Levenberg and Marquardt's steps from each of the beginnings."""
    beginnings = OFFSETS if offset else (0.0,)
    v = v.repeat_interleave(len(beginnings), 0)
    floor = v.amin(-1).exp() * torch.tensor(beginnings, dtype=v.dtype).repeat(len(v) // len(beginnings))
    rest = (v.exp() - floor[:, None]).log()  # a line, if the offset were this
    alpha = -(rest * (u - u.mean())).sum(-1) / (u - u.mean()).square().sum()
    top = (floor + (rest.mean(-1) + alpha * u.mean()).exp()).log()
    share = floor / top.exp()
    p, damping = torch.stack([top, alpha * (1 - share), share], -1), torch.ones(len(v), dtype=v.dtype)
    predicted = _predict(p, u)
    cost = _cost(predicted - v, huber)
    for _ in range(STEPS):
        r, beside = v - predicted, predicted - p[:, :1]
        fallen = p[:, 1:2] / (1 - p[:, 2:]) * u
        falling = (-fallen - beside).exp()
        J = torch.stack([torch.ones_like(r), -u * falling, (-beside).exp() - (1 + fallen) * falling], -1)
        weights = huber / r.abs().clamp(min=huber)
        rising = (J[..., 2] * weights * r).sum(-1) > 0  # else a share of 0 stays there
        J[..., 2] *= ((p[:, 2] > 0) | (rising & offset))[:, None]
        weighted = J.mT * weights[:, None]
        hessian = weighted @ J
        curved = hessian.diagonal(dim1=-2, dim2=-1).clamp(min=1e-30)
        step = torch.linalg.solve(
            hessian + torch.diag_embed(damping[:, None] * curved), weighted @ r[..., None]
        )[..., 0]
        tried = p + step
        tried[:, 2].clamp_(min=0.0)
        there = _predict(tried, u)
        found = _cost(there - v, huber)
        better = found < cost
        p, cost = torch.where(better[:, None], tried, p), torch.where(better, found, cost)
        predicted = torch.where(better[:, None], there, predicted)
        damping = torch.where(better, damping / 5, damping * 3).clamp(1e-12, 1e9)
    best = cost.view(-1, len(beginnings)).argmin(-1)
    return p.view(len(best), len(beginnings), 3)[torch.arange(len(best)), best]


def _cost(r: Tensor, huber: float) -> Tensor:
    """The sum of Huber's function of the residuals (B n)."""
    return torch.nn.functional.huber_loss(r, torch.zeros_like(r), reduction="none", delta=huber).sum(-1)
