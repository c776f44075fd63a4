"""Drawing: from Matplotlib to SVG that stands in the page, takes the page's colours, and is the same every time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from io import StringIO
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatter, NullFormatter

from .markup import escape

Reals: TypeAlias = npt.NDArray[np.float64]

LEAST = 7.2
"""Pixels of the smallest letters of a drawing where there is little room; what is wider then scrolls."""
INK, FAINT = "#010203", "#010204"
ONE, TWO, THREE, FOUR, FIVE, SIX = "#010205", "#010206", "#010207", "#010208", "#010209", "#01020a"
"""Stand-ins for the colours that the style sheet defines for the light and for the dark scheme."""
VARIABLES = {
    INK: "currentColor", FAINT: "var(--figure-faint)", ONE: "var(--figure-1)", TWO: "var(--figure-2)",
    THREE: "var(--figure-3)", FOUR: "var(--figure-4)", FIVE: "var(--figure-5)", SIX: "var(--figure-6)",
}  # fmt: skip
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "font.size": 9, "text.color": INK, "axes.edgecolor": FAINT, "axes.labelcolor": INK,
    "xtick.color": INK, "ytick.color": INK, "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": FAINT, "grid.linewidth": 0.4,
    "legend.frameon": False, "lines.linewidth": 1.6, "lines.markersize": 4, "font.family": "DejaVu Sans",
    "image.interpolation": "nearest", "axes.unicode_minus": True, "axes.axisbelow": True,
}  # fmt: skip

Painter = Callable[[Axes], None]


def draw(name: str, painter: Painter, caption: str, size: tuple[float, float] = (5.0, 2.9)) -> str:
    """A figure in the page: what ``painter`` draws, and a caption (HTML)."""
    return group(caption, (name, painter, size))


def group(caption: str, *parts: tuple[str, Painter, tuple[float, float]]) -> str:
    """Several drawings side by side where there is room, under one caption."""
    return f'<figure class="drawn">{drawings(caption, *parts)}<figcaption>{caption}</figcaption></figure>'


def drawings(said: str, *parts: tuple[str, Painter, tuple[float, float]]) -> str:
    """Several drawings side by side where there is room; ``said`` (HTML) is what they are to those who do not see them."""
    drawn = "".join(
        f'<div style="flex: {size[0]:g} 1 {size[0] * 3.4:g}rem">{_svg(name, painter, size, said)}</div>'
        for name, painter, size in parts
    )
    return f'<section class="drawings" data-search-exclude>{drawn}</section>'


def _svg(name: str, painter: Painter, size: tuple[float, float], caption: str) -> str:
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        painter(axes)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                if isinstance(axis.get_major_formatter(), LogFormatter):  # else it has names of its own
                    axis.set_major_formatter(FuncFormatter(power))
                axis.set_minor_formatter(NullFormatter())
        out = StringIO()
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r'(<svg[^>]*?) width="[^"]*"',
        r"\1",
        re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1),
        count=1,
    )
    for stand_in, variable in VARIABLES.items():
        text = text.replace(stand_in, variable)
    # Matplotlib numbers its groups from 1 in every figure; a page may hold several.
    text = re.sub(r'\bid="([\w.]+_\d+)"', rf'id="{name}-\1"', text)
    smallest = min(map(float, re.findall(r"font(?:-size)?: ([\d.]+)px", text)), default=STYLE["font.size"])
    least = size[0] * 72 * LEAST / smallest
    plain = escape(re.sub(r"<[^>]+>", "", caption))
    text = text.replace("<svg", f'<svg role="img" aria-label="{plain}" style="min-width: {least:.0f}px"', 1)
    text = re.sub(
        r"(?<=base64,)[^\"]+", lambda m: re.sub(r"\s", "", m[0]), text
    )  # an image, in lines of 76 letters
    return re.sub(r"\s*\n\s*", " ", text)


def power(value: float, _: int | None = None) -> str:
    """A power of ten in plain text, such as 10⁻³ (Matplotlib's own labels are set as formulas, which takes seconds)."""
    exponent = round(math.log10(value))
    if 0 <= exponent <= 3:
        return str(10**exponent)
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def label_lines(axes: Axes) -> None:
    """A legend without a frame, where it hides least."""
    axes.legend(loc="best", handlelength=1.6)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    """Standard normal numbers to draw a figure from, in float64."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
