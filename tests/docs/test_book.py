"""The book: its chapters are there, in order; their code runs; what they show of statements is right."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from generate import book, directives

DOCS = Path(book.__file__).parents[1]
BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
every_chapter = pytest.mark.parametrize("name", book.chapters(), ids=lambda name: name.removesuffix(".md"))


def test_chapters_stand_in_the_navigation_in_their_order() -> None:
    """By their numbers, under the titles that they have."""
    listed = re.findall(
        r'^ +- "?(\d+\. .*?)"?: (chapter_\w+\.md)',
        (DOCS.parent / "mkdocs.yml").read_text("utf-8"),
        re.MULTILINE,
    )
    assert [(name, title) for title, name in listed] == list(book.chapters().items())
    assert [int(title.split(".")[0]) for title in book.chapters().values()] == list(range(len(listed)))


@every_chapter
def test_the_code_of_a_chapter_runs(name: str) -> None:
    """Block after block, as a reader would try it; what it asserts holds."""
    blocks = BLOCK.findall((DOCS / name).read_text(encoding="utf-8"))
    assert blocks
    space: dict[str, object] = {"__name__": name}
    for _, block in blocks:
        exec(compile(textwrap.dedent(block), name, "exec"), space)


@every_chapter
def test_a_chapter_has_exercises_with_answers(name: str) -> None:
    """Folded, so that one may try first; and it says what to read next."""
    text = (DOCS / name).read_text(encoding="utf-8")
    assert text.count('??? success "Answer"') >= 3
    assert re.search(r"^## .*next", text, re.MULTILINE | re.IGNORECASE)


@every_chapter
def test_a_chapter_uses_directives_that_exist(name: str) -> None:
    """And none is left unfilled by a slip of the pen."""
    text = (DOCS / name).read_text(encoding="utf-8")
    called = {m[1] for m in directives.CALL.finditer(text)}
    assert called <= set(directives.DIRECTIVES)
    assert text.count("{{") == len(directives.CALL.findall(text))


def test_a_formula_knows_its_chapters_and_its_users() -> None:
    """Both are links."""
    assert "chapter_04_lookup.md" in " ".join(book.chapters_of("attention.scaled_dot_product"))
    assert "attention.scaled_dot_product.md" in " ".join(book.users_of("attention.softmax"))
    assert book.places("attention.softmax").startswith("In the book: ")
