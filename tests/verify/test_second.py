"""A second process for one check: what is said does not depend on it, whatever the callable does there."""

from __future__ import annotations

import atexit
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

import impl.normalization
import verify
from verify import checking, remembered, second
from verify.cache import CACHE
from verify.oracle import oracle_for
from verify.report import Report
from verify.subject import containment

ROOT = Path(__file__).parents[2]
NORM = "normalization.layer_norm"
HERE = os.getpid()
EXAMPLES = 12
"""Few: what is tested does not depend on how many there are."""

IN_COMPANY = second.in_company
LONG = 1100
"""Longer rows are there in grades and at large sizes alone."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are branched off on Linux alone")
layer_norm = impl.normalization.layer_norm


def reports(fn: Callable[..., Any], **options: Any) -> list[Report]:
    """What is found by one process, and by two."""
    found = [verify.check(fn, NORM, max_examples=EXAMPLES, jobs=jobs, **options) for jobs in (1, 2)]
    return [replace(report, seconds=0.0, first_violation=None) for report in found]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether what the second process found was taken over to the end, for each that there was."""
    seen: list[bool] = []
    plain = second.Second.answers

    def answers(self: second.Second) -> Any:
        seen.append(self.places == {second.DONE})
        return plain(self)

    monkeypatch.setattr(second.Second, "answers", answers)
    return seen


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever runs beside these tests, and listens for processes that end, as torch's loaders of data do."""
    monkeypatch.setattr(second, "in_company", lambda: False)
    before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are left to the next run, in a folder of the test's own."""
    monkeypatch.setenv(CACHE, str(tmp_path / "kept"))
    monkeypatch.setattr(remembered, "WORTH", 0.0)
    oracle_for.cache_clear()


def test_two_processes_say_what_one_does(ends: list[bool]) -> None:
    """Every check, in its order, with its examples, ratios, and grades."""
    alone, both = reports(layer_norm)
    assert str(alone) == str(both)
    assert [repr(check) for check in alone.checks] == [repr(check) for check in both.checks]
    assert ends == [True]


