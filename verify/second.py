"""A second process for one check: it makes what takes longest, the grades and the large sizes, while the first makes all else.

Of the other checks these need nothing but that values and gradients are right. So a process that is branched off makes them as
if that were so. What it found counts only where it was so, nothing else is wrong, and it has nothing to tell but that all is
well. Whatever else comes (a finding, a property, a change of global state, an error, a call that does not return, the end of
that process), the check is made once more in the first, as if there had been no second: what is said of a callable that gives
the same for the same does not depend on how many there are.

There is a second one where processes can be branched off safely: on Linux, on the CPU, as long as there is no library or thread
that does not go along.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import torch

from verify.planning import Work
from verify.properties.gradients import NO_GRADIENT
from verify.report import CONFORMS, CheckResult, Report
from verify.search.setting import Setting
from verify.subject import last_call
from verify.subject.caller import Caller
from verify.subject.parent import die_with

STAYING = ("jax", "tensorflow")
"""Libraries whose threads do not go along with a process that is branched off."""
IDLE = 10.0
"""Seconds without any processor time after which the second is taken to wait for what does not come."""
BEAT = 0.2
"""Seconds between two looks at it."""
ANSWERS = -1
"""The place under which it leaves what it found the statement to say."""
_SAID = struct.Struct("qqq")
"""What is said of a check that was made: its place, where in the file its results lie, and how long they are."""


class Second:
    """The second process, as the first one sees it."""

    def __init__(
        self,
        caller: Caller,
        process: int,
        said: int,
        results: IO[bytes],
        places: set[int],
        assumed: Sequence[CheckResult],
    ) -> None:
        self.caller = caller
        self.process, self.said, self.results = process, said, results
        self.places = places
        """The checks that are left to it, by their places; none once it is ended."""
        self.assumed = {result.name for result in assumed}
        self.found: dict[int, Any] = {}

    def look(self, report: Report) -> None:
        """End it as soon as something is not as it assumes."""
        if self.places and not _fine(report):
            self.end()

    def made(self, place: int, report: Report) -> list[CheckResult] | None:
        """What it found, which is waited for; None where that does not count."""
        if self.places and not (_fine(report) and self.assumed <= {check.name for check in report.checks}):
            self.end()
        found: list[CheckResult] | None = self._get(place)
        return found

    def answers(self) -> tuple[dict[str, Any], float, int] | None:
        """What it found the statement to say, the seconds that took, and how many answers former runs have left it; None where
        some of its checks did not count.
        """
        found: tuple[dict[str, Any], float, int] | None = None
        if self.places == {ANSWERS}:
            found = self._get(ANSWERS)
        return found

    def end(self) -> None:
        """End it, whatever it does."""
        self.places = set()
        if self.process:
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self.process, 0)
            os.close(self.said)
            self.process = 0

    def _get(self, place: int) -> Any:
        """What it leaves under a place; it is ended where that is nothing, or does not come."""
        while place in self.places:
            if place in self.found:
                self.places.remove(place)
                found, calls = self.found.pop(place)
                self.caller.calls += calls
                return found
            if not self._listen():
                self.end()
        return None

    def _listen(self) -> bool:
        """Wait for the next that it says; False where nothing will come."""
        worked, since = _worked(self.process), time.monotonic()
        while not select.select([self.said], [], [], BEAT)[0]:
            now = _worked(self.process)
            if now != worked:
                worked, since = now, time.monotonic()
            elif time.monotonic() - since > IDLE:
                return False
        said = os.read(self.said, _SAID.size)
        if len(said) < _SAID.size:  # it has come to its end
            return False
        place, first, long = _SAID.unpack(said)
        self.found[place] = pickle.loads(os.pread(self.results.fileno(), long, first))
        return self.found[place] is not None


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
    with ExitStack() as until_then:
        try:
            results = until_then.enter_context(tempfile.TemporaryFile())
            ours, theirs = os.pipe()
            own = os.getpid()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that there are threads, which were looked at
                process = os.fork()
        except OSError:  # no room, or no more processes
            yield None
            return
        if not process:
            try:
                os.close(ours)
                _branched_off(own)
                report.checks += before
                _work(setting, report, works, Saying(theirs, results))
            finally:
                os._exit(0)
        os.close(theirs)
        other = Second(setting.caller, process, ours, results, {*works, ANSWERS}, before)
        until_then.callback(other.end)
        yield other


def possible(setting: Setting) -> bool:
    """Whether a process can be branched off that calls what is checked."""
    main = threading.main_thread()
    others = [thread for thread in threading.enumerate() if thread is not main]
    return (
        sys.platform == "linux"
        and threading.current_thread() is main
        and all(type(thread).__module__.startswith("rich.") for thread in others)  # what tells of progress
        and not any(name in sys.modules for name in STAYING)
        and setting.caller.device == "cpu"
        and not torch.accelerator.is_available()  # there torch goes backward in threads of its own
        and not os.environ.get("ATTNSPEC_TRACEBACK")
    )


class Saying:
    """What the second process leaves for the first."""

    def __init__(self, said: int, results: IO[bytes]) -> None:
        self.said, self.results, self.first = said, results.fileno(), 0

    def __call__(self, place: int, what: Any) -> None:
        """Leave something under a place; it waits for nobody."""
        written = pickle.dumps(what)
        if os.pwrite(self.results, written, self.first) < len(written):
            raise OSError("no room is left")
        os.write(self.said, _SAID.pack(place, self.first, len(written)))
        self.first += len(written)


def _branched_off(own: int) -> None:
    """Be the second: what it prints would stand among what the first says, and what ends the first ends both."""
    die_with(own, 0)
    last_call.unwatched()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _work(
    setting: Setting,
    report: Report,
    works: dict[int, Work],
    leave: Callable[[int, Any], None],
) -> None:
    """Make the checks, and leave what was found where there is nothing else to tell."""
    shelf = setting.judge.oracle.shelf
    began, used = (shelf.seconds, shelf.used) if shelf is not None else (0.0, 0)
    for place, work in works.items():
        before, calls = _told(setting, report), setting.caller.calls
        results = work.make()
        fine = results and all(result.verdict == CONFORMS for result in results)
        told = _told(setting, report) != before
        leave(place, (results, setting.caller.calls - calls) if fine and not told else None)
    if shelf is not None:
        answers = setting.judge.oracle.named(), shelf.seconds - began, shelf.used - used
        leave(ANSWERS, (answers, 0))


def _told(setting: Setting, report: Report) -> tuple[Any, ...]:
    """What else there is to tell of a callable."""
    caller = setting.caller
    more = caller.offences.keys(), caller.aliases, caller.declined, caller.hung, caller.leading
    return repr(replace(report, checks=[])), repr(more)


def _fine(report: Report) -> bool:
    """Whether nothing is wrong so far, and values and gradients are all that they should be."""
    central = [check for check in report.checks if check.kind in ("value", "gradient")]
    return not report.falsified and all(
        c.verdict == CONFORMS and NO_GRADIENT not in c.message for c in central
    )


def _worked(process: int) -> str:
    """The processor time of a process, in ticks, as Linux says it."""
    try:
        said = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return " ".join(said[11:13])


__all__ = ["Second", "possible", "second"]
