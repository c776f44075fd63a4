"""Answers of statements kept between runs: found again by all that they depend on, and by nothing less."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import spec.language
import verify
from spec.language import Formula, Tensor, define, exp, indices, sizes
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.precision import Precision
from spec.language.registry import find
from verify import remembered
from verify.cache import CACHE, by_default
from verify.oracle import BALLS, PLAIN, Arithmetic, Oracle, oracle_for
from verify.remembered import Shelf, shelf

SINGLE = Arithmetic(Precision.of("float32"))
NORM = find("normalization.layer_norm")
FLAT = NORM.flat(None)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of their own, in which everything is worth keeping."""
    monkeypatch.setenv(CACHE, str(tmp_path / "kept"))
    monkeypatch.setattr(remembered, "WORTH", 0.0)
    oracle_for.cache_clear()
    return tmp_path / "kept"


def asked(count: int = 3, seed: int = 0) -> list[dict[str, Any]]:
    """Inputs of a layer norm."""
    random = np.random.default_rng(seed)
    return [
        {**{n: random.standard_normal(5) for n in ("x", "gamma", "beta")}, "eps": 1e-5} for _ in range(count)
    ]


def left(questions: list[dict[str, Any]], *arithmetics: Arithmetic) -> None:
    """Ask them, and leave the answers to the next run."""
    made = Oracle(shelf(NORM.id))
    for arithmetic in arithmetics or (SINGLE,):
        made.ask(FLAT, questions, arithmetic, "float32")
    made.leave()


