"""Answers of statements kept between runs: found again by all that they depend on, and by nothing less."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import sympy
import torch

import spec.language
import verify
from spec.language import Sum, Tensor, indices, sizes
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.precision import Precision
from spec.language.expr import lift
from spec.language.flatten import Flat
from spec.language.lines import Definition
from spec.language.registry import find
from spec.language.symbols import Letter
from verify import oracle as oracle_module
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
    return tmp_path / "kept" / "answers"


def asked(count: int = 3, seed: int = 0) -> list[dict[str, Any]]:
    """Inputs of a layer norm."""
    random = np.random.default_rng(seed)
    return [
        {**{n: random.standard_normal(5) for n in ("x", "gamma", "beta")}, "eps": 1e-5} for _ in range(count)
    ]


def left(questions: list[dict[str, Any]]) -> None:
    """Ask them, and leave the answers to the next run."""
    made = Oracle(shelf(NORM.id))
    made.ask(FLAT, questions, SINGLE, "float32")
    made.leave()


def normed(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """What it should be."""
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def worse(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """With ε outside of the root."""
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, correction=0, keepdim=True) + eps) * gamma + beta


def test_a_second_run_finds_the_answers_of_the_first_to_the_last_bit() -> None:
    """In every arithmetic, expected errors included; of each the first one is found anew, to see whether it is the same."""
    questions, first = asked(), Oracle(shelf(NORM.id))
    precision = Precision.of("float32")

    def every(oracle: Oracle) -> list[Any]:
        said = [oracle.ask(FLAT, questions, arithmetic, "float32") for arithmetic in (SINGLE, PLAIN, BALLS)]
        return [*said, [list(oracle.error(FLAT, inputs, precision, 8, 0)) for inputs in questions]]

    wanted = every(first)
    assert first.leave() == 0
    again = Oracle(shelf(NORM.id))
    found = every(again)
    assert (again.evaluations, again.leave(), len(again.looked_at)) == (0, 12, 4)
    for one, other in zip(wanted, found, strict=True):
        for (pair,), (pair_again,) in zip(one, other, strict=True):
            for part, part_again in zip(pair, pair_again, strict=True):
                assert (part.shape, part.dtype) == (part_again.shape, part_again.dtype)
                np.testing.assert_array_equal(part, part_again)


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


def flat(**changed: Any) -> Flat:
    """A statement as lines, in some of which something may be otherwise."""
    n, m = sizes("n m")
    (i,) = indices(i=n)
    made = {
        "name": "x",
        "shape": (n, m),
        "domain": "real",
        "right": 1,
        "last": n - 1,
        "first": None,
        "second": m,
        "twice": False,
    }
    made |= {
        "constants": {},
        "stored": frozenset(),
        "absent": True,
        "accumulate": False,
        "part": False,
    } | changed
    a, b = Letter("a", made["first"]), Letter("a", made["second"])
    x = Tensor(made["name"], made["shape"], made["domain"], "data")
    y = Tensor("y", (n,))
    inner = Sum(lift(a) * b if made["twice"] else lift(b) * b, (a, 0, m - 1))
    right = x[i, 0] * made["right"] + Sum(inner, (b, 0, m - 1))
    line = Definition(y[i], right, ((i, sympy.S.Zero, made["last"]),), made["accumulate"], part=made["part"])
    return Flat("test.line", (x,), (line,), (y,), made["constants"], made["stored"], {}, made["absent"])


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "z"},
        {"shape": sizes("n k")},
        {"domain": "nonnegative"},
        {"right": 2},
        {"last": sizes("n")[0] - 2},
        {"second": sizes("k")[0]},
        {"first": sizes("m")[0], "second": None},
        {"twice": True},
        {"constants": {"c": 1.5}},
        {"stored": frozenset({"y"})},
        {"absent": False},
        {"accumulate": True},
        {"part": True},
    ],
    ids=str,
)
def test_statements_that_differ_in_one_thing_have_answers_of_their_own(changed: dict[str, Any]) -> None:
    """A name, a size, a letter's size, a domain, a number, a range, a constant, what is stored; and what kind of a line it is."""
    assert flat().fingerprint == flat().fingerprint
    assert flat(**changed).fingerprint != flat().fingerprint


def test_conventions_and_derivatives_have_answers_of_their_own() -> None:
    """Each is a statement of its own."""
    prints = {NORM.flat({"eps": option}).fingerprint for option in ("inside", "outside")}
    prints |= {vjp(NORM).flat.fingerprint, vjp(NORM, ["x"]).flat.fingerprint}
    assert len(prints) == 4


