"""The example of ELMo on a page: what ``python -m examples.elmo --record`` wrote, one file for each seed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from examples.elmo import PROBES, Result, recorded

from .markup import table

FOLDER = Path(__file__).parents[1] / "evidence" / "elmo"


@cache
def records(folder: Path = FOLDER) -> tuple[tuple[Result, dict[str, Any]], ...]:
    """Every record, by seed."""
    found = [recorded(path) for path in folder.glob("*.json")]
    return tuple(sorted(found, key=lambda each: each[0].settings.seed))


def cosines() -> str:
    """Mean cosines of "bank" within a sense and between the two, layer by layer, of the first seed."""
    result, _ = records()[0]
    rows = [
        (
            after.name,
            *(f"{x:.3f}" for x in (before.within, before.between, after.within, after.between)),
            "–" if after.nearest is None else f"{after.nearest:.0%}",
        )
        for before, after in zip(result.untrained, result.trained, strict=True)
    ]
    head = (
        "Vector of “bank”",
        "Before training: same sense",
        "other sense",
        "After: same sense",
        "other sense",
        "Nearest has the same sense",
    )
    return table(head, rows)


def probes() -> str:
    """The cosine of "bank" in three sentences that stand nowhere in the text, seed by seed."""
    first, second, third = (f"“{probe}”" for probe in PROBES)
    rows = [
        (str(r.settings.seed), f"{r.same_sense:.3f}", f"{r.other_sense:.3f}", f"{r.perplexity_after:.2f}")
        for r, _ in records()
    ]
    head = ("Seed", "Beside the second", "Beside the third", "Perplexity of a held-out word")
    return (
        f"1. {first}\n2. {second}\n3. {third}\n\n"
        "The cosine of the top layer’s vector of “bank” in the first:\n\n" + table(head, rows)
    )


def made() -> str:
    """When, with what and on what the first record was made."""
    result, how = records()[0]
    return (
        f"recorded {how['day']} with torch {how['torch']}: {result.trained_on} sentences to train on, "
        f"{result.held_out} held out, {result.words} words, seed {result.settings.seed}"
    )


def part(name: str) -> str:
    """What ``{{ elmo name }}`` stands for."""
    return {"cosines": cosines, "probes": probes, "made": made}[name]()
