"""The figures of ``examples.gpt``: the way through training, positions beside each other, accuracy by examples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.gpt.comparing import WAYS, OfPositions, OfSymbols, OfText
from examples.gpt.symbols import KEYS

__all__ = ["draw", "paint_positions", "paint_symbols", "paint_text"]

COLOURS = ("C0", "C1", "C2")
NAMES = {"learned": "learned", "sinusoidal": "sines and cosines", "none": "none"}


def paint_text(axes: Axes, found: OfText, colours: Sequence[str] = COLOURS) -> None:
    """Bits for a byte of pieces of the held-out files, step by step; lines for what has no steps."""
    axes.plot([p.step for p in found.curve], [p.measured for p in found.curve], color=colours[0], label="GPT")
    for name, label, colour, style in (
        ("counted", "counts of bytes", colours[1], "--"),
        ("gzip", "gzip", colours[2], ":"),
        ("xz", "xz", colours[2], "--"),
    ):
        axes.axhline(found.bits[name], color=colour, linestyle=style, label=label)
    axes.set(xlabel="training step", ylabel="bits for a byte", ylim=(0.9, 3.5))
    axes.legend(loc="upper right")


def paint_positions(axes: Axes, runs: Sequence[OfPositions], colours: Sequence[str] = COLOURS) -> None:
    """The same for each kind of positions, a line for each seed."""
    for way, colour in zip(WAYS, colours, strict=True):
        curves = [run.curve for run in runs if run.settings.positions == way]
        for number, curve in enumerate(curves):
            label = "" if number else NAMES[way]
            steps, bits = [p.step for p in curve], [p.measured for p in curve]
            axes.plot(steps, bits, color=colour, linewidth=1, label=label or None)
    axes.set(xlabel="training step", ylabel="bits for a byte")
    axes.legend(loc="upper right", title="positions")


def paint_symbols(axes: Axes, runs: Sequence[OfSymbols], colours: Sequence[str] = COLOURS) -> None:
    """Held-out maps that are answered rightly by the number of examples, a line for each seed, and what can be had at most."""
    for number, run in enumerate(runs):
        examples = [each.examples for each in run.accuracies]
        for name, colour, label in (
            ("right", colours[0], "right"),
            ("shuffled", colours[1], "labels shuffled"),
        ):
            shares = [getattr(each, name) for each in run.accuracies]
            axes.plot(examples, shares, "o-", color=colour, linewidth=1, label=None if number else label)
    first = runs[0].accuracies
    axes.plot([a.examples for a in first], [a.best for a in first], ":", color=colours[2], label="at most")
    axes.axhline(1 / KEYS, color=colours[2], linewidth=0.8, label="chance")
    axes.set(xlabel="examples in the prompt", ylabel="held-out maps right", ylim=(-0.03, 1.03))
    axes.legend(loc="upper left")


def draw(folder: Path, found: OfText | Sequence[OfPositions] | Sequence[OfSymbols]) -> list[Path]:
    """The figure of a command in a folder."""
    if isinstance(found, OfText):
        name, paint = "training.svg", partial(paint_text, found=found)
    elif isinstance(found[0], OfPositions):
        name, paint = "positions.svg", partial(paint_positions, runs=found)
    else:
        name, paint = "few_shot.svg", partial(paint_symbols, runs=found)
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    paint(figure.subplots())
    figure.savefig(folder / name)
    return [folder / name]
