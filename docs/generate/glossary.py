"""The glossary, as tooltips on the other pages: a term that is no everyday word shows its meaning."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).parents[1] / "glossary.md"
ENTRY = re.compile(r"^- \*\*(.+?)\*\*: (.+)$", re.MULTILINE)
SHOWN = (
    "equivariant",
    "fingerprint",
    "logits",
    "nats",
    "perplexity",
    "polarity",
    "vector–Jacobian product",
    "wrong variant",
)
"""The terms that have a tooltip wherever they stand: those that everyday language does not have, or uses otherwise."""


@cache
def entries() -> dict[str, str]:
    """Every term with its meaning."""
    return dict(ENTRY.findall(FILE.read_text(encoding="utf-8")))


def tooltips() -> str:
    """The abbreviations that Markdown makes tooltips of."""
    return "\n".join(f"*[{term}]: {entries()[term]}" for term in SHOWN)
