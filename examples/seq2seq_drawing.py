"""The pictures of ``examples.seq2seq``: its curves, and the alignments that the models learned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.seq2seq import NAMES, Outcome, Result

__all__ = ["draw", "paint_alignment", "paint_lengths", "paint_training"]


def paint_training(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Whole long words right, step by step."""
    for (name, o), colour in zip(result.outcomes.items(), colours, strict=True):
        axes.plot(
            [p.step for p in o.curve], [p.words for p in o.curve], "o-", color=colour, label=NAMES[name]
        )
    axes.set(ylim=(-0.03, 1.03), xlabel="training step", ylabel="whole long words right")
    axes.legend(loc="best", handlelength=1.6)


def paint_lengths(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Whole words right after training, length by length."""
    for (name, o), colour in zip(result.outcomes.items(), colours, strict=True):
        axes.plot(list(o.by_length), list(o.by_length.values()), color=colour, label=NAMES[name])
    axes.set(ylim=(-0.03, 1.03), xlabel="letters in the word", ylabel="whole words right")
    axes.legend(loc="best", handlelength=1.6)


def paint_alignment(axes: Axes, outcome: Outcome) -> None:
    """The weight of each letter read (column) for each letter written (row): dark is 1."""
    assert outcome.alignment is not None
    axes.imshow(outcome.alignment.weights, cmap="Blues", vmin=0, vmax=1, aspect="equal")
    axes.set(title=NAMES[outcome.attention], xlabel="read", ylabel="written")
    axes.set_xticks(range(len(outcome.alignment.source)), list(outcome.alignment.source), fontsize=6)
    axes.set_yticks(range(len(outcome.alignment.written)), list(outcome.alignment.written), fontsize=6)
    axes.tick_params(length=0)
    axes.grid(False)


def draw(result: Result, path: Path) -> None:
    """All four as one picture; the name's ending says of which kind (svg, png, pdf)."""
    figure = Figure(figsize=(9, 7.6), layout="constrained")
    (training, lengths), (first, second) = figure.subplots(2, 2)
    colours = ("C3", "C0", "C1")
    paint_training(training, result, colours)
    paint_lengths(lengths, result, colours)
    for axes, name in ((first, "bahdanau"), (second, "luong")):
        paint_alignment(axes, result.outcomes[name])
    figure.savefig(path)
