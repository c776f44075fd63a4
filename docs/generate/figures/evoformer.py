"""Figures of the Evoformer: what a triangle update makes of closeness that is known of some pairs only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import torch
from matplotlib.axes import Axes
from torch import Tensor

from generate.drawing import group
from impl.evoformer import TriangleMultiplicationWeights, triangle_multiplication

N, KNOWN, LINEAR = 40, 0.3, 1e4
"""Residues, the share of pairs that are known, and an ε beside which a normalization divides by its root alone."""


def _fold() -> Tensor:
    """Places of a chain that turns back on itself, as a strand of a sheet does."""
    t = torch.linspace(0, 1, N, dtype=torch.float64)
    return torch.stack((torch.cos(7 * torch.pi * t), 4 * t, torch.sin(7 * torch.pi * t)), -1)


def _weights() -> TriangleMultiplicationWeights:
    """Weights by hand for pairs (v, −v): both edges are v, all gates are open, and what comes out is (Σ v v, −Σ v v)."""
    one, none = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    ahead, shut, open_ = torch.eye(2, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.float64), 30 * one
    edge = LINEAR**0.5 * torch.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    turned = LINEAR**0.5 * torch.tensor([[1.0, -1.0], [0.0, 0.0]], dtype=torch.float64)
    first, second = (edge, none, shut, open_), (turned, none, shut, open_)
    return TriangleMultiplicationWeights(
        one, none, *first, *second, one, none, LINEAR**0.5 * ahead, none, shut, open_
    )


@cache
def _closeness() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """How close all pairs are, which of them are known, what is known, and what an update says."""
    places = _fold()
    close = torch.exp(-torch.cdist(places, places).square())
    drawn = (torch.rand(N, N, generator=torch.Generator().manual_seed(0)) < KNOWN).triu()
    known = drawn | drawn.T | torch.eye(N, dtype=torch.bool)
    v = close * known
    update = triangle_multiplication(torch.stack((v, -v), -1), _weights(), LINEAR, False)[..., 0]
    return close, known, v, update


def _agreement(said: Tensor) -> float:
    """The correlation with how close a pair is, over the pairs that are not known."""
    close, known, *_ = _closeness()
    return float(torch.corrcoef(torch.stack((said[~known], close[~known])))[0, 1])


def _matrix(axes: Axes, which: int, title: str) -> None:
    axes.imshow(_closeness()[which].numpy(), cmap="Blues", vmin=0)
    axes.set(title=title, xlabel="residue j", ylabel="residue i")
    axes.grid(False)


def _triangles() -> str:
    _, known, _, update = _closeness()
    return group(
        f"What two sides of a triangle say of the third, {N} residues in a coil. Left: how close each pair is, exp(−distance²). "
        f"Middle: {float(known.double().mean()):.0%} of the pairs are known, the others 0. Right: one update by outgoing edges, "
        "its weights set by hand so that it is Σₖ vᵢₖ·vⱼₖ. Over the pairs that are not known, its correlation with closeness is "
        f"{_agreement(update):.2f}.",
        ("all", partial(_matrix, which=0, title="close"), (2.5, 2.6)),
        ("known", partial(_matrix, which=2, title="known"), (2.5, 2.6)),
        ("updated", partial(_matrix, which=3, title="from triangles"), (2.5, 2.6)),
    )


FIGURES: dict[str, Callable[[], str]] = {"evoformer.triangle_multiplication": _triangles}