def at_large(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """Wrong at many rows alone."""
    return layer_norm(x, gamma, beta, eps) * (1.5 if x.shape[-1] > LONG else 1.0)


def narrow(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """In float32 what is normalized is held in float16."""
    made = layer_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps)
    return gamma * (made.half().to(x.dtype) if x.dtype == torch.float32 else made) + beta


def coarse(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """Of long rows in float32 the mean is held in float16, which the bound of so many terms lets through."""
    if x.shape[-1] <= LONG or x.dtype != torch.float32:
        return layer_norm(x, gamma, beta, eps)
    off = x - x.mean(-1, keepdim=True).half().to(x.dtype)
    return gamma * off / (off.square().mean(-1, keepdim=True) + eps).sqrt() + beta


def wrong(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """Wrong everywhere."""
    return layer_norm(x, gamma, beta, eps) * 1.01


def sloping(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """Its gradient is wrong."""
    return layer_norm(x, gamma, beta, eps) + 0.1 * (x - x.detach())


def without(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """It has no gradient."""
    return layer_norm(x, gamma, beta, eps).detach()


def declining(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """It does not take long rows."""
    if x.shape[-1] > LONG:
        raise ValueError(f"rows of at most {LONG} entries")
    return layer_norm(x, gamma, beta, eps)


def meddling(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
    """At long rows it writes to the environment."""
    if x.shape[-1] > LONG:
        os.environ["LAYER_NORM"] = "long"
    return layer_norm(x, gamma, beta, eps)


@pytest.mark.parametrize(
    ("fn", "verdict"),
    [
        (at_large, "falsified"),
        (narrow, "falsified"),
        (coarse, "imprecise"),
        (wrong, "falsified"),
        (sloping, "falsified"),
        (without, "conforms"),
        (declining, "conforms"),
        (meddling, "falsified"),
    ],
)
def test_what_is_found_in_the_second_is_found_again_in_the_first(
    fn: Callable[..., Any], verdict: str, ends: list[bool]
) -> None:
    """Verdicts, messages and properties are those of one process; what the second found was not taken over to the end."""
    alone, both = reports(fn)
    assert both.verdict == verdict
    assert str(alone) == str(both)
    assert alone.properties == both.properties
    assert [repr(check) for check in alone.checks] == [repr(check) for check in both.checks]
    assert not any(ends)


def test_what_a_callable_keeps_from_one_scenario_is_not_lost_in_the_second() -> None:
    """Once it has seen an expanded batch it is wrong: what only the first has met, it looks at in all checks that follow."""

    def spoilt() -> Callable[..., torch.Tensor]:
        seen: list[int] = []

        def norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
            if x.ndim > 1 and x.stride(0) == 0 and x.shape[0] > 1:
                seen.append(1)
            return layer_norm(x, gamma, beta, eps) * (1.01 if seen else 1.0)

        return norm

    for jobs in (1, 2):
        assert verify.check(spoilt(), NORM, max_examples=60, jobs=jobs, causes=False).verdict == "falsified"


def elsewhere(do: Callable[[], object]) -> Callable[..., torch.Tensor]:
    """A layer norm that does something at its first call in another process."""
    done: list[int] = []

    def norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
        if os.getpid() != HERE and not done:
            done.append(1)
            do()
        return layer_norm(x, gamma, beta, eps)

    return norm


@pytest.mark.parametrize(
    "do",
    [
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: sys.exit(1),
        lambda: os._exit(0),
        lambda: time.sleep(60),
        lambda: 1 / 0,
    ],
    ids=["killed", "exits", "exits at once", "hangs", "raises"],
)
def test_whatever_happens_in_the_second_alone_is_said_of_nothing(
    do: Callable[[], object], ends: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process makes its checks then, and all is well there."""
    monkeypatch.setattr(containment, "LIMIT", 1.0)
    report = verify.check(elsewhere(do), NORM, max_examples=EXAMPLES, jobs=2)
    assert report.verdict == "conforms", str(report)
    assert {"robustness: large sizes", "accuracy in float32"} <= {check.name for check in report.checks}
    assert ends == [False]


def test_what_is_wrong_in_the_second_alone_is_noted(ends: list[bool]) -> None:
    """Made again it conforms, which counts; that it was otherwise before is said."""

    def norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
        there = os.getpid() != HERE and x.shape[-1] > LONG
        return layer_norm(x, gamma, beta, eps) * (1.5 if there else 1.0)

    report = verify.check(norm, NORM, max_examples=EXAMPLES, jobs=2)
    assert report.verdict == "conforms"
    assert ends == [False]
    (noted,) = [note for note in report.notes if "in another process" in note]
    assert noted.startswith(("robustness: large sizes was falsified", "accuracy in float32 was falsified"))


def test_one_that_waits_for_what_does_not_come_is_given_up(
    ends: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes no processor time: a lock may be held there that nobody gives back."""
    monkeypatch.setattr(second, "IDLE", 0.5)
    monkeypatch.setattr(second, "_work", lambda *_: time.sleep(600))
    report = verify.check(layer_norm, NORM, max_examples=EXAMPLES, jobs=2)
    assert report.verdict == "conforms"
    assert ends == [False]


def test_a_call_that_nothing_interrupts_is_given_up(
    ends: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes processor time for ever, in a library that no signal reaches."""

    def spin() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        while True:
            pass

    monkeypatch.setattr(second, "CALL", 1.0)
    report = verify.check(elsewhere(spin), NORM, max_examples=EXAMPLES, jobs=2)
    assert report.verdict == "conforms"
    assert ends == [False]


CROSSING = """
import subprocess, sys
from impl.normalization import layer_norm

SERVER = "import sys\\nfor line in sys.stdin: print(line.strip(), flush=True)"
served = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def norm(x, gamma, beta, eps):
    asked = ",".join(map(str, x.shape))
    served.stdin.write(asked + "\\n")
    served.stdin.flush()
    if served.stdout.readline().strip() != asked:
        raise RuntimeError("that is another's answer")
    return layer_norm(x, gamma, beta, eps)
"""


def test_there_is_none_beside_a_process_that_serves_the_first(
    ends: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would ask the same server, and one read what the other has asked for."""
    monkeypatch.setattr(second, "in_company", IN_COMPANY)
    found: dict[str, Any] = {}
    exec(CROSSING, found)
    try:
        report = verify.check(found["norm"], NORM, max_examples=EXAMPLES, jobs=2)
    finally:
        found["served"].kill()
        found["served"].communicate()
    assert report.verdict == "conforms", str(report)
    assert ends == []


def test_what_goes_wrong_beside_the_second_is_made_once_more_without(
    ends: list[bool], tmp_path: Path
) -> None:
    """Both would hold the same lock: only one is there in the end."""
    lock = tmp_path / "lock"

    def locking(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.getpid() != HERE:
                time.sleep(0.05)
            return layer_norm(x, gamma, beta, eps)

    report = verify.check(locking, NORM, max_examples=EXAMPLES, jobs=2)
    assert report.verdict == "conforms", str(report)
    assert ends == [False]


def test_descriptors_that_are_closed_do_no_harm() -> None:
    """The second leaves what it found in memory."""

    def closing(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float) -> torch.Tensor:
        os.closerange(60, 200)
        return layer_norm(x, gamma, beta, eps)

    assert verify.check(closing, NORM, max_examples=EXAMPLES, jobs=2).verdict == "conforms"


def test_what_is_registered_for_the_end_is_done_where_it_was_registered(tmp_path: Path) -> None:
    """The second does what its own calls have registered, and not what those before it did."""
    file = tmp_path / "ends"

    def registers() -> None:
        atexit.register(lambda: file.write_text(file.read_text() + "own " if file.exists() else "own "))

    before = Mock()
    atexit.register(before)
    try:
        verify.check(elsewhere(registers), NORM, max_examples=EXAMPLES, jobs=2)
    finally:
        atexit.unregister(before)
    assert file.read_text() == "own "
    assert not before.called


@pytest.mark.parametrize("fine", [True, False], ids=["all is well", "not there"])
def test_what_its_calls_have_begun_ends_with_it(fine: bool, tmp_path: Path) -> None:
    """By what was registered for the end; where the second is ended before, so are they."""
    begun = tmp_path / "begun"

    def begins() -> None:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        begun.write_text(str(process.pid))
        atexit.register(lambda: (process.kill(), process.wait()))
        if not fine:
            raise ValueError("not here")

    report = verify.check(elsewhere(begins), NORM, max_examples=EXAMPLES, jobs=2)
    assert report.verdict == "conforms"
    until = time.monotonic() + 60
    while Path(f"/proc/{begun.read_text()}/cmdline").exists() and time.monotonic() < until:
        time.sleep(0.05)  # the system takes it away
    assert not Path(f"/proc/{begun.read_text()}/cmdline").exists()


TELLING = """
import os
from impl.normalization import layer_norm

def norm(x, gamma, beta, eps):
    print("by", os.getpid())
    return layer_norm(x, gamma, beta, eps)
"""


@pytest.mark.parametrize(("jobs", "said"), [((), 1), (("--jobs", "1"), 1)])
def test_what_a_second_prints_is_not_shown(jobs: tuple[str, ...], said: int, tmp_path: Path) -> None:
    """What is printed is what one process has called; the command has a second one unless it is told otherwise."""
    (tmp_path / "telling.py").write_text(TELLING)
    command = [sys.executable, "-m", "verify", "check", "telling.py:norm", "--formula", NORM]
    ran = subprocess.run(
        [*command, "--max-examples", str(EXAMPLES), *jobs],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "conforms" in ran.stdout
    assert len({line for line in ran.stdout.splitlines() if line.startswith("by ")}) == said


def test_it_does_not_outlive_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where the check ends, nor where it is interrupted."""
    processes: list[int] = []
    fork = os.fork

    def forked() -> int:
        process = fork()
        processes.append(process)
        return process

    monkeypatch.setattr(os, "fork", forked)
    monkeypatch.setattr(second, "_work", lambda *_: time.sleep(600))
    monkeypatch.setattr(checking, "met", Mock(wraps=checking.met))

    def interrupted(title: str, *_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify.check(layer_norm, NORM, max_examples=EXAMPLES, jobs=2, progress=interrupted)
    verify.check(wrong, NORM, max_examples=EXAMPLES, jobs=2, causes=False)
    assert len(processes) == 2
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_the_next_run_finds_what_both_have_asked(ends: list[bool]) -> None:
    """As many answers are remembered as after a run in one process."""
    remembering = []
    for jobs in (1, 2):
        oracle_for.cache_clear()
        verify.check(layer_norm, NORM, max_examples=EXAMPLES, jobs=jobs, seed=jobs)
        oracle_for.cache_clear()
        remembering.append(verify.check(layer_norm, NORM, max_examples=EXAMPLES, seed=jobs).remembered)
        oracle_for.cache_clear()
        again = verify.check(layer_norm, NORM, max_examples=EXAMPLES, seed=jobs, jobs=2).remembered
        assert abs(again - remembering[-1]) <= 2  # each looks its first one up anew
    assert min(remembering) > 50
    assert abs(remembering[0] - remembering[1]) < 0.1 * remembering[0]
    assert ends == [True] * 3


@pytest.fixture
def setting() -> Mock:
    """Where a second is possible."""
    return Mock(caller=Mock(device="cpu"))


def test_there_is_none_where_somebody_listens_for_processes_that_end(setting: Mock) -> None:
    """A handler of the callable's would be told of one that it does not know."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    assert not second.possible(setting)


def test_there_is_none_beside_threads(setting: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not go along, and hold what they hold for ever."""
    assert second.possible(setting)
    monkeypatch.setattr(second, "in_company", IN_COMPANY)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert not second.possible(setting)
    finally:
        done.set()
        other.join()


@pytest.mark.parametrize("name", second.STAYING)
def test_there_is_none_beside_libraries_with_threads_of_their_own(
    name: str, setting: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python does not know of these threads."""
    monkeypatch.setattr(second, "in_company", IN_COMPANY)
    monkeypatch.setitem(sys.modules, name, Mock())
    assert not second.possible(setting)


def test_there_is_none_on_a_device(setting: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies there does not go along, and torch goes backward in threads of its own as soon as there is one."""
    assert not second.possible(Mock(caller=Mock(device="cuda")))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    assert not second.possible(setting)


def test_without_room_there_is_none(monkeypatch: pytest.MonkeyPatch, ends: list[bool]) -> None:
    """Neither for its results, nor for a process."""
    monkeypatch.setattr(os, "fork", Mock(side_effect=BlockingIOError("no more processes")))
    report = verify.check(layer_norm, NORM, max_examples=EXAMPLES, jobs=2)
    assert report.verdict == "conforms"
    assert ends == []


def test_a_search_for_one_violation_is_made_by_one_process(ends: list[bool]) -> None:
    """It ends at the first, and mostly at once."""
    verify.check(layer_norm, NORM, max_examples=EXAMPLES, jobs=2, until_falsified=True)
    assert ends == []


def test_how_many_processes_there_are_is_a_number_of_them() -> None:
    """One line says so."""
    with pytest.raises(verify.Unusable, match="jobs"):
        verify.check(layer_norm, NORM, jobs=0)
