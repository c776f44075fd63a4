"""``attnspec compare``: statuses, what is printed, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verify.command.cli import main

REFERENCE = """
import torch

def softmax(x):
    return torch.softmax(x, -1)

def get_inputs(n=5, d=7):
    return [torch.randn(n, d)]
"""
CANDIDATES = """
import torch

def right(x):
    return torch.exp(x - torch.logsumexp(x, -1, keepdim=True))

def coarse(x):
    return torch.softmax(x.bfloat16(), -1).float()

def wrong(x):
    return torch.zeros_like(x)
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with both files."""
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "candidates.py").write_text(CANDIDATES)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "status", "verdict"),
    [("right", 0, "conforms"), ("coarse", 1, "imprecise"), ("wrong", 1, "falsified")],
)
def test_the_status_is_1_for_what_is_imprecise_or_falsified(
    files: Path, capsys: pytest.CaptureFixture[str], name: str, status: int, verdict: str
) -> None:
    """The first line says the verdict, as does the document."""
    asked = [
        "compare",
        f"{files}/reference.py:softmax",
        f"{files}/candidates.py:{name}",
        "--cases",
        "shape",
        "calls",
    ]
    assert main([*asked, "--calls", "3", "--json", str(files / "found.json")]) == status
    assert verdict in capsys.readouterr().out.splitlines()[0]
    found = json.loads((files / "found.json").read_text())
    assert (found["verdict"], found["calls"], found["sigmas"]) == (verdict, 3, 32)
    assert {case["kind"] for case in found["cases"]} == {"given", "shape", "calls"}


def test_what_cannot_be_loaded_is_2_and_one_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the file, and what it offers."""
    assert main(["compare", f"{files}/reference.py:softmax", f"{files}/candidates.py:none"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "has no 'none'; it offers right, coarse, wrong" in line
