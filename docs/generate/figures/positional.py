"""Figures of positions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from matplotlib.axes import Axes

import impl.positional
from generate.drawing import INK, ONE, TWO, group, label_lines


def _table(axes: Axes, layout: impl.positional.Layout, n: int, d: int) -> None:
    axes.imshow(
        impl.positional.sinusoidal(n, d, layout=layout).numpy(), cmap="PuOr", aspect="auto", vmin=-1, vmax=1
    )
    axes.set(title=layout, xlabel="column", ylabel="position t")
    axes.grid(False)


def _inner(axes: Axes) -> None:
    pe = impl.positional.sinusoidal(512, 128, dtype=torch.float64)
    offsets = np.arange(200)
    for t, colour, width in ((0, ONE, 5.0), (100, TWO, 2.6), (300, INK, 0.8)):
        axes.plot(
            offsets,
            [float(pe[t] @ pe[t + o]) for o in offsets],
            color=colour,
            linewidth=width,
            label=f"t = {t}",
        )
    axes.set(xlabel="φ", ylabel="⟨PE(t), PE(t+φ)⟩")
    label_lines(axes)


def _gram(axes: Axes) -> None:
    pe = impl.positional.sinusoidal(64, 128, dtype=torch.float64)
    axes.imshow((pe @ pe.T).numpy(), cmap="PuOr", vmin=-64, vmax=64)
    axes.set(xlabel="position s", ylabel="position t", title="⟨PE(t), PE(s)⟩")
    axes.grid(False)


FIGURES: dict[str, Callable[[], str]] = {
    "positional.sinusoidal": lambda: group(
        "The table for 64 positions and 64 columns, in both layouts.",
        ("interleaved", partial(_table, layout="interleaved", n=64, d=64), (3.0, 2.6)),
        ("concatenated", partial(_table, layout="concatenated", n=64, d=64), (3.0, 2.6)),
    ) + group(
        "Inner products for d = 128. The curves for three positions t lie on one another: only the offset φ matters.",
        ("inner", _inner, (3.6, 2.6)),
        ("gram", _gram, (2.6, 2.6)),
    ),
}  # fmt: skip
