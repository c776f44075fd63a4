"""The example of a law of scale on a page: what ``python -m examples.scaling --record`` wrote."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from examples.scaling import Result, interval, paint, recorded
from impl.scaling import EACH

from .drawing import FOUR, ONE, TWO, draw
from .markup import table

FILE = Path(__file__).parents[1] / "evidence" / "scaling" / "seed-0.json"


@cache
def record(file: Path = FILE) -> tuple[Result, dict[str, Any]]:
    """The record."""
    return recorded(file)


def losses() -> str:
    """Every size with its losses, and the laws that were fitted."""
    result, _ = record()
    return draw(
        "scaling-losses",
        partial(paint, result=result, colours=(ONE, TWO, FOUR)),
        f"Loss on held-out files against parameters, each point a model; {result.settings.seeds} runs of each of "
        f"{len(result.settings.widths)} sizes. The dotted line has the paper's slope, and its height is of no meaning.",
    )


def laws() -> str:
    """The powers with their intervals, beside the paper's."""
    result, _ = record()
    rows = [
        ("offset + (N_c/N)^α", f"{result.offset.power:.3f}", interval(result.offset.power_interval),
         f"{result.offset.offset:.2f} ({interval(result.offset.offset_interval)})"),
        ("(N_c/N)^α", f"{result.plain.power:.3f}", interval(result.plain.power_interval), "0"),
        ("Kaplan et al.: (N_c/N)^α", f"{EACH.alpha_N}", "–", "0"),
    ]  # fmt: skip
    return table(("Law", "α", "95 % interval", "Offset, in nats a byte"), rows)


def sizes() -> str:
    """Parameters as counted and by the rule, width by width."""
    result, _ = record()
    rows = []
    for width in result.settings.widths:
        own = [run for run in result.runs if run.width == width]
        rows.append(
            (
                str(width),
                f"{own[0].parameters:,}".replace(",", " "),
                f"{own[0].by_rule:,}".replace(",", " "),
                f"{own[0].parameters / own[0].by_rule - 1:.1%}",
                ", ".join(f"{run.loss:.3f}" for run in own),
            )
        )
    return table(("Width d", "Parameters", "12·L·d²", "It falls short by", "Nats a byte"), rows)


def made() -> str:
    """When and with what the record was made, and how long that took."""
    result, how = record()
    return (
        f"recorded {how['day']} with Python {how['python']}, whose library is the text, and torch {how['torch']}, one thread, "
        f"{result.processor:.0f} seconds of processor time"
    )


def setting(name: str) -> str:
    """One of the settings, or how many bytes each model read."""
    s = record()[0].settings
    value = s.steps * s.batch * s.length if name == "read" else getattr(s, name)
    return f"{value:,}".replace(",", " ")


PARTS = {"losses": losses, "laws": laws, "sizes": sizes, "made": made}


def part(name: str) -> str:
    """What ``{{ scaling name }}`` stands for."""
    return PARTS[name]() if name in PARTS else setting(name)
