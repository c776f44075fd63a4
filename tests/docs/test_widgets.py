"""Figures that answer, in a browser: what they compute is what ``impl`` does. Skipped where there is no Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from generate import steps, widgets
from playwright.sync_api import Browser, Page

import impl.attention


@pytest.fixture(scope="module")
def chapter(site: Path, browser: Browser) -> Iterator[Page]:
    """The chapter with both figures, as a browser draws it, without a script that fails."""
    page = browser.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto((site / "chapter_03_attention.html").as_uri())
    yield page
    page.close()
    assert not failures


def rows(chapter: Page, title: str) -> list[list[float]]:
    """The numbers of a table of the figure."""
    table = chapter.locator(".results table").filter(
        has=chapter.locator("caption", has_text=re.compile(f"^{title}$"))
    )
    found = [row.locator("td").all_inner_texts() for row in table.locator("tr").all()]
    return [[float(cell.replace("−", "-")) for cell in row] for row in found if row]


def test_attention_by_hand_is_what_the_library_computes(chapter: Page) -> None:
    """Weights and contexts of the three tokens, to the three decimals that are shown."""
    q, k, v = (torch.from_numpy(steps.layer()[name]) for name in "qkv")
    z = impl.attention.scaled_dot_product(q, k, v)
    assert rows(chapter, "z") == [[round(x, 3) for x in row] for row in z.tolist()]
    assert rows(chapter, "weights") == [[round(float(x), 3) for x in row] for row in steps.layer()["a"]]


def test_the_width_of_keys_saturates_the_softmax(chapter: Page) -> None:
    """At 64 entries, unscaled, as the figure begins."""
    figure = chapter.locator("[data-widget=saturation]")
    scores = torch.tensor(
        [json.loads(figure.get_attribute("data-values") or "")["scores"]], dtype=torch.float64
    )
    largest = float(figure.get_attribute("data-largest") or "")
    assert largest == pytest.approx(impl.attention.softmax(8 * scores).max().item())


@pytest.mark.parametrize("name", list(widgets.WIDGETS))
def test_without_scripts_a_figure_shows_something(name: str) -> None:
    """What stands inside of it."""
    inside = re.search(r'<div class="widget"[^>]*>(.*)</div><figcaption>', widgets.shown(name))
    assert inside
    assert len(inside[1]) > 50
