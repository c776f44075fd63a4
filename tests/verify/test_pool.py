"""Tasks in worker processes: what crashes, exits or hangs is an outcome of its task, and no other is lost."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verify import last_call
from verify.pool import THREADS, Lost, Queue, _environment, run_task, run_tasks


def work(task: Any) -> Any:
    """What a worker does: a task is a number, or how to end."""
    last_call.record_call(f"f, called with {task}")
    ends: dict[Any, Callable[[], Any]] = {
        "leaves": lambda: ctypes.CDLL(None)._exit(0),
        "exits": lambda: os._exit(3),
        "stops": lambda: sys.exit(4),
        "crashes": lambda: ctypes.string_at(0),
        "is killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "spoils": lambda: (last_call.record_end(), os.abort()),
        "hangs": lambda: ctypes.CDLL(None).sleep(600),
        "raises": lambda: 1 / 0,
        "process": os.getpid,
        "threads": lambda: os.environ["OMP_NUM_THREADS"],
    }
    return ends[task]() if task in ends else task * 2


def first(task: Any) -> Any:
    """The work of a task that has its group beside it."""
    return work(task[0])


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_that_end_their_process_take_no_other_with_them(jobs: int) -> None:
    """Each end is told with the call that was being made; whatever is not of a call's making is not held against it."""
    tasks = [1, "leaves", "exits", 2, "crashes", "is killed", "spoils", 3, "raises", "stops", "hangs", 4]
    found = dict(run_tasks(work, tasks, jobs, timeout=lambda task: 1.0 if task == "hangs" else None))
    lost = {tasks[place]: outcome for place, outcome in found.items() if isinstance(outcome, Lost)}
    assert [found[place] for place, task in enumerate(tasks) if isinstance(task, int)] == [2, 4, 6, 8]
    assert {task: (end.by_call, end.how) for task, end in lost.items() if end.error is None} == {
        "leaves": (True, "a call ended the process (exit status 0): f, called with leaves"),
        "exits": (True, "a call ended the process (exit status 3): f, called with exits"),
        "crashes": (True, "a call ended the process (SIGSEGV): f, called with crashes"),
        "is killed": (
            False,
            "the process was ended by SIGKILL during a call: f, called with is killed; is there memory enough?",
        ),
        "spoils": (
            False,
            "the process was ended by SIGABRT between calls; has one of them written beyond its own memory?",
        ),
        "hangs": (True, "a call did not return within 1 s: f, called with hangs"),
    }
    assert isinstance(lost["raises"].error, ZeroDivisionError)
    assert isinstance(lost["stops"].error, SystemExit)


def test_processes_are_used_again() -> None:
    """What one has imported is there for its next task."""
    found = dict(run_tasks(first, [("process", group) for group in "ababab"], 2, group=lambda task: task[1]))
    assert len(set(found.values())) <= 2
    assert os.getpid() not in found.values()


def test_a_worker_that_cannot_start_is_told() -> None:
    """What is handed to it has to be importable there."""
    outcome = run_task(_Unreadable.work, _Unreadable())
    assert isinstance(outcome, Lost)
    assert outcome.error is not None


class _Unreadable:
    """It can be pickled, not read again."""

    def __reduce__(self) -> Any:
        return int, ("no number",)

    @staticmethod
    def work(task: Any) -> Any:
        return task


def test_an_iterator_that_is_closed_ends_its_workers() -> None:
    """Also such as are at work."""
    running = run_tasks(work, [1, "hangs"], 2)
    assert next(running) == (0, 2)
    began = time.monotonic()
    running.close()
    assert time.monotonic() - began < 30


def test_a_worker_stays_with_a_group_until_nothing_of_it_is_left() -> None:
    """The last listed formulas, which apply the others, come first."""
    groups = ["a", "a", "b", "b", "b", "c"]
    queue = Queue(groups)
    assert [groups[queue.next(0) or 0] for _ in range(6)] == ["c", "b", "b", "b", "a", "a"]
    assert queue.next(0) is None


def test_workers_begin_with_different_groups_and_share_one_at_the_end() -> None:
    """None waits while something is left."""
    groups = ["a"] * 5 + ["b"]
    queue = Queue(groups)
    took = [[queue.next(lane) for lane in (0, 1)] for _ in range(3)]
    assert [[groups[place or 0] for place in pair] for pair in took] == [["b", "a"], ["a", "a"], ["a", "a"]]
    assert queue.next(0) is None
    assert sorted(place for pair in took for place in pair if place is not None) == list(range(6))


def test_workers_share_the_cores_and_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries read the number of their threads as they load; afterwards the environment is as before."""
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    for name in THREADS[1:]:
        monkeypatch.delenv(name, raising=False)
    with _environment(2):
        assert [os.environ[name] for name in THREADS] == ["5", "3", "3"]
        assert run_task(work, "threads") == "5"
    assert [os.environ.get(name) for name in THREADS] == ["5", None, None]


def test_a_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """However that ends: each worker holds a gigabyte."""
    (tmp_path / "starts.py").write_text(STARTS)
    process = subprocess.Popen(
        [sys.executable, "starts.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.kill()
    process.communicate(timeout=60)  # the end of its output: nobody holds it any longer


STARTS = """
import time
from verify.pool import run_task

def work(task):
    print("begun", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    run_task(work, 0)
"""
