"""The example of segments and windows on a page: what ``python -m examples.segments --record`` wrote."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from examples.segments import PAPER, Result, recorded
from examples.segments_drawing import paint_bits, paint_ratio, paint_time

from .drawing import ONE, TWO, group
from .markup import number, table

FILE = Path(__file__).parents[1] / "evidence" / "segments" / "seed-0.json"


@cache
def record(file: Path = FILE) -> tuple[Result, dict[str, Any]]:
    """The record."""
    return recorded(file)


def curves() -> str:
    """Bits, time, and the ratio of times."""
    result, _ = record()
    parts = [("bits", paint_bits), ("time", paint_time), ("ratio", paint_ratio)]
    return group(
        "Bits a byte, milliseconds a byte, and how many times longer a byte takes by windows, against the most bytes that one "
        "attends to in a layer. Triangles are the paper's slowdowns, of larger models on a GPU.",
        *(
            (f"segments-{name}", partial(paint, result=result, colours=(ONE, TWO)), (3.4, 3.0))
            for name, paint in parts
        ),
    )


def measured() -> str:
    """Every context in both ways."""
    result, _ = record()
    rows = [
        (
            str(each.context),
            f"{each.windows_bits:.3f}",
            f"{each.segments_bits:.3f}",
            f"{each.segments_bits - each.windows_bits:+.3f} ± {each.error:.3f}".replace("-", "−"),
            f"{each.windows_ms:.3f}",
            f"{each.segments_ms:.3f}",
            f"{each.ratio:.1f}",
        )
        for each in result.measured
    ]
    return table(
        (
            "Context",
            "Bits a byte, windows",
            "Segments",
            "Difference",
            "ms a byte, windows",
            "Segments",
            "Times longer",
        ),
        rows,
    )


def slowdowns() -> str:
    """The paper's slowdowns, in a sentence."""
    return ", ".join(f"{times:,} at {length:,}".replace(",", " ") for length, times in PAPER)


def agreement() -> str:
    """How far both ways differ where window and memory hold everything."""
    result, _ = record()
    return f"at {result.agreed} bytes they differ by {number(result.difference)} nats at most"


def made() -> str:
    """When and with what the record was made, and how long that took."""
    result, how = record()
    return (
        f"recorded {how['day']} with Python {how['python']}, whose library is the text, and torch {how['torch']}, one thread, "
        f"{result.processor:.0f} seconds of processor time"
    )


def setting(name: str) -> str:
    """One of the settings, or what follows from them; the longest context, and how many times longer windows took there."""
    result, _ = record()
    s, last = result.settings, result.measured[-1]
    counted = {
        "piece": s.segments * s.segment,
        "read": s.steps * s.batch * s.segment,
        "bytes": s.stretches * s.predicted,
        "longest": last.context,
        "slowest": round(last.ratio),
    }
    value = counted[name] if name in counted else getattr(s, name)
    return f"{value:,}".replace(",", " ")


PARTS = {
    "curves": curves,
    "measured": measured,
    "slowdowns": slowdowns,
    "agreement": agreement,
    "made": made,
}


def part(name: str) -> str:
    """What ``{{ segments name }}`` stands for."""
    return PARTS[name]() if name in PARTS else setting(name)
