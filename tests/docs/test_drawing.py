"""Figures: what is written on their axes, and that a page may hold several."""

from __future__ import annotations

import re

from generate.drawing import draw
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter


def written(svg: str) -> list[str]:
    """The texts of a figure that is drawn with letters."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_names_of_a_logarithmic_axis_are_kept() -> None:
    """Widths such as 768 are no powers of ten, and are not written as such."""

    def paint(axes: Axes) -> None:
        axes.plot([16, 768], [1, 1000])
        axes.set(xscale="log", yscale="log")
        axes.set_xticks([16, 768])
        axes.xaxis.set_major_formatter(FixedFormatter(["16", "768"]))

    shown = written(draw("named", paint, "A figure."))
    assert {"16", "768"} <= {*shown}
    assert "1000" in shown


def test_no_two_figures_share_an_id() -> None:
    """Each stands under its figure's name, those with digits in theirs, too."""

    def paint(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], "o-")

    ids = re.findall(r'\bid="([^"]*)"', draw("one", paint, "A figure.") + draw("other", paint, "Another."))
    assert len(ids) == len({*ids})


def test_labels_given_with_their_ticks_stay() -> None:
    """Losses of 1.7 and 2.2 on a logarithmic axis are not both written as 1."""

    def paint(axes: Axes) -> None:
        axes.plot([1, 10], [1.7, 2.2])
        axes.set(yscale="log")
        axes.set_yticks([1.7, 2.2], ["1.7", "2.2"])
        axes.minorticks_off()

    assert {"1.7", "2.2"} <= {*written(draw("labels", paint, "Two losses."))}
