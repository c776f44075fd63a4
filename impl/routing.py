"""Routing: which of many networks, the experts, a token is sent to, and how much each of them counts."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments

__all__ = ["top_k"]


def top_k(
    s: Float[Tensor, "... n E"],
    k: int,
    *,
    weights: Literal["renormalised", "shares"] = "renormalised",
) -> Float[Tensor, "... n E"]:
    """w: softmax(s) over the k experts of the largest logits, 0 for the others. Statement: ``routing.top_k``.

    Of experts with equal logits those with the smaller number are asked; k ≥ E asks all. ``weights="shares"`` leaves the shares
    of the softmax over all experts as they are. ValueError for a tensor without a token's axis and for k below 1, TypeError
    unless s is of a floating dtype. Source: Shazeer et al. 2017, equations 3 and 5; Jiang et al. 2024, section 2.1.
    """
    if s.dim() < 2:
        raise _refuse.shapes("routing.top_k", "s (... n E)", s=s)
    if k < 1:
        raise ValueError(f"routing.top_k: expected k >= 1; got {k}")
    _refuse.check_floating("routing.top_k", s=s)
    index = torch.sort(s, dim=-1, descending=True, stable=True).indices[..., :k]
    best = s.gather(-1, index) if weights == "renormalised" else torch.softmax(s, -1).gather(-1, index)
    found = torch.softmax(best, -1) if weights == "renormalised" else best
    return torch.zeros_like(s).scatter(-1, index, found)


check_arguments(__name__)
