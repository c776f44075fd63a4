"""What is HTML already is set aside while Markdown and the search have the page, and comes back where it was."""

from __future__ import annotations

from generate.drawing import draw
from generate.holding import Held
from generate.markup import Line, inline, statement
from markdown import Markdown

LINES = statement([Line("1", "a_i = b_i * c_i", "i < n"), Line("2", "d_i = a_i * a_i")], "line")


def test_a_page_comes_back_as_it_was() -> None:
    """Markdown sees none of the mathematics, and the page in the end holds all of it, letter by letter."""
    drawn = draw("nothing", lambda axes: None, f"Where {inline('x_i')} stands")
    text = f"# Title\n\nLet {inline('a_i * b_i')} be.\n\n{LINES}\n\n{drawn}\n\n??? note\n\n    {LINES}\n"
    held = Held()
    marked = held.hold(text)
    assert "<math" not in marked
    assert "<svg" not in marked
    html = Markdown(extensions=["md_in_html", "pymdownx.details"]).convert(marked)
    searched = held.release_maths(html)
    assert searched.count("<math") == 2, "what stands in a line of words is searched"
    page = held.release_sections(searched)
    assert page.count(LINES) == 2
    assert inline("a_i * b_i") in page
    assert drawn in page
    assert "held" not in page
