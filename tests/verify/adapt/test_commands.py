"""Adapters from the command line: a function that gives the callable, numbers that are set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "docs" / "samples"
FORMULA = "normalization.layer_norm"


def command(*arguments, cwd=SAMPLES):
    """The command's status, output and errors."""
    environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": "", "COLUMNS": "150"}
    done = subprocess.run(
        [sys.executable, "-m", "verify", "check", *map(str, arguments), "--formula", FORMULA, "--max-examples", "4"],
        cwd=cwd, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("options", [(), ("--adapter", "norm.toml")])
def test_a_class_or_a_file_of_toml_is_refused_with_advice(options):
    """The line says what is named in its place."""
    status, out, err = command("my_module.py:LayerNorm", *options)
    assert (status, out) == (2, "")
    assert "a function that takes nothing and returns verify.adapt.module(…)" in err


def test_a_function_without_parameters_gives_the_callable():
    """The page's example: what is built in is set; without it, the line says how."""
    status, out, _ = command("my_module.py:norm", "--set", "eps=1e-6")
    assert status == 0, out
    status, out, err = command("my_module.py:norm")
    assert (status, out) == (2, "")
    assert "--set eps" in err


def test_a_replay_reproduces_an_adapter(tmp_path):
    """It imports the file, makes the callable for the statement, and fails again."""
    (tmp_path / "mine.py").write_text(
        (SAMPLES / "my_module.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    status, _, err = command("mine.py:norm", "--set", "eps=1e-3", "--counterexample", "a.json", cwd=tmp_path)
    assert status == 1, err
    again = subprocess.run(
        [sys.executable, "-m", "verify", "replay", "a.json"],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert again.returncode == 1, again.stderr
    assert "still falsified" in again.stdout
