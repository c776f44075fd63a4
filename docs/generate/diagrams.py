"""Diagrams that no single statement's data flow shows: what BERT's embedding adds up for each token of two texts."""

from __future__ import annotations

from impl.bert import pack

from .dataflow import figure, letter
from .markup import escape

TEXTS = (["my", "dog", "is", "cute"], ["he", "likes", "play", "##ing"])
"""The pair of texts of figure 2 of Devlin et al. 2019."""
WIDE, HIGH, GAP, LEFT = 62, 26, 8, 84
"""A box, what is between it and the next one, and the room for the names of rows."""


def bert_input() -> str:
    """The tokens of two texts, packed, each with its three rows and their sum."""
    words = list(dict.fromkeys(["[CLS]", "[SEP]", *TEXTS[0], *TEXTS[1]]))
    numbered = [[words.index(token) for token in text] for text in TEXTS]
    ids, segments = pack(*numbered, cls=0, sep=1, longest=512)
    rows = (
        ("read", [words[token] for token in ids], "input"),
        ("token", [f"E_{words[token]}" for token in ids], "line"),
        ("segment", [f"S_{segment}" for segment in segments], "line"),
        ("position", [f"P_{place}" for place in range(len(ids))], "line"),
        ("their sum", [f"s_{place}" for place in range(len(ids))], "output"),
    )
    between = ("", "+", "+", "=")
    parts = []
    for down, (name, cells, kind) in enumerate(rows):
        y = 4 + down * (HIGH + 20)
        parts.append(f'<text x="4" y="{y + 17}">{escape(name)}</text>')
        for across, cell in enumerate(cells):
            x = LEFT + across * (WIDE + GAP)
            text, look = (escape(cell), "middle") if kind == "input" else (letter(cell), "middle letter")
            mark = f"{kind} second" if segments[across] else kind
            parts.append(f'<rect class="{mark}" x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5"/>')
            parts.append(f'<text class="{look}" x="{x + WIDE / 2:g}" y="{y + 17}">{text}</text>')
            if down < len(between):
                sign = between[down] or "↓"
                parts.append(f'<text class="middle" x="{x + WIDE / 2:g}" y="{y + HIGH + 14}">{sign}</text>')
    width, height = LEFT + len(ids) * (WIDE + GAP), len(rows) * (HIGH + 20) - 12
    said = "; ".join(
        f"{words[token]}: token {words[token]}, segment {segment}, position {place}"
        for place, (token, segment) in enumerate(zip(ids, segments, strict=True))
    )
    caption = (
        "What BERT reads of a pair of texts: for each token a row of the table of tokens, one of the table of segments (0 or 1), "
        "and one of the table of positions, added entry by entry. Their sum is normalised, and enters the first layer."
    )
    return figure(
        f"The three rows that are added for each token. {said}.", width, height, "".join(parts), caption
    )


DIAGRAMS = {"bert_input": bert_input}


def shown(name: str) -> str:
    """The diagram of this name."""
    return DIAGRAMS[name]()
