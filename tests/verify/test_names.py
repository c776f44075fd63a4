"""The names that ``verify`` offers."""

import subprocess
import sys
from pathlib import Path

import pytest

import verify

ROOT = Path(__file__).parents[2]


def test_what_is_for_users_is_listed_and_there() -> None:
    """``dir(verify)`` lists the names that are for users, whatever else was imported, and each can be had."""
    assert dir(verify) == sorted(verify.__all__)
    for name in verify.__all__:
        assert getattr(verify, name).__name__.removeprefix("verify.") == name


def test_another_name_is_refused_with_those_there_are() -> None:
    """A name that is not offered is an error that lists those that are."""
    with pytest.raises(AttributeError, match="it offers CheckResult, Comparison, Counterexample"):
        _ = verify.chekc


def test_importing_it_imports_no_framework() -> None:
    """``import verify`` alone imports neither torch nor Hypothesis."""
    code = "import sys, verify; print(sorted({'torch', 'hypothesis'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
