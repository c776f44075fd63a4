"""What is quoted outside the pages is what it is quoted from."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def quoted(file: str, kind: str, beginning: str) -> list[str]:
    """The lines of a block of code that begins so, those left out and the empty ones apart."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for block in re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL):
        if block.startswith(beginning):
            return [
                line
                for line in block.splitlines()
                if line.strip() and not re.match(r" *(\[…\]|\.\.\.)", line)
            ]
    raise AssertionError(f"{file} quotes nothing that begins with {beginning!r}")


def in_order(lines: list[str], text: str) -> bool:
    """Whether a text has these lines, in this order."""
    rest = iter(text.splitlines())
    return all(line in rest for line in lines)


def test_the_readme_shows_what_the_command_prints() -> None:
    """Line by line, what is left out apart."""
    command, *lines = quoted("README.md", "console", "$ attnspec show")
    printed = subprocess.run(
        [sys.executable, "-m", "verify", *command.split()[2:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert len(lines) > 20
    assert in_order(lines, printed)


def test_the_guide_for_contributors_shows_what_a_statement_holds() -> None:
    """Both parts are lines of the module that is named there."""
    text = (ROOT / "spec/normalization/rms_norm.py").read_text(encoding="utf-8")
    for beginning in ("(d,) = sizes", "rms_norm.theorem("):
        assert in_order(quoted("CONTRIBUTING.md", "python", beginning), text)
