"""Global state that callables, and the modules they come from, leave changed."""

import io
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from tests.verify.subject.calling import right
from tests.verify.subject.exactness import told
from verify import check
from verify.subject.sandbox import environment_variables

pytestmark = pytest.mark.usefixtures("ungraded")

ROOT = Path(__file__).parents[3]


MEDDLERS = {
    "default dtype": lambda: torch.set_default_dtype(torch.float64),
    "grad mode": lambda: torch.set_grad_enabled(False),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "threads": lambda: torch.set_num_threads(2),
    "torch's global random": lambda: torch.rand(1),
    "NumPy's global random": lambda: np.random.rand(),  # noqa: NPY002
    "Python's global random": random.random,
    "default device": lambda: torch.set_default_device("meta"),
    "environment": lambda: os.environ.__setitem__("ATTNSPEC_TEST", "1"),
    "working directory": lambda: os.chdir("/"),
    "standard output": lambda: setattr(sys, "stdout", io.StringIO()),
    "standard error": lambda: setattr(sys, "stderr", None),
}


@pytest.mark.parametrize("name", MEDDLERS)
def test_meddling_with_global_state_is_undone_and_reported(name):
    """Global state is set back after each call, and what was touched is named."""

    def fn(x, gamma, beta, eps):
        out = right(x, gamma, beta, eps)
        MEDDLERS[name]()
        return out

    def now():
        return [
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            Path.cwd(),
            environment_variables(),
            torch.get_num_threads(),
        ]

    torch.use_deterministic_algorithms(False)  # torch's compiler sets a variable of its own the first time
    before = now()
    report = check(fn, "normalization.layer_norm", max_examples=5, conventions={"generator": "untouched"})
    assert before == now()
    (bad,) = report.falsified
    assert bad.name == "robustness: leaves global state alone"
    assert name in bad.message


GENERATORS = {kind: getattr(np.random, kind) for kind in ("MT19937", "PCG64", "Philox", "SFC64")}


@pytest.fixture
def _own_generator():
    """NumPy's global generator is what it was."""
    before = np.random.get_bit_generator()
    yield
    np.random.set_bit_generator(before)


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.usefixtures("_own_generator")
def test_another_generator_in_the_place_of_numpys_is_taken_back_and_reported(kind):
    """It is the one from before that goes on, with the state that it had."""
    before, state = np.random.get_bit_generator(), np.random.get_state()[1].copy()  # noqa: NPY002

    def fn(x, gamma, beta, eps):
        np.random.set_bit_generator(GENERATORS[kind](5))
        return right(x, gamma, beta, eps)

    report = check(fn, "normalization.layer_norm", max_examples=3, conventions={"generator": "untouched"})
    (bad,) = report.falsified
    assert "NumPy's global random state" in bad.message
    assert np.random.get_bit_generator() is before
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


@pytest.mark.parametrize("drawing", [False, True])
@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.usefixtures("_own_generator")
def test_any_generator_of_numpy_is_watched(kind, drawing):
    """A user may have exchanged it long before: who does not draw from it conforms, and who does is told so."""
    np.random.set_bit_generator(GENERATORS[kind](5))

    def fn(x, gamma, beta, eps):
        if drawing:
            np.random.random()  # noqa: NPY002
        return right(x, gamma, beta, eps)

    report = check(fn, "normalization.layer_norm", max_examples=3, conventions={"generator": "untouched"})
    assert [each.name for each in report.falsified] == ["robustness: leaves global state alone"] * drawing


@pytest.mark.parametrize("name", ["TORCHINDUCTOR_CACHE_DIR", "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"])
def test_what_a_compiler_sets_in_the_environment_is_nobodys_fault(name, monkeypatch):
    """torch.compile sets variables of its own at the first call."""
    monkeypatch.delenv(name, raising=False)

    def fn(x, gamma, beta, eps):
        os.environ[name] = "1"
        return right(x, gamma, beta, eps)

    assert check(fn, "normalization.layer_norm", max_examples=3).verdict == "conforms"


