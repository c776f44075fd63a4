"""The pictures of ``examples.digits``: its curves, what blanked patches cost, and what the class token looks at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.digits import NAMES, PATCH, Result

__all__ = ["draw", "paint_blanked", "paint_looks", "paint_training"]

SAID = {"most": "those looked at most", "random": "at random", "least": "those looked at least"}


def paint_training(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Held-out digits that are wrong, epoch by epoch, beside those of the two older methods."""
    for place, name in enumerate(("vit", "vit_moved")):
        wrong = [100 * (1 - p.right[place]) for p in result.curve]
        axes.plot([p.epoch for p in result.curve], wrong, color=colours[place], label=NAMES[name])
    for name, colour, style in zip(("logistic", "neighbour"), colours[2:], ("--", ":"), strict=True):
        axes.axhline(100 * (1 - result.right[name]), color=colour, linestyle=style, label=NAMES[name])
    axes.set(yscale="log", xlabel="epoch", ylabel="held-out digits wrong, %")
    axes.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    axes.legend(loc="best", handlelength=1.6, fontsize=7)


def paint_blanked(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Held-out digits that are right where patches are blanked."""
    for (name, shares), colour in zip(result.blanked.items(), colours, strict=False):
        axes.plot(range(len(shares)), shares, "o-", color=colour, label=SAID[name])
    axes.set(ylim=(0, 1.03), xlabel="patches blanked, of 16", ylabel="held-out digits right")
    axes.set_xticks(range(result.settings.blanked + 1))
    axes.legend(loc="best", handlelength=1.6, fontsize=7)


def paint_looks(axes: Axes, result: Result) -> None:
    """A held-out image of each digit, and below it the weight that the class token gives to each of its patches."""
    gap = 1
    columns = []
    for look in result.looks:
        weights = torch.tensor(look.weights).repeat_interleave(PATCH, 0).repeat_interleave(PATCH, 1)
        image = torch.tensor(look.pixels)
        pair = torch.cat((image, torch.full((gap, image.shape[1]), torch.nan), weights / weights.max()))
        columns += [pair, torch.full((len(pair), gap), torch.nan)]
    axes.imshow(torch.cat(columns[:-1], 1).numpy(), cmap="Blues", vmin=0, vmax=1, aspect="equal")
    width = len(result.looks[0].pixels[0]) + gap
    places = [width * number + (width - gap - 1) / 2 for number in range(len(result.looks))]
    names = [
        f"{look.digit}" if look.digit == look.read else f"{look.digit}, read {look.read}"
        for look in result.looks
    ]
    axes.set_xticks(places, names)
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)


def draw(result: Result, path: Path) -> None:
    """All three as one picture; the name's ending says of which kind (svg, png, pdf)."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1.2, 1))
    colours = ("C3", "C0", "C1", "C2")
    paint_training(figure.add_subplot(grid[0, 0]), result, colours)
    paint_blanked(figure.add_subplot(grid[0, 1]), result, colours)
    paint_looks(figure.add_subplot(grid[1, :]), result)
    figure.savefig(path, dpi=150)
