"""Losses over logits: cross entropy with targets that ask nothing, and with label smoothing."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse
from impl.recurrent.cells import wide

__all__ = ["cross_entropy"]

NOT_ASKED = -100


def cross_entropy(
    s: Float[Tensor, "... T V"], y: Integer[Tensor, "... T"], epsilon: float = 0.0
) -> Float[Tensor, "..."]:
    """The mean, over the places with a target, of −(1 − ε)·log p[y] − ε·mean(log p), where p is the softmax of the logits; 0
    where none has one. Statement: ``objectives.cross_entropy``.

    Leading dimensions broadcast. IndexError for a target that is neither −100 nor in 0..V − 1: at once on the CPU, as torch's
    device-side assertion on CUDA. ValueError for shapes that do not fit and for ε outside 0..1, TypeError unless targets are
    integers and logits floating, whose dtype the result has. Source: Szegedy et al. 2016, "Rethinking the Inception
    Architecture for Computer Vision", section 7.
    """
    lead = check_targets("objectives.cross_entropy", s, y, epsilon)
    V, asked = s.shape[-1], y >= 0
    law = torch.log_softmax(torch.where(asked[..., None], s, 0.0).to(wide(s.dtype)), -1)
    places = (*lead, y.shape[-1])
    law, ids = law.expand(*places, V), torch.where(asked, y, 0).long().expand(places)
    cost = -law.gather(-1, ids[..., None]).squeeze(-1)
    if epsilon:
        cost = (1 - epsilon) * cost - epsilon * law.mean(-1)
    count = asked.sum(-1).clamp(min=1)
    return (torch.where(asked, cost, 0.0).sum(-1) / count).to(s.dtype)


def check_targets(formula: str, s: Tensor, y: Tensor, epsilon: float) -> torch.Size:
    """Refuse what is no logits, targets and smoothing; the leading dimensions that both broadcast to."""
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise _refuse.dtypes(formula, "integer targets", y=y)
    if s.ndim < 2 or y.shape[-1:] != s.shape[-2:-1]:
        raise _refuse.shapes(formula, "s (... T V), y (... T)", s=s, y=y)
    _refuse.check_floating(formula, s=s)
    if not (isinstance(epsilon, (int, float)) and 0 <= epsilon <= 1):
        raise ValueError(f"{formula}: expected a number epsilon in 0..1; got epsilon {epsilon!r}")
    check_range(formula, y, s.shape[-1])
    return _refuse.check_lead(formula, {"y": y}, s=s)


def check_range(formula: str, y: Tensor, V: int) -> None:
    """Refuse targets that are neither −100 nor a word; on a device, and within a compiled function, nothing is asked."""
    if y.is_cpu and not torch.compiler.is_compiling():
        wrong = (y != NOT_ASKED) & ((y < 0) | (y >= V))
        if wrong.any():
            raise _refuse.out_of_range(
                formula, "targets other than −100", torch.where(y == NOT_ASKED, 0, y), V
            )
