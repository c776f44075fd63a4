"""Tasks in worker processes that may crash, exit or hang: each such end is an outcome (:class:`Lost`), and no other task is lost.

The workers are those of pebble. Each is a pool of its own, so that a worker stays with tasks of one group, whose data it keeps.
They are spawned: a process that has threads (of torch, of BLAS) cannot be forked safely.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from pebble import ProcessExpired, ProcessPool

from verify import last_call
from verify.subject.ending import interrupt

Task = TypeVar("Task")
Result = TypeVar("Result")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Where libraries look for the number of their threads. Processes that each take all cores wait for each other."""
MEMORY = {
    # glibc: keep what is freed for the next array. Asking the system for fresh pages takes longer than the arithmetic.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 27),
    # torch on the CPU keeps a kernel for each shape, and examples come in hundreds of shapes.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64",
}
"""What a worker's environment says of memory, unless the user's says otherwise."""
FAULTS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
"""Signals that end a process for its own fault."""
SPOILED = " between calls; has one of them written beyond its own memory?"
"""What may have led to such a fault outside a call."""
GRACE = 3.0
"""Seconds that pebble is given to tell of a worker that is gone."""
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""
BEAT = 0.2
"""Seconds between two looks at whether workers are still there."""


ENOUGH = 1800.0, 20.0, 600.0
"""Seconds after which a check is stopped from outside: so many, and as many more for each example; where there is a time limit,
so many more than that. Calls of Python are stopped much sooner from inside."""


@dataclass(frozen=True)
class Lost:
    """Why a task has no result.

    Attributes:
        how: what ended the task, in a line.
        by_call: whether the call that was being made has: it crashed, left the process, or did not return.
        error: the exception that the work itself raised, if that is what ended it.
    """

    how: str
    by_call: bool = False
    error: BaseException | None = None


class Shared(NamedTuple):
    """What a worker and the process that started it both see.

    Attributes:
        call: the call that is being made.
        busy: the worker's process ID while it works on a task, else 0.
        stopping: whether the worker is asked to end.
    """

    call: Any
    busy: Any
    stopping: Any


_shared: Shared
"""In a worker, what it shares."""


