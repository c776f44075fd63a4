"""Counterexamples as files: they come back bit for bit, every kind of check is replayed, and damaged ones are refused."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.verify.scripts import users
from verify import Unusable, check, replay
from verify.command.cli import main
from verify.inputs.examples import round_to
from verify.report import MOST_WRITTEN_OUT, CheckResult, Counterexample, Report, decode, encode
from verify.targets import choose_targets

pytestmark = pytest.mark.usefixtures("ungraded")

NORM = "normalization.layer_norm"
ROOT = Path(__file__).parents[2]
MODULE = """
import torch
import torch.nn.functional as F
from torch import nn

def right(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

def outside(x, gamma, beta, eps):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0).sqrt() + eps) + beta

def detached(x, gamma, beta, eps):
    mu, var = x.mean(-1, keepdim=True).detach(), x.var(-1, keepdim=True, correction=0).detach()
    return gamma * (x - mu) / (var + eps).sqrt() + beta

def first_only(x, gamma, beta, eps):
    out = right(x, gamma, beta, eps)
    return out if out.ndim == 1 else out[(0,) * (out.ndim - 1)].expand(out.shape)

def damaging(x, gamma, beta, eps):
    out = right(x, gamma, beta, eps)
    with torch.no_grad():
        x.add_(1)
    return out

def raising(x, gamma, beta, eps):
    if x.shape[-1] > 3:
        raise ValueError("too wide")
    return right(x, gamma, beta, eps)

def shapeless(x, gamma, beta, eps):
    return right(x, gamma, beta, eps).sum()

def setting(x, gamma, beta, eps):
    torch.set_default_dtype(torch.float64)
    return right(x, gamma, beta, eps)

def drawing(x, gamma, beta, eps):
    return right(x, gamma, beta, eps) * (1 + (torch.rand(()) < 0.5))

def in_batches(x, gamma, beta, eps):
    _members, d = x.shape
    return 2 * F.layer_norm(x, (d,), gamma, beta, eps)

def without_eps(x, gamma, beta):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-3)

def declining(x, gamma, beta, eps):
    raise NotImplementedError("float64 is not supported")

class Norm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d)), eps

    def forward(self, x):
        return 2 * F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ModuleType]:
    """A module of a user's."""
    with users(tmp_path, own_norms=MODULE):
        yield importlib.import_module("own_norms")


def alone(report: Report, found: CheckResult) -> dict[str, Any]:
    """The report with one of its checks, as a file has it."""
    return json.loads(json.dumps({**report.to_dict(), "checks": [found.to_dict()]}, allow_nan=False))  # type: ignore[no-any-return]


# The file ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_real_arrays_come_back_bit_for_bit(dtype: str) -> None:
    """Values of every type, NaN, infinities and −0; as numbers where they are few, by their bytes where they are many."""
    for count in (0, 3, MOST_WRITTEN_OUT + 1):
        values = round_to(np.random.default_rng(0).standard_normal((2, count)), dtype)
        if count:
            values[0, :3] = np.nan, -np.inf, -0.0
        written = json.loads(json.dumps(encode(values), allow_nan=False))
        again = decode(written)
        assert again.dtype == values.dtype
        assert again.shape == values.shape
        assert np.array_equal(again, values, equal_nan=True)
        assert np.array_equal(np.signbit(again), np.signbit(values))
        assert ("values" in written) == (values.size <= MOST_WRITTEN_OUT)


def test_all_that_a_counterexample_holds_comes_back() -> None:
    """Integers, booleans, arrays without axes or entries, numbers, no mask, cotangents, sizes, the call before."""
    made = Counterexample(
        {
            "ids": np.arange(100),
            "mask": np.array([[True, False]]),
            "t": np.array(0.1),
            "none": np.zeros((0, 3), dtype=bool),
            "eps": 1e-5,
            "n": 3,
            "no": None,
        },
        "float16", {"eps": "inside"}, "a line", "y", (1, 0), float("nan"), float("inf"), 0.0, "unit normal", 5,
        {"y": np.array([1.0, 2.0])}, {"scenario": "twice", "before": {"x": np.array([0.5])}}, {"d": 3}, 2, "function(x)",
    )  # fmt: skip
    again = Counterexample.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False)))
    np.testing.assert_equal(vars(again), vars(made))
    for name, value in made.inputs.items():
        assert type(again.inputs[name]) is type(value)
        assert getattr(again.inputs[name], "dtype", None) == getattr(value, "dtype", None)


