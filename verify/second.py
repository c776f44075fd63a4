"""A second process for one check: it makes what takes longest, the grades, and of short statements examples of large sizes and
the scenarios of gradients, while the first makes all else.

Of the other checks these need nothing but that values and gradients are right. So a process that is branched off makes them as
if that were so. What it found counts only where it was so, nothing else is wrong, and it has nothing to tell but that all is
well. Whatever else comes (a finding, a property, a change of global state, an error, a call that does not return, the end of
that process), the check is made once more in the first, as if there had been no second. And what goes wrong in the first while
there is a second is made once more without: both may have used the same file, or the same server. What is said of a callable that
gives the same for the same does not depend on how many processes there are. Which of both makes a check does not depend on how
fast they are: a callable that keeps something from call to call is called in the same order every time.

There is a second one where processes can be branched off safely: on Linux, on the CPU, as long as there is no library or thread
that does not go along, no process that serves this one alone, and nobody listens for processes that end.
"""

from __future__ import annotations

import atexit
import copy
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from verify.board import Board
from verify.edges import ARITHMETIC, SHAPES
from verify.planning import Work
from verify.properties.gradients import NO_GRADIENT
from verify.properties.substitutions import Kept
from verify.report import CONFORMS, FALSIFIED, IMPRECISE, CheckResult, Report
from verify.search.setting import Setting
from verify.subject import last_call
from verify.subject.branch import Branch, begun_by, branch

STAYING = ("jax", "tensorflow")
"""Libraries whose threads do not go along with a process that is branched off."""
IDLE, WORKING = 10.0, 0.03
"""Seconds in which the second has the processor for less than this share, after which it is taken to wait for what does not come:
one that hangs is woken now and then to look at its time."""
CALL = 60.0
"""Seconds after which a call that goes on is taken to do so for ever: by then it was interrupted, if that is possible."""
BEAT, LOOK = 0.005, 0.2
"""Seconds between two looks at what it has left, and between two at what it does."""
DONE = -1
"""The place under which it leaves, at its end, what it found the statement to say."""
Answers = tuple[dict[str, Any], float, int]
"""What the statement was found to say, the seconds that took, and how many answers former runs have left."""


@dataclass(frozen=True)
class Otherwise:
    """What it leaves of a check that is to be made once more: what it found wrong, its verdicts by the names of the checks."""

    wrong: Mapping[str, str]


class Second:
    """The second process, as the first one sees it."""

    def __init__(
        self,
        setting: Setting,
        report: Report,
        branch: Branch,
        calling: mmap.mmap,
        places: Collection[int],
        assumed: Sequence[CheckResult],
    ) -> None:
        self.setting, self.report = setting, report
        self.branch, self.calling = branch, calling
        self.places = {*places, DONE}
        """What is left to it, by its places; nothing once it is ended."""
        self.assumed = {result.name for result in assumed}
        self.found: dict[int, Any] = {}
        self.wrong: dict[str, str] = {}
        """What it found wrong, before it was ended."""

    def results(self, place: int, work: Work) -> list[CheckResult]:
        """Those of a check: the second's where they count, else made here; what goes wrong beside the second, without it."""
        if work.apart and (found := self._made(place)) is not None:
            return found
        if not self.places:
            return self._once_more(work)
        before = _State(self.setting, self.report)
        self.setting.small = False  # what is wrong is made once more
        try:
            results = work.make()
        finally:
            self.setting.small = before.setting["small"]
        if self.setting.caller.hung or before.wrong(results):
            self.end()
            before.restore()
            return work.make()
        if not _fine(self.report, results):  # it assumes what is not so
            self.end()
        return results

    def _once_more(self, work: Work) -> list[CheckResult]:
        """The results of a check; a note where the second found wrong what is right here."""
        results = work.make()
        for result in results:
            if result.verdict == CONFORMS and result.name in self.wrong:
                self.report.notes.append(
                    f"{result.name} was {self.wrong.pop(result.name)} in another process, and conforms when made again: "
                    "what is called may not give the same for the same"
                )
        return results

    def answers(self) -> Answers | None:
        """What it found the statement to say; None where some of its checks did not count."""
        found: Answers | None = self._get(DONE) if self.places == {DONE} else None
        return found

    def end(self) -> None:
        """End it, whatever it does, and what was begun there."""
        self.places = set()
        self.branch.end()

    def _made(self, place: int) -> list[CheckResult] | None:
        """What it found, which is waited for; None where that does not count."""
        names = {check.name for check in self.report.checks}
        if self.places and not (_fine(self.report, ()) and self.assumed <= names):
            self.end()
        found: list[CheckResult] | None = self._get(place)
        return found

    def _get(self, place: int) -> Any:
        """What it leaves under a place; it is ended where that is nothing, or does not come."""
        while place in self.places:
            if place in self.found:
                self.places.remove(place)
                found, calls = self.found.pop(place)
                self.setting.caller.calls += calls
                return found
            if not self._listen():
                self.end()
        return None

    def _listen(self) -> bool:
        """Wait for the next that it leaves; False where nothing will come."""
        looked, working, calling = time.monotonic(), Working(self.branch.process), Unchanged()
        while True:
            gone = self.branch.gone()
            try:
                found = self.branch.board.found()
            except Exception:  # it is not what was left
                return False
            self.found |= found
            others = [each for each in found.values() if isinstance(each, Otherwise)]
            for each in others:
                self.wrong |= each.wrong
            if found or gone:
                return bool(found) and not others and None not in found.values()
            time.sleep(BEAT)
            if time.monotonic() - looked > LOOK:
                looked = time.monotonic()
                call = last_call.under_way(self.calling)
                if working.too_seldom() or (calling.seconds(call) > CALL and call):
                    return False


