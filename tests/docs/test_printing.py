"""The book on one page: chapters in order, unfolded, linked within the page, without a name twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from generate import book, printing

ARTICLE = """<nav>left out</nav><article class="md-content__inner"><h1 id="title">T<a class="headerlink" href="#title">¶</a></h1>
<svg><defs><marker id="tip"></marker><g id="glyph"></g></defs><use xlink:href="#glyph"/><path marker-end="url(#tip)"/></svg>
<details class="success"><summary>Answer</summary></details><a href="#title">here</a> <a href="{other}.html">there</a>
<a href="{other}.html#title">there</a> <a href="attention.self.html#statement">a formula</a>
<p><a href="notebooks/{name}.ipynb" download>This chapter as a notebook</a></p></article>"""


@pytest.fixture
def printed(tmp_path: Path) -> str:
    """The page made of built chapters, each of which leads to the next one."""
    names = [Path(name).stem for name in book.chapters()]
    for name, other in zip(names, names[1:] + names[:1], strict=True):
        (tmp_path / f"{name}.html").write_text(ARTICLE.format(name=name, other=other), encoding="utf-8")
    (tmp_path / printing.PAGE).write_text(f"<body>{printing.contents()}</body>", encoding="utf-8")
    printing.write(tmp_path)
    return (tmp_path / printing.PAGE).read_text(encoding="utf-8")


def test_every_chapter_stands_in_the_page_in_order_and_in_its_contents(printed: str) -> None:
    """Unfolded, without what is only clicked."""
    names = [Path(name).stem for name in book.chapters()]
    assert re.findall(r'<section class="chapter" id="(.*?)"', printed) == names
    assert re.findall(r'- <a href="#(.*?)"', printed) == names
    assert printed.count("<details open") == len(names)
    assert not re.search("headerlink|notebooks|left out", printed)


def test_links_among_chapters_stay_in_the_page_and_no_name_occurs_twice(printed: str) -> None:
    """Those of drawings, too; links to other pages are left as they are."""
    names = re.findall(r' id="(.*?)"', printed)
    assert len(names) == len(set(names))
    inside = re.findall(r'href="#(.*?)"', printed) + re.findall(r"url\(#(.*?)\)", printed)
    assert len(inside) == 6 * len(book.chapters())
    assert set(inside) <= set(names)
    assert set(re.findall(r'href="([^#"].*?)"', printed)) == {"attention.self.html#statement"}


def test_a_chapter_without_text_is_refused(tmp_path: Path) -> None:
    """As is a page that has no place for them."""
    (tmp_path / "chapter_00.html").write_text("<body></body>", encoding="utf-8")
    with pytest.raises(ValueError, match="has no article"):
        printing.chapter(tmp_path, "chapter_00")
    (tmp_path / printing.PAGE).write_text("<body></body>", encoding="utf-8")
    with pytest.raises(ValueError, match="for the chapters"):
        printing.write(tmp_path)
