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


def _drawn(axes: Axes) -> None:
    q, k, v = normal(1, 8), normal(7, 8, seed=1), normal(7, 5, seed=2)
    soft, most = impl.attention.scaled_dot_product(q, k, v), 2**18
    z, _ = impl.attention.hard(q.expand(most, -1), k, v, torch.Generator().manual_seed(3))
    mean = z.cumsum(0) / torch.arange(1, most + 1)[:, None]
    counts = [2**e for e in range(2, 19)]
    spread = float((z - soft).square().sum(-1).mean().sqrt())
    axes.plot(
        counts, [float((mean[n - 1] - soft).norm()) for n in counts], "o", color=ONE, label="mean of hard"
    )
    axes.plot(counts, [spread / n**0.5 for n in counts], color=TWO, linewidth=1, label="deviation/√draws")
    axes.set(xscale="log", yscale="log", xlabel="draws", ylabel="distance to soft")
    label_lines(axes)


def _windows(axes: Axes) -> None:
    m = 41
    q, k = 0.4 * normal(1, 8), normal(m, 8, seed=1)
    W_p, v_p, one_hot = normal(5, 8, seed=2), 0.2 * normal(5, seed=3), torch.eye(m, dtype=torch.float64)
    soft = impl.attention.softmax(impl.scores.dot(q, k))[0]
    axes.plot(range(m), soft.numpy(), color=FAINT, linewidth=4, label="global")
    for D, colour in ((4.0, ONE), (10.0, TWO), (200.0, THREE)):
        weights = impl.attention.local(q, k, one_hot, W_p, v_p, D)[0]
        axes.plot(
            range(m), weights.numpy(), "o-", color=colour, linewidth=1, markersize=2.5, label=f"D = {D:g}"
        )
    axes.set(xlabel="key j", ylabel="weight")
    label_lines(axes)


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
    "attention.hard": lambda: draw(
        "hard", _drawn,
        "The mean of many draws of hard attention comes near soft attention, as its expectation is: their distance (dots), and "
        "the deviation of one draw over the root of their number (line).",
    ),
    "attention.local": lambda: draw(
        "local", _windows,
        "Weights of one query over 41 keys: D = 4 and D = 10 look around the predicted position, and with a wide window "
        "local attention is global attention.",
    ),
}  # fmt: skip
