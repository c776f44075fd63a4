"""Optimization: one step of training, as a function of the weights, their gradient and what is kept of earlier ones."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments

__all__ = ["adamw"]


def adamw(
    theta: Float[Tensor, "... d"],
    g: Float[Tensor, "... d"],
    m: Float[Tensor, "... d"],
    v: Float[Tensor, "... d"],
    t: int,
    eta: float,
    beta_1: float,
    beta_2: float,
    eps: float,
    w: float,
    *,
    decay: Literal["decoupled", "by_itself", "l2"] = "decoupled",
) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... d"], Float[Tensor, "... d"]]:
    """θ' = (1 − η w) θ − η m̂/(√v̂ + ε), and the moments m' = β₁ m + (1 − β₁) g, v' = β₂ v + (1 − β₂) g², which over 1 − βᵗ
    are m̂ and v̂. Statement: ``optimization.adamw``.

    No tensor given is written to. ``decay="by_itself"`` has (1 − w) θ, ``"l2"`` adds w θ to the gradient. Where β is 1 a moment
    stays as it is, and is divided by nothing. Leading dimensions broadcast. ValueError for tensors of several widths, for t below
    1, β outside 0 … 1, η or ε that is not above 0, w below 0 and numbers that are not finite; TypeError unless all share one
    floating dtype. Source: Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2.
    """
    formula, given = "optimization.adamw", {"theta": theta, "g": g, "m": m, "v": v}
    if theta.dim() < 1 or any(x.shape[-1:] != theta.shape[-1:] for x in given.values()):
        raise _refuse.shapes(formula, "theta, g, m and v of one shape (... d)", **given)
    if not theta.shape == g.shape == m.shape == v.shape:
        _refuse.check_lead(formula, given)
    _refuse.check_floating(formula, **given)
    finite = 0 < eta < math.inf and 0 < eps < math.inf and 0 <= w < math.inf
    if not (t >= 1 and 0 <= beta_1 <= 1 and 0 <= beta_2 <= 1 and finite):
        raise ValueError(
            f"{formula}: expected t >= 1, 0 <= beta_1, beta_2 <= 1, finite eta > 0, eps > 0 and w >= 0; "
            f"got t {t}, beta_1 {beta_1}, beta_2 {beta_2}, eta {eta}, eps {eps}, w {w}"
        )
    if theta.dtype.itemsize == 2:
        wide = theta.float(), g.float(), m.float(), v.float()
        theta_new, m_new, v_new = adamw(*wide, t, eta, beta_1, beta_2, eps, w, decay=decay)
        return theta_new.to(theta.dtype), m_new.to(theta.dtype), v_new.to(theta.dtype)
    if decay == "l2":
        g = g + w * theta
    m_new = beta_1 * m + (1 - beta_1) * g
    v_new = beta_2 * v + (1 - beta_2) * g.square()
    lack_1, lack_2 = (1 - beta**t if beta < 1 else 1.0 for beta in (beta_1, beta_2))
    u = (m_new / lack_1) / (torch.sqrt(v_new / lack_2) + eps)
    kept = {"decoupled": 1 - eta * w, "by_itself": 1 - w, "l2": 1.0}[decay]
    return kept * theta - eta * u, m_new, v_new


check_arguments(__name__)
