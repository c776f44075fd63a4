"""Theorems examined later: who lists statements, or looks for one of them, need not wait for what takes twice as long.

What was put off is examined as soon as a formula's theorems are read, or it is handed out by the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any

from spec.language.theorem import Theorem
from spec.language.wellformed.theorems import check_claims, check_theorem

_putting_off = ContextVar("_putting_off", default=False)  # each thread has its own
_examining = RLock()


@contextmanager
def later() -> Iterator[None]:
    """Inside, examinations are put off."""
    before = _putting_off.set(True)
    try:
        yield
    finally:
        _putting_off.reset(before)


class Waiting:
    """What is to be examined about one formula."""

    def __init__(self) -> None:
        self._checks: list[Callable[[], None]] = []
        self._under_way = False

    def examine(self, check: Callable[[], None]) -> None:
        """Examine, or put it off."""
        if _putting_off.get():
            self._checks.append(check)
        else:
            check()

    def catch_up(self) -> None:
        """Examine what was put off, unless it is put off still.

        Raises:
            IllFormed: what is not well formed; it is examined again the next time.
        """
        if not self._checks or _putting_off.get():
            return
        with _examining:  # another thread waits until it is done; this one may come by again
            if self._under_way:
                return
            self._under_way = True
            try:
                while self._checks:
                    self._checks[0]()
                    self._checks.pop(0)
            finally:
                self._under_way = False

    def __bool__(self) -> bool:
        return bool(self._checks)


class _SoFar:
    """A formula with the abbreviations that it has when a theorem is stated, whenever that is examined."""

    def __init__(self, formula: Any) -> None:
        self._formula, self.abbreviations = formula, dict(formula.abbreviations)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._formula, name)


def examination(formula: Any, theorem: Theorem) -> Callable[[], None]:
    """What examines a theorem that is stated now; it raises IllFormed."""
    stated = _SoFar(formula)

    def examine() -> None:
        check_theorem(stated, theorem)
        check_claims(stated, theorem)

    return examine