class Worker:
    """One worker process; pebble starts another where a task has ended it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.shared = Shared(
            context.RawArray("c", last_call.SIZE), context.RawValue("q"), context.RawValue("b")
        )
        self.pool = ProcessPool(1, initializer=_begin, initargs=(self.shared, os.getpid()), context=context)
        self.timeout: float | None = None
        self.missing_since = math.inf

    def schedule(self, work: Callable[[Any], Any], task: Any, timeout: float | None) -> Future[Any]:
        """Begin a task."""
        self.timeout = timeout
        self.shared.call.value, self.shared.busy.value = b"", 0
        future: Future[Any] = self.pool.schedule(_work, args=(work, task), timeout=timeout)
        return future

    def outcome(self, future: Future[Any]) -> Any:
        """The result of the task, which is done, or why there is none."""
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, ProcessExpired):
            return self._describe_end(error.exitcode)
        if isinstance(error, TimeoutError):
            call = self._call()
            what, which = ("a call", f": {call}") if call else ("the check", "")
            return Lost(f"{what} did not return within {self.timeout:g} s{which}", by_call=bool(call))
        return Lost(f"the worker process failed: {type(error).__name__}: {error}", error=error)

    def find_silent_end(self) -> Lost | None:
        """How the worker has ended where it left with status 0, which pebble takes for its end in good order."""
        process = self.shared.busy.value
        if not process or any(child.pid == process for child in multiprocessing.active_children()):
            self.missing_since = math.inf
            return None
        self.missing_since = min(self.missing_since, time.monotonic())
        return self._describe_end(0) if time.monotonic() - self.missing_since > GRACE else None

    def end(self) -> None:
        """End the process, with its task."""
        self.shared.stopping.value = 1
        self.pool.stop()  # type: ignore[no-untyped-call]
        self.pool.join()

    def _call(self) -> str:
        return str(self.shared.call.value, "utf-8", "replace")

    def _describe_end(self, code: int) -> Lost:
        """How a process of this exit status, negative for a signal, has ended."""
        call = self._call()
        names = {each.value: each.name for each in signal.Signals}
        by = names.get(-code, f"signal {-code}") if code < 0 else f"exit status {code}"
        if call and (code >= 0 or by in FAULTS):
            return Lost(f"a call ended the process ({by}): {call}", by_call=True)
        during = f" during a call: {call}" if call else ""
        why = {"SIGKILL": "; is there memory enough?"} | dict.fromkeys(FAULTS, SPOILED)
        return Lost(f"the process was ended by {by}{during}{why.get(by, '')}")


def run_tasks(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int = 1,
    timeout: Callable[[Task], float | None] = lambda _: None,
    group: Callable[[Task], Hashable] = lambda _: None,
) -> Generator[tuple[int, Result | Lost], None, None]:
    """Do all tasks in worker processes, and yield the number of each with its outcome as it is done.

    To close the iterator, or an interrupt, ends the workers.

    Args:
        work: what is done with a task; like tasks and results it must be picklable.
        tasks: those of a group stay in one process as long as others have groups of their own.
        jobs: how many processes work side by side.
        timeout: seconds after which a task is stopped.
        group: the group of a task.
    """
    jobs = max(1, min(jobs, len(tasks)))
    queue = Queue([group(task) for task in tasks])
    pending: dict[Future[Any], tuple[int, int]] = {}
    with _environment(jobs):
        workers = [Worker() for _ in range(jobs)]

        def begin(lane: int) -> None:
            place = queue.next(lane)
            if place is not None:
                future = workers[lane].schedule(work, tasks[place], timeout(tasks[place]))
                pending[future] = lane, place

        try:
            for lane in range(jobs):
                begin(lane)
            while pending:
                wait(pending, BEAT, FIRST_COMPLETED)
                for future, (lane, place) in list(pending.items()):
                    outcome: Any
                    if future.done():
                        outcome = workers[lane].outcome(future)
                    elif (outcome := workers[lane].find_silent_end()) is None:
                        continue
                    if not workers[lane].pool.active or not future.done():
                        workers[lane].end()
                        workers[lane] = Worker()
                    del pending[future]
                    yield place, outcome
                    begin(lane)
        finally:
            for worker in workers:
                worker.end()


def run_task(work: Callable[[Task], Result], task: Task, timeout: float | None = None) -> Result | Lost:
    """Do one task in a worker process of its own."""
    ((_, outcome),) = run_tasks(work, [task], timeout=lambda _: timeout)
    return outcome


def patience(options: Mapping[str, Any]) -> float:
    """The seconds after which a check with these options is stopped from outside."""
    least, each, more = ENOUGH
    limit = options.get("time_limit")
    return least + each * float(options.get("max_examples", 100)) if limit is None else float(limit) + more


class Queue:
    """The tasks that are left, group by group: a worker stays with a group, whose data it keeps."""

    def __init__(self, groups: Sequence[Hashable]) -> None:
        self.left: dict[Hashable, list[int]] = {}
        for place, group in enumerate(groups):
            self.left.setdefault(group, []).append(place)
        self.at: dict[int, Hashable] = {}

    def next(self, lane: int) -> int | None:
        """The number of the next task of a worker: of its group; else of the last listed group, shared if need be.

        Formulas are listed after those that they apply, so the last are the largest, and no worker is left alone with one.
        """
        if lane not in self.at or not self.left[self.at[lane]]:
            left = [group for group, places in self.left.items() if places]
            if not left:
                return None
            alone = [group for group in left if group not in self.at.values()]
            self.at[lane] = (alone or left)[-1]
        return self.left[self.at[lane]].pop(0)


@contextmanager
def _environment(jobs: int) -> Iterator[None]:
    """Set what workers that start meanwhile read from their environment; what the user has set there stays."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    wanted = dict.fromkeys(THREADS, str(threads)) | MEMORY
    ours = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _begin(shared: Shared, parent: int) -> None:
    """Set up a worker process."""
    global _shared
    _shared = shared
    _die_with(parent)
    signal.signal(signal.SIGTERM, _terminate)
    last_call.write_to(shared.call)
    gc.set_threshold(
        50_000, 20, 20
    )  # nearly all is freed by its count; what is loaded is walked over each time


def _die_with(parent: int) -> None:
    """End this process when its parent is ended, however that is; on Linux, which has the means."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it has been ended meanwhile
            os._exit(1)


def _work(work: Callable[[Any], Any], task: Any) -> Any:
    """Do a task in a worker."""
    _shared.busy.value = os.getpid()
    try:
        return work(task)
    finally:
        _flush()
        _shared.busy.value = 0


def _terminate(number: int, frame: FrameType | None) -> None:
    """End a worker: its task as by Ctrl-C; an idle one at once, since taking it apart takes longer than a small check.

    A signal that was not sent by :meth:`Worker.end` does what it does to any process.
    """
    if not _shared.stopping.value:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    elif _shared.busy.value:
        interrupt(number, frame)
    else:
        atexit._run_exitfuncs()
        _flush()
        os._exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


__all__ = ["Lost", "Queue", "Worker", "patience", "run_task", "run_tasks"]
