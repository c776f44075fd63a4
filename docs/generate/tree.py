"""Beam search as a tree: what a model that was trained for a short time would write, step by step, and which beams are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import torch

import impl.decoding
from examples.translate.measuring import DEEPEST, TOP
from examples.translate.numerals import BEGIN, END, VOCABULARY

from .markup import escape
from .translate import searches

WIDE, HIGH, ACROSS, DOWN = 54, 32, 70, 36
"""A box, and from each box to the next."""

Text = tuple[str, ...]


@cache
def law() -> dict[Text, dict[str, float]]:
    """The log-probabilities of the words by which a beginning is expanded, the likeliest first."""
    found = {}
    for text, log_p in searches().log_probabilities.items():
        best = sorted(range(len(log_p)), key=lambda word: -log_p[word])[:TOP]
        found[tuple(text.split())] = {VOCABULARY[word]: log_p[word] for word in best}
    return found


def texts(before: Text = ()) -> Iterator[Text]:
    """Every beginning that a beam of some width looks at, each before those that go on from it."""
    for word in law().get(before, ()):
        yield (*before, word)
        yield from texts((*before, word))


def log_probability(text: Text) -> float:
    """The sum over its words."""
    return sum(law()[text[:place]][word] for place, word in enumerate(text))


@cache
def best(width: int, length: int = DEEPEST) -> list[Text]:
    """The beams that are kept after so many steps, the best first; of the recorded log-probabilities."""
    rows = {
        text: torch.tensor(log_p, dtype=torch.float64) for text, log_p in searches().log_probabilities.items()
    }
    nothing = torch.zeros(len(VOCABULARY), dtype=torch.float64)

    def after(ids: list[int]) -> torch.Tensor:
        return rows.get(" ".join(VOCABULARY[i] for i in ids), nothing)

    def read(ids: torch.Tensor) -> torch.Tensor:
        return torch.stack(
            [torch.stack([after(row[1 : n + 1]) for n in range(len(row))]) for row in ids.tolist()]
        )

    found = impl.decoding.beam(
        impl.decoding.Recomputed(read),
        torch.tensor([[BEGIN]]),
        width=width,
        max_length=length,
        end=END,
        top=TOP,
    )
    return [
        tuple(VOCABULARY[i] for i in row[:n])
        for row, n in zip(found.tokens[0].tolist(), found.lengths[0].tolist(), strict=True)
        if n
    ]


def kept(width: int) -> set[Text]:
    """The beams that are kept after some step."""
    return {text for length in range(1, DEEPEST + 1) for text in best(width, length)}


def written(text: Text) -> str:
    """A text in words: what is finished without its end, of another it is seen that it goes on."""
    return "".join(text[:-1]) if text[-1] == VOCABULARY[END] else "".join(text) + " …"


def drawn(width: int) -> str:
    """The tree, with what a search of this width keeps, drops and never looks at."""
    stays, greedy = kept(width), best(1)[0]
    places, parts = _places(), []
    for text, (x, y) in places.items():
        mark = (
            "kept"
            if text in stays or not text
            else "dropped"
            if not text[:-1] or text[:-1] in stays
            else "unseen"
        )
        mark += " greedy" if text and text == greedy[: len(text)] else ""
        mark += " best" if text == best(width)[0] else ""
        edge, said = "", f'<text x="{x + WIDE / 2:g}" y="{y + 4:g}">begin</text>'
        if text:
            x1, y1 = places[text[:-1]]
            edge = f'<path d="M{x1 + WIDE} {y1:g}C{x1 + ACROSS - 6} {y1:g} {x1 + WIDE + 6} {y:g} {x} {y:g}"/>'
            lines = ((-2, text[-1].strip("<>")), (11, f"{math.exp(log_probability(text)):.3f}"))
            said = "".join(f'<text x="{x + WIDE / 2:g}" y="{y + by:g}">{line}</text>' for by, line in lines)
        box = f'<rect x="{x}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="4"/>'
        parts.append(f'<g class="{mark}" data-text="{escape(" ".join(text))}">{edge}{box}{said}</g>')
    high = max(y for _, y in places.values()) + HIGH / 2 + 2
    wide = DEEPEST * ACROSS + WIDE + 4
    listed = "; then ".join(
        ", ".join(
            f"“{written(text)}” ({math.exp(log_probability(text)):.3f})" for text in best(width, length)
        )
        for length in range(1, DEEPEST + 1)
    )
    label = escape(f"Beam search of width {width}: kept are {listed}.")
    svg = f'<svg role="img" aria-label="{label}" viewBox="0 0 {wide} {high:g}">{"".join(parts)}</svg>'
    return f'<section class="drawings tree" data-search-exclude>{svg}</section>'


def _places() -> dict[Text, tuple[int, float]]:
    """The left end and the middle of every box: leaves below each other, others in the middle of what follows them."""
    found: dict[Text, tuple[int, float]] = {}
    leaves = [text for text in texts() if text not in law()]
    rows = {text: HIGH / 2 + 2 + DOWN * row for row, text in enumerate(leaves)}
    for text in [(), *texts()]:
        below = [y for leaf, y in rows.items() if leaf[: len(text)] == text]
        found[text] = (2 + ACROSS * len(text), (below[0] + below[-1]) / 2)
    return found
