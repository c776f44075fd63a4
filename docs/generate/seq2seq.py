"""The example of sequence to sequence on a page: what ``python -m examples.seq2seq --record`` wrote, one file for each seed."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from examples.seq2seq import NAMES, Result, recorded
from examples.seq2seq_drawing import paint_alignment, paint_lengths, paint_training

from .drawing import FOUR, ONE, TWO, group
from .markup import table

FOLDER = Path(__file__).parents[1] / "evidence" / "seq2seq"
COLOURS = (FOUR, ONE, TWO)


@cache
def records(folder: Path = FOLDER) -> tuple[tuple[Result, dict[str, Any]], ...]:
    """Every record, by seed."""
    found = [recorded(path) for path in folder.glob("*.json")]
    return tuple(sorted(found, key=lambda each: each[0].settings.seed))


def shares() -> str:
    """The shares of each model on held-out words, seed by seed."""
    results = [result for result, _ in records()]
    rows = []
    for name, label in NAMES.items():
        outcomes = [result.outcomes[name] for result in results]
        rows.append(
            (
                label,
                f"{outcomes[0].parameters:,}".replace(",", " "),
                ", ".join(_percent(o.letters) for o in outcomes),
                ", ".join(_percent(o.words) for o in outcomes),
            )
        )
    seeds = ", ".join(str(result.settings.seed) for result in results)
    head = ("Decoder", "Parameters", "Letters right", "Whole words right")
    return table(head, rows) + f"\n\nIn each cell: one figure for each of the seeds {seeds}."


def curves() -> str:
    """Whole words right: on the way through training, and by length after it."""
    result, _ = records()[0]
    s = result.settings
    return group(
        f"Whole words right (seed {s.seed}). Left: words of {s.shortest} to {s.length} letters, on the way through training. "
        f"Right: after training, by length, 100 words of each.",
        ("training", partial(paint_training, result=result, colours=COLOURS), (3.4, 2.6)),
        ("lengths", partial(paint_lengths, result=result, colours=COLOURS), (3.4, 2.6)),
    )


def alignments() -> str:
    """Which letters were looked at while each letter was written."""
    outcomes = records()[0][0].outcomes
    return group(
        "The learned alignment of a word that was not trained on: how much of each letter read (columns, first to last) went "
        "into each letter written (rows, top to bottom). Dark is all of it.",
        *(
            (f"aligned-{name}", partial(paint_alignment, outcome=outcomes[name]), (3.4, 3.4))
            for name in ("bahdanau", "luong")
        ),
    )


def made() -> str:
    """When and with what the record of the first seed was made, and how long that took."""
    result, with_ = records()[0]
    threads = "one thread" if with_["threads"] == 1 else f"{with_['threads']} threads"
    return (
        f"recorded {with_['day']} with torch {with_['torch']}, {threads}, "
        f"{result.processor:.0f} seconds of processor time for all three models"
    )


def setting(name: str) -> str:
    """One of the settings, or the range of lengths that count as long."""
    s = records()[0][0].settings
    return f"{s.shortest} to {s.length}" if name == "lengths" else f"{getattr(s, name):,}".replace(",", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


PARTS = {"shares": shares, "curves": curves, "alignments": alignments, "made": made}


def part(name: str) -> str:
    """What ``{{ reversing name }}`` stands for."""
    return PARTS[name]() if name in PARTS else setting(name)
