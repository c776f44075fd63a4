"""What a search looks through: words, and neither code nor what a page has for reference; small enough to wait for."""

from __future__ import annotations

import json
from pathlib import Path

from generate import search


def test_code_and_reference_are_left_out_and_words_stay() -> None:
    """Marked are code, folded parts, hypotheses and the parts for reference; a paragraph is not."""
    marked = (
        '<div class="highlight">', '<details class="proof">', '<h2 id="evidence">', "<p>For h = 1:</p>",
        "<p>(1), (2) At once: so.</p>", '<p class="places">', "<td>wrong variant <code>"
    )  # fmt: skip
    kept = (
        '<h2 id="statement">',
        "<p>For h = 1 it is so.</p>",
        "<td>a wrong mask</td>",
        '<details class="reference">',
    )
    for html in marked:
        assert "data-search-exclude" in search.leave_out(html, "attention.multi_head.md")
    for html in kept:
        assert search.leave_out(html, "attention.multi_head.md") == html
    assert "data-search-exclude" in search.leave_out("<table>", "conventions.md")


def test_the_index_is_under_a_megabyte(site: Path) -> None:
    """It is fetched by whoever opens a page; every chapter and every formula is in it."""
    text = (site / "search" / "search_index.json").read_text("utf-8")
    assert len(text) < 1_000_000
    found = {each["location"].split("#")[0] for each in json.loads(text)["docs"]}
    assert {"chapter_03_attention.html", "attention.multi_head.html", "decoding.beam.html"} <= found
