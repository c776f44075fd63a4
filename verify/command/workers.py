"""Running many checks: in worker processes, with progress on stderr, so that Ctrl-C, or the end of a time limit, leaves what is
done.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.subject.ending import stoppable

if TYPE_CHECKING:
    from verify.report import Report


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Where libraries look for the number of their threads. Processes that each take all cores wait for each other."""


PATIENCE = 10.0
"""Seconds within which a process that is gone is found to be so."""


def processes(asked: int) -> int:
    """How many work side by side: as many as asked for, else two, where there are as many processors for this process."""
    here = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return asked or min(2, here)


@dataclass(frozen=True)
class Task:
    """One check to run: a target's label, or a variant's name, and how; of a user's target also where it is."""

    kind: str
    label: str
    formula_id: str
    options: dict[str, Any] = field(default_factory=dict)
    address: str = ""
    folders: tuple[str, ...] = ()
    adapter: Any = None


@dataclass
class TaskResult:
    """What came of a task: a report, or why there is none (``error``; ``absent``: there is nothing to run), how long it took, and
    where the callable is.
    """

    task: Task
    report: Report | None = None
    error: str = ""
    absent: str = ""
    seconds: float = 0.0
    place: tuple[str, int] | None = None


def perform(task: Task) -> TaskResult:
    """Run one task in this process."""
    began = time.perf_counter()
    _turn_to(task.formula_id)
    from verify.faults import Absent, Unusable, complaint
    from verify.subject.loading import Unloadable, place_at

    try:
        from verify.checking import check

        call, more = _find(task)
        report = check(call, task.formula_id, **{**task.options, **more, "name": task.label})
        report.target = task.label
        outcome = TaskResult(task, report, place=place_at(task.address) if task.address else None)
    except KeyboardInterrupt:
        raise
    except Absent as error:
        outcome = TaskResult(task, absent=str(error))
    except (Unloadable, Unusable) as error:
        outcome = TaskResult(task, error=str(error))
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]  # or nobody finds it again
        place = f" ({Path(at.filename).name}:{at.lineno}, {at.name})"
        outcome = TaskResult(task, error=f"{complaint(error)}{place}")
    outcome.seconds = time.perf_counter() - began
    return outcome


_at = ""
"""The formula of the task before."""


def _turn_to(formula_id: str) -> None:
    """Where a process goes on to another formula, it keeps neither what it knows of the former, nor memory that was freed."""
    global _at
    if _at and _at != formula_id:
        from spec.language.evaluation import batching
        from verify.command.memory import collect_now, give_back
        from verify.oracle import oracle_for

        batching.forget()
        oracle_for.cache_clear()
        collect_now()  # programs are cycles
        give_back()
    _at = formula_id


def _find(task: Task) -> tuple[Callable[..., Any], dict[str, Any]]:
    if task.kind == "variant":
        from verify.mutants import variants

        variant = next(v for v in variants((task.formula_id,)) if v.name == task.label)
        return variant.call, {**variant.options, "causes": False}
    if task.kind == "own":
        return _own(task), {}
    from verify.deviations import News, deviations
    from verify.faults import Absent
    from verify.targets import TARGETS

    target = next(t for t in TARGETS if t.label == task.label and t.formula_id == task.formula_id)
    lacking = target.lacking(str(task.options.get("device", "cpu")))
    if lacking:
        raise Absent(lacking)
    known = tuple(each for each in deviations() if each.occurs_on(str(task.options.get("device", "cpu"))))
    news = News(task.label, task.formula_id, known)
    return target.load(), {"conventions": target.judged_under, "sizes": target.sizes, "causes": news}


def _own(task: Task) -> Callable[..., Any]:
    """A user's callable, once what their formula claims is proved."""
    from spec.language.registry import statement
    from verify.command.own_formula import sound
    from verify.subject.loading import callable_at

    sys.path[:0] = [folder for folder in task.folders if folder not in sys.path]
    sound(statement(task.formula_id))
    return callable_at(task.address, task.adapter)


def _begin(threads: int, calls: Path, parent: int) -> None:
    from verify.subject.parent import die_with

    die_with(parent, 1)  # else it would wait for work for ever where that is killed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    import torch

    from verify.command.memory import collect_seldom, keep_freed, leave_at_once
    from verify.subject import last_call

    last_call.room(calls)
    keep_freed()
    collect_seldom()
    torch.set_num_threads(threads)
    atexit.register(leave_at_once)  # the first to be registered is the last to be called


@contextmanager
def shared_threads(workers: int) -> Iterator[int]:
    """The threads of each process that starts meanwhile, also in libraries that read them from the environment as they load.

    What the user has set there stays.
    """
    threads = max(1, (os.cpu_count() or 1) // workers)
    ours = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(ours, str(threads)))
    try:
        yield threads
    finally:
        for name in ours:
            os.environ.pop(name, None)


