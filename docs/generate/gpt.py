"""The example of GPT on a page: what ``python -m examples.gpt`` and its comparisons wrote in ``record.json``."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any

from examples.gpt.comparing import (
    WAYS,
    OfPositions,
    OfSymbols,
    OfText,
    recorded_positions,
    recorded_symbols,
    recorded_text,
)
from examples.gpt.drawing import NAMES, paint_positions, paint_symbols, paint_text

from .drawing import FAINT, ONE, TWO, group
from .markup import escape, table

FOLDER = Path(__file__).parents[1] / "evidence" / "gpt"
COLOURS = (ONE, TWO, FAINT)


@cache
def text() -> tuple[OfText, dict[str, Any]]:
    """The record of the text."""
    return recorded_text(FOLDER / "text.json")


@cache
def ways() -> tuple[list[OfPositions], dict[str, Any]]:
    """The record of the positions."""
    return recorded_positions(FOLDER / "positions.json")


@cache
def symbols() -> tuple[list[OfSymbols], dict[str, Any]]:
    """The record of the small tasks."""
    return recorded_symbols(FOLDER / "few_shot.json")


def bits() -> str:
    """Bits for a byte of the held-out files, of the model and of those beside it."""
    found, _ = text()
    rows = [
        (label, f"{found.bits[name]:.2f}")
        for name, label in (
            ("gzip", "gzip, which learns from these files alone"),
            ("xz", "xz, which learns from these files alone"),
            ("xz_after", "xz that has read the other files before"),
            ("counted", "counts of the other files: a byte given the five before it"),
            ("gpt", "the GPT"),
        )
    ]
    return table(("Model", "Bits for a byte"), rows)


def curve() -> str:
    """The way through training."""
    found, _ = text()
    return group(
        f"Bits for a byte of pieces of the held-out files, every {found.settings.every} steps.",
        ("gpt-training", partial(paint_text, found=found, colours=COLOURS), (5.4, 3.0)),
    )


def sample() -> str:
    """What the model writes behind the first lines of a held-out file."""
    found = text()[0].sample
    lines = escape(found.prompt), escape(found.written)
    return f"<pre><code>{lines[0]}<mark>{lines[1]}</mark></code></pre>"


def positions() -> str:
    """The three kinds beside each other: their curves, and the means over seeds."""
    runs, _ = ways()
    rows = []
    for way in WAYS:
        own = [run for run in runs if run.settings.positions == way]
        each = ", ".join(f"{run.bits:.3f}" for run in own)
        means = (mean(getattr(run, name) for run in own) for name in ("bits", "in_order", "shuffled"))
        bits, in_order, shuffled = means
        rows.append((NAMES[way].capitalize(), each, f"{bits:.3f}", f"{in_order:.2f}", f"{shuffled:.2f}"))
    drawn = group(
        "Bits for a byte of pieces of the held-out files on the way through training; a line for each seed.",
        ("gpt-positions", partial(paint_positions, runs=runs, colours=(ONE, FAINT, TWO)), (5.4, 3.0)),
    )
    head = (
        "Positions",
        "Bits for a byte, seed by seed",
        "Mean",
        "Bits for the last byte, in order",
        "Shuffled",
    )
    return f"{drawn}\n\n{table(head, rows)}"


def few_shot() -> str:
    """Accuracy by the number of examples: drawn, and in figures."""
    runs, _ = symbols()
    rows = []
    for each in zip(*(run.accuracies for run in runs), strict=True):
        shown = [one.shown for one in each if one.shown is not None]
        rows.append(
            (
                str(each[0].examples),
                ", ".join(_percent(one.right) for one in each),
                _percent(mean(shown)) if shown else "–",
                ", ".join(_percent(one.shuffled) for one in each),
                f"{each[0].best:.0%}",
            )
        )
    drawn = group(
        "Held-out maps that are answered rightly, by the number of examples in the prompt; a line for each seed.",
        ("gpt-few-shot", partial(paint_symbols, runs=runs, colours=COLOURS), (5.4, 3.0)),
    )
    head = ("Examples", "Right", "Where the letter was shown", "Digits shuffled", "At most")
    return f"{drawn}\n\n{table(head, rows)}"


def made(of: str) -> str:
    """When and with what a record was made, and how long training took."""
    found, with_ = {"text": text, "positions": ways, "few_shot": symbols}[of]()
    runs = [found] if isinstance(found, OfText) else found
    threads = "one thread" if with_["threads"] == 1 else f"{with_['threads']} threads"
    seconds = sum(run.processor for run in runs)
    return (
        f"recorded {with_['day']} with Python {with_['python']} and torch {with_['torch']}, {threads}, "
        f"{seconds:.0f} seconds of processor time for training"
    )


def figure(of: str, name: str) -> str:
    """One of the settings of a command, or of the figures beside them."""
    found, _ = {"text": text, "positions": ways, "few_shot": symbols}[of]()
    run = found if isinstance(found, OfText) else found[0]
    value = getattr(run, name) if hasattr(run, name) else getattr(run.settings, name)
    if name == "read_back":
        power = f"{value:.0e}".split("e")
        return f"{power[0]}·10<sup>{int(power[1])}</sup>".replace("-", "−")
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}".replace(",", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


PARTS = {"bits": bits, "curve": curve, "sample": sample, "positions": positions, "few_shot": few_shot}


def part(name: str, *others: str) -> str:
    """What ``{{ gpt name … }}`` stands for."""
    if name == "made":
        return made(*others)
    return figure(name, *others) if others else PARTS[name]()
