"""The bibliography on a page: each work has those that cite it, and a link."""

from __future__ import annotations

from generate import bibliography

from spec.bibliography import DECKS, PAPERS
from spec.language.registry import statement, statement_ids


def test_every_work_is_cited_by_a_page() -> None:
    """A work that no statement is taken from, and whose numbers none works out, is not listed."""
    cited = {source.reference for i in statement_ids() for source in bibliography.citations(statement(i))}
    assert [work.key for work in (*DECKS, *PAPERS) if work not in cited] == []


def test_every_publication_has_an_address() -> None:
    """A DOI and an arXiv number become links."""
    assert [work.key for work in PAPERS if not work.link] == []
    text = bibliography.entries("papers")
    assert 'href="https://arxiv.org/abs/1706.03762"' in text
    assert 'href="https://doi.org/10.1038/s41586-021-03819-2"' in text
    assert text.count('href="https://') == len(PAPERS)
