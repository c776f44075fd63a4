"""The pictures of ``examples.segments``: bits, time, and how many times longer windows take, against the context."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from examples.segments import PAPER, Result

__all__ = ["paint_bits", "paint_ratio", "paint_time"]


def paint_bits(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Bits a byte, both ways."""
    contexts = [each.context for each in result.measured]
    axes.plot(
        contexts, [each.windows_bits for each in result.measured], "o-", color=colours[0], label="windows"
    )
    axes.plot(
        contexts, [each.segments_bits for each in result.measured], "s--", color=colours[1], label="segments"
    )
    axes.set(ylabel="bits a byte")
    _finish(axes, contexts)


def paint_time(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """Milliseconds a byte, both ways."""
    contexts = [each.context for each in result.measured]
    axes.plot(
        contexts, [each.windows_ms for each in result.measured], "o-", color=colours[0], label="windows"
    )
    axes.plot(
        contexts, [each.segments_ms for each in result.measured], "s--", color=colours[1], label="segments"
    )
    axes.set(yscale="log", ylabel="milliseconds a byte")
    _finish(axes, contexts)


def paint_ratio(axes: Axes, result: Result, colours: Sequence[str]) -> None:
    """How many times longer a byte takes by windows, and what the paper says of its own."""
    contexts = [each.context for each in result.measured]
    axes.plot(contexts, [each.ratio for each in result.measured], "o-", color=colours[0], label="here")
    axes.plot(*zip(*PAPER, strict=True), "^", color=colours[1], label="the paper, on a GPU")
    axes.set(yscale="log", ylabel="times longer by windows")
    _finish(axes, [*contexts[::2], PAPER[-1][0]])


def _finish(axes: Axes, ticks: Sequence[int]) -> None:
    axes.set(xscale="log", xlabel="context in bytes")
    axes.set_xticks(ticks, [f"{n:,}".replace(",", " ") for n in ticks])
    axes.minorticks_off()
    axes.legend(loc="best", handlelength=1.6)
