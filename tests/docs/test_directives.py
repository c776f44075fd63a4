"""Directives: what they stand for takes their place, as far to the right as they stand."""

from __future__ import annotations

from generate import directives


def test_what_a_directive_gives_is_indented_as_it_is() -> None:
    """So that it may stand in a folded block; in a sentence it is left as it is."""
    text = directives.fill("???\n\n    {{ code scores.dot }}\n\nAnd {{ count formulas }} formulas.")
    lines = text.splitlines()
    assert lines[2] == "    ```python"
    assert all(line.startswith("    ") for line in lines[2 : lines.index("    ```") + 1])
    assert lines[-1].endswith(" formulas.")
