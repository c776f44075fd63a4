"""The table at the end: whole where there is room for its words, row by row on a narrow terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from verify.output.table import print_table, table
from verify.report import CheckResult, Report

CHECK = CheckResult("value in float64", "value", "conforms", examples=698, worst_ratio=0.03, dtype="float64")
OURS = {"eps": "inside", "divisor": "biased", "intermediates": "accumulate"}
REPORTS = [Report("normalization.layer_norm", name, OURS, checks=[CHECK]) for name in ("one", "two")]


def shown(width: int) -> list[str]:
    """The lines of two reports about one formula on a terminal of so many columns."""
    stream = io.StringIO()
    print_table(Console(width=width, file=stream, color_system=None), table(REPORTS))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_table_is_whole_where_there_is_room() -> None:
    """A line of heads, and one for each report."""
    head, *rows = shown(150)
    assert head.split()[:3] == ["formula", "target", "value"]
    assert [row.split()[-1] for row in rows] == ["conforms", "conforms"]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_has_row_by_row(width: int) -> None:
    """Every entry is there with its head, none is cut or broken, the formula once, and no line is too long."""
    lines = shown(width)
    assert lines.count("normalization.layer_norm") == 1
    assert max(map(len, lines)) <= width
    said = "  ".join(line.strip() for line in lines[1:])
    for part in ("target: one", "target: two", "value: ✓", "law: –", "worst error/bound: f64 0.03"):
        assert part in said
    assert said.count("examples: 698") == said.count("verdict: conforms") == 2
    assert "…" not in said
