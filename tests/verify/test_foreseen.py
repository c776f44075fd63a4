"""What a check will ask its statement, found while torch is imported: it is what is asked, and nothing else depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import verify
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.batching import batched
from spec.language.evaluation.compiled.program import Program
from spec.language.registry import find, statement
from verify import foreseen, oracle, remembered
from verify.board import Board
from verify.cache import CACHE
from verify.foreseen import Foreseen, foreseeing, prepare
from verify.oracle import Oracle, oracle_for
from verify.properties.judge import Judge
from verify.properties.slopes import differentiable
from verify.subject.branch import begun_by
from verify.targets.ours import implementation

ROOT = Path(__file__).parents[2]
NORM = "normalization.layer_norm"
EXAMPLES = 12
"""Few: what is tested does not depend on how many there are."""
OPTIONS: dict[str, Any] = {"seed": 0, "max_examples": EXAMPLES}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are branched off on Linux alone")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No former run has left anything, and none is left to the next."""
    monkeypatch.delenv(CACHE, raising=False)
    oracle_for.cache_clear()
    yield
    oracle_for.cache_clear()


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before torch is imported."""
    monkeypatch.delitem(sys.modules, "torch")


def found_for(formula_id: str, **options: Any) -> Foreseen:
    """What is foreseen, in this process."""
    board, found = Board(), Foreseen()
    foreseen._foresee(find(formula_id), {**OPTIONS, **options}, board)
    for answers, found.seconds in board.found().values():
        found.answers |= answers
    oracle_for.cache_clear()
    return found


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often a statement was evaluated: bounds and balls, and expected errors."""
    counted = {"bounds": 0, "errors": 0}
    evaluate, expect = Oracle._worked_out, oracle.expected

    def evaluated(self: Oracle, *asked: Any) -> Any:
        counted["bounds"] += 1
        return evaluate(self, *asked)

    def expected(*asked: Any) -> Any:
        counted["errors"] += 1
        return expect(*asked)

    monkeypatch.setattr(Oracle, "_worked_out", evaluated)
    monkeypatch.setattr(oracle, "expected", expected)
    return counted


@pytest.mark.parametrize(
    ("formula_id", "options"),
    [
        (NORM, {}),
        ("attention.scaled_dot_product", {}),
        ("attention.scaled_dot_product", {"conventions": {"fully_masked": "unspecified"}}),
        ("feedforward.relu", {"seed": 5, "dtypes": ("float32", "float16"), "sizes": {"d": "even"}}),
        ("objectives.cross_entropy", {}),
    ],
)
def test_it_is_what_the_check_asks(formula_id: str, options: Any, worked_out: dict[str, int]) -> None:
    """Expected errors are foreseen, but where more samples are asked for, and most of what values, gradients, large sizes ask."""
    found = found_for(formula_id, **options)
    assert all(worked_out.values())
    worked_out.update(bounds=0, errors=0)
    alone = verify.check(implementation(formula_id), formula_id, **{**OPTIONS, **options})
    plain = dict(worked_out)
    oracle_for.cache_clear()
    found.hand_to(oracle_for(find(formula_id)))
    worked_out.update(bounds=0, errors=0)
    aided = verify.check(implementation(formula_id), formula_id, **{**OPTIONS, **options})
    assert worked_out["errors"] < 0.2 * plain["errors"]
    assert worked_out["bounds"] < 0.8 * plain["bounds"]
    assert str(replace(aided, seconds=0.0)) == str(replace(alone, seconds=0.0))
    assert [check.verdict for check in aided.checks] == [check.verdict for check in alone.checks]


def test_what_both_processes_ask_is_foreseen_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large sizes, which the second asks for, do not wait until all gradients are found, which the first asks for."""
    told: list[str] = []
    search, large = foreseen.gradient_search, foreseen.large_examples

    def searched(*asked: Any) -> Any:
        told.append("gradients")
        return search(*asked)

    def drawn(*asked: Any) -> Iterator[Any]:
        for example in large(*asked):
            told.append("large")
            yield example

    monkeypatch.setattr(foreseen, "gradient_search", searched)
    monkeypatch.setattr(foreseen, "large_examples", drawn)
    assert found_for(NORM).answers
    first, last = told.index("large"), len(told) - 1 - told[::-1].index("gradients")
    assert told[0] == "gradients"
    assert first < last
    assert told[-1] == "large"


def test_a_statement_is_prepared_for_the_check() -> None:
    """Its lines and those of its derivative are compiled, under the conventions that are asked for."""
    formula, asked = find("attention.scaled_dot_product"), {"fully_masked": "unspecified"}
    prepare(formula, {**OPTIONS, "conventions": asked})
    judge = Judge(formula, asked)
    slopes = vjp(formula, differentiable(judge), judge.conventions)
    assert all(Program in batched(flat).kept for flat in (judge.flat, slopes.flat))


def test_what_is_not_to_be_had_is_not_prepared() -> None:
    """The check says what is wrong with it."""
    prepare(find(NORM), {**OPTIONS, "conventions": {"no": "such"}})
    prepare(statement("decoding.greedy"), OPTIONS)
    prepare(find("masking.mlm"), OPTIONS)


def test_what_is_wrong_is_found_beside_it() -> None:
    """What the statement says is foreseen, not what a callable does."""
    found_for(NORM).hand_to(oracle_for(find(NORM)))

    def wrong(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
        return implementation(NORM)(x, gamma, beta, eps) * 1.01

    assert verify.check(wrong, NORM, max_examples=EXAMPLES).verdict == "falsified"


def test_what_was_found_counts_as_found_by_this_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left to the next run, and the seconds that it took tell whether that is worth a file."""
    monkeypatch.setenv(CACHE, str(tmp_path / "kept"))
    monkeypatch.setattr(remembered, "WORTH", 1e-6)
    found = found_for(NORM)
    assert found.seconds > 0
    found.hand_to(oracle_for(find(NORM)))
    verify.check(implementation(NORM), NORM, max_examples=EXAMPLES)
    oracle_for.cache_clear()
    assert verify.check(implementation(NORM), NORM, max_examples=EXAMPLES).remembered > 50


