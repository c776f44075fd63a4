"""A command in a process of its own: what is checked may end the process (a fault in a kernel, an abort), which is then said."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from verify.command.memory import leave
from verify.subject import last_call
from verify.subject.parent import die_with

FAULTS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
"""Signals by which a process that has gone wrong is ended, by nobody else."""
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP")


def watched(work: Callable[[], int], ended: int, nothing: int, record: Callable[[int, str], None]) -> int:
    """The status that work gives, or raises; where the process of its own is ended, one line is said, and recorded.

    Args:
        work: what is done; in this process where there is no other way (beyond Linux), and where somebody looks for a fault. The
            process of its own ends with it; what it raises is raised there.
        ended: the status where a call has ended its process.
        nothing: the status where something else has.
        record: called with the status and the line where it was a fault, or a kill.
    """
    if sys.platform != "linux" or os.environ.get("ATTNSPEC_TRACEBACK"):
        return work()
    last_call.room()
    signals = {signal.Signals[name] for name in (*PASSED_ON, "SIGCHLD")}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    own = os.getpid()
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        die_with(own, nothing)
        leave(work())
    try:
        code, received = _waited(child, signals)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    call = last_call.under_way()
    if -code in received:
        return 128 - code
    if code >= 0 and not call:
        return code
    by_call, said = ending(code, call)
    print(f"attnspec: {said}", file=sys.stderr)  # noqa: T201
    status = ended if by_call else nothing
    record(status, said)
    return status


def ending(code: int, call: str) -> tuple[bool, str]:
    """Whether a call has ended its process, and how that ended, in a line.

    Args:
        code: the exit status, negative for a signal.
        call: what was being called; empty where nothing was.
    """
    names = {int(each): each.name for each in signal.Signals}
    by = names.get(-code, f"signal {-code}") if code < 0 else f"exit status {code}"
    if call and (code >= 0 or by in FAULTS):
        return True, f"{call} ended the process ({by})"
    during = f" during a call: {call.rstrip(',')}" if call else ""
    memory = "; is there memory enough?" if by == "SIGKILL" else ""
    return False, f"the process was ended by {by}{during}{memory}"


def _waited(child: int, signals: set[signal.Signals]) -> tuple[int, set[int]]:
    """The exit status of a process, negative for a signal, and what was sent to this one meanwhile: that of another is passed on;
    what comes from the terminal has reached both.
    """
    received: set[int] = set()
    while True:
        came = signal.sigwaitinfo(signals)
        if came.si_signo == signal.SIGCHLD:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), received
            continue
        received.add(came.si_signo)
        if came.si_pid:  # 0: the kernel, on behalf of the terminal
            os.kill(child, came.si_signo)


__all__ = ["ending", "watched"]
