"""How a call ends: by itself, in time, by a Ctrl-C that was really pressed; user code does not end the process."""

from __future__ import annotations

import os
import signal
import threading
import time
from _signal import signal as handled  # type: ignore[import-not-found]  # no stubs; behind `signal.signal`, 20 µs quicker
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_pressed = False


def was_interrupted() -> bool:
    """Whether Ctrl-C was really pressed (a callable may raise ``KeyboardInterrupt`` by itself).

    Where it is ignored, as in a job that a script runs in the background, nobody can have pressed it.
    """
    return _pressed or signal.getsignal(signal.SIGINT) not in (interrupt, signal.SIG_IGN)


def interrupt(number: int, frame: FrameType | None) -> None:
    global _pressed
    _pressed = True
    raise KeyboardInterrupt


@contextmanager
def watch_interrupts() -> Iterator[None]:
    """Tell a real Ctrl-C from a raised ``KeyboardInterrupt``, in the main thread and with Python's own handler."""
    global _pressed
    plain = threading.current_thread() is threading.main_thread()
    if not plain or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _pressed = False
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def stoppable() -> Iterator[list[int]]:
    """Take what ends a process from outside (``timeout``, a runner that gives up, a closed terminal) for a Ctrl-C, so that what
    is done by then can be kept. Yields the numbers of the signals that came: one, since what comes after it is ignored.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    names = [each for name in ("SIGTERM", "SIGHUP") if (each := getattr(signal, name, None)) is not None]
    before = {each: signal.getsignal(each) for each in names}
    ours = [each for each in names if before[each] == signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        for each in ours:
            signal.signal(each, signal.SIG_IGN)
        interrupt(number, frame)

    for each in ours:
        signal.signal(each, stop)
    try:
        yield came
    finally:
        for each in () if came else ours:
            signal.signal(each, before[each])


PATIENCE = 180.0
"""Seconds that imports and compilation may take within a call."""

IDLE = 0.01
"""The share of a beat below which a process had nothing to do: it waits for something that does not come."""

_BUSY = (
    "<frozen importlib",
    "_dynamo/convert_frame",
    "_inductor/",
    "triton/compiler",
    "utils/cpp_extension",
    "jax/_src/",
)
"""Files in whose code a call that takes long is not hung but imports or compiles, however slow the machine."""


def importing_or_compiling(frame: FrameType | None) -> bool:
    """Whether a stack is inside an import or a compiler."""
    while frame is not None:
        if any(part in frame.f_code.co_filename.replace(os.sep, "/") for part in _BUSY):
            return True
        frame = frame.f_back
    return False


class Deadline:
    """A time limit on a block, by a timer signal; only in the main thread, and a pending timer of others is kept.

    Time is counted in beats of the timer, so that it stands still while the process does (stopped, or the machine asleep). Where
    others have the processor, a beat counts as long as the process had it; one in which it asked for none counts whole.
    Imports and compilation are waited for, up to :data:`PATIENCE`.
    """

    class Passed(BaseException):
        """The time is over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.active = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")

    def __enter__(self) -> Deadline:
        if self.active:
            self.began = time.monotonic()
            self.handler = handled(signal.SIGALRM, self._ring)
            self.beat, self.passed, self.whole = min(1.0, self.seconds / 4), 0.0, 0.0
            self.worked = time.process_time()
            # It goes on beating after the end: user code may swallow the first.
            self.pending, self.interval = signal.setitimer(signal.ITIMER_REAL, self.beat, self.beat)
        return self

    def __exit__(self, *_: object) -> None:
        if not self.active:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        handled(signal.SIGALRM, self.handler)
        if self.pending:
            left = max(self.pending - (time.monotonic() - self.began), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, self.interval)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        before, self.worked = self.worked, time.process_time()
        work = self.worked - before
        self.passed += self.beat if work < IDLE * self.beat else min(work, self.beat)
        self.whole += self.beat
        over = self.passed >= self.seconds and not importing_or_compiling(frame)
        if not over and self.whole < PATIENCE:
            return
        raise Deadline.Passed


@contextmanager
def unable_to_exit() -> Iterator[None]:
    """``os._exit`` in user code would end the checker without a word; here it is an error like any other. A process that user
    code has branched off may end as it likes, and ends here at the latest: it would go on as a second checker.
    """
    saved, own = os._exit, os.getpid()

    def refuse(status: int) -> None:
        if os.getpid() != own:
            saved(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        if os.getpid() != own:
            saved(0)
        os._exit = saved


__all__ = [
    "Deadline",
    "importing_or_compiling",
    "was_interrupted",
    "watch_interrupts",
    "stoppable",
    "unable_to_exit",
]
