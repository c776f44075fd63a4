"""Scores as modules: their parameters, behind one call.

``score(q, k)`` takes queries (... n d_q) and keys (... m d_k) and returns (... n m); the softmax over the keys a query may
attend to is its attention. Parameters have the statements' names and shapes, are drawn as Glorot & Bengio 2010 do, and are
given to the function of the same name.
"""

from typing import Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn

from impl import _refuse
from impl._placement import Placement
from impl.scores import networks, products

__all__ = ["Score", "Dot", "ScaledDot", "General", "Additive", "Location", "Cosine", "SCORES"]


class Score(nn.Module):
    """What all scores are: a module that is called with queries and keys."""

    def forward(
        self, q: Float[Tensor, "... n d_q"], k: Float[Tensor, "... m d_k"]
    ) -> Float[Tensor, "... n m"]:
        """The score of every query against every key."""
        raise NotImplementedError


class Dot(Score):
    """``scores.dot``."""

    def forward(
        self, q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]
    ) -> Float[Tensor, "... n m"]:
        """q[i]·k[j]."""
        return products.dot(q, k)


class ScaledDot(Score):
    """``scores.scaled_dot``."""

    def forward(
        self, q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]
    ) -> Float[Tensor, "... n m"]:
        """q[i]·k[j] / √d_k."""
        return products.scaled_dot(q, k)


class General(Score):
    """``scores.general`` with its matrix W (d_q d_k)."""

    def __init__(self, d_q: int, d_k: int, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(d_q, d_k, **placement)))

    def forward(
        self, q: Float[Tensor, "... n d_q"], k: Float[Tensor, "... m d_k"]
    ) -> Float[Tensor, "... n m"]:
        """q[i]ᵀ W k[j]."""
        return products.general(q, k, self.W)


class Additive(Score):
    """``scores.additive`` with its hidden layer W (a d_q+d_k) and v (a)."""

    def __init__(self, d_q: int, d_k: int, a: int, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(a, d_q + d_k, **placement)))
        self.v = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, a, **placement)).squeeze(0))

    def forward(
        self, q: Float[Tensor, "... n d_q"], k: Float[Tensor, "... m d_k"]
    ) -> Float[Tensor, "... n m"]:
        """vᵀ tanh(W [q[i]; k[j]])."""
        return networks.additive(q, k, self.W, self.v)


class Location(Score):
    """``scores.location`` with its matrix W (m d_q), a row for each of m places.

    Called, it returns W q, whose softmax is ``scores.location``: so a mask acts before the softmax, as with every score.
    Of the keys only their number counts; m is the largest, fewer have the first places (Luong, Pham & Manning 2015).
    """

    def __init__(self, d_q: int, m: int, **placement: Unpack[Placement]) -> None:
        super().__init__()
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(m, d_q, **placement)))

    def forward(
        self, q: Float[Tensor, "... n d_q"], k: Float[Tensor, "... m d_k"]
    ) -> Float[Tensor, "... n m"]:
        """(W q[i])[j]. ValueError for more keys than there are places and for shapes that do not fit, TypeError unless queries
        and W share one floating dtype.
        """
        if min(q.dim(), k.dim()) < 2 or q.shape[-1] != self.W.shape[-1]:
            raise _refuse.shapes(
                "scores.location", "q (... n d_q), k (... m d_k), W (m d_q)", q=q, k=k, W=self.W
            )
        _refuse.check_floating("scores.location", q=q, W=self.W)
        lead = _refuse.check_lead("scores.location", q=q, k=k)
        if k.shape[-2] > self.W.shape[0]:
            raise _refuse.shapes("scores.location", f"k of at most {self.W.shape[0]} keys", q=q, k=k)
        s = nn.functional.linear(q, self.W[: k.shape[-2]])
        return s.expand(*lead, *s.shape[-2:])


class Cosine(Score):
    """``scores.cosine``."""

    def forward(
        self, q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]
    ) -> Float[Tensor, "... n m"]:
        """q[i]·k[j] / (‖q[i]‖ ‖k[j]‖)."""
        return products.cosine(q, k)


SCORES: dict[str, type[Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "general": General,
    "additive": Additive,
    "location": Location,
    "cosine": Cosine,
}
"""The module of each score, by its name."""
