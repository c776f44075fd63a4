"""The command that measures the checker beside an older commit of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import engine
from benchmarks.engine import in_all, line, row, table, until_falsified
from benchmarks.processes import Spent, Work, spent

ROOT = Path(__file__).parents[2]


def printed(given: object) -> str:
    """As it stands on a wide terminal without colours."""
    console = Console(width=140)
    with console.capture() as capture:
        console.print(given)
    return capture.get()


def test_the_command_tells_how_it_is_used():
    """Every work that can be chosen is named in the help."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.engine", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert all(
        name in ran.stdout for name in (*engine.NAMES, "--against", "--verify", "--mutants", "--quick")
    )


def test_a_row_is_made_of_what_was_measured():
    """Medians of the rounds, their ratio beside the wanted one, and the largest peak."""
    work = Work("layers", ("-c", "pass"), 3.0)
    older = [Spent(9.0, 20.0, 700_000_000), Spent(11.0, 20.0, 500_000_000), Spent(90.0, 99.0, 500_000_000)]
    now = [Spent(2.0, 3.0, 300_000_000), Spent(2.5, 3.0, 610_000_000), Spent(3.0, 9.0, 400_000_000)]
    found = row(work, older, now)
    processor, clock = found["processor"], found["clock"]
    assert (processor["older_s"], processor["now_s"], processor["ratio"]) == (11.0, 2.5, 4.4)
    assert (clock["older_s"], clock["now_s"], clock["ratio"]) == (20.0, 3.0, 20 / 3)
    assert found["met"]
    assert not found["small"]
    assert found["now_bytes"] == 610_000_000
    said = printed(table([found], "abc"))
    parts = (
        "abc",
        "layers",
        "20.0 s",
        "3.0 s",
        "6.67",
        "≥ 3",
        "11.0 s",
        "2.5 s",
        "4.40",
        "700",
        "610",
        "< 600",
    )
    assert all(part in said for part in parts)
    assert not row(Work("layers", (), 7.0), older, now)["met"]  # by the clock


def test_imports_do_not_count_in_a_ratio():
    """They are measured by themselves, in either time; what is left of a short work counts as the least."""
    older, now, imports = (
        [Spent(9.0, 11.0, 1)],
        [Spent(3.0, 4.0, 1)],
        ([Spent(1.0, 1.0, 1)], [Spent(2.0, 2.0, 1)]),
    )
    found = row(Work("layers", (), 1.0), older, now, imports)
    assert (found["processor"]["ratio"], found["clock"]["ratio"]) == (8.0, 5.0)
    assert (
        row(Work("layers", (), 1.0), older, [Spent(2.0, 2.0, 1)], imports)["clock"]["ratio"]
        == 10.0 / engine.LEAST
    )


def test_the_lines_below_the_table_say_what_was_wanted():
    """Seconds in all with the import's share, and how soon wrong variants are falsified."""
    said = line(in_all({"work": "layer_norm", "clock": {"now_s": 2.5}}, 1.3))
    assert "import torch 1.3" in said
    assert "[green]2.50[/] (wanted < 3)" in said
    median, within = until_falsified([0.1] * 16 + [0.7, 5.0, 6.0])
    assert (median["seconds"], within["seconds"]) == (0.1, 6.0)
    assert "19 wrong variants" in median["what"]
    assert "[yellow]6.00[/]" in line(within)


def test_what_a_process_takes_is_that_process_own():
    """Its peak holds what it filled; one that fails says why."""
    filled = 100_000_000
    small = spent(Work("small", ("-c", "pass"), None), ROOT)
    large = spent(Work("large", ("-c", f"held = bytearray(b'x') * {filled}"), None), ROOT)
    assert large.peak - small.peak > filled / 2
    assert small.processor > 0
    with pytest.raises(RuntimeError, match="no such thing"):
        spent(Work("failing", ("-c", "raise ValueError('no such thing')"), None), ROOT)
