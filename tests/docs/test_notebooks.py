"""Chapters as notebooks: all of the text, code that runs, statements in SymPy."""

from __future__ import annotations

from pathlib import Path

import pytest
from generate import book, notebooks


@pytest.mark.parametrize("name", ["chapter_03_attention.md", "chapter_04_lookup.md"])
def test_the_code_of_a_notebook_runs_from_top_to_bottom(name: str) -> None:
    """The chapter's blocks, and those that write a statement in SymPy."""
    cells = notebooks.notebook(name)["cells"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert any("spec.to_sympy" in source for source in code)
    space: dict[str, object] = {}
    for source in code:
        exec(compile(source, name, "exec"), space)


def test_a_notebook_leaves_no_directive_and_leads_to_the_pages() -> None:
    """Whoever opens it has the numbers and the links."""
    text = "\n".join(cell["source"] for cell in notebooks.notebook("chapter_03_attention.md")["cells"])
    assert "{{" not in text
    assert "???" not in text
    assert "(../attention.scaled_dot_product.html)" in text
    assert '<div class="widget" data-widget="attention">' in text  # what stands inside, and no script
    assert "<script" not in text


def test_every_chapter_is_in_the_site(site: Path) -> None:
    """And its page leads there."""
    for name in book.chapters():
        notebook = Path(name).with_suffix(".ipynb").name
        assert (site / "notebooks" / notebook).is_file()
        assert f'href="notebooks/{notebook}"' in (site / name).with_suffix(".html").read_text("utf-8")
