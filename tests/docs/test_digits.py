"""The page on images says what the example recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from generate import digits

from examples.digits import NAMES, record

pytestmark = pytest.mark.skipif(not digits.FOLDER.exists(), reason="its runs are not recorded yet")


def test_every_recorded_share_stands_in_the_table() -> None:
    """Of each method, seed by seed; and where patches are blanked."""
    shares, blanked = digits.shares(), digits.blanked()
    for result, _ in digits.records():
        for name, label in NAMES.items():
            assert label in shares
            assert f"{100 * result.right[name]:.1f} %" in shares
        assert all(f"{100 * found[-1]:.1f} %" in blanked for found in result.blanked.values())


def test_records_are_read_by_seed(tmp_path: Path) -> None:
    """Whatever the files are called."""
    result, _ = digits.records()[0]
    for name, seed in (("a", 11), ("b", 2), ("c", 5)):
        record(replace(result, settings=replace(result.settings, seed=seed)), tmp_path / f"{name}.json")
    assert [found.settings.seed for found, _ in digits.records(tmp_path)] == [2, 5, 11]


@pytest.mark.parametrize(("name", "drawings"), [("curves", 2), ("looks", 1)])
def test_figures_are_the_same_every_time_and_take_the_pages_colours(name: str, drawings: int) -> None:
    """With nothing in them that Markdown would take apart."""
    first, second = digits.part(name), digits.part(name)
    assert first == second
    assert first.count("<svg") == drawings
    assert "#0102" not in first
    assert "\n" not in first


def test_the_page_is_filled(site: Path) -> None:
    """Statements, tables and three drawings; no directive is left."""
    text = (site / "digits.html").read_text(encoding="utf-8")
    assert "{{" not in text
    assert text.count("<svg role") == 3
    assert text.count('class="statement"') == 2
