"""Theorems examined later: who lists statements reads names and titles, and need not wait for what takes twice as long.

What was put off is examined as soon as a formula is looked for otherwise, before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_waiting: list[Callable[[], None]] = []
_putting_off = [False]


@contextmanager
def later() -> Iterator[None]:
    """Inside, examinations are put off."""
    before, _putting_off[0] = _putting_off[0], True
    try:
        yield
    finally:
        _putting_off[0] = before


def examine(check: Callable[[], None]) -> None:
    """Examine, or put it off."""
    if _putting_off[0]:
        _waiting.append(check)
    else:
        check()


def catch_up() -> None:
    """Examine what was put off, unless it is put off still.

    Raises:
        IllFormed: what is not well formed; it is examined again the next time.
    """
    while _waiting and not _putting_off[0]:
        _waiting[0]()
        _waiting.pop(0)


__all__ = ["catch_up", "examine", "later"]