def test_a_file_says_with_what_the_check_was_made(own: ModuleType) -> None:
    """The statement and its fingerprint, conventions, seed, settings, versions, and what was expected and got."""
    report = check(own.outside, NORM, max_examples=10, seed=3, sizes={"d": "even"}, causes=False)
    found = report.counterexample()
    assert (found["formula_id"], found["importable"]) == (NORM, "own_norms:outside")
    assert found["fingerprint"] == report.fingerprint
    assert found["conventions"]["eps"] == "inside"
    assert (found["settings"]["seed"], found["settings"]["sizes"]) == (3, {"d": "even"})
    assert "torch" in found["versions"]
    (only,) = found["checks"]
    assert only["name"] == "value in float64"
    assert {"inputs", "dtype", "index", "expected", "tolerance", "got"} <= only["counterexample"].keys()
    with pytest.raises(ValueError, match="nothing is falsified"):
        check(own.right, NORM, max_examples=5).counterexample()


# Replaying ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["outside", "detached", "first_only", "damaging", "raising", "shapeless", "setting", "drawing"]
)
def test_every_failed_check_fails_again_and_passes_when_mended(own: ModuleType, name: str) -> None:
    """Values, gradients, theorems, scenes of use, damage, global state, exceptions, shapes."""
    report = check(
        getattr(own, name),
        NORM,
        max_examples=20,
        conventions={"shapes": "every", "generator": "untouched"},
        causes=False,
    )
    assert report.falsified
    for failed in report.falsified:
        if failed.counterexample is None:  # a whole check is made again
            continue
        found = alone(report, failed)
        again = replay(found)
        assert (again.verdict, again.now.name) == ("falsified", failed.name)
        assert "still falsified" in str(again)
        mended = replay(found, target="own_norms:right")
        assert mended.verdict == "conforms", failed.name
        assert "conforms now" in str(mended)


def test_kinds_that_were_replayed(own: ModuleType) -> None:
    """The test before is about all kinds of check that have examples."""
    kinds = {
        failed.kind
        for name in ("outside", "first_only")
        for failed in check(getattr(own, name), NORM, max_examples=20, causes=False).falsified
    }
    assert kinds == {"value", "gradient", "theorem", "robustness"}


def test_leading_dimensions_and_fixed_numbers_are_as_they_were(own: ModuleType) -> None:
    """A callable that takes one leading dimension, and one that has a number built in."""
    report = check(own.in_batches, NORM, max_examples=10, causes=False)
    assert replay(alone(report, report.falsified[0])).verdict == "falsified"
    report = check(own.without_eps, NORM, max_examples=10, fixed={"eps": 1e-5}, causes=False)
    assert replay(alone(report, report.falsified[0])).verdict == "falsified"
    report = check(own.without_eps, NORM, max_examples=10, fixed={"eps": 1e-3}, causes=False)
    assert report.verdict == "conforms"


def test_a_type_that_is_declined_now_is_inconclusive(own: ModuleType) -> None:
    """Nothing is said of whether it still fails."""
    report = check(own.outside, NORM, max_examples=10, causes=False)
    assert replay(report, own.declining).verdict == "inconclusive"


def test_what_has_no_example_is_checked_again(own: ModuleType) -> None:
    """A law, from its seed; and a grade that is a failure."""
    report = check(never, "attention.hard", max_examples=5, causes=False)
    failed = next(each for each in report.falsified if each.kind == "law")
    assert replay(alone(report, failed), never).verdict == "falsified"
    ours = next(target for target in choose_targets(["attention.hard"], ["impl"])).load()
    assert replay(alone(report, failed), ours).verdict == "conforms"


def never(q: Any, k: Any, v: Any, generator: Any, mask: Any = None) -> Any:
    """Attends to the first key, whatever the weights are."""
    index = q.new_zeros(q.shape[:-1]).long()
    return v[..., :1, :].expand(*q.shape[:-1], v.shape[-1]), index


def test_a_target_of_ours_is_found_by_its_name() -> None:
    """A report of ``attnspec verify`` names no module."""
    target = next(each for each in choose_targets([NORM], ["torch"]))
    report = check(target.load(), NORM, max_examples=10, conventions={"eps": "outside"}, causes=False)
    report.target, report.importable = target.label, ""
    assert replay(alone(report, report.falsified[0])).verdict == "falsified"


