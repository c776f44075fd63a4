"""The pictures of ``examples.segments``: bits, time, and how many times longer windows take, against the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from examples.segments import PAPER, Measured, Result

__all__ = ["paint_bits", "paint_ratio", "paint_time"]


def paint_bits(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Bits a byte, both ways."""
    _paint_ways(axes, result, colours, lambda each: (each.windows_bits, each.segments_bits))
    axes.set(ylabel="bits a byte")


def paint_time(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Milliseconds a byte, both ways."""
    _paint_ways(axes, result, colours, lambda each: (each.windows_ms, each.segments_ms))
    axes.set(yscale="log", ylabel="milliseconds a byte")


def paint_ratio(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """How many times longer a byte takes by windows, and what the paper says of its own."""
    contexts = [each.context for each in result.measured]
    axes.plot(contexts, [each.ratio for each in result.measured], "o-", color=colours[0], label="here")
    axes.plot(*zip(*PAPER, strict=True), "^", color=colours[1], label="the paper, on a GPU")
    axes.set(yscale="log", ylabel="times longer by windows")
    _finish(axes, [*contexts[::2], PAPER[-1][0]], "lower right")


def _paint_ways(
    axes: Axes, result: Result, colours: Sequence[str], values: Callable[[Measured], tuple[float, float]]
) -> None:
    contexts = [each.context for each in result.measured]
    windows, segments = zip(*(values(each) for each in result.measured), strict=True)
    axes.plot(contexts, windows, "o-", color=colours[0], label="windows")
    axes.plot(contexts, segments, "s--", color=colours[1], label="segments")
    _finish(axes, contexts)


def _finish(axes: Axes, ticks: Sequence[int], legend: str = "best") -> None:
    axes.set(xscale="log", xlabel="context in bytes")
    axes.set_xticks(ticks, [f"{n:,}".replace(",", " ") for n in ticks])
    axes.minorticks_off()
    axes.legend(loc=legend, handlelength=1.6)
