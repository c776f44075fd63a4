"""The pictures of ``examples.lengths``: time, memory, and layers to all that stands before, against the length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from examples.lengths import Measured, Result

__all__ = ["paint_bytes", "paint_layers", "paint_seconds"]


def paint_seconds(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Time of a layer, both passes."""
    _paint(axes, result, colours, lambda each: each.seconds * 1e3, "milliseconds")
    axes.legend(loc="best", handlelength=1.6, fontsize=7)


def paint_bytes(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Memory that a layer asks for, both passes."""
    _paint(axes, result, colours, lambda each: each.bytes / 2**20, "allocated, MiB")


def paint_layers(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Layers, or steps, until a place depends on all before it."""
    _paint(axes, result, colours, lambda each: each.layers, "layers or steps to all before")


def _paint(
    axes: Axes,
    result: Result,
    colours: Sequence[str],
    value: Callable[[Measured], float | None],
    label: str,
) -> None:
    for power, colour in zip(result.powers, colours, strict=False):
        own = [each for each in result.measured if each.way == power.way]
        shown = [(each.length, y) for each in own if (y := value(each)) is not None]
        axes.plot(*zip(*shown, strict=True), "o-", color=colour, markersize=3, label=power.way)
    lengths = result.settings.lengths[::2]
    axes.set(xscale="log", yscale="log", xlabel="places of the text", ylabel=label)
    axes.set_xticks(lengths, [f"{n:,}".replace(",", " ") for n in lengths])
    axes.minorticks_off()
