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
            return [line for line in block.splitlines() if line.strip()]
    raise AssertionError(f"{file} quotes nothing that begins with {beginning!r}")


def missing(lines: list[str], text: str, parts: bool = False) -> list[str]:
    """The lines that a text does not have in this order, each right behind the one before unless it is said there that some are
    left out, or of all that they are ``parts``.
    """
    found, place, after = [], 0, False
    said = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        if re.match(r" *(\[…\]|\.\.\.)", line):
            after = False
            continue
        here = said[place : place + 1] if after else said[place:]
        if line not in here:
            found.append(line)
            continue
        place, after = place + here.index(line) + 1, not parts
    return found


def test_a_line_that_is_left_out_unsaid_is_noticed() -> None:
    """What is cut has to be marked; what is marked may be cut."""
    text = "one\n\ntwo\nthree\nfour"
    assert missing(["two", "three", "[…]"], text) == []
    assert missing(["one", "[…]", "three", "four"], text) == []
    assert missing(["one", "three"], text) == ["three"]
    assert missing(["one", "two", "five"], text) == ["five"]


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
    assert len(lines) > 6
    assert missing(lines, printed) == []


def test_the_guide_for_contributors_shows_what_a_statement_holds() -> None:
    """Both parts are lines of the module that is named there."""
    text = (ROOT / "spec/normalization/rms_norm.py").read_text(encoding="utf-8")
    for beginning in ("(d,) = sizes", "rms_norm.theorem("):
        assert missing(quoted("CONTRIBUTING.md", "python", beginning), text, parts=True) == []
