"""What the prover says of a theorem, within a budget of processor time, its guard switched off."""

from __future__ import annotations

import gc
import inspect
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from spec.language.formula import Formula
from spec.language.proving.proof import check
from spec.language.theorem import Assurance, Theorem

WITHOUT_GUARD: dict[str, Any] = {"guard": False} if "guard" in inspect.signature(check).parameters else {}
"""Evaluation would refuse what the prover lets through; here the prover has to refuse it by itself."""


AGAIN = 0.01
"""Seconds until an end that was put off is tried again: longer than what looks on at a collection takes."""


class OutOfTime(BaseException):
    """The budget is spent; no handler of the prover's catches this."""


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """Stop after so many seconds of this process's own time; unlimited outside the main thread.

    What is raised while Python collects garbage is reported and dropped, so there the end is put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, frame: FrameType | None) -> None:
        collecting = {getattr(callback, "__code__", None) for callback in gc.callbacks}
        while frame is not None:
            if frame.f_code in collecting:
                signal.setitimer(signal.ITIMER_VIRTUAL, AGAIN)
                return
            frame = frame.f_back
        raise OutOfTime

    saved = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, saved)


@dataclass(frozen=True)
class Said:
    """What the prover said: ``refused``, ``accepted``, ``timeout`` or ``crashed``, and its words."""

    verdict: str
    words: str = ""


def said(theorem: Theorem, formula: Formula, seconds: float = 20.0) -> Said:
    """The prover's verdict on a theorem."""
    try:
        with budget(seconds):
            checked = check(theorem, formula, **WITHOUT_GUARD)
    except OutOfTime:
        return Said("timeout", f"{seconds} s")
    except Exception as error:
        return Said("crashed", f"{type(error).__name__}: {error}")
    if checked.assurance == Assurance.REFUSED:
        return Said("refused", checked.refusal)
    return Said("accepted", str(checked.assurance))
