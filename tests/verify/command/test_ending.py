"""Callables that end the process they are called in, and what is sent to the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verify.command.terminal import FALSIFIED, NOTHING

ROOT = Path(__file__).parents[3]
ENDS = """
import ctypes, os, time
import torch.nn.functional as F

def fault(x, gamma, beta, eps):
    if x.dim() > 1:
        ctypes.string_at(0)
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

def abort(x, gamma, beta, eps):
    os.abort()

def leave(x, gamma, beta, eps):
    ctypes.CDLL(None)._exit(0)

def killed(x, gamma, beta, eps):
    os.kill(os.getpid(), 9)

def waits(x, gamma, beta, eps):
    print("called", flush=True)
    time.sleep(600)
"""


TARGETS = """
max-examples = 5
[[target]]
callable = "ends:fault"
formula = "normalization.layer_norm"
[[target]]
callable = "ends:killed"
formula = "normalization.layer_norm"
[[target]]
callable = "impl.normalization:layer_norm"
formula = "normalization.layer_norm"
"""


def begun(folder: Path, name: str, targets: str = TARGETS) -> subprocess.Popen[str]:
    """``attnspec check`` of one of them; or ``attnspec verify`` of ``targets`` in so many processes."""
    (folder / "ends.py").write_text(ENDS)
    (folder / "attnspec.toml").write_text(targets)
    command = ["verify", "--jobs", name]
    if not name.isdigit():
        command = ["check", f"ends:{name}", "--formula", "normalization.layer_norm", "--max-examples", "5"]
    command += ["--json", "found.json", "--junit", "found.xml"]
    return subprocess.Popen(
        [sys.executable, "-m", "verify", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heard,
    )


def heard() -> None:
    """Hear interrupts even where these tests run in a background job, which hears none."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("fault", FALSIFIED, "a call ended the process (SIGSEGV): normalization.layer_norm: ends:fault, called with x (2, 3)"),
        ("leave", FALSIFIED, "a call ended the process (exit status 0): normalization.layer_norm: ends:leave, "),
        ("killed", NOTHING, "the process was ended by SIGKILL during a call: normalization.layer_norm: ends:killed"),
    ],
)  # fmt: skip
def test_what_ends_the_process_is_named_with_its_call(
    tmp_path: Path, name: str, status: int, said: str
) -> None:
    """A callable that ends the process has failed; one line names it, its arguments and how it ended. What is killed may
    have been so from outside. What was asked for is written all the same.
    """
    _, error = (process := begun(tmp_path, name)).communicate()
    assert process.returncode == status
    assert said in error.splitlines()[-1]
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["exit"], found["max_examples"]) == (status, 5)
    (report,) = found["reports"]
    assert report["verdict"] == ("falsified" if status == FALSIFIED else "inconclusive")
    assert said in report["checks"][0]["message"]
    assert said in (tmp_path / "found.xml").read_text()


def test_one_of_several_targets_that_ends_its_process_ends_no_other(tmp_path: Path) -> None:
    """What ends the process of its worker is falsified with its call; what is killed could not be run; the others are judged."""
    _, error = (process := begun(tmp_path, "2")).communicate()
    assert process.returncode == FALSIFIED, error
    found = json.loads((tmp_path / "found.json").read_text())
    verdicts = {report["target"]: report["verdict"] for report in found["reports"]}
    assert verdicts == {"ends:fault": "falsified", "impl.normalization:layer_norm": "conforms"}
    said = {report["target"]: report["checks"][0]["message"] for report in found["reports"]}
    assert "a call ended the process (SIGSEGV): " in said["ends:fault"]
    (failed,) = found["errors"]
    assert "ended by SIGKILL during a call: normalization.layer_norm: ends:killed" in failed


def test_what_is_sent_to_the_command_ends_it(tmp_path: Path) -> None:
    """An interrupt from elsewhere ends the command, and nothing of it goes on."""
    process = begun(tmp_path, "waits")
    assert process.stdout is not None
    assert process.stdout.readline() == "called\n"
    process.send_signal(signal.SIGINT)
    process.communicate()  # the end of its output: nobody holds it any longer
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("sent", "status", "jobs"),
    [(signal.SIGINT, 130, "1"), (signal.SIGTERM, 143, "2")],
)
def test_what_was_judged_before_the_command_is_ended_is_written(
    tmp_path: Path, sent: signal.Signals, status: int, jobs: str
) -> None:
    """A time limit of a runner, or a Ctrl-C, ends ``attnspec verify``: what it has found by then is written and shown."""
    table = '[[target]]\ncallable = "{}"\nformula = "normalization.layer_norm"\n'
    shown = "".join(table.format(each) for each in ("impl.normalization:layer_norm", "ends:waits"))
    process = begun(tmp_path, jobs, "max-examples = 5\ntime-limit = 600\n" + shown)
    assert process.stderr is not None
    assert "conforms" in process.stderr.readline()
    process.send_signal(sent)
    output, _ = process.communicate()
    assert process.returncode == status
    assert "interrupted: 1 of 2 targets done" in output
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["interrupted"], found["exit"], found["errors"]) == (True, status, [])
    assert [report["target"] for report in found["reports"]] == ["impl.normalization:layer_norm"]
    assert "impl.normalization:layer_norm" in (tmp_path / "found.xml").read_text()


def test_nothing_goes_on_without_the_command(tmp_path: Path) -> None:
    """Where the command itself is killed, its check is too."""
    process = begun(tmp_path, "waits")
    assert process.stdout is not None
    process.stdout.readline()
    began = time.monotonic()
    process.kill()
    process.communicate()
    assert time.monotonic() - began < 300, "it went on until the call came back"


def test_no_worker_goes_on_without_the_command() -> None:
    """Where the command that shares work out is killed, those who do it are, too: each holds a gigabyte."""
    process = subprocess.Popen(
        [sys.executable, "-m", "verify", "mutants", "similarity.dot", "--jobs", "2"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline(), "the first of its variants was judged"
    process.kill()
    process.communicate(timeout=300)  # the end of its output: nobody holds it any longer


def test_the_process_that_isolates_the_command_imports_nothing_large(tmp_path: Path) -> None:
    """What a check needs is imported by the process that makes it, once."""
    large = "torch", "sympy", "numpy", "hypothesis"
    (tmp_path / "mine.py").write_text(ENDS)
    program = (
        "import sys; from verify.command.cli import main\n"
        "if __name__ == '__main__':\n"
        "    status = main()\n"
        f"    print([name for name in {large} if name in sys.modules], status, file=sys.stderr)\n"
    )
    (tmp_path / "command.py").write_text(program)
    command = ["check", "mine.py:abort", "--formula", "no.such"]
    done = subprocess.run(
        [sys.executable, "command.py", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stderr.splitlines()[-1] == "[] 2"
