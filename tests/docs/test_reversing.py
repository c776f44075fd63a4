"""The page on what attention is for says what the example recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from generate import seq2seq

from examples.seq2seq import NAMES, record


def test_every_recorded_share_stands_in_the_table() -> None:
    """Letters and whole words of each model, seed by seed."""
    text = seq2seq.shares()
    for name, label in NAMES.items():
        assert label in text
        for result, _ in seq2seq.records():
            outcome = result.outcomes[name]
            assert f"{100 * outcome.letters:.1f} %" in text
            assert f"{100 * outcome.words:.1f} %" in text


def test_what_the_page_claims_is_what_was_recorded() -> None:
    """For every seed: nine of ten long words with attention, fewer than half without; short words come out right without it."""
    assert len(seq2seq.records()) > 1
    for result, _ in seq2seq.records():
        whole = {name: outcome.words for name, outcome in result.outcomes.items()}
        assert min(whole["bahdanau"], whole["luong"]) > 0.9
        assert whole["none"] < 0.5
        assert result.outcomes["none"].by_length[2] > 0.9
        assert result.outcomes["none"].by_length[result.settings.length] < 0.1


def test_records_are_read_by_seed(tmp_path: Path) -> None:
    """Whatever the files are called."""
    result, _ = seq2seq.records()[0]
    for name, seed in (("a", 11), ("b", 2), ("c", 5)):
        record(replace(result, settings=replace(result.settings, seed=seed)), tmp_path / f"{name}.json")
    assert [found.settings.seed for found, _ in seq2seq.records(tmp_path)] == [2, 5, 11]


@pytest.mark.parametrize("name", ["curves", "alignments"])
def test_figures_are_the_same_every_time_and_take_the_pages_colours(name: str) -> None:
    """Two drawings beside each other, with nothing in them that Markdown would take apart."""
    first, second = seq2seq.part(name), seq2seq.part(name)
    assert first == second
    assert first.count("<svg") == 2
    assert "currentColor" in first
    assert "#0102" not in first
    assert "\n" not in first


def test_the_page_is_filled(site: Path) -> None:
    """Statements, the table and four drawings; no directive is left."""
    text = (site / "seq2seq.html").read_text(encoding="utf-8")
    assert "{{" not in text
    assert text.count("<svg role") == 4
    assert text.count('class="statement"') == 2
    assert "Whole words right" in text
