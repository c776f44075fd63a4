"""Adapters from the command line: a class with a file beside it, a function that gives the callable, numbers that are set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from verify import Unusable
from verify.adapt.tables import from_table

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "docs" / "samples"
FORMULA = "normalization.layer_norm"
NORM = """
arguments = "d, True"
fixed = {eps = 1e-6}
weights = {gamma = "weight", beta = "bias"}
"""


def command(*arguments, cwd=SAMPLES):
    """The command's status, output and errors."""
    environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": "", "COLUMNS": "150"}
    done = subprocess.run(
        [sys.executable, "-m", "verify", "check", *map(str, arguments), "--formula", FORMULA, "--max-examples", "4"],
        cwd=cwd, env=environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_a_class_is_checked_with_a_file_beside_it(tmp_path):
    """The page's example: the class is named, and the file says the rest."""
    (tmp_path / "norm.toml").write_text(NORM, encoding="utf-8")
    status, out, err = command("my_module.py:LayerNorm", "--adapter", tmp_path / "norm.toml")
    assert (status, err) == (0, ""), out + err
    assert "conforms where eps = 1e-06" in out


def test_a_class_alone_is_refused_with_advice():
    """The line says how it is built with --adapter."""
    status, out, err = command("my_module.py:LayerNorm")
    assert (status, out) == (2, "")
    assert "is a class" in err
    assert "--adapter" in err


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


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"wheights": {}}, "'wheights' is nothing that a module takes"),
        ({"kind": "keras"}, "kind = 'keras'; expected module, function, numpy, jax"),
        ({"batch": "some"}, 'expected a number or "any"'),
        ({"weights": "W"}, "weights is a table"),
    ],
)
def test_a_file_that_says_something_else_is_refused(table, says):
    """One line that names the file."""
    with pytest.raises(Unusable, match=f"a.toml: .*{says}"):
        from_table(lambda: None, table, "a.toml")
