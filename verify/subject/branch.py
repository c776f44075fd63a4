"""A process branched off from this one: it leaves what it finds in shared memory, and does not outlive this one."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from verify.board import ROOM, Board
from verify.subject.parent import die_with

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} if sys.platform == "linux" else set()


class Branch:
    """One, as the process sees it that it comes from."""

    def __init__(self, process: int, board: Board) -> None:
        self.process, self.board = process, board
        """Its number, 0 once it is at its end; and where it leaves what it finds."""

    def gone(self) -> bool:
        """Whether it has come to its end."""
        try:
            if self.process and not os.waitpid(self.process, os.WNOHANG)[0]:
                return False
        except ChildProcessError:  # somebody else has waited for it, or nobody has to
            pass
        self.process = 0  # another may get its number
        return True

    def end(self) -> None:
        """End it, whatever it does, and what was begun there."""
        if self.process:
            begun: list[int] = []
            with suppress(OSError):  # no room to look
                begun = begun_by(self.process)
            for process in (self.process, *begun):
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self.process, 0)
            self.process = 0


@contextmanager
def branch(work: Callable[[Board], None], room: int = ROOM) -> Iterator[Branch | None]:
    """A process that does this, as long as this lasts, and leaves so many bytes at most; None where there is no room for one.

    What it prints would stand among what this one says, and goes nowhere; what interrupts this one ends both.
    """
    own, process, made = os.getpid(), -1, None
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        board = Board(room)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there are threads, at which the caller has looked
            process = os.fork()
        if not process:
            _alone(own)
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            work(board)
        made = Branch(process, board)
    except OSError:  # no room, or no more processes
        pass
    finally:
        if not process:
            os._exit(0)
        if made is None:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    try:
        if made is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        yield made
    finally:
        if made is not None:
            made.end()


def begun_by(process: int) -> list[int]:
    """The processes that a process has begun, and those that these have, as Linux says it."""
    found: list[int] = []
    for each in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, each.read_text().split())
    return [*found, *(further for each in found for further in begun_by(each))]


def _alone(parent: int) -> None:
    """Be the process that was branched off."""
    die_with(parent, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


__all__ = ["Branch", "begun_by", "branch"]
