"""The figures of ``examples.translate``: the way through training, what a wider beam changes, where the decoder looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.translate.measuring import Alignment, Quality
from examples.translate.training import Point

__all__ = ["draw", "paint_alignment", "paint_beams", "paint_training"]

COLOURS = ("C0", "C1", "0.6")
"""Of either direction, and of the loss."""
NAMES = {"to_digits": "words to digits", "to_words": "digits to words"}


def paint_training(axes: Axes, curve: Sequence[Point], colours: Sequence[str] = COLOURS) -> None:
    """Held-out numbers that come out right, step by step, and the loss."""
    steps = [point.step for point in curve]
    for (name, label), colour in zip(NAMES.items(), colours, strict=False):
        axes.plot(steps, [getattr(point, name) for point in curve], color=colour, label=label)
    axes.set(ylim=(-0.03, 1.03), xlabel="training step", ylabel="held-out numbers right")
    loss = axes.twinx()
    loss.plot(steps, [point.loss for point in curve], color=colours[2], label="loss", zorder=0)
    loss.set(ylabel="loss", ylim=(0, None))
    lines = [*axes.get_lines(), *loss.get_lines()]
    axes.legend(lines, [str(line.get_label()) for line in lines], loc="center right")


def paint_beams(
    axes: Axes, beams: Sequence[Quality], early: Sequence[Quality], colours: Sequence[str] = COLOURS
) -> None:
    """Held-out numbers whose best beam is right, by the width of the beam: of the model as trained, and early in training."""
    for found, style, when in ((beams, "o-", ""), (early, "o--", ", early")):
        for (name, label), colour in zip(NAMES.items(), colours, strict=False):
            shares = [getattr(each, name) for each in found]
            axes.plot([each.width for each in found], shares, style, color=colour, label=label + when)
    axes.set(ylim=(-0.03, 1.03), xlabel="width of the beam (1: greedy)", ylabel="held-out numbers right")
    axes.legend(loc="lower right")


def paint_alignment(axes: Axes, alignment: Alignment, layer: int) -> None:
    """The weight of each word read (column) for each word written (row): dark is 1."""
    axes.imshow(alignment.layers[layer], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set(title=f"decoder layer {layer + 1}", xlabel="read", ylabel="written")
    axes.set_xticks(range(len(alignment.source)), alignment.source, rotation=60, ha="right")
    axes.set_yticks(range(len(alignment.written)), alignment.written)
    axes.tick_params(length=0)
    axes.grid(False)


def draw(
    folder: Path,
    curve: Sequence[Point],
    beams: Sequence[Quality],
    early: Sequence[Quality],
    alignment: Alignment,
) -> list[Path]:
    """All three as pictures in a folder."""
    training, widths = (Figure(figsize=(6, 3.8), layout="constrained") for _ in range(2))
    paint_training(training.subplots(), curve)
    paint_beams(widths.subplots(), beams, early)
    looking = Figure(figsize=(4.2 * len(alignment.layers), 4.2), layout="constrained")
    for layer, axes in enumerate(looking.subplots(1, len(alignment.layers), squeeze=False)[0]):
        paint_alignment(axes, alignment, layer)
    figures = {"training.svg": training, "beams.svg": widths, "alignment.svg": looking}
    for name, figure in figures.items():
        figure.savefig(folder / name)
    return [folder / name for name in figures]
