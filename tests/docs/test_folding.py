"""What is for reference stands in a part that can be closed; the rest of a page stays as it was."""

from __future__ import annotations

from generate import folding


def test_a_part_for_reference_reaches_to_the_next_heading() -> None:
    """Its own heading stays outside, headings below it inside, and what follows is not touched."""
    before, after = '<h1>T</h1><h2 id="statement">S</h2><p>s</p>', '<h2 id="sources">F</h2><p>f</p>'
    folded = folding.fold(f'{before}<h2 id="theorems">H</h2><h3 id="one">One</h3><p>t</p>{after}')
    head, _, rest = folded.partition("<details")
    assert head == f'{before}<h2 id="theorems">H</h2>'
    assert rest.endswith(f'</summary><h3 id="one">One</h3><p>t</p></details>{after}')
    assert rest.count("<details") == 0
    assert folding.fold(before + after) == before + after
