"""A command in a process of its own: what is checked may end the process (a fault in a kernel, an abort), which is then said."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

from verify.subject import last_call

FAULTS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
"""Signals by which a process that has gone wrong is ended, by nobody else."""
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP")
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""


def watched(work: Callable[[], int], ended: int, nothing: int) -> int:
    """The status that work gives, or raises; where the process of its own is ended, one line is said.

    Args:
        work: what is done; in this process where there is no other way (beyond Linux), and where somebody looks for a fault.
        ended: the status where a call has ended its process.
        nothing: the status where something else has.
    """
    if sys.platform != "linux" or os.environ.get("ATTNSPEC_TRACEBACK"):
        return work()
    last_call.room()
    signals = {signal.Signals[name] for name in (*PASSED_ON, "SIGCHLD")}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    own = os.getpid()
    child = os.fork()
    if not child:
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if os.getppid() != own:
            os._exit(nothing)
        return work()
    try:
        code = _waited(child, signals)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    call = last_call.under_way()
    if code < 0:
        names = {int(each): each.name for each in signal.Signals}
        by = names.get(-code, f"signal {-code}")
        if by in PASSED_ON:
            return 128 - code
        if not call or by not in FAULTS:
            during = f" during a call: {call.rstrip(',')}" if call else ""
            memory = "; is there memory enough?" if by == "SIGKILL" else ""
            _say(f"the process was ended by {by}{during}{memory}")
            return nothing
        _say(f"{call} ended the process ({by})")
        return ended
    if call:
        _say(f"{call} ended the process (exit status {code})")
        return ended
    return code


def _waited(child: int, signals: set[signal.Signals]) -> int:
    """The exit status of a process, negative for a signal. What is sent to this one by another is passed on; what comes from the
    terminal has reached both.
    """
    while True:
        came = signal.sigwaitinfo(signals)
        if came.si_signo == signal.SIGCHLD:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
        elif came.si_pid:  # 0: the kernel, on behalf of the terminal
            os.kill(child, came.si_signo)


def _say(what: str) -> None:
    print(f"attnspec: {what}", file=sys.stderr)  # noqa: T201


__all__ = ["watched"]