def normed(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """What it should be."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def worse(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """With ε outside of the root."""
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps) * gamma + beta


def test_a_second_run_finds_the_answers_of_the_first_to_the_last_bit() -> None:
    """In every arithmetic; one is found anew, to see whether it is the same."""
    questions = asked()
    left(questions, SINGLE, PLAIN, BALLS)
    for arithmetic in (SINGLE, PLAIN, BALLS):
        first, again = Oracle(), Oracle(shelf(NORM.id))
        wanted = first.ask(FLAT, questions, arithmetic, "float32")
        found = again.ask(FLAT, questions, arithmetic, "float32")
        assert (again.evaluations, again.shelf and again.shelf.used) == (0, len(questions))
        for one, other in zip(wanted, found, strict=True):
            for (value, far), (value_again, far_again) in zip(one, other, strict=True):
                np.testing.assert_allclose(value, value_again, rtol=1e-14)
                np.testing.assert_allclose(far, far_again, rtol=1e-12)


@pytest.mark.parametrize("call", [normed, worse])
def test_a_check_says_the_same_in_a_second_run(call: Any) -> None:
    """Its verdict, its counterexamples and its grades; what statements said before is read, and counted."""
    said = []
    for _ in range(2):
        oracle_for.cache_clear()
        report = verify.check(call, NORM.id, max_examples=20)
        said.append(report.to_dict())
    changing = {"seconds", "first_violation", "remembered"}
    first, again = ({name: each for name, each in found.items() if name not in changing} for found in said)
    for check, other in zip(first.pop("checks"), again.pop("checks"), strict=True):
        assert {**check, "seconds": 0} == {**other, "seconds": 0}
    assert first == again
    assert said[0]["remembered"] == 0
    assert said[1]["remembered"] > 100
    assert "from former runs: " in report.text(verbose=True)


def test_statements_that_differ_in_one_thing_have_answers_of_their_own() -> None:
    """The same name, and another line, constant size or convention; and derivatives."""
    (d,) = sizes("d")
    (i,) = indices(i=d)
    x, y = Tensor("x", (d,), "real", "data"), Tensor("y", (d,))
    made = [
        Formula(id="test.line", title="line", inputs=(x,), outputs=(y,), lines=(define(y[i], right),))
        for right in (exp(x[i]), exp(x[i] + 1), exp(x[i] + 2))
    ]
    prints = {formula.flat(None).fingerprint for formula in made}
    prints |= {NORM.flat({"eps": option}).fingerprint for option in ("inside", "outside")}
    prints |= {vjp(NORM).flat.fingerprint, vjp(NORM, ["x"]).flat.fingerprint}
    assert len(prints) == len(made) + 4


def test_a_statement_is_known_again_in_another_process() -> None:
    """Whatever the order in which Python hashes."""
    code = (
        "from spec.language.registry import find; from spec.language.differentiation.gradients import vjp;"
        "f = find('attention.multi_head'); print(f.flat(None).fingerprint, vjp(f).flat.fingerprint);"
        "from verify.remembered import evaluator; print(evaluator())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_other_sources_of_the_evaluation_have_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One letter changed in what evaluates, and nothing that was kept counts."""
    before = remembered.evaluator.__wrapped__()
    copied = shutil.copytree(spec.language.__path__[0], tmp_path / "language")
    monkeypatch.setattr(spec.language, "__path__", [str(copied)])
    assert remembered.evaluator.__wrapped__() == before
    changed = copied / "evaluation" / "walk.py"
    changed.write_text(
        changed.read_text("utf-8").replace("a.value + b.value", "a.value - b.value", 1), "utf-8"
    )
    assert remembered.evaluator.__wrapped__() != before


@pytest.mark.parametrize("fault", ["cut short", "somebody else's", "empty", "a folder"])
def test_a_file_that_is_not_what_was_written_is_passed_over(folder: Path, fault: str) -> None:
    """The answers are found anew; and written anew, where a file can be."""
    left(asked())
    (file,) = folder.iterdir()
    if fault == "a folder":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(
            {"cut short": file.read_bytes()[:-9], "empty": b"", "somebody else's": b"x" * 999}[fault]
        )
    made = Oracle(shelf(NORM.id))
    made.ask(FLAT, asked(), SINGLE, "float32")
    assert made.evaluations > 0
    assert made.leave() == 0
    assert fault == "a folder" or Shelf(file).held


def test_numbers_that_have_changed_in_the_file_are_not_read(folder: Path) -> None:
    """One bit of one answer: that one is found anew."""
    left(asked())
    (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    made = Oracle(shelf(NORM.id))
    made.ask(FLAT, asked(), SINGLE, "float32")
    assert made.evaluations == 1
    assert made.leave() == 2


def test_no_answer_counts_once_one_of_them_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written by an evaluation that was wrong, and found under its name: the first one that is asked for is found anew."""
    with monkeypatch.context() as wrong:
        right = Oracle._worked_out
        wrong.setattr(
            Oracle,
            "_worked_out",
            lambda self, *given: [[(2 * value, far) for value, far in each] for each in right(self, *given)],
        )
        left(asked())
    made = Oracle(shelf(NORM.id))
    found = made.ask(FLAT, asked(), SINGLE, "float32")
    for one, other in zip(found, Oracle().ask(FLAT, asked(), SINGLE, "float32"), strict=True):
        np.testing.assert_array_equal(one[0][0], other[0][0])
    assert made.shelf is None


def test_what_others_asked_for_stays_as_far_as_there_is_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with another seed adds its answers; those that it had no use for go first."""
    left(asked(seed=1))
    left(asked(seed=2))
    (file,) = folder.iterdir()
    assert len(Shelf(file).held) == 6
    monkeypatch.setattr(remembered, "MOST", 10 * 4)  # numbers: a value and a bound of five entries for each
    left(asked(seed=3))
    assert len(Shelf(file).held) == 4


def test_the_folder_throws_away_what_was_used_longest_ago(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As much as is needed for the rest to have room."""
    folder.mkdir()
    for age, name in enumerate(("new", "old", "older"), start=1):
        (folder / f"{name}.safetensors").write_bytes(b"x" * 1000)
        os.utime(folder / f"{name}.safetensors", (1e9 - age, 1e9 - age))
    (folder / "notes.txt").write_text("mine")
    left(asked())
    size = max(folder.iterdir(), key=lambda file: file.stat().st_mtime).stat().st_size
    monkeypatch.setattr(remembered, "ROOM", size + 2500)
    left(asked(seed=5))
    assert {"new.safetensors", "notes.txt"} < {file.name for file in folder.iterdir()}
    assert not (folder / "older.safetensors").exists()


def test_a_folder_that_cannot_be_written_to_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file stands where the folder should be; and a device without room leaves nothing half written."""
    (tmp_path / "taken").write_text("mine")
    monkeypatch.setenv(CACHE, str(tmp_path / "taken" / "below"))
    left(asked())
    monkeypatch.setenv(CACHE, str(tmp_path / "full"))

    def full(*_: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.numpy.save", full)
    left(asked())
    assert list((tmp_path / "full").iterdir()) == []


def test_what_took_no_time_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything where no folder is named."""
    monkeypatch.setattr(remembered, "WORTH", 1e9)
    left(asked())
    assert not folder.exists()
    monkeypatch.setenv(CACHE, "")
    assert shelf(NORM.id) is None


def test_the_command_names_a_folder_of_the_user_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the environment says goes first, also where it says none; ``--no-cache`` before all."""
    by_default(True)
    assert os.environ[CACHE].endswith("kept")
    monkeypatch.setenv(CACHE, "")
    by_default(True)
    assert os.environ[CACHE] == ""
    monkeypatch.delenv(CACHE)
    by_default(True)
    assert os.environ[CACHE].endswith("attnspec")
    by_default(False)
    assert os.environ[CACHE] == ""


def test_the_command_checks_anew_where_it_is_told_to(folder: Path) -> None:
    """``--no-cache`` neither reads nor writes; without it a second run says what came from the first."""
    command = [
        sys.executable,
        "-m",
        "verify",
        "check",
        "impl.recurrent:rnn",
        "--formula",
        "recurrent.rnn",
        "--verbose",
    ]
    command += ["--max-examples", "20"]

    def run(*more: str) -> str:
        return subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout

    assert "from former runs" not in run("--no-cache")
    assert not folder.exists()
    assert "from former runs" not in run()
    assert "answers of the statement (--no-cache asks anew)" in run()
