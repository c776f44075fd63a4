"""The package by one name, and its version."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import attnspec
import impl
import spec
import verify
from verify.command.cli import main


def test_one_name_gives_all() -> None:
    """The packages themselves, and what they are used for most."""
    assert (attnspec.spec, attnspec.impl, attnspec.verify) == (spec, impl, verify)
    assert attnspec.check is verify.check
    assert attnspec.__version__ == version("attnspec")
    assert dir(attnspec) == sorted(attnspec.__all__)
    with pytest.raises(AttributeError, match="it offers"):
        _ = attnspec.nothing


def test_the_name_alone_imports_nothing_large() -> None:
    """Each package is imported when it is first used."""
    said = (
        "import sys, attnspec; print([name for name in ('torch', 'sympy', 'verify') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", said], capture_output=True, text=True).stdout == "[]\n"


def test_the_command_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    """As other commands do."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"attnspec {version('attnspec')}\n"


@pytest.mark.parametrize("option", [["--jobs", "1"], ["--no-cache"]])
def test_an_option_that_went_says_what_to_do(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """In one line."""
    assert main(["check", "no.such:function", "--formula", "scores.dot", *option]) == 2
    assert capsys.readouterr().err.startswith(f"attnspec: {option[0]} is gone: ")