def test_a_statement_that_has_changed_since_is_told(own: ModuleType) -> None:
    """And so is another version of what a result depends on."""
    found = check(own.outside, NORM, max_examples=5, causes=False).counterexample()
    found["fingerprint"] = "0" * 8
    found["versions"] = {**found["versions"], "torch": "1.0"}
    notes = replay(found).notes
    assert notes[0].startswith(f"the statement {NORM} has changed since")
    assert notes[1].startswith("torch 1.0 then, ")


# What cannot be replayed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema_version": 1}, "schema_version 1; this attnspec replays 2"),
        ({"formula_id": "norms.layer", "settings": {}}, "no formula"),
        ({"checks": []}, "nothing in it is falsified"),
        ({"checks": [{"name": "value"}]}, "damaged"),
        ({"checks": 3}, "damaged"),
        ({"importable": ""}, "name it: --target MODULE:CALLABLE"),
        ({"importable": "own_norms:gone"}, "has no 'gone'"),
        ({"conventions": {"eps": "above"}, "again": 1}, None),
    ],
)
def test_a_damaged_document_is_refused_in_one_line(
    own: ModuleType, change: dict[str, Any], says: str | None
) -> None:
    """The line says what is wrong with it."""
    found = {
        **alone(report := check(own.outside, NORM, max_examples=5, causes=False), report.falsified[0]),
        **change,
    }
    if says is None:
        found["checks"][0]["counterexample"]["conventions"] = {"eps": "above"}
        says = "'above'"
    with pytest.raises(Unusable, match=says) as refused:
        replay(found)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("key", ["inputs", "dtype"])
def test_a_counterexample_without_its_inputs_is_refused(own: ModuleType, key: str) -> None:
    """Or with inputs that are no arrays."""
    report = check(own.outside, NORM, max_examples=5, causes=False)
    found = alone(report, report.falsified[0])
    found["checks"][0]["counterexample"].pop(key)
    with pytest.raises(Unusable, match="damaged"):
        replay(found)
    found = alone(report, report.falsified[0])
    found["checks"][0]["counterexample"]["inputs"]["x"] = {"dtype": "object", "shape": [1], "values": [1]}
    with pytest.raises(Unusable, match="an array of object"):
        replay(found)


# The command -------------------------------------------------------------------------------------------------------------


def test_the_command_says_whether_it_still_fails(
    own: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file and the command are told; 1 while it fails, 0 once mended, 3 if nothing is said, 2 for another file; a report will
    do as well, and nothing is written unasked.
    """
    monkeypatch.chdir(tmp_path)
    run = [
        "check",
        "own_norms:outside",
        "--formula",
        NORM,
        "--convention",
        "ours",
        "--max-examples",
        "5",
    ]
    before = {path.name for path in tmp_path.iterdir()}
    assert main(run) == 1
    assert "--counterexample FILE writes it" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == before - {"__pycache__"}
    assert main([*run, "--counterexample", "a.json", "--json", "b.json"]) == 1
    assert "wrote a.json: attnspec replay a.json" in capsys.readouterr().out
    for file in ("a.json", "b.json"):
        assert main(["replay", file]) == 1
        assert "still falsified" in capsys.readouterr().out
    assert main(["replay", "a.json", "--target", "own_norms:right"]) == 0
    assert main(["replay", "a.json", "--target", "own_norms:declining"]) == 3
    capsys.readouterr()
    Path("no.json").write_text("[1]")
    Path("half.json").write_text(Path("a.json").read_text()[:100])
    for file in ("no.json", "half.json", "none.json"):
        assert main(["replay", file]) == 2
        said = capsys.readouterr().err
        assert said.startswith("attnspec: ")
        assert said.count("\n") == 1


def test_options_that_went_say_what_to_use(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each."""
    for option, instead in (("--svg", "--html"), ("--annotations", "--junit")):
        assert main(["verify", "scores.dot", option, "a"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"attnspec: {option} is gone: ")
        assert instead in said


def test_a_callable_that_ends_its_process_is_replayed(tmp_path: Path) -> None:
    """The file is written though the process is gone, and the replay says what ended this one."""
    (tmp_path / "ends.py").write_text("import os\n\n\ndef dot(x, y):\n    os.abort()\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "verify", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    options = ("--formula", "similarity.dot", "--max-examples", "3", "--counterexample", "a.json")
    assert run("check", "ends.py:dot", *options).returncode == 1
    again = run("replay", "a.json")
    assert again.returncode == 1
    assert "ended the process (SIGABRT)" in again.stderr
