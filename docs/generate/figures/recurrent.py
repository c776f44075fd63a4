"""Figures of recurrent networks: what becomes of a gradient on its way back through the steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from matplotlib.axes import Axes
from torch.func import jacrev

import impl.recurrent
from generate.drawing import FOUR, INK, ONE, THREE, TWO, group, normal

STEPS, WIDTH = 40, 16
SUMS = ((0.5, ONE), (0.9, TWO), (1.1, THREE), (1.5, FOUR))
"""Row sums ω of |W_hh|, and their colours."""


def jacobians(omega: float, scale: float) -> torch.Tensor:
    """∂h_t/∂h_0 for every step t, with a W_hh whose rows |W_hh| each sum to ω, and inputs of standard deviation ``scale``."""
    W_hh = normal(WIDTH, WIDTH, seed=1)
    # A permutation's rows have one entry: nothing cancels, so that the bound is attained where the units are linear.
    W_hh = omega * torch.eye(WIDTH, dtype=torch.float64)[W_hh[0].argsort()]
    x, nothing = scale * normal(STEPS, WIDTH), torch.eye(WIDTH, dtype=torch.float64)

    def states(h: torch.Tensor) -> torch.Tensor:
        return impl.recurrent.rnn(x, h, nothing, W_hh, nothing)[0]

    return jacrev(states)(torch.zeros(WIDTH, dtype=torch.float64))  # type: ignore[no-any-return]


def _vanishing(axes: Axes, scale: float, title: str) -> None:
    steps = range(1, STEPS + 1)
    for omega, colour in SUMS:
        norms = jacobians(omega, scale).abs().sum(-1).amax(-1)
        axes.plot(steps, [omega**t for t in steps], color=colour, linewidth=0.8)
        axes.plot(steps, norms.numpy(), "o", color=colour, markersize=2.5, label=f"ω = {omega:g}")
    axes.axhline(1, color=INK, linewidth=0.5)
    axes.set(yscale="log", ylim=(1e-13, 1e10), xlabel="step t", ylabel="‖∂hₜ/∂h₀‖", title=title)
    axes.legend(loc="upper left", ncols=2, handlelength=0.6, columnspacing=0.8)


FIGURES: dict[str, Callable[[], str]] = {
    "recurrent.rnn": lambda: group(
        f"How the state after t steps depends on the first one: the largest row sum of |∂hₜ/∂h₀| (dots), and its bound "
        f"ωᵗ (lines), where ω is that of |W_hh|; d = {WIDTH}. Below 1 it has to vanish. Above 1 it may explode, and does while "
        "the units are near 0 (left: inputs of size 10⁻⁹); units that saturate make it vanish all the same (right).",
        ("vanishing-small", partial(_vanishing, scale=1e-9, title="inputs near 0"), (3.1, 2.6)),
        ("vanishing-unit", partial(_vanishing, scale=1.0, title="unit-normal inputs"), (3.1, 2.6)),
    ),
}  # fmt: skip
