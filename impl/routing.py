"""Routing: which of many networks, the experts, a token is sent to, and how much each of them counts."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments

__all__ = ["top_k", "capacity"]

Weights = Literal["renormalised", "shares"]


def top_k(
    s: Float[Tensor, "... n E"],
    k: int,
    *,
    weights: Weights = "renormalised",
) -> Float[Tensor, "... n E"]:
    """w: softmax(s) over the k experts of the largest logits, 0 for the others. Statement: ``routing.top_k``.

    Of experts with equal logits those with the smaller number are asked; k ≥ E asks all. ``weights="shares"`` leaves the shares
    of the softmax over all experts as they are. ValueError for a tensor without a token's axis or experts and for k below 1,
    TypeError unless s is of a floating dtype. Source: Shazeer et al. 2017, equations 3 and 5; Jiang et al. 2024, section 2.1.
    """
    index, found = _choose("routing.top_k", s, k, weights)
    return torch.zeros_like(s).scatter(-1, index, found)


def capacity(
    s: Float[Tensor, "... n E"],
    k: int,
    C: int,
    *,
    weights: Weights = "renormalised",
    order: Literal["tokens", "choices"] = "tokens",
) -> Float[Tensor, "... n E"]:
    """w: as of ``top_k``, but 0 where an expert has C tokens before. Statement: ``routing.capacity``.

    Tokens of one row of the batch are counted in their order; with ``order="choices"`` first choices come before second ones.
    Nothing is renormalised. ValueError for C below 1; else errors are those of ``top_k``. Source: Fedus et al. 2021, section
    2.2; Lepikhin et al. 2020, algorithm 1.
    """
    if C < 1:
        raise ValueError(f"routing.capacity: expected C >= 1; got {C}")
    index, found = _choose("routing.capacity", s, k, weights)
    line = index if order == "tokens" else index.mT  # in which choices come to the experts
    hot = F.one_hot(line.flatten(-2), s.shape[-1])
    place = (hot.cumsum(-2) * hot).sum(-1).unflatten(-1, line.shape[-2:])
    kept = (place if order == "tokens" else place.mT) <= C
    return torch.zeros_like(s).scatter(-1, index, torch.where(kept, found, 0.0))


def _choose(formula: str, s: Tensor, k: int, weights: Weights) -> tuple[Tensor, Tensor]:
    """The experts that each token asks, the best first, and their weights (... n k)."""
    if s.dim() < 2 or not s.shape[-1]:
        raise _refuse.shapes(formula, "s (... n E), E >= 1", s=s)
    if k < 1:
        raise ValueError(f"{formula}: expected k >= 1; got {k}")
    _refuse.check_floating(formula, s=s)
    index = torch.sort(s, dim=-1, descending=True, stable=True).indices[..., :k]
    best = s.gather(-1, index) if weights == "renormalised" else torch.softmax(s, -1).gather(-1, index)
    return index, torch.softmax(best, -1) if weights == "renormalised" else best


check_arguments(__name__)
