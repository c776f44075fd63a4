"""Standard output and standard error, which user code may replace, or close."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


class Stream:
    """One of them, by its name in ``sys`` and its number: it is set back to what it was; what was closed is opened again."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self._spare: int | None = None

    def read(self) -> Any:
        """What is in its place now. The first time, its file is kept open besides."""
        if self._spare is None:
            with suppress(OSError):  # there is none
                self._spare = os.dup(self.number)
        return getattr(sys, self.name)

    def write(self, saved: Any) -> None:
        """Set it back."""
        if _is_closed(saved) and self._spare is not None:
            os.dup2(self._spare, self.number)
            saved = open(  # noqa: SIM115 - it is used until the process ends
                self.number, "w", encoding=saved.encoding, errors=saved.errors, closefd=False
            )
        setattr(sys, self.name, saved)

    @staticmethod
    def same(saved: Any, now: Any) -> bool:
        """Whether it is what it was, and open."""
        return saved is now and not _is_closed(now)


STREAMS = Stream("stdout", 1), Stream("stderr", 2)


@contextmanager
def keep_streams() -> Iterator[None]:
    """Restore standard output and standard error on exit, whatever user code does to them."""
    before = [stream.read() for stream in STREAMS]
    try:
        yield
    finally:
        for stream, saved in zip(STREAMS, before, strict=True):
            if not stream.same(saved, stream.read()):
                stream.write(saved)


def _is_closed(stream: Any) -> bool:
    return bool(getattr(stream, "closed", False))


__all__ = ["STREAMS", "Stream", "keep_streams"]
