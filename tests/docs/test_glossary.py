"""The glossary: in order, each term once, and tooltips for those that everyday language does not have."""

from __future__ import annotations

from generate import glossary


def test_terms_stand_in_order_and_once() -> None:
    """So that they are found."""
    terms = [term.lower() for term, _ in glossary.ENTRY.findall(glossary.FILE.read_text("utf-8"))]
    assert terms == sorted(terms)
    assert len(set(terms)) == len(terms)


def test_every_tooltip_is_an_entry() -> None:
    """With its meaning."""
    text = glossary.tooltips()
    assert all(f"*[{term}]: {glossary.entries()[term]}" in text for term in glossary.SHOWN)
