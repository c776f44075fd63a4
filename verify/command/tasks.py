"""Many checks at once: tasks for worker processes, here or on a cluster, with progress on stderr.

Ctrl-C, or the end of a time limit, leaves what is done.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.command.cluster import run_on_cluster
from verify.faults import Unusable
from verify.isolation import report_lost
from verify.pool import Lost, patience, run_tasks
from verify.subject.ending import stoppable

if TYPE_CHECKING:
    from verify.report import Report


def worker_count(asked: int) -> int:
    """How many processes work side by side: as many as asked for, else two, where this one may use as many processors."""
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


@dataclass
class TaskResult:
    """What came of a task: a report, or why there is none, and how long it took; ``absent``: there is nothing to run."""

    task: Task
    report: Report | None = None
    error: str = ""
    absent: str = ""
    seconds: float = 0.0


def perform(task: Task) -> TaskResult:
    """Run one task in this process."""
    began = time.perf_counter()
    _turn_to(task.formula_id)
    from verify.faults import Absent, Unusable, complaint
    from verify.subject.loading import Unloadable

    try:
        from verify.checking import check

        call, more = _find(task)
        report = check(call, task.formula_id, **{**task.options, **more, "name": task.label})
        report.target = task.label
        report.importable = task.address or report.importable
        outcome = TaskResult(task, report)
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
    """Where a process goes on to another formula, it forgets what it knows of the former."""
    global _at
    if _at and _at != formula_id:
        from spec.language.evaluation import batching
        from verify.oracle import oracle_for

        batching.forget()
        oracle_for.cache_clear()
        gc.collect()  # programs are cycles
        gc.freeze()  # what is left are modules, some 400,000 objects: collections pass over them from now on
    _at = formula_id


def variants(formula_ids: tuple[str, ...] = ()) -> list[Any]:
    """The variants of these formulas, or all, from the tests of the checkout that this package lies in.

    Raises:
        Unusable: it does not lie in a checkout.
    """
    root = Path(__file__).parents[2]
    if not (root / "tests" / "mutants" / "__init__.py").is_file():
        raise Unusable(
            "the wrong variants are among attnspec's tests, which are not installed: call `python -m verify mutants` "
            "in a checkout"
        )
    if str(root) not in sys.path:  # a worker process, or the command from another folder
        sys.path.insert(0, str(root))
    try:
        found: list[Any] = import_module("tests.mutants").variants(formula_ids)
    except ModuleNotFoundError as error:
        if error.name != "tests.mutants":
            raise
        raise Unusable(f"another package is named tests: call the command in the folder {root}") from error
    return found


def _find(task: Task) -> tuple[Callable[..., Any], dict[str, Any]]:
    if task.kind == "variant":
        variant = next(v for v in variants((task.formula_id,)) if v.name == task.label)
        return variant.call, {"causes": False, **task.options, **variant.options}
    if task.kind == "own":
        return _own(task), {}
    from verify.deviations import News, deviations
    from verify.faults import Absent
    from verify.targets import TARGETS

    target = next(t for t in TARGETS if t.label == task.label and t.formula_id == task.formula_id)
    lacking = target.explain_absence(str(task.options.get("device", "cpu")))
    if lacking:
        raise Absent(lacking)
    known = tuple(each for each in deviations() if each.occurs_on(str(task.options.get("device", "cpu"))))
    news = News(task.label, task.formula_id, known)
    given = {"conventions": target.all_conventions, "sizes": target.sizes, "fixed": target.fixed or None}
    return target.load(), {**given, "causes": news}


def _own(task: Task) -> Callable[..., Any]:
    """A user's callable, once what their formula claims is proved."""
    from spec.language.registry import statement
    from verify.command.own_formula import sound
    from verify.subject.loading import callable_at

    sys.path[:0] = [folder for folder in task.folders if folder not in sys.path]
    sound(statement(task.formula_id))
    return callable_at(task.address)


def run_checks(
    tasks: Sequence[Task], jobs: int, tell: Callable[[TaskResult], None], scheduler: str | None = None
) -> tuple[list[TaskResult], int]:
    """Run tasks in worker processes, or on the cluster of this scheduler, and tell each as it is done.

    Returns what is done, in the tasks' order, and the exit status of what interrupted it: that of a Ctrl-C, of ``timeout``, or 0.
    """
    done: dict[int, TaskResult] = {}
    interrupted = False
    if os.environ.get("ATTNSPEC_TRACEBACK"):  # somebody looks for a fault
        outcomes: Generator[tuple[int, TaskResult | Lost], None, None] = _one_by_one(tasks)
    elif scheduler is not None:
        outcomes = run_on_cluster(perform, tasks, scheduler, _patience)
    else:
        outcomes = run_tasks(perform, tasks, jobs, _patience, lambda task: task.formula_id)
    with stoppable() as came:
        try:
            with closing(outcomes):
                for place, outcome in outcomes:
                    found = _report_lost(tasks[place], outcome) if isinstance(outcome, Lost) else outcome
                    done[place] = found
                    tell(found)
        except KeyboardInterrupt:
            interrupted = True
    status = 128 + (came or [signal.SIGINT])[0] if interrupted or came else 0
    return [done[place] for place in sorted(done)], status


def _one_by_one(tasks: Sequence[Task]) -> Generator[tuple[int, TaskResult], None, None]:
    """Run tasks in this process."""
    for place, task in enumerate(tasks):
        yield place, perform(task)


def _patience(task: Task) -> float:
    return patience(task.options)


def _report_lost(task: Task, lost: Lost) -> TaskResult:
    """Return the outcome of a task whose process is gone: falsified if a call of the callable ended it."""
    if not lost.by_call:
        return TaskResult(task, error=lost.how)
    from spec.language.registry import statement

    return TaskResult(task, report_lost(statement(task.formula_id).id, task.label, lost, task.options))


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
