"""The built pages: complete, local, and saying what the checker and the records say."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from generate import derivations, figures, theorems
from generate.markup import KEPT, LETTER

from spec.language import Assurance, Theorem, claim, indices, sizes
from spec.language.registry import formulas

ID = list(formulas())
n, m = sizes("n m")
i, j = indices("i j")
LOADING = {"script", "img", "iframe", "source", "video", "audio", "embed", "object", "input", "image", "use"}


class Page(HTMLParser):
    """What a page links to, what it loads, and its link targets."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the attributes of a tag."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if not value or name not in ("href", "src", "srcset", "data", "poster", "xlink:href"):
                continue
            canonical = tag == "link" and dict(attrs).get("rel") in ("canonical", "prev", "next")
            (self.loads if tag in LOADING or (tag == "link" and not canonical) else self.links).append(value)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Every page by its path."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_letters_are_set_as_statements_set_them(site: Path) -> None:
    """In the text of no page stands W_o, d_k or another letter with an index as one types it; and BERT is written BERT."""
    for path in sorted(site.glob("*.html")):
        text = path.read_text(encoding="utf-8")
        article = text[text.find("<article") : text.find("</article>")]
        words = KEPT.sub(" ", article)
        assert LETTER.findall(words) == [], path.name
        assert not re.search(r"\bBert\b|\bbert's\b", words), path.name


@pytest.mark.parametrize("formula_id", ID)
def test_every_formula_has_a_page_at_its_id(site: Path, formula_id: str) -> None:
    """The page of a formula is called by its ID and holds the statement, its symbols, the source and the evidence."""
    text = (site / f"{formula_id}.html").read_text(encoding="utf-8")
    for section in ("statement", "symbols", "implementation", "evidence", "sources"):
        assert f'id="{section}"' in text
    assert 'class="statement"' in text
    assert "<math" in text
    assert "{{" not in text, "a directive was left unfilled"
    assert "$$" not in text, "LaTeX was left unset"


def test_nothing_is_loaded_from_anywhere_else(site: Path, pages: dict[Path, Page]) -> None:
    """No page, style sheet or script asks a third party for anything; only links that a reader follows may leave."""
    assert pages
    for path, page in pages.items():
        foreign = [url for url in page.loads if re.match(r"(https?:)?//", url)]
        assert not foreign, f"{path.name} loads {foreign}"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", text), sheet


def test_every_internal_link_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    """A link within the pages leads to a file that exists, and to a target on it if it names one."""
    broken = []
    for path, page in pages.items():
        for url in (*page.links, *page.loads):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(parts.fragment)
            if not target.exists() or (
                fragment and target.suffix == ".html" and fragment not in pages[target].anchors | {"__search"}
            ):
                broken.append(f"{path.name}: {url}")
    assert not broken, broken


def test_mathematics_needs_no_script(site: Path) -> None:
    """No formula is left to a script of the browser: MathML stands in the pages, and its font beside them."""
    for path in site.rglob("*.html"):
        assert 'class="arithmatex"' not in path.read_text(encoding="utf-8"), path.name
    font = site / "assets" / "stix-two-math.woff"
    assert font.read_bytes()[:4] == b"wOFF"


@pytest.mark.parametrize("formula_id", ID)
def test_every_theorem_is_shown_as_proved(site: Path, formula_id: str) -> None:
    """Each theorem's badge on the page is the word that the checker gives (tests/spec/test_theorems.py holds it to that)."""
    text = (site / f"{formula_id}.html").read_text(encoding="utf-8")
    for theorem in formulas()[formula_id].theorems.values():
        start = text.index(f'id="{derivations.anchor(theorem.name)}"')
        shown = re.search(r'class="badge badge--[a-z-]+"[^>]*>([^<]+)<', text[start:])
        assert shown is not None
        enclosed = any(claim.proof.method == "enclosure" for claim in theorem.claims)
        assert shown[1] == str(Assurance.ENCLOSED if enclosed else Assurance.PROVED), theorem.name


def test_the_assurance_of_a_theorem_is_the_checkers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A false theorem among the true ones of a formula has the badge of one that is refused."""
    formula = formulas()["scores.dot"]
    false = Theorem(
        "always_zero", "Every score is 0", (claim(formula(*formula.inputs)[i, j], "=", 0, (i, n), (j, m)),)
    )
    monkeypatch.setitem(formula.theorems, false.name, false)
    monkeypatch.setattr(theorems, "MADE", {})
    text = theorems.section(formula)
    shown = [
        re.search(r'class="badge badge--[a-z-]+"[^>]*>([^<]+)<', part)
        for part in text.split("{#theorem-")[1:]
    ]
    assert [found and found[1] for found in shown] == ["proved", "proved", "proved", "refused"]


def test_statements_and_derivations_are_not_searched(site: Path) -> None:
    """The search index holds words: no mark of what was set aside, no label of a drawing."""
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "Layer normalization" in index
    assert "\\ue000" not in index
    assert "data-held" not in index
    assert "By induction over" not in index


def test_false_theorems_are_shown_with_the_checkers_words(site: Path) -> None:
    """The page on proofs shows false theorems, refused for an obligation that nothing discharges."""
    text = (site / "proofs.html").read_text(encoding="utf-8")
    assert text.count("undischarged") >= 2


@pytest.mark.parametrize("formula_id", ["scores.dot", "attention.causal", "positional.sinusoidal"])
def test_figures_are_the_same_every_time_and_take_the_pages_colours(formula_id: str) -> None:
    """A figure drawn twice is the same text, and no colour in it is left that only one scheme could show."""
    first, second = figures.FIGURES[formula_id](), figures.FIGURES[formula_id]()
    assert first == second
    assert "currentColor" in first
    assert "#0102" not in first
    assert "\n" not in first, "Markdown would take a figure apart at a blank line"
