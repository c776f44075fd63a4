"""The page on numbers in words and digits says what the example recorded."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from generate import translate

from examples import recording


def test_every_recorded_share_stands_in_the_table() -> None:
    """Both directions, seed by seed."""
    text = translate.shares()
    for result, _ in translate.records():
        assert f"<td>{result.settings.seed}</td>" in text
        assert f"{100 * result.to_digits:.1f} %" in text
        assert f"{100 * result.to_words:.1f} %" in text


def test_what_the_page_claims_of_training_is_what_was_recorded() -> None:
    """For every seed: nineteen of twenty held-out numbers come out right, in either direction."""
    for result, _ in translate.records():
        assert min(result.to_digits, result.to_words) > 0.95


def test_what_the_page_claims_of_beams_is_what_was_recorded() -> None:
    """Trained, all widths do alike. Early a second beam helps; a wider one finds likelier texts, and hardly a right one more."""
    for result, _ in translate.records():
        assert len({(each.to_digits, each.to_words) for each in result.beams}) == 1
        likelier = [each.log_probability for each in result.beams]
        assert max(likelier) - min(likelier) < 1e-3
        one, two, *wider = result.early
        assert two.to_digits > one.to_digits
        assert one.log_probability < two.log_probability < wider[0].log_probability
        for each in wider:  # one number of those searched, in one direction
            assert (
                abs(each.to_digits - two.to_digits) + abs(each.to_words - two.to_words)
                < 1.5 / result.settings.searched
            )


def test_what_the_page_claims_of_the_alignment_is_what_was_recorded() -> None:
    """The last layer has most of its weight on one word for each digit, another each time; the layer before it has not."""
    found = translate.records()[0][0].alignment
    *_, before, last = found.layers
    digits = [row for row, word in enumerate(found.written) if word.isdigit()]
    assert len(digits) == 6
    assert all(max(last[row]) > 0.9 for row in digits)
    assert len({last[row].index(max(last[row])) for row in digits}) == len(digits)
    assert all(max(before[row]) < 0.6 for row in digits)


def test_records_are_read_by_seed(tmp_path: Path) -> None:
    """Whatever the files are called."""
    result, _ = translate.records()[0]
    for name, seed in (("a", 11), ("b", 2), ("c", 5)):
        other = replace(result, settings=replace(result.settings, seed=seed))
        recording.write(asdict(other), tmp_path / f"{name}.json")
    assert [found.settings.seed for found, _ in translate.records(tmp_path)] == [2, 5, 11]


@pytest.mark.parametrize(("name", "drawings"), [("curve", 1), ("alignments", 2), ("beams", 1)])
def test_figures_are_the_same_every_time_and_take_the_pages_colours(name: str, drawings: int) -> None:
    """With nothing in them that Markdown would take apart."""
    first, second = translate.part(name), translate.part(name)
    assert first == second
    assert first.count("<svg") == drawings
    assert "currentColor" in first
    assert "#0102" not in first
    assert "\n" not in first.partition("\n\n")[0]


def test_the_page_is_filled(site: Path) -> None:
    """Tables and four drawings; no directive is left."""
    text = (site / "translate.html").read_text(encoding="utf-8")
    assert "{{" not in text
    assert text.count("<svg role") == 4
    assert "Words to digits" in text
    assert "Three best beams" in text