class Unchanged:
    """For how long something has stayed what it is."""

    def __init__(self) -> None:
        self.what, self.since = "", time.monotonic()

    def seconds(self, what: str) -> float:
        """For how many seconds it has been this."""
        if what != self.what:
            self.what, self.since = what, time.monotonic()
        return time.monotonic() - self.since


class Working:
    """Whether a process has the processor now and then."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.since, self.worked = time.monotonic(), self._seconds()

    def too_seldom(self) -> bool:
        """Whether it had it for too small a share of the last seconds."""
        passed, worked = time.monotonic() - self.since, self._seconds()
        if worked - self.worked >= WORKING * IDLE:
            self.since, self.worked = time.monotonic(), worked
            return False
        return passed > IDLE

    def _seconds(self) -> float:
        """Its processor time, as Linux says it."""
        try:
            said = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")


class _State:
    """What a check may change in what it is made with, as it was before."""

    def __init__(self, setting: Setting, report: Report) -> None:
        self.of = setting, report
        self.setting = {each.name: _copy(getattr(setting, each.name)) for each in fields(setting)}
        self.report = {each.name: _copy(getattr(report, each.name)) for each in fields(report)}
        caller = setting.caller
        self.caller = {
            name: _copy(getattr(caller, name)) for name in ("calls", "offences", "aliases", "declined")
        }

    def restore(self) -> None:
        """Set it back."""
        setting, report = self.of
        for each, before in ((setting, self.setting), (report, self.report), (setting.caller, self.caller)):
            for name, value in before.items():
                setattr(each, name, value)
        setting.caller.containment.hung = False

    def wrong(self, results: Sequence[CheckResult]) -> bool:
        """Whether anything is falsified since then, or raised where it declines something."""
        report = self.of[1]
        made = [*report.checks[len(self.report["checks"]) :], *results]
        said = report.properties[len(self.report["properties"]) :]
        return any(each.verdict == FALSIFIED for each in made) or any(
            each.name in (SHAPES, ARITHMETIC) for each in said
        )


def _copy(value: Any) -> Any:
    """A container of its own; of what a callable returned to theorems each part."""
    if isinstance(value, list | dict | set):
        return copy.copy(value)
    if isinstance(value, Kept):
        return replace(value, results=dict(value.results), gradients=dict(value.gradients))
    return value


@contextmanager
def second(setting: Setting, report: Report, plan: Sequence[Work], jobs: int) -> Iterator[Second | None]:
    """A second process for those checks of a plan that stand apart, as long as this lasts; None where there is none."""
    works = {place: work for place, work in enumerate(plan) if work.apart}
    if jobs < 2 or not works or len(works) == len(plan) or report.falsified or not possible(setting):
        yield None
        return
    before = [
        CheckResult(work.title, "value" if work.title.startswith("value") else "gradient", CONFORMS)
        for work in plan
        if work.title.startswith(("value in", "gradient in"))
    ]
    for result in before:
        result.dtype = result.name.rpartition(" ")[2]
    try:
        calling = mmap.mmap(-1, last_call.SIZE)
    except OSError:  # no room
        yield None
        return

    def work(board: Board) -> None:
        _be_it(setting, calling)
        report.checks += before
        _work(setting, report, works, board)

    with branch(work) as made:
        yield None if made is None else Second(setting, report, made, calling, works, before)


def possible(setting: Setting) -> bool:
    """Whether a process can be branched off that calls what is checked."""
    return (
        sys.platform == "linux"
        and threading.current_thread() is threading.main_thread()
        and not in_company()
        and signal.getsignal(signal.SIGCHLD) in (signal.SIG_DFL, signal.SIG_IGN)
        and setting.caller.device == "cpu"
        and not torch.accelerator.is_available()  # there torch goes backward in threads of its own
        and not os.environ.get("ATTNSPEC_TRACEBACK")
    )


def in_company() -> bool:
    """Whether there are threads that do not go along with a process that is branched off, or processes that serve one alone."""
    main = threading.main_thread()
    threads = [thread for thread in threading.enumerate() if thread is not main]
    return (
        any(name in sys.modules for name in STAYING)
        or not all(
            type(thread).__module__.startswith("rich.") for thread in threads
        )  # what tells of progress
        or bool(begun_by(os.getpid()))
    )


def _be_it(setting: Setting, calling: mmap.mmap) -> None:
    """Be the second: it ends with a call that does not return. What others have registered for the end is the first's to do."""
    last_call.written_to(calling)
    setting.caller.containment.ends = True
    atexit._clear()


