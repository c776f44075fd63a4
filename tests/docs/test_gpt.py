"""The page of the small GPT says what the example and its comparisons recorded."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from generate import gpt

from examples.gpt.symbols import HELD_OUT, KEYS

pytestmark = pytest.mark.skipif(not gpt.FOLDER.exists(), reason="its runs are not recorded yet")


def test_what_the_page_claims_of_the_text_is_what_was_recorded() -> None:
    """The model is cheaper than the counts, and is what transformers reads: float32, logits of some tens."""
    found, _ = gpt.text()
    assert found.bits["gpt"] < found.bits["counted"]
    assert found.read_back < 1e-3
    text = gpt.bits()
    assert all(f"{bits:.2f}" in text for bits in found.bits.values())


def test_what_the_page_claims_of_positions_is_what_was_recorded() -> None:
    """Without positions too, what stands before a token is worth more in its order: by a tenth of a bit, in every seed."""
    runs, _ = gpt.ways()
    assert len(runs) == 9
    for run in runs:
        assert run.shuffled > run.in_order + 0.1


def test_what_the_page_claims_of_small_tasks_is_what_was_recorded() -> None:
    """All examples shown, nine of ten maps are answered; shuffled, chance, within six standard deviations in every seed."""
    far = 6 * math.sqrt((1 / KEYS) * (1 - 1 / KEYS) / HELD_OUT)
    for run in gpt.symbols()[0]:
        assert run.accuracies[-1].right > 0.9
        for each in run.accuracies:
            assert abs(each.shuffled - 1 / KEYS) < far
            assert each.right < each.best + 6 * math.sqrt(each.best * (1 - each.best) / HELD_OUT) + 1e-9


@pytest.mark.parametrize("name", ["curve", "positions", "few_shot"])
def test_figures_are_the_same_every_time_and_take_the_pages_colours(name: str) -> None:
    """With nothing in them that Markdown would take apart."""
    first, second = gpt.part(name), gpt.part(name)
    assert first == second
    assert first.count("<svg") == 1
    assert "currentColor" in first
    assert "#0102" not in first


def test_the_page_is_filled(site: Path) -> None:
    """Tables and three drawings; no directive is left."""
    text = (site / "gpt.html").read_text(encoding="utf-8")
    assert "{{" not in text
    assert text.count("<svg role") == 3
