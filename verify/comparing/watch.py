"""What a candidate does besides computing: it replaces functions, looks at its callers, or sets generators to a seed."""

from __future__ import annotations

import builtins
import inspect
import math
import random
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

HOLDERS: tuple[Any, ...] = (
    builtins, inspect, math, random, time, torch, torch.autograd, torch.cuda, torch.cuda.Event, torch.cuda.Stream,
    torch.linalg, torch.nn, torch.nn.Module, torch.nn.functional, torch.Tensor, torch.testing,
)  # fmt: skip
"""Where functions stand that a gate may rest on: what judges, what measures time, what the reference is made of."""
OURS = ("verify", "spec", "numpy.testing", "triton.testing", "torch.utils.benchmark")
"""Beginnings of the names of modules that are watched besides."""
PEEKING = (
    "sys._getframe", "sys._current_frames", "traceback.tb_frame", "gc.get_objects", "gc.get_referrers", "gc.get_referents",
)  # fmt: skip
"""Events by which Python tells that somebody looks at frames, or at objects that were not given."""
_TORCH = str(Path(torch.__file__).parent)
_THROUGH = (inspect.__file__, traceback.__file__)


class Watch:
    """Functions as they are before a candidate is loaded; what it replaces is set back and named.

    Args:
        reference: the reference, and its module: its class is watched, too.
    """

    def __init__(self, *reference: Any) -> None:
        ours = [each for name, each in sys.modules.items() if each is not None and name.startswith(OURS)]
        classes = [
            x for at in ours for x in vars(at).values() if isinstance(x, type) and x.__module__ == at.__name__
        ]
        theirs = [x if isinstance(x, type | ModuleType) else type(x) for x in reference if x is not None]
        watched = {id(each): each for each in (*HOLDERS, *ours, *classes, *theirs)}
        self.saved = [(each, dict(vars(each))) for each in watched.values()]

    def restore(self) -> list[str]:
        """Set back every function that is another now; their names."""
        found = []
        for holder, before in self.saved:
            now, kind = vars(holder), isinstance(holder, type)
            named = getattr(holder, "__qualname__", None) or holder.__name__
            for name, value in before.items():
                other, there = now.get(name), kind or name in now
                if callable(value) and other is not value and there and not _is_of_torch(other):
                    setattr(holder, name, value)
                    found.append(f"{named}.{name}")
            if kind:  # what stands before a method that is inherited
                new = [x for x in now if x not in before]
                for name in [x for x in new if any(hasattr(base, x) for base in holder.__bases__)]:
                    delattr(holder, name)
                    found.append(f"{named}.{name}")
        return list(dict.fromkeys(found))


def _is_of_torch(value: Any) -> bool:
    """Whether torch itself has put it there, as its compiler does when it is first used."""
    return str(getattr(getattr(value, "__code__", None), "co_filename", "")).startswith(_TORCH)


class _Peeking:
    """Who is watched, and what was seen; one hook for all, since Python has no way to take one away."""

    file, seen, hooked = "", set[str](), False


def _hear(event: str, arguments: Any) -> None:
    """Note who looks at frames: the first caller that is not a function of Python's which does it for others."""
    if event == "object.__getattr__" and arguments[1] == "tb_frame":
        event = "traceback.tb_frame"
    file = _Peeking.file
    if not file or event not in PEEKING:
        return
    _Peeking.file = ""  # what is looked at here is no matter
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _THROUGH:
        frame = frame.f_back  # type: ignore[assignment]
    if frame is not None and frame.f_code.co_filename == file:
        _Peeking.seen.add(event)
    _Peeking.file = file


@contextmanager
def peeking(file: str) -> Iterator[set[str]]:
    """The events by which code of this file looks at its callers or at objects that it was not given, as long as this lasts."""
    if not _Peeking.hooked:
        sys.addaudithook(_hear)
        _Peeking.hooked = True
    _Peeking.file, _Peeking.seen = file, set()
    try:
        yield _Peeking.seen
    finally:
        _Peeking.file = ""


__all__ = ["Watch", "peeking"]
