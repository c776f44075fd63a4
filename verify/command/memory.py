"""Memory of the command's own processes: what is freed is kept for the next array, and cycles are seldom looked for, at the end
not at all.

An evaluation makes and drops arrays of megabytes by the hundred. The C library of Linux asks the system anew for each, and
filling fresh pages takes longer than the arithmetic: two thirds of an exponential of 400,000 numbers. Only the command does
so, in processes that are its own; a program that calls :func:`verify.check` keeps its settings.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import sys
import threading
from pathlib import Path
from typing import NoReturn

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt``, see its manual."""
LARGEST, KEPT = 1 << 25, 1 << 27
"""Bytes of the largest array that comes from kept memory (the C library allows no more), and of what is kept at most."""

HELD = 1 << 30
"""Bytes that a process may have and go on with: where each turn to another formula gave all back, it filled two fifths of its
pages for that."""

KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", 64
"""Where torch's kernels on the CPU look for how many of themselves they keep, and how many that is here: they are made for each
shape, and examples come in hundreds of shapes; torch's own limit is 1,024, and those of two whole models took 77 megabytes."""
THRESHOLDS = 50_000, 20, 20
"""Objects between two collections, in the place of 700: nearly all are freed by their counts, and what is loaded is walked over
each time."""


def collect_seldom() -> None:
    """Ask the garbage collector for cycles seldom in this process, and not as it ends.

    Walking over all that was loaded once more, to throw it away, takes half a second; the system takes it back at once.
    """
    gc.set_threshold(*THRESHOLDS)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def collect_now() -> None:
    """Throw away cycles now; in a process that asks for them seldom what is left is passed over from then on.

    Modules are most of it, some 400,000 objects once transformers is loaded: walking over them took 0.16 s at each turn.
    """
    gc.collect()
    if gc.get_threshold() == THRESHOLDS:
        gc.freeze()


def few_kernels() -> None:
    """Keep few kernels that were made for single shapes, unless the user said how many; to be called before torch is imported."""
    name, most = KERNELS
    os.environ.setdefault(name, str(most))


def leave(status: int) -> NoReturn:
    """End this process, without taking everything apart, object by object, which takes longer than a small check.

    What was registered for the end is done, threads that are to be waited for have come to theirs, and what was said is written.

    Raises:
        OSError: what was said cannot be written; the process goes on.
    """
    _said()
    threading._shutdown()  # type: ignore[attr-defined]  # as Python's own processes do; it wakes pools that wait for work
    atexit._run_exitfuncs()
    leave_at_once(status)


def leave_at_once(status: int = 0) -> NoReturn:
    """As :func:`leave`, where what was registered for the end is done already."""
    _said()
    os._exit(status)


def _said() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def give_back(held: int = HELD) -> bool:
    """Give what is freed back to the system, where this process has more than ``held`` bytes: another formula's arrays are of
    other sizes. False where nothing was given.
    """
    if not sys.platform.startswith("linux") or _resident() <= held:
        return False
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and bool(trim(0))


def _resident() -> int:
    """The bytes of memory that this process has; none where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def keep_freed() -> bool:
    """Keep what is freed in this process; False where the C library is another."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_THRESHOLD, LARGEST) and mallopt(_TRIM_THRESHOLD, KEPT))


__all__ = [
    "HELD",
    "KEPT",
    "LARGEST",
    "collect_now",
    "collect_seldom",
    "few_kernels",
    "give_back",
    "keep_freed",
    "leave",
    "leave_at_once",
]
