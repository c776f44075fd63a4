"""Figures of attention: weights, masks, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import impl.attention
import impl.scores
from generate.drawing import FAINT, ONE, THREE, TWO, draw, group, label_lines, normal
from spec.language.registry import find


def _temperature(axes: Axes) -> None:
    worked = find("attention.softmax").worked[-1]
    scores = torch.tensor([[float(x) for x in worked.inputs["s"][0]]], dtype=torch.float64)
    factors = np.linspace(0, 1, 101)
    weights = torch.cat([impl.attention.softmax(scores * t) for t in factors])
    for column, colour in zip(range(weights.shape[1]), (ONE, TWO, THREE), strict=False):
        style = "-" if column < 2 else "--"
        axes.plot(
            factors, weights[:, column].numpy(), style, color=colour, label=f"score {scores[0, column]:g}"
        )
    axes.set(xlabel="factor on all scores", ylabel="weight", ylim=(0, 1.03))
    label_lines(axes)


def _weights(axes: Axes, mask: torch.Tensor | None, title: str) -> None:
    scores = impl.scores.scaled_dot(normal(5, 8), normal(7, 8, seed=1))
    a = impl.attention.softmax(scores, mask)
    axes.imshow(a.numpy(), cmap="Blues", vmin=0, vmax=float(a.max()))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            dark = float(a[i, j]) > 0.6 * float(a.max())
            text = "0" if float(a[i, j]) == 0 else f"{float(a[i, j]):.2f}".lstrip("0")
            axes.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axes.set(title=title, xlabel="key j", ylabel="query i", xticks=range(7), yticks=range(5))
    axes.grid(False)


def _mask(axes: Axes, alignment: impl.attention.Alignment, n: int, m: int) -> None:
    mask = impl.attention.causal_mask(n, m, alignment=alignment)
    for i in range(n):
        for j in range(m):
            seen = bool(mask[i, j])
            box = Rectangle(
                (j - 0.45, i - 0.45),
                0.9,
                0.9,
                facecolor=ONE if seen else "none",
                edgecolor=FAINT,
                linewidth=0.6,
            )
            axes.add_patch(box)
    axes.set(xlim=(-0.6, m - 0.4), ylim=(n - 0.4, -0.6), xticks=range(m), yticks=range(n), aspect="equal")
    axes.set(title=alignment.replace("_", " "), xlabel="key j", ylabel="query i")
    axes.grid(False)


def _half_padded() -> torch.Tensor:
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[:, 5:] = False
    mask[3] = False
    return mask


FIGURES: dict[str, Callable[[], str]] = {
    "attention.softmax": lambda: draw(
        "temperature", _temperature, "The scores 13, 9 and 9 of the worked example, all multiplied by a factor from 0 to 1."
    ),
    "attention.scaled_dot_product": lambda: group(
        "Weights of five queries over seven keys. On the right keys 5 and 6 are hidden from all queries, "
        "and query 3 may attend to nothing: its row is 0.",
        ("weights", partial(_weights, mask=None, title="no mask"), (3.1, 2.6)),
        ("weights-masked", partial(_weights, mask=_half_padded(), title="mask"), (3.1, 2.6)),
    ),
    "attention.causal": lambda: group(
        "Four queries, seven keys: which query may attend to which key (filled) under either alignment. For n = m they agree.",
        ("lower", partial(_mask, alignment="lower_right", n=4, m=7), (3.1, 2.3)),
        ("upper", partial(_mask, alignment="upper_left", n=4, m=7), (3.1, 2.3)),
    ),
}  # fmt: skip
