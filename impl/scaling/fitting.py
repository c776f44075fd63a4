"""A power law with an offset, fitted to losses."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from impl import _refuse

STEPS = 60
"""Steps of the descent; it has converged long before."""
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
        """The loss that the law foretells at x."""
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

    The sum of Huber's function of ln(foretold) − ln(loss) is made least: squares up to ``huber``, absolute values beyond, as
    Hoffmann et al. 2022 do. An interval holds the middle ``level`` of as many fits as ``resamples`` says, each to the fitted law
    times residuals that are drawn from its own, widened for the parameters fitted; it takes for granted that losses scatter alike
    at every x. ``offset=False`` fits a plain power law. ValueError for fewer x than parameters and one more, for values that are
    not above 0, and for a level outside 0 and 1.
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
    if not (0 < level < 1 and resamples > 0 and huber > 0):
        raise ValueError(
            f"scaling.fit: expected 0 < level < 1, resamples > 0, huber > 0; got {level}, {resamples}, {huber}"
        )
    u, v = x.double().log(), loss.double().log()
    middle = u.mean()
    best = _descend(u - middle, v[None], offset, huber)
    foretold = _foretell(best, u - middle)
    residuals = (v - foretold[0]) * (len(x) / (len(x) - unknowns)) ** 0.5
    drawn = torch.randint(len(x), (resamples, len(x)), generator=Generator().manual_seed(seed))
    others = _descend(u - middle, foretold + residuals[drawn], offset, huber)
    ends = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    (offset_at, scale, power), drawn_at = _numbers(best, middle), _numbers(others, middle)
    low, high = torch.stack(drawn_at).quantile(ends, -1).tolist()
    intervals = list(zip(low, high, strict=True))
    return Fit(offset_at.item(), scale.item(), power.item(), *intervals)


def _numbers(p: Tensor, middle: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Offset, scale and power from parameters (B 3)."""
    return p[:, 2].exp(), (p[:, 0] / p[:, 1] + middle).exp(), p[:, 1]


def _foretell(p: Tensor, u: Tensor) -> Tensor:
    """ln(e^(a − α·u) + e^c) for parameters (a, α, c), each (B 3), at each u: (B n)."""
    a, alpha, c = p.T[..., None]
    return torch.logaddexp(a - alpha * u, c.expand(-1, len(u)))


def _descend(u: Tensor, v: Tensor, offset: bool, huber: float) -> Tensor:
    """The best parameters (B 3) for losses e^v, (B n), at e^u: Levenberg and Marquardt's steps from each of the beginnings."""
    beginnings = OFFSETS if offset else (0.0,)
    v = v.repeat_interleave(len(beginnings), 0)
    floor = v.amin(-1).exp() * torch.tensor(beginnings, dtype=v.dtype).repeat(len(v) // len(beginnings))
    rest = (v.exp() - floor[:, None]).log()  # a line, if the offset were this
    alpha = -(rest * (u - u.mean())).sum(-1) / (u - u.mean()).square().sum()
    p = torch.stack([rest.mean(-1) + alpha * u.mean(), alpha, floor.log().clamp(min=-1e3)], -1)
    unknowns, damping = 3 if offset else 2, torch.ones(len(v), dtype=v.dtype)
    cost = _cost(_foretell(p, u) - v, huber)
    for _ in range(STEPS):
        foretold = _foretell(p, u)
        r = v - foretold
        falling = (p[:, :1] - p[:, 1:2] * u - foretold).exp()  # the power's part of the loss
        J = torch.stack([falling, -falling * u, 1 - falling], -1)[..., :unknowns]
        weighted = J.mT * (huber / r.abs().clamp(min=huber))[:, None]
        hessian = weighted @ J
        curved = hessian.diagonal(dim1=-2, dim2=-1)
        step = torch.linalg.solve(
            hessian + torch.diag_embed(damping[:, None] * curved + 1e-12), weighted @ r[..., None]
        )[..., 0]
        tried = torch.cat([p[:, :unknowns] + step, p[:, unknowns:]], -1)
        found = _cost(_foretell(tried, u) - v, huber)
        better = found < cost
        p, cost = torch.where(better[:, None], tried, p), torch.where(better, found, cost)
        damping = torch.where(better, damping / 5, damping * 3).clamp(1e-9, 1e9)
    best = cost.view(-1, len(beginnings)).argmin(-1)
    return p.view(len(best), len(beginnings), 3)[torch.arange(len(best)), best]


def _cost(r: Tensor, huber: float) -> Tensor:
    """The sum of Huber's function of the residuals (B n)."""
    return torch.nn.functional.huber_loss(r, torch.zeros_like(r), reduction="none", delta=huber).sum(-1)
