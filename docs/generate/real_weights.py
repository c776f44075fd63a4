"""Real weights on a page: what ``attnspec verify bert.encoder --weights`` and ``python -m examples.real_weights`` wrote."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from examples.real_weights import ASKED, ASKS, SENSES, WORD, Result, recorded

from .drawing import ONE, TWO, group
from .markup import code, escape, table

FOLDER = Path(__file__).parents[1] / "evidence" / "weights"


@cache
def looks(folder: Path = FOLDER) -> tuple[Result, dict[str, Any]]:
    """What the heads look at and how a word's vectors part."""
    return recorded(folder / "looks.json")


@cache
def agreed(folder: Path = FOLDER) -> dict[str, Any]:
    """The three-way comparison, as the command wrote it."""
    found: dict[str, Any] = json.loads((folder / "agreement.json").read_text(encoding="utf-8"))
    return found


def agreement() -> str:
    """The largest error of each layer, a row for each implementation and type."""
    found = agreed()
    depth = found["weights"]["layers"]
    head = (
        "Implementation",
        "Type",
        "Counted in",
        "Embedding",
        *(f"Layer {layer + 1}" for layer in range(depth)),
    )
    rows = [
        (
            code(one["target"]),
            one["dtype"],
            "the bound" if one["measure"] == "error/bound" else "σ",
            *(_figure(ratio, one["measure"]) for ratio in one["layers"]),
        )
        for one in found["compared"]
    ]
    return table(head, rows)


def _figure(ratio: float, measure: str) -> str:
    if measure == "sigma":
        return f"{ratio:.1f}"
    power = f"{ratio:.0e}".split("e")
    return f"{power[0]}·10<sup>{int(power[1])}</sup>".replace("-", "−")


def tokens() -> str:
    """What was read."""
    return " ".join(code(token) for token in agreed()["texts"][0]["tokens"])


def head() -> str:
    """The head that sees best what the word stands for: all its weights, and where among the heads it is."""
    result, _ = looks()

    def weights(axes: Axes) -> None:
        _heat(axes, result.most.weights, result.tokens, result.tokens)

    def heads(axes: Axes) -> None:
        columns = [str(number + 1) for number in range(len(result.to_asked[0]))]
        _heat(axes, result.to_asked, [str(number + 1) for number in range(len(result.to_asked))], columns)
        axes.set_xlabel("head")
        axes.set_ylabel("layer")

    return group(
        f"Left: the weights of head {result.most.head} of layer {result.most.layer}; a row is what a token attends to, dark is "
        f"all of it. Right: the weight with which “{escape(ASKS)}” attends to “{escape(ASKED)}”, in every head of every layer.",
        ("weights-head", weights, (4.4, 4.4)),
        ("weights-heads", heads, (4.0, 2.6)),
    )


def favoured() -> str:
    """What that head gives to the asked token from all the others: whether it is the pronoun that it sees."""
    result, _ = looks()
    at, asks = result.tokens.index(ASKED), result.tokens.index(ASKS)
    others = [row[at] for place, row in enumerate(result.most.weights) if place not in (at, asks)]
    first = sum(max(row) == row[at] for row in result.most.weights)
    large = sum(weight > 0.5 for layer in result.to_asked for weight in layer)
    return (
        f"In {large} of {sum(map(len, result.to_asked))} heads “{escape(ASKS)}” gives more than half of its weight to "
        f"“{escape(ASKED)}”. That alone resolves no pronoun: in the head on the left “{escape(ASKED)}” gets "
        f"{result.most.weights[asks][at]:.2f} from “{escape(ASKS)}”, but {sum(others) / len(others):.2f} from the others on "
        f"average, and of the {len(result.tokens)} tokens {first} attend to it most. "
    )


def _heat(axes: Axes, values: list[list[float]], rows: list[str], columns: list[str]) -> None:
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=60 if max(map(len, columns)) > 2 else 0)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.grid(visible=False)


def senses() -> str:
    """How the vectors of a word part, layer by layer."""
    result, _ = looks()

    def paint(axes: Axes) -> None:
        layers = range(len(result.within))
        axes.plot(layers, result.within, "o-", color=ONE, label="one sense")
        axes.plot(layers, result.between, "s-", color=TWO, label="two senses")
        axes.set_xlabel("layer (0: the embedding)")
        axes.set_ylabel("mean cosine")
        axes.legend()

    drawn = group(
        f"The mean cosine between the vectors of “{WORD}” in two sentences, layer by layer.",
        ("weights-senses", paint, (5.4, 3.0)),
    )
    rows = [
        ("Embedding" if layer == 0 else str(layer), f"{same:.3f}", f"{other:.3f}", f"{near:.0%}")
        for layer, (same, other, near) in enumerate(
            zip(result.within, result.between, result.nearest, strict=True)
        )
    ]
    columns = ("Layer", "Cosine, one sense", "Two senses", "The nearest has the same sense")
    return f"{drawn}\n\n{table(columns, rows)}"


def sentences() -> str:
    """The sentences of each sense."""
    return table(
        ("Sense", "Sentences"), [(sense, "<br>".join(map(escape, every))) for sense, every in SENSES.items()]
    )


def made() -> str:
    """When and with what it was recorded."""
    _, with_ = looks()
    return f"recorded {with_['day']} with torch {with_['torch']}"


PARTS = {
    "agreement": agreement,
    "tokens": tokens,
    "favoured": favoured,
    "head": head,
    "senses": senses,
    "sentences": sentences,
    "made": made,
}


def part(name: str) -> str:
    """What ``{{ real_weights name }}`` stands for."""
    return PARTS[name]()
