"""Calling what is held to a procedure, and surviving whatever it does: it raises, exits, hangs or changes global state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from verify.faults import Fault, Unsupported, complaint, describe_error
from verify.subject.containment import Containment, Overdue, Raised
from verify.subject.sandbox import GENERATORS, use_seed

T = TypeVar("T")


REPEATED_SEED = 1
"""The seed of global generators where the same is asked again."""


def twice(ask: Callable[[], T]) -> tuple[T, T]:
    """What comes of the same question asked twice; each call finds global generators as they were, so the second time in another
    state.
    """
    first = ask()
    with use_seed(REPEATED_SEED):
        return first, ask()


class Guard:
    """What surrounds the calls of one callable, named as it begins in a sentence; ``changed`` and ``drew``: the pieces of global
    state that it did not leave alone, and the global random generators that it used.
    """

    def __init__(self, name: str) -> None:
        self.name, self.containment = name, Containment()
        self.changed: list[str] = []
        self.drew: list[str] = []

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The callable, which may do nothing but return or raise Fault and Unsupported."""

        def call_guarded(*given: Any, **options: Any) -> Any:
            return self._run_contained(lambda: fn(*given, **options))

        return call_guarded

    def _run_contained(self, work: Callable[[], Any]) -> Any:
        try:
            return self.containment.run(self.name, work)
        except Overdue as late:
            raise Fault(str(late)) from None
        except Raised as raised:
            if isinstance(raised.error, NotImplementedError):
                raise Unsupported(describe_error(raised.error)) from None
            raise Fault(f"raised {complaint(raised.error)}") from raised.error
        finally:
            for name in self.containment.meddled:
                into = self.drew if name in GENERATORS else self.changed
                if name not in into:
                    into.append(name)


__all__ = ["Guard", "twice"]
