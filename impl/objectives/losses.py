"""Over logits: the log-probability of a text; cross entropy, with label smoothing; distillation at a temperature."""

from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse
from impl._labels import IGNORED
from impl.recurrent.cells import wide

__all__ = ["autoregressive", "cross_entropy", "distillation"]

Smoothing = Literal["all", "others"]


def cross_entropy(
    s: Float[Tensor, "... T V"],
    y: Integer[Tensor, "... T"],
    epsilon: float = 0.0,
    *,
    smoothing: Smoothing = "all",
) -> Float[Tensor, "..."]:
    """The mean, over the places with a target, of −(1 − ε)·log p[y] − ε·mean(log p), where p is the softmax of the logits; 0
    where none has one. Statement: ``objectives.cross_entropy``.

    With ``smoothing="others"`` the second mean is that of the V − 1 other words, as in fairseq. Leading dimensions broadcast.
    IndexError for a target that is neither −100 nor in 0..V − 1: at once on the CPU, as torch's device-side assertion on CUDA.
    ValueError for shapes that do not fit, for ε outside 0..1 and for another smoothing, TypeError unless targets are integers
    and logits floating, whose dtype the result has. Source: Szegedy et al. 2016, "Rethinking the Inception Architecture for
    Computer Vision", section 7.
    """
    lead = check_targets("objectives.cross_entropy", s, y, epsilon)
    epsilon = over_all(epsilon, s.shape[-1], smoothing)
    asked = y >= 0
    law = torch.log_softmax(torch.where(asked[..., None], s, 0.0).to(wide(s.dtype)), -1)
    cost = -_at(law, torch.where(asked, y, 0), lead)
    if epsilon:
        cost = (1 - epsilon) * cost - epsilon * law.mean(-1)
    count = asked.sum(-1).clamp(min=1)
    return (torch.where(asked, cost, 0.0).sum(-1) / count).to(s.dtype)


def autoregressive(s: Float[Tensor, "... T V"], y: Integer[Tensor, "... T"]) -> Float[Tensor, "..."]:
    """Σ_t log p(y_t given y_<t, x), where the conditional law at place t is the softmax of the logits s[t]. Statement:
    ``objectives.autoregressive``.

    Leading dimensions broadcast. IndexError for a word below 0 or not below V: at once on the CPU, as torch's device-side
    assertion on CUDA. ValueError for shapes that do not fit, TypeError unless words are integers and logits floating, whose
    dtype the result has. Source: Bengio et al. 2003, "A Neural Probabilistic Language Model", section 1.1.
    """
    lead = check_targets("objectives.autoregressive", s, y)
    _refuse.check_range("objectives.autoregressive", "words", y, s.shape[-1])
    return _at(torch.log_softmax(s.to(wide(s.dtype)), -1), y, lead).sum(-1).to(s.dtype)


def distillation(
    z: Float[Tensor, "... T V"],
    u: Float[Tensor, "... T V"],
    tau: float,
    *,
    divergence: Literal["kl", "cross_entropy"] = "kl",
) -> Float[Tensor, "..."]:
    """τ² times the mean over the places of KL(softmax(u/τ) ‖ softmax(z/τ)): student's logits z, teacher's u. Statement:
    ``objectives.distillation``.

    ``divergence="cross_entropy"`` leaves the teacher's entropy in. Gradients flow to both; ``u.detach()`` where the teacher is
    not trained. Leading dimensions broadcast. ValueError for shapes that do not fit, for a temperature that is not above 0 and
    for another divergence; TypeError unless it is a number and both share one floating dtype, which is also the result's.
    Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network", section 2; Sanh et al. 2019, "DistilBERT".
    """
    if min(z.ndim, u.ndim) < 2 or z.shape[-2:] != u.shape[-2:]:
        raise _refuse.shapes("objectives.distillation", "z (... T V), u (... T V)", z=z, u=u)
    _refuse.check_lead("objectives.distillation", z=z, u=u)
    _refuse.check_floating("objectives.distillation", z=z, u=u)
    if not tau > 0:
        raise ValueError(f"objectives.distillation: expected a number tau above 0; got tau {tau!r}")
    log_p, log_q = (torch.log_softmax(x.to(wide(x.dtype)) / tau, -1) for x in (z, u))
    cost = log_q.exp() * (log_q - log_p if divergence == "kl" else -log_p)
    return (float(tau) ** 2 * cost.sum(-1).mean(-1)).to(z.dtype)


def _at(law: Tensor, y: Tensor, lead: torch.Size) -> Tensor:
    """The entry of each row at its word."""
    places = (*lead, y.shape[-1])
    ids = y.long().expand(places)[..., None]
    return law.expand(*places, law.shape[-1]).gather(-1, ids).squeeze(-1)


def check_targets(
    formula: str, s: Tensor, y: Tensor, epsilon: float = 0.0, V: int | None = None
) -> torch.Size:
    """Refuse what is no logits (or, with V, no rows to make them of), targets and smoothing; the leading dimensions that both
    broadcast to.
    """
    _refuse.check_integers(formula, "integer targets", y=y)
    if s.ndim < 2 or y.shape[-1:] != s.shape[-2:-1]:
        raise _refuse.shapes(
            formula, "s (... T V), y (... T)" if V is None else "x (... T d), y (... T)", s=s, y=y
        )
    _refuse.check_floating(formula, s=s)
    if not 0 <= epsilon <= 1:
        raise ValueError(f"{formula}: expected a number epsilon in 0..1; got epsilon {epsilon!r}")
    words = s.shape[-1] if V is None else V
    if not words:
        raise ValueError(f"{formula}: expected V >= 1; got V 0")
    _refuse.check_range(formula, "y", y, words, IGNORED)
    return _refuse.check_lead(formula, {"y": y}, s=s)


def over_all(epsilon: float, V: int, smoothing: str) -> float:
    """The share that says, spread over all words, what ε says spread as ``smoothing`` has it."""
    return epsilon * V / (V - 1) if smoothing == "others" and V > 1 else epsilon
