"""Figures of masking: the law beside a count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from generate import law
from generate.drawing import ONE, TWO, draw, label_lines


def _fractions(axes: Axes) -> None:
    stated, seen = law.stated(), law.observed()
    names = list(stated)
    places = np.arange(len(names))
    axes.barh(places - 0.18, [float(stated[n]) for n in names], 0.34, color=ONE, label="stated")
    axes.barh(places + 0.18, [seen[n] for n in names], 0.34, color=TWO, label="observed")
    axes.set(yticks=places, xlabel="share of the selected tokens")
    axes.set_yticklabels(names)
    axes.invert_yaxis()
    label_lines(axes)


FIGURES: dict[str, Callable[[], str]] = {
    "masking.mlm": lambda: draw(
        "fractions", _fractions, "What became of the selected tokens: the law, and a count over one large draw.", (5.0, 1.9)
    ),
}  # fmt: skip
