"""Figures of the scores: why they are scaled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

import impl.attention
import impl.scores
from generate.drawing import FAINT, ONE, TWO, draw, label_lines, normal

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def _spread(axes: Axes) -> None:
    for score, colour, label in ((impl.scores.dot, ONE, "q·k"), (impl.scores.scaled_dot, TWO, "q·k / √dₖ")):
        axes.plot(
            SIZES,
            [float(score(normal(200, d), normal(200, d, seed=1)).std()) for d in SIZES],
            "o",
            color=colour,
            label=label,
        )
    axes.plot(SIZES, np.sqrt(SIZES), color=ONE, linewidth=0.8, label="√dₖ")
    axes.axhline(1, color=TWO, linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="dₖ", ylabel="standard deviation")
    label_lines(axes)


def _sharpness(axes: Axes) -> None:
    queries, keys = 1000, 16
    # Every query has keys of its own: the mean is over both, and the curve is no picture of one set of keys.
    drawn = [(normal(queries, 1, d), normal(queries, keys, d, seed=1)) for d in SIZES]
    for score, colour, label in (
        (impl.scores.dot, ONE, "unscaled"),
        (impl.scores.scaled_dot, TWO, "scaled by 1/√dₖ"),
    ):
        largest = [float(impl.attention.softmax(score(q, k)).amax(-1).mean()) for q, k in drawn]
        axes.plot(SIZES, largest, "o-", color=colour, label=label)
    axes.axhline(1 / keys, color=FAINT, linewidth=1)
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="dₖ", ylabel=f"largest of {keys} weights, mean")
    label_lines(axes)


FIGURES: dict[str, Callable[[], str]] = {
    "scores.dot": lambda: draw(
        "spread", _spread,
        "Standard deviation of the scores of queries and keys with unit-normal entries (dots, 40 000 scores each) against "
        "√dₖ and 1 (lines).",
    ),
    "scores.scaled_dot": lambda: draw(
        "sharpness", _sharpness,
        "Softmax over 16 keys, queries and keys with unit-normal entries, new keys for each of 1 000 queries: without the scale "
        "it hardens as dₖ grows, with it it does not. The thin line is 1/16, all weights alike.",
    ),
}  # fmt: skip