@pytest.mark.usefixtures("without_torch")
def test_it_lasts_no_longer_than_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left by then is found; the process is at its end, whatever it does."""

    def forever(_: Any, asked: Any, board: Board) -> None:
        board.leave(0, ({"name": []}, 0.5))
        time.sleep(600)

    monkeypatch.setattr(foreseen, "_foresee", forever)
    before = set(begun_by(os.getpid()))
    with foreseeing(find(NORM), **OPTIONS) as found:
        begun = set(begun_by(os.getpid())) - before
        time.sleep(0.2)
    assert len(begun) == 1
    assert not begun & set(begun_by(os.getpid()))
    assert found.answers in ({"name": []}, {})  # a busy machine may not have begun it


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize(
    "do",
    [lambda board: 1 / 0, lambda board: os.kill(os.getpid(), 9), lambda board: board.leave(0, "what?")],
    ids=["raises", "is killed", "leaves something else"],
)
def test_what_goes_wrong_there_is_no_matter(
    do: Callable[[Board], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is foreseen then."""
    monkeypatch.setattr(foreseen, "_foresee", lambda formula, asked, board: do(board))
    with foreseeing(find(NORM), **OPTIONS) as found:
        time.sleep(0.2)
    assert found.answers == {}


@pytest.mark.usefixtures("without_torch")
def test_what_is_raised_meanwhile_is_raised() -> None:
    """The process ends with it."""
    before = set(begun_by(os.getpid()))
    with pytest.raises(KeyError), foreseeing(find(NORM), **OPTIONS):
        raise KeyError
    assert set(begun_by(os.getpid())) <= before


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize(
    ("formula_id", "options"),
    [
        (NORM, {"possible": False}),
        (NORM, {"device": "cuda"}),
        ("decoding.sample", {}),
        ("decoding.greedy", {}),
    ],
)
def test_where_nothing_can_be_foreseen_there_is_no_process(formula_id: str, options: Any) -> None:
    """One process alone is allowed, it is about a device, or no formula with values."""
    before = set(begun_by(os.getpid()))
    with foreseeing(statement(formula_id), **{**OPTIONS, **options}) as found:
        assert set(begun_by(os.getpid())) <= before
    assert found == Foreseen()


def test_where_torch_is_there_there_is_nothing_to_wait_for() -> None:
    """It is imported in this process."""
    assert torch is sys.modules["torch"]
    before = set(begun_by(os.getpid()))
    with foreseeing(find(NORM), **OPTIONS):
        assert set(begun_by(os.getpid())) <= before


@pytest.mark.usefixtures("without_torch")
def test_what_former_runs_have_left_need_not_be_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no process then."""
    monkeypatch.setenv(CACHE, str(tmp_path / "kept"))
    oracle_for(find(NORM)).shelf.found["name"] = []  # type: ignore[union-attr]
    before = set(begun_by(os.getpid()))
    with foreseeing(find(NORM), **OPTIONS):
        assert set(begun_by(os.getpid())) <= before


NO_TORCH = """
import sys
from spec.language.registry import find
from verify import foreseen
class Left:
    def leave(self, place, what): self.many = place + 1
for formula in ("{NORM}", "similarity.dot", "bert.pooler"):
    left = Left()
    foreseen._foresee(find(formula), {"seed": 0, "max_examples": 4}, left)
    assert left.many, formula
assert "torch" not in sys.modules
""".replace("{NORM}", NORM)


def test_it_needs_no_torch() -> None:
    """Else it would wait for what it is to bridge: of 16-bit types, too."""
    subprocess.run([sys.executable, "-c", NO_TORCH], cwd=ROOT, check=True)


CALLED = """
import os
from verify.subject.branch import begun_by
print("beside:", len(begun_by(os.getpid())))
from impl.normalization import layer_norm as norm
"""
COMMAND = """
import sys
from verify import foreseen
from verify.command.cli import main
read = foreseen._read
def told(made, found):
    read(made, found)
    print("foreseen:", bool(found.answers), "torch" in sys.modules)
foreseen._read = told
sys.exit(main())
"""


def test_the_command_foresees_and_says_the_same(tmp_path: Path) -> None:
    """What is found is found by the time torch is there; nothing runs beside a module of the user's while it is imported."""
    (tmp_path / "called.py").write_text(CALLED)
    said = []
    for jobs in ("1", "2"):
        command = [sys.executable, "-c", COMMAND, "check", "called.py:norm", "--formula", NORM]
        ran = subprocess.run(
            [*command, "--jobs", jobs, "--max-examples", str(EXAMPLES)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), CACHE: ""},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(ran.stdout.splitlines())
    alone, both = ([line for line in lines if not line.startswith("foreseen")] for lines in said)
    assert alone == both
    assert "beside: 0" in both
    assert "foreseen: True True" in said[1]
