"""The pages in a browser: nothing is cut, out of reach, too small or too faint; nothing is fetched; what is sought is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from generate.browser import HEIGHT, PHONE, WIDE, Theme, faults, pages
from playwright.sync_api import Browser, Page, expect

TEMPLATES = (
    "index",
    "chapter_03_attention",
    "normalization.rms_norm",
    "decoding.greedy",
    "reference/spec",
    "glossary",
    "theorems",
    "bert",
    "bibliography",
)
"""One page of each kind."""


@pytest.mark.parametrize("part", [0, 1])  # so that two processes share them
def test_a_reader_of_any_page_misses_nothing(site: Path, browser: Browser, part: int) -> None:
    """No error, no request outside; nothing cut or out of the keys' reach; letters and links can be told; wide and on a phone."""
    found = list(faults(browser, site, pages(site)[part::2], "light", (WIDE, PHONE)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("theme", "width"), [("light", WIDE), ("dark", PHONE)])
def test_axe_finds_no_fault(site: Path, browser: Browser, theme: Theme, width: int) -> None:
    """Contrast, names, headings, landmarks, on a page of each kind."""
    names = [f"{name}.html" for name in TEMPLATES]
    found = list(faults(browser, site, names, theme, (width,), with_axe=True))
    assert not found, "\n".join(found)


def test_a_fault_is_found(tmp_path: Path, browser: Browser) -> None:
    """A page with one of each; the tests above could fail."""
    wide = '<div style="width: 3000px">wide</div>'
    (tmp_path / "index.html").write_text(
        f"""<!doctype html><html lang="en"><title>A page</title><article>
        <p style="font-size: 5px">small</p><p>A <a href="index.html" style="text-decoration: none">link</a></p>
        <div style="overflow: auto">{wide}</div><div tabindex="0" style="overflow: auto">{wide}</div>
        <div style="overflow: hidden">{wide}</div>{wide}<img alt="" src="absent.png"><script src="http://localhost:1/"></script>
        <script>throw new Error("meant")</script><p style="color: #aaa">faint</p></article></html>"""
    )
    said = "\n".join(faults(browser, tmp_path, ["index.html"], "light", (WIDE,), with_axe=True))
    for fault in (
        "a letter of 5.0 px", "told by colour alone", "that no key reaches", "without a name", "cut: ", "scrolls sideways",
        "a request outside: http://localhost:1/", "a request failed", "error: meant", "axe, color-contrast",
    ):  # fmt: skip
        assert fault in said


def test_on_a_phone_what_is_for_reference_is_closed(site: Path, browser: Browser) -> None:
    """A formula's page begins with what is read; a link to a theorem opens where it leads; where there is room all is open."""
    page = browser.new_page(viewport={"width": PHONE, "height": HEIGHT})
    address = (site / "attention.biased_multi_head.html").as_uri()
    page.goto(address)
    screens = page.evaluate("document.documentElement.scrollHeight") / HEIGHT
    assert 3 < screens < 15  # with all open it is longer than 20
    theorem = page.locator("h3#theorem-permutation-equivariant")
    assert not theorem.is_visible()
    page.goto(f"{address}#theorem-permutation-equivariant")
    expect(theorem).to_be_visible()
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    expect(page.locator("details.reference:not([open])")).to_have_count(0)
    page.close()


@pytest.fixture(scope="module")
def start(site: Path, browser: Browser) -> Iterator[Page]:
    """The first page."""
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    yield page
    page.close()


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ("why divide by sqrt", {"chapter_03_attention", "attention.scaled_dot_product", "scores.scaled_dot"}),
        ("80/10/10", {"mlm-shares", "masking.mlm", "chapter_10_bert_pretrained"}),
        ("masking", {"masking.mlm", "chapter_04_lookup", "chapter_10_bert_pretrained"}),
        ("multi head", {"attention.multi_head", "chapter_05_heads"}),
        ("softmax", {"attention.softmax", "chapter_03_attention"}),
        ("layer norm", {"normalization.layer_norm", "chapter_07_layer"}),
        ("beam search", {"decoding.beam", "chapter_09_writing"}),
        ("positional encoding", {"positional.sinusoidal", "chapter_06_order"}),
    ],
)
def test_a_search_finds_the_main_page_first(start: Page, sought: str, found: set[str]) -> None:
    """A chapter or the formula's own page, by the words that a reader would type; from the disk, without a server."""
    field, said = start.locator(".md-search__input"), start.locator(".md-search-result__meta")
    for words in ("", sought):
        field.fill(words)
        field.press("End")
        expect(said).to_contain_text("matching" if words else "Type to start", timeout=60_000)
    address = start.locator(".md-search-result__link").first.get_attribute("href")
    assert address
    assert Path(address.split("?")[0].split("#")[0]).stem in found
