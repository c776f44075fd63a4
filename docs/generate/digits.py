"""The example of images on a page: what ``python -m examples.digits`` recorded, one file for each seed."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from examples.digits import NAMES, Result, recorded
from examples.digits_drawing import SAID, paint_blanked, paint_looks, paint_training

from .drawing import FOUR, ONE, THREE, TWO, draw, group
from .markup import table

FOLDER = Path(__file__).parents[1] / "evidence" / "digits"
COLOURS = (FOUR, ONE, TWO, THREE)


@cache
def records(folder: Path = FOLDER) -> tuple[tuple[Result, dict[str, Any]], ...]:
    """Every record, by seed."""
    found = [recorded(path) for path in folder.glob("*.json")]
    return tuple(sorted(found, key=lambda each: each[0].settings.seed))


def shares() -> str:
    """What each method gets right of the held-out digits, seed by seed."""
    results = [result for result, _ in records()]
    rows = [(label, *(_percent(result.right[name]) for result in results)) for name, label in NAMES.items()]
    return table(("Right of the held-out digits", *(f"seed {r.settings.seed}" for r in results)), rows)


def blanked() -> str:
    """What is right where patches are blanked, seed by seed."""
    results = [result for result, _ in records()]
    rows = [
        (label, *(_percent(result.blanked[name][-1]) for result in results)) for name, label in SAID.items()
    ]
    count = results[0].settings.blanked
    return table((f"{count} of 16 patches blanked", *(f"seed {r.settings.seed}" for r in results)), rows)


def curves() -> str:
    """What is wrong on the way through training, and where patches are blanked after it."""
    result, _ = records()[0]
    return group(
        f"Seed {result.settings.seed}. Left: held-out digits that are wrong, epoch by epoch, and those of the two older methods. "
        "Right: the model that saw moved images, where patches are blanked.",
        ("digits-training", partial(paint_training, result=result, colours=COLOURS), (3.6, 2.8)),
        ("digits-blanked", partial(paint_blanked, result=result, colours=COLOURS), (3.2, 2.8)),
    )


def looks() -> str:
    """What the class token looks at."""
    result, _ = records()[0]
    return draw(
        "digits-looks",
        partial(paint_looks, result=result),
        "The first held-out image of each digit, and below it how much the class token looks at each patch in the last layer, on "
        "the average of its heads: dark is the most of an image.",
        (7.0, 1.8),
    )


def ink() -> str:
    """How much of the class token's attention goes to ink, in a sentence."""
    result, _ = records()[0]
    layers = ", ".join(f"{each:.0%}" for each in result.inked)
    given = f"Of the class token's attention to patches they get {layers}, layer by layer"
    return f"{result.ink:.0%} of the patches have ink. {given}"


def made() -> str:
    """When and with what the first record was made, and how long that took."""
    result, how = records()[0]
    return (
        f"recorded {how['day']} with torch {how['torch']}, one thread: {result.trained_on} images to train on, "
        f"{result.settings.held_out} held out, {result.parameters:,} parameters, {result.settings.epochs} epochs, "
        f"{result.processor:.0f} seconds of processor time for both models"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


PARTS = {"shares": shares, "blanked": blanked, "curves": curves, "looks": looks, "ink": ink, "made": made}


def part(name: str) -> str:
    """What ``{{ digits name }}`` stands for."""
    return PARTS[name]()
