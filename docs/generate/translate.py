"""The example of the Transformer on a page: what ``python -m examples.translate`` wrote in ``record.json``, seed by seed."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from examples import recording
from examples.translate.__main__ import Result, recorded
from examples.translate.drawing import paint_alignment, paint_beams, paint_training
from examples.translate.measuring import Tree

from .drawing import FAINT, ONE, TWO, group
from .markup import escape, table

FOLDER = Path(__file__).parents[1] / "evidence" / "translate"
SEARCHES = FOLDER.with_name("beams") / "tree.json"
COLOURS = (ONE, TWO, FAINT)


@cache
def records(folder: Path = FOLDER) -> tuple[tuple[Result, dict[str, Any]], ...]:
    """Every record, by seed."""
    found = [recorded(path) for path in folder.glob("*.json")]
    return tuple(sorted(found, key=lambda each: each[0].settings.seed))


@cache
def searches() -> Tree:
    """What beams asked the model, as it was early in training, about one number."""
    found = recording.read(SEARCHES)
    del found["made"]
    return Tree(**found)


def shares() -> str:
    """Held-out numbers written rightly in each direction, seed by seed."""
    rows = [(str(r.settings.seed), _percent(r.to_digits), _percent(r.to_words)) for r, _ in records()]
    return table(("Seed", "Words to digits", "Digits to words"), rows)


def curve() -> str:
    """The way through training."""
    result, _ = records()[0]
    s = result.settings
    return group(
        f"{s.probe} held-out numbers, measured every {s.every} steps (seed {s.seed}): how many come out right in every word, "
        "and the loss of a batch.",
        ("translate-training", partial(paint_training, curve=result.curve, colours=COLOURS), (5.4, 3.0)),
    )


def alignments() -> str:
    """Where the decoder looks, layer by layer."""
    result, _ = records()[0]
    layers = range(len(result.alignment.layers))
    return group(
        "The cross-attention of each decoder layer, the mean of its heads, while it writes a held-out number (rows, top to "
        "bottom) from its words (columns). Dark is all of it.",
        *(
            (
                f"translate-aligned-{layer + 1}",
                partial(paint_alignment, alignment=result.alignment, layer=layer),
                (3.4, 3.4),
            )
            for layer in layers
        ),
    )


def beams() -> str:
    """What a wider beam changes: drawn, and in figures."""
    result, _ = records()[0]
    s = result.settings
    rows = [
        (
            str(late.width),
            *(
                cell
                for each in (late, early)
                for cell in (
                    _percent(each.to_digits),
                    _percent(each.to_words),
                    f"{each.log_probability:.3f}".replace("-", "−"),
                )
            ),
        )
        for late, early in zip(result.beams, result.early, strict=True)
    ]
    head = (
        "Width",
        "To digits",
        "To words",
        "Mean log p",
        *(f"{x}, step {s.early}" for x in ("to digits", "to words", "mean log p")),
    )
    drawn = group(
        f"{s.searched} held-out numbers whose best beam is right, by the width of the beam (seed {s.seed}): as trained, and "
        f"after {s.early} steps.",
        (
            "translate-beams",
            partial(paint_beams, beams=result.beams, early=result.early, colours=COLOURS),
            (5.4, 3.0),
        ),
    )
    return f"{drawn}\n\n{table(head, rows)}"


def written() -> str:
    """Some held-out numbers with what was written for them."""
    result, _ = records()[0]
    rows = [
        (
            escape(each.source),
            escape(each.greedy) + ("" if each.greedy == each.target else f" (wrong: {escape(each.target)})"),
            "<br>".join(f"{escape(text)} ({p:.2f})".replace("-", "−") for text, p in each.beams),
        )
        for each in result.examples
    ]
    return table(("Read", "Written greedily", "Three best beams, with log p"), rows)


def made() -> str:
    """When and with what the record of the first seed was made, and how long training took."""
    result, with_ = records()[0]
    threads = "one thread" if with_["threads"] == 1 else f"{with_['threads']} threads"
    return (
        f"recorded {with_['day']} with torch {with_['torch']}, {threads}, "
        f"{result.training_processor:.0f} seconds of processor time for training"
    )


def setting(name: str) -> str:
    """One of the settings, or the number of parameters."""
    result, _ = records()[0]
    value = result.parameters if name == "parameters" else getattr(result.settings, name)
    return f"{value:,}".replace(",", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


PARTS = {
    "shares": shares,
    "curve": curve,
    "alignments": alignments,
    "beams": beams,
    "written": written,
    "made": made,
}


def part(name: str) -> str:
    """What ``{{ translate name }}`` stands for."""
    return PARTS[name]() if name in PARTS else setting(name)
