"""The page on windows and segments says what the example recorded."""

from __future__ import annotations

from pathlib import Path

from generate import segments


def test_every_recorded_context_stands_in_the_table() -> None:
    """Bits and times, both ways."""
    result, _ = segments.record()
    text = segments.measured()
    for each in result.measured:
        assert (
            f"<td>{each.context}</td><td>{each.windows_bits:.3f}</td><td>{each.segments_bits:.3f}</td>"
            in text
        )
        assert (
            f"<td>{each.windows_ms:.3f}</td><td>{each.segments_ms:.3f}</td><td>{each.ratio:.1f}</td>" in text
        )


def test_what_the_page_claims_of_the_loss_is_what_was_recorded() -> None:
    """From 32 bytes on the same to a hundredth of a bit, below that segments cost more; past 128 nothing is gained."""
    by_context = {each.context: each for each in segments.record()[0].measured}
    for context, each in by_context.items():
        more = each.segments_bits - each.windows_bits
        assert abs(more) < 0.01 if context >= 32 else more > each.error
        for bits in (each.windows_bits, each.segments_bits):
            assert context <= 128 or bits > by_context[128].windows_bits - each.error


def test_what_the_page_claims_of_time_is_what_was_recorded() -> None:
    """Windows are faster with 8 and 16 bytes, and about C times as slow for the two longest contexts: at least three quarters."""
    measured = segments.record()[0].measured
    assert [each.context for each in measured if each.ratio < 1] == [8, 16]
    assert [each.context for each in measured if each.ratio > 0.75 * each.context] == [256, 512]
    assert all(each.ratio < each.context for each in measured)


def test_both_ways_agreed_where_nothing_was_forgotten() -> None:
    """To float64's accuracy."""
    result, _ = segments.record()
    assert result.difference < 1e-12
    assert f"at {result.agreed} bytes" in segments.part("agreement")
    assert "nats" in segments.part("agreement")


def test_figures_are_the_same_every_time_and_take_the_pages_colours() -> None:
    """With nothing in them that Markdown would take apart."""
    first, second = segments.part("curves"), segments.part("curves")
    assert first == second
    assert first.count("<svg") == 3
    assert "currentColor" in first
    assert "#0102" not in first
    assert "\n" not in first


def test_the_page_is_filled(site: Path) -> None:
    """The statement, a table and three drawings; no directive is left."""
    text = (site / "segments.html").read_text(encoding="utf-8")
    assert "{{" not in text
    assert text.count("<svg role") == 3
    assert text.count('class="statement"') == 1
