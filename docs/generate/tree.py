"""Beam search as a tree: all texts of a small law, which of them are kept at each step, and the likeliest at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import torch

import impl.decoding

from .markup import escape

START, LENGTH = "because", 3
LAW = {
    "because": {"it": 0.6, "the": 0.4},
    "it": {"rained": 0.4, "was": 0.35, "got": 0.25},
    "the": {"animal": 0.9, "street": 0.1},
    "rained": {"hard": 0.5, "again": 0.5},
    "was": {"tired": 0.9, "wide": 0.1},
    "got": {"late": 0.6, "dark": 0.4},
    "animal": {"slept": 0.4, "ran": 0.35, "hid": 0.25},
    "street": {"froze": 0.7, "ended": 0.3},
}
"""The law of the next word by the last one."""
WIDE, HIGH, ACROSS, DOWN = 84, 20, 104, 25
"""A box, and from each box to the next."""

Text = tuple[str, ...]


def texts(before: Text = ()) -> Iterator[Text]:
    """Every beginning, each before those that go on from it."""
    if len(before) < LENGTH:
        for word in LAW[before[-1] if before else START]:
            yield (*before, word)
            yield from texts((*before, word))


def probability(text: Text) -> float:
    """The product of the probabilities of its words."""
    return math.prod(LAW[last][word] for last, word in zip((START, *text), text, strict=False))


@cache
def best(width: int, length: int = LENGTH) -> list[Text]:
    """The beams that are kept after so many words, the likeliest first."""
    words = list(dict.fromkeys([*LAW, *(word for following in LAW.values() for word in following)]))
    table = torch.full((len(words), len(words)), -torch.inf, dtype=torch.float64)
    for word, following in LAW.items():
        for other, share in following.items():
            table[words.index(word), words.index(other)] = math.log(share)
    model = impl.decoding.Recomputed(lambda ids: table[ids])
    prompt = torch.tensor([[words.index(START)]])
    found = impl.decoding.beam(model, prompt, width=width, max_length=length)
    kept = [tokens for tokens, count in zip(found.tokens[0].tolist(), found.lengths[0], strict=True) if count]
    return [tuple(words[token] for token in tokens) for tokens in kept]


def drawn(width: int) -> str:
    """The tree, with what a search of this width keeps, drops and never looks at."""
    kept = {text for length in range(1, LENGTH + 1) for text in best(width, length)}
    greedy = best(1)[0]
    places, parts = _places(), []
    for text, (x, y) in places.items():
        mark = "kept" if text in kept else "dropped" if not text[:-1] or text[:-1] in kept else "unseen"
        mark += " greedy" if text and text == greedy[: len(text)] else ""
        mark += " best" if text == best(width)[0] else ""
        if text:
            x1, y1 = places[text[:-1]]
            edge = f'<path d="M{x1 + WIDE} {y1:g}C{x1 + ACROSS - 6} {y1:g} {x1 + WIDE + 6} {y:g} {x} {y:g}"/>'
        else:
            edge, mark = "", "kept"
        said = f"{text[-1]} {probability(text):.3f}" if text else START
        parts.append(
            f'<g class="{mark}" data-text="{escape(" ".join(text))}">{edge}'
            f'<rect x="{x}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="4"/>'
            f'<text x="{x + WIDE / 2:g}" y="{y + 4:g}">{escape(said)}</text></g>'
        )
    high = max(y for _, y in places.values()) + HIGH / 2 + 4
    wide = LENGTH * ACROSS + WIDE + 4
    label = (
        f"Beam search of width {width}: kept are "
        + "; then ".join(_listed(best(width, length)) for length in range(1, LENGTH + 1))
        + "."
    )
    svg = f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {wide} {high:g}">{"".join(parts)}</svg>'
    return f'<section class="drawings tree" data-search-exclude>{svg}</section>'


def _listed(every: list[Text]) -> str:
    return ", ".join(f"“{' '.join(text)}” ({probability(text):.3f})" for text in every)


def _places() -> dict[Text, tuple[int, float]]:
    """The left end and the middle of every box: leaves below each other, others in the middle of what follows them."""
    found: dict[Text, tuple[int, float]] = {}
    leaves = [text for text in texts() if len(text) == LENGTH]
    rows = {text: HIGH / 2 + 2 + DOWN * row for row, text in enumerate(leaves)}
    for text in [(), *texts()]:
        below = [y for leaf, y in rows.items() if leaf[: len(text)] == text]
        found[text] = (2 + ACROSS * len(text), (below[0] + below[-1]) / 2)
    return found
