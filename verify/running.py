"""Running many checks: in worker processes, with progress on stderr, so that Ctrl-C leaves what is done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.report import Report


@dataclass(frozen=True)
class Task:
    """One check to run: a target's label, or a variant's name, and how."""

    kind: str
    label: str
    formula_id: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """What came of a task: a report, or why there is none (``error``), and how long it took."""

    task: Task
    report: Report | None = None
    error: str = ""
    seconds: float = 0.0


def perform(task: Task) -> Outcome:
    """Run one task in this process."""
    began = time.perf_counter()
    try:
        from verify.checking import check

        call, more = _find(task)
        report = check(call, task.formula_id, **{**task.options, **more, "name": task.label})
        report.target = task.label
        outcome = Outcome(task, report)
    except KeyboardInterrupt:
        raise
    except Exception as error:
        said = str(error).strip().splitlines()
        outcome = Outcome(task, error=f"{type(error).__name__}: {said[0] if said else ''}")
    outcome.seconds = time.perf_counter() - began
    return outcome


def _find(task: Task) -> tuple[Callable[..., Any], dict[str, Any]]:
    if task.kind == "variant":
        from verify.mutants import variants

        variant = next(v for v in variants((task.formula_id,)) if v.name == task.label)
        return variant.call, variant.options
    from verify.targets import TARGETS

    target = next(t for t in TARGETS if t.label == task.label and t.formula_id == task.formula_id)
    return target.load(), {"conventions": target.conventions, "sizes": target.sizes}


def _begin(threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    import torch

    torch.set_num_threads(threads)


def run(tasks: Sequence[Task], workers: int, tell: Callable[[Outcome], None]) -> tuple[list[Outcome], bool]:
    """Run tasks and tell each as it is done; returns what is done, in the tasks' order, and whether it was interrupted."""
    done: dict[int, Outcome] = {}
    interrupted = False
    if workers <= 1 or len(tasks) <= 1:
        try:
            for place, task in enumerate(tasks):
                done[place] = perform(task)
                tell(done[place])
        except KeyboardInterrupt:
            interrupted = True
        return [done[place] for place in sorted(done)], interrupted
    threads = max(1, (os.cpu_count() or 1) // workers)
    pool = ProcessPoolExecutor(
        min(workers, len(tasks)),
        multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(threads,),
    )
    pending: dict[Future[Outcome], int] = {
        pool.submit(perform, task): place for place, task in enumerate(tasks)
    }
    try:
        while pending:
            ready, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in ready:
                place = pending.pop(future)
                try:
                    done[place] = future.result()
                except Exception as error:
                    done[place] = Outcome(
                        tasks[place], error=f"the worker process failed: {error or type(error).__name__}"
                    )
                tell(done[place])
        pool.shutdown()
    except KeyboardInterrupt:
        interrupted = True
        workers_alive = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in workers_alive:
            process.terminate()
    return [done[place] for place in sorted(done)], interrupted


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