def test_a_statement_is_known_again_in_another_process() -> None:
    """Whatever the order in which Python hashes."""
    code = (
        "from spec.language.registry import find; from spec.language.differentiation.gradients import vjp;"
        "f = find('attention.multi_head'); print(f.flat(None).fingerprint, vjp(f).flat.fingerprint);"
        "from verify.remembered import EVALUATOR; print(EVALUATOR)"
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
    before = remembered.evaluator()
    copied = shutil.copytree(spec.language.__path__[0], tmp_path / "language")
    monkeypatch.setattr(spec.language, "__path__", [str(copied)])
    assert remembered.evaluator() == before
    changed = copied / "evaluation" / "walk.py"
    changed.write_text(
        changed.read_text("utf-8").replace("a.value + b.value", "a.value - b.value", 1), "utf-8"
    )
    assert remembered.evaluator() != before


@pytest.mark.parametrize(
    "fault", ["cut short", "somebody else's", "empty", "a folder", "a pipe", "too large"]
)
def test_a_file_that_is_not_what_was_written_is_passed_over(folder: Path, fault: str) -> None:
    """The answers are found anew; and written anew, where a file can be. Nothing is left beside it."""
    left(asked())
    (file,) = folder.iterdir()
    content = file.read_bytes()
    if fault in ("a folder", "a pipe"):
        file.unlink()
        file.mkdir() if fault == "a folder" else os.mkfifo(file)
    elif fault == "too large":
        os.truncate(file, 1 << 40)
    else:
        file.write_bytes({"cut short": content[:-9], "empty": b"", "somebody else's": b"x" * 999}[fault])
    made = Oracle(shelf(NORM.id))
    made.ask(FLAT, asked(), SINGLE, "float32")
    assert made.evaluations > 0
    assert made.leave() == 0
    assert [each.name for each in folder.iterdir()] == [file.name]
    assert len(Shelf(file).found) == (0 if fault == "a folder" else 3)


def test_a_file_of_which_any_byte_has_changed_is_not_read(folder: Path) -> None:
    """Whether in its numbers, in their names, types and shapes, or in the hash of them."""
    left(asked())
    (file,) = folder.iterdir()
    content = file.read_bytes()
    assert Shelf(file).found
    for place in range(0, len(content), 7):
        file.write_bytes(bytes((*content[:place], content[place] ^ 1, *content[place + 1 :])))
        assert not Shelf(file).found, place


@pytest.mark.parametrize("of", ["values", "bounds", "expected errors"])
def test_no_answer_counts_once_one_of_them_is_another(of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written by an evaluation that was wrong, and found under its name: the first one about a statement is found anew."""
    precision, grades = Precision.of("float32"), of == "expected errors"

    def found(oracle: Oracle) -> list[Any]:
        if grades:
            return [list(oracle.error(FLAT, inputs, precision, 8, 0)) for inputs in asked()]
        return oracle.ask(FLAT, asked(), SINGLE, "float32")

    with monkeypatch.context() as wrong:
        right, noise = Oracle._worked_out, oracle_module.expected

        def off(answer: Any) -> Any:
            return [(2 * value, far) if of == "values" else (value, 2 * far) for value, far in answer]

        wrong.setattr(Oracle, "_worked_out", lambda self, *given: [off(each) for each in right(self, *given)])
        wrong.setattr(oracle_module, "expected", lambda *given: off(noise(*given)))
        made = Oracle(shelf(NORM.id))
        found(made)
        made.leave()
    made = Oracle(shelf(NORM.id))
    for (one,), (other,) in zip(found(made), found(Oracle()), strict=True):
        assert oracle_module._alike(one, other)
    assert made.shelf is None


def test_what_came_from_former_runs_is_counted_for_each_check() -> None:
    """The next check of the same formula in one process begins at none."""
    left(asked())
    made = Oracle(shelf(NORM.id))
    made.ask(FLAT, asked(), SINGLE, "float32")
    assert made.leave() == 3
    made.anew()
    made.ask(FLAT, asked(), SINGLE, "float32")
    assert made.leave() == 0


def test_what_others_asked_for_stays_as_far_as_there_is_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with another seed adds its answers; those that it had no use for go first."""
    left(asked(seed=1))
    left(asked(seed=2))
    (file,) = folder.iterdir()
    assert len(Shelf(file).found) == 6
    monkeypatch.setattr(remembered, "MOST", 10 * 4)  # numbers: a value and a bound of five entries for each
    left(asked(seed=3))
    assert len(Shelf(file).found) == 4


def test_runs_at_the_same_time_leave_the_answers_of_both(folder: Path) -> None:
    """Who is done last adds to what the other has written meanwhile."""
    one, other = Oracle(shelf(NORM.id)), Oracle(shelf(NORM.id))
    one.ask(FLAT, asked(seed=1), SINGLE, "float32")
    other.ask(FLAT, asked(seed=2), SINGLE, "float32")
    one.leave()
    other.leave()
    (file,) = folder.iterdir()
    assert len(Shelf(file).found) == 6


def test_the_folder_throws_away_what_was_used_longest_ago(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As much as is needed for the rest to have room, and what nobody has finished; nothing that is not ours."""
    left(asked())
    (file,) = folder.iterdir()
    size = file.stat().st_size
    ours = [folder / f"{name}-{'0' * 16}.answers" for name in ("new", "old", "older")]
    foreign = [folder / "model.safetensors", folder / "notes.answers", folder / "notes.part"]
    for age, each in enumerate((*ours, *foreign, folder / ".lost.part"), start=1):
        each.write_bytes(b"x" * size)
        os.utime(each, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(remembered, "ROOM", int(3.9 * size))
    left(asked(seed=5))
    assert set(folder.iterdir()) == {file, ours[0], *foreign}


def test_a_folder_that_cannot_be_written_to_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file stands where the folder should be; its files belong to somebody else, and are read."""
    left(asked())
    with monkeypatch.context() as other:
        other.setattr(os, "utime", Mock(side_effect=PermissionError))
        made = Oracle(shelf(NORM.id))
        made.ask(FLAT, asked(), SINGLE, "float32")
        assert made.leave() == 3
    (tmp_path / "taken").write_text("mine")
    monkeypatch.setenv(CACHE, str(tmp_path / "taken" / "below"))
    left(asked())
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
def test_writing_that_is_broken_off_leaves_nothing_half_written(
    folder: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full device, a Ctrl-C: what was there stays, and nothing beside it."""
    left(asked(seed=1))
    with monkeypatch.context() as other, suppress(KeyboardInterrupt):
        other.setattr(Path, "replace", Mock(side_effect=error))
        left(asked(seed=2))
    (file,) = folder.iterdir()
    assert len(Shelf(file).found) == 3


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
    """What the environment says goes first, also where it says none, and holds wherever one goes; ``--no-cache`` before all."""
    for named, meant in (("", ""), ("here", str(Path("here").absolute())), ("~/x", str(Path.home() / "x"))):
        monkeypatch.setenv(CACHE, named)
        by_default(True)
        assert os.environ[CACHE] == meant
    monkeypatch.delenv(CACHE)
    by_default(True)
    assert Path(os.environ[CACHE]).name == "attnspec"
    by_default(False)
    assert os.environ[CACHE] == ""


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under any number."""
    monkeypatch.delenv(CACHE)
    monkeypatch.setattr("platformdirs.user_cache_dir", Mock(side_effect=RuntimeError("no home")))
    by_default(True)
    assert os.environ[CACHE] == ""


def test_the_command_checks_anew_where_it_is_told_to(folder: Path) -> None:
    """``--no-cache`` neither reads nor writes; without it a second run says what came from the first."""
    command = [
        sys.executable,
        "-m",
        "verify",
        "check",
        "impl.attention:multi_head",
        "--formula",
        "attention.multi_head",
        "--verbose",
    ]
    command += ["--max-examples", "20"]

    def run(*more: str) -> str:
        return subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout

    assert "from former runs" not in run("--no-cache")
    assert not folder.exists()
    assert "from former runs" not in run()
    assert "answers of the statement (--no-cache asks anew)" in run()


def test_of_more_than_a_file_holds_the_smallest_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of them have room then; one that is too large by itself keeps none out."""
    monkeypatch.setattr(remembered, "MOST", 100)
    answers = {str(size): [(np.full(size, 2.0), np.zeros(()))] for size in (70, 40, 9, 120, 30)}
    made = shelf(NORM.id)
    assert made is not None
    made.leave(answers)
    left = remembered._read(made.file)
    assert sorted(left) == ["30", "40", "9"]
    assert all(np.array_equal(left[name][0][0], answers[name][0][0]) for name in left)


def test_a_file_holds_numbers_as_they_are() -> None:
    """Of any shape, none included, lying in memory in any order: to the last bit."""
    file = Path(os.environ[CACHE]) / "answers" / "any.answers"
    wide = np.random.default_rng(0).standard_normal((3, 5))
    every = {
        "turned": [(wide.T, np.asarray(np.inf)), (wide[::2, 1:], np.broadcast_to(0.5, (2, 4)))],
        "none": [(np.zeros((0, 3)), np.zeros(())), (np.asarray(-0.0), np.asarray(np.nan))],
        "nothing": [],
    }
    remembered._write(file, every)
    found = remembered._read(file)
    assert found.keys() == every.keys()
    for name, answer in every.items():
        for pair, given in zip(found[name], answer, strict=True):
            for one, other in zip(pair, given, strict=True):
                assert one.shape == other.shape
                assert one.tobytes() == np.ascontiguousarray(other).tobytes()
    remembered._write(file, {})
    assert remembered._read(file) == {}
