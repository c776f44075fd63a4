"""The page on long texts says what the example recorded."""

from __future__ import annotations

from pathlib import Path

from generate import lengths


def test_every_fitted_power_stands_in_the_table() -> None:
    """Beside the stated one, way by way."""
    shown, (result, _) = lengths.powers(), lengths.record()
    for power in result.powers:
        assert power.way in shown
        assert f"{power.seconds:.2f}" in shown
        assert f"{power.bytes:.2f}" in shown
    assert "16 384" in shown


def test_attention_to_all_is_the_fastest_of_what_is_causal_in_short_texts() -> None:
    """At the length that is said it is, and at twice that no longer."""
    result, _ = lengths.record()
    said = int(lengths.part("squared").replace(" ", ""))
    for n, is_fastest in ((said, True), (2 * said, False)):
        took = {each.way: each.seconds for each in result.measured if each.length == n}
        del took["low rank (Linformer)"]
        assert (min(took, key=took.__getitem__) == "all keys") == is_fastest


def test_the_figure_is_the_same_every_time_and_takes_the_pages_colours() -> None:
    """Three drawings, with nothing in them that Markdown would take apart."""
    first, second = lengths.part("curves"), lengths.part("curves")
    assert first == second
    assert first.count("<svg") == 3
    assert "#0102" not in first
    assert "\n" not in first


def test_the_page_is_filled(site: Path) -> None:
    """Three drawings; no directive is left."""
    text = (site / "lengths.html").read_text(encoding="utf-8")
    assert "{{" not in text
    assert text.count("<svg role") == 3
