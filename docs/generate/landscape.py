"""The example of loss landscapes on a page: what ``python -m examples.landscape --record`` wrote, one file for each seed."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from examples.landscape import NAMES, Result, paint, recorded

from .drawing import FOUR, ONE, group
from .markup import table

FOLDER = Path(__file__).parents[1] / "evidence" / "landscape"


@cache
def records(folder: Path = FOLDER) -> tuple[tuple[Result, dict[str, Any]], ...]:
    """Every record, by seed."""
    found = [recorded(path) for path in folder.glob("*.json")]
    return tuple(sorted(found, key=lambda each: each[0].settings.seed))


def surfaces() -> str:
    """Lines of equal loss around both networks of the first seed."""
    result, _ = records()[0]
    return group(
        f"Lines of equal loss on a grid of {result.settings.grid} × {result.settings.grid} steps, each √2 times the one before, "
        f"the same for both (seed {result.settings.seed}). A step of 0.1 is a tenth of every filter's length. On the thick line "
        "the network is as good as guessing: ln 2.",
        *(
            (
                f"landscape-{int(s.residual)}",
                partial(paint, surface=s, reach=result.settings.reach, line=ONE, mark=FOUR),
                (3.4, 3.4),
            )
            for s in result.surfaces
        ),
    )


def minima() -> str:
    """Losses, and minima of the grids, seed by seed."""
    results = [result for result, _ in records()]
    rows = []
    for place, name in enumerate(NAMES.values()):
        own = [result.surfaces[place] for result in results]
        rows.append(
            (
                name,
                ", ".join(f"{s.trained:.4f}" for s in own),
                ", ".join(f"{100 * s.held_out:.1f} %" for s in own),
                ", ".join(str(s.minima) for s in own),
            )
        )
    seeds = ", ".join(str(result.settings.seed) for result in results)
    head = ("Network", "Loss, trained", "New points told apart", "Minima on the grid")
    return table(head, rows) + f"\n\nIn each cell: one figure for each of the seeds {seeds}."


def made() -> str:
    """With what the record of the first seed was made, and how long that took."""
    result, how = records()[0]
    return f"recorded {how['day']} with torch {how['torch']}, one thread, {result.processor:.0f} seconds of processor time"


def part(name: str) -> str:
    """What ``{{ landscape name }}`` stands for."""
    return {"surfaces": surfaces, "minima": minima, "made": made}[name]()