def test_a_check_keeps_to_one_thread_and_leaves_the_numbers_of_threads_as_they_were():
    """Torch's and those of NumPy's BLAS, which would wake others for matrices of a few rows."""

    def threads():
        blas = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
        return [torch.get_num_threads(), *blas]

    seen = []

    def fn(x, gamma, beta, eps):
        seen.append(threads())
        return right(x, gamma, beta, eps)

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        with threadpool_limits(2, user_api="blas"):
            own = threads()
            check(fn, "normalization.layer_norm", max_examples=2)
            assert threads() == own
    finally:
        torch.set_num_threads(before)
    assert own[0] == 3
    assert len(own) > 1
    assert all(each == [1] * len(own) for each in seen)


def test_a_default_device_of_others_is_that_of_the_calls_alone():
    """Who has chosen where new tensors are made has chosen it for the callable, not for what judges it."""

    def fn(x, gamma, beta, eps):
        made_on.add(torch.empty(0).device.type)
        return right(x, gamma, beta, eps)

    made_on: set[str] = set()
    torch.set_default_device("meta")
    try:
        report = check(fn, "normalization.layer_norm", max_examples=5)
        assert torch.empty(0).device.type == "meta"
    finally:
        torch.set_default_device(None)
    assert report.verdict == "conforms", str(report)
    assert made_on == {"meta"}


@pytest.mark.parametrize(
    ("at_import", "in_a_call", "status", "said"),
    [
        ("sys.stdout = io.StringIO()", "", 0, "conforms: "),
        ("sys.stdout.close(); sys.stderr.close()", "", 0, "conforms: "),
        ("", "sys.stdout.close(); sys.stderr.close()", 1, "changes global state: standard output; standard error"),
    ],
)  # fmt: skip
def test_what_is_done_to_standard_output_does_not_silence_the_checker(
    tmp_path, at_import, in_a_call, status, said
):
    """What a module puts in its place or closes when it is imported is no matter; a call that does so is reported."""
    (tmp_path / "quiet.py").write_text(
        f"import io, sys\nimport torch.nn.functional as F\n{at_import}\n"
        f"def f(x, gamma, beta, eps):\n    {in_a_call or 'pass'}\n    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)\n"
    )
    command = ["check", "quiet.py:f", "--formula", "normalization.layer_norm", "--max-examples", "3"]
    ran = subprocess.run(
        [sys.executable, "-m", "verify", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (status, "")
    assert said in ran.stdout


@pytest.mark.parametrize(
    "change",
    [
        lambda: torch.set_float32_matmul_precision("medium"),
        lambda: setattr(torch.backends.cudnn, "allow_tf32", False),
        lambda: setattr(torch.backends.mkldnn, "fp32_precision", "bf16"),
    ],
)
def test_who_changes_how_exact_products_are_is_reported_and_undone(change):
    """By the one setting for all, or by that of one kind."""

    def fn(x, gamma, beta, eps):
        change()
        return right(x, gamma, beta, eps)

    before = told()
    report = check(fn, "normalization.layer_norm", max_examples=3)
    assert told() == before
    assert any("torch's float32 precision" in each.message for each in report.falsified)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every case has a process of its own")
def test_settings_of_exactness_are_undone_whatever_they_were():
    """Whatever torch was told before, even what contradicts itself, it is told again."""
    command = [sys.executable, "-m", "tests.verify.subject.exactness"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_others_froze_stays_frozen_and_a_check_within_one_leaves_it_to_the_outer():
    """In a process of its own, where nobody has frozen anything."""
    text = """
import gc
from verify.subject.sandbox import freeze_existing_objects
with freeze_existing_objects():
    with freeze_existing_objects():
        pass
    assert gc.get_freeze_count()
assert not gc.get_freeze_count()
with freeze_existing_objects():
    assert gc.get_freeze_count()
gc.freeze()
with freeze_existing_objects():
    pass
assert gc.get_freeze_count()
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
