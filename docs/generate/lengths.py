"""The example of long texts on a page: what ``python -m examples.lengths --record`` wrote."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from examples.lengths import Result, asked, recorded
from examples.lengths_drawing import paint_bytes, paint_layers, paint_seconds

from .drawing import FIVE, FOUR, ONE, SIX, THREE, TWO, group
from .markup import table

FILE = Path(__file__).parents[1] / "evidence" / "lengths" / "seed-0.json"
COLOURS = (ONE, TWO, THREE, FOUR, FIVE, SIX)


@cache
def record(file: Path = FILE) -> tuple[Result, dict[str, Any]]:
    """The record."""
    return recorded(file)


def curves() -> str:
    """Time, memory, and layers to all that stands before."""
    result, _ = record()
    parts = [("seconds", paint_seconds), ("bytes", paint_bytes), ("layers", paint_layers)]
    return group(
        f"One layer of {result.settings.width} entries a place, forward and backward: time, memory that it asks for, and how "
        "many layers (for recurrence: steps) it takes until a place depends on all before it. Both axes are logarithmic: a power "
        "of the length is a straight line.",
        *(
            (f"lengths-{name}", partial(paint, result=result, colours=COLOURS), (3.4, 3.0))
            for name, paint in parts
        ),
    )


def powers() -> str:
    """What is stated and what was fitted, way by way, and what the longest text took."""
    result, _ = record()
    longest = max(result.settings.lengths)
    at = {each.way: each for each in result.measured if each.length == longest}
    rows = [
        (
            power.way,
            power.count,
            str(power.stated),
            f"{power.seconds:.2f}",
            f"{power.bytes:.2f}",
            f"{at[power.way].seconds * 1e3:.0f}",
            f"{at[power.way].bytes / 2**20:.0f}",
            "none" if at[power.way].layers is None else f"{at[power.way].layers:,}".replace(",", " "),
        )
        for power in result.powers
    ]
    shown = f"{longest:,}".replace(",", " ")
    return table(
        (
            "Way",
            "Multiplications",
            "Power of n",
            "Of seconds",
            "Of bytes",
            f"ms at {shown}",
            "MiB",
            f"Layers until place {asked(longest) + 1:,} depends on all before it".replace(",", " "),
        ),
        rows,
    )


def made() -> str:
    """When and with what the record was made, and how long that took."""
    result, how = record()
    return (
        f"recorded {how['day']} with torch {how['torch']}, one thread, the median of {result.settings.rounds} rounds; "
        f"{result.processor:.0f} seconds of processor time"
    )


def squared() -> str:
    """The longest text at which causal attention to all takes no longer than any other causal way."""
    result, _ = record()
    causal = [each for each in result.measured if not each.way.startswith("low rank")]
    fastest = {each.length: each.way for each in sorted(causal, key=lambda each: -each.seconds)}
    return f"{max(n for n, way in fastest.items() if way == 'all keys'):,}".replace(",", " ")


def power() -> str:
    """The power of the length that the seconds of attention to all keys grow with, as fitted."""
    return f"{next(each.seconds for each in record()[0].powers if each.way == 'all keys'):.2f}"


PARTS = {"curves": curves, "power": power, "powers": powers, "made": made, "squared": squared}


def part(name: str) -> str:
    """What ``{{ lengths name }}`` stands for."""
    return PARTS[name]() if name in PARTS else str(getattr(record()[0].settings, name))
