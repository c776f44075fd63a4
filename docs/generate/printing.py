"""The whole book on one page, to print: the chapters as they were built, one after the other, linked among each other."""

from __future__ import annotations

import re
from pathlib import Path

from . import book

PAGE = "book.html"
PLACE = '<div id="chapters"></div>'
"""What stands for the chapters in the page, until it is filled."""

ARTICLE = re.compile(r"<article [^>]*>(.*?)</article>", re.DOTALL)
LEFT_OUT = re.compile(
    r'<a class="headerlink".*?</a>|<p><a href="notebooks/.*?</p>|<aside class="md-source-file".*?</aside>',
    re.DOTALL,
)
NAMED = re.compile(r' (id|name)="([^"]+)"')
LINKED = re.compile(r'(href=")([\w.]*)(#[^"]*)?"')
DRAWN = re.compile(r"url\(#([^)]+)\)")


def write(folder: Path) -> None:
    """Fill the page in a folder of built pages.

    Raises:
        ValueError: the page has no place for the chapters, or a chapter has no text.
    """
    page = folder / PAGE
    text = page.read_text(encoding="utf-8")
    if PLACE not in text:
        raise ValueError(f"{page} has no {PLACE} for the chapters")
    chapters = "\n".join(chapter(folder, Path(name).stem) for name in book.chapters())
    page.write_text(text.replace(PLACE, chapters), encoding="utf-8")


def chapter(folder: Path, name: str) -> str:
    """A built chapter as a section: all is unfolded, and each name begins with the chapter's, so that none occurs twice."""
    page = folder / f"{name}.html"
    found = ARTICLE.search(page.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{page} has no article")
    text = LEFT_OUT.sub("", found[1]).replace("<details ", "<details open ")
    text = NAMED.sub(rf' \1="{name}-\2"', text)
    text = DRAWN.sub(rf"url(#{name}-\1)", text)
    return (
        f'<section class="chapter" id="{name}">{LINKED.sub(lambda link: _linked(link, name), text)}</section>'
    )


def _linked(link: re.Match[str], name: str) -> str:
    """A link that leads into the page where its target stands there."""
    before, file, anchor = link[1], link[2], link[3] or ""
    chapter = file.removesuffix(".html") or name
    if f"{chapter}.md" not in book.chapters() or not (file or anchor):
        return link[0]
    return f'{before}#{"-".join([chapter, *filter(None, [anchor[1:]])])}"'


def contents() -> str:
    """The chapters' titles, as links into the page, and the place of the chapters."""
    links = "\n".join(
        f'- <a href="#{Path(name).stem}">{title}</a>' for name, title in book.chapters().items()
    )
    return f"{links}\n\n{PLACE}"