def run(
    tasks: Sequence[Task], workers: int, tell: Callable[[TaskResult], None]
) -> tuple[list[TaskResult], int]:
    """Run tasks and tell each as it is done; returns what is done, in the tasks' order, and the exit status of what interrupted
    it: that of a Ctrl-C, of ``timeout``, or 0.

    A user's is never run in this process, which it might end, but where somebody looks for a fault.
    """
    here = os.environ.get("ATTNSPEC_TRACEBACK") or not any(task.kind == "own" for task in tasks)
    with stoppable() as came:
        if here and (workers <= 1 or len(tasks) <= 1):
            results, interrupted = _one_by_one(tasks, tell, came)
        else:
            workers = max(1, min(workers, len(tasks)))
            with (
                shared_threads(workers) as threads,
                tempfile.TemporaryDirectory(prefix="attnspec-") as folder,
            ):
                calls = [Path(folder) / str(lane) for lane in range(workers)]
                results, interrupted = _side_by_side(tasks, calls, threads, tell)
    return results, 128 + (came or [signal.SIGINT])[0] if interrupted or came else 0


def _one_by_one(
    tasks: Sequence[Task], tell: Callable[[TaskResult], None], came: Sequence[int]
) -> tuple[list[TaskResult], bool]:
    """In this process, until a signal ``came``."""
    results: list[TaskResult] = []
    try:
        for task in tasks:
            if came:  # what it raised was lost in what was running
                return results, True
            results.append(perform(task))
            tell(results[-1])
    except KeyboardInterrupt:
        return results, True
    return results, False


def _side_by_side(
    tasks: Sequence[Task], calls: Sequence[Path], threads: int, tell: Callable[[TaskResult], None]
) -> tuple[list[TaskResult], bool]:
    """In as many processes as there are files for what each of them is calling."""
    done: dict[int, TaskResult] = {}
    interrupted = False
    queue = Queue(tasks)
    for path in calls:
        path.touch()
    lanes = [_lane(threads, path) for path in calls]
    pending: dict[Future[TaskResult], tuple[int, int]] = {}

    def begin(lane: int) -> None:
        place = queue.next(lane)
        if place is not None:
            pending[lanes[lane].submit(perform, tasks[place])] = (lane, place)

    try:
        for lane in range(len(lanes)):
            begin(lane)
        while pending:
            ready, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in ready:
                lane, place = pending.pop(future)
                try:
                    done[place] = future.result()
                except Exception as error:  # the process is gone, and with it its pool
                    done[place] = _gone(tasks[place], lanes[lane], calls[lane], error)
                    lanes[lane].shutdown(wait=False)
                    lanes[lane] = _lane(threads, calls[lane])
                tell(done[place])
                begin(lane)
        for pool in lanes:
            pool.shutdown()
    except KeyboardInterrupt:
        interrupted = True
        for pool in lanes:
            alive = _processes(pool)
            pool.shutdown(wait=False, cancel_futures=True)
            for process in alive:
                process.terminate()
    return [done[place] for place in sorted(done)], interrupted


def _lane(threads: int, calls: Path) -> ProcessPoolExecutor:
    """One process with its share of the threads, and the file in which it says what it is calling."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, context, initializer=_begin, initargs=(threads, calls, os.getpid()))


def _processes(pool: ProcessPoolExecutor) -> list[multiprocessing.process.BaseProcess]:
    """Those of a pool."""
    return list((getattr(pool, "_processes", None) or {}).values())


def _gone(task: Task, pool: ProcessPoolExecutor, calls: Path, error: Exception) -> TaskResult:
    """What came of a task whose process is gone: the call that was being made may have ended it."""
    from spec.language.registry import statement
    from verify.command.ended import ended
    from verify.command.watching import ending
    from verify.subject import last_call

    code, until = None, time.monotonic() + PATIENCE
    for process in _processes(pool):
        while (code := process.exitcode) is None and time.monotonic() < until:
            time.sleep(0.01)  # the pool's own thread waits for it, too: only one of both is told at once
    if code is None:
        return TaskResult(task, error=f"the worker process failed: {error or type(error).__name__}")
    by_call, said = ending(code, last_call.under_way(calls))
    if not by_call:
        return TaskResult(task, error=said)
    options = {
        name: task.options[name] for name in ("seed", "max_examples", "device") if name in task.options
    }
    return TaskResult(task, ended(statement(task.formula_id).id, task.label, said, True, **options))


class Queue:
    """What is left to do, formula by formula: a process stays with one, since its oracle remembers what it has answered."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.left: dict[str, list[int]] = {}
        for place, task in enumerate(tasks):
            self.left.setdefault(task.formula_id, []).append(place)
        self.at: dict[int, str] = {}

    def next(self, lane: int) -> int | None:
        """The number of the next task of a process: of its formula; else of the last listed, if need be shared.

        Formulas are listed after those that they apply, so the last are the largest, and no process is left alone with one.
        """
        if not self.left.get(self.at.get(lane, "")):
            left = [formula_id for formula_id, places in self.left.items() if places]
            if not left:
                return None
            alone = [formula_id for formula_id in left if formula_id not in self.at.values()]
            self.at[lane] = (alone or left)[-1]
        return self.left[self.at[lane]].pop(0)


@contextmanager
def progress(total: int, title: str) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal's stderr, sparse lines elsewhere; call what it yields with a word on each finished step."""
    if not sys.stderr.isatty():
        began, count = time.monotonic(), 0

        def line(what: str) -> None:
            nonlocal count
            count += 1
            print(  # noqa: T201
                f"[{count}/{total}] {what}  ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True
            )

        yield line
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[last]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        step = bar.add_task(title, total=total, last="")
        yield lambda what: bar.update(step, advance=1, last=what[:60])
