"""How near an implementation comes to its tolerance, regime by regime."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from generate import errors
from generate.drawing import FOUR, ONE, TWO, draw
from spec.language.formula import Formula


def _ratios(axes: Axes, formula: Formula) -> None:
    for dtype, colour, mark in (("float64", ONE, "o"), ("float32", TWO, "s")):
        found = errors.by_regime(formula.id, dtype)
        names = list(found)
        axes.plot([max(found[n], 1e-4) for n in names], range(len(names)), mark, color=colour, label=dtype)
    axes.axvline(1, color=FOUR, linewidth=1.2)
    axes.set(xscale="log", yticks=range(len(names)), xlim=(8e-5, 2), xlabel="largest error/bound")
    axes.set_yticklabels(names)
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, handlelength=1)


def regimes(formula: Formula) -> str:
    """Error over bound in every regime of data, float64 and float32."""
    count = len(errors.by_regime(formula.id, "float64"))
    caption = (
        f"Error over bound of <code>impl</code> by regime of the data, the largest of {errors.DRAWS} draws. "
        "A right implementation stays left of 1."
    )
    return draw(
        f"regimes-{formula.id}", partial(_ratios, formula=formula), caption, (5.0, 0.9 + 0.19 * count)
    )