def _work(setting: Setting, report: Report, works: dict[int, Work], board: Board) -> None:
    """Make the checks, and leave what was found where there is nothing else to tell; then do what was registered for the end."""
    shelf = setting.judge.oracle.shelf
    began, used = (shelf.seconds, shelf.used) if shelf is not None else (0.0, 0)
    for place, work in works.items():
        before, calls = _told(setting, report), setting.caller.calls
        results = work.make()
        fine = all(result.verdict == CONFORMS for result in results)
        told = _told(setting, report) != before
        wrong = {
            result.name: result.verdict for result in results if result.verdict in (FALSIFIED, IMPRECISE)
        }
        board.leave(place, (results, setting.caller.calls - calls) if fine and not told else Otherwise(wrong))
    answers: Answers = {}, 0.0, 0
    if shelf is not None:
        answers = setting.judge.oracle.named(), shelf.seconds - began, shelf.used - used
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    board.leave(DONE, (answers, 0))


def _told(setting: Setting, report: Report) -> tuple[Any, ...]:
    """What else there is to tell of a callable."""
    caller = setting.caller
    more = caller.offences.keys(), caller.aliases, caller.declined, caller.hung, caller.leading
    return repr(replace(report, checks=[])), repr(more)


def _fine(report: Report, results: Sequence[CheckResult]) -> bool:
    """Whether nothing is wrong so far, and values and gradients are all that they should be."""
    every = [*report.checks, *results]
    central = [check for check in every if check.kind in ("value", "gradient")]
    # Of a scenario that is not judged, plain calls go wrong: the callable may keep something that the second has not met.
    scenes = [check for check in every if check.kind == "robustness"]
    if not all(check.verdict == CONFORMS for check in scenes):
        return False
    return all(check.verdict != FALSIFIED for check in every) and all(
        check.verdict == CONFORMS and NO_GRADIENT not in check.message for check in central
    )


__all__ = ["Second", "possible", "second"]
